"""Who may use the model and what is derived from the facts: one thread at a time."""

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from hmem.errors import HMemError, UnknownNameError
from hmem.graph.days import Stretch, stretch
from hmem.graph.name_search import closest
from hmem.graph.names import MOST_LOOKED_THROUGH
from hmem.graph.qualifiers import Day
from hmem.knowledge.live_values import HIDDEN
from hmem.knowledge.model_link import ModelLink, attach
from hmem.knowledge.session import Session
from hmem.knowledge.store.database import Kind
from hmem.knowledge.store.evidence import Evidence
from hmem.knowledge.store.store import Store
from hmem.model.checkpoint import load

MOST_DATED = 2  # times whose graphs are kept


class Sessions:
    """It owns the one lock over the model and over the live graphs, and lends a session to the thread that has it."""

    def __init__(self, store: Store, device: str, evidence: Evidence) -> None:
        self.store, self.device, self.evidence = store, device, evidence
        self._lock = threading.RLock()
        self._session: Session | None = None
        self._dated: OrderedDict[Stretch, Session] = OrderedDict()  # of the times that were asked about last
        self._notes: dict[str, str] = {}  # of the store, when the session was made
        self._version: int | None = None  # of the store, when the session was last brought up to date

    def close(self) -> None:
        with self._lock:
            self._session = None
            self._dated.clear()
            self.store.close()

    @property
    def model_link(self) -> ModelLink:
        """Which model folder is used, and since when."""
        return ModelLink.of(self.store) or ModelLink.bundled()

    def use_model(self, folder: Path, trained_until: int | None) -> None:
        """Attach a model, and answer with it from now on."""
        with self._lock:
            saved = load(folder, self.device)
            attach(self.store, folder, trained_until)
            self._session = Session(self.store, saved, self.model_link, self.evidence)
            self._dated.clear()

    @contextmanager
    def lend(self, at: Day | Stretch | None, suggest: bool) -> Iterator[Session]:
        """See `KnowledgeBase.session`."""
        with self._lock:
            now = self._up_to_date()
            session = now if at is None else self._at(stretch(at), now)
            try:
                yield session
            except UnknownNameError as error:
                if suggest and error.option in ("entity", "relation") and isinstance(error.found, str):
                    live = session.live
                    kind: Kind = "entity" if error.option == "entity" else "relation"
                    names = live.entities.names if kind == "entity" else live.relations.names
                    if len(names) <= MOST_LOOKED_THROUGH:
                        known = (name for name in names if not name.startswith(HIDDEN))
                        error.suggestions = tuple(closest(error.found, [*known, *self.store.naming.called(kind)]))
                raise

    def keep_calibration(self) -> None:
        """See `KnowledgeBase.keep_calibration`."""
        counted = None if self._session is None else self._session.probabilities.self_calibration
        if counted is not None and not counted.is_kept and not self.store.is_frozen:
            with suppress(HMemError, OSError), Store.open(self.store.path) as store:
                counted.keep_in(store)

    def _up_to_date(self) -> Session:
        """The session of the present: the same one, as long as nothing was written."""
        version = self.store.version
        if self._session is None or version != self._version:
            notes = self.store.metas()
            if self._session is None or notes != self._notes:
                self._session, self._notes = self._joined(), notes
            self._session.live.refresh()
            self._version = version
        return self._session

    def _at(self, at: Stretch, now: Session) -> Session:
        """The session of a time; the last few are kept, so that it costs a moment only when it is first asked about."""
        session = self._dated.pop(at, None)
        if session is None or session.saved is not now.saved:
            evidence = replace(self.evidence, at=at)
            session = Session(self.store, now.saved, now.model_link, evidence, now.probabilities.self_calibration)
        self._dated[at] = session
        while len(self._dated) > MOST_DATED:
            self._dated.popitem(last=False)
        session.live.refresh()
        return session

    def _joined(self) -> Session:
        """A session with the attached model or the bundled one, or the present session if it has that model."""
        link = self.model_link
        if self._session is not None and self._session.model_link == link:
            return self._session
        return Session(self.store, link.load(self.store, self.device), link, self.evidence)
