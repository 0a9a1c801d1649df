"""The knowledge base as the routes see it: everything that may take a while is done in another thread.

questions   one thread, the only one that uses the knowledge base and so its lock (hmem.serve.batching)
reads       a few threads and a store of their own, so that they wait neither for the model nor for writes
writes      one thread and one store, in the order in which they come
queries     in SPARQL, a few threads that wait for a process of its own (hmem.knowledge.sparql)
the past    one thread and one store, for what listeners have missed, which may be all there is
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
from jaxtyping import Bool

from hmem.errors import ConfigError, HMemError, Place, QueryLimitError
from hmem.graph.days import Stretch
from hmem.knowledge.base import KnowledgeBase
from hmem.knowledge.model_link import ModelLink
from hmem.knowledge.results import Question
from hmem.knowledge.session import Session
from hmem.knowledge.sparql import Solutions, Sparql
from hmem.knowledge.store.store import Store
from hmem.model.checkpoint import Model as SavedModel
from hmem.runs.device import resolve_device
from hmem.serve.batching import Answers, Batcher
from hmem.serve.board import Board
from hmem.serve.errors import ApiError, worded
from hmem.serve.metrics import Metrics
from hmem.serve.name_index import NameIndex
from hmem.serve.settings import MOST_SOLUTIONS, PATIENCE, Settings

T = TypeVar("T")
READERS = 4
QUERIES = 2  # in SPARQL, at once, by all processes; at least one by each
MOST_READS, MOST_WRITES, MOST_QUERIES = 256, 64, 16  # in the queue
HEADWAY = 0.5  # seconds that a query has less than its request, so that what ended it is told

logger = logging.getLogger("hmem.serve")


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """The state of the model at this moment, to be read without waiting for it."""

    status: Literal["loading", "ready", "trouble"]
    link: ModelLink
    saved: SavedModel | None = None
    is_trained: Bool[np.ndarray, " E"] | None = None  # of its entities, which ones were trained
    trouble: str = ""

    @property
    def name(self) -> str:
        """That of its folder."""
        return self.link.folder.name

    def is_new(self, name: str) -> bool:
        """Whether an entity came after the model was trained; none is new to a model of no graph in particular."""
        if self.saved is None or self.is_trained is None or not len(self.saved.vocab.entities):
            return False
        number = self.saved.vocab.entities.get(name)
        return number is None or not bool(self.is_trained[number])

    def can_use(self, relation: str) -> bool:
        """Whether a stored relation can be asked for."""
        if self.saved is None:
            return False
        return self.saved.model.takes_new_relations or relation in self.saved.vocab.relations


class Service:
    """One open knowledge base, with the threads that work on it. It has no lock; one event loop awaits its results."""

    def __init__(self, path: Place, settings: Settings, board: Board | None = None, *, is_late: bool = False) -> None:
        """It is late as long as it takes no requests, while others do that share the board."""
        board = board or Board()
        self.settings, self.board, self.is_late = settings, board, is_late
        self.metrics = Metrics(board.counters)
        # The writer first: it brings a file of an older version up to date.
        self.writer = Store.open(path) if settings.writable else None
        self.store = Store.open(path, read_only=True)
        self.past = Store.open(path, read_only=True)
        self.kb = KnowledgeBase.open(path, read_only=True, device=resolve_device(settings.device))
        if self.store.is_frozen and board.place == 0:
            unseen = "what others write there is not seen until the server is started again"
            logger.warning("%s lies in a folder that this user cannot write to, so %s", path, unseen)
        self.name_index = NameIndex(self.store)
        self.model = Model("loading", ModelLink.of(self.store) or ModelLink.bundled())
        self.model_changed: Callable[[], object] = lambda: None  # called when it is another, in any thread
        self.written: Callable[[], object] = lambda: None  # called after each write, by whoever awaits it
        self._readers = ThreadPoolExecutor(READERS, "hmem-read")
        self._writers = ThreadPoolExecutor(1, "hmem-write")
        self._historians = ThreadPoolExecutor(1, "hmem-past")
        self._queriers = ThreadPoolExecutor(max(1, QUERIES // board.processes), "hmem-sparql")
        self._engine: Sparql | None = None  # from the first query on
        self._waiting: Counter[str] = Counter()  # in the queues of the threads above
        self.batcher = Batcher(
            self.kb, window=settings.window, most_waiting=settings.most_waiting, observe=self.metrics.batch
        )
        for name, meaning, read in (
            ("facts", "Facts stored.", lambda: self.name_index.totals.facts),
            ("entities", "Entities ever named.", lambda: self.name_index.totals.entities),
            ("relations", "Relations ever named.", lambda: self.name_index.totals.relations),
            ("moment", "The number of the last write.", lambda: self.name_index.totals.moment),
            ("waiting_questions", "Questions in the queue.", lambda: board.total("waiting")),
            ("model_ready", "1 if the model is loaded.", lambda: self.model.status == "ready" and not self.loads),
            ("processes", "Processes that answer.", lambda: board.total("serving")),
        ):
            self.metrics.gauge(name, meaning, read)

    def close(self) -> None:
        is_idle = self.batcher.close(PATIENCE)
        if self._engine is not None:
            self._engine.close()  # with all that it is doing
        for readers in (self._readers, self._historians, self._queriers):
            readers.shutdown(cancel_futures=True)
        self._writers.shutdown()  # what was accepted is written
        if is_idle:
            self.kb.close()
        else:
            logger.warning("a question was still being answered and is given up")
        self.store.close()
        self.past.close()
        if self.writer is not None:
            self.writer.close()

    # Work

    async def predict(self, questions: Sequence[Question]) -> Answers:
        """The best answers to each question."""
        return await self._wait(self.batcher.predict(questions))

    async def ask(self, function: Callable[[Session], T], at: Stretch | None = None) -> T:
        """What a function makes of the model and the facts of the moment, or of those that held at a time."""
        return await self._wait(self.batcher.call(function, at))

    async def read(self, function: Callable[[], T]) -> T:
        """What a function finds in `store` or `name_index`."""
        with self._queued("requests", MOST_READS):
            return await self._wait(self._readers.submit(function))

    async def look_back(self, function: Callable[[], T]) -> T:
        """What a function finds in `past`; at most as many wait for it as there may be listeners."""
        return await self._wait(self._historians.submit(function))

    async def write(self, function: Callable[[Store], T]) -> T:
        """What a function does to the store. Once begun it is finished, even if its caller has given up."""
        if self.writer is None:
            raise ApiError("writes_off", "this server does not accept writes")

        def run(writer: Store) -> T:
            written = function(writer)
            self.name_index.refresh()
            return written

        with self._queued("writes", MOST_WRITES):
            done = await self._wait(self._writers.submit(run, self.writer), "; the write may still be carried out")
        self.written()
        return done

    async def sparql(self, text: str) -> Solutions:
        """What a SPARQL query finds, within the time that is left to its request when its turn comes."""
        try:
            engine = self._engine = self._engine or Sparql(self.store.path)
        except ConfigError as error:
            raise ApiError("not_installed", worded(error)) from None
        until = time.monotonic() + self.settings.timeout - min(HEADWAY, self.settings.timeout / 2)

        def run() -> Solutions:
            left = until - time.monotonic()
            if left <= 0:
                raise QueryLimitError("other queries took all of the time")
            return engine.query(text, seconds=left, limit=MOST_SOLUTIONS)

        with self._queued("queries", MOST_QUERIES):
            return await self._wait(self._queriers.submit(run))

    @contextmanager
    def _queued(self, what: str, most: int) -> Iterator[None]:
        """A while in which one more of these waits; refused if there are too many."""
        if self._waiting[what] >= most:
            raise ApiError("busy", f"{self._waiting[what]:,} {what} are waiting already; try again in a moment")
        self._waiting[what] += 1
        try:
            yield
        finally:
            self._waiting[what] -= 1

    async def _wait(self, future: "Future[T]", warning: str = "") -> T:
        try:
            async with asyncio.timeout(self.settings.timeout):
                return await asyncio.wrap_future(future)
        except TimeoutError:
            raise ApiError("timeout", f"no answer within {self.settings.timeout:g} s{warning}") from None

    # The model

    def load_model(self, link: ModelLink | None) -> None:
        """Have the attached model loaded before the first question, or the bundled one; `model` tells how far it is."""
        self._set_model(Model("loading", link or ModelLink.bundled()))
        self.batcher.call(self._take_model).add_done_callback(self._look_for_trouble)

    def _take_model(self, session: Session) -> None:
        session.predictor.index()  # unseen entities are placed now, not at the first question
        if session.probabilities.calibration is not None and self.writer is not None:  # counted now, too
            counted = session.probabilities.self_calibration
            if counted is not None and not counted.is_kept:
                counted.keep_in(self.writer)
        is_trained = session.saved.model.is_trained.cpu().numpy()
        self._set_model(Model("ready", session.model_link, session.saved, is_trained))

    def _look_for_trouble(self, loading: "Future[None]") -> None:
        error = None if loading.cancelled() else loading.exception()
        if error is None:
            return
        logger.error("the model cannot be used: %s", error)
        said = worded(error) if isinstance(error, HMemError) else "an internal error, see the log"
        self._set_model(Model("trouble", self.model.link, trouble=said))

    @property
    def loads(self) -> bool:
        """Whether any process that takes requests is loading a model."""
        return self.board.total("loading") > 0

    def _set_model(self, model: Model) -> None:
        self.model = model
        self.board.tell("loading", int(model.status == "loading" and not self.is_late))
        self.model_changed()
