"""Values over HTTP: shown as they were written, set in one write, as of any moment."""

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from starlette.testclient import TestClient

LEGS: dict[str, Any] = {"entity": "wolf.n.01", "property": "legs", "text": "4", "datatype": "xsd:integer"}
TALL: dict[str, Any] = {"entity": "wolf.n.01", "property": "height", "text": "0.8", "unit": "m"}
TALL["datatype"] = "xsd:decimal"


@pytest.fixture
def valued(api: "TestClient") -> "TestClient":
    body = {"values": [LEGS, TALL, {"entity": "nobody", "property": "legs", "text": "2"}], "source": "me"}
    answer = api.post("/values", json=body)
    assert answer.json() == {"moment": 2, "added": 2, "removed": 0, "unchanged": 0, "unknown": ["nobody"]}
    return api


def test_values_are_listed_with_their_datatypes_and_units(valued: "TestClient") -> None:
    valued.post("/entities", json={"entities": [{"id": "wolf.n.01", "label": "wolf"}, {"id": "legs", "label": "paws"}]})
    found = valued.get("/values", params={"entity": "Wolf"}).json()
    assert found["entity"] == "wolf.n.01"
    lines = [{name: row[name] for name in row if name != "added_at"} for row in found["values"]]
    assert lines == [
        {"property": "legs", "text": "4", "datatype": "xsd:integer", "shown": "4", "source": "me"} | {"label": "paws"},
        {"property": "height", "text": "0.8", "datatype": "xsd:decimal", "unit": "m", "shown": "0.8 m", "source": "me"},
    ]
    only = valued.get("/values", params={"entity": "wolf.n.01", "property": "paws", "limit": 1}).json()
    assert ([row["text"] for row in only["values"]], only["more"]) == (["4"], False)


def test_what_is_said_later_takes_the_place_and_the_past_can_be_seen(valued: "TestClient") -> None:
    answer = valued.post("/values", json={"values": [{**LEGS, "text": "3"}]}).json()
    assert (answer["added"], answer["removed"]) == (1, 1)
    then = valued.get("/values", params={"entity": "wolf.n.01", "as_of": "2", "property": "legs"}).json()
    assert [row["text"] for row in then["values"]] == ["4"]
    assert valued.get("/values", params={"entity": "dog.n.01"}).json() == {
        "entity": "dog.n.01",
        "values": [],
        "more": False,
    }


def test_properties_are_summed_up(valued: "TestClient") -> None:
    height = valued.get("/properties").json()["properties"][1]
    assert height == {
        "id": "height",
        "values": 1,
        "entities": 1,
        "datatype": "xsd:decimal",
        "unit": "m",
        "lowest": "0.8",
        "median": "0.8",
        "highest": "0.8",
    }


def test_what_is_unknown_or_malformed_is_refused(valued: "TestClient") -> None:
    unknown = valued.get("/values", params={"entity": "wolff.n.01"})
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "unknown_name")
    assert valued.get("/values", params={"entity": "wolf.n.01", "property": "age"}).status_code == 404
    assert valued.post("/values", json={"values": [{**LEGS, "value": 4}]}).status_code == 422
    assert valued.post("/values", json={"values": []}).status_code == 422
    assert valued.post("/values", json={"values": [{**LEGS, "text": "a\0"}]}).status_code == 422


def test_a_value_can_be_asked_for(valued: "TestClient") -> None:
    few = valued.get("/estimate", params={"entity": "wolf.n.01", "property": "legs"})
    assert (few.status_code, few.json()["error"]["code"]) == (422, "invalid")
    names = [each["name"] for each in valued.get("/entities", params={"limit": 100}).json()["entities"]]
    many = [names[each % len(names)] for each in range(25)]
    facts = [{"head": f"n{each}", "relation": "hypernym", "tail": many[each % 3]} for each in range(25)]
    valued.post("/facts", json={"facts": facts})
    ages = [
        {"entity": f"n{each}", "property": "age", "text": str(each % 3), "datatype": "xsd:integer"}
        for each in range(25)
    ]
    valued.post("/values", json={"values": ages})
    found = valued.get("/estimate", params={"entity": "n1", "property": "age"}).json()
    assert (found["entity"], found["known"], found["stored"], found["family"]) == ("n1", 24, ["1"], "number")
    assert int(found["low"]) <= int(found["median"]) <= int(found["high"])
    assert valued.get("/estimate", params={"entity": "n1", "property": "weight"}).status_code == 404
