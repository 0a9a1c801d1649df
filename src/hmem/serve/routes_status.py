"""Is it alive, is it ready, how is it doing, and what is new."""

from typing import Annotated

from fastapi import APIRouter, Header, Query, Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from hmem.serve.context import TheService, failures, text_and_failures
from hmem.serve.errors import ApiError
from hmem.serve.events import News
from hmem.serve.responses import ReadyOut, StatusOut

router = APIRouter(tags=["status"])


@router.get("/health", responses=failures())
async def health() -> StatusOut:
    """Whether the process lives."""
    return StatusOut(status="ok")


@router.get("/ready", responses=failures("loading"))
async def ready(service: TheService) -> ReadyOut:
    """Whether questions can be answered: the file can be read, and the model is loaded or there is none."""
    state = service.model
    if state.status == "loading":
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
async def metrics(request: Request, service: TheService) -> Response:
    """Counters and gauges for Prometheus."""
    totals = service.name_index.totals
    news: News = request.app.state.news
    text = service.metrics.text(
        {
            "facts": ("Facts stored.", totals.facts),
            "entities": ("Entities ever named.", totals.entities),
            "relations": ("Relations ever named.", totals.relations),
            "moment": ("The number of the last write.", totals.moment),
            "waiting_questions": ("Questions in the queue.", service.batcher.waiting),
            "listeners": ("Open streams of events.", news.listeners),
            "model_ready": ("1 if the model is loaded.", float(service.model.status == "ready")),
        }
    )
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")


@router.get(
    "/events",
    response_class=StreamingResponse,
    responses=text_and_failures("text/event-stream", "Server-sent events."),
)
async def events(
    request: Request,
    last_event_id: Annotated[str, Header(max_length=40, description="The last moment that was told of.")] = "",
    since: Annotated[int | None, Query(ge=0, description="The same, for clients that cannot send headers.")] = None,
) -> StreamingResponse:
    """What changes from now on, or since a moment, whichever process writes it.

    `event: facts` tells which facts came and went, `event: model` that another model answers. Every 15 seconds of
    silence there is a comment.
    """
    news: News = request.app.state.news
    if last_event_id.isascii() and last_event_id.isdecimal():
        since = int(last_event_id)
    stream = await news.listen(since)
    return StreamingResponse(stream, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})
