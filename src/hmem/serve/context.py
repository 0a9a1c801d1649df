"""What the routes share: the service they use, and how their errors are documented."""

from typing import Annotated, Any

from fastapi import Depends, Query
from starlette.requests import Request

from hmem.graph.days import Stretch, stretch
from hmem.serve.errors import CODES
from hmem.serve.requests import LONGEST_DAY
from hmem.serve.responses import Failure
from hmem.serve.service import Service
from hmem.serve.settings import LONGEST_NAME, MOST_ROWS

ALWAYS = ("invalid", "forbidden", "too_large", "busy", "timeout", "store", "internal")  # may happen to any request


async def _service(request: Request) -> Service:  # one that is not async would be called in another thread
    service: Service = request.app.state.service
    return service


TheService = Annotated[Service, Depends(_service)]
NAME = Query(min_length=1, max_length=LONGEST_NAME)
# What is not there, such as the labels of a base without any, is left out.
At = Annotated[
    str | None,
    Query(max_length=LONGEST_DAY, description="Only facts that held then: 2019-05-01, 2019-05 or 2019."),
]
BRIEF: dict[str, Any] = {"response_model_exclude_defaults": True}
Limit = Annotated[int, Query(ge=1, le=MOST_ROWS)]


def day(text: str | None) -> Stretch | None:
    """The time that a question is about; a DataError if it is none."""
    return None if text is None else stretch(text)


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
