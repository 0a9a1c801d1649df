"""Changes of the knowledge base as server-sent events, whichever process wrote them.

Nothing is queued. Each listener has the last moment it was sent, and is sent the net difference since then, which is
right however slow the listener was.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from fastapi.sse import ServerSentEvent

from hmem.knowledge.model_link import ModelLink
from hmem.knowledge.store.records import Names3
from hmem.serve.errors import ApiError
from hmem.serve.service import Service

MOST_TOLD = 100  # facts in one event
MOST_KEPT = 256  # events
RETRY = 2_000  # milliseconds after which a browser connects again
PACE = 0.02  # seconds between two streams that begin, so that clients which come again and again slow nobody else

logger = logging.getLogger("hmem.serve")


class News:
    """Watches a knowledge base and wakes the listeners. Belongs to one event loop."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._changed = asyncio.Event()
        self._hint = asyncio.Event()
        self._closed = False
        self.listeners = 0
        self._turn = asyncio.Lock()  # to begin a stream, in the order in which listeners came
        self._begun = 0.0  # when the last stream began, by the clock of the event loop
        self._seen: tuple[int, ModelLink | None] | None = None  # last moment and model
        self._told: dict[int, dict[str, Any]] = {}  # what changed since a moment; used by one thread only
        self._task: asyncio.Task[None] | None = None
        self._deaf: Callable[[], None] = lambda: None  # stops listening to the database

    def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._service.model_changed = lambda: loop.call_soon_threadsafe(self._wake)
        self._service.written = self.look
        self._task = loop.create_task(self._watch())
        # What is not told, is found at the next turn.
        self._deaf = self._service.store.when_written(lambda: loop.call_soon_threadsafe(self.look))

    def close(self) -> None:
        """End all streams."""
        self._closed = True
        self._deaf()
        self._service.model_changed = self._service.written = lambda: None
        self._wake()
        if self._task is not None:
            self._task.cancel()

    def look(self) -> None:
        """There may be something new: see now, not at the next turn."""
        self._hint.set()

    @contextmanager
    def listening(self) -> Iterator[None]:
        """A while in which one listener more is counted; refused if there are too many."""
        board = self._service.board
        if (listeners := board.total("listeners")) >= self._service.settings.most_listeners:
            raise ApiError("busy", f"{listeners} listeners already; close one of the open pages")
        self.listeners += 1
        board.tell("listeners", self.listeners)
        try:
            yield
        finally:
            self.listeners -= 1
            board.tell("listeners", self.listeners)

    async def events(self, since: int | None) -> AsyncIterator[ServerSentEvent]:
        """The events for one listener, from a moment on, or from now."""
        async with self._turn:
            clock = asyncio.get_running_loop().time
            await asyncio.sleep(max(0.0, self._begun + PACE - clock()))
            self._begun = clock()
        now = await self._service.read(lambda: self._service.store.moment)
        last, model = now if since is None else min(since, now), self._service.model
        yield ServerSentEvent(id=str(last), retry=RETRY)
        while not self._closed:
            changed = self._changed  # taken before looking, so that nothing is missed in between
            if max(now, self._service.name_index.totals.moment) > last:
                event = await self._service.look_back(partial(self._changes, last))
                now = last = event["moment"]
                yield ServerSentEvent(event="facts", id=str(last), data=event)
            if self._service.model is not model:
                model = self._service.model
                state = {"moment": last, "model": model.name, "status": model.status}
                yield ServerSentEvent(event="model", id=str(last), data=state)
            await changed.wait()

    def _changes(self, since: int) -> dict[str, Any]:
        """What `changes` says; found once for all listeners that have missed the same."""
        now = self._service.past.moment
        if self._told.get(since, {}).get("moment") != now:
            if len(self._told) >= MOST_KEPT:
                self._told.clear()
            self._told[since] = changes(self._service, since)
        return self._told[since]

    async def _watch(self) -> None:
        version: int | None = None
        trouble = ""
        while True:
            self._service.board.tell("waiting", self._service.batcher.waiting)
            try:
                now = await self._service.read(lambda: self._service.store.version)
                if now != version:
                    await self._see()
                    version = now
                trouble = ""
            except Exception as error:  # whatever it is, there may be news again
                if str(error) != trouble:  # logged once, not five times a second
                    logger.warning("could not look for news: %s", error)
                trouble = str(error)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._service.settings.poll):
                    await self._hint.wait()
            self._hint.clear()

    async def _see(self) -> None:
        """Wake the listeners if facts or model are others than at the last look."""
        seen = await self._service.read(self._now)
        if self._seen is None or seen[1] != self._seen[1]:
            self._service.load_model(seen[1])
        if seen != self._seen:
            self._seen = seen
            self._wake()

    def _now(self) -> tuple[int, ModelLink | None]:
        self._service.name_index.refresh()
        return self._service.store.moment, ModelLink.of(self._service.store)

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


def changes(service: Service, since: int) -> dict[str, Any]:
    """What is different from a moment of the past, by name."""
    totals = service.name_index.totals
    found = service.past.changes_since(since, totals.entities, totals.relations)
    added, removed = found.added[:MOST_TOLD], found.removed[:MOST_TOLD]
    gone = service.name_index.named(removed)
    sources = {fact.source for fact in service.past.details(added)} | {_removed_by(service, fact) for fact in gone}
    return {
        "moment": found.moment,
        "added": service.name_index.named(added),
        "removed": gone,
        "added_count": len(found.added),
        "removed_count": len(found.removed),
        "by": sources.pop() if len(sources) == 1 else None,
    }


def _removed_by(service: Service, fact: Names3) -> str | None:
    head, relation, tail = fact
    story = service.past.history(head=head, relation=relation, tail=tail, limit=1)
    return story[0].removed_by if story else None
