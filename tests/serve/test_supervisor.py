"""Several processes at one port: first with processes that do next to nothing, then with those of `hmem serve`."""

import os
import signal
import socket
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from hmem.serve import supervisor
from tests.serve.clients import DOG, NEW, code_of, fact, until
from tests.serve.processes import Running, running

pytestmark = [
    pytest.mark.network,
    pytest.mark.skipif(supervisor.METHOD != "forkserver", reason="there are no signals as these here"),
]


def together(what: str, folder: Path) -> AbstractContextManager[Running]:
    return running("-m", "tests.serve.together", what, folder=folder)


def answer(url: str) -> list[int]:
    """The place of the process that answers, its number, and how many connections all have had."""
    host, _, port = url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        return [int(word) for word in connection.makefile().read().split()]


def is_gone(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return False


def test_processes_share_a_port_and_a_board_and_one_that_was_killed_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tempfile.TemporaryDirectory() as scratch:  # a short path: a socket is in it
        monkeypatch.setenv("TMPDIR", scratch)
        look_at_two_processes(tmp_path, Path(scratch))


def look_at_two_processes(tmp_path: Path, scratch: Path) -> None:
    with together("fails-later", tmp_path) as server:
        url = server.said("http://.*")
        seen: dict[int, int] = {}
        total = 0

        def have_answered(*places: int) -> bool:
            nonlocal total
            place, process, counted = answer(url)
            assert counted == total + 1  # whichever it was
            total = counted
            seen[place] = process
            return set(places) <= set(seen)

        until(lambda: have_answered(0, 1))
        first = dict(seen)
        os.kill(first[0], signal.SIGKILL)
        assert server.said("process .* started again$") == "process 1 of 2 was ended by SIGKILL; it is started again"
        told = server.said(r"process 1 of 2 could not .*")
        assert told == "process 1 of 2 could not be started again (fails-later has gone); once more in 0.05 s"
        place, process, total = answer(url)  # the others go on; what the killed one had is no longer counted
        assert (place, process) == (1, first[1])
        (tmp_path / "mended").touch()
        seen.clear()
        until(lambda: have_answered(0))
        assert seen[0] != first[0]
        server.process.send_signal(signal.SIGTERM)
        assert server.ended() == -signal.SIGTERM
        assert all(map(is_gone, (*first.values(), *seen.values())))
        assert not list(scratch.iterdir())


def test_they_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    with together("", tmp_path) as server:
        url = server.said("http://.*")
        _, process, _ = answer(url)
        server.process.kill()
        until(lambda: is_gone(process))


def test_one_that_cannot_start_ends_all_with_its_error(tmp_path: Path) -> None:
    with together("fails", tmp_path) as server:
        server.said(r"StoreError")
        assert server.ended() == 0
        assert server.lines == ["StoreError: fails is not there"]


def test_one_that_dies_before_it_serves_ends_all(tmp_path: Path) -> None:
    with together("dies", tmp_path) as server:
        server.said("ProcessError")
        assert server.ended() == 0
        assert server.lines == ["ProcessError: process 2 of 2 ended with exit code 7 before it served"]


# `hmem serve --workers`

# Each request has a connection of its own, which comes to either process.
CLIENT = httpx.Client(timeout=60, limits=httpx.Limits(max_keepalive_connections=0))


@contextmanager
def served(base: Path, *options: str) -> Iterator[tuple[Running, str]]:
    command = ("-m", "hmem", "serve", base.name, "--port", "0", "--workers", "2", "--allow-writes", *options)
    with running(*command, folder=base.parent) as server:
        url = server.said("http://[0-9.:]+")
        assert server.lines == [f"{base.name} is served at {url} by 2 processes (writes: by all on this machine). "
                                "Stop with Ctrl-C."]  # fmt: skip
        until(lambda: CLIENT.get(f"{url}/ready").status_code == 200)
        yield server, url


def workers_of(server: Running) -> list[int]:
    """The processes that answer: children of the one that they are forked from."""

    def children(process: int) -> list[int]:
        found = Path(f"/proc/{process}/task/{process}/children").read_text()
        return [int(each) for each in found.split()]

    return [worker for child in children(server.process.pid) for worker in children(child)]


def counted(url: str, metric: str) -> float:
    found = [line for line in CLIENT.get(f"{url}/metrics").text.splitlines() if line.startswith(metric)]
    return sum(float(line.split()[-1]) for line in found)


@pytest.mark.slow
def test_two_processes_answer_as_one(zoo: Path) -> None:
    with served(zoo) as (server, url), ExitStack() as stack:
        for _ in range(30):
            assert CLIENT.post(f"{url}/predict", json=DOG).status_code == 200
        assert counted(url, 'hmem_requests_total{method="POST",route="/predict"') == 30
        assert counted(url, "hmem_batch_questions_sum") == 30
        assert counted(url, "hmem_processes") == 2
        streams = [stack.enter_context(httpx.stream("GET", f"{url}/events", timeout=30)) for _ in range(8)]
        readers = [stream.iter_lines() for stream in streams]
        for lines in readers:
            assert next(lines).startswith("id")
        assert counted(url, "hmem_listeners") == 8
        written = CLIENT.post(f"{url}/facts", json={"facts": [fact(NEW, "hypernym", "dog.n.01")]})
        assert written.status_code == 201
        for _ in range(6):  # the next answer of any process knows of it
            assert CLIENT.get(f"{url}/neighbors", params={"entity": NEW}).status_code == 200
        for lines in readers:
            while not (line := next(lines)).startswith("data:"):
                pass
            assert NEW in line
        for worker in workers_of(server):
            os.kill(worker, signal.SIGKILL)
            until(lambda: counted(url, "hmem_processes") == 2)
        assert sum("was ended by SIGKILL; it is started again" in line for line in server.lines) == 2
        assert counted(url, 'hmem_requests_total{method="POST",route="/predict"') == 30  # nothing counted is forgotten
        assert counted(url, "hmem_listeners") == 0


@pytest.mark.slow
def test_a_listener_too_many_is_refused_by_whichever_process(zoo: Path) -> None:
    with served(zoo) as (_, url), ExitStack() as stack:
        streams = [stack.enter_context(httpx.stream("GET", f"{url}/events", timeout=30)) for _ in range(100)]
        readers = [stream.iter_lines() for stream in streams]  # which are kept: a stream that nobody reads is closed
        for lines in readers:
            assert next(lines).startswith("id")
        for _ in range(4):
            assert code_of(CLIENT.get(f"{url}/events")) == (503, "busy")


@pytest.mark.slow
def test_what_is_under_way_is_finished_when_all_are_stopped(zoo: Path) -> None:
    with served(zoo, "--timeout", "8") as (server, url), ThreadPoolExecutor(4) as pool:
        CLIENT.post(f"{url}/predict", json=DOG)
        body = {"k": 5, "sample": 100_000}
        asked = [pool.submit(httpx.post, f"{url}/audit", json=body, timeout=60) for _ in range(4)]
        time.sleep(1)  # until they have been taken
        server.process.send_signal(signal.SIGINT)
        assert [each.result().status_code for each in asked] == [200] * 4
        assert server.ended() == 0
        assert server.lines[1:] == []


@pytest.mark.slow
def test_errors_are_those_of_a_single_process(zoo: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        with running("-m", "hmem", "serve", zoo.name, "--port", port, "--workers", "2", folder=zoo.parent) as server:
            assert server.ended() == 2
            assert len(server.lines) == 1
            assert "cannot listen on 127.0.0.1 port" in server.lines[0]
    with running("-m", "hmem", "serve", "none.kb", "--port", "0", "--workers", "2", folder=zoo.parent) as server:
        assert server.ended() == 1
        (line,) = server.lines
        assert "there is no knowledge base" in line
