"""One evaluation as an object: the line of `results/*.jsonl`."""

import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hmem.evaluation.breakdown import Breakdown, breakdown
from hmem.evaluation.evaluate import Scorer, evaluate
from hmem.evaluation.metrics import Metrics, metrics
from hmem.evaluation.protocol import PROTOCOLS, Protocol
from hmem.evaluation.queries import Queries, queries_of
from hmem.graph.dataset import Dataset, GraphName, Split

COLUMNS = (
    ("MR", "arithmetic_mean_rank"),
    ("MRR", "inverse_harmonic_mean_rank"),
    *((f"H@{k}", f"hits_at_{k}") for k in (1, 3, 10)),
)


@dataclass(frozen=True, kw_only=True)
class Report:
    dataset: str
    split: Split
    graph: GraphName
    model: str
    protocols: dict[Protocol, Metrics]
    breakdowns: dict[Protocol, Breakdown] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    seed: int | None = None
    seconds: float = 0.0  # of ranking
    device: str = "cpu"
    commit: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)  # training time, epochs, parameters

    def to_dict(self) -> dict[str, Any]:
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "extra"}
        return {**plain, **self.extra}

    @property
    def label(self) -> str:
        return self.model + ("+" if self.graph == "train+valid" else "")


def report(
    scorer: Scorer,
    dataset: Dataset,
    *,
    model: str,
    split: Split = "test",
    graph: GraphName = "train",
    protocols: Sequence[Protocol] = PROTOCOLS,
    queries: Queries | None = None,
    **facts: Any,
) -> Report:
    """Rank a whole split and sum it up."""
    started = time.perf_counter()
    queries = queries if queries is not None else queries_of(dataset, split, graph)
    ranks = evaluate(scorer, dataset, queries, protocols=protocols)
    inference = dataset.inference_graph(graph)
    return Report(
        dataset=dataset.name,
        split=split,
        graph=graph,
        model=model,
        protocols={protocol: metrics(each, queries.sides) for protocol, each in ranks.items()},
        breakdowns={protocol: breakdown(dataset, inference, queries, each) for protocol, each in ranks.items()},
        seconds=round(time.perf_counter() - started, 3),
        device=str(scorer.device),
        commit=current_commit(),
        **facts,
    )


def current_commit() -> str | None:
    """The commit of the source tree this runs from; None for an installed package."""
    here = Path(__file__).resolve().parents[3]
    if not (here / ".git").exists():
        return None
    try:
        answer = subprocess.run(
            ["git", "-C", str(here), "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, timeout=5
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.strip() or None


def share(value: float) -> str:
    """.938, as the field prints what lies between 0 and 1."""
    return f"{value:.3f}".removeprefix("0")
