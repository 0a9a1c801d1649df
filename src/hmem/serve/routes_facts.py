"""Facts as they are stored: list them, look back, add and remove."""

from typing import Annotated, Any

from fastapi import APIRouter, Query

from hmem.graph.qualifiers import Given
from hmem.graph.triples import PARTS
from hmem.knowledge.inferred import store_inferred
from hmem.knowledge.store.database import Kind
from hmem.knowledge.store.records import StoredFact, Written
from hmem.knowledge.store.store import Store
from hmem.serve.context import BRIEF, NAME, AsOf, At, Limit, TheService, day, failures, time_of, writing
from hmem.serve.requests import FactsIn, InferIn, WithdrawIn
from hmem.serve.responses_facts import AddedOut, FactsOut, HistoryOut, RemovedOut, WithdrawnOut
from hmem.serve.service import Service

MOST_OFFSET = 1_000_000_000

NameQuery = Annotated[str | None, NAME]

router = APIRouter(tags=["facts"])


@router.get("/facts", **BRIEF, responses=failures("unknown_name"))
async def list_facts(
    service: TheService,
    head: NameQuery = None,
    relation: NameQuery = None,
    tail: NameQuery = None,
    as_of: AsOf = None,
    at: At = None,
    inferred: Annotated[bool | None, Query(description="Only what models inferred, or only what was asserted.")] = None,
    limit: Limit = 100,
    offset: Annotated[int, Query(ge=0, le=MOST_OFFSET)] = 0,
) -> FactsOut:
    """The facts with these names, as they are now or were at some time, in the order in which they were added."""
    when, then = time_of(as_of), day(at)

    def look() -> list[StoredFact]:
        chosen: dict[str, Any] = dict(zip(PARTS, _found(service, head, relation, tail), strict=True))
        return list(
            service.store.listing(**chosen, as_of=when, at=then, inferred=inferred, limit=limit + 1, offset=offset)
        )

    return FactsOut.model_validate(_listed(service, await service.read(look), limit))


@router.get("/history", **BRIEF, responses=failures("unknown_name"))
async def list_history(
    service: TheService, head: NameQuery = None, relation: NameQuery = None, tail: NameQuery = None, limit: Limit = 100
) -> HistoryOut:
    """All that ever happened to the facts with these names, removed ones too: what changed last comes first."""

    def look() -> list[StoredFact]:
        chosen: dict[str, Any] = dict(zip(PARTS, _found(service, head, relation, tail), strict=True))
        return service.store.history(**chosen, limit=limit + 1)

    return HistoryOut.model_validate(_listed(service, await service.read(look), limit))


@router.post("/facts", status_code=201, **BRIEF, **writing("unknown_name"))
async def add_facts(service: TheService, body: FactsIn) -> AddedOut:
    """Store facts, all in one write. The next answer uses them.

    Each name is an id, a label or an alias, or that of a new entity.
    """
    given: Given = {
        "confidence": [fact.confidence for fact in body.facts],
        "valid_from": [fact.valid_from for fact in body.facts],
        "valid_until": [fact.valid_until for fact in body.facts],
    }

    def write(store: Store) -> Written:
        if body.revise:
            return store.revise(body.names, source=body.source, **given)
        return store.add(body.names, source=body.source, by_label=True, **given)

    written = await service.write(write)
    done = {"revised" if body.revise else "added": len(written.changed), "kept": written.kept}
    return AddedOut(moment=written.moment, unchanged=written.unchanged, **{"added": 0, **done})


@router.post("/infer", status_code=201, **BRIEF, **writing("unknown_name", "no_facts", "not_trained"))
async def infer(service: TheService, body: InferIn) -> AddedOut:
    """Keep the likeliest facts about an entity that are not stored, as facts that the model inferred."""
    found = await service.ask(lambda now: now.missing(body.entity, body.k), day(body.at))
    model = service.model.link.name
    written = await service.write(
        lambda store: store_inferred(store, found, model=model, least=body.least, source="infer")
    )
    return AddedOut(moment=written.moment, added=len(written.changed), unchanged=written.unchanged)


@router.delete("/infer", **writing())
async def withdraw(service: TheService, body: WithdrawIn) -> WithdrawnOut:
    """Take back what models inferred. What was asserted stays, and so does the history."""
    written = await service.write(lambda store: store.withdraw(model=body.model, below=body.below, source=body.source))
    return WithdrawnOut(moment=written.moment, withdrawn=len(written.changed))


@router.delete("/facts", **writing("unknown_name"))
async def remove_facts(service: TheService, body: FactsIn) -> RemovedOut:
    """Remove facts, all in one write. The file remembers them, and which source removed them."""

    def write(store: Store) -> Written:
        for fact in body.names:
            _found(service, *fact)
        return store.remove(body.names, source=body.source)

    written = await service.write(write)
    return RemovedOut(moment=written.moment, removed=len(written.changed), unchanged=written.unchanged)


def _found(service: Service, *fact: str | None) -> list[str | None]:
    """Names by their ids. Unknown ones are found here, where looking for similar ones is cheap."""
    kinds: tuple[Kind, ...] = ("entity", "relation", "entity")
    find = service.name_index.find
    return [None if name is None else find(kind, name) for kind, name in zip(kinds, fact, strict=True)]


def _listed(service: Service, found: list[StoredFact], limit: int) -> dict[str, object]:
    """Facts as a response lists them, with their labels."""
    some = found[:limit]
    labels = service.name_index.labels_of(each.names for each in some)
    return {"facts": some, "more": len(found) > limit, "labels": labels}
