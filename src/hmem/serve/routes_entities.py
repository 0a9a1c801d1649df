"""Entities: find them by name, and see what is stored about them."""

from typing import Annotated

from fastapi import APIRouter, Query

from hmem.knowledge.records import Names3, StoredFact
from hmem.serve.context import TheDesk, failures
from hmem.serve.desk import Desk
from hmem.serve.errors import UnknownError
from hmem.serve.requests import EndOf
from hmem.serve.responses import EntitiesOut, NamedOut, NeighbourOut, NeighboursOut
from hmem.serve.settings import LONGEST_NAME, MOST_ROWS
from hmem.serve.weights import memory_weights

MOST_NEIGHBOURS = 10_000  # facts of an entity that are looked at
NameQuery = Query(min_length=1, max_length=LONGEST_NAME)
Limit = Annotated[int, Query(ge=1, le=MOST_ROWS)]

router = APIRouter(tags=["graph"])


@router.get("/entities", responses=failures())
async def find_entities(
    desk: TheDesk,
    search: Annotated[
        str, Query(max_length=LONGEST_NAME, description="What was typed; case and punctuation do not count.")
    ] = "",
    limit: Limit = 20,
) -> EntitiesOut:
    """Find entities by the beginning of their name or of a word in it, by any part, or by likeness.

    Without anything typed, those with the most facts.
    """
    found = await desk.read(lambda: desk.directory.entities(search, limit + 1))
    some = [NamedOut(name=each.name, facts=each.facts, new=desk.model.is_new(each.name)) for each in found[:limit]]
    return EntitiesOut(entities=some, more=len(found) > limit)


@router.get("/neighbours", responses=failures("unknown_name", "not_trained", "no_model"))
async def list_neighbours(
    desk: TheDesk,
    entity: Annotated[str, NameQuery],
    relation: Annotated[str | None, NameQuery] = None,
    direction: EndOf = "tail",
    limit: Limit = 100,
) -> NeighboursOut:
    """The stored facts of an entity, as head and as tail.

    With a relation, each has the weight with which it stands in the entity's memory when that is asked for, and the
    weightiest come first.
    """
    facts, total = await desk.read(lambda: _facts_of(desk, entity, limit if relation is None else MOST_NEIGHBOURS))
    weights: dict[Names3, float] = {}
    if relation is not None:
        asked = relation
        weights = await desk.ask(lambda now: memory_weights(now, entity, asked, direction))
        facts.sort(key=lambda fact: -weights.get(fact.names, -1.0))
    return NeighboursOut(
        entity=entity,
        new=desk.model.is_new(entity),
        total=total,
        facts=[
            NeighbourOut(
                head=fact.head,
                relation=fact.relation,
                tail=fact.tail,
                source=fact.source,
                added_at=fact.added_at,
                confidence=fact.confidence,
                role="head" if fact.head == entity else "tail",
                weight=weights.get(fact.names),
            )
            for fact in facts[:limit]
        ],
    )


def _facts_of(desk: Desk, entity: str, limit: int) -> tuple[list[StoredFact], int]:
    if not desk.directory.has_entity(entity):
        if desk.model.has_entity(entity):  # met in training, and nothing is stored about it
            return [], 0
        raise UnknownError("entity", entity)
    facts = list(desk.store.listing(head=entity, limit=limit))
    facts += [fact for fact in desk.store.listing(tail=entity, limit=limit) if fact.head != entity]
    return facts, desk.directory.facts_of(entity)
