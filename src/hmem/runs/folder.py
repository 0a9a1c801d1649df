"""A training run in a folder of its own: what was asked for, its log, and the checkpoint from which it can go on.

`hmem train` and `hmem reproduce` train in the same way; what they do with the model afterwards differs.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hmem.config import Config
from hmem.evaluation.validation import Validator
from hmem.graph.dataset import Dataset
from hmem.model.checkpoint import write_tensors
from hmem.model.hmem import ModelScorer
from hmem.model.index import FrozenIndex
from hmem.training.loop import Hooks, Outcome, Progress, train
from hmem.training.state import State

RUN, STATE, LOG = "run.json", "training.safetensors", "log.jsonl"


def train_in(
    folder: Path,
    config: Config,
    dataset: Dataset,
    *,
    device: str = "cpu",
    progress: Callable[[Progress], None] | None = None,
    stop: Callable[[], bool] | None = None,
    resume: State | None = None,
) -> tuple[Outcome, FrozenIndex]:
    """Train with a log and checkpoints in `folder`; returns what came of it, and the graph of the training facts.

    Without validation facts there is no early stopping: the last weights are kept.
    """
    validator = Validator(dataset, config.training.validation_queries, device) if len(dataset.valid) else None
    graph = validator.graph if validator else FrozenIndex(dataset.inference_graph("train"), device)
    with (folder / LOG).open("a", encoding="utf-8") as log:

        def tell(now: Progress) -> None:
            log.write(json.dumps({name: getattr(now, name) for name in now.__dataclass_fields__}) + "\n")
            log.flush()
            if progress is not None:
                progress(now)

        hooks = Hooks(
            validate=(lambda model: validator(ModelScorer(model, graph))) if validator else None,
            progress=tell,
            checkpoint=lambda now: write_tensors(folder / STATE, *now.to_tensors()),
            stop=stop,
        )
        outcome = train(
            config,
            dataset.train,
            dataset.num_entities,
            dataset.num_relations,
            device=device,
            hooks=hooks,
            resume=resume,
        )
    return outcome, graph


def cost_of(outcome: Outcome) -> dict[str, Any]:
    """What a training took, as model folders and results keep it."""
    return {
        "training_seconds": round(outcome.seconds, 1),
        "epochs": round(outcome.epochs, 2),
        "stopped": outcome.stopped,
        "parameters": sum(parameter.numel() for parameter in outcome.model.parameters()),
    }
