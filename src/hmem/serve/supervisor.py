"""Several processes that serve one base at one port, and the one that looks after them.

They share the socket that listens: a connection is taken by whichever process is free first, and while one is being
started anew those that come wait for the others. All else that they share is a board of numbers, the counters of the
metrics, and the base itself, through which each sees what the others write.

They are forked from a process that has imported everything and done nothing (multiprocessing's forkserver), so that
what was imported is in memory once, and a process that was killed is back in a second or two. uvicorn's own supervisor
starts each from nothing, knows no reason why one could not start, and leaves each to count for itself.

A pipe leads to each. It says through it that it serves, or why it cannot; it is told through it to end, and it also
ends when this process does, however that comes. That the pipe is closed tells that it has ended.
"""

import atexit
import logging
import multiprocessing
import os
import signal
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from signal import Signals
from typing import Any, Literal

from hmem.errors import HMemError, ProcessError
from hmem.knowledge.store.places import At
from hmem.serve.board import Board
from hmem.serve.settings import PATIENCE, Settings
from hmem.serve.sockets import bind, url_of

METHOD: Literal["forkserver", "spawn"] = (
    "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
)
IMPORTED = ["hmem.serve.worker"]  # before processes are forked
LONGEST_DELAY = 30.0  # seconds between two attempts to start a process that does not come up
TO_END = 2 * PATIENCE + 2  # seconds, for requests in flight and then for the base
STOPPING = (signal.SIGINT, signal.SIGTERM)

logger = logging.getLogger("hmem.serve")


@dataclass(frozen=True, kw_only=True)
class Job:
    """What one of the processes is given."""

    path: At
    settings: Settings
    bound: socket.socket
    board: Board
    log_level: str
    is_late: bool  # others serve already, so that it takes no requests before its model is loaded


Work = Callable[[Job, Callable[[], None], Connection], None]  # with what to call once it serves


def serve(
    path: At,
    settings: Settings,
    port: int,
    *,
    workers: int,
    work: Work,
    log_level: str = "warning",
    ready: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve a base by so many processes until an interrupt; `ready` is called with the address once all serve.

    Each calls `work`, which is named so that this process need not import what they do. If one cannot start to begin
    with, all end, with its error. One that ends later is started again.
    """
    context: Any = multiprocessing.get_context(METHOD)
    if METHOD == "forkserver":
        context.set_forkserver_preload(IMPORTED)
    numbers = context.RawArray("d", Board.size(workers))
    with (
        _interrupts() as interrupts,  # around all else, since the signal that comes about in the end ends the process
        bind(settings.host, port) as bound,
        tempfile.TemporaryDirectory(prefix="hmem-") as counters,
    ):

        def start(place: int, is_late: bool) -> tuple[BaseProcess, Connection]:
            board = Board(workers, place, numbers, Path(counters))
            board.clear()
            job = Job(path=path, settings=settings, bound=bound, board=board, log_level=log_level, is_late=is_late)
            ours, theirs = context.Pipe()
            process = context.Process(target=_run, args=(work, job, theirs), name=f"hmem-{place + 1}", daemon=True)
            with theirs:
                process.start()
            return process, ours

        Supervisor([_Place(number) for number in range(workers)], start, interrupts).run(lambda: ready(url_of(bound)))


@dataclass
class _Place:
    """One of the processes, whichever has this number at the time."""

    number: int
    process: BaseProcess | None = None
    pipe: Connection | None = None
    serves: bool = False
    problem: str = ""  # why it could not start
    failures: int = 0  # to start, since it last served
    due: float = 0.0  # when it is started, if it does not run


class Supervisor:
    """Keeps all processes running until an interrupt. It has one thread, and no process knows of another."""

    def __init__(
        self,
        places: list[_Place],
        start: Callable[[int, bool], tuple[BaseProcess, Connection]],
        interrupts: socket.socket,
    ) -> None:
        self._places, self._start, self._interrupts = places, start, interrupts
        self._has_begun = False  # all have served at the same time

    def run(self, ready: Callable[[], None]) -> None:
        try:
            while not self._has_begun and self._turn():
                if all(each.serves for each in self._places):
                    self._has_begun = True
                    ready()
            while self._has_begun and self._turn():
                pass
        finally:
            self._end()

    def _turn(self) -> bool:
        """Start what is due, and hear what there is to hear; False after an interrupt."""
        for each in self._places:
            if each.pipe is None and each.due <= time.monotonic():
                each.process, each.pipe = self._start(each.number, self._has_begun)
        due = [each.due for each in self._places if each.pipe is None]
        pipes = {each.pipe: each for each in self._places if each.pipe is not None}
        heard = wait([self._interrupts, *pipes], max(0.0, min(due) - time.monotonic()) if due else None)
        if self._interrupts in heard:
            return False
        for pipe in heard:
            self._hear(pipes[pipe])  # type: ignore[index]
        return True

    def _hear(self, place: _Place) -> None:
        assert place.pipe is not None
        try:
            told = place.pipe.recv()
        except (EOFError, OSError):
            self._ended(place)
            return
        if told is None:
            place.serves, place.failures = True, 0
        elif self._has_begun:
            place.problem = str(told)
        else:
            raise told

    def _ended(self, place: _Place) -> None:
        assert place.process is not None
        assert place.pipe is not None
        place.pipe.close()
        place.pipe = None
        place.process.join(1)  # the news of how it ended may come a little later
        who = f"process {place.number + 1} of {len(self._places)}"
        how = place.problem or _how(place.process.exitcode)
        if not self._has_begun:
            raise ProcessError(f"{who} {how} before it served")
        if place.serves:
            logger.warning("%s %s; it is started again", who, how)
        else:
            place.failures += 1
            delay = min(LONGEST_DELAY, 2.0**place.failures)
            place.due = time.monotonic() + delay
            logger.warning("%s could not be started again (%s); once more in %g s", who, how, delay)
        place.serves, place.problem = False, ""

    def _end(self) -> None:
        """Tell all to finish what they are doing, and end those that do not, or all after another interrupt."""
        running = {each.pipe: each.process for each in self._places if each.pipe is not None}
        for pipe in running:
            with suppress(OSError):
                pipe.send(None)
        until, has_patience = time.monotonic() + TO_END, True
        with suppress(BlockingIOError):
            self._interrupts.recv(100)
        while running and has_patience:
            heard = wait([self._interrupts, *running], max(0.0, until - time.monotonic()))
            has_patience = bool(heard) and self._interrupts not in heard
            for pipe in set(running).intersection(heard):
                try:
                    pipe.recv()
                except (EOFError, OSError):
                    running.pop(pipe)
        for process in running.values():
            assert process is not None
            process.kill()
        for each in self._places:
            if each.process is not None:
                each.process.join(1)
            if each.pipe is not None:
                each.pipe.close()


def _how(code: int | None) -> str:
    """How a process ended."""
    if code is not None and code < 0:
        return f"was ended by {Signals(-code).name}"
    return "ended" if code is None else f"ended with exit code {code}"


def _run(work: Work, job: Job, pipe: Connection) -> None:
    """The life of one process."""
    if hasattr(os, "setpgrp"):
        os.setpgrp()  # a Ctrl-C is for the supervisor, which lets it end in order
    try:
        work(job, lambda: pipe.send(None), pipe)
    except HMemError as error:
        pipe.send(error)


@contextmanager
def _interrupts() -> Iterator[socket.socket]:
    """A while in which interrupts are bytes at a socket; the first of them comes about after it, as it usually does."""
    ours, theirs = socket.socketpair()
    caught: list[int] = []
    with ours, theirs:
        for end in (ours, theirs):
            end.setblocking(False)
        handlers: dict[Signals, Any] = {each: signal.signal(each, lambda n, _: caught.append(n)) for each in STOPPING}
        before = signal.set_wakeup_fd(theirs.fileno())
        try:
            yield ours
        finally:
            signal.set_wakeup_fd(before)
            for each, handler in handlers.items():
                signal.signal(each, handler)
    for number in caught[:1]:
        if signal.getsignal(number) == signal.SIG_DFL:  # which asks nobody, and would leave a folder of the forkserver
            atexit._run_exitfuncs()
        signal.raise_signal(number)
