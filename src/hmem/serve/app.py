"""The application: one knowledge base over HTTP, and the page that shows it.

app = create_app("zoo.kb", Settings())      # any ASGI server can run it; `hmem serve` uses uvicorn
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import FastAPI
from starlette.routing import Route

from hmem.knowledge.store.places import At, place_of
from hmem.serve import (
    errors,
    page,
    routes_ask,
    routes_duplicates,
    routes_entities,
    routes_facts,
    routes_graph,
    routes_review,
    routes_sparql,
    routes_status,
    routes_values,
)
from hmem.serve.board import Board
from hmem.serve.events import News
from hmem.serve.security import Guard
from hmem.serve.service import Service
from hmem.serve.settings import Settings

DESCRIPTION = """A knowledge base that keeps growing: what is stored, what is likely, and why.

Names may hold any character, so they travel in queries and bodies, never in paths. Every error has one shape, with a
stable code, a message and a list of names that may have been meant."""


def create_app(
    path: At,
    settings: Settings | None = None,
    board: Board | None = None,
    *,
    is_late: bool = False,
) -> FastAPI:
    """The application for one knowledge base, which it opens here and closes when it is shut down.

    With a `board` it is one of several. If others serve already, it is late, and starts with its model loaded.
    """
    chosen, board = settings or Settings(), board or Board()
    service = Service(place_of(path), chosen, board, is_late=is_late)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        news = app.state.news = News(service)
        service.metrics.gauge("listeners", "Open streams of events.", lambda: board.total("listeners"))
        loop = asyncio.get_running_loop()
        app.state.stop = lambda: loop.call_soon_threadsafe(news.close)
        news.start()  # which has the model loaded, too
        while service.is_late and service.model.status == "loading":
            await asyncio.sleep(0.05)
        service.is_late = False
        board.tell("serving", 1)
        try:
            yield
        finally:
            news.close()
            await asyncio.to_thread(service.close)

    app = FastAPI(
        title="hmem",
        description=DESCRIPTION,
        version=version("hmem"),
        docs_url=None,  # they fetch scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
        lifespan=lifespan,
    )
    app.state.service, app.state.settings, app.state.board, app.state.files = service, chosen, board, page.files()
    app.state.stop = lambda: None  # until there is a loop
    methods: dict[str, list[str]] = {app.openapi_url or "": ["GET"]}
    for each in (  # which are looked through in this order
        routes_ask,
        routes_graph,
        routes_status,
        routes_entities,
        routes_review,
        routes_facts,
        routes_values,
        routes_duplicates,
        routes_sparql,
        page,
    ):
        app.include_router(each.router)
        for route in each.router.routes:
            if isinstance(route, Route):
                methods[route.path] = sorted({*methods.get(route.path, ()), *(route.methods or ())})
    app.state.methods = methods
    errors.install(app)
    app.add_middleware(Guard, settings=chosen, metrics=service.metrics, routes=frozenset(methods))
    return app
