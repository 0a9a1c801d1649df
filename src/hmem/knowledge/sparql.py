"""SPARQL 1.1 over the stored facts: SELECT and ASK, read only, ended when they take too long.

    engine = Sparql("zoo.kb")
    for row in engine.query("SELECT ?x { ?x :_hypernym <urn:hmem:canine.n.02> }"):
        print(row["x"])                      # wolf.n.01

A query runs in native code, which Python cannot interrupt. So a process of its own (`sparql_worker`) holds the facts as
RDF and lets a child of itself answer each query, which the system ends when its time is over, with all the memory it
took. The child can neither open files nor reach the network. How names become RDF terms is in `hmem.graph.rdf_terms`.
"""

import csv
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hmem.errors import ConfigError, Place, QueryError, QueryLimitError, StoreError
from hmem.graph.rdf_terms import import_pyoxigraph
from hmem.graph.readers.rdf_names import TermNames
from hmem.knowledge.store.errors import closed
from hmem.knowledge.store.places import Address, At, place_of

SECONDS = 60.0  # a query may take
MEMORY = 1 << 31  # bytes that it may take beside the facts
GRACE = 5.0  # seconds in which what is ended is noticed
Term = dict[str, Any]  # as SPARQL's JSON has it
Plain = str | int | float | bool | None

_TOKENS = re.compile(
    r"""<[^<>"{}|^`\\\x00-\x20]*>            # an IRI
    | \#[^\n\r]*                              # a comment
    | \"{3}(?:\\.|(?!\"{3}).)*\"{3} | '{3}(?:\\.|(?!'{3}).)*'{3}
    | "(?:\\.|[^"\\\n\r])*" | '(?:\\.|[^'\\\n\r])*'
    | [?$]\w+                                  # a variable
    | [\w.-]*:(?:[\w.:%-]|\\.)*               # a name with a prefix
    | (?P<word>\w+) | .""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})|\\U([0-9a-fA-F]{8})")  # of any character, anywhere in a query
_CHANGING = {"insert", "delete", "load", "clear", "drop", "create", "add", "move", "copy", "with"}


@dataclass(frozen=True, slots=True)
class Solutions:
    """What a query found: rows of terms for a SELECT, yes or no for an ASK."""

    variables: tuple[str, ...]
    terms: tuple[dict[str, Term], ...]  # of each row those that are bound
    more: bool = False  # whether there are more rows than were asked for
    boolean: bool | None = None  # the answer to an ASK

    def __len__(self) -> int:
        return len(self.terms)

    def __iter__(self) -> Iterator[dict[str, Plain]]:
        """The rows in Python's words: ids of entities and relations, numbers, texts; None for what is not bound."""
        for row in self.terms:
            yield {variable: _plain(row.get(variable)) for variable in self.variables}

    def to_dict(self) -> dict[str, Any]:
        """SPARQL 1.1 Query Results JSON; "more" says that it is not all, and stands there only then."""
        if self.boolean is not None:
            return {"head": {}, "boolean": self.boolean}
        found = {"head": {"vars": list(self.variables)}, "results": {"bindings": list(self.terms)}}
        return {**found, "more": True} if self.more else found

    def to_csv(self) -> str:
        """SPARQL 1.1 Query Results CSV: a heading, and the text of each term."""
        text = io.StringIO()
        if self.boolean is not None:
            return "true\r\n" if self.boolean else "false\r\n"
        writer = csv.writer(text)
        writer.writerow(self.variables)
        writer.writerows([_as_text(row.get(variable)) for variable in self.variables] for row in self.terms)
        return text.getvalue()


class Sparql:
    """Answers queries about a base. Safe to use from several threads, whose queries run beside each other.

    The facts are read at the first query, and again when the base has changed since the last one.
    """

    def __init__(self, path: At, *, memory: int = MEMORY) -> None:
        import_pyoxigraph("SPARQL needs")
        if not hasattr(os, "fork"):
            raise ConfigError("SPARQL needs a system that can end a query, such as Linux or macOS")
        place = place_of(path)
        self.path = place.absolute() if isinstance(place, Path) else place
        self.memory = memory  # bytes that a query may take beside the facts
        self._lock = threading.Lock()  # guards the next two
        self._worker: _Worker | None = None
        self._is_closed = False

    def close(self) -> None:
        """End the process, with all queries that it is answering."""
        with self._lock:
            self._is_closed = True
            if self._worker is not None:
                self._worker.close()
            self._worker = None

    def __enter__(self) -> "Sparql":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def query(self, text: str, *, seconds: float = SECONDS, limit: int | None = None) -> Solutions:
        """The answer to a SELECT or an ASK, of which at most `limit` rows.

        A query that is none, or would change or reach what is not there to be queried, is a QueryError; one that takes
        more than `seconds` after the facts are read, or too much memory, a QueryLimitError.
        """
        check(text)
        request = {"query": text, "seconds": seconds, "memory": self.memory, "limit": limit}
        try:
            with self._asked() as asked, asked.makefile("rb") as stream:
                asked.sendall(json.dumps(request).encode() + b"\n")
                began = _told(_line(stream))["began"]  # the facts are read, and the time begins
                asked.settimeout(seconds + GRACE)
                return _solutions(stream, seconds, began)
        except (ConnectionError, QueryLimitError, StoreError) as error:
            self._refuse_if_closed()
            if isinstance(error, ConnectionError):
                raise _ended() from None
            raise

    def _refuse_if_closed(self) -> None:
        if self._is_closed:
            raise closed(self.path)

    def _asked(self) -> socket.socket:
        """One end of a new connection to the worker, which has the other."""
        ours, theirs = socket.socketpair()
        try:
            with theirs, self._lock:
                self._refuse_if_closed()
                if self._worker is None or self._worker.has_ended():
                    self._worker = _Worker(self.path)
                self._worker.send(theirs)
        except BaseException:
            ours.close()
            raise
        return ours


class _Worker:
    """The process that holds the facts. It ends when nothing is left that could ask it."""

    def __init__(self, place: Place) -> None:
        self._control, theirs = socket.socketpair()
        found = os.pathsep.join(filter(None, sys.path))
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "hmem.knowledge.sparql_worker", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                start_new_session=True,  # it ends together with its children
                # threads would not survive that it makes children
                env={**os.environ, "PYTHONPATH": found, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            )
        assert self._process.stdin is not None
        with self._process.stdin as told:  # not among the arguments, which everybody sees
            told.write(os.fsencode(place.in_full if isinstance(place, Address) else str(place)))
        self.close = weakref.finalize(self, _end, self._control, self._process)

    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def send(self, connection: socket.socket) -> None:
        socket.send_fds(self._control, [b"?"], [connection.fileno()])


def _end(control: socket.socket, process: "subprocess.Popen[bytes]") -> None:
    control.close()
    if process.returncode is None:  # else its number may be that of another process by now
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def check(text: str) -> None:
    """Refuse a query that would change something or ask another server, before anything is done."""
    words = _words(text)
    if "service" in words or "service" in _words(_ESCAPED.sub(lambda found: chr(int(found[1] or found[2], 16)), text)):
        raise QueryError("SERVICE asks another server, which is not done here")
    first = next((word for word in words if word not in ("prefix", "base")), "")
    if first in _CHANGING:
        raise QueryError(f"{first.upper()} changes what is stored; only SELECT and ASK are answered here")


def _words(text: str) -> list[str]:
    """The keywords and names of functions in a query: what is neither text, IRI, variable nor comment."""
    return [found["word"].lower() for found in _TOKENS.finditer(text) if found["word"]]


def _solutions(stream: io.BufferedIOBase, seconds: float, began: float) -> Solutions:
    """What the child of the worker writes, line by line; without the last line, it was ended.

    By its clock if its time was over, otherwise for its memory. This process may have been slow to hear of either.
    """
    rows: list[dict[str, Term]] = []
    try:
        head = _told(_line(stream))
        if "boolean" in head:
            return Solutions((), (), boolean=head["boolean"])
        while "more" not in (row := _told(_line(stream))):
            rows.append(row["row"])
    except (StoreError, TimeoutError):
        if time.monotonic() - began >= seconds:
            raise QueryLimitError(f"the query took more than {seconds:g} s, and was ended") from None
        raise QueryLimitError("the query was ended because it took too much memory") from None
    return Solutions(tuple(head["variables"]), tuple(rows), row["more"])


def _line(stream: io.BufferedIOBase) -> dict[str, Any]:
    try:
        line = stream.readline()
    except ConnectionError:
        line = b""
    if not line.endswith(b"\n"):
        raise _ended()
    found: dict[str, Any] = json.loads(line)
    return found


def _ended() -> StoreError:
    return StoreError("the process that answers SPARQL has ended; ask again")


def _told(line: dict[str, Any]) -> dict[str, Any]:
    """A line that is no error."""
    match line:
        case {"query_error": problem}:
            raise QueryError(problem)
        case {"error": problem, "path": path}:
            raise StoreError(problem, path=path)
    return line


def _plain(term: Term | None) -> Plain:
    if term is None or term["type"] != "literal":
        return None if term is None else _as_text(term)
    kind, text = term.get("datatype", "").rpartition("#")[2], term["value"]
    try:
        match kind:
            case "integer" | "int" | "long":
                return int(text)
            case "decimal" | "double" | "float":
                return float(text)
            case "boolean":
                return bool(text in ("true", "1"))
    except ValueError:
        pass  # a datatype says what the text should be, not what it is
    return str(text)


_NAMES = TermNames()


def name_of(term: Term) -> str:
    """The name of a term in the facts."""
    return _NAMES.iri(term["value"]) if term["type"] == "uri" else _as_text(term)


def _as_text(term: Term | None) -> str:
    if term is None:
        return ""
    match term["type"]:
        case "uri":
            return _NAMES.iri(term["value"])
        case "bnode":
            return f"_:{term['value']}"
        case "triple":
            return " ".join(_as_text(term["value"][part]) for part in ("subject", "predicate", "object"))
    return str(term["value"])
