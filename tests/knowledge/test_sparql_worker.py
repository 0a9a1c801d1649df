"""What the process that answers SPARQL does, followed in this one: no test can follow it where it may open no file."""

import errno
import io
import json
import os
import resource
import signal
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from hmem.graph.values import Value
from hmem.knowledge import sparql_worker
from hmem.knowledge.sparql_worker import Facts, answer, confine
from hmem.knowledge.store.store import Store

pytest.importorskip("pyoxigraph")
FACTS = [("wolf", "eats", "red deer"), ("fox", "eats", "hare")]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with Store.create(tmp_path / "zoo.kb") as store:
        store.add(FACTS)
        store.naming.describe("entity", "wolf", label="Wolf")
        store.values.set("wolf", "legs", [Value.of(4)])
    return tmp_path / "zoo.kb"


@pytest.fixture
def unconfined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparql_worker, "confine", lambda seconds, memory: None)


def request(query: str, limit: int | None = None) -> bytes:
    return json.dumps({"query": query, "seconds": 9.0, "memory": 1 << 20, "limit": limit}).encode() + b"\n"


def told(path: Path, query: str, limit: int | None = None) -> list[dict[str, Any]]:
    """What is answered after it was said that the time begins."""
    facts, asked = Facts(path), request(query, limit)
    facts.refresh()
    stream = io.BytesIO()
    stream.write(asked)
    stream.seek(0)
    before = time.monotonic()
    answer(facts, stream)
    ready, *lines = map(json.loads, stream.getvalue()[len(asked) :].splitlines())
    assert before <= ready["began"] <= time.monotonic()
    return lines


@pytest.mark.usefixtures("unconfined")
def test_rows_one_by_one(path: Path) -> None:
    red_deer = {"type": "uri", "value": "urn:hmem:red%20deer"}
    rows = [{"variables": ["a"]}, {"row": {"a": red_deer}}, {"more": False}]
    assert told(path, "SELECT ?a { :wolf :eats ?a }") == rows
    assert told(path, "SELECT ?a { ?x :eats ?a }", limit=1)[-1] == {"more": True}
    assert told(path, "ASK { :wolf :eats :hare }") == [{"boolean": False}]


@pytest.mark.usefixtures("unconfined")
def test_every_kind_of_term(path: Path) -> None:
    made = "BIND('lobo'@es AS ?e) BIND(BNODE() AS ?b) BIND(<<( :a :b ?l )>> AS ?t)"
    row = told(path, f"SELECT * {{ :wolf :legs ?l; rdfs:label ?n {made} }}")[1]["row"]
    four = {"type": "literal", "value": "4", "datatype": "http://www.w3.org/2001/XMLSchema#integer"}
    assert (row["l"], row["n"]) == (four, {"type": "literal", "value": "Wolf"})
    assert row["e"] == {"type": "literal", "value": "lobo", "xml:lang": "es"}
    assert row["b"]["type"] == "bnode"
    a, b = ({"type": "uri", "value": f"urn:hmem:{name}"} for name in "ab")
    assert row["t"] == {"type": "triple", "value": {"subject": a, "predicate": b, "object": four}}


@pytest.mark.usefixtures("unconfined")
@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("SELECT", "not SPARQL 1.1: "),
        ("CONSTRUCT WHERE { ?s ?p ?o }", "only SELECT and ASK are answered here"),
        ("SELECT * { SERVICE <urn:x> { ?s ?p ?o } }", "the query cannot be answered: "),
    ],
)
def test_what_is_wrong_with_a_query_is_told(path: Path, query: str, problem: str) -> None:
    assert told(path, query)[-1]["query_error"].startswith(problem)


@pytest.mark.usefixtures("unconfined")
def test_an_answer_has_a_greatest_length(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparql_worker, "MOST_BYTES", 1)
    assert [list(line) for line in told(path, "SELECT ?a { ?x :eats ?a }")] == [["variables"], ["row"], ["more"]]


def test_facts_are_read_again_when_they_have_changed(path: Path) -> None:
    facts = Facts(path)
    facts.refresh()
    before = facts.rdf
    facts.refresh()
    assert facts.rdf is before
    with Store.open(path) as store:
        store.add([("fox", "eats", "mouse")])
    facts.refresh()
    assert len(facts.rdf) == len(before) + 1


def test_a_process_that_answers_is_confined(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[tuple[Any, ...]] = []
    monkeypatch.setattr(resource, "setrlimit", lambda *limit: done.append(limit))
    monkeypatch.setattr(signal, "signal", lambda *how: done.append(how))
    monkeypatch.setattr(signal, "setitimer", lambda *timer: done.append(timer))
    monkeypatch.setattr(os, "dup2", lambda old, new: done.append(("dup2", new)))
    monkeypatch.setattr(sparql_worker, "_memory_in_use", lambda: 1000)
    confine(2.5, 24)
    alarm = (signal.SIGALRM, signal.SIG_DFL), (signal.ITIMER_REAL, 2.5)
    limits = (resource.RLIMIT_NOFILE, (0, 0)), (resource.RLIMIT_DATA, (1024, 1024))
    assert done == [("dup2", 2), *limits, *alarm]
    done.clear()
    monkeypatch.setattr(sparql_worker, "_memory_in_use", lambda: None)  # a system that does not tell
    confine(2.5, 24)
    assert done == [("dup2", 2), limits[0], *alarm]


def test_the_memory_in_use_is_asked_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    found = sparql_worker._memory_in_use()
    assert found is None or 1 << 20 < found < 1 << 40

    def no_such_file(path: Path) -> str:
        raise OSError(errno.ENOENT, "no /proc")

    monkeypatch.setattr(Path, "read_text", no_such_file)
    assert sparql_worker._memory_in_use() is None


@pytest.mark.usefixtures("unconfined")
def test_it_answers_until_nobody_can_ask(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each question comes as one end of a connection; here the child that answers is this process."""
    control, theirs = socket.socketpair()
    monkeypatch.setattr("sys.argv", ["worker", str(theirs.detach())])
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(os.fsencode(path))))
    monkeypatch.setattr(os, "fork", lambda: 0)
    monkeypatch.setattr(os, "_exit", lambda code: None)
    monkeypatch.setattr(signal, "signal", lambda *how: None)
    found = []
    with control:
        for query in ("ASK {}", "ASK { :fox :eats :wolf }"):
            ours, end = socket.socketpair()
            found.append(ours)
            ours.sendall(request(query))
            with end:
                socket.send_fds(control, [b"?"], [end.fileno()])
    sparql_worker.main()
    answers = []
    for ours in found:
        with ours, ours.makefile("rb") as stream:
            answers.append([json.loads(line) for line in stream])
    assert [answer for _, answer in answers] == [{"boolean": True}, {"boolean": False}]


def test_a_base_that_cannot_be_read_is_told_and_looked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    control, theirs = socket.socketpair()
    monkeypatch.setattr("sys.argv", ["worker", str(theirs.detach())])
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(os.fsencode(tmp_path / "no.kb"))))
    monkeypatch.setattr(signal, "signal", lambda *how: None)
    ours, end = socket.socketpair()
    with control, end:
        socket.send_fds(control, [b"?"], [end.fileno()])
    sparql_worker.main()
    with ours, ours.makefile("rb") as stream:
        (line,) = map(json.loads, stream)
    assert line["path"] == str(tmp_path / "no.kb")
    assert line["error"] == "there is no knowledge base {path}"
