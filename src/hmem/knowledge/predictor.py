"""Questions to a model on a living graph, in numbers: which answers, how good, and how likely.

A question is an entity and a role. Its answers are ranked by score, those of equal score by number, and the best k are
always the first k of that order. An answer that is stored already is no rival to the others; asked for, it is scored
as if it were not stored, which is how training asks too.

`log_p` is the logarithm of an answer's share among the answers that are not stored, a softmax over the scores; where a
model has the exact channel, what the facts and paths that speak for an answer say by themselves, if that is more, so
that it becomes no less likely because others come. Calibration turns it into a probability, and first answers by steps
of their own.
"""

from collections.abc import Iterator

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from hmem.errors import ConfigError
from hmem.graph.triples import mirror_role
from hmem.knowledge.live_graph import LiveGraph
from hmem.knowledge.live_vectors import LiveVectors
from hmem.knowledge.ranked import Ranked, first, merged, unjudged
from hmem.model.hmem import HMem
from hmem.model.implicit import ImplicitMemory
from hmem.model.index import LiveIndex
from hmem.model.query import NO_TARGET, Query

MOST_SCORES = 8_000_000  # questions × candidates in one pass through the model: 32 MB
MOST_EDGES = 250_000  # of the asked entities, in one pass
LIKELY = 0.5  # more likely than not
Answers = Int[np.ndarray, " n"]  # to one question, by number
DEPTH = 50  # answers of each role among which missing facts are looked for, as many as calibration looks at


class Predictor:
    """A model, the facts of this moment and a vector for everybody in them. Hold `live.lock` while session."""

    def __init__(self, model: HMem, live: LiveGraph) -> None:
        self.model, self.live = model.eval(), live
        self.vectors = LiveVectors(model, live)

    @property
    def num_relations(self) -> int:
        return self.live.num_relations

    @torch.inference_mode()
    def best(
        self,
        entities: Int[np.ndarray, " B"],
        roles: Int[np.ndarray, " B"],
        k: int,
        *,
        new_only: bool = True,
        most_edges: int | None = None,
    ) -> list[Ranked]:
        """The k best answers to each question; stored ones are left out, or scored as if they were not.

        Scoring a stored answer takes another look at all edges of the entity. `most_edges` is how many of them may be
        looked at for one question; of a hub with more, only the first stored answers are listed.
        """
        stored = [self._stored(*pair) for pair in zip(entities.tolist(), roles.tolist(), strict=True)]
        rooms = [0] * len(stored) if new_only else self._rooms(entities, most_edges)
        listed = [answers[:room] for answers, room in zip(stored, rooms, strict=True)]
        counts = [len(answers) for answers in listed]
        # Every question, and once more for each stored answer that is listed, without the fact that gives it.
        questions = np.arange(len(stored))
        asked = np.concatenate([questions, np.repeat(questions, counts)])
        targets = np.concatenate([np.full(len(stored), NO_TARGET), *listed])
        old = unjudged(targets[len(stored) :], known=True)
        new: dict[int, Ranked] = {}
        for place, row, chances in self.withheld(entities[asked], roles[asked], targets):
            question = int(asked[place])
            if targets[place] != NO_TARGET:
                self._judge(old, place - len(stored), row, chances, stored[question])
            else:
                row[torch.from_numpy(stored[question]).to(row.device)] = -torch.inf
                new[question] = self._ranked(row, chances, k)
        ends = np.cumsum(counts, dtype=np.int64).tolist()
        places = [slice(end - count, end) for count, end in zip(counts, ends, strict=True)]
        return [merged(new[question], old, place, k) for question, place in enumerate(places)]

    @torch.inference_mode()
    def judge(
        self, entities: Int[np.ndarray, " B"], roles: Int[np.ndarray, " B"], answers: Int[np.ndarray, " B"]
    ) -> Ranked:
        """Given answers to given questions, one by one, each as if it were not stored."""
        facts = [self.fact(*each) for each in np.stack([entities, roles, answers], axis=1).tolist()]
        known = np.array([self.live.graph.contains(*fact) for fact in facts], dtype=bool)
        judged = unjudged(answers, known)
        pairs, question = np.unique(np.stack([entities, roles], axis=1)[~known], axis=0, return_inverse=True)
        question = question.reshape(-1)
        in_order = np.flatnonzero(~known)[np.argsort(question, kind="stable")]
        asked_by = np.split(in_order, np.cumsum(np.bincount(question)))
        for rows, scores, chances in self.passes(pairs[:, 0], pairs[:, 1]):
            for pair, places, row, chance in zip(pairs[rows].tolist(), asked_by[rows], scores, chances, strict=True):
                for place in places.tolist():
                    self._judge(judged, place, row, chance, self._stored(*pair))
        stored = np.flatnonzero(known)
        for place, row, chance in self.withheld(entities[stored], roles[stored], answers[stored]):
            place = int(stored[place])
            self._judge(judged, place, row, chance, self._stored(int(entities[place]), int(roles[place])))
        return judged

    def passes(
        self,
        entities: Int[np.ndarray, " B"],
        roles: Int[np.ndarray, " B"],
        targets: Int[np.ndarray, " B"] | None = None,
    ) -> Iterator[tuple[slice, Float[Tensor, "b W"], Float[Tensor, "b W"]]]:
        """The score of everybody as an answer to each question, and the log chance of it, some questions at a time.

        The facts that give the `targets` are withheld. A score of −∞ says that nothing is known of a candidate.
        """
        self._check_askable(entities)
        columns = (entities, roles) if targets is None else (entities, roles, targets)
        for rows in self._chunks(entities, self.live.width):
            vectors = self.vectors.current()  # each time: between two passes a fact may have been left out for a while
            index = LiveIndex(self.live.graph, len(vectors.entities), self.model.device)
            query = Query(*(torch.from_numpy(part[rows].astype(np.int64)).to(index.device) for part in columns))
            with torch.inference_mode():
                scores, chances = self.model.scores_and_log_alone(query, index, vectors)
            yield rows, scores, chances

    def withheld(
        self, entities: Int[np.ndarray, " B"], roles: Int[np.ndarray, " B"], targets: Int[np.ndarray, " B"]
    ) -> Iterator[tuple[int, Float[Tensor, " W"], Float[Tensor, " W"]]]:
        """The same for each question, by its place, without the stored fact that gives its target; in any order.

        With NO_TARGET as its target a question is asked as it is. A model can withhold a fact from the memory that is
        asked. But where training did not place both ends, the fact also helped to place them; then it is taken out of
        the graph for a while.
        """
        ends = zip(entities.tolist(), targets.tolist(), strict=True)
        has = self.vectors.has_trained
        is_trained = [target == NO_TARGET or (has(entity) and has(target)) for entity, target in ends]
        trained = np.array(is_trained, dtype=bool)
        easy = np.flatnonzero(trained)
        for rows, scores, chances in self.passes(entities[easy], roles[easy], targets[easy]):
            yield from zip(easy[rows].tolist(), scores, chances, strict=True)
        for place in np.flatnonzero(~trained).tolist():
            one = slice(place, place + 1)
            with self.live.without(*self.fact(int(entities[place]), int(roles[place]), int(targets[place]))):
                ((_, scores, chances),) = self.passes(entities[one], roles[one])
            yield place, scores[0], chances[0]

    def missing(self, entity: int, k: int) -> tuple[Int[np.ndarray, " n"], Ranked]:
        """The k likeliest facts about an entity that are not stored, as roles and answers, over all roles.

        Each role is a question of its own, and one without a sensible answer has a best answer too: what is the capital
        of a dog? So a fact must make sense at both ends. It is more likely than not, or one of them takes the same part
        in another fact already; and asked from its other end the entity must be a better answer than a blind guess. An
        answer without facts cannot be asked; it is given the benefit of the doubt. The best DEPTH answers of each role
        are looked at.
        """
        roles = np.arange(2 * self.num_relations)
        best = self.best(np.full(len(roles), entity), roles, DEPTH)
        role = np.repeat(roles, [len(each.answers) for each in best])
        answers, scores, log_p, leads = (
            np.concatenate([getattr(each, part) for each in best]) for part in ("answers", "scores", "log_p", "leads")
        )
        loop = (answers == entity) & (role < self.num_relations)  # the same fact is found from the other side
        order = np.lexsort((answers, role, -log_p))
        order = order[~loop[order]]
        kept: list[int] = []
        for start in range(0, len(order), 2 * k):
            some = order[start : start + 2 * k]
            kept += some[self._makes_sense(entity, role[some], answers[some], log_p[some])].tolist()
            if len(kept) >= k:
                break
        chosen = np.array(kept[:k], dtype=np.int64)
        ranked = Ranked(
            answers=answers[chosen],
            scores=scores[chosen],
            log_p=log_p[chosen],
            known=np.zeros(len(chosen), dtype=bool),
            leads=leads[chosen],
            ranks=1 + np.arange(len(chosen)),
        )
        return role[chosen], ranked

    @torch.inference_mode()
    def similar(self, entity: int, k: int) -> tuple[Int[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """The k entities whose vectors point most nearly the same way, and the cosines of the angles between."""
        vectors = self.vectors.current()
        rows, vector = vectors.entities, vectors.entities[entity]
        tiny = torch.finfo(rows.dtype).tiny
        lengths = torch.linalg.vector_norm(rows, dim=1).clamp_min(tiny) * vector.norm().clamp_min(tiny)
        cosines = (rows @ vector) / lengths
        if vectors.placed is not None:
            cosines = cosines.masked_fill(~vectors.placed, -torch.inf)
        cosines[entity] = -torch.inf
        best = first(cosines, k)
        return best.cpu().numpy(), cosines[best].double().cpu().numpy()

    def fact(self, entity: int, role: int, answer: int) -> tuple[int, int, int]:
        """The fact that an answer to a question states."""
        if role >= self.num_relations:
            return entity, role - self.num_relations, answer
        return answer, role, entity

    def _ranked(self, row: Float[Tensor, " W"], chances: Float[Tensor, " W"], k: int) -> Ranked:
        """The best of a row in which stored answers are −∞ already."""
        best = first(row, k)
        scores, own = (each[best].double().cpu().numpy() for each in (row, chances))
        places, known = np.arange(len(scores)), np.zeros(len(scores), dtype=bool)
        return Ranked(best.cpu().numpy(), scores, own - self._total(row), known, places == 0, 1 + places)

    def _stored(self, entity: int, role: int) -> Answers:
        return self.live.graph.answers(entity, role).astype(np.int64)

    def _rooms(self, entities: Int[np.ndarray, " B"], most_edges: int | None) -> list[int | None]:
        """How many stored answers may be judged in so many looks at edges; None for any number."""
        if most_edges is None:
            return [None] * len(entities)
        return [max(1, most_edges // max(1, degree)) for degree in self.live.graph.degrees(entities).tolist()]

    def _judge(
        self, judged: Ranked, place: int, row: Float[Tensor, " W"], chances: Float[Tensor, " W"], stored: Answers
    ) -> None:
        """Write what is to be said of one answer, given the scores of everybody; the stored ones become −∞ there."""
        answer = int(judged.answers[place])
        if answer >= len(row):  # a newcomer that this fact alone tells of
            judged.scores[place] = judged.log_p[place] = -np.inf
            judged.ranks[place] = len(row)
            return
        score = float(row[answer])
        row[torch.from_numpy(stored[(stored != answer) & (stored < len(row))]).to(row.device)] = -torch.inf
        better = int((row > score).sum()) + int((row[:answer] == score).sum())
        judged.scores[place] = score
        judged.log_p[place] = float(chances[answer]) - self._total(row)
        judged.ranks[place], judged.leads[place] = 1 + better, better == 0

    def _total(self, row: Float[Tensor, " W"]) -> float:
        """What to take from a score to have log_p."""
        if self.model.exact is not None:
            return 0.0
        total = float(row.logsumexp(0))
        return total if total > -np.inf else 0.0

    def _makes_sense(
        self,
        entity: int,
        roles: Int[np.ndarray, " n"],
        answers: Int[np.ndarray, " n"],
        log_p: Float[np.ndarray, " n"],
    ) -> Bool[np.ndarray, " n"]:
        """Whether each answer could be meant, seen from both ends; see `missing`."""
        turned = mirror_role(roles, self.num_relations)
        ends = zip(roles.tolist(), answers.tolist(), turned.tolist(), strict=True)
        stored = self.live.graph.answers
        sensible = np.array([len(stored(entity, r)) + len(stored(x, back)) > 0 for r, x, back in ends], dtype=bool)
        sensible |= log_p > np.log(LIKELY)
        asked = np.flatnonzero(sensible & [self._is_askable(answer) for answer in answers.tolist()])
        judged = self.judge(answers[asked], turned[asked], np.full(len(asked), entity))
        placed = self.vectors.current().placed
        candidates = self.live.width if placed is None else int(placed.sum())
        sensible[asked] = judged.log_p >= -np.log(candidates)
        return sensible

    def _is_askable(self, entity: int) -> bool:
        if isinstance(self.model.memory, ImplicitMemory):
            return entity < self.live.num_trained
        return self.live.has_facts(entity)

    def _check_askable(self, entities: Int[np.ndarray, " B"]) -> None:
        if isinstance(self.model.memory, ImplicitMemory) and (entities >= self.live.num_trained).any():
            newcomer = self.live.entities.names[int(entities[entities >= self.live.num_trained][0])]
            raise ConfigError(
                f'"{newcomer}" came after training, and this model has learned its memories instead of assembling them '
                '(kind="implicit"); use an explicit model to ask about newcomers'
            )

    def _chunks(self, entities: Int[np.ndarray, " B"], width: int) -> Iterator[slice]:
        """Runs of questions that one pass has room for; at least one in each."""
        edges = self.live.graph.degrees(entities.astype(np.int64))
        most = max(1, MOST_SCORES // max(1, width))
        start = 0
        while start < len(entities):
            fitting = int(np.searchsorted(np.cumsum(edges[start : start + most]), MOST_EDGES, side="right"))
            stop = min(len(entities), start + max(1, min(most, fitting)))
            yield slice(start, stop)
            start = stop
