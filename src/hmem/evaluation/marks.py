"""What a model says of questions that validation answers, and of slots that lack nothing as far as is known."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from hmem.evaluation.evaluate import Scorer
from hmem.evaluation.logistic import logistic
from hmem.evaluation.outcomes import DEPTH, Outcomes, outcomes_of
from hmem.evaluation.queries import queries_of
from hmem.evaluation.role_counts import Counted, count
from hmem.evaluation.slots import Slot, describe
from hmem.graph.dataset import Dataset
from hmem.graph.neighborhoods import Neighborhoods

QUESTIONS = 2000  # enough for errors of a percent, and quick
SLOTS = 2000  # filled ones, and as many empty ones, of which validation has no answer
EMPTY_ROLES = 4  # drawn for each entity


class Marks(NamedTuple):
    """What became of the questions of one graph, and of slots that lack nothing as far as is known."""

    outcomes: Outcomes  # of questions that have an answer
    slots: Slot  # the same questions first, then others
    weights: Float[np.ndarray, " n"]  # how many slots each of these stands for


def marks_of(
    scorer: Scorer,
    dataset: Dataset,
    *,
    questions: int = QUESTIONS,
    slots: int = SLOTS,
    depth: int = DEPTH,
    seed: int = 0,
    sample: Int[np.ndarray, "n 2"] | None = None,
) -> Marks:
    """Ask the questions of the validation facts, all or a sample or those given, and some that they do not ask."""
    asked = asked_by_validation(dataset)
    if sample is None:
        sample = asked if len(asked) <= questions else asked[np.sort(_draw(len(asked), questions, seed))]
    outcomes = outcomes_of(scorer, dataset, sample, depth)
    graph = dataset.inference_graph("train")
    counted = count(graph)
    others, weights = _others(counted, graph, asked, asks_heldout(dataset, asked), slots)
    found = outcomes_of(scorer, dataset, others, 1)
    lacking, first = outcomes.question[outcomes.leads], outcomes.log_p[outcomes.leads]
    pairs = np.concatenate([sample[lacking], others[found.question]])
    described = describe(counted, graph, pairs[:, 0], pairs[:, 1], np.concatenate([first, found.log_p]))
    each = np.full(len(lacking), len(asked) / len(sample))
    return Marks(outcomes, described, np.concatenate([each, weights[found.question]]))


def asked_by_validation(dataset: Dataset) -> Int[np.ndarray, "n 2"]:
    """The entities and roles of the questions that validation facts answer, each once."""
    queries = queries_of(dataset, "valid")
    asked: Int[np.ndarray, "n 2"] = np.unique(np.stack([queries.entities, queries.roles], axis=1), axis=0)
    return asked


def asks_heldout(dataset: Dataset, asked: Int[np.ndarray, "n 2"]) -> Int[np.ndarray, " H"] | None:
    """The held-out entities, if all questions are about them."""
    return None if dataset.heldout is None or not np.isin(asked[:, 0], dataset.heldout).all() else dataset.heldout


def _draw(count: int, sample: int, seed: int) -> Int[np.ndarray, " n"]:
    return np.random.default_rng(seed).permutation(count)[:sample]


def _others(
    counted: Counted,
    stored: Neighborhoods,
    asked: Int[np.ndarray, "n 2"],
    heldout: Int[np.ndarray, " H"] | None,
    most: int,
) -> tuple[Int[np.ndarray, "m 2"], Float[np.ndarray, " m"]]:
    """Some slots of which validation has no answer, and how many each of them stands for.

    Filled ones are drawn evenly. Of the empty ones most make no sense, so that half of them are drawn by how many
    entities of the kind have the role.
    """
    rng = np.random.default_rng(0)
    num_roles = stored.num_roles
    entities = np.flatnonzero(np.diff(stored.offsets) > 0) if heldout is None else heldout
    asked_keys = asked[:, 0] * num_roles + asked[:, 1]
    edges = stored.lookup(entities)
    filled = np.setdiff1d(np.unique(entities[edges.owner] * num_roles + edges.roles), asked_keys)
    drawn = rng.permutation(filled)[:most]
    keys, weights = [drawn], [np.full(len(drawn), len(filled) / max(1, len(drawn)))]
    some = rng.permutation(entities)[: max(1, most // EMPTY_ROLES)]
    roles = np.arange(num_roles)
    for entity in some.tolist():
        slots = describe(counted, stored, np.full(num_roles, entity), roles, np.zeros(num_roles))
        share = logistic(slots.odds) * ~slots.is_filled
        share[asked[asked[:, 0] == entity, 1]] = 0
        possible = share > 0
        if possible.any():
            probability = (share / share.sum() + possible / possible.sum()) / 2
            chosen = rng.choice(num_roles, EMPTY_ROLES, p=probability)
            keys.append(entity * num_roles + chosen)
            weights.append(len(entities) / len(some) / (EMPTY_ROLES * probability[chosen]))
    return np.stack(np.divmod(np.concatenate(keys), num_roles), axis=1), np.concatenate(weights)
