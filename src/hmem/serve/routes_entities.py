"""Entities: find them by name, and see what is stored about them."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query

from hmem.graph.descriptions import Description
from hmem.knowledge.contents import facts_of
from hmem.knowledge.store.records import Names3
from hmem.knowledge.store.store import Store
from hmem.serve.context import BRIEF, NAME, At, EntityName, Limit, TheService, day, failures, writing
from hmem.serve.name_index import Named
from hmem.serve.requests import DescriptionsIn, EndOf
from hmem.serve.responses_facts import DescribedOut, EntitiesOut, FoundOut, KindOut, KindsOut, NamedOut, NeighborsOut
from hmem.serve.service import Service
from hmem.serve.settings import LONGEST_NAME

MOST_NEIGHBORS = 10_000  # facts of an entity that are looked at

router = APIRouter(tags=["graph"])


@router.get("/entities", **BRIEF, responses=failures())
async def find_entities(
    service: TheService,
    search: Annotated[
        str, Query(max_length=LONGEST_NAME, description="What was typed; case and punctuation do not count.")
    ] = "",
    kind: Annotated[str | None, NAME] = None,
    limit: Limit = 20,
) -> EntitiesOut:
    """Find entities, of one kind or of any.

    They are found by the beginning of their id, label or an alias, or of a word in it, by any part or by likeness.
    Those whose description has the words come last.

    Without anything typed, those with the most facts.
    """
    found = await service.read(lambda: service.name_index.entities(search, limit + 1, kind))
    named = [
        FoundOut.model_validate({**_named(service, each).model_dump(), "found_by": each.found_by})
        for each in found[:limit]
    ]
    return EntitiesOut(entities=named, more=len(found) > limit)


@router.get("/entity", **BRIEF, responses=failures("unknown_name"))
async def show_entity(service: TheService, name: Annotated[str, NAME]) -> NamedOut:
    """What is known of an entity besides its facts: its label, aliases, kind and description."""
    index = service.name_index
    return _named(service, await service.read(lambda: index.describe(index.find("entity", name))))


@router.get("/kinds", responses=failures())
async def list_kinds(service: TheService) -> KindsOut:
    """The kinds of entities, and how many there are of each."""
    found = await service.read(service.store.naming.kinds)
    return KindsOut(kinds=[KindOut(kind=kind, entities=number) for kind, number in found.items()])


@router.post("/entities", **writing())
async def describe_entities(service: TheService, body: DescriptionsIn) -> DescribedOut:
    """Say what entities and relations are called and what they are, all in one write; aliases add up."""
    rows = [Description(**{**each.model_dump(), "aliases": tuple(each.aliases)}) for each in body.entities]
    written = await service.write(lambda store: store.naming.describe_all(rows, source=body.source))
    return DescribedOut.model_validate(written)


@router.get("/neighbours", **BRIEF, include_in_schema=False)  # as it was called before
@router.get("/neighbors", **BRIEF, responses=failures("unknown_name", "not_trained"))
async def list_neighbors(
    service: TheService,
    name: EntityName,
    relation: Annotated[str | None, NAME] = None,
    direction: EndOf = "tail",
    at: At = None,
    limit: Limit = 100,
) -> NeighborsOut:
    """The stored facts of an entity, as head and as tail.

    With a relation, each has the weight with which it stands in the entity's memory when that is asked for, and the
    weightiest come first.
    """

    def look(store: Store, weights: Mapping[Names3, float], most: int) -> NeighborsOut:
        is_trained = service.model.saved is not None and name in service.model.saved.vocab.entities
        is_gone = is_trained and service.name_index.facts_of(name) is None  # from the base, not from the model
        entity = name if is_gone else service.name_index.find("entity", name)
        total = service.name_index.facts_of(entity)
        facts = [] if total is None else facts_of(store, entity, most, then)
        facts.sort(key=lambda fact: -weights.get(fact.names, -1.0))  # without weights, they stay as they are
        shown = [{**asdict(fact), "weight": weights.get(fact.names)} for fact in facts[:limit]]
        lines = [{**fact, "role": "head" if fact["head"] == entity else "tail"} for fact in shown]
        about = {"entity": entity, "new": service.model.is_new(entity), "total": total or 0}
        labels = service.name_index.labels_of(fact.names for fact in facts[:limit])
        return NeighborsOut.model_validate({**about, "facts": lines, "labels": labels})

    then = day(at)
    if relation is None:
        return await service.read(lambda: look(service.store, {}, limit))
    asked = relation
    return await service.ask(
        lambda now: look(now.live.store, now.memory_weights(name, asked, direction), MOST_NEIGHBORS), then
    )


def _named(service: Service, each: Named) -> NamedOut:
    said = {} if each.said is None else asdict(each.said)
    return NamedOut.model_validate(
        {**said, "name": each.name, "facts": each.facts, "new": service.model.is_new(each.name)}
    )
