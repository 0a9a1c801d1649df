"""Weights of edges are those of their facts, however many changed since they were sorted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmem.graph import confidences as module
from hmem.graph.confidences import Confidences

R, N = 3, 5
FACT = st.tuples(st.integers(0, N - 1), st.integers(0, R - 1), st.integers(0, N - 1))
WEIGHT = st.sampled_from([0.0, 0.25, 0.5, 1.0])


@given(before=st.dictionaries(FACT, st.sampled_from([0.0, 0.25])), changes=st.lists(st.tuples(FACT, WEIGHT)))
@pytest.mark.parametrize("most_late", [0, 3, 256])
def test_every_edge_weighs_what_its_fact_does(
    most_late: int, before: dict[tuple[int, int, int], float], changes: list[tuple[tuple[int, int, int], float]]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MOST_LATE", most_late)
        sure, expected = Confidences(R, before.items()), dict(before)
        for fact, weight in changes:
            assert sure.set(fact, weight) == (expected.get(fact, 1.0) != weight)
            expected[fact] = weight
        assert bool(sure) == any(weight < 1 for weight in expected.values())
        head, relation, tail = (each.reshape(-1) for each in np.meshgrid(range(N), range(R), range(N), indexing="ij"))
        wanted = [expected.get(fact, 1.0) for fact in zip(head.tolist(), relation.tolist(), tail.tolist(), strict=True)]
        assert sure.of_edges(head, relation + R, tail).tolist() == wanted
        assert sure.of_edges(tail, relation, head).tolist() == wanted


def test_numbers_that_do_not_fit_into_a_key() -> None:
    large = 2**31 - 1
    sure = Confidences(1000, {(large, 999, large - 1): 0.25, (5, 7, large): 0.5}.items())
    heads, roles, tails = (
        np.array([large, 5, 5, large]),
        np.array([1999, 1007, 1007, 1998]),
        np.array([large - 1, large, 6, 3]),
    )
    assert sure.of_edges(heads, roles, tails).tolist() == [0.25, 0.5, 1.0, 1.0]
