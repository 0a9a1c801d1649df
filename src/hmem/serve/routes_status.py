"""Is it alive, is it ready, how is it doing, and what is new."""

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent
from starlette.responses import PlainTextResponse, Response

from hmem.serve.context import TheService, failures, text_and_failures
from hmem.serve.errors import ApiError
from hmem.serve.events import News
from hmem.serve.metrics import MEDIA_TYPE
from hmem.serve.responses_graph import ReadyOut, StatusOut

router = APIRouter(tags=["status"])


@router.get("/health", responses=failures())
async def health() -> StatusOut:
    """Whether the process lives."""
    return StatusOut(status="ok")


@router.get("/ready", responses=failures("loading"))
async def ready(service: TheService) -> ReadyOut:
    """Whether questions can be answered: the file can be read, and the model is loaded."""
    state = service.model
    if state.status == "loading" or service.loads:
        raise ApiError("loading", "the model is being loaded; try again in a moment")
    if state.status == "trouble":
        service.load_model(state.link)  # it may be back where it was
        raise ApiError("store", f"the model cannot be used: {state.trouble}")
    moment = await service.read(lambda: service.store.moment)
    return ReadyOut(status="ready", model=state.name, moment=moment)


@router.get(
    "/metrics",
    response_class=PlainTextResponse,
    responses=text_and_failures("text/plain", "Prometheus' text format."),
)
async def metrics(service: TheService) -> Response:
    """Counters and gauges for Prometheus."""
    return Response(service.metrics.text(), media_type=MEDIA_TYPE)


async def _listen(
    request: Request,
    last_event_id: Annotated[str, Header(max_length=40, description="The last moment that was received.")] = "",
    since: Annotated[int | None, Query(ge=0, description="The same, for clients that cannot send headers.")] = None,
) -> AsyncIterator[AsyncIterator[ServerSentEvent]]:
    news: News = request.app.state.news
    if last_event_id.isascii() and last_event_id.isdecimal():
        since = int(last_event_id)
    with news.listening():
        yield news.events(since)


@router.get(
    "/events",
    response_class=EventSourceResponse,
    responses=text_and_failures("text/event-stream", "Server-sent events."),
)
async def events(
    stream: Annotated[AsyncIterator[ServerSentEvent], Depends(_listen)],
) -> AsyncIterator[ServerSentEvent]:
    """What changes from now on, or since a moment, whichever process writes it.

    `event: facts` tells which facts came and went, `event: model` that another model answers. Every 15 seconds of
    silence there is a comment.
    """
    async for event in stream:
        yield event
