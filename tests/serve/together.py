"""A server of two processes that do next to nothing: `python -m tests.serve.together WHAT`, for test_supervisor.py.

Each answers every connection with its place and its number, and counts the connections on the board. WHAT says what
goes wrong: "fails" the second process cannot start, "dies" it ends without a word, "fails-later" no process can start
once all have served, until there is a file "mended".
"""

import logging
import os
import select
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

from hmem.errors import HMemError, StoreError
from hmem.serve import supervisor
from hmem.serve.settings import Settings
from hmem.serve.supervisor import Job


def work(job: Job, started: Callable[[], None], pipe: Connection) -> None:
    board = job.board
    if job.path == "fails" and board.place == 1:
        raise StoreError("{path} is not there", path=job.path)
    if job.path == "dies" and board.place == 1:
        os._exit(7)
    if job.path == "fails-later" and job.is_late and not Path("mended").exists():
        raise StoreError("{path} has gone", path=job.path)
    job.bound.setblocking(False)
    started()
    served = 0
    while True:
        ready, _, _ = select.select([job.bound.fileno(), pipe.fileno()], [], [])
        if pipe.fileno() in ready:
            return
        try:
            connection, _ = job.bound.accept()
        except BlockingIOError:
            continue
        with connection:
            served += 1
            board.tell("connections", served)
            connection.sendall(f"{board.place} {os.getpid()} {board.total('connections')}".encode())


def main() -> None:
    logging.basicConfig(format="%(message)s")
    supervisor.IMPORTED.clear()  # these need nothing
    supervisor.LONGEST_DELAY = 0.05
    try:
        supervisor.serve(sys.argv[1], Settings(), 0, workers=2, work=work, ready=lambda url: print(url, flush=True))
    except HMemError as error:
        print(f"{type(error).__name__}: {error}", flush=True)


if __name__ == "__main__":
    main()
