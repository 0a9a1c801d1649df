"""Errors as every client gets them, in one shape.

    {"error": {"code": "unknown_name", "message": "no entity \\"woolf\\"", "suggestion": ["wolf.n.01"]}}

Codes are stable, messages may change. A suggestion is always a list of names, often empty. Where files lie on the
server, and what to type there, is left out of messages.
"""

import json
import logging
from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from hmem.errors import (
    AmbiguousNameError,
    CheckpointError,
    ConfigError,
    DataError,
    EmptyNeighborhoodError,
    HMemError,
    QueryError,
    QueryLimitError,
    StoreError,
    UnknownNameError,
    UntrainedRelationError,
    shown,
    word,
)

# What is wrong where fields are missing, unknown, or hold something of another kind.
OF_SHAPE = ("missing", "extra_forbidden", "model_attributes_type", "model_type", "dict_type", "list_type", "tuple_type")

CODES = {  # every code, its status and what it says
    "unknown_name": (404, "A name that is not in the knowledge base."),
    "ambiguous_name": (409, "A label that several entities or relations have; say which by its id."),
    "not_found": (404, "There is no such address."),
    "no_facts": (409, "The entity has no facts that the model could use."),
    "not_trained": (409, "The relation came after the model was trained, so it cannot be asked for."),
    "invalid": (422, "The request does not say what it should."),
    "bad_query": (400, "The query is no SPARQL, or asks for what is not done here."),
    "not_installed": (501, "The server lacks a package that this needs."),
    "too_large": (413, "The request asks for too much, or is too long."),
    "unauthorized": (401, "The token is missing or wrong."),
    "forbidden": (403, "The request comes from another site, or is addressed to another host."),
    "writes_off": (403, "This server does not accept writes."),
    "method_not_allowed": (405, "The address exists, but not with this method."),
    "timeout": (503, "It took too long, or too much memory."),
    "busy": (503, "Too much is waiting already; try again in a moment."),
    "loading": (503, "The model is being loaded; try again in a moment."),
    "store": (503, "The file of the knowledge base, or the folder of its model, cannot be used."),
    "internal": (500, "A mistake in the server, written to its log."),
}
CODE_OF = {  # errors of the library; the first that fits
    UntrainedRelationError: "not_trained",
    UnknownNameError: "unknown_name",
    AmbiguousNameError: "ambiguous_name",
    EmptyNeighborhoodError: "no_facts",
    QueryLimitError: "timeout",
    QueryError: "bad_query",
    ConfigError: "invalid",
    DataError: "invalid",
    StoreError: "store",
    CheckpointError: "store",
}
LONGEST_MESSAGE = 500  # characters
SAID = {"missing": "it is missing", "extra_forbidden": "there is no such field; /openapi.json lists those there are"}
FORMS = ("one", "many")  # of a request, where there are two; clients do not name them

logger = logging.getLogger("hmem.serve")


class ApiError(HMemError):
    """An error with the code that clients get."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def code_of(error: HMemError) -> str:
    """The code for an error of the library."""
    if isinstance(error, ApiError):
        return error.code
    return next((code for kind, code in CODE_OF.items() if isinstance(error, kind)), "internal")


def worded(error: HMemError) -> str:
    """A message for clients: files by their name alone, hints without what only the server's own machine can do."""
    return word(error, lambda path: path.name, lambda hint: hint.text)


def answer(code: str, message: str, suggestion: Sequence[str] = (), status: int | None = None) -> Response:
    """The response that tells of an error."""
    body = {"error": {"code": code, "message": message[:LONGEST_MESSAGE], "suggestion": list(suggestion)}}
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    headers = {}
    if code == "unauthorized":
        headers["WWW-Authenticate"] = "Bearer"
    if code in ("busy", "loading"):
        headers["Retry-After"] = "1"
    return Response(
        text.encode("utf-8", "replace"),  # a name in it may be no Unicode at all
        status or CODES[code][0],
        headers,
        media_type="application/json",
    )


def install(app: FastAPI) -> None:
    """Answer every error that a route raises in this shape."""
    app.add_exception_handler(HMemError, _tell_library_error)
    app.add_exception_handler(RequestValidationError, _tell_validation_error)
    app.add_exception_handler(HTTPException, _tell_http_error)


async def _tell_library_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HMemError)
    if code_of(error) == "internal":
        logger.error("%s %s: %s", request.method, request.url.path, error)
    suggestions: Sequence[str] = error.choices if isinstance(error, AmbiguousNameError) else ()
    if error.option is not None and isinstance(error, UnknownNameError):
        service, kind, name = request.app.state.service, error.option, str(error.found)
        suggestions = await service.read(lambda: service.name_index.closest(kind, name))
    return answer(code_of(error), worded(error), suggestions)


async def _tell_validation_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    problems = error.errors()
    code = "too_large" if problems and all(map(_is_too_long, problems)) else "invalid"
    said = [*map(_in_words, problems[:3])] or ["the request cannot be understood"]
    if any(problem["loc"][:1] == ("body",) and problem["type"] in OF_SHAPE for problem in problems):
        said += [f"expected such as {json.dumps(example)}" for example in _examples(request)[:1]]
    return answer(code, "; ".join(said))


async def _tell_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    path = request.url.path
    if error.status_code == 404:
        return answer("not_found", f"there is nothing at {shown(path)}; the addresses are listed in /openapi.json")
    if error.status_code == 405:
        methods = request.app.state.methods.get(path, ["GET"])
        found = answer("method_not_allowed", f"{shown(path)} takes {' and '.join(methods)}, not {request.method}")
        found.headers["Allow"] = ", ".join(methods)
        return found
    return answer("invalid", str(error.detail))


def _examples(request: Request) -> list[Any]:
    """What the description of the server gives as bodies of this request."""
    described = request.app.openapi()
    operation = described["paths"].get(request.url.path, {}).get(request.method.lower(), {})
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    parts = described["components"]["schemas"]
    names = [each["$ref"].rpartition("/")[2] for each in (body, *body.get("oneOf", ())) if "$ref" in each]
    return [example for name in names for example in parts[name].get("examples", ())]


def _is_too_long(problem: dict[str, Any]) -> bool:
    """Whether a limit was exceeded; a fact of four names is wrong, not long."""
    return problem["type"] in ("string_too_long", "too_long") and problem["ctx"]["max_length"] > 3


def _in_words(problem: dict[str, Any]) -> str:
    """One complaint about a request: where, and what was expected there."""
    place = [str(part) for part in problem["loc"] if part not in FORMS]
    where = ".".join(place[1:]) or place[0] if place else "request"
    if place == ["body"] and problem["type"] in ("model_attributes_type", "dict_type", "missing"):
        return "the body should be a JSON object, sent with Content-Type: application/json"
    if problem["type"] == "json_invalid":
        return f"the body is no JSON ({problem['ctx']['error']} at character {problem['loc'][-1]})"
    return f"{shown(where)}: {SAID.get(problem['type'], problem['msg'].replace(' after validation', ''))}"
