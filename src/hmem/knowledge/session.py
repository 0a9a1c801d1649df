"""Questions by name, answers as tables."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np
from jaxtyping import Int

from hmem.errors import ConfigError, EmptyNeighborhoodError
from hmem.evaluation.calibration import Calibration
from hmem.graph.triples import right_role
from hmem.knowledge.explanation import Reasons, explain_answer, reasons_of
from hmem.knowledge.live_graph import LiveGraph
from hmem.knowledge.model_link import ModelLink
from hmem.knowledge.predictor import Predictor
from hmem.knowledge.ranked import Ranked
from hmem.knowledge.results import Prediction, Similar
from hmem.knowledge.store.records import Names3
from hmem.knowledge.store.store import Store
from hmem.model.checkpoint import Model
from hmem.model.implicit import ImplicitMemory

Direction = Literal["tail", "head"]  # which end of the fact is asked for


class Session:
    """A store and a model, joined: what both are needed for. Hold `live.lock` and refresh before session."""

    def __init__(self, store: Store, saved: Model, link: ModelLink) -> None:
        self.model_link = link
        self.saved = saved
        self.live = LiveGraph(store, saved.vocab)
        self.predictor = Predictor(saved.model, self.live)
        calibration = saved.metrics.get("calibration")
        self.calibration = None if calibration is None else Calibration.from_dict(calibration)

    def predict(
        self, questions: Sequence[tuple[str, str]], k: int, direction: str, new_only: bool
    ) -> list[list[Prediction]]:
        """The k best facts for each (entity, relation)."""
        _check_k(k)
        entities = np.array([self._subject(entity) for entity, _ in questions], dtype=np.int64)
        roles = self._roles([relation for _, relation in questions], direction)
        found = self.predictor.best(entities, roles, k, new_only=new_only)
        return [
            self._predictions(np.full(len(each.answers), entity), np.full(len(each.answers), role), each)
            for entity, role, each in zip(entities, roles, found, strict=True)
        ]

    def judge(self, facts: Sequence[Names3], direction: str, any_question: bool = False) -> list[Prediction]:
        """The given facts, each as if it were not stored; `rank` is among what else could be answered instead."""
        ids = [
            (self.live.entity(head), self.live.relation(relation), self.live.entity(tail))
            for head, relation, tail in facts
        ]
        heads, _, tails = np.array(ids, dtype=np.int64).reshape(-1, 3).T
        asked, answers = (heads, tails) if direction == "tail" else (tails, heads)
        for entity in {int(entity) for entity in asked}:
            self._subject(self.live.entities.names[entity])
        for entity in {int(entity) for entity in answers}:
            self._check_answer(entity)
        roles = self._roles([fact[1] for fact in facts], direction)
        return self._predictions(asked, roles, self.predictor.judge(asked, roles, answers), any_question)

    def relations(self, head: str, tail: str, k: int, new_only: bool) -> list[Prediction]:
        """The k relations that would best hold from head to tail."""
        _check_k(k)
        facts = [(head, relation, tail) for relation in self.saved.vocab.relations]
        judged = self.judge(facts, "tail", any_question=True)  # every relation is asked, sensible or not
        kept = [each for each in judged if not (new_only and each.known) and each.score > -np.inf]
        kept.sort(key=lambda each: -each.score)
        return [replace(each, rank=rank) for rank, each in enumerate(kept[:k], 1)]

    def missing(self, entity: str, k: int) -> list[Prediction]:
        """The k likeliest facts about an entity that are not stored, over all relations and both directions."""
        _check_k(k)
        asked = self._subject(entity)
        roles, ranked = self.predictor.missing(asked, k)
        return self._predictions(np.full(len(roles), asked), roles, ranked, any_question=True)  # every role was asked

    def similar(self, entity: str, k: int) -> list[Similar]:
        """The k entities most like this one."""
        _check_k(k)
        asked = self.live.entity(entity)
        if not self.predictor.vectors.is_placed(asked):
            self.live.entity_with_facts(entity)
            raise EmptyNeighborhoodError(
                f'"{entity}" has no fact that links it to an entity the model was trained with, so it is like nobody'
            )
        found, cosines = self.predictor.similar(asked, k)
        names = self.live.entities.names
        return [
            Similar(entity=names[int(other)], similarity=float(cosine), rank=rank)
            for rank, (other, cosine) in enumerate(zip(found, cosines, strict=True), 1)
        ]

    def explain(self, head: str, relation: str, tail: str, direction: str) -> Reasons:
        """Why the fact scores what it scores, asked from the end that `direction` says."""
        (role,) = self._roles([relation], direction)
        asked, answer = (head, tail) if direction == "tail" else (tail, head)
        entity, other = self._subject(asked), self.live.entity(answer)
        self._check_answer(other)
        explained = explain_answer(self.predictor, entity, int(role), other)
        parts = explained.parts
        return Reasons(
            reasons_of(self.predictor, entity, parts),
            fact=(head, relation, tail),
            score=parts.score,
            total=float(np.exp(parts.score)) if self.predictor.model.exact is not None else parts.score,
            probability=self.chances(np.array([entity]), explained.judged)[0],
            known=explained.known,
        )

    def chances(
        self, entities: Int[np.ndarray, " n"], ranked: Ranked, any_question: bool = False
    ) -> list[float | None]:
        """The probability of each answer, where the calibration can speak of the entity that is asked about."""
        if self.calibration is None:
            return [None] * len(entities)
        outgrown = {entity for entity in set(entities.tolist()) if self.has_outgrown(entity)}
        chances = self.calibration.probability(ranked.log_p, ranked.leads, any_question=any_question).tolist()
        return [
            None if entity in outgrown else chance for entity, chance in zip(entities.tolist(), chances, strict=True)
        ]

    def has_outgrown(self, entity: int) -> bool:
        """Whether it has so many more facts of a kind than any had in training that no probability can be given."""
        return self.calibration is not None and not self.calibration.covers(self.live.graph.edges_of(entity)[0])

    def _subject(self, name: str) -> int:
        """The entity a question is about."""
        if isinstance(self.predictor.model.memory, ImplicitMemory):
            return self.live.entity(name)
        return self.live.entity_with_facts(name)

    def _check_answer(self, entity: int) -> None:
        """An answer must be somebody: met in training, or told of by a fact."""
        if not self.predictor.vectors.has_trained(entity):
            self.live.entity_with_facts(self.live.entities.names[entity])

    def _roles(self, relations: Sequence[str], direction: str) -> Int[np.ndarray, " n"]:
        if direction not in get_args(Direction):
            raise ConfigError(f'direction is "tail", to ask for tails, or "head", to ask for heads; not {direction!r}')
        ids = np.array([self.live.relation(relation) for relation in relations], dtype=np.int64)
        return right_role(ids, self.live.num_relations) if direction == "tail" else ids

    def _predictions(
        self, entities: Int[np.ndarray, " n"], roles: Int[np.ndarray, " n"], ranked: Ranked, any_question: bool = False
    ) -> list[Prediction]:
        """The facts that answers state, each given to the question of one entity."""
        names, relations = self.live.entities.names, self.live.relations.names
        found = []
        for place, chance in enumerate(self.chances(entities, ranked, any_question)):
            asked = int(entities[place]), int(roles[place])
            head, relation, tail = self.predictor.fact(*asked, int(ranked.answers[place]))
            row = Prediction(
                head=names[head],
                relation=relations[relation],
                tail=names[tail],
                score=float(ranked.scores[place]),
                probability=chance,
                known=bool(ranked.known[place]),
                rank=int(ranked.ranks[place]),
            )
            found.append(row)
        return found


def _check_k(k: object) -> None:
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise ConfigError(f"k={k!r}: expected how many answers are wanted, 1 or more")
