"""Facts as they are stored: list them, look back, add and remove."""

import hmac
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from hmem.graph.qualifiers import Given
from hmem.graph.triples import PARTS
from hmem.knowledge.inferred import store_inferred
from hmem.knowledge.store.database import Kind
from hmem.knowledge.store.records import StoredFact, Written
from hmem.knowledge.store.store import Store
from hmem.serve.context import BRIEF, NAME, At, Limit, TheService, day, failures
from hmem.serve.errors import ApiError
from hmem.serve.requests import FactsIn, InferIn, WithdrawIn
from hmem.serve.responses_facts import AddedOut, FactsOut, HistoryOut, RemovedOut, WithdrawnOut
from hmem.serve.service import Service
from hmem.serve.settings import Settings

MOST_OFFSET = 1_000_000_000
LONGEST_TIME = 40  # characters

NameQuery = Annotated[str | None, NAME]
WRITING = failures("unauthorized", "writes_off")
REVISING = failures("unauthorized", "writes_off", "unknown_name")
INFERRING = failures("unauthorized", "writes_off", "unknown_name", "no_facts", "not_trained")

bearer = HTTPBearer(auto_error=False, description="The token in HMEM_TOKEN of the server.")
Shown = Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]

router = APIRouter(tags=["facts"])


async def check_write(request: Request, shown: Shown) -> None:
    """A dependency of the routes that change facts: no token, no write, unless the server allows it."""
    settings: Settings = request.app.state.settings
    if not settings.writable:
        raise ApiError(
            "writes_off",
            "this server does not accept writes; start it with HMEM_TOKEN set, or on this machine with --allow-writes",
        )
    given = shown.credentials.strip().encode("utf-8", "replace") if shown else b""
    # Compared in a time that does not tell how much of it was right.
    if settings.token is not None and not hmac.compare_digest(given, settings.token.strip().encode()):
        raise ApiError("unauthorized", "a write needs the token of this server, as `Authorization: Bearer TOKEN`")


@router.get("/facts", **BRIEF, responses=failures("unknown_name"))
async def list_facts(
    service: TheService,
    head: NameQuery = None,
    relation: NameQuery = None,
    tail: NameQuery = None,
    as_of: Annotated[
        str | None,
        Query(
            max_length=LONGEST_TIME,
            description="A time such as 2026-05-01 or 2026-05-01T12:30Z (UTC unless it says otherwise), or a moment.",
        ),
    ] = None,
    at: At = None,
    inferred: Annotated[bool | None, Query(description="Only what models inferred, or only what was asserted.")] = None,
    limit: Limit = 100,
    offset: Annotated[int, Query(ge=0, le=MOST_OFFSET)] = 0,
) -> FactsOut:
    """The facts with these names, as they are now or were at some time, in the order in which they were added."""
    when, then = None if as_of is None else parse_time(as_of), day(at)

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


@router.post("/facts", status_code=201, **BRIEF, dependencies=[Depends(check_write)], responses=REVISING)
async def add_facts(request: Request, service: TheService, body: FactsIn) -> AddedOut:
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
    request.app.state.news.look()
    done = {"revised" if body.revise else "added": len(written.changed), "kept": written.kept}
    return AddedOut(moment=written.moment, unchanged=written.unchanged, **{"added": 0, **done})


@router.post("/infer", status_code=201, **BRIEF, dependencies=[Depends(check_write)], responses=INFERRING)
async def infer(request: Request, service: TheService, body: InferIn) -> AddedOut:
    """Keep the likeliest facts about an entity that are not stored, as facts that the model inferred."""
    found = await service.ask(lambda now: now.missing(body.entity, body.k), day(body.at))
    model = service.model.link.name
    written = await service.write(
        lambda store: store_inferred(store, found, model=model, least=body.least, source="infer")
    )
    request.app.state.news.look()
    return AddedOut(moment=written.moment, added=len(written.changed), unchanged=written.unchanged)


@router.delete("/infer", dependencies=[Depends(check_write)], responses=WRITING)
async def withdraw(request: Request, service: TheService, body: WithdrawIn) -> WithdrawnOut:
    """Take back what models inferred. What was asserted stays, and so does the history."""
    written = await service.write(lambda store: store.withdraw(model=body.model, below=body.below, source=body.source))
    request.app.state.news.look()
    return WithdrawnOut(moment=written.moment, withdrawn=len(written.changed))


@router.delete(
    "/facts", dependencies=[Depends(check_write)], responses=failures("unknown_name", "unauthorized", "writes_off")
)
async def remove_facts(request: Request, service: TheService, body: FactsIn) -> RemovedOut:
    """Remove facts, all in one write. The file remembers them, and which source removed them."""

    def write(store: Store) -> Written:
        for fact in body.names:
            _found(service, *fact)
        return store.remove(body.names, source=body.source)

    written = await service.write(write)
    request.app.state.news.look()
    return RemovedOut(moment=written.moment, removed=len(written.changed), unchanged=written.unchanged)


def parse_time(text: str) -> datetime | int:
    """A moment by its number, or a time; without a zone it is UTC, whatever is local to the server."""
    if text.isascii() and text.isdecimal():
        return min(int(text), MOST_OFFSET)
    try:
        time = datetime.fromisoformat(text.strip().replace(" ", "+", 1) if "T" in text else text.strip())
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ApiError(
            "invalid",
            f'as_of: "{text}" is no time; expected one such as 2026-05-01 or 2026-05-01T12:30Z, or a moment by number',
        ) from None


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
