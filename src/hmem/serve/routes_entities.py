"""Entities: find them by name, and see what is stored about them."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query

from hmem.graph.names import unknown_name
from hmem.knowledge.base import facts_of
from hmem.knowledge.store.records import Names3
from hmem.knowledge.store.store import Store
from hmem.serve.context import NAME, Limit, TheService, failures
from hmem.serve.requests import EndOf
from hmem.serve.responses import EntitiesOut, NamedOut, NeighborsOut
from hmem.serve.settings import LONGEST_NAME

MOST_NEIGHBORS = 10_000  # facts of an entity that are looked at

router = APIRouter(tags=["graph"])


@router.get("/entities", responses=failures())
async def find_entities(
    service: TheService,
    search: Annotated[
        str, Query(max_length=LONGEST_NAME, description="What was typed; case and punctuation do not count.")
    ] = "",
    limit: Limit = 20,
) -> EntitiesOut:
    """Find entities by the beginning of their name or of a word in it, by any part, or by likeness.

    Without anything typed, those with the most facts.
    """
    found = await service.read(lambda: service.name_index.entities(search, limit + 1))
    some = [NamedOut(name=each.name, facts=each.facts, new=service.model.is_new(each.name)) for each in found[:limit]]
    return EntitiesOut(entities=some, more=len(found) > limit)


@router.get("/neighbours", include_in_schema=False)  # as it was called before
@router.get("/neighbors", responses=failures("unknown_name", "not_trained"))
async def list_neighbors(
    service: TheService,
    entity: Annotated[str, NAME],
    relation: Annotated[str | None, NAME] = None,
    direction: EndOf = "tail",
    limit: Limit = 100,
) -> NeighborsOut:
    """The stored facts of an entity, as head and as tail.

    With a relation, each has the weight with which it stands in the entity's memory when that is asked for, and the
    weightiest come first.
    """

    def look(store: Store, weights: Mapping[Names3, float], most: int) -> NeighborsOut:
        total = service.name_index.facts_of(entity)
        if total is None and (service.model.saved is None or entity not in service.model.saved.vocab.entities):
            raise unknown_name("entity", entity)
        facts = [] if total is None else facts_of(store, entity, most)
        facts.sort(key=lambda fact: -weights.get(fact.names, -1.0))  # without weights, they stay as they are
        shown = [{**asdict(fact), "weight": weights.get(fact.names)} for fact in facts[:limit]]
        lines = [{**fact, "role": "head" if fact["head"] == entity else "tail"} for fact in shown]
        about = {"entity": entity, "new": service.model.is_new(entity), "total": total or 0}
        return NeighborsOut.model_validate({**about, "facts": lines})

    if relation is None:
        return await service.read(lambda: look(service.store, {}, limit))
    asked = relation
    return await service.ask(
        lambda now: look(now.live.store, now.memory_weights(entity, asked, direction), MOST_NEIGHBORS)
    )
