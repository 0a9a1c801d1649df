"""How many facts a second does training take in, and where does the time go?

Trains a few hundred steps on a dataset and reports facts per second, then the share of each stage: looking edges up,
weighing them, superposing or recalling, completing, scoring with the loss, the backward pass and the optimizer.

    python benchmarks/training_rate.py FB15K --preset tpr-inf --set memory.entity_dim=150 [--steps 200] [--json PATH]
"""

import statistics
import time
from collections.abc import Callable
from itertools import count
from typing import Any

import torch
from common import arguments, keep

from hmem.config import Config, from_dict, merge, parse_assignments, to_dict
from hmem.graph.registry import load_dataset
from hmem.memory import superpose
from hmem.model.explicit import ExplicitMemory
from hmem.model.presets import preset
from hmem.training import loop, loss
from hmem.training.material import material_of
from hmem.training.steps import Steps


class Stopwatch:
    """Seconds per stage, with the device synchronised around each."""

    def __init__(self) -> None:
        self.spent: dict[str, list[float]] = {}
        self.on = False

    def wrap(self, owner: Any, name: str, stage: str) -> None:
        inner = getattr(owner, name)

        def timed(*args: Any, **kwargs: Any) -> Any:
            if not self.on:
                return inner(*args, **kwargs)
            synchronize()
            started = time.perf_counter()
            result = inner(*args, **kwargs)
            synchronize()
            self.spent.setdefault(stage, []).append(time.perf_counter() - started)
            return result

        setattr(owner, name, timed)


def synchronize() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def rate(step: Callable[[], None], steps: int, facts: int) -> float:
    """Facts per second, the median of five stretches."""
    speeds = []
    for _ in range(5):
        synchronize()
        started = time.perf_counter()
        for _ in range(max(1, steps // 5)):
            step()
        synchronize()
        speeds.append(max(1, steps // 5) * facts / (time.perf_counter() - started))
    return statistics.median(speeds)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("data", nargs="?", default="wordnet-mini")
    parser.add_argument("--preset", default="tpr-inf")
    parser.add_argument("--set", dest="assignments", action="append", default=[])
    parser.add_argument("--steps", type=int, default=100)
    given = parser.parse_args()
    config = from_dict(Config, merge(preset(given.preset), parse_assignments(given.assignments)))
    dataset = load_dataset(given.data)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    size = (dataset.num_entities, dataset.num_relations)
    run, done = Steps(material_of(config, dataset.train, *size, device), device), count()

    def step() -> None:
        run.take(next(done), 1.0)

    with loop.matmul_precision(config.training.precision):
        for _ in range(10):
            step()
        facts = min(config.training.batch_size, len(dataset.train))
        speed = rate(step, given.steps, facts)
        watch = Stopwatch()
        if isinstance(run.model.memory, ExplicitMemory):
            watch.wrap(run.graph, "lookup", "look-up")
            watch.wrap(run.model.memory, "attend", "weights")
            watch.wrap(superpose, "superpose", "superposition")
            watch.wrap(superpose, "recall", "superposition")
        watch.wrap(run.model.completion, "forward", "completion")
        watch.wrap(loss, "answer_loss", "scoring")
        watch.wrap(torch.Tensor, "backward", "backward")
        watch.wrap(run.optimizer, "step", "optimizer")
        watch.on = True
        synchronize()
        started = time.perf_counter()
        for _ in range(20):
            step()
        synchronize()
        total = (time.perf_counter() - started) / 20
    stages = {stage: 1e3 * sum(spent) / 20 for stage, spent in watch.spent.items()}
    if "weights" in stages:
        stages["weights"] -= stages.get("look-up", 0.0)
    name = torch.cuda.get_device_name() if device.type == "cuda" else f"cpu, {torch.get_num_threads()} threads"
    memory = torch.cuda.max_memory_allocated() / 2**30 if device.type == "cuda" else float("nan")
    print(f"{dataset.name} {given.preset}: {speed:,.0f} facts/s on {name}, peak {memory:.1f} GiB")
    for stage, milliseconds in stages.items():
        print(f"    {stage:14s} {milliseconds:8.2f} ms  {milliseconds / (10 * total):5.1f} %")
    print(f"    {'one step':14s} {1e3 * total:8.2f} ms, synchronised around each stage")
    row = {
        "question": "training_rate",
        "dataset": dataset.name,
        "preset": given.preset,
        "settings": to_dict(config),
        "device": name,
        "facts_per_second": speed,
        "stage_milliseconds": stages,
        "step_milliseconds": 1e3 * total,
        "peak_gib": memory,
    }
    keep(row, given.json)


if __name__ == "__main__":
    main()
