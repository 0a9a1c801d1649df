"""How fast is a plain TSV file read, interned and indexed, and in how much memory?

Writes facts with Zipf-distributed entities to a temporary file, then reads and indexes them in a process of its own.
Rates are facts per second of reading and indexing together; memory is the peak of the whole process. `--index-only`
skips the file and indexes random integer facts, which shows what the index itself takes.

    python benchmarks/index_cost.py [--facts 3000000] [--index-only] [--json PATH]
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from common import arguments, keep

ENTITIES, RELATIONS = 200_000, 200


def random_facts(count: int, entities: int) -> np.ndarray:
    generator = np.random.default_rng(0)
    facts = np.empty((count, 3), dtype=np.int32)
    for start in range(0, count, 1_000_000):
        part = facts[start : start + 1_000_000]
        for column in (0, 2):
            part[:, column] = entities * generator.random(len(part), dtype=np.float32) ** 3  # few hubs, many leaves
        part[:, 1] = generator.integers(0, RELATIONS, len(part))
    return facts


def write_file(path: Path, count: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        facts = random_facts(count, ENTITIES)
        for start in range(0, count, 1_000_000):
            rows = facts[start : start + 1_000_000].tolist()
            file.writelines(f"/m/entity_{h}\t/relation/name_{r}\t/m/entity_{t}\n" for h, r, t in rows)


def measure_file(path: Path) -> dict[str, float]:
    """The median of five passes; the first, which also starts threads and fetches memory, is told apart."""
    passes = [one_pass(path) for _ in range(5)]
    middle = sorted(passes, key=lambda found: found["facts_per_second"])[2]
    return {**middle, "first_pass_facts_per_second": passes[0]["facts_per_second"]}


def one_pass(path: Path) -> dict[str, float]:
    from hmem.graph.intern import intern
    from hmem.graph.neighborhoods import Neighborhoods
    from hmem.graph.readers.read import read_table

    started = time.perf_counter()
    table = read_table(path)
    read = time.perf_counter()
    interned = intern(table)
    del table
    named = time.perf_counter()
    Neighborhoods.build(interned.triples, len(interned.vocab.entities), len(interned.vocab.relations))
    done = time.perf_counter()
    rows = len(interned.triples) + interned.duplicates
    return {
        "facts": rows,
        "facts_per_second": rows / (done - started),
        "read_seconds": read - started,
        "intern_seconds": named - read,
        "index_seconds": done - named,
    }


def measure_index(count: int) -> dict[str, float]:
    from hmem.graph.neighborhoods import Neighborhoods

    facts = random_facts(count, 2_000_000)
    started = time.perf_counter()
    Neighborhoods.build(facts, 2_000_000, RELATIONS)
    return {"facts": count, "index_seconds": time.perf_counter() - started}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--facts", type=int, default=3_000_000)
    parser.add_argument("--index-only", action="store_true")
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)  # the inner process
    given = parser.parse_args()
    if given.file or given.index_only:
        found = measure_file(given.file) if given.file else measure_index(given.facts)
        found["peak_gib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        row = {"question": "index_cost", **found}
        print(json.dumps(row))
    else:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "facts.tsv"
            write_file(path, given.facts)
            done = subprocess.run(
                [sys.executable, __file__, "--file", str(path)], capture_output=True, text=True, check=True
            )
        print(done.stdout.strip())
        row = json.loads(done.stdout)
    keep(row, given.json)


if __name__ == "__main__":
    main()
