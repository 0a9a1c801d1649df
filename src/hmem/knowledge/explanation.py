"""Why an answer scored what it scored, line by line: the computation itself, with the facts it rests on.

The contributions of all lines sum to `Reasons.total`. With the exact channel that is the answer's share p(x) = e^score:
what was copied from stored facts, what was reached through neighbors in several steps, and what the memory as a whole
gave (`dense`). Without it, it is the score −τ‖e_o − e_x‖² itself: what each stored fact adds to the match, what
completing the memory adds, and the part that no fact decides (`rest`).

Where counting is joined (`hmem.evaluation.joined`), `counted` is what it adds to that share or score, with the fact
that says most of all: so many entities have it, and so many of these have the answer as well.

A network that passes messages is asked again without a fact, or without those of a walk: a contribution is by how much
the answer's share falls (`knowledge.counterfactual`). These do not sum to anything, and `Reasons.total` is None.

A fact that is stored already is explained as if it were not: by the others.
"""

import math
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import torch

from hmem.errors import EmptyNeighborhoodError, shown
from hmem.evaluation.baselines import Premise, premises
from hmem.evaluation.joined import ALONE
from hmem.knowledge.counterfactual import Walk, ranked_without, tried
from hmem.knowledge.predictor import Predictor
from hmem.knowledge.ranked import Ranked
from hmem.knowledge.results import Table, cell
from hmem.knowledge.store.records import Names3
from hmem.model.explain import Explanation, explain
from hmem.model.explicit import ExplicitMemory
from hmem.model.hmem import HMem
from hmem.model.propagation import MOST_ENTITIES, Propagation, is_large
from hmem.model.query import Query


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """One line of an explanation."""

    kind: str  # "fact", "value", "path", "completion", "usual", "dense", "rest", "counted"
    facts: tuple[Names3, ...]  # the stored facts it rests on: one, those along a path, or none in particular
    contribution: float
    weight: float | None = None  # how strongly the fact stands in the memory
    match: float | None = None  # what it adds to the dense score, where that is not the contribution itself
    without: float | None = None  # the probability of the answer without these facts, where it was asked again
    counts: tuple[int, int] | None = None  # how many have the answer of how many that have the fact of a counted line

    @property
    def text(self) -> str:
        """The facts in one line of text, or what stands for them."""
        said = {
            "completion": "added by completing the memory",
            "usual": "what answers to this question have in common",
            "dense": "the memory as a whole",
            "rest": "distance that no fact decides",
        }
        if self.kind == "counted" and self.counts is None:
            return "counting, which finds no fact that speaks for it"
        facts = ", ".join(" ".join(fact) for fact in self.facts)
        return said.get(self.kind) or (facts if self.counts is None else f"{facts} ({self.counted})")

    @property
    def counted(self) -> str:
        """What was counted, in words."""
        return (
            "" if self.counts is None else f"{self.counts[0]:,} of {self.counts[1]:,} with such a fact have the answer"
        )


class Reasons(Table[Reason]):
    """The lines of one explanation, the strongest first."""

    COLUMNS = ("kind", "text", "contribution", "weight", "match", "without", "facts")

    def __init__(
        self,
        rows: Sequence[Reason],
        *,
        fact: Names3,
        score: float,
        total: float | None,
        probability: float | None,
        stored: bool,
    ) -> None:
        super().__init__(rows)
        self.fact = fact  # what is explained
        self.score = score  # as the model ranks it
        self.total = total  # what the contributions sum to: e^score with the exact channel, the score without; or None
        self.probability = probability  # calibrated; None where the model is not
        self.stored = stored  # whether the fact is stored

    def summary(self) -> dict[str, float | bool | None]:
        """All but the fact and the lines."""
        return {name: getattr(self, name) for name in ("stored", "score", "probability", "total")}

    def __repr__(self) -> str:
        probability = "" if self.probability is None else f", probability {cell('probability', self.probability)}"
        head = f"{' '.join(self.labels.fact(*self.fact))}: score {cell('score', self.score)}{probability}"
        head += " (stored; explained as if it were not)" if self.stored else ""
        return f"{head}\n{super().__repr__()}"

    def _head(self) -> list[str]:
        return [name for name in super()._head() if name != "facts"]


@dataclass(frozen=True, eq=False, slots=True)
class Apart:
    """The score of a network with memories taken apart, and the best of what counting adds to it."""

    parts: Explanation
    log_p: float | None  # with counting; None where it has no say
    premise: Premise | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Removed:
    """An answer asked for again without some facts each time."""

    score: float
    log_p: float
    walks: list[Walk]  # the edges that were hidden
    without: Ranked  # the answer, each time


def explain_answer(predictor: Predictor, entity: int, role: int, answer: int) -> tuple[Apart | Removed, Ranked, bool]:
    """Take one score apart, with the fact left out of the graph if it is stored; the answer judged; whether it is."""
    live, fact = predictor.live, predictor.fact(entity, role, answer)
    stored = live.graph.contains(*fact)
    with live.without(*fact) if stored else nullcontext():
        judged = predictor.judge(*(np.array([number]) for number in (entity, role, answer)))
        model = predictor.model
        if judged.scores[0] == -np.inf:
            raise _nothing_speaks_for(predictor, entity, answer, stored)
        if isinstance(model, HMem):
            index, vectors = predictor.index()
            parts = explain(model, index, entity, role, answer, vectors)
            if predictor.weights_of(entity, role) == ALONE:
                return Apart(parts, None), judged, stored
            counted = premises(live.graph, live.graph, entity, role, answer)
            return Apart(parts, float(judged.log_p[0]), *counted[:1]), judged, stored
        walks = tried(live.graph, entity, answer)
        without = ranked_without(predictor, entity, role, answer, walks)
        return Removed(float(judged.scores[0]), float(judged.log_p[0]), walks, without), judged, stored


def _nothing_speaks_for(predictor: Predictor, entity: int, answer: int, stored: bool) -> EmptyNeighborhoodError:
    """Why an answer has no score at all."""
    names, model = predictor.live.entities.names, predictor.model
    asked, other = shown(names[entity]), shown(names[answer])
    if isinstance(model, Propagation):
        walk = f"no {'other ' if stored else ''}walk of up to {model.config.steps} stored facts"
        if predictor.links is not None and is_large(predictor.links.current()):
            walk += f" among the {MOST_ENTITIES:,} entities that walks visit most"
        return EmptyNeighborhoodError(f'{walk} leads from "{asked}" to "{other}", so nothing speaks for this fact')
    return EmptyNeighborhoodError(
        f'"{other}" has no {"other " if stored else ""}fact that links it to what the model was trained with, so it '
        "cannot be an answer yet and there is nothing to explain",
        hint="add one first",
    )


def reasons_by_removal(predictor: Predictor, parts: Removed, without: Sequence[float | None]) -> list[Reason]:
    """A line for each fact or walk, that which matters most first; `without` are the probabilities that were left."""
    shares = np.exp(parts.without.log_p)
    lines = [
        Reason(
            kind="path" if len(walk) > 1 else "value" if predictor.is_value(walk[0][1]) else "fact",
            facts=tuple(predictor.named(*edge) for edge in walk),
            contribution=float(np.exp(parts.log_p) - share),
            without=float(share) if left is None else left,
        )
        for walk, share, left in zip(parts.walks, shares, without, strict=True)
    ]
    return sorted(lines, key=lambda line: (-line.contribution, len(line.facts)))


def reasons_of(predictor: Predictor, entity: int, apart: Apart, score: float) -> tuple[list[Reason], float]:
    """The lines of an explanation, the strongest first and those that speak of no single fact last; and their sum.

    `score` is that of the network and of counting together.
    """
    model, parts = predictor.model, apart.parts
    assert isinstance(model, HMem)
    is_exact = model.exact is not None
    columns = (parts.roles, parts.fillers, parts.weights, parts.matches, parts.copied)
    lines = [
        Reason(
            kind="fact",
            facts=(predictor.named(entity, role, filler),),
            contribution=copied if is_exact else match,
            weight=weight,
            match=match if is_exact else None,
        )
        for role, filler, weight, match, copied in zip(*(column.tolist() for column in columns), strict=True)
    ]
    walks = zip(parts.path_roles.tolist(), parts.path_nodes.tolist(), parts.reached.tolist(), strict=True)
    for roles, nodes, reached in walks:
        steps = [step for step in zip([entity, *nodes], roles, nodes, strict=False) if step[1] >= 0]
        lines.append(Reason(kind="path", facts=tuple(predictor.named(*step) for step in steps), contribution=reached))
    lines.sort(key=lambda line: (-line.contribution, -(line.match or 0.0)))
    if model.config.stiffness < math.inf:
        added, within = (0.0, parts.completion) if is_exact else (parts.completion, None)
        lines.append(Reason(kind="completion", facts=(), contribution=added, match=within))
    if model.readout is not None and not is_exact:
        lines.append(Reason(kind="usual", facts=(), contribution=parts.usual))
    if is_exact:
        lines.append(Reason(kind="dense", facts=(), contribution=parts.dense_share, match=parts.dense_score))
    else:
        lines.append(Reason(kind="rest", facts=(), contribution=parts.rest))
    total = math.exp(parts.score) if is_exact else parts.score
    if apart.log_p is None:
        return lines, total
    joined, premise = math.exp(apart.log_p) if is_exact else score, apart.premise
    facts = () if premise is None else (predictor.named(*premise[:3]),)
    counts = None if premise is None else (premise.together, premise.of)
    counted = Reason(kind="counted", facts=facts, contribution=joined - total, counts=counts)
    return [*lines, counted], joined


@torch.inference_mode()
def memory_weights(predictor: Predictor, entity: int, role: int) -> dict[Names3, float]:
    """How strongly each fact of an entity stands in its memory when a role is asked; none for learned memories."""
    model = predictor.model
    if not isinstance(model, HMem) or not isinstance(model.memory, ExplicitMemory):
        return {}
    memory, (index, vectors) = model.memory, predictor.index()
    assert vectors is not None
    query = Query(*(torch.tensor([value], device=index.device) for value in (entity, role)))
    attended = memory.attend(query, index, model.identify(query, vectors), vectors)
    columns = attended.edges.roles.tolist(), attended.edges.fillers.tolist(), attended.weights.tolist()
    weights: dict[Names3, float] = {}
    for edge_role, filler, weight in zip(*columns, strict=True):
        fact = predictor.named(entity, edge_role, filler)
        weights[fact] = max(weight, weights.get(fact, 0.0))  # a fact about an entity and itself has two edges
    return weights
