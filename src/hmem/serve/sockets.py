"""The socket that a server listens at, and how many connections it may have."""

import socket
import sys
import time
from typing import Any

from hmem.errors import ConfigError
from hmem.serve.board import Board

if sys.platform != "win32":
    import resource

BACKLOG = 1024  # connections that wait
SPARE = 64  # files that may be open besides connections
MOMENT = 0.002  # seconds
FEWEST, MOST = 16, 1_000  # connections at once, whatever the system allows


class Shared(socket.socket):
    """A socket at which several processes listen.

    Whoever is awake takes a connection, and with it all that is ever asked there, so that one process could have the
    connections of all clients. One that has more than another therefore leaves it a moment to be quicker.
    """

    def __init__(self, bound: socket.socket, board: Board) -> None:
        super().__init__(bound.family, bound.type, bound.proto, fileno=bound.detach())
        self._board = board

    def accept(self) -> tuple[socket.socket, Any]:
        if self._board.is_ahead("connections"):
            time.sleep(MOMENT)
        return super().accept()  # a BlockingIOError if another was quicker


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
