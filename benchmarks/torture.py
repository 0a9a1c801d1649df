"""Does a knowledge base lose, halve or mix up anything when everything that uses it is killed, again and again?

Writers, removers, importers at once and in parts, undoing, merges, values and labels, switches of the model,
compaction, readers and servers work on one file, in processes of their own that are killed at random (SIGKILL). Some
files are of an older schema at first, so that the first processes bring them to the present one. In place of switches
of the model, some processes ask the one that comes with hmem, and so do the clients of the server. Some have a clock
that is hours off or years ahead, some a disk that is
full after a few more bytes (a limit on file sizes). After every round a checker that uses nothing of hmem, only
`sqlite3`, compares the file with what was acknowledged: a line that a process writes to a log after the call returned.
Then copies of the file are damaged, byte by byte, and opened: each must work or be refused, with an error of hmem.

lost      acknowledged facts that are not there
half      writes of which a part is there
stale     removals, switches, values and labels that were acknowledged and are not there
unsound   what SQLite's own check says, facts stored twice, numbers with gaps, time that runs backwards; readers that
          saw half a write; answers that name what was never stored, or are stored all the time; damaged copies that
          ended in anything but an error of hmem

What is done and for how long follows from `--seed`; when exactly a process is killed is up to the machine. Ends with 1
if anything was found, and keeps the folder then.

    python benchmarks/torture.py [--minutes 10] [--seed 0] [--servers 1] [--json PATH]
"""

import argparse
import json
import logging
import os
import random
import resource
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import torch

from hmem.errors import HMemError
from hmem.graph.triples import PARTS
from hmem.graph.values import Value
from hmem.knowledge.base import KnowledgeBase
from hmem.knowledge.store import store as store_module
from hmem.knowledge.store import write
from hmem.knowledge.store.records import Names3
from hmem.knowledge.store.schema import NEW_COLUMNS
from hmem.knowledge.store.store import Store

WORKERS = (2, 3, 6)  # at once: with few of them, the last one to close the file folds its log into it
JOBS = 24  # of a round
MOST_JOBS = 1_000_000
MOST_BATCHES = 10  # of a process before it closes the file and opens it again
DAMAGED = 4  # copies after a round
LARGEST = 50 << 20  # bytes of a file, before a new one is begun
KINDS = ("lost", "half", "stale", "unsound")
LARGEST_ASKED = 400 << 10  # the same where the model is asked, which takes time in proportion
PART = 500  # facts of one write of an import in parts
SHIFTS = (0, 0, 0, 3600, -86_400, 95 * 365 * 86_400)  # seconds by which a clock is off
KEYS = ("model", "model_checksum", "model_moment", "model_trained_until")  # that one switch of the model changes


@dataclass(frozen=True)
class Job:
    """What one process does, until it is killed."""

    number: int
    role: str
    seconds: float
    shift: int = 0
    room: int | None = None  # bytes by which files may grow
    seed: int = 0
    asks: bool = False


@dataclass
class Files:
    base: Path
    log: Path
    troubles: Path = field(init=False)

    def __post_init__(self) -> None:
        self.troubles = self.log.with_name("troubles.txt")


class Log:
    """Lines that are there once they are written: the acknowledgements of one process."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def say(self, *words: object) -> None:
        os.write(self._file, (" ".join(map(str, words)) + "\n").encode())


# What the processes do. A write is a batch: its facts tell how many belong together.


def batch(job: Job, number: int, size: int) -> list[tuple[str, str, str]]:
    return [(f"job {job.number}", "wrote", f"{job.number}/{number}/{size}/{part}") for part in range(size)]


def writer(store: Store, job: Job, log: Log, chance: random.Random) -> None:
    for number in range(chance.randint(1, MOST_BATCHES)):
        size = chance.randint(1, 5)
        store.add([*batch(job, number, size), ("all", "wrote", f"common {number}")], source=str(job.number))
        log.say("+", job.number, number, size)


def remover(store: Store, job: Job, log: Log, chance: random.Random) -> None:
    for number in range(chance.randint(1, MOST_BATCHES)):
        size = chance.randint(1, 5)
        store.add(batch(job, number, size))
        log.say("+", job.number, number, size)
        log.say("~", job.number, number, size)
        store.remove(batch(job, number, size), source="remover")
        log.say("-", job.number, number, size)


def undoer(store: Store, job: Job, log: Log, chance: random.Random) -> None:
    for number in range(chance.randint(1, MOST_BATCHES)):
        size = chance.randint(1, 5)
        written = store.add(batch(job, number, size))
        log.say("+", job.number, number, size)
        log.say("~", job.number, number, size)
        store.undo(written.moment)
        log.say("-", job.number, number, size)


def merger(store: Store, job: Job, log: Log, chance: random.Random) -> None:
    for number in range(chance.randint(1, MOST_BATCHES)):
        size = chance.randint(1, 5)
        head = f"{job.number} {number}"
        moved: list[Names3] = [(head, *fact[1:]) for fact in batch(job, number, size)]
        store.add([*moved, ("all", "wrote", f"common {number}")])
        log.say("+", job.number, number, size)
        log.say(">", job.number, number, size)
        store.merge("all", head)


def teller(store: Store, job: Job, log: Log, chance: random.Random) -> None:
    """One label, kind and description in a write, and one value in another."""
    name = f"told {job.number}"
    store.add([(name, "wrote", "nothing")])
    for number in range(1, 10**9):
        store.naming.describe("entity", name, label=f"{number}", kind=f"{number}", description=f"{number}")
        log.say("l", job.number, number)
        store.values.set(name, "count", [Value.of(number)])
        log.say("v", job.number, number)


def part_importer(store: Store, job: Job, log: Log, chance: random.Random) -> None:
    store_module.PART, store_module.PAUSE = PART, 0.001
    rows = [fact for number in range(10) for fact in batch(job, number, PART)]
    table = pa.table(dict(zip(PARTS, zip(*rows, strict=True), strict=True)))
    for number, _ in enumerate(store.add_in_parts(table)):
        log.say("+", job.number, number, PART)


def importer(store: Store, job: Job, log: Log, chance: random.Random) -> None:
    for number in range(10**9):
        size = chance.choice([500, 3_000, 12_000])
        columns = [pa.array(column) for column in zip(*batch(job, number, size), strict=True)]
        store.add_columns(*columns)
        log.say("+", job.number, number, size)


def switcher(store: Store, job: Job, log: Log, chance: random.Random) -> None:
    for number in range(10**9):
        store.set_meta(**dict.fromkeys(KEYS, str(job.number * MOST_JOBS + number)))
        log.say("=", job.number * MOST_JOBS + number)
        time.sleep(chance.uniform(0, 0.02))


def compactor(store: Store, job: Job, log: Log, chance: random.Random) -> None:
    for _ in range(chance.randint(1, 3)):
        store.compact()
        time.sleep(chance.uniform(0, 0.3))


def reader(store: Store, job: Job, log: Log, chance: random.Random) -> None:
    last = 0
    for _ in range(chance.randint(1, 3)):
        seen = Counter(tail.rpartition("/")[0] for tail in store.table().column("tail").to_pylist() if "/" in tail)
        for name, found in seen.items():
            if found != int(name.rpartition("/")[2]):
                log.say("!", f"reader {job.number} saw {found} facts of {name}")
        if store.moment < last:
            log.say("!", f"reader {job.number} saw the moment {store.moment} after {last}")
        last = store.moment


def asker(store: Store, job: Job, log: Log, chance: random.Random) -> None:
    """Asks the model that comes with hmem while facts come and go."""
    torch.set_num_threads(1)  # of several processes
    kb = KnowledgeBase(store)
    for _ in range(chance.randint(1, 20)):
        facts = store.table().to_pylist()
        if not facts:
            return
        asked = chance.choice(facts)["head"]
        stored = {fact["tail"] for fact in facts if fact["head"] == asked and fact["relation"] == "wrote"}
        answers = {row.tail for row in kb.predict(asked, "wrote", k=20)}
        answers |= {row.tail for row in kb.missing(asked, k=20) if row.head == asked}
        for name in answers:
            log.say("?", name)
        for name in answers & stored:
            if store.contains(asked, "wrote", name):
                log.say("!", f"asker {job.number} was told {name} of {asked}, which was stored all the time")
        near = Counter(row.tail.rpartition("/")[0] for row in kb.neighbors(asked) if row.tail.count("/") == 3)
        for name, found in near.items():
            if found != int(name.rpartition("/")[2]):
                log.say("!", f"asker {job.number} was shown {found} facts of {name}")


def server(store: Store, job: Job, log: Log, chance: random.Random) -> None:
    """Serves the file, and is its own client."""
    import http.client
    import threading

    from hmem.serve.app import create_app
    from hmem.serve.server import Server
    from hmem.serve.settings import Settings
    from hmem.serve.sockets import bind

    logging.disable()  # there is no such model
    bound = bind("127.0.0.1", 0)
    app = create_app(store.path, Settings(allow_writes=True))
    threading.Thread(target=Server(app, log_level="critical").run, kwargs={"sockets": [bound]}, daemon=True).start()
    for number in range(10**9):
        size = chance.randint(1, 5)
        facts = [dict(zip(("head", "relation", "tail"), fact, strict=True)) for fact in batch(job, number, size)]
        connection = http.client.HTTPConnection("127.0.0.1", bound.getsockname()[1], timeout=60)
        connection.request("POST", "/facts", json.dumps({"facts": facts}), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        if answer.status == 201 and answer.read():
            log.say("+", job.number, number, size)
        if job.asks:
            question = json.dumps({"entity": facts[0]["head"], "relation": "wrote"})
            connection.request("POST", "/predict", question, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            said = json.loads(answer.read())
            for each in said["results"][0]["answers"] if answer.status == 200 else ():
                log.say("?", each["name"])
                if each["name"] in [fact["tail"] for fact in facts]:
                    log.say("!", f"server {job.number} told {each['name']}, which is stored")


ROLES: dict[str, Callable[[Store, Job, Log, random.Random], None]] = {
    each.__name__: each
    for each in (
        *(writer, remover, undoer, merger, teller, importer, part_importer),
        *(switcher, compactor, reader, asker, server),
    )
}


def work(job: Job, files: Files) -> None:
    """The life of one process: opens the file, uses it, closes it and begins again; errors are those of a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    chance, log = random.Random(job.seed), Log(files.log)
    real = time.time_ns
    write.time = SimpleNamespace(time_ns=lambda: real() + job.shift * 10**9)  # type: ignore[attr-defined]
    if job.room is not None:
        largest = max(path.stat().st_size for path in files.base.parent.iterdir())
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest + job.room, resource.RLIM_INFINITY))
    while True:
        try:
            with Store.open(files.base) as store:
                ROLES[job.role](store, job, log, chance)
        except HMemError as error:
            if job.room is None and "being written" not in str(error):
                Log(files.troubles).say(f"job {job.number} ({job.role}):", str(error))
            if job.role in ("switcher", "teller"):  # its numbers must rise
                return
            time.sleep(0.01)
        except Exception:
            Log(files.troubles).say(f"job {job.number} ({job.role}):", traceback.format_exc())
            return
        job = replace(job, number=job.number + MOST_JOBS)  # with batches of its own


def start(task: Callable[[], None]) -> int:
    """A fork of this process, which has every module loaded and no base open."""
    child = os.fork()
    if child:
        return child
    try:
        task()
    finally:
        os._exit(0)


# What is left, seen without hmem.


@dataclass
class Found:
    kills: int = 0
    acknowledged: int = 0
    damaged: int = 0
    refused: int = 0
    lost: list[str] = field(default_factory=list)
    half: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    unsound: list[str] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        return not (self.lost or self.half or self.stale or self.unsound)


def check(files: Files, found: Found) -> None:
    """Compare the file with the log."""
    db = sqlite3.connect(files.base)
    there: dict[tuple[int, int, int], list[int]] = defaultdict(lambda: [0, 0])  # rows ever, and current ones
    facts = "SELECT name, removed FROM fact JOIN entity ON entity.id = tail WHERE name LIKE '%/%/%/%'"
    for name, removed in db.execute(facts):
        job, number, size, _ = map(int, name.split("/"))
        there[job, number, size][0] += 1
        there[job, number, size][1] += removed is None
    added, leaving, gone, moving, named, switched = set(), set(), set(), set(), set(), 0
    told: dict[str, dict[int, int]] = {"l": defaultdict(int), "v": defaultdict(int)}
    for line in files.log.read_text().splitlines():
        kind, _, rest = line.partition(" ")
        if kind == "!":
            found.unsound.append(rest)
        elif kind == "=":
            switched = max(switched, int(rest))
        elif kind == "?":
            named.add(rest)
        elif kind in told:
            job, number = map(int, rest.split())
            told[kind][job] = max(told[kind][job], number)
        else:
            {"+": added, "~": leaving, "-": gone, ">": moving}[kind].add(tuple(map(int, rest.split())))
    found.acknowledged = sum(size for *_, size in added) + sum(size for *_, size in gone)
    for key in added - there.keys():
        found.lost.append(f"{key}: nothing of it is there")
    for key, (rows, current) in there.items():
        has_moved = key in moving and rows == 2 * key[2] and current == key[2]
        if (rows != key[2] and not has_moved) or current not in (0, key[2]):
            found.half.append(f"{key}: {rows} rows, {current} of them current")
        elif key in added and not current and key not in leaving:
            found.lost.append(f"{key}: it is marked as removed")
        elif key in gone and current:
            found.stale.append(f"{key}: its removal is not there")
    check_told(db, told, found)
    never = named - {name for (name,) in db.execute("SELECT name FROM entity")}
    found.unsound += [f"an answer named {name}, which was never stored" for name in never]
    notes = dict(db.execute("SELECT key, value FROM meta"))
    values = {int(notes[key]) for key in KEYS if key in notes}
    if len(values) > 1:
        found.half.append(f"a switch of the model: {notes}")
    if max(values, default=0) < switched:
        found.stale.append(f"the switch {switched} is not there, but {values}")
    for (line,) in db.execute("PRAGMA integrity_check"):
        if line != "ok":
            found.unsound.append(line)
    if db.execute("PRAGMA foreign_key_check").fetchone():
        found.unsound.append("a reference points to nothing")
    for table, first in (("entity", 0), ("relation", 0), ("fact", 1), ("moment", 1)):
        rows, low, high = db.execute(f"SELECT count(*), min(id), max(id) FROM {table}").fetchone()
        if rows and (low != first or high - low + 1 != rows):
            found.unsound.append(f"{table} has {rows} rows from {low} to {high}")
    twice = "SELECT 1 FROM fact NOT INDEXED WHERE removed IS NULL GROUP BY head, relation, tail HAVING count(*) > 1"
    if db.execute(twice).fetchone():
        found.unsound.append("a fact is stored twice")
    times = [at for (at,) in db.execute("SELECT at FROM moment ORDER BY id")]
    if any(later <= earlier for earlier, later in pairwise(times)):
        found.unsound.append("time runs backwards")
    db.close()


def check_told(db: sqlite3.Connection, told: dict[str, dict[int, int]], found: Found) -> None:
    """Compare labels and values with what was acknowledged of them."""
    numbers: dict[str, dict[int, list[int]]] = {"l": defaultdict(list), "v": defaultdict(list)}
    for kind, table, texts in (("l", "entity_text", 3), ("v", "value", 1)):
        query = f"SELECT name, text FROM {table} JOIN entity ON entity.id = entity WHERE removed IS NULL"
        for name, text in db.execute(f"{query} AND name LIKE 'told %'"):
            numbers[kind][int(name.split()[1])].append(int(text))
        for job, each in numbers[kind].items():
            if len(each) != texts or len(set(each)) > 1:
                found.half.append(f"told {job}: {kind} is {each}")
        for job, number in told[kind].items():
            if max(numbers[kind][job], default=0) < number:
                found.stale.append(f"told {job}: {kind} is {numbers[kind][job]}, not {number}")


def damage(files: Files, seed: float, found: Found) -> None:
    """Change a few bytes of a copy, and see that opening, reading and checking it end well or in an error of hmem."""
    chance = random.Random(seed)
    copy = files.base.with_name("damaged.kb")
    for suffix in ("", "-wal"):
        source = files.base.with_name(files.base.name + suffix)
        if source.exists():
            shutil.copy(source, copy.with_name(copy.name + suffix))
    with copy.open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        for _ in range(chance.choice([1, 1, 5, 100])):
            file.seek(chance.randrange(min(size, chance.choice([100, 4096, size]))))
            file.write(bytes([chance.randrange(256)]))
        if chance.random() < 0.2:
            file.truncate(chance.randrange(size))
    try:
        with Store.open(copy) as store:
            store.check()
            store.table()
            list(store.listing(limit=100))
            store.add([("a", "b", "c")])
    except HMemError:
        found.refused += 1
    except Exception:
        found.unsound.append(f"a damaged copy: {traceback.format_exc()}")
    found.damaged += 1
    for left in copy.parent.glob("damaged.kb*"):
        left.unlink()


def apart(task: Callable[[Found], None]) -> Found:
    """What a task finds, in a process that ends with it: this one must never have a base open, since it forks."""
    receive, send = os.pipe()

    def run() -> None:
        found = Found()
        try:
            task(found)
        except BaseException:
            found.unsound.append(traceback.format_exc())
        with os.fdopen(send, "w") as file:
            json.dump(vars(found), file)

    child = start(run)
    os.close(send)
    with os.fdopen(receive) as file:
        text = file.read()
    _, status = os.waitpid(child, 0)
    return Found(**json.loads(text)) if text else Found(unsound=[f"a check ended with {status}"])


def begin(path: Path, version: int) -> None:
    """An empty base, perhaps of an older schema, as an older hmem would have made it."""
    Store.create(path).close()
    db = sqlite3.connect(path)
    tables = {2: ["value", "property_text", "property"], 1: ["entity_text", "relation_text"]}
    for older in range(2, version - 1, -1):
        for table in tables[older]:
            db.execute(f"DROP TABLE {table}")
    if version == 1:
        db.execute("DROP INDEX fact_inferred")
        for column in reversed(NEW_COLUMNS):
            db.execute(f"ALTER TABLE fact DROP COLUMN {column.split()[0]}")
    db.execute(f"PRAGMA user_version = {version}")
    db.commit()
    db.close()


def schedule(chance: random.Random, first: int, servers: int, *, asks: bool) -> list[Job]:
    """The processes of one round; only one of them switches the model, so that the last switch is known."""
    one = Job(first, "switcher", chance.uniform(0.05, 1), seed=chance.randrange(1 << 30))
    jobs = [replace(one, role="asker", seconds=2 + 4 * one.seconds) if asks else one]
    roles = ["writer", "writer", "remover", "undoer", "merger", "teller", "compactor", "reader"]
    roles += ["asker"] if asks else ["importer", "part_importer"]
    for number in range(first + 1, first + JOBS):
        jobs.append(
            Job(
                number,
                chance.choice(roles),
                chance.choice([0.05, 0.2, 0.4]) * chance.random(),
                shift=chance.choice(SHIFTS),
                room=chance.randrange(200_000) if chance.random() < 0.15 else None,
                seed=chance.randrange(1 << 30),
            )
        )
    seconds = 4.0 if asks else 1.0
    return jobs + [
        Job(first + JOBS + each, "server", seconds * chance.uniform(0.5, 1.5), asks=asks) for each in range(servers)
    ]


def torture(until: float, chance: random.Random, servers: int, folder: Path, total: Found) -> None:
    """Rounds on one file, until it is time, something is found or the file is so large that checks take long."""
    files, number, before, last_told = Files(folder / "zoo.kb", folder / "log.txt"), 1, total.acknowledged, 0.0
    files.log.touch()
    version, asks = chance.choice([1, 2, 3]), chance.random() < 0.3
    os.waitpid(start(lambda: begin(files.base, version)), 0)
    largest = LARGEST_ASKED if asks else LARGEST
    while time.monotonic() < until and total.is_clean and files.base.stat().st_size < largest:
        waiting, running = schedule(chance, number, servers, asks=asks), dict[int, float]()
        number, workers = number + len(waiting), chance.choice(WORKERS)
        while waiting or running:
            while waiting and len(running) < workers:
                job = waiting.pop(0)
                running[start(lambda job=job: work(job, files))] = time.monotonic() + job.seconds
            child = min(running, key=lambda child: running[child])
            time.sleep(max(0.0, running.pop(child) - time.monotonic()))
            os.kill(child, signal.SIGKILL)
            total.kills += os.waitpid(child, 0)[1] == signal.SIGKILL
        results = [apart(partial(check, files))]
        results += [apart(partial(damage, files, chance.random())) for _ in range(DAMAGED)]
        total.acknowledged = before + results[0].acknowledged
        for found in results:
            total.damaged, total.refused = total.damaged + found.damaged, total.refused + found.refused
            for kind in KINDS:
                getattr(total, kind).extend(getattr(found, kind))
        if files.troubles.exists():
            total.unsound += files.troubles.read_text().splitlines()
        if time.monotonic() - last_told > 30:
            last_told = time.monotonic()
            print(f"{total.kills:,} kills, {total.acknowledged:,} acknowledged", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--servers", type=int, default=1, help="processes of each round that serve the file")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.servers:
        import hmem.serve.server  # noqa: F401  # once, for all processes that are forked from this one
    found, chance, until = Found(), random.Random(options.seed), time.monotonic() + 60 * options.minutes
    while time.monotonic() < until and found.is_clean:
        folder = Path(tempfile.mkdtemp(prefix="torture"))
        torture(until, chance, options.servers, folder, found)
        if found.is_clean:
            shutil.rmtree(folder)
    counts: dict[str, Any] = {
        name: len(value) if isinstance(value, list) else value for name, value in vars(found).items()
    }
    print("".join(f"{name:>14}" for name in counts))
    print("".join(f"{value:>14,}" for value in counts.values()))
    if options.json:
        options.json.write_text(
            json.dumps({**counts, "seed": options.seed, "minutes": options.minutes}, indent=2) + "\n"
        )
    for kind in KINDS:
        for line in getattr(found, kind)[:10]:
            print(f"{kind}: {line}", file=sys.stderr)
    if not found.is_clean:
        sys.exit(f"the files are in {folder}")


if __name__ == "__main__":
    main()
