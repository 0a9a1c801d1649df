"""Figures under PyKEEN's keys."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmem.evaluation.metrics import ALIASES, metrics
from hmem.evaluation.queries import HEAD, TAIL
from hmem.evaluation.ranks import Ranks

FIGURES = ["arithmetic_mean_rank", "inverse_harmonic_mean_rank", "adjusted_arithmetic_mean_rank_index"]
FIGURES += [f"hits_at_{k}" for k in (1, 3, 5, 10)]
KINDS = ["optimistic", "realistic", "pessimistic"]

side = st.sampled_from([HEAD, TAIL])
ranked = st.lists(st.tuples(st.integers(1, 12), st.integers(0, 4), st.integers(1, 10), side), min_size=1, max_size=20)


def ranks_of(rows: list[tuple[int, int, int, int]]) -> tuple[Ranks, np.ndarray]:
    better, level, worse, sides = np.array(rows).T
    return Ranks(better, better + level, better + level + worse), sides


def test_the_keys_are_pykeens() -> None:
    both = metrics(*ranks_of([(1, 0, 5, HEAD), (2, 1, 5, TAIL)]))
    sides = ["head", "tail", "both"]
    expected = {f"{side}.{kind}.{figure}" for side in sides for kind in KINDS for figure in FIGURES}
    assert set(both) == expected | {f"{side}.count" for side in sides}
    assert all(alias in both for alias in ALIASES.values())
    assert ALIASES["mrr"] == "both.realistic.inverse_harmonic_mean_rank"
    assert ALIASES["hits@10"] == "both.realistic.hits_at_10"


def test_a_side_that_was_not_asked_has_no_figures() -> None:
    only_tail = metrics(*ranks_of([(1, 0, 5, TAIL)]))
    assert {key.split(".")[0] for key in only_tail} == {"tail", "both"}


@given(ranked)
def test_figures_equal_the_loop(rows: list[tuple[int, int, int, int]]) -> None:
    figures = metrics(*ranks_of(rows))
    for side, wanted in (("head", {HEAD}), ("tail", {TAIL}), ("both", {HEAD, TAIL})):
        part = [row for row in rows if row[3] in wanted]
        if not part:
            continue
        assert figures[f"{side}.count"] == len(part)
        chance = sum((better + level + worse + 1) / 2 for better, level, worse, _ in part) / len(part)
        for kind, share in zip(KINDS, (0, 0.5, 1), strict=True):
            ranks = [better + share * level for better, level, _, _ in part]
            mean = sum(ranks) / len(ranks)
            expected = {
                "arithmetic_mean_rank": mean,
                "inverse_harmonic_mean_rank": sum(1 / rank for rank in ranks) / len(ranks),
                "adjusted_arithmetic_mean_rank_index": 1 - (mean - 1) / (chance - 1),
                **{f"hits_at_{k}": sum(rank <= k for rank in ranks) / len(ranks) for k in (1, 3, 5, 10)},
            }
            found = {figure: figures[f"{side}.{kind}.{figure}"] for figure in FIGURES}
            assert found == pytest.approx(expected, abs=1e-12)


@given(ranked)
def test_optimists_are_never_below_pessimists(rows: list[tuple[int, int, int, int]]) -> None:
    figures = metrics(*ranks_of(rows))
    for figure in FIGURES:
        best, middle, worst = (figures[f"both.{kind}.{figure}"] for kind in KINDS)
        if figure == "arithmetic_mean_rank":
            best, worst = worst, best
        assert best + 1e-12 >= middle >= worst - 1e-12


def test_the_index_of_chance_is_near_0_and_of_perfection_1() -> None:
    candidates = np.full(20_000, 500)
    by_chance = np.random.default_rng(0).integers(1, 501, 20_000)
    sides = np.full(20_000, TAIL)
    key = "both.realistic.adjusted_arithmetic_mean_rank_index"
    assert abs(metrics(Ranks(by_chance, by_chance, candidates), sides)[key]) < 0.02
    assert metrics(Ranks(np.ones_like(by_chance), np.ones_like(by_chance), candidates), sides)[key] == 1.0
    assert metrics(Ranks(np.ones_like(by_chance), candidates, candidates), sides)[key] == 0.0  # all tied


def test_one_candidate_alone_has_no_index() -> None:
    one = np.array([1])
    figures = metrics(Ranks(one, one, one), np.array([TAIL]))
    assert figures["both.realistic.arithmetic_mean_rank"] == 1.0
    assert not any(key.endswith("index") for key in figures)
