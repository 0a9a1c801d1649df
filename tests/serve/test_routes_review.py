"""Doubtful facts and missing ones over a whole graph, over HTTP and in Python, and within the time of a request."""

import itertools
from typing import TYPE_CHECKING

import pytest

from tests.knowledge.living import TOY_FACTS
from tests.serve.clients import code_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from starlette.testclient import TestClient


def test_an_audit_is_the_one_of_python(reader: "TestClient", zoo: "Path") -> None:
    from hmem.knowledge.base import KnowledgeBase

    found = reader.post("/audit", json={"entity": "dog.n.01", "k": 20}).json()
    with KnowledgeBase.open(zoo, read_only=True) as kb:
        expected = kb.audit(20, entity="dog.n.01")
    assert found["judged"] == found["of"] == expected.facts
    assert sorted(each["doubt"] for each in found["facts"]) == pytest.approx(sorted(each.doubt for each in expected))
    by_fact = {each.names: each for each in expected}
    for each in found["facts"]:
        same = by_fact[each["head"], each["relation"], each["tail"]]
        assert (each["tail_rank"], each["head_rank"], each["instead"]) == (same.tail_rank, same.head_rank, same.instead)
        assert [tuple(fact) for fact in each.get("because", [])] == list(same.because)


def test_missing_facts_are_looked_for_in_a_whole_graph(reader: "TestClient", zoo: "Path") -> None:
    from hmem.knowledge.base import KnowledgeBase

    found = reader.post("/missing/anywhere", json={"relation": "hyponym", "k": 4}).json()
    with KnowledgeBase.open(zoo, read_only=True) as kb:
        expected = kb.missing_anywhere(4, relation="hyponym")
    assert [(each["head"], each["relation"], each["tail"]) for each in found["facts"]] == [
        each.names for each in expected
    ]
    assert found["done"] == found["of"] > 10
    some = reader.post("/missing/anywhere", json={"having": ["hypernym", "canine.n.02"], "k": 4}).json()
    assert 0 < some["of"] < found["of"]


def test_what_would_take_too_long_ends_with_what_was_found(
    reader: "TestClient", monkeypatch: pytest.MonkeyPatch
) -> None:
    from hmem.serve import routes_review

    def for_three_steps(_service: object) -> "Callable[..., bool]":
        steps = itertools.count()
        return lambda *_: next(steps) < 3

    monkeypatch.setattr(routes_review, "_in_time", for_three_steps)
    found = reader.post("/audit", json={}).json()
    assert (found["judged"], found["of"]) == (3 * routes_review.AT_ONCE, len(TOY_FACTS))
    assert all("instead" not in each for each in found["facts"])
    found = reader.post("/missing/anywhere", json={}).json()
    assert found["done"] == 3 < found["of"]


@pytest.mark.parametrize("body", [{"sample": 0}, {"k": 0}, {"of": 3}])
def test_bad_audits_are_refused(reader: "TestClient", body: dict[str, int]) -> None:
    assert reader.post("/audit", json=body).status_code == 422


def test_of_many_facts_some_are_judged(reader: "TestClient") -> None:
    found = reader.post("/audit", json={"sample": 5}).json()
    assert (found["judged"], found["of"]) == (5, len(TOY_FACTS))
    assert code_of(reader.post("/audit", json={"entity": "woolf"}))[1] == "unknown_name"
