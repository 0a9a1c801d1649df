"""How a knowledge base is served: what may be written, under which names it is reached, how much is too much."""

import ipaddress
from dataclasses import dataclass

from hmem.errors import ConfigError

MOST_BYTES = 1 << 20  # of a request's body
MOST_FACTS = 1_000  # of one write
MOST_QUESTIONS = 256  # of one batch, and of one pass through the model
MOST_ANSWERS = 25_600  # of one request, all its questions together
MOST_K = 1_000
STORED_EDGES = 100_000  # looked at to score stored answers, in one request
LONGEST_NAME = 10_000  # characters, as in the store
MOST_ROWS = 1_000  # of a listing
MOST_SOLUTIONS = 10_000  # rows of an answer to a SPARQL query
PATIENCE = 5  # seconds for what is under way when the server is stopped

LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """One served knowledge base."""

    host: str = "127.0.0.1"  # the address to listen on
    token: str | None = None  # that a write must show
    allow_writes: bool = False  # by any program that reaches the port, without a token
    host_names: frozenset[str] = frozenset()  # under which it may be reached besides the loopback ones
    device: str = "cpu"
    timeout: float = 30.0  # seconds a request may take
    window: float = 0.002  # seconds in which single questions are gathered
    poll: float = 0.2  # seconds between two looks for what other processes have written
    most_waiting: int = 1_024  # questions in the queue; beyond, a request is turned away
    most_listeners: int = 100  # streams of events at once

    def __post_init__(self) -> None:
        if self.token is not None and not (self.token.isascii() and self.token.isprintable() and self.token.split()):
            raise ConfigError(
                "the token must be of printable ASCII characters, since it travels in a header; "
                "set HMEM_TOKEN to a long random text, or unset it to allow no writes"
            )
        if self.allow_writes and self.token is None and not is_loopback(self.host):
            raise ConfigError(
                f"--allow-writes without a token is for this machine only, and {self.host} can be reached from others; "
                "set HMEM_TOKEN to a long random text, or listen on 127.0.0.1"
            )

    @property
    def writable(self) -> bool:
        return self.token is not None or self.allow_writes

    @property
    def hosts(self) -> frozenset[str] | None:
        """The names a request may be addressed to; None for any.

        On a loopback address the check keeps out pages from elsewhere that have their own name point here.
        """
        if is_loopback(self.host):
            return LOOPBACK_NAMES | {self.host} | self.host_names
        return LOOPBACK_NAMES | self.host_names if self.host_names else None


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address. A name other than localhost may mean anything."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
