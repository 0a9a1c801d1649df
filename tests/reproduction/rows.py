"""A small row and lines of results to test with."""

from typing import Any

from hmem.config import Config, from_dict, merge
from hmem.evaluation.report import COLUMNS
from hmem.model.presets import preset
from hmem.reproduction.paper_rows import METRICS, PaperRow, Run

SMALL: dict[str, Any] = {
    "memory": {"entity_dim": 6, "relation_dim": 4},
    "training": {"epochs": 3, "batch_size": 8, "validate_every": 1},
}


def make_row(**changes: Any) -> PaperRow:
    settings = changes.pop("settings", {})
    values: dict[str, Any] = {
        "key": "toy_tpr",
        "name": "TPR",
        "group": "wn18",
        "dataset": "toy",
        "preset": "tpr",
        "seeds": (0,),
        "published": {"train": dict(zip(METRICS, (253.0, 0.9, 0.8, 0.85, 0.95), strict=True))},
    }
    values |= changes
    return PaperRow(config=from_dict(Config, merge(preset(values["preset"]), SMALL, settings)), **values)


def make_line(run: Run, graph: str = "train", mrr: float = 0.5, **changes: Any) -> dict[str, Any]:
    """A line as the results have it, with the same metrics in both protocols."""
    return {
        "row": run.row.key,
        "dataset": run.row.dataset,
        "split": "test",
        "graph": graph,
        "model": run.row.name,
        "protocols": {"all": metrics(mrr), "typed": metrics(mrr)},
        "settings": run.settings,
        "seed": run.seed,
        "training_seconds": 61.4,
        "epochs": 12.5,
        "parameters": 1234567,
        "valid_mrr_all": 0.25,
        "device": "some device",
        "commit": "abc",
        **changes,
    }


def make_baseline_line(name: str, dataset: str = "toy", graph: str = "train", mrr: float = 0.4) -> dict[str, Any]:
    return {
        "dataset": dataset,
        "split": "test",
        "graph": graph,
        "model": name,
        "protocols": {"all": metrics(mrr), "typed": metrics(mrr)},
        "seed": None,
    }


def metrics(mrr: float) -> dict[str, float]:
    values = {"MR": 100 / mrr, "MRR": mrr, "H@1": mrr - 0.1, "H@3": mrr + 0.01, "H@10": mrr + 0.1}
    return {f"both.realistic.{key}": values[name] for name, key in COLUMNS}
