"""What do two processes gain in training, do they find what one finds, and what would 8 and 64 gain?

    python benchmarks/processes.py                        # any-graph and recall on the bundled graph, by one and by two
    python benchmarks/processes.py --preset any-graph --steps 40 --json out.jsonl
    python benchmarks/processes.py --entities 1000000     # recall on a generated graph, vectors shared out
    python benchmarks/processes.py --memory 5000000       # memory of a follower whose graph is mapped, and of a fork

Every process has one thread. One process and two take turns, so that what else the machine does disturbs both alike.
What 8 and 64 would gain is arithmetic: a step is the part that every process repeats (as measured: the optimizer), the
questions of the process that has most, and the sum of the gradients, of which each process sends and receives
2 (N - 1) / N of their bytes, over a network of 10 Gbit/s. Where the vectors of entities are shared out, each process
also fetches the rows that its questions need, (N - 1) / N of them from others, and sends as many gradients back; how
many rows those are is counted, for the questions of one process of 1, 2, 8 and 64.
"""

import os
import statistics
import sys
import time
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from common import arguments, keep
from torch import Tensor

from hmem.config import Config, from_dict, merge
from hmem.graph.dataset import Dataset
from hmem.graph.names import Vocabulary
from hmem.graph.registry import load_dataset
from hmem.graph.triples import as_triples
from hmem.model.presets import preset
from hmem.runs.choose import chosen
from hmem.training.gathering import gathered
from hmem.training.hooks import Hooks, Progress
from hmem.training.loop import train
from hmem.training.material import material_of
from hmem.training.processes import END, Processes, Together
from hmem.training.split import SplitSteps, steps_of

NETWORK = 1.25e9  # bytes a second
TURNS = 3
CPU = torch.device("cpu")
Weights = dict[str, Tensor]


def trained(config: Config, dataset: Dataset, processes: int, steps: int) -> tuple[float, float, Weights]:
    """The median seconds of a step, the last loss, and the weights."""
    times, losses = [], list[float]()

    def stop() -> bool:
        times.append(time.perf_counter())
        return len(times) > steps

    def progress(now: Progress) -> None:
        losses.append(now.loss)

    size = (dataset.num_entities, dataset.num_relations)
    with gathered(processes, "cpu") as group:
        hooks = Hooks(stop=stop, progress=progress)
        outcome = train(config, dataset.train, *size, hooks=hooks, processes=group)
    weights = {name: each.float() for name, each in outcome.model.state_dict().items()}
    return statistics.median(np.diff(times).tolist()), losses[-1], weights


def repeated(config: Config, dataset: Dataset) -> tuple[float, int, int]:
    """The seconds of a step that processes do not share, the bytes of all gradients, the questions of a batch."""
    steps = steps_of(material_of(config, dataset.train, dataset.num_entities, dataset.num_relations, CPU), CPU)
    steps.take(0, 1.0)
    seconds = []
    for _ in range(9):
        began = time.perf_counter()
        torch.nn.utils.clip_grad_norm_(steps.model.parameters(), 1.0)
        steps.optimizer.step()
        seconds.append(time.perf_counter() - began)
    numbers = sum(each.numel() for each in steps.model.parameters() if each.requires_grad)
    return statistics.median(seconds), 4 * (numbers + 1), 2 * min(config.training.batch_size, len(dataset.train))


def fetched(config: Config, dataset: Dataset) -> dict[int, int]:
    """Bytes that a process of so many fetches and sends back in a step: numbers of rows, rows and their gradients."""
    material = material_of(config, dataset.train, dataset.num_entities, dataset.num_relations, CPU)
    sent = {}
    for count in (1, 2, 8, 64) if config.training.candidates is not None else ():
        share = Processes()
        share.share = lambda questions, count=count: range(0, questions, count)  # type: ignore[method-assign,misc]
        steps = steps_of(deepcopy(material), CPU, share)
        assert isinstance(steps, SplitSteps)
        steps.take(0, 1.0)
        numbers, width = steps.sight.entities, steps.model.embeddings.entity.shape[1]
        sent[count] = round(len(numbers) * (8 + 2 * 4 * width) * (count - 1) / count)
        print(f"    1 of {count:2} processes needs {len(numbers):,} rows of {dataset.num_entities:,}")
    return sent


def compare(name: str, dataset: Dataset, steps: int) -> dict[str, Any]:
    """One process and two, in turns."""
    long = {"training": {"epochs": 1000, "validate_every": 1000.0}}
    config = chosen(from_dict(Config, merge(preset(name), long)), dataset, "cpu")[0]
    config = replace(config, training=replace(config.training, minutes=None))
    found = [(trained(config, dataset, 1, steps), trained(config, dataset, 2, steps)) for _ in range(TURNS)]
    alone, both = (statistics.median(turn[each][0] for turn in found) for each in (0, 1))
    (_, loss, one), (_, other_loss, two) = found[-1]
    apart = max(float((one[each] - two[each]).abs().max()) for each in one if each not in ("placing", "kinds"))
    fixed, size, questions = repeated(config, dataset)
    rows = fetched(config, dataset)
    facts = questions // 2
    print(f"{name} on {dataset.name}, {questions} questions a step")
    print(f"    1 process    {facts / alone:10,.0f} facts/s")
    print(f"    2 processes  {facts / both:10,.0f} facts/s, {alone / both:.2f} times as many")
    print(f"    loss after {steps} steps: {loss:.6f} and {other_loss:.6f}; weights differ by {apart:.1e} at most")
    print(f"    {size:,} bytes of gradients a step; {1e3 * fixed:.2f} ms of {1e3 * alone:.2f} are not shared")
    row: dict[str, Any] = {
        "question": "processes", "preset": name, "dataset": dataset.name, "steps": steps, "facts_per_step": facts,
        "seconds": {"1": alone, "2": both}, "losses": {"1": loss, "2": other_loss}, "weights_apart": apart,
        "bytes": size, "bytes_of_rows": rows, "seconds_not_shared": fixed, "by_arithmetic": {},
    }  # fmt: skip
    for count in (8, 64):
        most = -(-questions // count) / questions
        sent = (2 * (count - 1) / count * size + rows.get(count, 0)) / NETWORK
        seconds = fixed + (alone - fixed) * most + sent
        row["by_arithmetic"][str(count)] = alone / seconds
        sends = f"{1e3 * sent:.2f} ms of it to add up"
        print(f"    {count:2} processes: {alone / seconds:5.1f} times as many by arithmetic, {sends}")
    return row


def large(entities: int) -> Dataset:
    """Four facts for each entity; some have many, most have few."""
    rng, relations = np.random.default_rng(0), 100
    ends = (entities * rng.random((4 * entities, 2)) ** 3).astype(int)
    kinds = rng.integers(relations, size=len(ends))
    triples = as_triples(np.unique(np.insert(ends, 1, kinds, axis=1), axis=0))
    vocab = Vocabulary([f"e{each}" for each in range(entities)], [f"r{each}" for each in range(relations)])
    return Dataset(name=f"{entities:,} entities", vocab=vocab, train=triples, valid=triples[:0], test=triples[:0])


def memory_of(pid: int | str) -> dict[str, float]:
    """Megabytes of a process: its own, and its part of what it shares."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()[1:]
    kilobytes = {line.split(":")[0]: int(line.split()[1]) for line in lines}
    own = kilobytes["Private_Dirty"] + kilobytes["Private_Clean"]
    return {"own": own / 1e3, "proportional": kilobytes["Pss"] / 1e3}


def memory(facts: int) -> dict[str, Any]:
    """What a follower adds to the memory of a training: by a graph that it maps, and as a fork of this process."""
    rng = np.random.default_rng(0)
    entities, relations = facts // 4, 100
    ends = (entities * rng.random((facts, 2)) ** 3).astype(int)
    triples = as_triples(np.unique(np.insert(ends, 1, rng.integers(relations, size=facts), axis=1), axis=0))
    config = from_dict(Config, merge(preset("propagate"), {"training": {"link_withholding": 0, "neighbor_dropout": 0}}))
    material = material_of(config, triples, entities, relations, CPU).prepared(CPU)
    row: dict[str, Any] = {"question": "memory of processes", "facts": len(triples), "this": memory_of("self")}
    with gathered(2, "cpu") as group:
        assert isinstance(group, Together)
        began = time.perf_counter()
        shared = group.map(material)
        row["seconds_to_share"] = time.perf_counter() - began
        del material
        touched = sum(float(each.sum()) for each in (shared.graph.links().pair, shared.graph.links().source))
        time.sleep(1)
        (follower,) = group.started.processes.values()
        row["follower"] = memory_of(follower.pid)
        group.order(END)
    began = time.perf_counter()
    if (child := os.fork()) == 0:
        torch.set_num_threads(1)
        touched += float(shared.graph.links().pair.sum())
        time.sleep(3)
        os._exit(0)
    row["seconds_to_fork"] = time.perf_counter() - began
    time.sleep(2)
    row["fork"] = memory_of(child)
    os.waitpid(child, 0)
    if (child := os.fork()) == 0:
        torch.set_num_threads(2)
        (torch.rand(2000, 2000) @ torch.rand(2000, 2000)).exp().sum()
        os._exit(0)
    time.sleep(10)
    row["fork_computes_with_two_threads"] = os.waitpid(child, os.WNOHANG)[0] == child
    if not row["fork_computes_with_two_threads"]:
        os.kill(child, 9)
        os.waitpid(child, 0)
    for name, value in row.items():
        print(f"    {name:32} {value}")
    return row


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("data", nargs="?", default="wordnet-mini")
    parser.add_argument("--preset", action="append", help="any-graph and recall by default")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--entities", type=int, help="of a generated graph, in the place of DATA")
    parser.add_argument("--memory", type=int, metavar="FACTS", help="of a graph of so many facts, instead")
    given = parser.parse_args()
    if given.memory:
        rows = [memory(given.memory)]
    else:
        torch.set_num_threads(1)
        os.environ["OMP_NUM_THREADS"] = "1"
        dataset = large(given.entities) if given.entities else load_dataset(given.data)
        usual = ("recall",) if given.entities else ("any-graph", "recall")
        rows = [compare(name, dataset, given.steps) for name in given.preset or usual]
    for row in rows:
        keep(row, given.json)


if __name__ == "__main__":
    sys.exit(main())
