"""One of several processes that serve a base; `hmem.serve.supervisor` starts it and tells it to end."""

import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection

import torch

from hmem.serve import metrics
from hmem.serve.app import create_app
from hmem.serve.server import Server
from hmem.serve.sockets import Shared
from hmem.serve.supervisor import Job


def work(job: Job, started: Callable[[], None], pipe: Connection) -> None:
    """Serve until `pipe` says something, or is closed at the other end."""
    torch.set_num_threads(max(1, torch.get_num_threads() // job.board.processes))
    if job.board.counters is not None:
        metrics.count_in(job.board.counters, job.board.place)
    app = create_app(job.path, job.settings, job.board, is_late=job.is_late)
    server = Server(app, log_level=job.log_level, patience=job.settings.timeout, started=started)
    threading.Thread(target=_obey, args=(pipe, server), name="hmem-order", daemon=True).start()
    with suppress(KeyboardInterrupt):
        server.run(sockets=[Shared(job.bound, job.board)])


def _obey(pipe: Connection, server: Server) -> None:
    with suppress(EOFError, OSError):
        pipe.recv()
    server.stop()
