"""SPARQL over a base: what is found, what is refused, and what is ended."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hmem.errors import ConfigError, QueryError, QueryLimitError, StoreError
from hmem.graph.values import Value
from hmem.knowledge import sparql_worker
from hmem.knowledge.base import KnowledgeBase
from hmem.knowledge.sparql import Solutions, Sparql, check, name_of
from hmem.knowledge.store.store import Store

FACTS = [
    ("wolf", "eats", "red deer"),
    ("fox", "eats", "hare"),
    ("wolf", "legs", '"4"^^xsd:integer'),
    ("http://example.org/rex", "eats", "hare"),
]
CROSS = " ".join(f"?a{number} ?b{number} ?c{number} ." for number in range(20))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sparql") / "zoo.kb"
    with Store.create(path) as store:
        store.add([fact for fact in FACTS if fact[0] != "fox"])
        store.add([fact for fact in FACTS if fact[0] == "fox"], confidence=0.5)
        store.naming.describe("entity", "wolf", label="Wolf", aliases=["lobo"], kind="wild animal", description="howls")
        store.values.set("wolf", "height", [Value.of(0.8, "m")])
        store.naming.describe("property", "height", label="tall")
        store.naming.describe("relation", "eats", label="eats up", inverse="is eaten by")
    return path


@pytest.fixture(scope="module")
def engine(path: Path) -> Iterator[Sparql]:
    with Sparql(path) as engine:
        yield engine


def rows(engine: Sparql, query: str) -> list[tuple[object, ...]]:
    return sorted((tuple(row.values()) for row in engine.query(query)), key=str)


def test_facts_by_name(engine: Sparql) -> None:
    assert rows(engine, "SELECT ?a ?b { ?a :eats ?b }") == [
        ("fox", "hare"),
        ("http://example.org/rex", "hare"),
        ("wolf", "red deer"),
    ]
    assert rows(engine, "SELECT ?a { ?a :eats :red%20deer }") == [("wolf",)]
    assert rows(engine, "SELECT ?n { :wolf :legs ?legs BIND(?legs + 1 AS ?n) }") == [(5,)]


def test_what_is_said_of_entities_and_relations(engine: Sparql) -> None:
    found = "SELECT ?label ?alias ?text { ?a a kind:wild%20animal; rdfs:label ?label; skos:altLabel ?alias; "
    assert rows(engine, found + "schema:description ?text }") == [("Wolf", "lobo", "howls")]
    assert rows(engine, "SELECT ?a ?b { ?a hmem:inverse ?b; rdfs:label 'eats up' }") == [("eats", "is eaten by")]


def test_values(engine: Sparql) -> None:
    assert rows(engine, "SELECT ?a ?by ?h { ?a ?p ?h. ?p rdfs:label ?by FILTER(?h < 1) }") == [("wolf", "tall", 0.8)]


def test_what_qualifies_a_fact(engine: Sparql) -> None:
    assert rows(engine, "SELECT ?c { :fox :eats :hare {| hmem:confidence ?c |} }") == [(0.5,)]
    assert rows(engine, "SELECT ?u { :wolf :height ?h {| hmem:unit ?u |} }") == [("m",)]


def test_ask(engine: Sparql) -> None:
    found = engine.query("ASK { :fox :eats :hare }")
    assert (found.boolean, found.to_dict(), found.to_csv()) == (True, {"head": {}, "boolean": True}, "true\r\n")
    assert engine.query("ASK { :hare :eats :fox }").boolean is False


def test_results_in_the_forms_of_the_standard(engine: Sparql) -> None:
    found = engine.query("SELECT ?legs ?no ?x { :wolf :legs ?legs BIND('a,\"b\"'@en AS ?x) }")
    legs = {"type": "literal", "value": "4", "datatype": "http://www.w3.org/2001/XMLSchema#integer"}
    text = {"type": "literal", "value": 'a,"b"', "xml:lang": "en"}
    bindings = [{"legs": legs, "x": text}]
    assert found.to_dict() == {"head": {"vars": ["legs", "no", "x"]}, "results": {"bindings": bindings}}
    assert found.to_csv() == 'legs,no,x\r\n4,,"a,""b"""\r\n'
    assert list(found) == [{"legs": 4, "no": None, "x": 'a,"b"'}]
    (row,) = engine.query("SELECT ?a { ?a :eats :red%20deer }").terms
    assert row == {"a": {"type": "uri", "value": "urn:hmem:wolf"}}
    assert name_of(row["a"]) == "wolf"


def test_a_limit_says_that_there_is_more(engine: Sparql) -> None:
    few = engine.query("SELECT ?a { ?a :eats ?b }", limit=2)
    assert (len(few), few.more, few.to_dict()["more"]) == (2, True, True)
    all_of_them = engine.query("SELECT ?a { ?a :eats ?b }", limit=3)
    assert (len(all_of_them), all_of_them.more) == (3, False)


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("SELECT * { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }", "SERVICE asks another server"),
        ("SELECT * { \\u0053ervice <http://127.0.0.1:9/> { ?s ?p ?o } }", "SERVICE asks another server"),
        ("PREFIX a: <urn:b> INSERT DATA { a:b a:c a:d }", "INSERT changes what is stored"),
        ("# DELETE\nDELETE WHERE { ?s ?p ?o }", "DELETE changes what is stored"),
        ("LOAD <file:///etc/passwd>", "LOAD changes what is stored"),
        ("CONSTRUCT WHERE { ?s ?p ?o }", "only SELECT and ASK are answered here"),
        ("DESCRIBE :wolf", "only SELECT and ASK are answered here"),
        ("SELECT", "not SPARQL 1.1: error at 1:"),
        ("", "not SPARQL 1.1: "),
    ],
)
def test_what_is_refused(engine: Sparql, query: str, problem: str) -> None:
    with pytest.raises(QueryError, match=f"^{problem}"):
        engine.query(query)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT ?service { ?service ?p 'SERVICE' }  # SERVICE",
        'SELECT * { ?s <http://example.org/service> """a " service""" ; :service ?o ; ex:insert \'it\\\'s service\' }',
    ],
)
def test_a_word_is_no_service(query: str) -> None:
    check(query)


def test_the_process_of_a_query_can_open_nothing(engine: Sparql, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even a request that is not recognized reaches no other server."""
    monkeypatch.setattr("hmem.knowledge.sparql.check", lambda text: None)
    with pytest.raises(QueryError, match=r"cannot be answered.*(Too many open files|os error 24)"):
        engine.query("SELECT * { SERVICE <http://127.0.0.1:9999/> { ?s ?p ?o } }")
    assert len(engine.query("SELECT * FROM <file:///etc/passwd> { ?s ?p ?o }")) == 0


def test_a_query_without_end_is_ended_and_the_next_is_answered(engine: Sparql) -> None:
    engine.query("ASK {}")
    worker = engine._worker
    with pytest.raises(QueryLimitError, match=r"^the query took more than 0.2 s, and was ended$"):
        engine.query(f"SELECT (COUNT(*) AS ?n) {{ {CROSS} }}", seconds=0.2)
    assert len(engine.query("SELECT * { ?a :eats ?b }")) == 3
    assert engine._worker is worker  # the facts were not read again


def test_a_query_that_takes_all_memory_is_ended(path: Path) -> None:
    """All rows have to be there before the first can be given."""
    with (
        Sparql(path, memory=1 << 26) as engine,
        pytest.raises(QueryLimitError, match=r"^the query was ended because .* memory$"),
    ):
        engine.query(f"SELECT * {{ {CROSS} }} ORDER BY ?a1", seconds=600.0)


def test_queries_run_beside_each_other_and_end_with_the_engine(path: Path) -> None:
    ended, own = threading.Event(), Sparql(path)

    def never_ends() -> None:
        with pytest.raises(StoreError):  # it is closed, or its process has ended before it was asked
            own.query(f"SELECT (COUNT(*) AS ?n) {{ {CROSS} }}", seconds=600.0)
        ended.set()

    with own:
        assert own.query("ASK {}").boolean
        thread = threading.Thread(target=never_ends)
        thread.start()
        assert own.query("ASK {}").boolean
        assert not ended.is_set()
    thread.join()
    assert ended.is_set()
    with pytest.raises(StoreError, match="is closed; open it again"):
        own.query("ASK {}")


def test_what_was_written_is_found_by_the_next_query(tmp_path: Path) -> None:
    with KnowledgeBase.create(tmp_path / "a.kb", facts=FACTS[:1]) as kb:
        assert len(kb.sparql("SELECT * { ?a :eats ?b }")) == 1
        assert kb.add("fox", "eats", "hare")
        assert len(kb.sparql("SELECT * { ?a :eats ?b }")) == 2
        kb.remove("fox", "eats", "hare")
        kb.describe("wolf", label="Wolf")
        assert [row["b"] for row in kb.sparql("SELECT * { ?a :eats ?x; rdfs:label ?b }")] == ["Wolf"]


def test_a_base_that_is_gone_is_said_and_comes_back(path: Path, tmp_path: Path) -> None:
    with Sparql(tmp_path / "no.kb") as engine:
        with pytest.raises(StoreError, match=r"no\.kb"):
            engine.query("ASK {}")
        Store.create(tmp_path / "no.kb").close()
        assert engine.query("ASK {}").boolean is True


def test_a_base_that_is_too_large_is_said(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparql_worker, "MOST_FACTS", 3)
    with pytest.raises(StoreError, match="holds 4 facts; SPARQL is answered over up to 3"):
        sparql_worker.Facts(path).refresh()


def test_a_closed_engine_leaves_no_process(path: Path) -> None:
    engine = Sparql(path)
    engine.query("ASK {}")
    assert engine._worker is not None
    process = engine._worker._process
    engine.close()
    assert process.returncode is not None


def test_a_process_that_was_ended_is_made_anew(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Sparql(path) as engine:
        engine.query("ASK {}")
        worker = engine._worker
        assert worker is not None
        worker._process.kill()
        worker._process.wait()
        with monkeypatch.context() as patched:
            patched.setattr(type(worker), "has_ended", lambda self: False)  # it ends at this very moment
            with pytest.raises(StoreError, match="the process that answers SPARQL has ended; ask again"):
                engine.query("ASK {}")
        assert engine.query("ASK {}").boolean


def test_solutions_without_rows() -> None:
    assert Solutions(("a",), ()).to_csv() == "a\r\n"


def test_terms_that_are_neither_names_nor_numbers() -> None:
    number = "http://www.w3.org/2001/XMLSchema#"
    blank = {"type": "bnode", "value": "b0"}
    quoted = {"type": "triple", "value": {"subject": blank, "predicate": {"type": "uri", "value": "urn:hmem:eats"}}}
    quoted["value"]["object"] = {"type": "literal", "value": "hay"}  # type: ignore[index]
    row: Any = {
        "blank": blank,
        "quoted": quoted,
        "yes": {"type": "literal", "value": "1", "datatype": f"{number}boolean"},
        "wrong": {"type": "literal", "value": "many", "datatype": f"{number}integer"},
    }
    (found,) = Solutions(tuple(row), (row,))
    assert found == {"blank": "_:b0", "quoted": "_:b0 eats hay", "yes": True, "wrong": "many"}


def test_a_system_that_cannot_end_a_query_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("os.fork")
    with pytest.raises(ConfigError, match="SPARQL needs a system that can end a query"):
        Sparql(path)


def test_a_closed_base_answers_no_query(path: Path) -> None:
    kb = KnowledgeBase.open(path)
    kb.close()
    with pytest.raises(StoreError, match="is closed; open it again"):
        kb.sparql("ASK {}")
