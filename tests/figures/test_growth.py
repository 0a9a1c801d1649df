"""MRR on new entities against how much of what is known about them has arrived."""

from itertools import pairwise

import numpy as np
import pytest

from hmem.errors import ConfigError
from hmem.evaluation.baselines import make_baseline
from hmem.evaluation.evaluate import evaluate
from hmem.evaluation.metrics import MRR, metrics
from hmem.evaluation.queries import queries_of
from hmem.evaluation.report import report
from hmem.figures.compared_models import compared_model, compared_rules
from hmem.figures.growth import SHARES, facts_to_come, growth_effect
from hmem.graph.dataset import Dataset, GraphName
from hmem.graph.neighborhoods import Neighborhoods
from hmem.model.build import ModelScorer
from hmem.model.index import FrozenIndex
from tests.figures.problems import Recorder, random_model


def facts_of(graph: Neighborhoods) -> set[tuple[int, ...]]:
    return {tuple(row) for row in graph.to_triples().tolist()}


@pytest.mark.parametrize("graph", ["train", "train+valid"])
def test_with_all_facts_it_is_a_plain_evaluation(toy_gen: Dataset, graph: GraphName) -> None:
    model = random_model(toy_gen)
    result = growth_effect(toy_gen, [compared_model("m", model), compared_rules(toy_gen)], graph=graph, draws=2)
    scorers = ModelScorer(model, FrozenIndex(toy_gen.inference_graph(graph))), make_baseline("rules", toy_gen, graph)
    expected = [
        report(scorer, toy_gen, model="", graph=graph).protocols[protocol][MRR]
        for scorer in scorers
        for protocol in ("all", "typed")
    ]
    for curve, figure in zip(result.curves, expected, strict=True):
        assert curve.mrr[:, -1] == pytest.approx(figure)
    assert [(curve.name, curve.protocol) for curve in result.curves] == [
        ("m", "all"), ("m", "typed"), ("rules", "all"), ("rules", "typed"),
    ]  # fmt: skip


def test_without_any_the_memories_are_empty(toy_gen: Dataset) -> None:
    recorder = Recorder(toy_gen)
    result = growth_effect(toy_gen, [recorder.model], shares=[0.0], draws=1)
    (graph,) = recorder.graphs
    assert toy_gen.heldout is not None
    assert graph.degrees(toy_gen.heldout).tolist() == [0] * len(toy_gen.heldout)
    queries = queries_of(toy_gen, "test")
    empty = Neighborhoods.build(toy_gen.train, toy_gen.num_entities, toy_gen.num_relations)
    ranks = evaluate(recorder.model.on(empty), toy_gen, queries)
    for curve in result.curves:
        assert curve.mrr[0, 0] == pytest.approx(metrics(ranks[curve.protocol], queries.sides)[MRR])


def test_facts_arrive_one_after_the_other(toy_gen: Dataset) -> None:
    recorder = Recorder(toy_gen)
    result = growth_effect(toy_gen, [recorder.model], draws=1)
    assert result.shares.tolist() == list(SHARES)
    assert result.facts.tolist() == [round(share * len(facts_to_come(toy_gen, "train"))) for share in SHARES]
    found = [facts_of(graph) for graph in recorder.graphs]
    train = {tuple(row) for row in toy_gen.train.tolist()}
    for facts, count in zip(found, result.facts.tolist(), strict=True):
        assert train <= facts
        assert len(facts) == len(train) + count
    assert all(earlier <= later for earlier, later in pairwise(found))


def test_draws_differ_where_chance_has_a_part(toy_gen: Dataset) -> None:
    recorder = Recorder(toy_gen)
    result = growth_effect(toy_gen, [recorder.model], shares=[0.0, 0.5, 1.0], draws=3)
    assert len(recorder.graphs) == 3 + 1 + 1  # nothing and everything are ranked once
    halves = [facts_of(recorder.graphs[place]) for place in (1, 3, 4)]
    assert len({frozenset(facts) for facts in halves}) == 3
    for curve in result.curves:
        assert curve.mrr.shape == (3, 3)
        assert np.ptp(curve.mrr[:, 0]) == np.ptp(curve.mrr[:, 2]) == 0
    again = growth_effect(toy_gen, [recorder.model], shares=[0.0, 0.5, 1.0], draws=3)
    assert all(np.array_equal(one.mrr, other.mrr) for one, other in zip(result.curves, again.curves, strict=True))


def test_validation_facts_arrive_where_they_are_asked_for(toy_gen: Dataset) -> None:
    assert len(facts_to_come(toy_gen, "train+valid")) == len(facts_to_come(toy_gen, "train")) + len(toy_gen.valid)


def test_some_entity_must_be_held_out(toy: Dataset) -> None:
    with pytest.raises(ConfigError, match="toy has no entities held out of training"):
        growth_effect(toy, [compared_rules(toy)])


def test_the_table_has_every_figure(toy_gen: Dataset) -> None:
    result = growth_effect(toy_gen, [compared_rules(toy_gen)], shares=[0.0, 1.0], draws=2, sample=3)
    assert result.num_queries == 3
    rows = result.tables()["growth"]
    assert len(rows) == 2 * 2 * 2
    assert rows[-1] == {
        "dataset": "toy-gen", "graph": "train", "protocol": "typed", "model": "rules", "kind": "baseline",
        "share": 1.0, "facts": len(facts_to_come(toy_gen, "train")), "draw": 1, "mrr": result.curves[1].mrr[1, 1],
    }  # fmt: skip
