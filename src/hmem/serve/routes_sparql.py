"""SPARQL 1.1 over the stored facts, by the SPARQL protocol."""

import json
from typing import Annotated, Any
from urllib.parse import parse_qs

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from hmem.errors import QueryError
from hmem.serve.context import TheService, failures
from hmem.serve.settings import MOST_BYTES

AS_JSON, AS_CSV = "application/sparql-results+json", "text/csv"
AS_QUERY, AS_FORM = "application/sparql-query", "application/x-www-form-urlencoded"
EXAMPLE = "SELECT ?wider { <urn:hmem:wolf.n.01> :_hypernym ?wider }"
FORM = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
BODY = {"required": True, "content": {AS_QUERY: {"schema": {"type": "string"}}, AS_FORM: {"schema": FORM}}}
ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"description": "SPARQL 1.1 Query Results.", "content": {AS_JSON: {"schema": {"type": "object"}}, AS_CSV: {}}},
    **failures("bad_query", "not_installed"),
}
GRAPHS = ("default-graph-uri", "named-graph-uri")  # which the protocol has, and a base has not

router = APIRouter(tags=["sparql"])


@router.get("/sparql", response_class=Response, responses=ANSWERS)
async def query_facts(
    request: Request,
    service: TheService,
    query: Annotated[str, Query(max_length=MOST_BYTES, description="A SELECT or an ASK.", examples=[EXAMPLE])],
) -> Response:
    """Answer a SPARQL query over the stored facts: at most 10,000 rows, as JSON, or as CSV if that is asked for.

    Where there are more rows, the JSON has `"more": true`, and the response a header `X-More: true`.
    """
    return await _answered(request, service, query, list(request.query_params))


@router.post("/sparql", response_class=Response, responses=ANSWERS, openapi_extra={"requestBody": BODY})
async def query_facts_by_post(request: Request, service: TheService) -> Response:
    """The same for a query that is sent as the body, or as the field `query` of a form."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        text = (await request.body()).decode()
    except UnicodeDecodeError:
        raise QueryError("the body is no UTF-8 text") from None
    given = list(request.query_params)
    if kind == AS_FORM:
        form = parse_qs(text, keep_blank_values=True)
        given += form
        text = form.get("query", [""])[0]
    elif kind != AS_QUERY:
        raise QueryError(f"a query is sent as {AS_QUERY}, or in a form as {AS_FORM}")
    return await _answered(request, service, text, given)


async def _answered(request: Request, service: TheService, query: str, given: list[str]) -> Response:
    if any(name in given for name in GRAPHS):
        raise QueryError("there is one graph only, so none can be chosen")
    found = await service.sparql(query)
    accepted = request.headers.get("accept", "")
    more = {"X-More": "true"} if found.more else {}
    if AS_CSV in accepted and "json" not in accepted:
        return Response(found.to_csv(), headers=more, media_type=AS_CSV)
    text = json.dumps(found.to_dict(), ensure_ascii=False, separators=(",", ":"))
    return Response(text.encode("utf-8", "replace"), headers=more, media_type=AS_JSON)
