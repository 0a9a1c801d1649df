"""Entities: find them by name, and see what is stored about them."""

from typing import Annotated

from fastapi import APIRouter, Query

from hmem.graph.names import unknown_name
from hmem.knowledge.base import facts_of
from hmem.knowledge.store.records import Names3, StoredFact
from hmem.serve.context import TheService, failures
from hmem.serve.requests import EndOf
from hmem.serve.responses import EntitiesOut, FactOut, NamedOut, NeighborOut, NeighborsOut
from hmem.serve.service import Service
from hmem.serve.settings import LONGEST_NAME, MOST_ROWS

MOST_NEIGHBORS = 10_000  # facts of an entity that are looked at
NameQuery = Query(min_length=1, max_length=LONGEST_NAME)
Limit = Annotated[int, Query(ge=1, le=MOST_ROWS)]

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
@router.get("/neighbors", responses=failures("unknown_name", "not_trained", "no_model"))
async def list_neighbors(
    service: TheService,
    entity: Annotated[str, NameQuery],
    relation: Annotated[str | None, NameQuery] = None,
    direction: EndOf = "tail",
    limit: Limit = 100,
) -> NeighborsOut:
    """The stored facts of an entity, as head and as tail.

    With a relation, each has the weight with which it stands in the entity's memory when that is asked for, and the
    weightiest come first.
    """
    facts, total = await service.read(lambda: _facts_of(service, entity, limit if relation is None else MOST_NEIGHBORS))
    weights: dict[Names3, float] = {}
    if relation is not None:
        asked = relation
        weights = await service.ask(lambda now: now.memory_weights(entity, asked, direction))
        facts.sort(key=lambda fact: -weights.get(fact.names, -1.0))
    return NeighborsOut(
        entity=entity,
        new=service.model.is_new(entity),
        total=total,
        facts=[
            NeighborOut(
                **FactOut.model_validate(fact).model_dump(),
                role="head" if fact.head == entity else "tail",
                weight=weights.get(fact.names),
            )
            for fact in facts[:limit]
        ],
    )


def _facts_of(service: Service, entity: str, limit: int) -> tuple[list[StoredFact], int]:
    if not service.name_index.has_entity(entity):
        if service.model.has_entity(entity):  # met in training, and nothing is stored about it
            return [], 0
        raise unknown_name("entity", entity)
    return facts_of(service.store, entity, limit), service.name_index.facts_of(entity)
