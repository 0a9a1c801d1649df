"""Ranks and metrics that PyKEEN's evaluator gave on toy cases: the ranks exactly, the metrics to 1e-6."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch

from hmem.evaluation.evaluate import rank_queries
from hmem.evaluation.metrics import metrics
from hmem.evaluation.protocol import Candidates
from hmem.evaluation.queries import HEAD, TAIL, queries_of
from hmem.graph.dataset import Dataset
from hmem.graph.names import Vocabulary
from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.triples import as_triples
from tests.oracles_graph import TableScorer

NAMES = ["toy5_raw", "toy5_filtered_self", "toy5_filtered_known", "toy12_filtered_known", "toy5_constant"]
KEYS = {"MR": "arithmetic_mean_rank", "MRR": "inverse_harmonic_mean_rank"}
KEYS |= {f"H{k}": f"hits_at_{k}" for k in (1, 3, 5, 10)}


def read_cases(path: Path) -> dict[str, Any]:
    return {case["name"]: case for case in json.loads(path.read_text(encoding="utf-8"))["cases"]}


def test_every_case_is_reproduced(shared: Callable[[str], Path]) -> None:
    assert list(read_cases(shared("golden/ranks.json"))) == NAMES


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("budget", [1, 2**20])
def test_a_peers_ranks_and_metrics(name: str, budget: int, shared: Callable[[str], Path]) -> None:
    case = read_cases(shared("golden/ranks.json"))[name]
    by_fact = torch.tensor(case["scores_hrt"])  # (E, R, E)
    dataset = Dataset(
        name=name,
        vocab=Vocabulary(map(str, range(case["num_entities"])), map(str, range(case["num_relations"]))),
        train=as_triples(case["additional_known_triples_hrt"]),
        valid=as_triples([]),
        test=as_triples(case["eval_triples_hrt"]),
    )
    table = torch.cat([by_fact.transpose(0, 2), by_fact], dim=1)  # (E, 2R, E): of a tail its heads, of a head its tails
    nothing = Neighborhoods.build(as_triples([]), dataset.num_entities, dataset.num_relations)
    filtered = dataset.filter_graph() if case["filtered"] else nothing
    queries = queries_of(dataset, "test")
    with patch("hmem.evaluation.evaluate.BUDGET", budget):
        ranks = rank_queries(TableScorer(table), queries, filtered, [Candidates("all", dataset)])["all"]

    expected = case["expected"]
    figures = metrics(ranks, queries.sides)
    for side, rows in (("head", queries.sides == HEAD), ("tail", queries.sides == TAIL)):
        for kind in ("optimistic", "realistic", "pessimistic"):
            assert getattr(ranks, kind)[rows].tolist() == expected["ranks"][f"{side}.{kind}"]
        assert ranks.candidates[rows].tolist() == expected["num_candidates"][side]
    for side, by_kind in expected["metrics"].items():
        for kind, values in by_kind.items():
            found = {short: figures[f"{side}.{kind}.{key}"] for short, key in KEYS.items()}
            assert found == pytest.approx(values, abs=1e-6)
    index = "adjusted_arithmetic_mean_rank_index"
    assert figures[f"both.realistic.{index}"] == pytest.approx(expected["extra_both_realistic"][index], abs=1e-6)
    assert np.isfinite(list(figures.values())).all()
