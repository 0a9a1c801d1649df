from pathlib import Path
from typing import TYPE_CHECKING

from hmem.knowledge.base import KnowledgeBase
from tests.knowledge.living import RELATIONS, TOY_FACTS, TRAINED, UNTRAINED
from tests.serve.clients import NEW, code_of, fact
from tests.serve.conftest import Serve

if TYPE_CHECKING:
    from starlette.testclient import TestClient


def test_the_whole(api: "TestClient", zoo: Path) -> None:
    found = api.get("/graph").json()
    assert found.pop("created") is not None
    assert found == {
        "path": "zoo.kb",
        "facts": len(TOY_FACTS),
        "entities": len(TRAINED),
        "relations": len(RELATIONS),
        "moment": 1,
        "model": {
            "name": "toy",
            "status": "ready",
            "preset": "recall",
            "dataset": "toy",
            "calibrated": True,
            "weighs": True,
            "trouble": None,
        },
        "writes": True,
        "token": False,
    }
    api.post("/facts", json={"facts": [fact(NEW, "hypernym", "wolf.n.01")]})
    api.request("DELETE", "/facts", json={"facts": [fact(*TOY_FACTS[0]), fact(*TOY_FACTS[1])]})
    after = api.get("/graph").json()
    assert (after["facts"], after["entities"], after["moment"]) == (len(TOY_FACTS) - 1, len(TRAINED) + 1, 3)


def test_a_base_without_anything(serve: Serve, tmp_path: Path) -> None:
    KnowledgeBase.create(tmp_path / "empty.kb").close()
    empty = serve(tmp_path / "empty.kb")
    found = empty.get("/graph").json()
    assert (found["facts"], found["created"], found["writes"]) == (0, None, False)
    assert (found["model"]["name"], found["model"]["status"]) == ("any-graph", "ready")
    assert empty.get("/relations").json() == {"relations": []}
    assert empty.get("/entities").json() == {"entities": [], "more": False}
    assert empty.get("/entities", params={"search": "dog"}).json() == {"entities": [], "more": False}
    assert empty.get("/facts").json() == {"facts": [], "more": False}
    assert empty.get("/history").json() == {"facts": [], "more": False}
    about = empty.get("/model").json()
    assert (about["kind"], about["entities"], about["relations"]) == ("propagation", 0, 0)
    assert (about["binding"], about["entity_dim"], about["dim"] > 0, about["steps"] > 0) == (None, None, True, True)
    assert code_of(empty.get("/neighbors", params={"entity": "dog"})) == (404, "unknown_name")


def test_the_model(api: "TestClient") -> None:
    api.post("/facts", json={"facts": [fact(NEW, "hypernym", "wolf.n.01")]})
    found = api.get("/model").json()
    assert found.pop("parameters") > 100
    assert found.pop("entity_dim") > found.pop("relation_dim") > 1
    assert found == {
        "name": "toy",
        "preset": "recall",
        "dataset": "toy",
        "kind": "explicit",
        "binding": "tpr",
        "dim": None,
        "steps": None,
        "entities": len(TRAINED) + 1,  # and one that it lists but never met
        "relations": len(RELATIONS),
        "metrics": [
            {"split": "valid", "graph": "train", "mrr": 0.0, "mr": 0.125, "hits_at_1": 0.25, "hits_at_10": 0.625}
        ],
        "calibration_error": 0.02,
        "calibration_top_error": 0.03,
        "trained_until": 1,
        "unseen": 1,
    }


def test_relations_with_what_they_can_be_used_for(api: "TestClient") -> None:
    api.post("/facts", json={"facts": [fact("dog.n.01", "eats", "bone.n.01")]})
    found = api.get("/relations").json()["relations"]
    assert [each["name"] for each in found] == ["hypernym", "hyponym", "part_of", "similar_to", "eats"]
    assert [each["usable"] for each in found] == [True] * 4 + [False]
    counts = [sum(relation == each["name"] for _, relation, _ in TOY_FACTS) for each in found[:4]]
    assert [each["facts"] for each in found] == [*counts, 1]


def test_without_a_model_of_its_own_a_base_uses_every_relation_and_knows_no_new_entity(
    serve: Serve, tmp_path: Path
) -> None:
    KnowledgeBase.create(tmp_path / "bare.kb", facts=TOY_FACTS).close()
    bare = serve(tmp_path / "bare.kb")
    assert [each["usable"] for each in bare.get("/relations").json()["relations"]] == [True] * 4
    assert not any(each["new"] for each in bare.get("/entities").json()["entities"])


def names(found: dict[str, list[dict[str, object]]]) -> list[object]:
    return [each["name"] for each in found["entities"]]


def test_entities_are_found_as_they_are_typed(reader: "TestClient") -> None:
    found = reader.get("/entities", params={"search": "wolf"}).json()
    assert names(found)[:3] == ["wolf.n.01", "timber_wolf.n.01", "white_wolf.n.01"]
    degree = sum("wolf.n.01" in (head, tail) for head, _, tail in TOY_FACTS)
    assert found["entities"][0] == {"name": "wolf.n.01", "facts": degree, "new": False}
    assert names(reader.get("/entities", params={"search": "Timber W"}).json())[0] == "timber_wolf.n.01"
    assert names(reader.get("/entities", params={"search": "carnivroe"}).json())[0] == "carnivore.n.01"
    assert names(reader.get("/entities", params={"search": "qqq"}).json()) == []


def test_without_a_word_those_with_most_facts_come_first(reader: "TestClient") -> None:
    found = reader.get("/entities", params={"limit": 3}).json()
    assert found["more"] is True
    facts = [each["facts"] for each in found["entities"]]
    assert facts == sorted(facts, reverse=True)
    assert facts[0] == max(sum(name in (head, tail) for head, _, tail in TOY_FACTS) for name in TRAINED)
    assert reader.get("/entities", params={"limit": 1000}).json()["more"] is False


def test_a_new_entity_is_found_at_once_and_said_to_be_new(api: "TestClient") -> None:
    assert api.get("/entities", params={"search": "dire"}).json()["entities"] == []
    api.post("/facts", json={"facts": [fact(NEW, "hypernym", "wolf.n.01"), fact(UNTRAINED, "hypernym", NEW)]})
    (found,) = api.get("/entities", params={"search": "dire"}).json()["entities"]
    assert found == {"name": NEW, "facts": 2, "new": True}
    assert api.get("/entities", params={"search": UNTRAINED}).json()["entities"][0]["new"] is True  # listed, never met
    api.request("DELETE", "/facts", json={"facts": [fact(NEW, "hypernym", "wolf.n.01")]})
    assert api.get("/entities", params={"search": NEW}).json()["entities"][0]["facts"] == 1


def test_neighbors_as_head_and_as_tail(reader: "TestClient") -> None:
    found = reader.get("/neighbors", params={"entity": "dog.n.01"}).json()
    stored = [each for each in TOY_FACTS if "dog.n.01" in (each[0], each[2])]
    assert (found["entity"], found["new"], found["total"]) == ("dog.n.01", False, len(stored))
    shown = [(each["head"], each["relation"], each["tail"]) for each in found["facts"]]
    assert sorted(shown) == sorted(stored)
    assert [each["role"] for each in found["facts"]] == ["head" if head == "dog.n.01" else "tail" for head, *_ in shown]
    assert {(each["source"], each["confidence"], each["weight"]) for each in found["facts"]} == {
        ("created", None, None)
    }
    few = reader.get("/neighbors", params={"entity": "dog.n.01", "limit": 2}).json()
    assert (len(few["facts"]), few["total"]) == (2, len(stored))


def test_a_fact_about_an_entity_and_itself_is_one_neighbor(api: "TestClient") -> None:
    found = api.get("/neighbors", params={"entity": "fur.n.01", "relation": "part_of"}).json()
    loops = [each for each in found["facts"] if each["head"] == each["tail"]]
    assert [each["role"] for each in loops] == ["head"]
    assert found["total"] == len(found["facts"]) == 2
    assert all(0 < each["weight"] < 1 for each in found["facts"])


def test_weights_are_those_of_the_explanation_and_the_heaviest_come_first(reader: "TestClient") -> None:
    for direction in ("tail", "head"):
        asked = {"entity": "wolf.n.01", "relation": "part_of", "direction": direction}
        facts = reader.get("/neighbors", params=asked).json()["facts"]
        weights = {(each["head"], each["relation"], each["tail"]): each["weight"] for each in facts}
        assert list(weights.values()) == sorted(weights.values(), reverse=True)
        ends = ("wolf.n.01", "part_of", "cat.n.01") if direction == "tail" else ("cat.n.01", "part_of", "wolf.n.01")
        lines = reader.post("/explain", json=fact(*ends, direction=direction)).json()["lines"]
        explained = {tuple(line["facts"][0]): line["weight"] for line in lines if line["kind"] == "fact"}
        assert explained.keys() == weights.keys()
        for each, weight in explained.items():
            assert abs(weights[each] - weight) < 1e-6


def test_a_fact_the_model_cannot_use_has_no_weight(api: "TestClient") -> None:
    api.post("/facts", json={"facts": [fact("dog.n.01", "eats", "bone.n.01")]})
    facts = api.get("/neighbors", params={"entity": "dog.n.01", "relation": "hypernym"}).json()["facts"]
    assert [each["weight"] is None for each in facts] == [False] * (len(facts) - 1) + [True]


def test_an_entity_of_the_model_without_facts_has_no_neighbors(reader: "TestClient") -> None:
    found = reader.get("/neighbors", params={"entity": UNTRAINED}).json()
    assert found == {"entity": UNTRAINED, "new": True, "total": 0, "facts": []}


def test_the_address_of_before_is_still_there(reader: "TestClient") -> None:
    asked = {"entity": "dog.n.01"}
    assert reader.get("/neighbours", params=asked).json() == reader.get("/neighbors", params=asked).json()
    assert "/neighbours" not in reader.get("/openapi.json").json()["paths"]


def test_neighbors_of_an_entity_that_is_not_there(api: "TestClient") -> None:
    assert code_of(api.get("/neighbors", params={"entity": "dig.n.01"})) == (404, "unknown_name")
    asked = {"entity": "dog.n.01", "relation": "eats"}
    assert code_of(api.get("/neighbors", params=asked)) == (404, "unknown_name")
    api.post("/facts", json={"facts": [fact("dog.n.01", "eats", "bone.n.01")]})
    assert code_of(api.get("/neighbors", params=asked)) == (409, "not_trained")
    assert code_of(api.get("/neighbors")) == (422, "invalid")
    assert code_of(api.get("/neighbors", params={"entity": "dog.n.01", "direction": "up"})) == (422, "invalid")
    assert code_of(api.get("/neighbors", params={"entity": "x" * 10_001})) == (413, "too_large")
    assert code_of(api.get("/entities", params={"limit": 0})) == (422, "invalid")
    assert code_of(api.get("/entities", params={"limit": 1001})) == (422, "invalid")
