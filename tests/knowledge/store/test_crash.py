"""Killed at any moment: what was acknowledged is there, nothing is there twice, no write is there by half."""

import random
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from hmem.knowledge.store.store import Store
from tests.knowledge.stores import by_name, start

# Every write stores a pair of facts, one of its own and one that all workers try to store; every third one is taken
# back. A line is written after the write has returned: that is the acknowledgement.
WORKER = """
    import os
    path, acknowledgements, worker, first = argv
    out = os.open(acknowledgements, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    store = Store.open(path)
    for i in range(int(first), 10**9):
        own, common = (f"worker {worker}", "wrote", f"{i}"), ("all workers", "wrote", f"{i}")
        store.add([own, common], source=worker)
        os.write(out, f"+{worker} {i}\\n".encode())
        if i % 3 == 0:
            store.remove([own])
            os.write(out, f"-{worker} {i}\\n".encode())
"""
ROWS = 12_000  # so that the first imports make the indexes anew, and later ones do not
IMPORTER = f"""
    import pyarrow as pa
    path, rounds = argv
    store = Store.open(path)
    for i in range(10**9):
        rows = [f"{{rounds}} {{i}} {{row}}" for row in range({ROWS})]
        store.add_columns(pa.array(rows), pa.array(["row"] * {ROWS}), pa.array(rows))
"""


@pytest.mark.parametrize(
    ("adds", "workers"), [(60, 3), pytest.param(10_000, 4, marks=pytest.mark.slow)], ids=["short", "full"]
)
def test_what_was_acknowledged_survives_kill_9(tmp_path: Path, adds: int, workers: int) -> None:
    path, log = tmp_path / "zoo.kb", tmp_path / "acknowledged.txt"
    Store.create(path).close()
    log.touch()
    generator, crashes = random.Random(0), 0
    while (done := acknowledged(log)) < adds or crashes < 2:
        goal = done + generator.randint(adds // 8, adds // 2)
        running = [start(WORKER, path, log, worker, 1_000_000 * crashes) for worker in range(workers)]
        while acknowledged(log) < goal:
            assert all(each.poll() is None for each in running), [each.communicate() for each in running]
            time.sleep(0.005)
        for each in running:
            time.sleep(generator.uniform(0, 0.02))
            each.send_signal(signal.SIGKILL)
        assert [each.communicate()[1] for each in running] == [""] * workers
        crashes += 1
        assert_nothing_lost(path, log)


def acknowledged(log: Path) -> int:
    return log.read_text().count("+")


def assert_nothing_lost(path: Path | str, log: Path) -> None:
    added = {line[1:] for line in log.read_text().splitlines() if line.startswith("+")}
    taken_back = {line[1:] for line in log.read_text().splitlines() if line.startswith("-")}
    with Store.open(path) as store:
        assert store.check() == []
        facts = by_name(store)
        assert max(Counter(facts).values()) == 1
        own = {f"{head.removeprefix('worker ')} {tail}" for head, _, tail in facts if head != "all workers"}
        common = {tail for head, _, tail in facts if head == "all workers"}
        missing = added - taken_back - own  # only a removal that was done and not yet acknowledged can explain it
        assert all(int(name.split()[1]) % 3 == 0 for name in missing)
        assert {f"{fact.head.removeprefix('worker ')} {fact.tail}" for fact in store.history()} >= added
        assert not taken_back & own
        assert {name.split()[1] for name in added} <= common
        ever = Counter(fact.names for fact in store.history())
        assert max(ever.values()) == 1  # not even twice with a removal between
        for head, _, tail in ever:  # a pair is there whole: a worker that wrote its own part wrote the common one
            assert head == "all workers" or tail in common


@pytest.mark.parametrize("crashes", [3, pytest.param(30, marks=pytest.mark.slow)])
def test_an_import_is_there_whole_or_not_at_all(tmp_path: Path, crashes: int) -> None:
    path = tmp_path / "zoo.kb"
    Store.create(path).close()
    generator = random.Random(1)
    for crash in range(crashes):
        before = path.stat().st_size + size_of_log(path)
        process = start(IMPORTER, path, crash)
        while path.stat().st_size + size_of_log(path) == before:
            assert process.poll() is None, process.communicate()
            time.sleep(0.005)
        time.sleep(generator.uniform(0, 0.3))
        process.send_signal(signal.SIGKILL)
        assert process.communicate()[1] == ""
        with Store.open(path) as store:
            count = store.count()
            assert count["facts"] == count["entities"] == len(store.triples()) == ROWS * store.moment
            assert store.check() == []


def size_of_log(path: Path) -> int:
    log = path.with_name(path.name + "-wal")
    return log.stat().st_size if log.exists() else 0
