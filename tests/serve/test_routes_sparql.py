"""SPARQL over HTTP, by the SPARQL protocol."""

import sys
from typing import TYPE_CHECKING

import pytest

from tests.knowledge.test_sparql import CROSS
from tests.serve.conftest import Serve

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.testclient import TestClient

DOGS = "SELECT ?a { ?a :hypernym <urn:hmem:dog.n.01> } ORDER BY ?a"
ASK = "ASK { <urn:hmem:dog.n.01> ?p ?o }"
AS_QUERY = {"content-type": "application/sparql-query"}


def test_the_three_ways_of_the_protocol(reader: "TestClient") -> None:
    answers = [
        reader.get("/sparql", params={"query": ASK}),
        reader.post("/sparql", content=ASK, headers=AS_QUERY),
        reader.post("/sparql", data={"query": ASK}),
    ]
    for answer in answers:
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"] == "application/sparql-results+json"
        assert answer.json() == {"head": {}, "boolean": True}


def test_rows_as_json_and_as_csv(api: "TestClient") -> None:
    api.post("/facts", json={"facts": [{"head": "rex", "relation": "hypernym", "tail": "dog.n.01"}]})
    bindings = api.get("/sparql", params={"query": DOGS}).json()["results"]["bindings"]
    assert {"a": {"type": "uri", "value": "urn:hmem:rex"}} in bindings
    answer = api.get("/sparql", params={"query": DOGS}, headers={"accept": "text/csv"})
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.text.split()[0] == "a"
    assert "rex" in answer.text.split()
    api.request("DELETE", "/facts", json={"facts": [{"head": "rex", "relation": "hypernym", "tail": "dog.n.01"}]})
    assert "rex" not in api.get("/sparql", params={"query": DOGS}).text


def test_too_many_rows_are_said(reader: "TestClient", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hmem.serve.service.MOST_SOLUTIONS", 2)
    answer = reader.get("/sparql", params={"query": "SELECT * { ?s ?p ?o }"})
    assert (len(answer.json()["results"]["bindings"]), answer.json()["more"], answer.headers["x-more"]) == (
        2,
        True,
        "true",
    )


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT * { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }", "SERVICE asks another server"),
        ("INSERT DATA { :a :b :c }", "INSERT changes what is stored"),
        ("nonsense", "not SPARQL 1.1"),
    ],
)
def test_bad_queries(reader: "TestClient", query: str, message: str) -> None:
    for answer in (
        reader.get("/sparql", params={"query": query}),
        reader.post("/sparql", content=query, headers=AS_QUERY),
    ):
        assert answer.status_code == 400
        error = answer.json()["error"]
        assert error["code"] == "bad_query"
        assert error["message"].startswith(message)


def test_bad_requests(reader: "TestClient") -> None:
    assert reader.get("/sparql").json()["error"]["code"] == "invalid"
    assert reader.post("/sparql", json={"query": ASK}).status_code == 400
    assert reader.post("/sparql", content=b"\xff", headers=AS_QUERY).status_code == 400
    for name in ("default-graph-uri", "named-graph-uri"):
        answer = reader.post("/sparql", data={"query": ASK, name: "urn:a"})
        assert "one graph" in answer.json()["error"]["message"]


def test_a_query_without_end_is_ended_and_holds_up_nothing(zoo: "Path", serve: Serve) -> None:
    api = serve(zoo, timeout=2.0)
    assert api.get("/sparql", params={"query": ASK}).status_code in (200, 503)  # the facts may take as long to be read
    answer = api.get("/sparql", params={"query": f"SELECT (COUNT(*) AS ?n) {{ {CROSS} }}"})
    assert answer.status_code == 503
    assert answer.json()["error"]["code"] == "timeout"
    assert api.get("/facts", params={"limit": 1}).status_code == 200


def test_no_more_than_so_many_wait(api: "TestClient", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hmem.serve.service.MOST_QUERIES", 0)
    assert api.get("/sparql", params={"query": ASK}).json()["error"]["code"] == "busy"


def test_without_pyoxigraph(api: "TestClient", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyoxigraph", None)
    answer = api.get("/sparql", params={"query": ASK})
    assert (answer.status_code, answer.json()["error"]["code"]) == (501, "not_installed")
