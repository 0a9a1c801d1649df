"""Labels over HTTP: taken wherever a name is, shown beside ids, asked about where several have them."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hmem.knowledge.store.store import Store

if TYPE_CHECKING:
    from starlette.testclient import TestClient

WOLF = {"id": "wolf.n.01", "label": "wolf", "aliases": ["Canis lupus"], "kind": "animal", "description": "It howls."}
BELLS = [{"id": name, "label": "pet"} for name in ("dog.n.01", "cat.n.01")]


@pytest.fixture(scope="module")
def named(serve_to_many: "Callable[[], TestClient]") -> "TestClient":
    api = serve_to_many()
    relation = {"id": "hypernym", "label": "is a", "inverse": "has kinds"}
    answer = api.post("/entities", json={"entities": [WOLF, *BELLS, relation, {"id": "nobody"}], "source": "me"})
    assert answer.json() == {"moment": 2, "changed": 4, "unchanged": 0, "unknown": ["nobody"]}
    return api


def test_an_entity_is_shown_with_all_that_is_said_of_it(named: "TestClient") -> None:
    found = named.get("/entity", params={"name": "CANIS LUPUS"}).json()
    assert {name: found[name] for name in WOLF if name != "id"} == {name: WOLF[name] for name in WOLF if name != "id"}
    assert (found["name"], found["new"]) == ("wolf.n.01", False)
    assert named.get("/entities", params={"search": "howls"}).json()["entities"][0]["label"] == "wolf"
    assert [each["name"] for each in named.get("/entities?kind=Animal").json()["entities"]] == ["wolf.n.01"]
    assert named.get("/kinds").json() == {"kinds": [{"kind": "animal", "entities": 1}]}
    (relation,) = [each for each in named.get("/relations").json()["relations"] if each["name"] == "hypernym"]
    assert (relation["label"], relation["inverse"]) == ("is a", "has kinds")


@pytest.mark.parametrize(
    ("path", "by_id", "by_label"),
    [
        ("/predict", {"entity": "wolf.n.01", "relation": "hypernym"}, {"entity": "wolf", "relation": "is a"}),
        ("/missing", {"entity": "wolf.n.01"}, {"entity": "Wolf"}),
        ("/similar", {"entity": "wolf.n.01"}, {"entity": "canis lupus"}),
        ("/score", {"facts": [["wolf.n.01", "hypernym", "dog.n.01"]]}, {"facts": [["wolf", "is a", "dog.n.01"]]}),
        (
            "/explain",
            {"head": "wolf.n.01", "relation": "hypernym", "tail": "dog.n.01"},
            {"head": "wolf", "relation": "is a", "tail": "dog.n.01"},
        ),
    ],
)
def test_questions_take_labels(
    named: "TestClient", path: str, by_id: dict[str, object], by_label: dict[str, object]
) -> None:
    echoed = {"entity", "query"}
    one, other = named.post(path, json=by_id).json(), named.post(path, json=by_label).json()
    for answer in (one, other):
        for each in (answer, *answer.get("results", ())):
            for name in echoed & each.keys():
                del each[name]
    assert one == other
    assert set(one) & {"results", "facts", "similar", "lines"}


def test_facts_are_listed_added_and_removed_by_label(named: "TestClient") -> None:
    fact = {"head": "wolf", "relation": "is a", "tail": "a new thing"}
    assert named.post("/facts", json={"facts": [fact]}).json()["added"] == 1
    found = named.get("/facts", params={"head": "Canis lupus", "tail": "a new thing"}).json()
    assert [(each["head"], each["relation"]) for each in found["facts"]] == [("wolf.n.01", "hypernym")]
    assert found["labels"] == {
        "entities": {"wolf.n.01": "wolf"},
        "relations": {"hypernym": "is a"},
        "kinds": {"wolf.n.01": "animal"},
    }
    assert named.get("/neighbors", params={"entity": "wolf"}).json()["entity"] == "wolf.n.01"
    assert named.request("DELETE", "/facts", json={"facts": [fact]}).json()["removed"] == 1


def test_answers_have_the_labels_that_others_wrote_before_them(api: "TestClient", zoo: Path) -> None:
    question = {"entity": "wolf.n.01", "relation": "hypernym", "stored": True, "k": 1000}
    with Store.open(zoo) as other:
        for label in ("hound", "canine"):
            other.naming.describe("entity", "dog.n.01", label=label)
            assert api.post("/predict", json=question).json()["labels"]["entities"] == {"dog.n.01": label}


def test_a_label_that_several_have_asks_which(named: "TestClient") -> None:
    answer = named.post("/missing", json={"entity": "pet"})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (409, "ambiguous_name")
    assert sorted(error["suggestion"]) == ["cat.n.01", "dog.n.01"]


def test_writes_of_labels_need_what_writes_of_facts_need(reader: "TestClient") -> None:
    assert reader.post("/entities", json={"entities": []}).status_code == 422
    assert reader.post("/entities", json={"entities": [{"id": "a", "colour": "red"}]}).status_code == 422


def test_suggestions_have_labels(named: "TestClient") -> None:
    error = named.post("/missing", json={"entity": "cannis lupus"}).json()["error"]
    assert "Canis lupus" in error["suggestion"]


@pytest.mark.parametrize(
    ("typed", "found_by"),
    [("wolf", None), ("lupus", "Canis lupus"), ("howls", ""), ("wofl.n.01", None)],
)
def test_what_is_found_says_by_what(named: "TestClient", typed: str, found_by: str | None) -> None:
    (wolf,) = [
        each
        for each in named.get("/entities", params={"search": typed}).json()["entities"]
        if each["name"] == "wolf.n.01"
    ]
    assert wolf.get("found_by") == found_by


def test_questions_worth_asking_have_answers_that_are_not_stored(named: "TestClient") -> None:
    found = named.get("/questions", params={"limit": 3}).json()
    assert 0 < len(found["questions"]) <= 3
    for each in found["questions"]:
        fact = {name: each[name] for name in ("head", "relation", "tail")}
        assert not named.get("/facts", params=fact).json()["facts"]
        assert each["direction"] in ("head", "tail")
    assert named.get("/questions", params={"limit": 0}).status_code == 422
