"""Run the application until it is stopped."""

import asyncio
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import torch
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from hmem.errors import ConfigError
from hmem.serve.app import create_app
from hmem.serve.settings import PATIENCE, Settings

if sys.platform != "win32":
    import resource

LONGEST_HEAD = 512 << 10  # bytes of a request before its body: three long names in a query
LEAST_READ = 1 << 16  # bytes of an answer that a client must take in that time, if so many are left
BACKLOG = 1024  # connections that wait
SPARE = 64  # files that may be open besides connections
FEWEST, MOST = 16, 1_000  # connections at once, whatever the system allows


class Connection(H11Protocol):
    """A connection that is closed if no whole request comes, if its answers are not read, or if there are too many.

    Otherwise clients that say nothing, never finish saying it or never listen would keep all others out.
    """

    most: int = MOST
    seconds: float = 30.0  # for the head of a request, and for a client to read some more of an answer
    _waiting: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.most:
            transport.close()
        else:
            self._waiting = self.loop.call_later(self.seconds, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
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

    def __init__(self, app: FastAPI, *, log_level: str = "warning", patience: float = Connection.seconds) -> None:
        """`patience` is how many seconds the head of a request may take to arrive."""

        class Limited(Connection):
            most, seconds = most_connections(), patience

        super().__init__(
            uvicorn.Config(
                app,
                log_level=log_level,
                access_log=log_level in ("info", "debug"),
                server_header=False,
                proxy_headers=False,
                h11_max_incomplete_event_size=LONGEST_HEAD,
                timeout_graceful_shutdown=PATIENCE,
                backlog=BACKLOG,
                http=Limited,
                ws="none",
            )
        )
        self.app = app

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        self.app.state.stop()

    def stop(self) -> None:
        """End as after an interrupt; may be called from another thread."""
        self.should_exit = True
        self.app.state.stop()


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named in full, as asyncio only then sends answers at once: else the second packet of each waits 40 ms for an echo.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        bound.listen(BACKLOG)  # a client that connects from now on waits until the application is there
    except OSError as error:
        bound.close()
        raise ConfigError(
            f"cannot listen on {host} port {port}: {error.strerror or error}; "
            "try another --port, or --port 0 for any that is free"
        ) from None
    return bound


def most_connections() -> int:
    """As many as leave some files to open for everything else: a server that has none left can do nothing at all."""
    if sys.platform == "win32":
        return MOST
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if soft == resource.RLIM_INFINITY else max(FEWEST, min(MOST, soft - SPARE))


def url_of(bound: socket.socket) -> str:
    """The address of a socket as a browser takes it."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(
    path: str | os.PathLike[str],
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
        app = create_app(Path(path), settings)
        ready(url_of(bound))
        Server(app, log_level=log_level, patience=settings.timeout).run(sockets=[bound])
