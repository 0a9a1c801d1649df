"""What every request passes before a route sees it, and what every response carries.

- A request must be addressed to a name this server is known by. Otherwise a page from elsewhere could have its own name
  point to 127.0.0.1 and read what is there.
- A request must not come from another site's page; only the page itself may be opened from there.
- Bodies are read here, up to a limit and within a time.
- Nothing that goes wrong inside leaves as a traceback.
"""

import asyncio
import logging
import re
import time
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hmem.serve.errors import ApiError, answer
from hmem.serve.metrics import Metrics
from hmem.serve.settings import MOST_BYTES, Settings

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
AS_SENT = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
NOT_KEPT = (b"cache-control", b"no-store")  # unless the route says otherwise
METHODS = ("GET", "HEAD", "OPTIONS", "POST", "DELETE", "PUT", "PATCH")  # that are counted by name

HOST = re.compile(r"(?:\[(?P<address>[0-9A-Fa-f:.]+)\]|(?P<name>[^:@/\[\]\s]*))(?::[0-9]*)?")

logger = logging.getLogger("hmem.serve")


class Guard:
    """The outermost layer of the application."""

    def __init__(self, app: ASGIApp, settings: Settings, metrics: Metrics, routes: frozenset[str]) -> None:
        self.app = app
        self.timeout, self.hosts = settings.timeout, settings.hosts
        self.metrics = metrics
        self.routes = routes  # the addresses that are counted by name; those a client makes up would be without end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = time.perf_counter()
        status = 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = [*message["headers"], *AS_SENT]
                if all(name != NOT_KEPT[0] for name, _ in headers):
                    headers.append(NOT_KEPT)
                message["headers"] = headers
                path, method = scope["path"], scope["method"] if scope["method"] in METHODS else "other"
                route = path if path in self.routes else "/static" if path.startswith("/static/") else "other"
                self.metrics.request(route, method, status, time.perf_counter() - started)
            await send(message)

        async def receive_again() -> Message:
            """The body that was read already; after it, whether the client leaves."""
            return bodies.pop() if bodies else await receive()

        try:
            received = Headers(scope=scope)
            check_host(received, self.hosts)
            check_origin(scope["path"], received)
            body = await self._body(received, receive)
            bodies: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
            await self.app(scope, receive_again, send_with_headers)
        except asyncio.CancelledError:  # the server does not wait any longer for what it is doing
            if not status:
                await answer("busy", "the server is shutting down")(scope, receive, send_with_headers)
        except ApiError as error:
            if not status:
                await answer(error.code, str(error))(scope, receive, send_with_headers)
        except Exception:
            logger.exception("%s %s failed", scope["method"], scope["path"])
            if not status:
                failure = answer("internal", "a mistake in the server, which has been written to its log")
                await failure(scope, receive, send_with_headers)

    async def _body(self, headers: Headers, receive: Receive) -> bytes:
        announced = headers.get("content-length", "")
        if announced.isdecimal() and int(announced[:20]) > MOST_BYTES:
            raise _too_long()
        body = bytearray()
        try:
            async with asyncio.timeout(self.timeout):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        return bytes(body)  # gone before the end
                    body += message.get("body", b"")
                    if len(body) > MOST_BYTES:
                        raise _too_long()
                    if not message.get("more_body", False):
                        return bytes(body)
        except TimeoutError:
            raise ApiError("timeout", f"the request did not arrive within {self.timeout:g} s") from None


def check_host(headers: Headers, hosts: frozenset[str] | None) -> None:
    """Refuse what is addressed to a name that is not ours."""
    host = headers.get("host", "")
    if hosts is not None and host_name(host) not in hosts:
        raise ApiError(
            "forbidden",
            f'this server is not known as "{host[:80]}"; reach it as 127.0.0.1 or localhost, or start it with '
            "--host-name NAME",
        )


def check_origin(path: str, headers: Headers) -> None:
    """Refuse what a page of another site sends; browsers tell where it comes from, and programs say nothing of it.

    Reads too: the other page could not see what they return, but they cost the same.
    """
    origin = headers.get("origin")
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and path != "/":  # to which links may lead
        origin = origin or "another site"
    if origin is None:
        return
    try:
        place = urlsplit(origin)
        ours = place.scheme in ("http", "https") and place.netloc.lower() == headers.get("host", "").lower() != ""
    except ValueError:
        ours = False
    if not ours:
        raise ApiError("forbidden", f'a page from "{origin[:80]}" may not send this; only pages of this server may')


def host_name(host: str) -> str:
    """The name in a Host header, without port and brackets; nothing where there is more than a name and a port."""
    found = HOST.fullmatch(host)
    return "" if found is None else (found["address"] or found["name"]).rstrip(".").lower()


def _too_long() -> ApiError:
    return ApiError("too_large", f"the body is longer than {MOST_BYTES:,} bytes; send it in several requests")
