import asyncio
import http.client
import logging
import select
import socket
import threading
import time
import types
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from hmem.errors import ConfigError
from hmem.knowledge.predictor import Predictor
from hmem.knowledge.store.store import Store
from hmem.serve import server, service, sockets
from hmem.serve.sockets import bind, url_of
from tests.serve.clients import DOG, code_of, error_of, fact, served, until


def test_a_port_that_is_taken_is_told() -> None:
    with bind("127.0.0.1", 0) as bound:
        port = bound.getsockname()[1]
        assert url_of(bound) == f"http://127.0.0.1:{port}"
        with pytest.raises(ConfigError, match=f"cannot listen on 127.0.0.1 port {port}: .* --port 0"):
            bind("127.0.0.1", port)
    with pytest.raises(ConfigError, match="cannot listen on 192"):
        bind("192.0.2.1", 0)  # an address that no machine has


def test_answers_are_sent_at_once() -> None:
    async def accepted() -> int:
        options: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        def look(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            options.set_result(
                writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY),
            )
            writer.close()

        with bind("127.0.0.1", 0) as bound:
            server = await asyncio.start_server(look, sock=bound)
            _, writer = await asyncio.open_connection(*bound.getsockname())
            waits = await options
            writer.close()
            server.close()
            return waits

    assert asyncio.run(accepted())  # no packet waits for the echo of the one before


def test_an_address_of_the_newer_kind_is_put_in_brackets() -> None:
    if not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    try:
        bound = bind("::1", 0)
    except ConfigError:
        pytest.skip("this machine has no IPv6")
    with bound:
        assert url_of(bound).startswith("http://[::1]:")


@pytest.mark.network
def test_a_real_server_on_a_free_port(zoo: Path) -> None:
    with served(zoo, allow_writes=True) as url:
        assert httpx.get(f"{url}/health").json() == {"status": "ok"}
        answer = httpx.post(f"{url}/predict", json=DOG)
        assert answer.status_code == 200
        assert "server" not in answer.headers
        assert httpx.post(f"{url}/facts", json={"facts": [fact("a", "hypernym", "dog.n.01")]}).status_code == 201
        connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=30)
        long = quote("\N{SNOWMAN}" * 10_000)  # three bytes each, three characters for each byte
        connection.request("GET", f"/facts?head={long}&relation={long}&tail={long}")
        assert connection.getresponse().status == 404
        connection.close()


@pytest.mark.network
def test_who_never_finishes_a_request_is_cut_off(zoo: Path) -> None:
    with served(zoo, timeout=1.0) as url:
        address = ("127.0.0.1", int(url.rpartition(":")[2]))
        with (
            socket.create_connection(address, timeout=30) as silent,
            socket.create_connection(address, timeout=30) as halting,
            socket.create_connection(address, timeout=30) as busy,
        ):
            halting.sendall(b"GET /health HTTP/1.1\r\nHost:")
            busy.sendall(b"GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            told = b""
            while b"retry:" not in told:  # the stream has begun
                more = busy.recv(1000)
                assert more, told
                told += more
            assert silent.recv(1000) == b""  # the end
            assert halting.recv(1000) == b""
            assert not select.select([busy], [], [], 0.5)[0]  # one that is being answered is not
        with httpx.Client() as client:
            for _ in range(3):
                assert client.get(f"{url}/health").status_code == 200
                time.sleep(0.3)


@pytest.mark.network
def test_a_client_that_never_reads_its_answer_is_cut_off(zoo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "most_connections", lambda: 1)
    with Store.open(zoo) as store:
        store.add([("x" * 10_000, "hypernym", f"{number}" * 2000) for number in range(1000, 1500)])
    with served(zoo, timeout=1.0) as url:
        address = ("127.0.0.1", int(url.rpartition(":")[2]))

        def is_let_in() -> bool:
            with suppress(httpx.TransportError):
                return httpx.get(f"{url}/health").status_code == 200
            return False

        with socket.socket() as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            until(lambda: deaf.connect_ex(address) == 0)
            deaf.sendall(b"GET /facts?limit=1000 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert not is_let_in()
            until(is_let_in)


def test_a_client_that_reads_slowly_is_not() -> None:
    aborted: list[int] = []
    connection = object.__new__(server.Connection)
    connection.loop = types.SimpleNamespace(call_later=lambda *_: None)  # type: ignore[assignment]
    for left in (900_000, 800_000, 799_999):
        transport = types.SimpleNamespace(get_write_buffer_size=lambda left=left: left, abort=lambda: aborted.append(1))
        connection.transport = transport  # type: ignore[assignment]
        assert not aborted
        connection._look_again(1_000_000 if left == 900_000 else left + (100_000 if left == 800_000 else 1))
    assert aborted


@pytest.mark.network
def test_so_many_connections_at_once_and_no_more(zoo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "most_connections", lambda: 3)
    with served(zoo) as url:
        address = ("127.0.0.1", int(url.rpartition(":")[2]))
        with ExitStack() as stack:
            for _ in range(3):
                stack.enter_context(socket.create_connection(address, timeout=30))
            with socket.create_connection(address, timeout=30) as fourth:
                assert fourth.recv(1) == b""  # closed at once
        until(lambda: httpx.get(f"{url}/health").status_code == 200)


def test_some_files_are_left_to_open(monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource", reason="there are no such limits here")
    for soft, most in ((256, 192), (10, 16), (1 << 20, 1000), (resource.RLIM_INFINITY, 1000)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, soft=soft: (soft, soft))
        assert sockets.most_connections() == most


@pytest.mark.network
def test_a_base_that_is_replaced_is_served_no_more(zoo: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.kb"
    Store.create(other).close()
    with served(zoo, allow_writes=True) as url:
        other.replace(zoo)
        answer = httpx.post(f"{url}/facts", json={"facts": [fact("a", "hypernym", "dog.n.01")]})
        assert code_of(answer) == (503, "store")
        assert error_of(answer)["message"] == "zoo.kb was removed or replaced while it was open; open it anew"
        assert code_of(httpx.get(f"{url}/ready")) == (503, "store")
        assert code_of(httpx.post(f"{url}/predict", json=DOG)) == (503, "store")


@pytest.mark.network
def test_a_pass_without_end_does_not_keep_the_server_alive(zoo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "PATIENCE", 0.1)
    monkeypatch.setattr(server, "PATIENCE", 1)
    gone = threading.Event()
    with served(zoo, timeout=0.2) as url:
        monkeypatch.setattr(Predictor, "best", lambda *_, **__: gone.wait())
        assert code_of(httpx.post(f"{url}/predict", json=DOG)) == (503, "timeout")
    gone.set()  # the server has ended before


@pytest.mark.network
def test_a_slow_shutdown_logs_no_traceback(zoo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "PATIENCE", 0)
    monkeypatch.setattr(service, "PATIENCE", 0.1)
    gone, asked = threading.Event(), threading.Event()
    logged: list[logging.LogRecord] = []

    def endless(*_: object, **__: object) -> None:
        asked.set()
        gone.wait()

    monkeypatch.setattr(logging.getLogger("uvicorn.error"), "handle", logged.append)
    with ThreadPoolExecutor(1) as pool:
        with served(zoo) as url:
            monkeypatch.setattr(Predictor, "best", endless)
            answer = pool.submit(httpx.post, f"{url}/predict", json=DOG, timeout=30)
            assert asked.wait(30)
        gone.set()
        assert code_of(answer.result()) == (503, "busy")
    assert logged
    assert not [record for record in logged if record.exc_info]


@pytest.mark.network
def test_a_request_that_is_no_http_is_refused_and_the_server_goes_on(zoo: Path) -> None:
    with served(zoo) as url:
        port = int(url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
            connection.sendall(b"what is this?\r\n\r\n")
            assert connection.recv(1000).startswith(b"HTTP/1.1 400")
        assert httpx.get(f"{url}/health").status_code == 200
