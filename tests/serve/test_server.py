import asyncio
import http.client
import socket
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from hmem.errors import ConfigError
from hmem.serve.server import bind, url_of
from tests.serve.clients import DOG, fact, served


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
def test_a_request_that_is_no_http_is_refused_and_the_server_goes_on(zoo: Path) -> None:
    with served(zoo) as url:
        port = int(url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
            connection.sendall(b"what is this?\r\n\r\n")
            assert connection.recv(1000).startswith(b"HTTP/1.1 400")
        assert httpx.get(f"{url}/health").status_code == 200
