"""What does a durable fact cost, and does it cost more in a base of a million facts than in one of ten thousand?

Fills a base of each size with Zipf-distributed facts, then adds facts one by one, in turns to the one and the other,
each on the disk before the next. `add_ratio` is the answer: the median at the larger size over that at the smaller.
Disks differ more than sizes do, and may be quick now and slow a second later; so the same is told without waiting for
the disk (`add_ms_no_sync`, `add_ratio_no_sync`), and `fsync_ms` says what the disk alone took meanwhile.

Beside it, at each size: importing the facts, importing a tenth more into the full base, reading all facts and names,
opening, listing one entity, asking what changed since the last moment, the last 20 lines of the history, a check of
the whole file. `peak_mib` is the memory of the whole process. `import_wait_seconds` is the longest that a write waits
for an import of so many facts, whole and in parts, and `in_parts_times` how much longer the latter takes.

With `--address` a base is made in PostgreSQL, which stays there: importing, adding one by one and opening are measured,
and how many facts a second that is. `add_cpu_ms` is what this process took for a fact, and not the database.

    python benchmarks/store_cost.py [--facts 1000000] [--small 10000] [--adds 500] [--folder PATH] [--json PATH]
    python benchmarks/store_cost.py --address postgresql://HOST/NAME --facts 500000
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from common import arguments, keep

from hmem.graph.triples import PARTS
from hmem.knowledge.store.places import At
from hmem.knowledge.store.records import Names3
from hmem.knowledge.store.store import Store

ENTITIES_PER_FACT, RELATIONS = 0.2, 200
WRITER = """
import select, sys, time
from hmem.knowledge.store.store import Store
slowest, number = 0.0, 0
with Store.open(sys.argv[1]) as store:
    print(flush=True)
    while not select.select([sys.stdin], [], [], 0.005)[0]:
        started, number = time.perf_counter(), number + 1
        store.add([("they", "wrote", str(number))])
        slowest = max(slowest, time.perf_counter() - started)
print(slowest)
"""


def random_columns(count: int, entities: int, seed: int) -> list[pa.Array]:
    """Names of entities with few hubs and many leaves."""
    generator = np.random.default_rng(seed)
    names = pa.array([f"/m/entity_{i}" for i in range(entities)])
    relations = pa.array([f"/relation/name_{i}" for i in range(RELATIONS)])
    heads, tails = ((entities * generator.random(count) ** 3).astype(np.int32) for _ in range(2))
    return [names.take(heads), relations.take(generator.integers(0, RELATIONS, count)), names.take(tails)]


def new_facts(count: int, entities: int, seed: int) -> list[Names3]:
    """Each about an entity that is there, and one that is not."""
    rows = zip(*(column.to_pylist() for column in random_columns(count, entities, seed)), strict=True)
    return [(head, relation, f"{tail} seen by {seed}.{i}") for i, (head, relation, tail) in enumerate(rows)]


def milliseconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - started)


def median_of(works: list[Callable[[], object]]) -> float:
    return statistics.median(map(milliseconds, works))


def measure_import(path: At, facts: int) -> dict[str, float]:
    entities = int(ENTITIES_PER_FACT * facts)
    columns, more = random_columns(facts, entities, 0), random_columns(facts // 10, entities, 1)
    with Store.create(path) as store:
        first = milliseconds(lambda: store.add_columns(*columns))
        second = milliseconds(lambda: store.add_columns(*more))
    with Store.open(path) as store:
        size = store.count()["bytes"]
    return {
        "facts": facts,
        "import_facts_per_second": 1000 * facts / first,
        "import_more_facts_per_second": 1000 * (facts // 10) / second,
        "bytes_per_fact": size / (1.1 * facts),
        "open_ms": milliseconds(lambda: Store.open(path).close()),
    }


def measure_waits(folder: Path, facts: int) -> dict[str, float]:
    """Another process adds one fact after the other while so many are imported into an empty base."""
    columns = random_columns(facts, int(ENTITIES_PER_FACT * facts), 0)
    table = pa.table(dict(zip(PARTS, columns, strict=True)))
    took, waits = [], []
    for number, is_in_parts in enumerate((False, True)):
        path = folder / f"waits {number}.kb"
        Store.create(path).close()
        writer = subprocess.Popen([sys.executable, "-c", WRITER, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert writer.stdout is not None
        writer.stdout.readline()  # it has begun
        with Store.open(path) as store:
            work = partial(in_parts, store, table) if is_in_parts else partial(store.add_table, table)
            took.append(milliseconds(work))
        waits.append(float(writer.communicate(b"enough")[0]))
    return {
        "import_wait_seconds": waits[0],
        "import_in_parts_wait_seconds": waits[1],
        "in_parts_times": took[1] / took[0],
    }


def in_parts(store: Store, table: pa.Table) -> None:
    for _ in store.add_in_parts(table):
        pass


def measure_adds(stores: list[Store], sizes: list[int], adds: int, seed: int) -> list[dict[str, float]]:
    """In turns, so that a disk that is slower for a while is so for all."""
    facts = [new_facts(adds, int(ENTITIES_PER_FACT * size), seed) for size in sizes]
    times: list[list[float]] = [[] for _ in stores]
    for turn in zip(*facts, strict=True):
        for store, fact, found in zip(stores, turn, times, strict=True):
            found.append(milliseconds(partial(store.add, [fact], source="benchmark")))
    return [
        {"add_ms": statistics.median(found), "add_ms_slowest_percent": sorted(found)[-max(1, adds // 100)]}
        for found in times
    ]


def measure_reads(store: Store, path: Path, entities: int) -> dict[str, float]:
    some = random_columns(100, entities, 3)[0].to_pylist()
    known = store.count()
    with Store.open(path, read_only=True) as other:
        since = partial(other.changes_since, known["moments"] - 1, known["entities"] - 1, known["relations"])
        return {
            "read_all_seconds": milliseconds(other.triples) / 1000,
            "read_names_seconds": milliseconds(other.entity_names) / 1000,
            "changes_since_ms": median_of([since] * 100),
            "version_ms": median_of([lambda: other.version] * 100),
            "list_entity_ms": median_of([partial(list_all, other, head) for head in some]),
            "history_ms": median_of([partial(other.history, limit=20)] * 20),
            "check_seconds": milliseconds(other.check) / 1000,
        }


def list_all(store: Store, entity: str) -> int:
    return sum(1 for _ in store.listing(head=entity))


def fsync_ms(path: Path) -> float:
    """How long the disk takes to write a page durably."""
    with path.open("wb", buffering=0) as file:

        def write() -> None:
            file.write(bytes(4096))
            os.fdatasync(file.fileno())

        return median_of([write] * 200)


def measure(folder: Path, sizes: list[int], adds: int) -> list[dict[str, float]]:
    """The same numbers for each size."""
    paths = [folder / f"{size}.kb" for size in sizes]
    found = [measure_import(path, size) for path, size in zip(paths, sizes, strict=True)]
    stores = [Store.open(path) for path in paths]
    before = fsync_ms(folder / "fsync")
    durable = measure_adds(stores, sizes, adds, 10)
    after = fsync_ms(folder / "fsync")
    for store in stores:
        with store._connection.outside() as db:
            db.execute("PRAGMA synchronous = OFF")
    hasty = measure_adds(stores, sizes, adds, 11)
    for size, path, store, row, slow, quick in zip(sizes, paths, stores, found, durable, hasty, strict=True):
        row |= {**slow, "add_ms_no_sync": quick["add_ms"], "fsync_ms": (before + after) / 2}
        row |= measure_reads(store, path, int(ENTITIES_PER_FACT * size))
        store.close()
    return found


def measure_at(address: str, facts: int, adds: int) -> dict[str, float]:
    """What a base in PostgreSQL takes for writes."""
    found = measure_import(address, facts)
    with Store.open(address) as store:
        started, cpu = time.perf_counter(), time.process_time()
        (added,) = measure_adds([store], [facts], adds, 10)
        took, cpu = time.perf_counter() - started, time.process_time() - cpu
    return {**found, **added, "adds_per_second": adds / took, "add_cpu_ms": 1000 * cpu / adds}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--facts", type=int, default=1_000_000)
    parser.add_argument("--small", type=int, default=10_000)
    parser.add_argument("--adds", type=int, default=500)
    parser.add_argument("--folder", type=Path, help="where to put the bases; by default among temporary files")
    parser.add_argument("--address", help="of a base in PostgreSQL that is not there yet")
    given = parser.parse_args()
    if given.address is not None:
        measured = measure_at(given.address, given.facts, given.adds)
        row = {"question": "store_cost", "engine": "postgresql", **measured}
        print(json.dumps(row))
        keep(row, given.json)
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        small, large = measure(Path(folder), [given.small, given.facts], given.adds)
        waits = measure_waits(Path(folder), given.facts)
    row = {
        "question": "store_cost",
        "add_ratio": large["add_ms"] / small["add_ms"],
        "add_ratio_no_sync": large["add_ms_no_sync"] / small["add_ms_no_sync"],
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10,
        **waits,
        **large,
        "small": small,
    }
    print(json.dumps(row))
    keep(row, given.json)


if __name__ == "__main__":
    main()
