"""Writers, sessions and the database itself, killed under writes: what was acknowledged is there, no write by half."""

import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hmem.knowledge.store.store import Store
from tests.knowledge.store.postgres.test_connection import on_the_side
from tests.knowledge.store.test_crash import IMPORTER, ROWS, WORKER, acknowledged, assert_nothing_lost
from tests.knowledge.stores import start
from tests.postgres import Postgres, refuse_without

pytestmark = pytest.mark.slow
WORKERS = 3
SESSIONS = "FROM pg_stat_activity WHERE application_name LIKE 'hmem %' AND random() < 0.7"


@pytest.fixture(scope="module")
def durable() -> Iterator[Postgres]:
    """A server that waits for the disk."""
    refuse_without()
    server = Postgres(is_durable=True)
    yield server
    server.remove()


def restarted(server: Postgres, how: signal.Signals) -> None:
    server.stop(how)
    time.sleep(0.2)
    server.start()


HARM: dict[str, Callable[[Postgres, str], None]] = {
    "writers": lambda server, address: None,
    "sessions": lambda server, address: on_the_side(address, f"SELECT pg_terminate_backend(pid) {SESSIONS}"),
    "the database, at once": lambda server, address: restarted(server, signal.SIGQUIT),
    "the database by kill -9": lambda server, address: restarted(server, signal.SIGKILL),
}


@pytest.mark.parametrize("victim", HARM)
def test_what_was_acknowledged_survives(durable: Postgres, tmp_path: Path, victim: str) -> None:
    address, log = durable.new_address(), tmp_path / "acknowledged.txt"
    Store.create(address).close()
    log.touch()
    generator = random.Random(0)
    running = begin(address, log, 0)
    try:
        for crash in range(1, 4):
            goal = acknowledged(log) + generator.randint(20, 40)
            while acknowledged(log) < goal:
                ended = [each for each in running if each.poll() is not None]
                assert not ended, [each.communicate() for each in ended]
                time.sleep(0.005)
            HARM[victim](durable, address)
            if victim == "writers":
                end(running)
                running = begin(address, log, crash)
    finally:
        end(running)
    assert_nothing_lost(address, log)


def begin(address: str, log: Path, crash: int) -> list[subprocess.Popen[str]]:
    return [start(WORKER, address, log, worker, 1_000_000 * crash) for worker in range(WORKERS)]


def end(running: list[subprocess.Popen[str]]) -> None:
    for each in running:
        each.send_signal(signal.SIGKILL)
    assert [each.communicate()[1] for each in running] == [""] * len(running)


@pytest.mark.parametrize("victim", ["the importer", "its session"])
def test_an_import_is_there_whole_or_not_at_all(durable: Postgres, victim: str) -> None:
    address = durable.new_address()
    Store.create(address).close()
    generator = random.Random(1)
    for crash in range(3):
        process = start(IMPORTER, address, crash)
        with Store.open(address) as store:
            before, until = store.moment, time.monotonic() + 120
            while store.moment == before and time.monotonic() < until:
                assert process.poll() is None, process.communicate()
                time.sleep(0.01)
            for _ in range(1 if victim == "the importer" else 3):
                time.sleep(generator.uniform(0, 0.4))
                if victim != "the importer":
                    on_the_side(address, f"SELECT pg_terminate_backend(pid) {SESSIONS}")
            process.send_signal(signal.SIGKILL)
            assert process.communicate()[1] == ""
            count = store.count()
            assert count["facts"] == count["entities"] == len(store.triples()) == ROWS * store.moment
            assert store.check() == []
