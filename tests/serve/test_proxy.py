"""Three servers of one base behind a real nginx, with the configuration in `deploy`."""

import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from hmem.knowledge.base import KnowledgeBase
from hmem.serve.settings import MOST_BYTES
from tests.knowledge.living import TOY_FACTS
from tests.postgres import postgres
from tests.serve import nginx
from tests.serve.clients import DOG, NEW, code_of, error_of, fact, until
from tests.serve.processes import Running, running

pytestmark = pytest.mark.network


def test_nginx_takes_the_configuration(tmp_path: Path) -> None:
    nginx.check(tmp_path)


@pytest.fixture(params=["sqlite", "postgres"])
def base(request: pytest.FixtureRequest, tmp_path: Path, toy_model: Path) -> str:
    place = str(tmp_path / "zoo.kb") if request.param == "sqlite" else postgres().new_address()
    KnowledgeBase.create(place, model=toy_model, facts=TOY_FACTS).close()
    return place


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as made:
        yield made


def three(base: str, folder: Path, stack: ExitStack) -> tuple[list[Running], list[str]]:
    """Servers of a base, each a process on its own."""
    command = ("-m", "hmem", "serve", base, "--port", "0", "--allow-writes")
    servers = [stack.enter_context(running(*command, folder=folder)) for _ in range(3)]
    urls = [server.said("http://127[0-9.:]+") for server in servers]
    for url in urls:
        until(lambda url=url: httpx.get(f"{url}/ready", timeout=60).status_code == 200)  # type: ignore[misc]
    return servers, [url.removeprefix("http://") for url in urls]


@pytest.mark.slow
def test_three_servers_behind_a_proxy_answer_as_one(base: str, tmp_path: Path, stack: ExitStack) -> None:
    nginx.program()
    servers, addresses = three(base, tmp_path, stack)
    url = stack.enter_context(nginx.proxied(tmp_path, addresses))
    client = stack.enter_context(httpx.Client(base_url=url, timeout=60))

    # An event comes through at once, whichever server told it and whichever had the write.
    streams = [stack.enter_context(client.stream("GET", "/events")) for _ in range(3)]
    readers = [stream.iter_lines() for stream in streams]
    for lines in readers:
        assert next(lines).startswith("id")
    assert client.post("/facts", json={"facts": [fact(NEW, "hypernym", "dog.n.01")]}).status_code == 201
    for lines in readers:
        assert NEW in next(line for line in lines if line.startswith("data:"))
    for stream in streams:
        stream.close()

    # Errors are those of hmem, and of the proxy in the same shape.
    assert code_of(client.post("/predict", json={"entity": "dingo", "relation": "hypernym"})) == (404, "unknown_name")
    assert error_of(client.post("/predict", json={"entity": "dogg.n.01", "relation": "hypernym"}))["suggestion"]
    assert code_of(client.post("/facts", content=b" " * (MOST_BYTES + 1))) == (413, "too_large")
    assert client.post("/score", content=b" " * MOST_BYTES).status_code == 422
    assert client.get("/facts", params={"head": "\N{SNOWMAN}" * 7_000}).status_code == 404
    assert client.get("/metrics").status_code == 404

    # The page may write through the proxy, and a page from elsewhere may not.
    wanted = {"facts": [fact("a", "hypernym", "dog.n.01")]}
    assert client.post("/facts", json=wanted, headers={"Origin": url}).status_code == 201
    assert code_of(client.post("/facts", json=wanted, headers={"Origin": "http://evil.example"})) == (403, "forbidden")
    assert code_of(client.get("/facts", headers={"Host": "evil.example"})) == (403, "forbidden")

    asked = [_Client(url, number) for number in range(6)]
    for each in asked:
        each.start()
    until(lambda: all(each.answered >= 10 for each in asked))
    os.kill(servers[0].process.pid, signal.SIGKILL)
    before = [each.answered for each in asked]
    until(lambda: all(each.answered >= count + 20 for each, count in zip(asked, before, strict=True)))
    for each in asked:
        each.done.set()
        each.join()
    assert [each.failed for each in asked] == [[]] * len(asked)  # what was in flight has been asked of another
    assert httpx.get(f"{url}/ready", timeout=60).status_code == 200
    with KnowledgeBase.open(base, read_only=True) as kb:
        assert all(each in kb for client in asked for each in client.acknowledged)

    for server in servers[1:]:
        os.kill(server.process.pid, signal.SIGKILL)
        server.ended()
    assert code_of(client.post("/predict", json=DOG)) == (503, "busy")


class _Client(threading.Thread):
    """Asks and writes through the proxy, one request after the other."""

    def __init__(self, url: str, number: int) -> None:
        super().__init__()
        self.url, self.number = url, number
        self.answered = 0
        self.failed: list[str] = []
        self.acknowledged: list[tuple[str, str, str]] = []
        self.done = threading.Event()

    def run(self) -> None:
        with httpx.Client(base_url=self.url, timeout=60) as client:
            while not self.done.is_set():
                try:
                    self._ask(client)
                except httpx.HTTPError as error:
                    self.failed.append(repr(error))
                self.answered += 1

    def _ask(self, client: httpx.Client) -> None:
        if self.answered % 3:
            answer = client.post("/predict", json={**DOG, "k": 1 + self.answered % 9})
        else:
            names = (f"new {self.number} {self.answered}", "hypernym", "dog.n.01")
            answer = client.post("/facts", json={"facts": [fact(*names)]})
            if answer.status_code == 201:
                self.acknowledged.append(names)
        if answer.status_code not in (200, 201):
            self.failed.append(json.dumps(answer.json()))
