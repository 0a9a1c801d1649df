"""Run the application until it is stopped."""

import asyncio
import socket
from collections.abc import Callable
from types import FrameType

import torch
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from hmem.knowledge.store.places import At
from hmem.serve.app import create_app
from hmem.serve.board import Board
from hmem.serve.settings import PATIENCE, Settings
from hmem.serve.sockets import BACKLOG, MOST, bind, most_connections, url_of

LONGEST_HEAD = 512 << 10  # bytes of a request before its body: three long names in a query
LEAST_READ = 1 << 16  # bytes of an answer that a client must take in that time, if so many are left


class Connection(H11Protocol):
    """A connection that is closed if no whole request comes, if its answers are not read, or if there are too many.

    Otherwise clients that say nothing, never finish saying it or never listen would keep all others out.
    """

    most: int = MOST
    seconds: float = 30.0  # for the head of a request, and for a client to read some more of an answer
    board = Board()  # which has the connections of all processes
    _waiting: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.board.tell("connections", len(self.connections))
        if len(self.connections) > self.most or self.board.total("connections") > MOST:
            transport.close()
        else:
            self._waiting = self.loop.call_later(self.seconds, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.board.tell("connections", len(self.connections))
        for timer in (self._waiting, self._unread):
            if timer is not None:
                timer.cancel()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()

    def _watch(self, left: int) -> None:
        self._unread = self.loop.call_later(self.seconds, self._look_again, left)

    def _look_again(self, before: int) -> None:
        left = self.transport.get_write_buffer_size()
        if before - left < LEAST_READ:
            self.transport.abort()
        else:
            self._watch(left)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._waiting is not None:
            self._waiting.cancel()
        self._waiting = self.loop.call_later(self.seconds, self._give_up)

    def _give_up(self) -> None:
        if self.cycle is None or self.cycle.response_complete:  # else a request is being answered
            if self.transport.get_write_buffer_size():
                self.transport.abort()  # a mere end would wait until the rest is read
            else:
                self.transport.close()


class Server(uvicorn.Server):
    """A server that ends its streams of events when it is stopped, instead of waiting for their readers."""

    def __init__(
        self,
        app: FastAPI,
        *,
        log_level: str = "warning",
        patience: float = Connection.seconds,
        started: Callable[[], None] = lambda: None,
    ) -> None:
        """`patience` is how many seconds the head of a request may take to arrive.

        `started` is called once it takes requests.
        """

        class Limited(Connection):
            most, seconds, board = most_connections(), patience, app.state.board

        super().__init__(
            uvicorn.Config(
                app,
                log_level=log_level,
                access_log=log_level in ("info", "debug"),
                server_header=False,
                proxy_headers=False,
                h11_max_incomplete_event_size=LONGEST_HEAD,
                timeout_graceful_shutdown=PATIENCE,
                backlog=BACKLOG if app.state.board.processes == 1 else 1,  # of which so many are taken at once
                http=Limited,
                ws="none",
            )
        )
        self.app, self._started = app, started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for each in sockets or ():
            each.listen(BACKLOG)  # again, whatever was said above: so many may wait
        self._started()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        self.app.state.stop()

    def stop(self) -> None:
        """End as after an interrupt; may be called from another thread."""
        self.should_exit = True
        self.app.state.stop()


def serve(
    path: At,
    settings: Settings,
    port: int,
    *,
    log_level: str = "warning",
    ready: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve a knowledge base until an interrupt; `ready` is called with the address once it is bound."""
    # One core is left to everything but the model: with all of them at work on small passes, one answer in a hundred
    # took 200 ms on two cores, instead of 15.
    torch.set_num_threads(max(1, torch.get_num_threads() - 1))
    with bind(settings.host, port) as bound:
        app = create_app(path, settings)
        ready(url_of(bound))
        Server(app, log_level=log_level, patience=settings.timeout).run(sockets=[bound])
