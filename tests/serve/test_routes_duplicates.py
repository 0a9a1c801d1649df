"""Duplicates, merges and undoing over HTTP."""

from typing import TYPE_CHECKING

from tests.serve.clients import code_of, fact
from tests.serve.conftest import Serve

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.testclient import TestClient


def test_from_a_proposal_to_a_merge_and_back(api: "TestClient") -> None:
    twin = [fact("greyhounnd", "hypernym", "dog.n.01"), fact("greyhounnd", "has_part", "tail.n.77")]
    api.post("/facts", json={"facts": [*twin, fact("greyhound", "has_part", "tail.n.77")]})
    api.post("/facts", json={"facts": [fact("greyhound", "hypernym", "dog.n.01")]})
    (pair, *_) = api.get("/duplicates", params={"limit": 1}).json()["pairs"]
    assert {pair["kept"], pair["other"]} == {"greyhound", "greyhounnd"}
    assert pair["reasons"][0].startswith("names nearly alike")
    done = api.post("/merge", json={"kept": "greyhound", "other": "greyhounnd", "source": "me"}).json()
    assert (done["moved"], done["stored_before"], done["aliases"]) == (0, 2, ["greyhounnd"])
    neighbors = api.get("/neighbors", params={"entity": "greyhounnd"}).json()
    assert (neighbors["entity"], neighbors["total"]) == ("greyhound", 2)
    undone = api.post("/undo", json={"moment": done["moment"]}).json()
    assert (undone["restored"], undone["removed"], undone["left"]) == (2, 1, 0)
    assert api.get("/neighbors", params={"entity": "greyhounnd"}).json()["entity"] == "greyhounnd"


def test_a_new_name_and_back(api: "TestClient") -> None:
    api.post("/facts", json={"facts": [fact("wolf.n.01", "barks_at", "dog.n.01")]})
    done = api.post("/rename", json={"name": "wolf.n.01", "new": "grey_wolf", "source": "me"}).json()
    assert (done["name"], done["was"]) == ("grey_wolf", "wolf.n.01")
    neighbors = api.get("/neighbors", params={"entity": "wolf.n.01"}).json()
    assert (neighbors["entity"], neighbors["total"]) == ("grey_wolf", done["moved"])
    done = api.post("/rename", json={"name": "barks_at", "new": "howls_at", "of": "relation"}).json()
    assert done["moved"] == 1
    (first, second) = api.get("/writes", params={"limit": 2}).json()["writes"]
    assert (first["moment"], second["source"]) == (done["moment"], "me")
    undone = api.post("/undo", json={"moment": second["moment"], "and_later": True}).json()
    assert undone["left"] == 0
    assert api.get("/facts", params={"relation": "barks_at"}).json()["facts"][0]["head"] == "wolf.n.01"


def test_an_entity_is_taken_out(api: "TestClient") -> None:
    total = api.get("/neighbors", params={"entity": "wolf.n.01"}).json()["total"]
    done = api.request("DELETE", "/entity", json={"entity": "wolf.n.01"}).json()
    assert (done["entity"], done["facts"]) == ("wolf.n.01", total)
    assert api.get("/neighbors", params={"entity": "wolf.n.01"}).json()["total"] == 0
    assert api.request("DELETE", "/entity", json={"entity": "wolf.n.01"}).json()["facts"] == 0
    assert code_of(api.request("DELETE", "/entity", json={"entity": "no such"})) == (404, "unknown_name")


def test_what_cannot_be_done(api: "TestClient", zoo: "Path", serve: Serve) -> None:
    assert code_of(api.post("/merge", json={"kept": "dog.n.01", "other": "dog.n.01"})) == (422, "invalid")
    assert code_of(api.post("/merge", json={"kept": "dog.n.01", "other": "no such"})) == (404, "unknown_name")
    assert code_of(api.post("/undo", json={"moment": 999})) == (422, "invalid")
    locked = serve(zoo)
    assert code_of(locked.post("/merge", json={"kept": "a", "other": "b"})) == (403, "writes_off")
    assert code_of(locked.post("/undo", json={"moment": 1})) == (403, "writes_off")
