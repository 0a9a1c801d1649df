"""MRR against neighborhood size."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmem.evaluation.baselines import make_baseline
from hmem.evaluation.evaluate import evaluate
from hmem.evaluation.metrics import MRR
from hmem.evaluation.queries import queries_of
from hmem.evaluation.report import report
from hmem.figures.compared_models import compared_model, compared_rules
from hmem.figures.degree import BINS, PAPER, degree_effect, fit, paper_row
from hmem.graph.dataset import Dataset, GraphName
from hmem.graph.names import Vocabulary
from hmem.graph.triples import as_triples
from tests.figures.problems import random_model


@pytest.mark.parametrize("graph", ["train", "train+valid"])
def test_the_bins_add_up_to_the_plain_evaluation(toy: Dataset, graph: GraphName) -> None:
    result = degree_effect(toy, [compared_rules(toy), compared_model("m", random_model(toy))], graph=graph)
    expected = report(make_baseline("rules", toy, graph), toy, model="rules", graph=graph).protocols
    assert [(curve.name, curve.protocol) for curve in result.curves] == [
        ("rules", "all"), ("rules", "typed"), ("m", "all"), ("m", "typed"),
    ]  # fmt: skip
    for curve in result.curves[:2]:
        overall = (curve.fine.mrr * curve.fine.queries).sum() / curve.fine.queries.sum()
        assert overall == pytest.approx(expected[curve.protocol][MRR])
        assert curve.six.mrr[0] == pytest.approx(overall)  # no entity here has a hundred neighbors
        assert curve.six.queries.tolist() == [result.num_queries, 0, 0, 0, 0, 0]
        assert np.isnan(curve.six.mrr[1:]).all()
    assert result.num_queries == 2 * len(toy.test)


def test_each_bin_holds_the_queries_of_its_degrees(toy: Dataset) -> None:
    (curve,) = degree_effect(toy, [compared_rules(toy)], protocols=["all"]).curves
    queries = queries_of(toy, "test")
    graph = toy.inference_graph("train")
    ranks = evaluate(make_baseline("rules", toy, "train"), toy, queries)["all"].realistic
    by_bin: dict[int, list[tuple[int, float]]] = {}
    for entity, rank in zip(queries.entities.tolist(), ranks.tolist(), strict=True):
        degree = len(graph.edges_of(entity)[0])
        by_bin.setdefault(math.floor(2 * math.log2(1 + degree)), []).append((degree, 1 / rank))
    assert len(by_bin) >= 4
    for place, (_, members) in enumerate(sorted(by_bin.items())):
        degrees, reciprocals = zip(*members, strict=True)
        assert curve.fine.queries[place] == len(members)
        assert curve.degree[place] == pytest.approx(np.mean(degrees))
        assert curve.fine.mrr[place] == pytest.approx(np.mean(reciprocals))
        expected = np.std(reciprocals, ddof=1) / math.sqrt(len(members)) if len(members) > 1 else math.nan
        assert curve.fine.error[place] == pytest.approx(expected, nan_ok=True)


def star(toy: Dataset, degree: int) -> Dataset:
    """One test fact about a hub with that many neighbors, itself not counted."""
    hub, size = 0, degree + 3
    names = Vocabulary([f"e{x}" for x in range(size)], toy.vocab.relations)
    train = as_triples([(hub, 0, x) for x in range(2, degree + 2)])
    return replace(toy, vocab=names, train=train, valid=as_triples([(1, 0, size - 1)]), test=as_triples([(hub, 1, 1)]))


@pytest.mark.parametrize(("degree", "place"), [(99, 0), (100, 1), (199, 1), (499, 4), (500, 5), (620, 5)])
def test_the_bins_of_the_paper(toy: Dataset, degree: int, place: int) -> None:
    dataset = star(toy, degree)
    (curve,) = degree_effect(dataset, [compared_rules(dataset)], protocols=["all"]).curves
    counts = [0] * len(BINS)
    counts[0] += 1  # asked from its other end, which has no neighbor
    counts[place] += 1
    assert curve.six.queries.tolist() == counts


def test_a_sample_is_smaller(toy: Dataset) -> None:
    assert degree_effect(toy, [compared_rules(toy)], sample=4).num_queries == 4


# The line


@given(seed=st.integers(0, 2**32 - 1), slope=st.floats(-2, 2), intercept=st.floats(-2, 2))
def test_a_line_is_found_again(seed: int, slope: float, intercept: float) -> None:
    rng = np.random.default_rng(seed)
    entities = rng.integers(0, 12, 60)
    x = rng.integers(0, 400, 12).astype(float)[entities]
    x[0], entities[0] = 401.0, 12  # not all the same
    line = fit(entities, x, intercept + slope * x, resamples=20)
    assert line.slope == pytest.approx(slope, abs=1e-9)
    assert line.intercept == pytest.approx(intercept, abs=1e-6)
    assert line.low == pytest.approx(slope, abs=1e-6)
    assert line.high == pytest.approx(slope, abs=1e-6)


def test_the_line_is_that_of_least_squares_and_lies_in_its_interval() -> None:
    rng = np.random.default_rng(0)
    entities = np.repeat(np.arange(200), rng.integers(1, 6, 200))
    x = rng.gamma(1.5, 40, 200)[entities]
    y = 0.5 + 0.001 * x + 0.2 * rng.standard_normal(len(x))
    line = fit(entities, x, y)
    slope, intercept = np.polyfit(x, y, 1)
    assert line.slope == pytest.approx(slope)
    assert line.intercept == pytest.approx(intercept)
    assert line.low < slope < line.high
    # of independent errors the interval is near ±1.96 standard errors
    error = np.sqrt(np.square(y - intercept - slope * x).mean() / np.square(x - x.mean()).sum())
    assert line.high - line.low == pytest.approx(2 * 1.96 * error, rel=0.25)


def test_one_hub_has_a_wider_interval_than_many_entities() -> None:
    rng = np.random.default_rng(0)
    x = np.repeat(rng.gamma(1.5, 40, 40), 10)
    y = np.repeat(rng.standard_normal(40), 10)  # all queries of an entity stand or fall together
    together = fit(np.repeat(np.arange(40), 10), x, y)
    apart = fit(np.arange(400), x, y)
    assert together.slope == pytest.approx(apart.slope)
    assert together.high - together.low > 2 * (apart.high - apart.low)


def test_a_line_through_one_degree_has_no_slope() -> None:
    line = fit(np.array([0, 1, 1]), np.array([7.0, 7.0, 7.0]), np.array([0.1, 0.2, 0.6]))
    assert all(map(math.isnan, (line.slope, line.intercept, line.low, line.high)))


# The paper's table


def test_the_papers_figures_are_those_that_it_prints(shared: Callable[[str], Path]) -> None:
    table = json.loads(shared("paper/tables.json").read_text(encoding="utf-8"))["degree-FB15K-MRR"]
    assert [name.replace("-", "–") for name in table["bins"]] == list(BINS)
    for kind in ("explicit", "implicit"):
        assert list(PAPER["FB15K"][kind]) == table[kind]


def test_the_paper_prints_nothing_about_other_graphs() -> None:
    assert paper_row("FB15K", "explicit")[5] == 0.9
    assert all(map(math.isnan, paper_row("FB15K", "baseline")))
    assert all(map(math.isnan, paper_row("WN18", "explicit")))


def test_tables(toy: Dataset) -> None:
    result = degree_effect(replace(toy, name="FB15K"), [compared_model("im", random_model(toy, kind="implicit"))])
    tables = result.tables()
    assert list(tables) == ["degree", "degree-bins", "degree-lines"]
    assert sum(int(row["queries"]) for row in tables["degree"] if row["protocol"] == "all") == result.num_queries
    assert [row["neighbors"] for row in tables["degree-bins"][:6]] == list(BINS)
    assert [row["paper_mrr"] for row in tables["degree-bins"][:6]] == list(PAPER["FB15K"]["implicit"])
    assert [row["against"] for row in tables["degree-lines"]] == ["degree", "log2(1 + degree)"] * 2
    assert tables["degree-lines"][1]["slope"] == result.curves[0].per_doubling.slope
