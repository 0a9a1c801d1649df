"""A dataset with new entities, made from any graph (paper, § "Generalizing to new entities").

Some entities are held out at random. Training sees no fact about them; of their facts two thirds are *observed* (at
inference they give the new entities their neighborhoods), and the rest are the questions.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from hmem.errors import ConfigError, DataError


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class GenSplit:
    """The parts of a held-out-entity dataset: entity ids, and rows (head, relation, tail) in their original order."""

    heldout: Int[np.ndarray, " heldout"]  # sorted ids of the entities kept out of training
    train: Int[np.ndarray, "train 3"]  # no held-out entity
    observed: Int[np.ndarray, "observed 3"]  # exactly one held-out entity, as in `valid` and `test`
    valid: Int[np.ndarray, "valid 3"]
    test: Int[np.ndarray, "test 3"]


def split_heldout(triples: Int[np.ndarray, "n 3"], num_entities: int, heldout: int, seed: int) -> GenSplit:
    """Hold out `heldout` of the entities 0 … num_entities − 1 and split their facts 2/3, 1/6, 1/6.

    Facts between two held-out entities are dropped, so every row is in exactly one of: train, observed, valid, test,
    or that dropped part. Of n facts with one held-out entity, ⌊2n/3⌋ are observed, ⌊n/6⌋ valid and the rest test: the
    rounding of the authors' own files. The result depends on nothing but the arguments, with any version of numpy.
    """
    if not 1 <= heldout < num_entities:
        problem = f"{{option}} must be at least 1 and less than the number of entities, {num_entities}"
        raise ConfigError(problem, option="heldout", found=heldout)
    if seed < 0:
        raise ConfigError("{option} must not be negative", option="seed", found=seed)
    ends = triples[:, [0, 2]]  # (n, 2)
    if ends.size and (ends.min() < 0 or ends.max() >= num_entities):
        found = f"those from {ends.min()} to {ends.max()}"
        raise DataError(expected=f"entity ids from 0 to {num_entities - 1}", found=found)

    stream = np.random.PCG64(seed)
    chosen = np.sort(_permutation(stream, num_entities)[:heldout])
    is_heldout = np.zeros(num_entities, dtype=bool)
    is_heldout[chosen] = True
    new_ends = is_heldout[ends].sum(axis=1)  # (n,) 0: train, 1: about a new entity, 2: dropped
    about_new = triples[new_ends == 1]

    order = _permutation(stream, len(about_new))
    cuts = [2 * len(order) // 3, 2 * len(order) // 3 + len(order) // 6]
    observed, valid, test = (about_new[np.sort(part)] for part in np.split(order, cuts))
    split = GenSplit(heldout=chosen, train=triples[new_ends == 0], observed=observed, valid=valid, test=test)
    sizes = {name: len(getattr(split, name)) for name in ("train", "observed", "valid", "test")}
    empty = [name for name, size in sizes.items() if size == 0]
    if empty:
        facts = ", ".join(f"{name} {size}" for name, size in sizes.items())
        problem = f"{{option}} leaves no facts for {' and '.join(empty)} (facts: {facts})"
        hint = "hold out more or fewer entities, or use a larger graph"
        raise ConfigError(problem, option="heldout", found=heldout, hint=hint)
    return split


def _permutation(stream: np.random.PCG64, size: int) -> Int[np.ndarray, " size"]:
    """A random order of 0 … size − 1.

    numpy promises that the integers of PCG64 stay the same from version to version, and makes no such promise for
    `Generator.permutation`; a seed in a paper or a bug report should mean the same split everywhere.
    """
    return np.argsort(stream.random_raw(size), kind="stable")
