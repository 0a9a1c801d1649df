"""From a score to a probability that can be shown to people.

A model ranks; how often an answer that scores so is true has to be counted. Ask each question of the validation facts,
take the best candidates that are not stored, and note for each log p, the model's own log probability among the
answers that are not stored, and whether validation holds that fact. Isotonic regression then gives the non-decreasing
steps P(true | log p) that fit those marks best, one for the first answers and one for all others: in dense graphs many
candidates have reasons as good as the first, and few of them are true. Answers with equally good reasons share p among
them and are no less true for that, so where a model can tell what the reasons for one say, that stands for log p
(`scoring.log_alone`).

Two things to keep in mind when reading such a probability. A candidate that validation does not hold counts as false,
though it may be true and simply recorded nowhere: the probabilities are lower bounds. And each question was asked
because at least one answer to it is missing: they hold for questions of which that can be said. Where all questions
about an entity are asked, sensible or not, most have no answer at all and yet a best candidate. For these there are
steps of their own, counted over all roles of the same entities; they are far lower.

The calibration error is measured on questions that had no part in the fit, by fitting each half and trying it on the
other.

All of it was counted on entities as large as those of training. One that has grown far beyond them may be answered with
any confidence, so nothing is said of it (`Calibration.covers`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from hmem.errors import CheckpointError
from hmem.evaluation.evaluate import BUDGET, COPIES, CUDA_BUDGET, Scorer
from hmem.evaluation.isotonic import Steps, expected_calibration_error, isotonic
from hmem.evaluation.protocol import Candidates
from hmem.evaluation.queries import queries_of
from hmem.graph.dataset import Dataset
from hmem.graph.neighborhoods import Neighborhoods

QUESTIONS = 2000  # enough for errors of a percent, and quick
DEPTH = 50  # candidates of each question that are looked at
ENTITIES = 500  # whose every role is considered, for questions that may have no answer
OTHERS = 8  # roles of each that are really asked, besides those validation asks
SHALLOW = 10  # candidates of each such question
ROOM = 2  # an entity may have so many times as many facts of a kind as any had in training
FEW = 20  # so many facts of a kind are never too many


@runtime_checkable
class Candid(Protocol):
    """A scorer that can tell what an answer's own reasons say, whatever speaks for others; None if it cannot."""

    def log_alone(self, entities: Int[Tensor, " B"], roles: Int[Tensor, " B"]) -> Float[Tensor, "B E"] | None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Calibration:
    """P(true | log p), and how far it can be trusted."""

    steps: Steps  # of answers that are not the first to their question
    questions: int  # asked of the model
    candidates: int  # looked at, all questions together
    base_rate: float  # the share of them that was true
    error: float | None  # expected calibration error of all candidates, cross-fitted; None if too few to tell
    top_error: float | None  # the same of each question's first answer alone: what people look at
    first_steps: Steps | None = None  # of first answers; None in older models, where `steps` are of all
    any_steps: Steps | None = None  # of questions that may have no answer at all
    most: Int[np.ndarray, " R2"] | None = None  # how many facts an entity of the training graph had in each role

    def probability(
        self, log_p: Float[np.ndarray, "*shape"], leads: Bool[np.ndarray, "*shape"], *, any_question: bool = False
    ) -> Float[np.ndarray, "*shape"]:
        """The chance that a candidate is true, from its log probability among the answers that are not stored.

        `leads` says which candidates score best of those. `any_question` is for questions that nobody chose: every role
        of an entity, whether it makes sense or not.
        """
        if any_question:
            return (self.any_steps or self.steps)(log_p)
        return np.where(leads, (self.first_steps or self.steps)(log_p), self.steps(log_p))

    def covers(self, roles: Int[np.ndarray, " K"]) -> bool:
        """Whether training had entities about as large as one whose edges have these roles."""
        if self.most is None:
            return True
        counts = np.bincount(roles, minlength=len(self.most))
        return bool((counts <= np.maximum(ROOM * self.most, FEW)).all())

    def to_dict(self) -> dict[str, Any]:
        """The form in which a model folder keeps it, in `metrics.json`."""
        return {
            "method": "isotonic",
            **{name: getattr(self, name) for name in NUMBERS},
            "steps": self.steps.to_dict(),
            "first_steps": None if self.first_steps is None else self.first_steps.to_dict(),
            "any_steps": None if self.any_steps is None else self.any_steps.to_dict(),
            "most": None if self.most is None else self.most.tolist(),
        }

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> "Calibration":
        try:
            if saved["method"] != "isotonic":
                raise ValueError(f"method {saved['method']!r}")
            return cls(
                steps=Steps.from_dict(saved["steps"]),
                first_steps=None if saved.get("first_steps") is None else Steps.from_dict(saved["first_steps"]),
                any_steps=None if saved["any_steps"] is None else Steps.from_dict(saved["any_steps"]),
                most=None if saved.get("most") is None else np.array(saved["most"], dtype=np.int64),
                **{name: saved[name] for name in NUMBERS},
            )
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(
                f"the calibration in metrics.json cannot be used ({error!r}); remove it, and scores are shown instead"
            ) from error


NUMBERS = ("questions", "candidates", "base_rate", "error", "top_error")


def log_probabilities(scores: Float[Tensor, "B E"], excluded: Bool[Tensor, "B E"]) -> Float[Tensor, "B E"]:
    """log p of each candidate among those not excluded, which calibration speaks of; −∞ for the excluded ones.

    Scores of a model with the exact channel are log probabilities among the answers that are not stored already, and
    stay what they are; scores that are distances become such.
    """
    rivals = scores.masked_fill(excluded, -torch.inf)
    total = rivals.logsumexp(1, keepdim=True)  # −∞ where nobody is left
    return torch.where(total > -torch.inf, rivals - total, rivals)


def calibrate(
    scorer: Scorer, dataset: Dataset, *, questions: int = QUESTIONS, depth: int = DEPTH, seed: int = 0
) -> Calibration | None:
    """Calibrate a model whose memories are made of the training facts; None if there is not a single candidate.

    Where a scorer can tell what an answer's own reasons say (`Candid`), that is counted by.
    """
    queries = queries_of(dataset, "valid")
    asked = np.unique(np.stack([queries.entities, queries.roles], axis=1), axis=0)
    some = asked if len(asked) <= questions else asked[np.sort(_drawn(len(asked), questions, seed))]
    marks = _look(scorer, dataset, some, depth)
    if not len(marks[0]):
        return None
    others, weights = _any_questions(asked, dataset.num_roles, seed)
    log_p, is_true, _, question = _look(scorer, dataset, others, SHALLOW)
    return replace(
        calibration_of(*marks, seed=seed),
        any_steps=isotonic(log_p, is_true, weights[question]),
        most=largest(dataset.inference_graph("train")),
    )


def calibration_of(
    log_p: Float[np.ndarray, " n"],
    is_true: Bool[np.ndarray, " n"],
    leads: Bool[np.ndarray, " n"],
    question: Int[np.ndarray, " n"],
    seed: int = 0,
) -> Calibration:
    """Fit all candidates, and judge by two halves of the questions: each is tried with the steps of the other."""
    asked, question = np.unique(question, return_inverse=True)
    error = top_error = None
    if len(asked) > 1:
        half = (np.random.default_rng(seed).permutation(len(asked)) % 2).astype(bool)[question]
        chance = np.empty(len(log_p))
        for mine in (half, ~half):
            first, others = _both_steps(log_p[~mine], is_true[~mine], leads[~mine])
            chance[mine] = np.where(leads[mine], first(log_p[mine]), others(log_p[mine]))
        error = expected_calibration_error(chance, is_true)
        top_error = expected_calibration_error(chance[leads], is_true[leads])
    first, others = _both_steps(log_p, is_true, leads)
    return Calibration(
        steps=others,
        first_steps=first,
        questions=len(asked),
        candidates=len(log_p),
        base_rate=float(is_true.mean()),
        error=error,
        top_error=top_error,
    )


def _both_steps(
    log_p: Float[np.ndarray, " n"], is_true: Bool[np.ndarray, " n"], leads: Bool[np.ndarray, " n"]
) -> tuple[Steps, Steps]:
    """The steps of first answers and of the others; those of all, where nobody comes second."""
    first = isotonic(log_p[leads], is_true[leads])
    return first, first if leads.all() else isotonic(log_p[~leads], is_true[~leads])


def largest(graph: Neighborhoods) -> Int[np.ndarray, " R2"]:
    """The most edges that any entity has in each role."""
    edges = graph.lookup(np.arange(graph.num_entities))
    keys, counts = np.unique(edges.owner.astype(np.int64) * graph.num_roles + edges.roles, return_counts=True)
    most = np.zeros(graph.num_roles, dtype=np.int64)
    np.maximum.at(most, keys % graph.num_roles, counts)
    return most


def _drawn(count: int, sample: int, seed: int) -> Int[np.ndarray, " n"]:
    return np.random.default_rng(seed).permutation(count)[:sample]


def _any_questions(
    asked: Int[np.ndarray, "n 2"], num_roles: int, seed: int
) -> tuple[Int[np.ndarray, "m 2"], Float[np.ndarray, " m"]]:
    """Some entities that validation asks about in every role, as (entity, role), and for how many roles each stands.

    The roles that validation asks stand for themselves; of the others a few are drawn to stand for all.
    """
    entities = np.unique(asked[:, 0])
    entities = np.sort(entities[_drawn(len(entities), ENTITIES, seed)])
    rng = np.random.default_rng(seed)
    pairs, weights = [], []
    for entity in entities.tolist():
        mine = asked[asked[:, 0] == entity, 1]
        others = np.setdiff1d(np.arange(num_roles), mine)
        drawn = rng.permutation(others)[:OTHERS]
        pairs += [(entity, role) for role in (*mine.tolist(), *drawn.tolist())]
        weights += [1.0] * len(mine) + [len(others) / max(1, len(drawn))] * len(drawn)
    return np.array(pairs, dtype=np.int64).reshape(-1, 2), np.array(weights)


def _look(
    scorer: Scorer, dataset: Dataset, pairs: Int[np.ndarray, "m 2"], depth: int
) -> tuple[Float[np.ndarray, " n"], Bool[np.ndarray, " n"], Bool[np.ndarray, " n"], Int[np.ndarray, " n"]]:
    """log p of the best candidates of each (entity, role), whether validation holds them, which come first, and whose
    they are."""
    # Test facts count as wrong here, as every fact does that nobody has written down yet.
    stored, known = dataset.inference_graph("train"), dataset.inference_graph("train+valid")
    candidates = Candidates("all", dataset).of(0)
    nobody = torch.zeros(dataset.num_entities, dtype=torch.bool)
    if candidates is not None:
        nobody = ~nobody.index_fill(0, torch.from_numpy(candidates), True)
    budget = CUDA_BUDGET if scorer.device.type == "cuda" else BUDGET
    rows = max(1, budget // (COPIES * 4 * dataset.num_entities))
    marks: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []
    for start in range(0, len(pairs), rows):
        some = pairs[start : start + rows]
        excluded = nobody.repeat(len(some), 1)
        for row, (entity, role) in enumerate(some.tolist()):
            excluded[row, torch.from_numpy(stored.answers(entity, role).astype(np.int64))] = True
        with torch.inference_mode():
            entities, roles = torch.as_tensor(some, device=scorer.device).unbind(1)
            likely = log_probabilities(scorer.score(entities, roles), excluded.to(scorer.device))  # (B, E)
            best, places = likely.topk(min(depth, dataset.num_entities))
            chances = scorer.log_alone(entities, roles) if isinstance(scorer, Candid) else None
            if chances is not None:
                best = torch.where(best > -torch.inf, chances.gather(1, places), best)
            values, found = best.cpu().numpy(), places.cpu().numpy()
        truths = [np.isin(found[row], known.answers(entity, role)) for row, (entity, role) in enumerate(some.tolist())]
        usable = np.isfinite(values)
        whose = np.broadcast_to(np.arange(start, start + len(some))[:, None], values.shape)
        leads = np.zeros(values.shape, dtype=bool)
        leads[:, 0] = True
        marks.append((values[usable].astype(np.float64), np.stack(truths)[usable], leads[usable], whose[usable]))
    log_p, is_true, leading, whose = (np.concatenate(part) for part in zip(*marks, strict=True))
    return log_p, is_true, leading, whose
