"""The living knowledge base: durable facts and a trained model, joined.

    kb = KnowledgeBase.create("zoo.kb", model="models/wn18", facts="WN18")
    kb.add("dire_wolf.n.01", "_hypernym", "canine.n.02", source="me")
    kb.predict("dire_wolf.n.01", "_member_holonym", k=10)

A fact that was added is on the disk and used by the next answer, here and in every other process that has the file
open; nothing is trained for it. Without a model of its own, the one that comes with hmem answers.
"""

import os
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar, Unpack

from hmem.errors import ConfigError, DataError, HMemError, UnknownNameError
from hmem.graph.dataset import Dataset
from hmem.graph.days import Stretch, stretch
from hmem.graph.descriptions import Description, Told
from hmem.graph.name_search import closest
from hmem.graph.qualifiers import Day, Given
from hmem.graph.readers.entities import read_entities
from hmem.graph.values import Plain, Value
from hmem.knowledge.audit import AT_ONCE, EXPLAINED, SAMPLE, Suspects, Watch
from hmem.knowledge.duplicates import Duplicates, Finder
from hmem.knowledge.explanation import Reasons
from hmem.knowledge.export import export, format_of
from hmem.knowledge.live_values import HIDDEN
from hmem.knowledge.model_link import ModelLink, attach
from hmem.knowledge.results import (
    ENTITIES,
    Direction,
    Neighbor,
    Neighbors,
    Prediction,
    Predictions,
    Question,
    Similar,
    Similars,
    Values,
)
from hmem.knowledge.session import Session, whole
from hmem.knowledge.sparql import SECONDS, Solutions, Sparql
from hmem.knowledge.store.as_dataset import named_dataset, table_of
from hmem.knowledge.store.bulk import Progress
from hmem.knowledge.store.evidence import Evidence
from hmem.knowledge.store.merge import Merged, Undone
from hmem.knowledge.store.naming import Described
from hmem.knowledge.store.read import Kind
from hmem.knowledge.store.records import Names3, StoredFact, Written
from hmem.knowledge.store.store import Store
from hmem.knowledge.store.validation import check_facts, check_name
from hmem.knowledge.value_estimate import Estimate
from hmem.model.checkpoint import Model, load, model_folder
from hmem.runs.device import resolve_device

Row = TypeVar("Row", Prediction, Similar, Neighbor)
MOST_DATED = 2  # times whose graphs are kept
AnyTable = TypeVar("AnyTable", Predictions, Similars, Neighbors)


class KnowledgeBase:
    """Stored facts, and a model that answers from them. Safe to use from several threads.

    It owns the one lock over the model and over what is derived from the facts: the thread that holds `session` has
    them alone. The store guards its own connection, so facts are read and written without waiting for answers.
    """

    def __init__(
        self, store: Store | str | os.PathLike[str], device: str = "cpu", *, with_inferred: bool = False
    ) -> None:
        """An existing base, by its path or by its open store; see `create` and `open`."""
        self._evidence = Evidence(with_inferred=with_inferred)
        self.device = resolve_device(device)
        self.store = store if isinstance(store, Store) else Store.open(store)
        self._lock = threading.RLock()
        self._session: Session | None = None
        self._dated: OrderedDict[Stretch, Session] = OrderedDict()  # of the times that were asked about last
        self._sparql: Sparql | None = None
        self._notes: dict[str, str] = {}  # of the store, when the session was made

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
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
        told = _told([*entities, *own])
        table = None if facts is None else table_of(facts)
        folder = None if model is None else model_folder(model)
        if folder is not None:
            load(folder)  # says what is wrong with a folder that cannot be used
        with Store.building(path, overwrite=overwrite) as store:
            if table is not None:
                store.add_table(table, source=source, values=values)
            if any(told):
                store.naming.describe_all(told.descriptions, values=told.values, source=source)
            if folder is not None:
                attach(store, folder)
        return cls.open(path, device=device)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        read_only: bool = False,
        device: str = "cpu",
        with_inferred: bool = False,
    ) -> "KnowledgeBase":
        """An existing base. Its model is loaded when it is first needed.

        Answers rest on what was asserted, and `with_inferred` also on what models inferred.
        """
        return cls(Store.open(path, read_only=read_only), device, with_inferred=with_inferred)

    def close(self) -> None:
        with self._lock:
            self._session = None
            self._dated.clear()
            self.store.close()
            if self._sparql is not None:
                self._sparql.close()

    def __enter__(self) -> "KnowledgeBase":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def path(self) -> Path:
        return self.store.path

    @property
    def model_link(self) -> ModelLink | None:
        """Which model folder is used, and since when."""
        return ModelLink.of(self.store)

    def __len__(self) -> int:
        return self.store.count()["facts"]

    def __contains__(self, fact: object) -> bool:
        match fact:
            case [str(head), str(relation), str(tail)]:
                with suppress(DataError):  # no entity can have such a name
                    return self.store.contains(head, relation, tail)
        return False

    def __bool__(self) -> bool:
        return True  # also without facts

    def __repr__(self) -> str:
        count = self.store.count()
        model = "the bundled model" if self.model_link is None else f"model {self.model_link.folder.name}"
        return f"KnowledgeBase({str(self.path)!r}: {count['facts']:,} facts, {count['entities']:,} entities, {model})"

    # Changing what is stored

    def add(
        self,
        head: str,
        relation: str,
        tail: str,
        *,
        source: str | None = None,
        confidence: float | None = None,
        valid_from: Day | None = None,
        valid_until: Day | None = None,
    ) -> bool:
        """Store a fact; False if it was there already. Names that are new make new entities and relations.

        `valid_from` and `valid_until` are the first and the last day on which it held; a year or a month stands for
        its first day and its last.

        Each may be an id, a label or an alias; those of `add_many` and `import_` are ids.
        """
        fact = head, relation, tail
        given: Given = {"confidence": confidence, "valid_from": valid_from, "valid_until": valid_until}
        return bool(len(self.store.add([fact], source=source, by_label=True, **given).changed))

    def add_many(self, facts: Iterable[Names3], *, source: str | None = None, **given: Unpack[Given]) -> Written:
        """Store facts, all or none. What is `given` of them, such as a confidence, is one for all, or one for each."""
        return self.store.add(facts, source=source, **given)

    def revise(
        self,
        head: str,
        relation: str,
        tail: str,
        *,
        source: str | None = None,
        confidence: float | None = None,
        valid_from: Day | None = None,
        valid_until: Day | None = None,
    ) -> bool:
        """Say other things of a stored fact; False if it is said so already, or if the fact is not stored.

        What is not given stays, and "" takes it back. In the history the fact ends and begins anew in one moment.
        """
        given: Given = {"confidence": confidence, "valid_from": valid_from, "valid_until": valid_until}
        return bool(len(self.store.revise([(head, relation, tail)], source=source, **given).changed))

    def infer(self, found: Iterable[Prediction], *, least: float = 0.5, source: str | None = None) -> Written:
        """Store answers as facts that the model inferred: those with a probability of `least` or more.

        They are no evidence for other answers, and hide no answer. `kb.store.listing(inferred=True)` lists them, with
        the name of the model and its probability; `kb.store.withdraw` takes them back, and `kb.add` asserts one.
        """
        rows = [row for row in found if not row.stored]
        if rows and all(row.probability is None for row in rows):
            raise ConfigError("the model is not calibrated, so its answers have no probability to be stored with")
        likely = [row for row in rows if row.probability is not None and row.probability >= least]
        model = (self.model_link or ModelLink.bundled()).name
        given: Given = {"inferred_by": model, "probability": [row.probability for row in likely]}
        return self.store.add([row.names for row in likely], source=source, **given)

    def remove(self, head: str, relation: str, tail: str, *, source: str | None = None) -> bool:
        """Forget a fact, but not its history; False if it was not there."""
        naming = self.store.naming
        named = naming.get("entity", head), naming.get("relation", relation), naming.get("entity", tail)
        if None in named:
            return False
        return bool(len(self.remove_many([(head, relation, tail)], source=source).changed))

    def remove_many(self, facts: Iterable[Names3], *, source: str | None = None) -> Written:
        """Forget facts, all or none; a name that is not there is an UnknownNameError, since it may be misspelt."""
        return self.store.remove(facts, source=source)

    def import_(
        self,
        facts: object,
        *,
        source: str | None = None,
        progress: Progress | None = None,
        values: Sequence[str] = (),
        in_parts: bool = False,
        **options: object,
    ) -> Written:
        """Store the facts of a file, a folder, a dataset, a table or a graph, all or none.

        With `in_parts` other processes can write in between: every part is stored whole or not at all, and an import
        that was broken off is finished by the same call.

        `options` say how to read a file, as in `read_table`. The source is the file's name unless it is given. The
        tails of the relations `values` are numbers, dates or texts, and no entities.
        """
        if isinstance(facts, str | os.PathLike):
            self.store.refuse_itself(Path(facts).expanduser())
            source = Path(facts).name if source is None else source
        table = table_of(facts, **options)
        how: dict[str, Any] = {"source": source, "progress": progress, "values": values}
        if in_parts:
            return Written.joined(list(self.store.add_in_parts(table, **how)))
        return self.store.add_table(table, **how)

    def export(
        self,
        file: str | os.PathLike[str],
        *,
        format: str | None = None,
        as_of: datetime | int | None = None,
        overwrite: bool = False,
    ) -> int:
        """Write all that is stored, or was at a time, to a file, by the ending of its name; how many facts these are.

        TSV, CSV, Parquet, N-Triples, Turtle, JSON-LD and GraphML; with format="neo4j" a folder of two CSV files.
        """
        return export(self.store, file, format_of(os.fspath(file), format), as_of, overwrite=overwrite)

    def describe(
        self, name: str, *, of: Kind = "entity", source: str | None = None, **said: str | Sequence[str] | None
    ) -> Description:
        """Say what an entity is: its label, aliases, kind and description; all that is said of it then.

        With of="relation" what a relation is: its label, aliases, description, and its inverse, which is what it is
        called from the tail to the head. What is given takes the place of what was said before, "" or no aliases that
        of nothing.
        """
        if said:
            self.store.naming.describe(of, name, source=source, **said)
        return self.store.naming.description(of, name)

    def describe_many(
        self, entities: str | os.PathLike[str] | Iterable[Description], *, source: str | None = None
    ) -> Described:
        """Say what is known of many by id, from descriptions or a file of them (`hmem.graph.readers.entities`).

        Ids that no fact has are left out, and listed in the result.
        """
        told = _told([entities] if isinstance(entities, str | os.PathLike) else entities)
        return self.store.naming.describe_all(told.descriptions, values=told.values, source=source)

    def values(self, entity: str, property: str | None = None) -> Values:
        """The numbers, dates, booleans and texts that are said of an entity, of all its properties or of one."""
        return Values(list(self.store.values.listing(entity, property)))

    def set_value(
        self, entity: str, property: str, *values: Plain | Value, unit: str | None = None, source: str | None = None
    ) -> bool:
        """Say what a property of an entity is, in the place of what was said before; without values, nothing.

        Numbers, dates, booleans and texts of Python are understood, and any `hmem.graph.values.Value`. False if it is
        so already.
        """
        return self.store.values.set(entity, property, [Value.of(each, unit) for each in values], source=source)

    def merge(self, kept: str, other: str, *, source: str | None = None) -> Merged:
        """Make one entity of two: all that is said of `other` is said of `kept` from now on, which its names find too.

        It is one write, which `undo` turns back.
        """
        return self.store.merge(kept, other, source=source)

    def undo(self, moment: int, *, source: str | None = None) -> Undone:
        """Turn any write back by its moment: what it brought goes, and what it took away comes again."""
        return self.store.undo(moment, source=source)

    def kinds(self) -> dict[str, int]:
        """The kinds of entities, and how many there are of each, the most frequent first."""
        return self.store.naming.kinds()

    def use_model(self, folder: str | os.PathLike[str], *, trained_until: int | None = None) -> None:
        """Answer with another model from now on, here and in every process that has the base open.

        `trained_until` is the last moment of the store whose facts it was trained with. It need not be given for a
        model that was trained from this base, or that it uses already; of another one it is the present. `base` is the
        model that comes with hmem, which answers where no other is attached.
        """
        path = model_folder(folder)
        with self._lock:
            saved = load(path, self.device)
            attach(self.store, path, trained_until)
            self._session = Session(self.store, saved, self.model_link or ModelLink.bundled(), self._evidence)
            self._dated.clear()

    @property
    def model(self) -> Model:
        """The model with its names and metrics."""
        with self.session() as session:
            return session.saved

    @contextmanager
    def session(self, *, at: Day | Stretch | None = None, suggest: bool = True) -> Iterator[Session]:
        """The facts of this moment and the model, for this thread alone meanwhile; or the facts that held `at` a time.

        An UnknownNameError is given names that may have been meant, unless `suggest` says that the caller does this.
        """
        with self._lock:
            notes = self.store.metas()
            if self._session is None or notes != self._notes:
                self._session, self._notes = self._joined(), notes
            self._session.live.refresh()
            session = self._session if at is None else self._at(stretch(at), self._session)
            try:
                yield session
            except UnknownNameError as error:
                if suggest and error.option in ("entity", "relation") and isinstance(error.found, str):
                    live = session.live
                    kind: Kind = "entity" if error.option == "entity" else "relation"
                    names = live.entities.names if kind == "entity" else live.relations.names
                    known = (name for name in names if not name.startswith(HIDDEN))
                    error.suggestions = tuple(closest(error.found, [*known, *self.store.naming.called(kind)]))
                raise

    def _at(self, at: Stretch, now: Session) -> Session:
        """The session of a time; the last few are kept, so that it costs a moment only when it is first asked about."""
        session = self._dated.pop(at, None)
        if session is None or session.saved is not now.saved:
            evidence = replace(self._evidence, at=at)
            session = Session(self.store, now.saved, now.model_link, evidence, now.self_calibration)
        self._dated[at] = session
        while len(self._dated) > MOST_DATED:
            self._dated.popitem(last=False)
        session.live.refresh()
        return session

    def _joined(self) -> Session:
        """A session with the attached model or the bundled one, or the present session if it has that model."""
        link = self.model_link or ModelLink.bundled()
        if self._session is not None and self._session.model_link == link:
            return self._session
        return Session(self.store, link.load(self.store, self.device), link, self._evidence)

    def keep_calibration(self) -> None:
        """Write down in the file what was counted to give probabilities, if it is not there and can be.

        A base that is open to be written to does so by itself. This is for one that was opened to be read.
        """
        counted = None if self._session is None else self._session.self_calibration
        if counted is not None and not counted.is_kept and not self.store.is_frozen:
            with suppress(HMemError, OSError), Store.open(self.path) as store:
                counted.keep_in(store)

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
            return self._labelled(Predictions(*whole(session.answer_each([question]))))

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
            return self._labelled(Predictions(_numbered(whole(session.answer_each(asked)))))

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
            return session.has_outgrown(session.entity(entity))

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
        with self.session(at=at) as session:
            return self._labelled(Predictions(_numbered([session.missing(entity, k) for entity in entities])))

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
        with self.session(at=at) as session:
            entities, roles = session.to_complete(relation, having)
        found: list[Prediction] = []
        for done, entity in enumerate(entities.tolist()):
            if watch is not None and not watch(done, len(entities)):
                break
            with self.session(at=at) as session:
                found += session.missing_in(entity, roles, k)
            if len(found) >= 2 * k:
                found = likeliest(found, k)
        return Predictions(likeliest(found, k))

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
        with self.session() as session:
            facts, total = session.to_audit(entity, relation, sample)
        found, done = [], 0
        while done < len(facts) and (watch is None or watch(done, len(facts))):
            with self.session() as session:
                found += session.suspects(facts[done : done + AT_ONCE])
            done = min(done + AT_ONCE, len(facts))
        found = sorted(found, key=lambda each: -each.doubt)[:k]
        with self.session() as session:
            found = [session.with_expected(each, why=place < EXPLAINED) for place, each in enumerate(found)]
        return Suspects(found, judged=done, facts=total)

    def similar(self, entity: str, k: int = 10) -> Similars:
        """The k entities whose vectors point most nearly the same way."""
        with self.session() as session:
            return self._labelled(Similars(session.similar(entity, k)))

    def similar_many(self, entities: Iterable[str], k: int = 10) -> Similars:
        with self.session() as session:
            return self._labelled(Similars(_numbered([session.similar(entity, k) for entity in entities])))

    def explain(
        self, head: str, relation: str, tail: str, *, direction: Direction = "tail", at: Day | None = None
    ) -> Reasons:
        """Why the fact scores what it scores: the stored facts, and what each contributes."""
        return self.explain_many([(head, relation, tail)], direction=direction, at=at)[0]

    def explain_many(
        self, facts: Iterable[Names3], *, direction: Direction = "tail", at: Day | None = None
    ) -> list[Reasons]:
        with self.session(at=at) as session:
            found = [session.explain(*fact, direction) for fact in check_facts(facts)]
        for each in found:
            named = [each.fact, *(fact for reason in each for fact in reason.facts)]
            each.labels = self.store.naming.labels_of(named)
        return found

    def duplicates(self, k: int = 20) -> Duplicates:
        """The k pairs of entities that are most probably one, with what speaks for it and against it.

        The score orders them and is no probability; see `hmem.knowledge.duplicates`. `merge` joins two.
        """
        found = Finder(self.store).best(k)
        found.labels = self.store.naming.labels(found.ids("kept", "other"))
        return found

    def sparql(self, query: str, *, seconds: float = SECONDS, limit: int | None = None) -> Solutions:
        """The answer to a SPARQL query, a SELECT or an ASK, over the stored facts: at most `limit` rows.

        Names are IRIs by `hmem.graph.rdf_terms`; needs the extra `rdf`. One that takes more than `seconds` is ended.
        """
        with self._lock:
            self._sparql = self._sparql or Sparql(self.path)
        return self._sparql.query(query, seconds=seconds, limit=limit)

    def neighbors(self, entity: str, limit: int | None = None, *, at: Day | None = None) -> Neighbors:
        """The stored facts of an entity, as head and as tail, with their sources and times."""
        return self._labelled(Neighbors(self._neighbors(entity, limit, at)))

    def neighbors_many(self, entities: Iterable[str], limit: int | None = None, *, at: Day | None = None) -> Neighbors:
        return self._labelled(Neighbors(_numbered([self._neighbors(entity, limit, at) for entity in entities])))

    def _labelled(self, table: AnyTable) -> AnyTable:
        """The table, which knows the labels of what is named in it from now on."""
        table.labels = self.store.naming.labels(table.ids(*ENTITIES), table.ids("relation"))
        return table

    def _neighbors(self, entity: str, limit: int | None, at: Day | None) -> list[Neighbor]:
        return [Neighbor(**asdict(fact)) for fact in facts_of(self.store, check_name("entity", entity), limit, at)]


def facts_of(store: Store, entity: str, limit: int | None, at: Day | Stretch | None = None) -> list[StoredFact]:
    """The stored facts of an entity, those with it as head first; a fact about itself once."""
    entity = store.naming.find("entity", entity)
    facts = list(store.listing(head=entity, at=at, limit=limit))
    facts += [fact for fact in store.listing(tail=entity, at=at, limit=limit) if fact.head != entity]
    return facts[:limit]


def likeliest(found: list[Prediction], k: int) -> list[Prediction]:
    """The k likeliest, or those of the best scores where the model is not calibrated, ranked anew."""
    order = sorted(found, key=lambda row: (row.probability is None, -(row.probability or 0.0), -row.score, row.names))
    return [replace(row, rank=rank) for rank, row in enumerate(order[:k], 1)]


def _told(entities: Iterable[Description | str | os.PathLike[str]]) -> Told:
    """Descriptions as given, and what files say."""
    found = Told([], [])
    for each in entities:
        more = Told([each], []) if isinstance(each, Description) else read_entities(Path(each).expanduser())
        found = Told(found.descriptions + more.descriptions, found.values + more.values)
    return found


def _pairs(questions: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    pairs = list(questions)
    for pair in pairs:
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise DataError(f"expected questions as (entity, relation), received {pair!r:.60}")
    return pairs


def _numbered(tables: Sequence[Sequence[Row]]) -> list[Row]:
    """The rows of several questions one after the other, each marked with its own."""
    return [replace(row, query=number) for number, rows in enumerate(tables) for row in rows]
