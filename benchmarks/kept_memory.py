"""How much faster is training on a CPU because the process keeps the memory that it frees?

Trains for a while with glibc's own settings and with ours (`hmem.training.allocation`), by turns and each time in a new
process, and compares facts per second and the processor seconds of a thousand facts, of which the system's share is
told apart. Linux with glibc only; best on a machine that does nothing else.

    python benchmarks/kept_memory.py [DATA] [--minutes 0.5] [--turns 3] [--json PATH]
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import torch
from common import arguments, keep

import hmem
from hmem.training import loop


def measure(data: str, minutes: float, keep: bool) -> dict[str, float]:
    """One training run in this process."""
    if not keep:
        loop.kept_memory = nullcontext  # type: ignore[assignment]
    dataset = hmem.load_dataset(data)
    unvalidated = replace(dataset, valid=dataset.valid[:0])
    before = resource.getrusage(resource.RUSAGE_SELF)
    settings = {"training": {"epochs": 10_000, "minutes": minutes}}
    model = hmem.fit(unvalidated, "recall", settings=settings, device="cpu")
    after = resource.getrusage(resource.RUSAGE_SELF)
    cost = model.metrics["training"]
    facts = cost["epochs"] * len(dataset.train)
    user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    return {
        "facts_per_second": facts / cost["training_seconds"],
        "processor_seconds_per_1000_facts": 1000 * (user + system) / facts,
        "system_share": system / (user + system),
        "mebibytes": after.ru_maxrss / 1024,
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("data", nargs="?", default="wordnet-mini")
    parser.add_argument("--minutes", type=float, default=0.5)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--once", choices=("kept", "freed"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.once:
        print(json.dumps(measure(given.data, given.minutes, given.once == "kept")))
        return
    rows: dict[str, list[dict[str, float]]] = {"freed": [], "kept": []}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    for turn in range(given.turns):
        for name in sorted(rows, reverse=bool(turn % 2)):
            command = [sys.executable, __file__, given.data, "--minutes", str(given.minutes), "--once", name]
            done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
            rows[name].append(json.loads(done.stdout.splitlines()[-1]))
            print(name, {key: round(value, 3) for key, value in rows[name][-1].items()}, flush=True)
    median = {
        name: {key: statistics.median(row[key] for row in found) for key in found[0]} for name, found in rows.items()
    }
    freed, kept = median["freed"], median["kept"]
    times = kept["facts_per_second"] / freed["facts_per_second"]
    cheaper = freed["processor_seconds_per_1000_facts"] / kept["processor_seconds_per_1000_facts"]
    print(f"{given.data}: {times:.2f} times the facts per second; {cheaper:.2f} times fewer processor seconds")
    about = {"question": "kept_memory", "dataset": Path(given.data).name, "torch": torch.__version__}
    ratios = {"times_facts_per_second": times, "times_fewer_processor_seconds": cheaper}
    keep({**about, "threads": torch.get_num_threads(), **ratios, **median}, given.json)


if __name__ == "__main__":
    main()
