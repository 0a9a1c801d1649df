"""What the routes share: the service they use, who may write, and how their errors are documented."""

import hmac
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import Depends, Query
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.requests import Request

from hmem.graph.days import Stretch, stretch
from hmem.serve.errors import CODES, ApiError
from hmem.serve.requests import LONGEST_DAY
from hmem.serve.responses import Failure
from hmem.serve.service import Service
from hmem.serve.settings import LONGEST_NAME, MOST_ROWS, Settings

ALWAYS = ("invalid", "forbidden", "too_large", "busy", "timeout", "store", "internal")  # may happen to any request


async def _service(request: Request) -> Service:  # one that is not async would be called in another thread
    service: Service = request.app.state.service
    return service


TheService = Annotated[Service, Depends(_service)]
NAME = Query(min_length=1, max_length=LONGEST_NAME)
EntityName = Annotated[
    str,
    Query(alias="entity", min_length=1, max_length=LONGEST_NAME, description="By its id, its label or an alias."),
]
At = Annotated[
    str | None,
    Query(max_length=LONGEST_DAY, description="Only facts that held then: 2019-05-01, 2019-05 or 2019."),
]
AsOf = Annotated[
    str | None,
    Query(
        max_length=LONGEST_DAY,
        description="A time such as 2026-05-01 or 2026-05-01T12:30Z (UTC unless it says otherwise), or a moment.",
    ),
]
# What is not there, such as the labels of a base without any, is left out.
BRIEF: dict[str, Any] = {"response_model_exclude_defaults": True}
Limit = Annotated[int, Query(ge=1, le=MOST_ROWS)]
MOST_MOMENT = 1_000_000_000

bearer = HTTPBearer(auto_error=False, description="The token in HMEM_TOKEN of the server.")


def day(text: str | None) -> Stretch | None:
    """The time that a question is about; a DataError if it is none."""
    return None if text is None else stretch(text)


def time_of(text: str | None) -> datetime | int | None:
    """A moment by its number, or a time; without a zone it is UTC, whatever is local to the server."""
    if text is None:
        return None
    if text.isascii() and text.isdecimal():
        return min(int(text), MOST_MOMENT)
    try:
        time = datetime.fromisoformat(text.strip().replace(" ", "+", 1) if "T" in text else text.strip())
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ApiError(
            "invalid",
            f'as_of: "{text}" is no time; expected one such as 2026-05-01 or 2026-05-01T12:30Z, or a moment by number',
        ) from None


async def check_write(request: Request, shown: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]) -> None:
    """A dependency of the routes that change something: no token, no write, unless the server allows it."""
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


def writing(*codes: str) -> dict[str, Any]:
    """What the routes that change something have in common, and with which other codes they may fail."""
    return {"dependencies": [Depends(check_write)], "responses": failures("unauthorized", "writes_off", *codes)}


def failures(*codes: str) -> dict[int | str, dict[str, Any]]:
    """The errors of a route as OpenAPI lists them: by status, with the codes that have it."""
    by_status: dict[int, list[str]] = {}
    if "unknown_name" in codes:
        codes = (*codes, "ambiguous_name")
    for code in (*codes, *ALWAYS):
        by_status.setdefault(CODES[code][0], []).append(code)
    return {
        status: {
            "model": Failure,
            "description": " ".join(f"`{code}`: {CODES[code][1]}" for code in sorted(some)),
        }
        for status, some in sorted(by_status.items())
    }


def text_and_failures(media_type: str, meaning: str, *codes: str) -> dict[int | str, dict[str, Any]]:
    """The same for a route that answers with text; its errors are JSON all the same."""
    as_json = {"application/json": {"schema": {"$ref": "#/components/schemas/Failure"}}}
    errors = {
        status: {"content": as_json, "description": each["description"]} for status, each in failures(*codes).items()
    }
    return {200: {"content": {media_type: {}}, "description": meaning}, **errors}
