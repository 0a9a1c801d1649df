"""A small dataset with held-out entities. Nothing of hmem is imported here but inside the fixtures."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from hmem.graph.dataset import Dataset


@pytest.fixture
def toy_gen(toy: "Dataset") -> "Dataset":
    """The toy graph with five of its entities kept out of training."""
    from hmem.graph.dataset import Dataset
    from hmem.graph.gen import split_heldout

    parts = split_heldout(toy.everything(), toy.num_entities, heldout=5, seed=0)
    return Dataset(
        name="toy-gen",
        vocab=toy.vocab,
        train=parts.train,
        valid=parts.valid,
        test=parts.test,
        observed=parts.observed,
        heldout=parts.heldout,
    )
