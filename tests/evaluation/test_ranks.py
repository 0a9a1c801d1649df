"""A rank is what the loop says it is, on scores full of ties."""

import math
from typing import NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hmem.errors import NonFiniteError
from hmem.evaluation.ranks import Ranks, filtered_ranks
from tests.oracles_graph import looped_rank

VALUES = [-math.inf, -1.0, 0.0, 0.5, 2.0, math.inf]  # few, so that ties are the rule


class Problem(NamedTuple):
    scores: list[list[float]]
    targets: list[int]
    filtered: list[set[int]]  # may hold the target, which is not a rival of itself either way


@st.composite
def problems(draw: st.DrawFn, values: tuple[float, ...] = tuple(VALUES)) -> Problem:
    queries, columns = draw(st.integers(1, 4)), draw(st.integers(1, 7))
    some = st.integers(0, columns - 1)
    scores = draw(
        st.lists(
            st.lists(st.sampled_from(values), min_size=columns, max_size=columns), min_size=queries, max_size=queries
        )
    )
    targets = draw(st.lists(some, min_size=queries, max_size=queries))
    filtered = draw(st.lists(st.sets(some), min_size=queries, max_size=queries))
    return Problem(scores, targets, filtered)  # fmt: skip


def rank(problem: Problem, kind: torch.dtype = torch.float32) -> tuple[list[int], list[int]]:
    scores = torch.tensor(problem.scores, dtype=kind)
    others = [
        (row, entity) for row, own in enumerate(problem.filtered) for entity in sorted(own - {problem.targets[row]})
    ]
    query, entity = torch.tensor(others, dtype=torch.int64).reshape(-1, 2).T
    true_scores = scores[torch.arange(len(scores)), torch.tensor(problem.targets)]
    optimistic, pessimistic = filtered_ranks(scores, true_scores, query, scores[query, entity])
    assert optimistic.dtype == pessimistic.dtype == torch.int64
    return optimistic.tolist(), pessimistic.tolist()


@given(problems(), st.sampled_from([torch.float32, torch.float64, torch.bfloat16, torch.float16]))
def test_ranks_equal_the_definition(problem: Problem, kind: torch.dtype) -> None:
    expected = [
        looped_rank(row, target, filtered, range(len(row)))
        for row, target, filtered in zip(problem.scores, problem.targets, problem.filtered, strict=True)
    ]
    assert rank(problem, kind) == (
        [each.optimistic for each in expected],
        [each.pessimistic for each in expected],
    )


@given(problems())
def test_ranks_lie_between_1_and_the_number_of_candidates(problem: Problem) -> None:
    for optimistic, pessimistic in zip(*rank(problem), strict=True):
        assert 1 <= optimistic <= pessimistic <= len(problem.scores[0])


@given(problems())
def test_filtering_never_makes_a_rank_worse(problem: Problem) -> None:
    raw = rank(problem._replace(filtered=[set() for _ in problem.filtered]))
    for kind, unfiltered in zip(rank(problem), raw, strict=True):
        assert all(rank <= rank_raw for rank, rank_raw in zip(kind, unfiltered, strict=True))


@given(problems(), st.lists(st.floats(-1e6, 1e6, width=32), min_size=6, max_size=6, unique=True))
def test_only_the_order_of_scores_counts(problem: Problem, images: list[float]) -> None:
    transform = dict(zip(VALUES, sorted(images), strict=True))  # any strictly increasing map
    moved = problem._replace(scores=[[transform[score] for score in row] for row in problem.scores])
    assert rank(moved) == rank(problem)


def test_ties_are_exact() -> None:
    close = [[1.0, float(np.nextafter(np.float32(1), np.float32(2))), 1.0]]
    assert rank(Problem(close, [0], [set()])) == ([2], [3])


def test_a_constant_scorer_shares_the_middle_rank() -> None:
    (optimistic,), (pessimistic,) = rank(Problem([[7.0] * 5], [2], [{0}]))
    assert (optimistic, pessimistic) == (1, 4)


@pytest.mark.parametrize(("row", "column"), [(0, 0), (0, 2), (1, 1)])
def test_nan_is_refused(row: int, column: int) -> None:
    scores = [[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]]
    scores[row][column] = math.nan
    with pytest.raises(NonFiniteError, match="NaN"):
        rank(Problem(scores, [0, 1], [set(), set()]))


def test_nan_is_refused_on_the_true_answer_alone() -> None:
    nothing = torch.zeros(0, dtype=torch.int64)
    with pytest.raises(NonFiniteError):
        filtered_ranks(torch.zeros(1, 2), torch.tensor([math.nan]), nothing, torch.zeros(0))


def test_counts_are_exact_for_many_candidates() -> None:
    above = 2**24 + 1  # the first count that float32 lacks
    scores = torch.cat([torch.zeros(1, 1), torch.ones(1, above)], dim=1)
    nothing = torch.zeros(0, dtype=torch.int64)
    optimistic, pessimistic = filtered_ranks(scores, scores[:, 0], nothing, torch.zeros(0))
    assert (optimistic.item(), pessimistic.item()) == (above + 1, above + 1)


def test_realistic_is_the_mean() -> None:
    ranks = Ranks(np.array([1, 2, 5]), np.array([1, 5, 8]), np.array([9, 9, 9]))
    assert ranks.realistic.tolist() == [1.0, 3.5, 6.5]
    part = ranks.select(np.array([True, False, True]))
    assert part.realistic.tolist() == [1.0, 6.5]
    assert part.candidates.tolist() == [9, 9]
