"""Graphs made from random rules, to pre-train on.

Each has types, relations that follow from nothing, and relations that follow from others; facts are missing, and some
are wrong. The same seed gives the same graph.
"""

import numpy as np
from jaxtyping import Int

from hmem.graph.dataset import Dataset
from hmem.graph.names import Names, Vocabulary
from hmem.graph.ranges import matches
from hmem.graph.triples import Triples, as_triples

Pairs = Int[np.ndarray, "_ 2"]

MOST_PAIRS = 3_000  # that a rule concludes


def generated(seed: int) -> Dataset:
    """A graph of some thousand facts over 5 to 150 relations, most of which follow from others by random rules."""
    rng = np.random.default_rng((seed, 0))
    types = _types(rng, num_entities=log_uniform(rng, 200, 3000))
    relations: list[Pairs] = []
    ends: list[tuple[int, int]] = []  # the types of head and tail
    for _ in range(log_uniform(rng, 3, 60)):
        ends.append((int(rng.integers(len(types))), int(rng.integers(len(types)))))
        relations.append(_drawn(rng, types[ends[-1][0]], types[ends[-1][1]]))
    for _ in range(log_uniform(rng, 2, 90)):
        found, between = _concluded(rng, relations, ends, types)
        same = [place for place, each in enumerate(ends) if each == between]
        if same and rng.random() < 0.3:  # the rule adds to a relation that exists
            place = int(rng.choice(same))
            relations[place] = np.concatenate([relations[place], found])
        else:
            relations.append(found)
            ends.append(between)
    missing, noise = 0.3 * rng.random(), 0.1 * rng.random()
    facts = [_facts(rng, pairs, place, missing, noise) for place, pairs in enumerate(relations)]
    return split_at_random(f"generated-{seed}", np.concatenate(facts), rng)


def log_uniform(rng: np.random.Generator, low: int, high: int) -> int:
    return round(float(np.exp(rng.uniform(np.log(low), np.log(high)))))


def _types(rng: np.random.Generator, num_entities: int) -> list[Int[np.ndarray, " n"]]:
    """The entities of each type, those drawn most often first."""
    shares = rng.dirichlet(np.ones(log_uniform(rng, 2, 15)))
    counts = np.maximum(2, (shares * num_entities).astype(int))
    return np.split(rng.permutation(counts.sum()), counts.cumsum()[:-1])


def _skewed(rng: np.random.Generator, entities: Int[np.ndarray, " n"], size: int) -> Int[np.ndarray, " m"]:
    """Entities drawn with a preference for some, strong or weak."""
    places = len(entities) * rng.random(size) ** rng.uniform(1, 4)
    drawn: Int[np.ndarray, " m"] = np.roll(entities, rng.integers(len(entities)))[places.astype(int)]
    return drawn


def _drawn(rng: np.random.Generator, heads: Int[np.ndarray, " n"], tails: Int[np.ndarray, " m"]) -> Pairs:
    """A relation that follows from nothing, except that like heads may have like tails."""
    size = log_uniform(rng, 10, 20 + 3 * max(len(heads), len(tails)))
    is_function = rng.random() < 0.25  # each head once
    head = rng.permutation(heads)[:size] if is_function else _skewed(rng, heads, size)
    tail = _skewed(rng, tails, len(head))
    if rng.random() < 0.5:  # entities of the same group of heads share a few tails
        groups = log_uniform(rng, 2, 40)
        few = _skewed(rng, tails, 3 * groups).reshape(groups, 3)
        alike = rng.random(len(head)) < rng.uniform(0.5, 1)
        tail = np.where(alike, few[head % groups, rng.integers(3, size=len(head))], tail)
    return np.stack([head, tail], 1)


def _concluded(
    rng: np.random.Generator, relations: list[Pairs], ends: list[tuple[int, int]], types: list[Int[np.ndarray, " n"]]
) -> tuple[Pairs, tuple[int, int]]:
    """What one rule concludes, and the types it is between: a walk of 1 to 3 steps along relations, either way round.

    One step against its direction makes an inverse, and added to the same relation a symmetric one. One rule in eight
    names an entity: whatever has the relation has this tail.
    """
    place = int(rng.integers(len(relations)))
    pairs, (first, last) = relations[place], ends[place]
    if rng.random() < 0.5:
        pairs, first, last = pairs[:, ::-1], last, first
    if rng.random() < 0.125:
        last = int(rng.integers(len(types)))
        concluded = np.stack([pairs[:, 0], np.full(len(pairs), rng.choice(types[last]))], 1)
        return _some(rng, np.unique(concluded, axis=0)), (first, last)
    for _ in range(rng.integers(3)):
        onward = [(each, way) for each, types_of in enumerate(ends) for way in (0, 1) if types_of[way] == last]
        place, way = onward[rng.integers(len(onward))]
        last = ends[place][1 - way]
        pairs = _joined(rng, pairs, relations[place] if way == 0 else relations[place][:, ::-1])
    return _some(rng, pairs), (first, last)


def _some(rng: np.random.Generator, pairs: Pairs) -> Pairs:
    """As many as the confidence of a rule says."""
    return pairs[rng.random(len(pairs)) < rng.uniform(0.5, 1)]


def _joined(rng: np.random.Generator, left: Pairs, right: Pairs) -> Pairs:
    """(x, z) wherever left has (x, y) and right (y, z); a sample if they are many."""
    right = right[np.argsort(right[:, 0], kind="stable")]
    row, which = matches(right[:, 0], left[:, 1])
    kept = rng.permutation(len(row))[:MOST_PAIRS]
    return np.unique(np.stack([left[row[kept], 0], right[which[kept], 1]], 1), axis=0)


def _facts(rng: np.random.Generator, pairs: Pairs, relation: int, missing: float, noise: float) -> Triples:
    """The pairs of a relation as facts: some are missing, and some have another tail."""
    pairs = pairs[rng.random(len(pairs)) >= missing]
    wrong = rng.random(len(pairs)) < noise
    tail = np.where(wrong, rng.permutation(pairs[:, 1]), pairs[:, 1])
    return as_triples(np.stack([pairs[:, 0], np.full(len(pairs), relation), tail], 1))


def split_at_random(name: str, facts: Triples, rng: np.random.Generator) -> Dataset:
    """Renumbered, with a twentieth to a half of the facts held out; every entity and relation keeps a train fact."""
    facts = rng.permutation(np.unique(facts, axis=0))
    entities, ends = np.unique(facts[:, [0, 2]], return_inverse=True)
    relations, relation = np.unique(facts[:, 1], return_inverse=True)
    head, tail = ends.reshape(-1, 2).T
    facts = as_triples(np.stack([head, relation.reshape(-1), tail], 1))
    needed = np.zeros(len(facts), dtype=bool)  # the first of each entity, and of each relation
    needed[np.unique(facts[:, [0, 2]], return_index=True)[1] // 2] = True
    needed[np.unique(facts[:, 1], return_index=True)[1]] = True
    free = np.flatnonzero(~needed)[: round(len(facts) * rng.uniform(0.05, 0.5))]
    valid, test = np.split(free, [(len(free) + 1) // 2])
    vocab = Vocabulary(
        Names("entity", [f"e{each}" for each in entities]), Names("relation", [f"r{each}" for each in relations])
    )
    return Dataset(name=name, vocab=vocab, train=np.delete(facts, free, 0), valid=facts[valid], test=facts[test])
