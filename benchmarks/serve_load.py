"""Does `hmem serve` answer 200 questions a second, 99 of 100 within 100 ms, while facts are being added?

Starts a server of the bundled graph on a free port of this machine, with a small model that it trains first or with the
one that comes with hmem (`--model base`), and asks it single questions at a steady rate, in as many connections as it
takes. All are different, unless `--repeat` says from how many they are drawn. Another client adds facts one by one
meanwhile, each on the disk before it is acknowledged; each makes the server forget the answers that it remembers. A
question counts from the moment at which it was due, so a server that falls behind cannot hide it. Afterwards every
acknowledged fact must be in the file. A run before asks as fast as the connections can: `most_per_second`.

The client is a process of its own, on the same cores: `client_cpu_ms` and `server_cpu_ms` are what each takes for a
question of the steady run, on Linux. On a busy machine they say more than the rest.

In the end `/neighbors` is asked one by one, without anybody else and while fifty clients of another process open the
stream of events at its beginning, read what they missed and begin again: `slowed` is how many times longer the median
takes beside them.

    python benchmarks/serve_load.py [--rate 200] [--seconds 10] [--clients 16] [--workers 1] [--model base|recall]
        [--repeat N] [--writes 5] [--known] [--listeners 50] [--json PATH]
    python benchmarks/serve_load.py --rate 1000 --workers 2 --clients 32 --writes 0 --listeners 0
"""

import asyncio
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

from common import arguments, keep

from hmem.knowledge.store.records import Names3
from hmem.knowledge.store.store import Store

SETTINGS = ("entity_dim=48", "relation_dim=10", "exact.paths.per_role=64", "exact.paths.steps=3")
TRAINING = ("epochs=1", "batch_size=256", "negatives=500")
JSON = {"Content-Type": "application/json"}
HEAD = b"POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"


def run(*arguments: str, folder: Path) -> None:
    subprocess.run([sys.executable, "-m", "hmem", *arguments], cwd=folder, check=True, capture_output=True)


def make_base(folder: Path, model: str) -> Path:
    """A knowledge base of the bundled graph, with a model of it or with the one that comes with hmem."""
    if model == "base":
        run("kb", "create", "zoo.kb", "--facts", "wordnet-mini", folder=folder)
        run("predict", "zoo.kb", "wolf.n.01", "_hypernym", folder=folder)  # its probabilities are counted, and kept
        return folder / "zoo.kb"
    memory = [word for each in SETTINGS for word in ("--set", f"memory.{each}")]
    training = [word for each in TRAINING for word in ("--set", f"training.{each}")]
    run("train", "wordnet-mini", "--preset", "recall", "--out", "model", *memory, *training, folder=folder)
    run("kb", "create", "zoo.kb", "--model", "model", "--facts", "wordnet-mini", folder=folder)
    return folder / "zoo.kb"


@contextmanager
def served(path: Path, workers: int) -> Iterator[tuple[int, tuple[str, int]]]:
    """The number and the address of a server for a base, which is stopped afterwards."""
    command = [sys.executable, "-m", "hmem", "serve", str(path), "--port", "0", "--allow-writes"]
    process = subprocess.Popen([*command, "--workers", str(workers)], stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        told = process.stderr.readline()
        found = re.search(r"http://([\d.]+):(\d+)", told)
        if found is None:
            raise SystemExit(f"the server did not start: {told}{process.stderr.read()}")
        address = found[1], int(found[2])
        while ask(address, "GET", "/ready")[0] != 200:
            time.sleep(0.1)
        yield process.pid, address
    finally:
        process.terminate()
        process.wait()


def cpu_seconds(process: int) -> float:
    """What a process and all below it have taken; 0 where that is not told."""
    try:
        taken = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
        below = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:
        return 0.0
    own = sum(map(int, taken)) / os.sysconf("SC_CLK_TCK")
    return own + sum(cpu_seconds(int(each)) for each in below)


def ask(address: tuple[str, int], method: str, path: str, body: object = None) -> tuple[int, str]:
    with_body = None if body is None else json.dumps(body)
    connection = http.client.HTTPConnection(*address, timeout=60)
    connection.request(method, path, with_body, JSON)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


class Load:
    """Questions that are due one after the other, and connections that ask them."""

    def __init__(self, questions: list[bytes], rate: float | None, seconds: float) -> None:
        self.requests = [HEAD % len(body) + body for body in questions]
        self.rate, self.seconds = rate, seconds
        self.next = 0
        self.latencies: list[float] = []
        self.failed = 0

    async def run(self, address: tuple[str, int], clients: int) -> None:
        connections = [await asyncio.open_connection(*address) for _ in range(clients)]
        self.started, before = time.perf_counter(), time.process_time()
        await asyncio.gather(*(self._ask(*each) for each in connections))
        self.cpu = time.process_time() - before
        self.took = time.perf_counter() - self.started

    async def _ask(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            number, self.next = self.next, self.next + 1
            due = self.started + number / self.rate if self.rate else time.perf_counter()
            if due > self.started + self.seconds:
                writer.close()
                return
            if (early := due - time.perf_counter()) > 0:
                await asyncio.sleep(early)
            writer.write(self.requests[number % len(self.requests)])
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head)
            assert length is not None
            await reader.readexactly(int(length[1]))
            self.latencies.append(time.perf_counter() - due)
            self.failed += not head.startswith(b"HTTP/1.1 200")

    def summary(self) -> dict[str, float]:
        ordered = sorted(self.latencies)
        return {
            "per_second": round(len(ordered) / self.took, 1),
            "p50_ms": round(1000 * ordered[len(ordered) // 2], 1),
            "p99_ms": round(1000 * ordered[int(0.99 * len(ordered))], 1),
            "slowest_ms": round(1000 * ordered[-1], 1),
            "asked": len(ordered),
            "failed": self.failed,
            "client_cpu_ms": round(1000 * self.cpu / len(ordered), 3),
        }


def put_under_load(
    told: Any, address: tuple[str, int], questions: list[bytes], rate: float | None, seconds: float, clients: int
) -> None:
    load = Load(questions, rate, seconds)
    asyncio.run(load.run(address, clients))
    told.send(load.summary())


def loaded(
    server: int, address: tuple[str, int], questions: list[bytes], rate: float | None, seconds: float, clients: int
) -> dict[str, float]:
    """What a process that asks sees, and the CPU time that the server takes for it."""
    context = multiprocessing.get_context("spawn")
    ours, told = context.Pipe(duplex=False)
    process = context.Process(target=put_under_load, args=(told, address, questions, rate, seconds, clients))
    before = cpu_seconds(server)
    process.start()
    told.close()
    summary: dict[str, float] = ours.recv()
    process.join()
    return {**summary, "server_cpu_ms": round(1000 * (cpu_seconds(server) - before) / summary["asked"], 3)}


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


def questions_of(path: Path, known: bool) -> list[bytes]:
    """Single questions, in any order, each once: the ends and the relations of all facts, so that each makes sense."""
    with Store.open(path, read_only=True) as store:
        facts = [fact.names for fact in store.listing()]
    ends = {(end, relation, way) for h, relation, t in facts for end, way in ((h, "tail"), (t, "head"))}
    asked = sorted(ends)
    random.Random(0).shuffle(asked)
    bodies = [{"entity": end, "relation": relation, "direction": way} for end, relation, way in asked]
    return [json.dumps({**body, "k": 10, "stored": known}).encode() for body in bodies]


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
    parser = arguments(__doc__)
    parser.add_argument("--rate", type=float, default=200.0, help="questions a second")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--clients", type=int, default=16, help="connections at once")
    parser.add_argument("--writes", type=float, default=5.0, help="facts added a second")
    parser.add_argument("--workers", type=int, default=1, help="processes of the server")
    parser.add_argument("--model", choices=("recall", "base"), default="recall", help="trained here, or with hmem")
    parser.add_argument("--repeat", type=int, help="so many different questions, again and again")
    parser.add_argument("--known", action="store_true", help="ask for stored answers too")
    parser.add_argument("--listeners", type=int, default=50, help="clients that loop over the stream of events")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = make_base(Path(folder), given.model)
        questions, facts = questions_of(path, given.known), new_facts(path, int(3 * given.seconds * given.writes) + 10)
        first, rest = questions[:1000], questions[1000 : None if given.repeat is None else 1000 + given.repeat]
        with served(path, given.workers) as (server, address):
            loaded(server, address, first, None, 1.0, given.clients)  # first questions do not count
            hasty = loaded(server, address, rest[::-1], None, given.seconds / 2, given.clients)
            writer = Writer(address, facts, given.writes)
            if given.writes:
                writer.start()
            steady = loaded(server, address, rest, given.rate, given.seconds, given.clients)
            if given.writes:
                writer.done.set()
                writer.join()
            listened = {}
            if given.listeners:
                listened = beside_listeners(address, questions, given.seconds / 2, given.listeners)
        lost = count_lost(path, writer.acknowledged)
    row = {
        "question": "serve_load",
        "rate": given.rate,
        "known": given.known,
        "model": given.model,
        "workers": given.workers,
        "repeat": given.repeat,
        "cores": os.cpu_count(),
        **steady,
        "most_per_second": hasty["per_second"],
        "most_p99_ms": hasty["p99_ms"],
        "facts_added": len(writer.acknowledged),
        "lost_writes": lost,
        "listeners": given.listeners,
        **listened,
    }
    print(json.dumps(row))
    keep(row, given.json)


if __name__ == "__main__":
    main()
