import asyncio
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from hmem.serve.metrics import Metrics
from hmem.serve.security import HEADERS, Guard, host_name
from hmem.serve.settings import Settings
from tests.serve.clients import DOG, code_of, fact
from tests.serve.conftest import Serve

if TYPE_CHECKING:
    from starlette.testclient import TestClient


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8000", "localhost:9", "LOCALHOST.", "[::1]:8000"])
def test_names_of_this_machine_are_ours(reader: "TestClient", host: str) -> None:
    assert reader.get("/health", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:80",
        "",
        "[::2]",
        "127.0.0.1:8@evil",
        "[::1]evil",
        "[::1",
    ],
)
def test_another_name_that_points_here_is_refused(reader: "TestClient", host: str) -> None:
    for method, path in (("GET", "/graph"), ("GET", "/"), ("GET", "/health"), ("POST", "/predict")):
        assert code_of(reader.request(method, path, headers={"host": host}, json=DOG)) == (403, "forbidden")


def test_a_name_can_be_made_ours(serve: Serve, zoo: Path) -> None:
    api = serve(zoo, host_names=frozenset({"zoo.example"}))
    assert api.get("/health", headers={"host": "zoo.example"}).status_code == 200
    assert api.get("/health", headers={"host": "127.0.0.1"}).status_code == 200
    assert code_of(api.get("/health", headers={"host": "other.example"})) == (403, "forbidden")


def test_elsewhere_any_name_will_do_unless_some_are_given(serve: Serve, zoo: Path) -> None:
    assert serve(zoo, host="0.0.0.0").get("/health", headers={"host": "any.example"}).status_code == 200
    api = serve(zoo, host="0.0.0.0", host_names=frozenset({"zoo.example", "127.0.0.1"}))
    assert code_of(api.get("/health", headers={"host": "any.example"})) == (403, "forbidden")


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("a.example:80", "a.example"),
        ("A.example.", "a.example"),
        ("[::1]:8", "::1"),
        ("[::1", ""),
        ("", ""),
        ("a:8@b", ""),
    ],
)
def test_the_name_in_a_host_header(host: str, name: str) -> None:
    assert host_name(host) == name


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:81", "http://[", "ftp://127.0.0.1"]
)
def test_a_page_of_another_site_may_not_send(reader: "TestClient", origin: str) -> None:
    body = {"facts": [fact("a", "hypernym", "dog.n.01")]}
    for method, path in (("POST", "/facts"), ("DELETE", "/facts"), ("POST", "/predict")):
        answer = reader.request(method, path, json=body, headers={"origin": origin})
        assert code_of(answer) == (403, "forbidden")
    answer = reader.get("/neighbors?entity=dog.n.01&relation=hypernym", headers={"origin": origin})
    assert code_of(answer) == (403, "forbidden")
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    ("site", "path", "status"),
    [
        ("cross-site", "/neighbors?entity=dog.n.01&relation=hypernym", 403),  # such as a picture of another page
        ("same-site", "/graph", 403),
        ("same-origin", "/graph", 200),
        ("none", "/graph", 200),
        ("cross-site", "/", 200),  # a link to the page
    ],
)
def test_what_the_browser_says_about_the_sender_counts(reader: "TestClient", site: str, path: str, status: int) -> None:
    assert reader.get(path, headers={"sec-fetch-site": site}).status_code == status


def test_our_own_page_may(reader: "TestClient") -> None:
    for origin in ("http://127.0.0.1", "https://127.0.0.1"):
        assert reader.post("/predict", json=DOG, headers={"origin": origin}).status_code == 200


def test_a_form_of_another_site_cannot_even_pretend(reader: "TestClient") -> None:
    body = '{"facts": [{"head": "a", "relation": "hypernym", "tail": "dog.n.01"}]}'
    answer = reader.post("/facts", content=body, headers={"content-type": "text/plain"})
    assert code_of(answer) == (422, "invalid")


@pytest.mark.parametrize("path", ["/", "/health", "/nowhere", "/static/nothing", "/openapi.json"])
def test_every_response_has_the_headers(reader: "TestClient", path: str) -> None:
    headers = reader.get(path).headers
    assert {name: headers[name] for name in HEADERS} == HEADERS
    assert "default-src 'self'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["cache-control"] in ("no-store", "no-cache")
    assert code_of(reader.get(path, headers={"host": "evil.example"})) == (403, "forbidden")
    refused = reader.get(path, headers={"host": "evil.example"}).headers
    assert refused["content-security-policy"] == headers["content-security-policy"]


def test_a_body_has_a_limit(reader: "TestClient") -> None:
    assert code_of(reader.post("/predict", content=b" " * (1 << 20) + b"{}")) == (413, "too_large")
    pieces = (b" " * 100_000 for _ in range(11))
    assert code_of(reader.post("/predict", content=pieces)) == (413, "too_large")  # whose length was not announced
    padded = b" " * 1_000_000 + b'{"entity": "dog.n.01", "relation": "hypernym"}'
    assert reader.post("/predict", content=padded, headers={"content-type": "application/json"}).status_code == 200


# The guard by itself


def guarded(app: Any, messages: list[Message], **settings: Any) -> list[Message]:
    """What a guard in front of an application sends for one request."""
    sent: list[Message] = []

    async def receive() -> Message:
        if not messages:
            await asyncio.sleep(3600)
        return messages.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/x", "headers": [(b"host", b"localhost")]}
    guard = Guard(app, Settings(**settings), Metrics(), frozenset())
    asyncio.run(guard(scope, receive, send))
    return sent


async def broken(scope: Scope, receive: Receive, send: Send) -> None:
    raise RuntimeError("with a secret in it")


async def broken_later(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    raise RuntimeError("with a secret in it")


WHOLE: Message = {"type": "http.request", "body": b"", "more_body": False}


def test_a_mistake_inside_is_logged_and_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    start, body = guarded(broken, [dict(WHOLE)])
    assert start["status"] == 500
    assert b'"code":"internal"' in body["body"]
    assert b"secret" not in body["body"]
    assert "with a secret in it" in caplog.text
    assert caplog.records[0].levelno == logging.ERROR


def test_a_mistake_in_the_middle_of_an_answer_ends_it(caplog: pytest.LogCaptureFixture) -> None:
    assert [message["type"] for message in guarded(broken_later, [dict(WHOLE)])] == ["http.response.start"]
    assert "with a secret in it" in caplog.text


def test_a_request_that_never_ends_is_given_up() -> None:
    start, body = guarded(broken, [{"type": "http.request", "body": b"a", "more_body": True}], timeout=0.01)
    assert start["status"] == 503
    assert b'"code":"timeout"' in body["body"]


def test_unknown_methods_are_counted_as_one(api: "TestClient") -> None:
    for number in range(5):
        assert api.request(f"M{number}", "/health").status_code == 405
    lines = api.get("/metrics").text.splitlines()
    counted = [line for line in lines if 'status="405"' in line and line.startswith("hmem_requests_total")]
    assert counted == ['hmem_requests_total{method="other",route="/health",status="405"} 5.0']
