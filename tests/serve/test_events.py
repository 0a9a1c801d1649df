"""Events are listened to over a socket: the client in this process waits for the end of a response."""

import http.client
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from typing import Any

import httpx
import pytest

from hmem.knowledge.base import KnowledgeBase
from hmem.knowledge.store.store import Store
from hmem.serve import events
from hmem.serve.events import MOST_TOLD, changes
from hmem.serve.service import Service
from hmem.serve.settings import Settings
from tests.knowledge.living import TOY_FACTS
from tests.serve.clients import NEW, client, code_of, fact, served, until

FACT = (NEW, "hypernym", "wolf.n.01")
Event = dict[str, Any]


class Listener(threading.Thread):
    """Reads a stream and hands out its events; what stands in no event is kept as comments."""

    def __init__(self, url: str, headers: dict[str, str] | None = None, path: str = "/events") -> None:
        super().__init__(daemon=True)
        self.url, self.headers, self.path = url, headers or {}, path
        self.events: Queue[Event] = Queue()
        self.comments: list[str] = []
        self.opened = threading.Event()

    def run(self) -> None:
        with httpx.Client(timeout=30) as http, http.stream("GET", self.url + self.path, headers=self.headers) as answer:
            assert answer.status_code == 200
            assert answer.headers["content-type"].startswith("text/event-stream")
            event: Event = {}
            for line in answer.iter_lines():
                name, _, value = line.partition(": ")
                if not line and event:
                    if "data" in event:
                        self.events.put({**event, "data": json.loads(event["data"])})
                    event = {}
                    self.opened.set()
                elif line.startswith(":"):
                    self.comments.append(line)
                elif line:
                    event[name] = value

    def next(self) -> Event:
        return self.events.get(timeout=30)


@contextmanager
def listening(url: str, **more: Any) -> Iterator[Listener]:
    made = Listener(url, **more)
    made.start()
    assert made.opened.wait(30)
    yield made


@pytest.mark.network
def test_two_servers_on_one_file_stay_in_step(zoo: Path) -> None:
    with served(zoo, allow_writes=True) as one, served(zoo, allow_writes=True) as other, listening(other) as listener:
        body = {"facts": [fact(*FACT)], "source": "me"}
        assert httpx.post(f"{one}/facts", json=body).json()["moment"] == 2
        asked = {"entity": NEW, "relation": "hyponym", "direction": "head"}
        answers = [httpx.post(f"{url}/predict", json=asked).json() for url in (one, other)]
        assert answers[0] == answers[1]  # at once, whether or not the news has come round
        assert listener.next() == {
            "event": "facts",
            "id": "2",
            "data": {
                "moment": 2,
                "added": [list(FACT)],
                "removed": [],
                "added_count": 1,
                "removed_count": 0,
                "by": "me",
            },
        }
        httpx.request("DELETE", f"{other}/facts", json=body)
        told = listener.next()["data"]
        assert (told["moment"], told["added"], told["removed"], told["by"]) == (3, [], [list(FACT)], "me")
        assert httpx.get(f"{one}/graph").json()["facts"] == len(TOY_FACTS)


@pytest.mark.network
def test_what_another_process_writes_is_told(zoo: Path, toy_model: Path) -> None:
    with served(zoo) as url, listening(url) as listener, KnowledgeBase.open(zoo) as kb:
        kb.add(*FACT, source="elsewhere")
        assert listener.next()["data"]["by"] == "elsewhere"
        kb.use_model(toy_model)
        statuses = []
        while "ready" not in statuses:
            told = listener.next()
            assert (told["event"], told["data"]["moment"], told["data"]["model"]) == ("model", 2, "toy")
            statuses.append(told["data"]["status"])
        assert set(statuses) <= {"loading", "ready"}


@pytest.mark.network
def test_a_listener_that_comes_back_is_told_what_it_missed(zoo: Path) -> None:
    with Store.open(zoo) as store:
        store.add([FACT, ("a", "hypernym", "b")], source="me")
        store.remove([("a", "hypernym", "b"), TOY_FACTS[0]], source="you")
    with served(zoo) as url:
        for how in ({"headers": {"Last-Event-ID": "1"}}, {"path": "/events?since=1"}):
            with listening(url, **how) as listener:
                told = listener.next()
                assert told["id"] == "3"
                assert told["data"]["added"] == [list(FACT)]  # what came and went meanwhile is no news
                assert told["data"]["removed"] == [list(TOY_FACTS[0])]
                assert told["data"]["by"] is None  # of two
        for how in ({"headers": {"Last-Event-ID": "99"}}, {"headers": {"Last-Event-ID": "x"}}, {}):
            with listening(url, **how) as listener:
                assert listener.events.empty()


@pytest.mark.network
def test_listeners_that_come_all_at_once_are_no_more_than_allowed(zoo: Path) -> None:
    with served(zoo, most_listeners=2) as url, ThreadPoolExecutor(6) as pool:
        address = url.removeprefix("http://")

        def listen(_: int) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
            connection = http.client.HTTPConnection(address, timeout=30)
            connection.request("GET", "/events")
            return connection, connection.getresponse()

        opened = list(pool.map(listen, range(6)))
        told = [answer.status == 200 and answer.readline() != b"" for _, answer in opened]
        assert sum(told) == 2
        for connection, _ in opened:
            connection.close()


def test_silence_is_broken_by_comments_and_listeners_are_counted(zoo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fastapi.routing._PING_INTERVAL", 0.05)
    with served(zoo, most_listeners=1) as url, listening(url) as listener:
        until(lambda: len(listener.comments) > 2)
        assert code_of(httpx.get(f"{url}/events")) == (503, "busy")
        assert "hmem_listeners 1.0" in httpx.get(f"{url}/metrics").text.splitlines()
        assert listener.events.empty()


@pytest.mark.network
def test_a_server_that_stops_ends_its_streams(zoo: Path) -> None:
    with served(zoo) as url, listening(url) as listener:
        pass
    listener.join(30)
    assert not listener.is_alive()


@pytest.mark.network
def test_an_event_has_one_line_of_data_whatever_the_names_hold(zoo: Path) -> None:
    names = ("a\nb", "\r\n\n", "\N{LINE SEPARATOR}ü")
    with served(zoo, allow_writes=True) as url, listening(url) as listener:
        httpx.post(f"{url}/facts", json={"facts": [fact(*names)]})
        assert listener.next()["data"]["added"] == [list(names)]


@pytest.mark.network
def test_a_listener_that_leaves_makes_room(zoo: Path) -> None:
    with served(zoo, most_listeners=1) as url:
        for _ in range(3):
            with httpx.stream("GET", f"{url}/events", timeout=30) as answer:
                assert answer.status_code == 200
                assert next(answer.iter_lines()) == "id: 1"
            until(lambda: "hmem_listeners 0.0" in httpx.get(f"{url}/metrics").text.splitlines())


@pytest.mark.network
def test_listeners_with_much_to_catch_up_on_do_not_hold_up_readers(zoo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    busy, gone = threading.Event(), threading.Event()
    real = changes

    def slow(service: Service, since: int) -> dict[str, Any]:
        busy.set()
        gone.wait(30)
        return real(service, since)

    monkeypatch.setattr(events, "changes", slow)
    with served(zoo) as url:
        listeners = [Listener(url, path="/events?since=0") for _ in range(8)]
        for listener in listeners:
            listener.start()
        assert busy.wait(30)
        assert all(listener.opened.wait(30) for listener in listeners)
        assert httpx.get(f"{url}/neighbors?entity=dog.n.01").status_code == 200
        gone.set()
        assert len({str(listener.next()) for listener in listeners}) == 1


@pytest.mark.network
def test_streams_begin_one_after_the_other(zoo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that clients which open one stream after the other slow nobody else."""
    with served(zoo) as url, listening(url):
        monkeypatch.setattr(events, "PACE", 30)
        late = http.client.HTTPConnection(url.removeprefix("http://"), timeout=0.5)
        late.request("GET", "/events")
        with pytest.raises(TimeoutError):
            late.getresponse().readline()
        assert httpx.get(f"{url}/neighbors?entity=dog.n.01").status_code == 200
        late.close()


def test_of_many_changes_some_are_told_and_all_counted(zoo: Path) -> None:
    service = Service(zoo, Settings(allow_writes=True))
    assert service.writer is not None
    service.writer.add([(f"new {number}", "hypernym", "wolf.n.01") for number in range(MOST_TOLD + 5)], source="me")
    told = changes(service, 1)
    assert (len(told["added"]), told["added_count"], told["by"]) == (MOST_TOLD, MOST_TOLD + 5, "me")
    assert told["added"][0] == ("new 0", "hypernym", "wolf.n.01")
    service.close()


def test_an_event_id_that_is_no_moment_is_refused_where_it_can_be(zoo: Path) -> None:
    with client(zoo) as api:
        assert code_of(api.get("/events", params={"since": -1})) == (422, "invalid")
        assert code_of(api.get("/events", headers={"last-event-id": "1" * 41})) == (413, "too_large")
