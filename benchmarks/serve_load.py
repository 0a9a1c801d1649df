"""Does `hmem serve` answer 200 questions a second, 99 of 100 within 100 ms, while facts are being added?

Trains a small model on the bundled graph, starts a server on a free port of this machine and asks it single questions
about random entities at a steady rate, in as many connections as it takes. Another client adds facts one by one
meanwhile, each on the disk before it is acknowledged. A question counts from the moment at which it was due, so a
server that falls behind cannot hide it. Afterwards every acknowledged fact must be in the file. A second run asks as
fast as a few connections can: `most_per_second`. In the end `/neighbors` is asked one by one, without anybody else and
while fifty clients of another process open the stream of events at its beginning, read what they missed and begin
again: `slowed` is how many times longer the median takes beside them.

    python benchmarks/serve_load.py [--rate 200] [--seconds 10] [--clients 16] [--writes 5] [--known] [--listeners 50]
        [--json PATH]
"""

import argparse
import http.client
import json
import multiprocessing
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hmem.knowledge.store.records import Names3
from hmem.knowledge.store.store import Store
from hmem.reproduction.results import append_line

SETTINGS = ("entity_dim=48", "relation_dim=10", "exact.paths.per_role=64", "exact.paths.steps=3")  # as `hmem demo`
TRAINING = ("epochs=1", "batch_size=256", "negatives=500")
JSON = {"Content-Type": "application/json"}


def run(*arguments: str, folder: Path) -> None:
    subprocess.run([sys.executable, "-m", "hmem", *arguments], cwd=folder, check=True, capture_output=True)


def make_base(folder: Path) -> Path:
    """A knowledge base of the bundled graph with a model of it."""
    memory = [word for each in SETTINGS for word in ("--set", f"memory.{each}")]
    training = [word for each in TRAINING for word in ("--set", f"training.{each}")]
    run("train", "wordnet-mini", "--preset", "recall", "--out", "model", *memory, *training, folder=folder)
    run("kb", "create", "zoo.kb", "--model", "model", "--facts", "wordnet-mini", folder=folder)
    return folder / "zoo.kb"


@contextmanager
def served(path: Path) -> Iterator[tuple[str, int]]:
    """The address of a server for a base, which is stopped afterwards."""
    command = [sys.executable, "-m", "hmem", "serve", str(path), "--port", "0", "--allow-writes"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        told = process.stderr.readline()
        found = re.search(r"http://([\d.]+):(\d+)", told)
        if found is None:
            raise SystemExit(f"the server did not start: {told}{process.stderr.read()}")
        address = found[1], int(found[2])
        while ask(address, "GET", "/ready")[0] != 200:
            time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        process.wait()


def ask(address: tuple[str, int], method: str, path: str, body: object = None) -> tuple[int, str]:
    with_body = None if body is None else json.dumps(body)
    connection = http.client.HTTPConnection(*address, timeout=60)
    connection.request(method, path, with_body, JSON)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


class Load:
    """Questions that are due one after the other, and clients that ask them."""

    def __init__(self, address: tuple[str, int], questions: list[bytes], rate: float | None, seconds: float) -> None:
        self.address, self.questions, self.rate, self.seconds = address, questions, rate, seconds
        self.lock = threading.Lock()
        self.next = 0
        self.latencies: list[float] = []
        self.failed = 0
        self.started = time.perf_counter()

    def run(self, clients: int) -> None:
        threads = [threading.Thread(target=self._ask) for _ in range(clients)]
        self.started = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _ask(self) -> None:
        connection = http.client.HTTPConnection(*self.address, timeout=60)
        while True:
            with self.lock:
                number, self.next = self.next, self.next + 1
            due = self.started + number / self.rate if self.rate else time.perf_counter()
            if due > self.started + self.seconds:
                connection.close()
                return
            time.sleep(max(0.0, due - time.perf_counter()))
            connection.request("POST", "/predict", self.questions[number % len(self.questions)], JSON)
            answer = connection.getresponse()
            answer.read()
            with self.lock:
                self.latencies.append(time.perf_counter() - due)
                self.failed += answer.status != 200

    def summary(self) -> dict[str, float]:
        ordered = sorted(self.latencies)
        return {
            "per_second": round(len(ordered) / (time.perf_counter() - self.started), 1),
            "p50_ms": round(1000 * ordered[len(ordered) // 2], 1),
            "p99_ms": round(1000 * ordered[int(0.99 * len(ordered))], 1),
            "slowest_ms": round(1000 * ordered[-1], 1),
            "failed": self.failed,
        }


class Writer(threading.Thread):
    """Adds facts about unseen entities, one by one, and remembers those that were acknowledged."""

    def __init__(self, address: tuple[str, int], facts: list[Names3], per_second: float) -> None:
        super().__init__()
        self.address, self.facts, self.per_second = address, facts, per_second
        self.acknowledged: list[Names3] = []
        self.done = threading.Event()

    def run(self) -> None:
        for head, relation, tail in self.facts:
            if self.done.wait(1 / self.per_second):
                return
            fact = {"head": head, "relation": relation, "tail": tail}
            status, _ = ask(self.address, "POST", "/facts", {"facts": [fact], "source": "benchmark"})
            if status == 201:
                self.acknowledged.append((head, relation, tail))


def listen_again_and_again(address: tuple[str, int], clients: int, done: Any, rounds: Any) -> None:
    """Clients that open the stream at its beginning, read its first event, leave, and come back."""

    def listen() -> None:
        while not done.is_set():
            connection = http.client.HTTPConnection(*address, timeout=60)
            connection.request("GET", "/events?since=0")
            answer = connection.getresponse()
            while (line := answer.readline()) and not line.startswith(b"data:"):
                pass
            connection.close()
            with rounds.get_lock():
                rounds.value += answer.status == 200

    threads = [threading.Thread(target=listen, daemon=True) for _ in range(clients)]
    for thread in threads:
        thread.start()
    done.wait()


def neighbors_ms(address: tuple[str, int], questions: list[bytes], seconds: float) -> list[float]:
    """Milliseconds that `/neighbors` took, asked one by one, in order of size."""
    asked, taken = random.Random(2), list[float]()
    connection = http.client.HTTPConnection(*address, timeout=60)
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        entity = urllib.parse.quote(json.loads(asked.choice(questions))["entity"])
        started = time.perf_counter()
        connection.request("GET", f"/neighbors?entity={entity}")
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200
        taken.append(1000 * (time.perf_counter() - started))
    connection.close()
    return sorted(taken)


def beside_listeners(
    address: tuple[str, int], questions: list[bytes], seconds: float, clients: int
) -> dict[str, float]:
    alone = neighbors_ms(address, questions, seconds)
    context = multiprocessing.get_context("spawn")
    done, rounds = context.Event(), context.Value("i", 0)
    others = context.Process(target=listen_again_and_again, args=(address, clients, done, rounds))
    others.start()
    while not rounds.value:
        time.sleep(0.05)
    beside = neighbors_ms(address, questions, seconds)
    done.set()
    others.join()
    median, median_beside = alone[len(alone) // 2], beside[len(beside) // 2]
    return {
        "neighbors_ms": round(median, 1),
        "neighbors_beside_ms": round(median_beside, 1),
        "neighbors_slowest_beside_ms": round(beside[-1], 1),
        "slowed": round(median_beside / median, 2),
        "streams_opened": rounds.value,
    }


def questions_of(path: Path, known: bool, count: int = 5_000) -> list[bytes]:
    """Single questions: one end and the relation of random facts, so that each makes sense."""
    with Store.open(path, read_only=True) as store:
        facts = [fact.names for fact in store.listing()]
    drawn = random.Random(0).choices(facts, k=count)
    bodies = []
    for place, (head, relation, tail) in enumerate(drawn):
        entity, direction = (head, "tail") if place % 2 else (tail, "head")
        bodies.append({"entity": entity, "relation": relation, "direction": direction, "k": 10, "stored": known})
    return [json.dumps(body).encode() for body in bodies]


def new_facts(path: Path, count: int) -> list[Names3]:
    with Store.open(path, read_only=True) as store:
        facts = [fact.names for fact in store.listing()]
    drawn = random.Random(1).choices(facts, k=count)
    return [(f"unseen {place}", relation, tail) for place, (_, relation, tail) in enumerate(drawn)]


def count_lost(path: Path, acknowledged: list[Names3]) -> int:
    with Store.open(path, read_only=True) as store:
        stored = {fact.names for fact in store.listing()}
    return sum(fact not in stored for fact in acknowledged)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=200.0, help="questions a second")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--clients", type=int, default=16, help="connections at once")
    parser.add_argument("--writes", type=float, default=5.0, help="facts added a second")
    parser.add_argument("--known", action="store_true", help="ask for stored answers too")
    parser.add_argument("--listeners", type=int, default=50, help="clients that loop over the stream of events")
    parser.add_argument("--json")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = make_base(Path(folder))
        questions, facts = questions_of(path, given.known), new_facts(path, int(3 * given.seconds * given.writes) + 10)
        with served(path) as address:
            Load(address, questions, given.rate, 1.0).run(given.clients)  # first questions do not count
            writer = Writer(address, facts, given.writes)
            writer.start()
            steady = Load(address, questions, given.rate, given.seconds)
            steady.run(given.clients)
            steady_summary = steady.summary()
            hasty = Load(address, questions, None, given.seconds / 2)
            hasty.run(given.clients)
            hasty_summary = hasty.summary()
            writer.done.set()
            writer.join()
            listened = beside_listeners(address, questions, given.seconds / 2, given.listeners)
        lost = count_lost(path, writer.acknowledged)
    row = {
        "question": "serve_load",
        "rate": given.rate,
        "known": given.known,
        "cores": os.cpu_count(),
        **steady_summary,
        "most_per_second": hasty_summary["per_second"],
        "most_p99_ms": hasty_summary["p99_ms"],
        "facts_added": len(writer.acknowledged),
        "lost_writes": lost,
        "listeners": given.listeners,
        **listened,
    }
    print(json.dumps(row))
    if given.json:
        append_line(Path(given.json), row)


if __name__ == "__main__":
    main()
