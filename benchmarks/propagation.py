"""How fast is propagation: questions per second in training, and the time of one question, as ratios within one run.

    python benchmarks/propagation.py FB15K-237
    python benchmarks/propagation.py WN18RR --device cpu --steps 5

Training is timed as `hmem train --preset propagate` does it; where there are kernels of our own, also without them, and
with torch-geometric's scatter in their place if it is installed. A question is timed alone and in a batch.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hmem.config import Config, from_dict
from hmem.graph.registry import load_dataset
from hmem.memory import propagation
from hmem.memory.edge_orders import Bindings
from hmem.model.index import FrozenIndex
from hmem.model.presets import preset
from hmem.model.propagation import Propagation
from hmem.model.query import Noise, Query
from hmem.runs.choose import chosen
from hmem.runs.device import resolve_device
from hmem.training.allocation import kept_memory
from hmem.training.batches import Batches
from hmem.training.loss import gradient_function, loss_function
from hmem.training.start import new_model

WARMUP = 3  # steps that are not timed: kernels are compiled, memory is asked for


class Scattered:
    """The sums of a step by torch-geometric, in the place of `Superpose`."""

    @staticmethod
    def apply(states: Tensor, roles: Tensor, bindings: Bindings) -> tuple[Tensor, Tensor]:
        from torch_geometric.utils import scatter

        pair, target = bindings.into.indices, bindings.target
        bound = states[bindings.source[pair]] * roles[bindings.role[pair]]
        size = len(bindings.into.offsets) - 1
        return scatter(bound, target, 0, size, "sum"), scatter(bound * bound, target, 0, size, "sum")


def timed(work: Callable[[int], Any], steps: int, device: str) -> float:
    """Seconds of one piece of work."""
    for step in range(WARMUP):
        work(step)
    if device != "cpu":
        torch.cuda.synchronize()
    began = time.perf_counter()
    for step in range(WARMUP, WARMUP + steps):
        work(step)
    if device != "cpu":
        torch.cuda.synchronize()
    return (time.perf_counter() - began) / steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", default="wordnet-mini")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--steps", type=int, default=30, help="of training that are timed")
    given = parser.parse_args()
    device, dataset = resolve_device(given.device), load_dataset(given.data)
    config, _ = chosen(from_dict(Config, preset("propagate")), dataset, device)
    graph = FrozenIndex(dataset.graph_of(dataset.train), device)
    facts = torch.from_numpy(dataset.train.astype(np.int64)).to(device)
    batches = Batches(facts, dataset.num_relations, config.training.batch_size, 0)
    model = new_model(config, dataset.num_entities, dataset.num_relations).to(device)
    assert isinstance(model, Propagation)
    questions = 2 * config.training.batch_size

    def train(step: int) -> None:
        model.zero_grad(set_to_none=True)
        noise = Noise(0, step, torch.device(device))
        gradient = gradient_function(model, graph, config.training)
        if gradient is not None:
            gradient(batches.at(step), noise)
        else:
            loss(batches.at(step), noise).backward()  # type: ignore[no-untyped-call]

    loss = loss_function(model, graph, config.training)
    print(f"{dataset.name}: {len(dataset.train):,} facts, {dataset.num_entities:,} entities, {device}")
    with kept_memory():
        seconds = timed(train, given.steps, device)
        print(f"training          {questions / seconds:9,.0f} questions/s")
        if device != "cpu":
            fused, superpose = propagation.fused_step, propagation.Superpose
            propagation.fused_step = None  # type: ignore[assignment]
            plain = timed(train, max(1, given.steps // 5), device)
            print(f"  without kernels {questions / plain:9,.0f} questions/s, {plain / seconds:.1f} times slower")
            try:
                import torch_geometric  # noqa: F401

                propagation.Superpose = Scattered  # type: ignore[assignment, misc]
                scattered = timed(train, max(1, given.steps // 5), device)
                slower = f"{scattered / seconds:.1f} times slower"
                print(f"  torch-geometric {questions / scattered:9,.0f} questions/s, {slower}")
            except (ImportError, torch.OutOfMemoryError) as error:
                print(f"  torch-geometric {type(error).__name__}: {error}")
            propagation.fused_step, propagation.Superpose = fused, superpose  # type: ignore[misc]
        model.eval()
        every = batches.at(0)

        def ask(step: int) -> None:
            size = 1 if alone else questions
            rows = slice(step % questions, step % questions + 1) if alone else slice(0, size)
            with torch.inference_mode():
                model(Query(every.entity[rows], every.role[rows]), graph)

        for alone in (True, False):
            seconds = timed(ask, given.steps, device) / (1 if alone else questions)
            print(f"a question {'alone' if alone else 'of many'} {1000 * seconds:8.1f} ms")


if __name__ == "__main__":
    main()
