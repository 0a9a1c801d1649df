"""The living knowledge base: durable facts and a trained model, joined.

    kb = KnowledgeBase.create("zoo.kb", model="models/wn18", facts="WN18")
    kb.add("dire_wolf.n.01", "_hypernym", "canine.n.02", source="me")
    kb.predict("dire_wolf.n.01", "_member_holonym", k=10)

A fact that was added is on the disk and used by the next answer, here and in every other process that has the file
open; nothing is trained for it. Without a model of its own, the one that comes with hmem answers.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TypeVar

from hmem.errors import ConfigError, DataError
from hmem.graph.dataset import Dataset
from hmem.graph.days import Stretch
from hmem.graph.descriptions import Description
from hmem.graph.qualifiers import Day
from hmem.knowledge import whole_graph
from hmem.knowledge.audit import SAMPLE, Suspects, Watch
from hmem.knowledge.base_index import keep_index, make_index, remove_index
from hmem.knowledge.contents import Contents, numbered, told_of
from hmem.knowledge.explanation import Reasons
from hmem.knowledge.inferred import store_inferred
from hmem.knowledge.model_link import ModelLink, attach
from hmem.knowledge.results import Direction, Prediction, Predictions, Question, Similars
from hmem.knowledge.session import Session, whole
from hmem.knowledge.sessions import Sessions
from hmem.knowledge.store.as_dataset import named_dataset, table_of, told_by
from hmem.knowledge.store.evidence import Evidence
from hmem.knowledge.store.places import At, place_of
from hmem.knowledge.store.records import Names3, Written
from hmem.knowledge.store.store import Store
from hmem.knowledge.store.validation import check_facts
from hmem.knowledge.value_estimate import Estimate
from hmem.model.checkpoint import Model, load, model_folder
from hmem.runs.device import resolve_device

T = TypeVar("T")


class KnowledgeBase(Contents):
    """Stored facts, and a model that answers from them. Safe to use from several threads.

    Facts are read and written without waiting for answers. To answer, one thread at a time has the model and what is
    derived from the facts: see `Sessions`, which owns that lock.
    """

    def __init__(self, store: Store | At, device: str = "cpu", *, with_inferred: bool = False) -> None:
        """An existing base, by its path or by its open store; see `create` and `open`."""
        super().__init__(store if isinstance(store, Store) else Store.open(store))
        self.device = resolve_device(device)
        self._sessions = Sessions(self.store, self.device, Evidence(with_inferred=with_inferred))

    @classmethod
    def create(
        cls,
        path: At,
        *,
        model: str | os.PathLike[str] | None = None,
        facts: object = None,
        entities: Iterable[Description | str | os.PathLike[str]] = (),
        values: Sequence[str] = (),
        source: str | None = "created",
        overwrite: bool = False,
        device: str = "cpu",
    ) -> "KnowledgeBase":
        """A new base at `path`, with the facts of a dataset, a file, a folder, a table or triples of names.

        Of a dataset, or a folder with splits, those that a model may see: its train and observed facts. `entities` are
        descriptions of what is in them, or files of these; those that come with a dataset need not be given. The tails
        of the relations `values` are numbers, dates or texts, and no entities. If anything is wrong with facts or
        model, there is no new base, and an old one is as it was.
        """
        facts = named_dataset(facts)
        own = [facts.entities] if isinstance(facts, Dataset) and facts.entities is not None else []
        told = told_of([*entities, *own])
        table = None if facts is None else table_of(facts)
        folder = None if model is None else model_folder(model)
        if folder is not None:
            load(folder)  # says what is wrong with a folder that cannot be used
        with Store.building(path, overwrite=overwrite) as store:
            if table is not None:
                store.add_table(table, source=source, values=values, besides=told_by(facts))
            if any(told):
                store.naming.describe_all(told.descriptions, values=told.values, source=source)
            if folder is not None:
                attach(store, folder)
        if overwrite:
            remove_index(place_of(path))  # that of the old base
        base = cls.open(path, device=device)
        keep_index(base.store)
        return base

    @classmethod
    def open(
        cls, path: At, *, read_only: bool = False, device: str = "cpu", with_inferred: bool = False
    ) -> "KnowledgeBase":
        """An existing base. Its model is loaded when it is first needed.

        Answers rest on what was asserted, and `with_inferred` also on what models inferred.
        """
        return cls(Store.open(path, read_only=read_only), device, with_inferred=with_inferred)

    def close(self) -> None:
        """Let go of the model and the file; what was written is on the disk already."""
        self._sessions.close()
        super().close()

    def __enter__(self) -> "KnowledgeBase":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def model_link(self) -> ModelLink | None:
        """Which model folder is used, and since when."""
        return ModelLink.of(self.store)

    def __repr__(self) -> str:
        count = self.store.count()
        model = "the bundled model" if self.model_link is None else f"model {self.model_link.folder.name}"
        return f"KnowledgeBase({str(self.path)!r}: {count['facts']:,} facts, {count['entities']:,} entities, {model})"

    # The model

    def use_model(self, folder: str | os.PathLike[str], *, trained_until: int | None = None) -> None:
        """Answer with another model from now on, here and in every process that has the base open.

        `trained_until` is the last moment of the store whose facts it was trained with. It need not be given for a
        model that was trained from this base, or that it uses already; of another one it is the present. `base` is the
        model that comes with hmem, which answers where no other is attached.
        """
        self._sessions.use_model(model_folder(folder), trained_until)

    def index(self) -> Path:
        """Write the graph of now into a folder beside the base, from which it is opened at once; where that is.

        A large base that can be written to does so by itself where it has none, or when very much has changed.
        """
        return make_index(self.store).graph.path

    @property
    def model(self) -> Model:
        """The model with its names and metrics."""
        with self.session() as session:
            return session.saved

    def session(self, *, at: Day | Stretch | None = None, suggest: bool = True) -> AbstractContextManager[Session]:
        """The facts of this moment and the model, for this thread alone meanwhile; or the facts that held `at` a time.

        An UnknownNameError is given names that may have been meant, unless `suggest` says that the caller does this.
        """
        return self._sessions.lend(at, suggest)

    def keep_calibration(self) -> None:
        """Write down in the file what was counted to give probabilities, if it is not there and can be.

        A base that is open to be written to does so by itself. This is for one that was opened to be read.
        """
        self._sessions.keep_calibration()

    # Answers

    def predict(
        self,
        entity: str,
        relation: str,
        k: int = 10,
        *,
        direction: Direction = "tail",
        new_only: bool = True,
        at: Day | None = None,
    ) -> Predictions:
        """The k best answers to (entity, relation, ?), or with direction="head" to (?, relation, entity).

        Answers that are stored are left out. With `new_only=False` they are listed too, marked as stored, each with the
        score it would have if it were not.

        With `at`, a day, a month or a year, here and below only the facts that held then are there.
        """
        question = Question(entity=entity, relation=relation, direction=direction, k=k, new_only=new_only)
        with self.session(at=at) as session:
            found = Predictions(*whole(session.answer_each([question])))
            return self._labelled(found) if session.live.has_labels else found

    def predict_many(
        self,
        questions: Iterable[tuple[str, str]],
        k: int = 10,
        *,
        direction: Direction = "tail",
        new_only: bool = True,
        at: Day | None = None,
    ) -> Predictions:
        """The same for many (entity, relation) at once; `query` says which question a row answers."""
        asked = [
            Question(entity=entity, relation=relation, direction=direction, k=k, new_only=new_only)
            for entity, relation in _pairs(questions)
        ]
        with self.session(at=at) as session:
            return self._labelled(Predictions(numbered(whole(session.answer_each(asked)))))

    def predict_target(
        self,
        head: str | None = None,
        relation: str | None = None,
        tail: str | None = None,
        k: int = 10,
        *,
        new_only: bool = True,
        at: Day | None = None,
    ) -> Predictions:
        """The k best ways to fill in the one of the three that is not given."""
        match head, relation, tail:
            case str(), str(), None:
                return self.predict(head, relation, k, new_only=new_only, at=at)
            case None, str(), str():
                return self.predict(tail, relation, k, direction="head", new_only=new_only, at=at)
            case str(), None, str():
                with self.session(at=at) as session:
                    return self._labelled(Predictions(session.relations(head, tail, k, new_only)))
        raise ConfigError(
            f"predict_target fills in one of three: give two of head={head!r}, relation={relation!r}, tail={tail!r}"
        )

    def estimate(self, entity: str, property: str, *, at: Day | Stretch | None = None) -> Estimate:
        """What a property of an entity probably is: a median and an interval that four in five values are in.

        By the facts that the entity shares with others whose value is known, or else the median of its kind; the
        answer says which. A value that is stored is withheld.
        """
        with self.session(at=at) as session:
            return session.estimate(entity, property)

    def has_outgrown(self, entity: str, *, at: Day | None = None) -> bool:
        """Whether it is so much larger than anything was in training that its answers have no probability."""
        with self.session(at=at) as session:
            return session.probabilities.has_outgrown(session.names.entity(entity))

    def score(
        self, head: str, relation: str, tail: str, *, direction: Direction = "tail", at: Day | None = None
    ) -> float:
        """How well the fact answers (head, relation, ?); higher is better. A stored one counts as if it were not."""
        return self.score_many([(head, relation, tail)], direction=direction, at=at)[0].score

    def score_many(
        self, facts: Iterable[Names3], *, direction: Direction = "tail", at: Day | None = None
    ) -> Predictions:
        """The given facts in the order given, each with its score and its rank among all answers to its question."""
        with self.session(at=at) as session:
            return self._labelled(Predictions(session.judge(check_facts(facts), direction)))

    def missing(self, entity: str, k: int = 10, *, at: Day | None = None) -> Predictions:
        """The k likeliest facts about an entity that are not stored, over all relations and both directions.

        They are in the order of their probability, and of the right kind; see `hmem.knowledge.missing`.
        """
        with self.session(at=at) as session:
            return self._labelled(Predictions(session.missing(entity, k)))

    def missing_many(self, entities: Iterable[str], k: int = 10, *, at: Day | None = None) -> Predictions:
        """`missing` of several entities, one after the other; `query` says to which a row belongs."""
        with self.session(at=at) as session:
            return self._labelled(Predictions(numbered([session.missing(entity, k) for entity in entities])))

    def missing_anywhere(
        self,
        k: int = 100,
        *,
        relation: str | None = None,
        having: tuple[str, str] | None = None,
        at: Day | None = None,
        watch: Watch | None = None,
    ) -> Predictions:
        """The k likeliest facts that are not stored, over the whole graph or some of it, each asked from its head.

        Facts of one `relation`, or about the entities `having` a tail in a relation, such as ("section", "games").
        `watch` is told how many entities are done, of how many, and ends it by returning False: what was found until
        then is given.
        """
        steps = whole_graph.missing_anywhere(partial(self._ask, at=at), k, relation, having, watch or _to_the_end)
        return self._labelled(Predictions(whole_graph.taken(steps)[0]))

    def audit(
        self,
        k: int = 10,
        *,
        entity: str | None = None,
        relation: str | None = None,
        sample: int | None = SAMPLE,
        watch: Watch | None = None,
    ) -> Suspects:
        """The k stored facts that the others speak against most, with what would be expected in their place.

        Those of an entity, of a relation or of all; of more than `sample` some are drawn, unless that is None. `watch`
        is told how many are done, of how many, and ends it by returning False: what was found until then is given.
        """
        steps = whole_graph.audit(self._ask, k, entity, relation, sample, watch or _to_the_end)
        found = whole_graph.taken(steps)
        found.labels = self.store.naming.labels_of(fact for each in found for fact in each.named)
        return found

    async def _ask(self, step: Callable[[Session], T], at: Day | None = None) -> T:
        with self.session(at=at) as session:
            return step(session)

    def similar(self, entity: str, k: int = 10) -> Similars:
        """The k entities whose vectors point most nearly the same way."""
        with self.session() as session:
            return self._labelled(Similars(session.similar(entity, k)))

    def similar_many(self, entities: Iterable[str], k: int = 10) -> Similars:
        """`similar` of several entities, one after the other; `query` says to which a row belongs."""
        with self.session() as session:
            return self._labelled(Similars(numbered([session.similar(entity, k) for entity in entities])))

    def explain(
        self, head: str, relation: str, tail: str, *, direction: Direction = "tail", at: Day | None = None
    ) -> Reasons:
        """Why the fact scores what it scores: the stored facts, and what each contributes."""
        return self.explain_many([(head, relation, tail)], direction=direction, at=at)[0]

    def explain_many(
        self, facts: Iterable[Names3], *, direction: Direction = "tail", at: Day | None = None
    ) -> list[Reasons]:
        """`explain` of several facts, in the order given."""
        with self.session(at=at) as session:
            found = [session.explain(*fact, direction) for fact in check_facts(facts)]
        for each in found:
            named = [each.fact, *(fact for reason in each for fact in reason.facts)]
            each.labels = self.store.naming.labels_of(named)
        return found

    def infer(self, found: Iterable[Prediction], *, least: float = 0.5, source: str | None = None) -> Written:
        """Store answers as facts that the model inferred: those with a probability of `least` or more.

        They are no evidence for other answers, and hide no answer. `kb.store.listing(inferred=True)` lists them, with
        the name of the model and its probability; `kb.store.withdraw` takes them back, and `kb.add` asserts one.
        """
        model = self._sessions.model_link.name
        return store_inferred(self.store, found, model=model, least=least, source=source)


def _pairs(questions: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    pairs = list(questions)
    for pair in pairs:
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise DataError(f"expected questions as (entity, relation), received {pair!r:.60}")
    return pairs


def _to_the_end(_done: int, _total: int) -> bool:
    return True
