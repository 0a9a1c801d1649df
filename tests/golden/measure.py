"""A small training run of each kind of model, and the figures that a change of the code would move."""

import json
from pathlib import Path
from typing import Any

import torch

from hmem.config import Config
from hmem.evaluation.evaluate import rank_queries
from hmem.evaluation.protocol import Candidates
from hmem.evaluation.queries import queries_of
from hmem.graph.dataset import Dataset
from hmem.graph.names import Vocabulary
from hmem.graph.triples import as_triples
from hmem.model.build import ModelScorer
from hmem.model.index import FrozenIndex
from hmem.training.hooks import Hooks, Progress
from hmem.training.loop import train
from tests.model.problems import small

FOLDER = Path(__file__).parent
ENTITIES, RELATIONS = 20, ["next", "previous", "half", "double"]
TRAINING: dict[str, Any] = {"epochs": 12, "batch_size": 100, "learning_rate": 1e-2, "validate_every": 100, "seed": 11}
DROPOUT = {"memory_dropout": 0.1, "neighbor_dropout": 0.1, "identity_dropout": 0.2, "label_smoothing": 0.1}
RUNS: dict[str, Config] = {
    "tpr": small("tpr", training=TRAINING),
    "tpr-dropout": small("tpr", {"role_bias": "zero", "max_neighbors": 3}, {**TRAINING, **DROPOUT, "negatives": 9}),
    "tpr-im": small("tpr-im", training=TRAINING),
    "cconv-inf": small("cconv-inf", training=TRAINING),
    "eravg": small("eravg", training=TRAINING),
    "recall": small("recall", training=TRAINING),
}


def dataset() -> Dataset:
    """The numbers below 20: each follows another, and is half or double of some. Every seventh fact is held back."""
    facts = []
    for number in range(ENTITIES):
        facts += [(number, 0, (number + 1) % ENTITIES), ((number + 1) % ENTITIES, 1, number)]
        facts += [(number, 2, number // 2), (number // 2, 3, number)]
    held, kept = facts[3::7], [fact for place, fact in enumerate(facts) if place % 7 != 3]
    return Dataset(
        name="numbers",
        vocab=Vocabulary([f"n{number}" for number in range(ENTITIES)], RELATIONS),
        train=as_triples(kept),
        valid=as_triples(held[::3]),
        test=as_triples([fact for place, fact in enumerate(held) if place % 3]),
    )


def measure(name: str) -> dict[str, Any]:
    """Losses, one per step; ranks of the test facts; the three best answers to each of their questions."""
    told: list[Progress] = []
    data = dataset()
    outcome = train(RUNS[name], data.train, data.num_entities, data.num_relations, hooks=Hooks(progress=told.append))
    scorer = ModelScorer(outcome.model, FrozenIndex(data.inference_graph("train")))
    queries = queries_of(data, "test")
    ranks = rank_queries(scorer, queries, data.filter_graph(), [Candidates("all", data)])["all"]
    scores = scorer.score(torch.from_numpy(queries.entities), torch.from_numpy(queries.roles))  # (Q, E)
    best = scores.topk(3, dim=1)
    targets = torch.from_numpy(queries.targets)[:, None]
    gaps = (scores - scores.gather(1, targets)).abs().scatter(1, targets, torch.inf)
    return {
        "losses": [round(now.loss, 7) for now in told],
        "queries": torch.tensor(
            [queries.entities.tolist(), queries.roles.tolist(), queries.targets.tolist()]
        ).mT.tolist(),
        "ranks": ranks.realistic.tolist(),
        "gaps": [round(gap, 6) for gap in gaps.min(1).values.tolist()],  # to the nearest rival: how safe the rank is
        "best": best.indices.tolist(),
        "best_scores": [[round(score, 5) for score in row] for row in best.values.tolist()],
    }


def golden_file(name: str) -> Path:
    return FOLDER / f"{name}.json"


def write_golden(name: str) -> None:
    rows = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in measure(name).items()]
    golden_file(name).write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
