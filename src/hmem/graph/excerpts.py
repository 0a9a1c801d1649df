"""Parts of a graph, to pre-train on: one graph becomes hundreds, each with a graph of roles of its own.

The same seed gives the same part.
"""

import numpy as np

from hmem.graph.dataset import Dataset
from hmem.graph.generated import log_uniform, split_at_random
from hmem.graph.triples import Triples, as_triples

MOST_FACTS = 15_000


def excerpt(dataset: Dataset, seed: int, most_entities: int = 4000, echoes: float = 0.5) -> Dataset:
    """A part of a graph: some of its relations, some of them merged, around some of its entities.

    In a share of such graphs, `echoes`, other relations say again what some of them say, as inverses do.
    """
    rng = np.random.default_rng((seed, 1))
    facts, R = dataset.train, dataset.num_relations
    kept = rng.permutation(R)[: log_uniform(rng, min(R, max(4, R // 8)), R)]
    renamed = np.full(R, -1)
    renamed[kept] = np.arange(len(kept))
    if rng.random() < 0.3:  # merged: what two relations say becomes one
        lost = rng.permutation(len(kept))[: len(kept) // 3]
        renamed[kept[lost]] = rng.integers(len(kept), size=len(lost))
    facts = np.stack([facts[:, 0], renamed[facts[:, 1]], facts[:, 2]], 1)[renamed[facts[:, 1]] >= 0]
    facts = _around(facts, dataset.num_entities, log_uniform(rng, min(300, most_entities), most_entities), rng)
    if rng.random() < echoes:
        facts = _echoed(facts, rng)
    facts = facts[rng.permutation(len(facts))[:MOST_FACTS]]
    return split_at_random(f"{dataset.name}-{seed}", facts, rng)


def resplit(dataset: Dataset, seed: int) -> Dataset:
    """The whole train graph, with a tenth of its facts for each of validation and test."""
    facts = np.random.default_rng((seed, 2)).permutation(dataset.train)
    tenth = len(facts) // 10
    valid, test, train = np.split(facts, [tenth, 2 * tenth])
    return Dataset(name=f"{dataset.name}-whole-{seed}", vocab=dataset.vocab, train=train, valid=valid, test=test)


def _echoed(facts: Triples, rng: np.random.Generator) -> Triples:
    """With new relations for a part of what one to three say together, half of them the other way round."""
    R = int(facts[:, 1].max()) + 1
    parts = [facts]
    for relation in range(R, R + log_uniform(rng, 1, 1 + R // 2)):
        rows = facts[np.isin(facts[:, 1], rng.permutation(R)[: rng.integers(1, 4)])]
        rows = rows[rng.random(len(rows)) < rng.uniform(0.3, 1)]
        head, tail = (2, 0) if rng.random() < 0.5 else (0, 2)
        parts.append(as_triples(np.stack([rows[:, head], np.full(len(rows), relation), rows[:, tail]], 1)))
    return np.concatenate(parts)


def _around(facts: Triples, num_entities: int, wanted: int, rng: np.random.Generator) -> Triples:
    """The facts among entities that are reached from a few."""
    inside = np.zeros(num_entities, dtype=bool)
    wanted = min(wanted, len(np.unique(facts[:, [0, 2]])))
    while (short := wanted - int(inside.sum())) > 0:
        edge = np.flatnonzero(inside[facts[:, 0]] != inside[facts[:, 2]])
        if len(edge) < 10:  # at the beginning, or nothing else can be reached
            edge = np.concatenate([edge, np.flatnonzero(~inside[facts[:, 0]] | ~inside[facts[:, 2]])[:: max(1, short)]])
        inside[facts[rng.permutation(edge)[: max(5, short // 3)]][:, [0, 2]]] = True
    return as_triples(facts[inside[facts[:, 0]] & inside[facts[:, 2]]])
