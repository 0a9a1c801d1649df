"""A number for each fact that depends on its names alone, so that it is the same in every file and every numbering.

By it facts are drawn at random and still the same ones each time: a graph that has grown keeps those out of training
that were kept out before. And by it a model folder knows the facts that the model was trained with.
"""

import hashlib
from collections.abc import Iterable

import numpy as np
from jaxtyping import UInt64

from hmem.graph.disk.hashing import mix_all
from hmem.graph.names import Vocabulary
from hmem.graph.triples import Triples

FactKeys = UInt64[np.ndarray, " _"]


def fact_keys(facts: Triples, vocab: Vocabulary) -> FactKeys:
    """64 bits for each fact, spread evenly."""
    entities, relations = (_name_keys(names) for names in (vocab.entities, vocab.relations))
    keys: FactKeys = mix_all(mix_all(mix_all(entities[facts[:, 0]]) + relations[facts[:, 1]]) + entities[facts[:, 2]])
    return keys


def _name_keys(names: Iterable[str]) -> FactKeys:
    digests = (hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest() for name in names)
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)
