"""Questions by name, answers as rows: the one way from a question to an answer, for Python and for HTTP."""

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from hmem.errors import ConfigError, EmptyNeighborhoodError, HMemError
from hmem.graph.names import Names
from hmem.graph.triples import Triples
from hmem.knowledge.asked_names import AskedNames
from hmem.knowledge.audit import BECAUSE, Suspect, chosen, doubt, expected, judged
from hmem.knowledge.explanation import Reasons, Removed, explain_answer, memory_weights, reasons_by_removal, reasons_of
from hmem.knowledge.live_graph import LiveGraph
from hmem.knowledge.missing import having_facts, missing_facts
from hmem.knowledge.model_link import ModelLink
from hmem.knowledge.predictor import Ids, Predictor
from hmem.knowledge.probabilities import Probabilities
from hmem.knowledge.ranked import Ranked, joined
from hmem.knowledge.results import Direction, Prediction, Question, Similar
from hmem.knowledge.self_calibration import SelfCalibration
from hmem.knowledge.similar import similar
from hmem.knowledge.store.evidence import Evidence
from hmem.knowledge.store.records import Names3
from hmem.knowledge.store.store import Store
from hmem.knowledge.value_estimate import Estimate, Estimator
from hmem.model.checkpoint import Model


class _Asked(NamedTuple):
    """A question in numbers."""

    entity: int
    role: int
    k: int
    room: int | None  # for so many stored answers; None for all


class Session:
    """A store and a model, joined: what both are needed for.

    It has no lock. `KnowledgeBase.session` lends it to one thread at a time, brought up to date with the store.
    """

    def __init__(
        self,
        store: Store,
        saved: Model,
        link: ModelLink,
        evidence: Evidence = Evidence(),  # noqa: B008  # never changes
        self_calibration: SelfCalibration | None = None,
    ) -> None:
        """With the `self_calibration` of a session of all times, one of a single time has that, and counts nothing."""
        self.model_link = link
        self.saved = saved
        belongs_to_no_graph = len(saved.vocab.relations) == 0
        takes = {"takes_new_relations": saved.model.takes_new_relations, "takes_values": belongs_to_no_graph}
        self.live = LiveGraph(store, saved.vocab, **takes, evidence=evidence)
        self.probabilities = Probabilities(saved, self.live, link, self_calibration)
        self.predictor = Predictor(saved.model, self.live, self.probabilities.weights)
        self.names = AskedNames(self.live, self.predictor)
        self._estimators: dict[str, Estimator] = {}  # by property, of the moment when they were asked

    def _prepare(self) -> None:
        """Weigh the network and counting before anything is ranked, if that is due."""
        _ = self.probabilities.calibration

    def answer_each(self, questions: Sequence[Question]) -> list[list[Prediction] | HMemError]:
        """The best answers to each question, all in one pass; one that cannot be answered has its error instead."""
        self._prepare()
        asked = [self._asked(question) for question in questions]
        different = [each for each in dict.fromkeys(asked) if isinstance(each, _Asked)]
        entities, roles = np.array([each[:2] for each in different], dtype=np.int64).reshape(-1, 2).T
        k, rooms = [each.k for each in different], [each.room for each in different]
        try:
            ranked = self.predictor.best(entities, roles, k, rooms)
        except HMemError as error:  # of one of them: in one pass for each
            if len(different) > 1:
                return [found for question in questions for found in self.answer_each([question])]
            return [error if isinstance(each, _Asked) else each for each in asked]
        counts = [len(found.ranks) for found in ranked]
        rows = iter(self._predictions(entities.repeat(counts), roles.repeat(counts), joined(ranked)))
        answers = {each: list(islice(rows, count)) for each, count in zip(different, counts, strict=True)}
        return [answers[each] if isinstance(each, _Asked) else each for each in asked]

    def judge(self, facts: Sequence[Names3], direction: str) -> list[Prediction]:
        """The given facts, each as if it were not stored; `rank` is among what else could be answered instead."""
        self._prepare()
        numbers = [self.names.fact(*fact, direction) for fact in facts]
        asked, roles, answers = np.array(numbers, dtype=np.int64).reshape(-1, 3).T
        return self._predictions(asked, roles, self.predictor.judge(asked, roles, answers))

    def relations(self, head: str, tail: str, k: int, new_only: bool) -> list[Prediction]:
        """The k relations that would best hold from head to tail."""
        k = _counted(k)
        names = self.live.relations.names
        facts = [(head, names[relation], tail) for relation in self.live.fact_relations.tolist()]
        judged = self.judge(facts, "tail")
        kept = [each for each in judged if not (new_only and each.stored) and each.score > -np.inf]
        kept.sort(key=lambda each: -each.score)
        return [replace(each, rank=rank) for rank, each in enumerate(kept[:k], 1)]

    def missing(self, entity: str, k: int) -> list[Prediction]:
        """The k likeliest facts about an entity that are not stored, over all relations and both directions."""
        k = _counted(k)
        asked = self.names.subject(entity)
        roles, ranked = missing_facts(self.predictor, asked, k, self.probabilities.calibration)
        return self._likeliest_first(asked, roles, ranked)

    def to_complete(self, relation: str | None, having: tuple[str, str] | None) -> tuple[Names, Int[np.ndarray, " n"]]:
        """The entities of a graph, or of a kind, whose missing facts are looked for, by their numbers of now."""
        if relation is not None:
            self.names.role(relation, "head")  # can be asked for
        kind = None if having is None else (self.names.role(having[0], "head"), self.names.entity(having[1]))
        return self.live.entities.names, having_facts(self.live, kind)

    def missing_from(self, head: str, relation: str | None, k: int) -> list[Prediction]:
        """The k likeliest facts that a head lacks, of one relation or of all; none where nothing can be asked of it."""
        entity = self.live.entities.names.get(head)
        if entity is None or not self.predictor.is_askable(entity):
            return []
        first = self.live.num_relations  # role, asked from a head
        roles = first + self.live.fact_relations if relation is None else np.array([self.names.role(relation, "tail")])
        found, ranked = missing_facts(self.predictor, entity, k, self.probabilities.calibration, roles)
        return self._likeliest_first(entity, found, ranked)

    def to_audit(self, entity: str | None, relation: str | None, sample: int | None) -> tuple[Triples, int]:
        """Stored facts, some of them drawn at random if they are too many, and how many there are."""
        subject = None if entity is None else self.names.subject(entity)
        asked = None if relation is None else self.names.role(relation, "head")
        return chosen(self.live.facts(), subject, asked, sample)

    def suspects(self, facts: Triples) -> list[Suspect]:
        """Stored facts with how far the others speak against them."""
        self._prepare()
        facts = facts[[self.live.graph.contains(*fact) for fact in facts.tolist()]]  # one may have been removed since
        ends = judged(self.predictor, facts)
        columns = zip(facts.tolist(), doubt(ends).tolist(), *(each.ranks.tolist() for each in ends), strict=True)
        found = []
        for (head, relation, tail), far, tail_rank, head_rank in columns:
            names = self.predictor.named(head, relation + self.live.num_relations, tail)
            fact = partial(Suspect, head=names[0], relation=names[1], tail=names[2])
            found.append(fact(doubt=far, tail_rank=tail_rank, head_rank=head_rank))
        return found

    def with_expected(self, suspect: Suspect, *, why: bool) -> Suspect:
        """The same with what is expected in its place, and with the facts that speak for it if that is asked."""
        head, role, tail = self.names.fact(*suspect.names, "tail")
        self._prepare()
        fact = self.predictor.fact(head, role, tail)
        with self.live.without(*fact) if self.live.graph.contains(*fact) else nullcontext():
            found = expected(self.predictor, fact)
            if found is None:
                return suspect
            entity, asked, answer = found
            (row,) = self._predictions(np.array([entity]), np.array([asked]), answer)
            facts = self._speaking_for(row) if why else ()
        return replace(suspect, end=row.direction, instead=row.answer, if_missing=row.if_missing, because=facts)

    def _speaking_for(self, row: Prediction) -> tuple[Names3, ...]:
        """The stored facts without which an answer would be least likely."""
        lines = [line for line in self.explain(*row.names, row.direction) if line.facts and line.contribution > 0]
        return lines[0].facts[:BECAUSE] if lines else ()

    def similar(self, entity: str, k: int) -> list[Similar]:
        """The k entities most like this one."""
        k = _counted(k)
        asked = self.names.entity(entity)
        vectors = self.predictor.vectors
        if not (self.live.has_facts(asked) if vectors is None else vectors.is_placed(asked)):
            if not self.live.has_facts(asked):
                raise self.names.no_facts(asked)
            raise EmptyNeighborhoodError(
                f'"{entity}" has no fact that links it to an entity the model was trained with, so it has no vector yet'
            )
        found, cosines = similar(self.predictor, asked, k)
        names = self.live.entities.names
        return [
            Similar(entity=names[int(other)], similarity=float(cosine), rank=rank)
            for rank, (other, cosine) in enumerate(zip(found, cosines, strict=True), 1)
        ]

    def explain(self, head: str, relation: str, tail: str, direction: str) -> Reasons:
        """Why the fact scores what it scores, asked from the end that `direction` says."""
        self._prepare()
        entity, role, answer = self.names.fact(head, relation, tail, direction)
        parts, judged, stored = explain_answer(self.predictor, entity, role, answer)
        judged = replace(judged, stored=np.array([stored]))  # it was judged while the fact was left out
        total: float | None = None
        if isinstance(parts, Removed):
            reasons = reasons_by_removal(self.predictor, parts, self._left(entity, role, stored, parts))
        else:
            reasons, total = reasons_of(self.predictor, entity, parts, float(judged.scores[0]))
        return Reasons(
            reasons,
            fact=self.predictor.named(entity, role, answer),
            score=float(judged.scores[0]),
            total=total,
            probability=self.probabilities.of(np.array([entity]), np.array([role]), judged)[0][0],
            stored=stored,
        )

    def _left(self, entity: int, role: int, stored: bool, parts: Removed) -> list[float | None]:
        """The probabilities of an answer that is asked for without some facts."""
        count = len(parts.walks)
        without = replace(parts.without, stored=np.full(count, stored))
        return [left for left, _ in self.probabilities.of(np.full(count, entity), np.full(count, role), without)]

    def memory_weights(self, entity: str, relation: str, direction: str) -> dict[Names3, float]:
        """How strongly each fact of an entity stands in its memory when the relation is asked for."""
        return memory_weights(self.predictor, self.names.entity(entity), self.names.role(relation, direction))

    def estimate(self, entity: str, property: str) -> Estimate:
        """What a property of an entity probably is; a value that is stored is withheld."""
        name = self.live.store.naming.find("property", property)
        estimator = self._estimators.get(name)
        if estimator is None or estimator.moment != self.live.moment:
            estimator = self._estimators[name] = Estimator(self.predictor, name)
        return estimator.estimate(self.names.entity(entity))

    def _asked(self, question: Question) -> _Asked | HMemError:
        try:
            k = _counted(question.k)
            entity = self.names.subject(question.entity)
            room = 0 if question.new_only else self.predictor.room(entity, question.most_edges)
            return _Asked(entity, self.names.role(question.relation, question.direction), k, room)
        except HMemError as error:
            return error

    def _likeliest_first(self, entity: int, roles: Ids, ranked: Ranked) -> list[Prediction]:
        """Facts by their probability, which is not that by which they were found where the entity is a newcomer."""
        found = self._predictions(np.full(len(roles), entity), roles, ranked)
        found.sort(key=lambda each: -(each.probability or 0.0))
        return [replace(each, rank=rank) for rank, each in enumerate(found, 1)]

    def _predictions(self, entities: Ids, roles: Ids, ranked: Ranked) -> list[Prediction]:
        """The facts that answers state, each given to the question of one entity."""
        columns = (entities, roles, ranked.answers, ranked.scores, ranked.stored, ranked.ranks)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        found = []
        for row, probabilities in zip(rows, self.probabilities.of(entities, roles, ranked), strict=True):
            entity, role, answer, score, stored, rank = row
            head, relation, tail = self.predictor.named(entity, role, answer)
            direction: Direction = "tail" if role >= self.live.num_relations else "head"
            fact = partial(Prediction, head=head, relation=relation, tail=tail, direction=direction)
            probability, if_missing = probabilities
            found.append(fact(score=score, probability=probability, if_missing=if_missing, stored=stored, rank=rank))
        if not self.live.has_inferred:
            return found
        models = self.live.store.inferred(each.names for each in found if not each.stored)
        return [replace(each, inferred_by=models[each.names]) if each.names in models else each for each in found]


def whole(found: Iterable[list[Prediction] | HMemError]) -> list[list[Prediction]]:
    """The answers, if all questions could be answered; else the first error."""
    answers = []
    for each in found:
        if isinstance(each, HMemError):
            raise each
        answers.append(each)
    return answers


def _counted(k: object) -> int:
    """How many answers are wanted, if that can be said of k."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ConfigError(f"k={k!r}: expected how many answers are wanted, 1 or more")
    return int(k)
