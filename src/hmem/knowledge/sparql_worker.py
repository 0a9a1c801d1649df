"""The process that holds the facts of a base as RDF and answers queries: `python -m hmem.knowledge.sparql_worker`.

It is given connections, one for each query. For each it makes a child of itself, which has the facts without copying
them, answers, and is gone; at the end of its time the system ends it, whatever it is doing.
"""

import io
import json
import os
import resource
import signal
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from hmem.errors import HMemError, Place, StoreError
from hmem.graph.rdf_terms import PREFIXES, import_pyoxigraph
from hmem.knowledge.rdf import triples
from hmem.knowledge.store.places import place_of
from hmem.knowledge.store.store import Store

MOST_FACTS = 5_000_000  # about 3 GB of memory
MOST_BYTES = 1 << 26  # of one answer


class Facts:
    """The facts of a base as RDF, as of its last write."""

    def __init__(self, path: Place) -> None:
        self.oxigraph = import_pyoxigraph("SPARQL needs")
        self.path = path
        self.rdf: Any = None
        self._store: Store | None = None
        self._moment = -1

    def refresh(self) -> None:
        """Read the base again if it has changed."""
        if self._store is None:
            self._store = Store.open(self.path, read_only=True)
        moment = self._store.moment
        if moment == self._moment:
            return
        number = self._store.count()["facts"]
        if number > MOST_FACTS:
            problem = f"{{path}} holds {number:,} facts; SPARQL is answered over up to {MOST_FACTS:,}, held in memory"
            raise StoreError(problem, path=self.path)
        self.rdf = None  # its memory is free for the next
        self.rdf = self.oxigraph.Store()
        self.rdf.bulk_extend(self.oxigraph.Quad(*each) for each in triples(self._store, self.oxigraph))
        self._moment = moment


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children leave nothing behind
    facts = Facts(place_of(os.fsdecode(sys.stdin.buffer.read())))
    with socket.socket(fileno=int(sys.argv[1])) as control:
        while descriptors := socket.recv_fds(control, 1, 1)[1]:
            with socket.socket(fileno=descriptors[0]) as asked:
                facts = _answered(facts, asked)


def _answered(facts: Facts, asked: socket.socket) -> Facts:
    """Let a child answer a query; the facts for the next one."""
    try:
        facts.refresh()
    except HMemError as error:
        _try_to_send(asked, {"error": error.problem, "path": None if error.path is None else str(error.path)})
        return Facts(facts.path)
    if os.fork() == 0:
        try:
            with asked.makefile("rwb") as stream:
                answer(facts, stream)
        finally:
            os._exit(0)  # and leave alone what the parent has open
    return facts


def _try_to_send(asked: socket.socket, line: dict[str, Any]) -> None:
    with suppress(OSError):  # who asked may have gone
        asked.sendall(json.dumps(line).encode() + b"\n")


def answer(facts: Facts, stream: io.BufferedIOBase) -> None:
    """Read one query, and write its answer line by line; in a process that has nothing else to do."""
    request = json.loads(stream.readline())
    began = time.monotonic()  # a clock that all processes share
    confine(request["seconds"], request["memory"])

    def write(line: dict[str, Any]) -> int:
        return stream.write(json.dumps(line).encode() + b"\n")

    write({"began": began})
    stream.flush()
    try:
        found = facts.rdf.query(request["query"], prefixes=PREFIXES)
        if isinstance(found, facts.oxigraph.QueryBoolean):
            write({"boolean": bool(found)})
        elif isinstance(found, facts.oxigraph.QuerySolutions):
            _write_rows(found, request["limit"], write)
        else:
            write({"query_error": "only SELECT and ASK are answered here"})
    except SyntaxError as error:
        write({"query_error": f"not SPARQL 1.1: {error.msg}"})
    except MemoryError:
        raise
    except Exception as error:  # whatever it finds wrong with a query
        write({"query_error": f"the query cannot be answered: {error}"})
    stream.flush()


def confine(seconds: float, memory: int) -> None:
    """Let this process work for so long, and take so much memory more, and open no file and no connection."""
    used = _memory_in_use()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # memory that cannot be had is told there, at length
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
    if used is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (used + memory, used + memory))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def _memory_in_use() -> int | None:
    """The bytes that this process has, where the system tells."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    except OSError:
        return None


def _write_rows(found: Any, limit: int | None, write: Any) -> None:
    variables = [variable.value for variable in found.variables]
    write({"variables": variables})
    size = 0
    for number, solution in enumerate(found):
        if number == limit or size > MOST_BYTES:
            write({"more": True})
            return
        row = {name: _json(term) for name in variables if (term := solution[name]) is not None}
        size += write({"row": row})
    write({"more": False})


def _json(term: Any) -> dict[str, Any]:
    """A term as SPARQL's JSON has it."""
    match type(term).__name__:
        case "NamedNode":
            return {"type": "uri", "value": term.value}
        case "BlankNode":
            return {"type": "bnode", "value": term.value}
        case "Literal":
            found = {"type": "literal", "value": term.value}
            if term.language is not None:
                return {**found, "xml:lang": term.language}
            kind = term.datatype.value
            return found if kind.endswith("#string") else {**found, "datatype": kind}
    parts = {part: _json(getattr(term, part)) for part in ("subject", "predicate", "object")}
    return {"type": "triple", "value": parts}


if __name__ == "__main__":
    main()
