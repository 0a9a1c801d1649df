from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmem.knowledge.store.store import Store
from hmem.serve.context import time_of
from hmem.serve.errors import ApiError
from tests.knowledge.living import TOY_FACTS
from tests.serve.clients import DOG, NEW, code_of, error_of, fact
from tests.serve.conftest import Serve

if TYPE_CHECKING:
    from starlette.testclient import TestClient

ODD = "<script>alert('1')</script>\n\t\"&=+/?#%00 \N{SNOWMAN}\N{PILE OF POO} \N{ZERO WIDTH JOINER}"


def triples(found: dict[str, list[dict[str, str]]]) -> list[tuple[str, str, str]]:
    return [(each["head"], each["relation"], each["tail"]) for each in found["facts"]]


def test_facts_by_any_of_their_names(reader: "TestClient") -> None:
    assert triples(reader.get("/facts", params={"limit": 1000}).json()) == TOY_FACTS
    for pattern in ({"head": "dog.n.01"}, {"relation": "part_of"}, {"tail": "dog.n.01", "relation": "hyponym"}):
        wanted = [each for each in TOY_FACTS if fact(*each) | pattern == fact(*each)]
        assert triples(reader.get("/facts", params=pattern).json()) == wanted


def test_facts_page_by_page(reader: "TestClient") -> None:
    first = reader.get("/facts", params={"limit": 30}).json()
    second = reader.get("/facts", params={"limit": 30, "offset": 30}).json()
    assert (first["more"], second["more"]) == (True, False)
    assert triples(first) + triples(second) == TOY_FACTS


def test_a_fact_is_stored_with_its_source_and_used_by_the_next_answer(api: "TestClient", zoo: Path) -> None:
    body = {"facts": [fact(NEW, "hypernym", "wolf.n.01", confidence=0.5), fact(*TOY_FACTS[0])], "source": "me"}
    answer = api.post("/facts", json=body)
    assert (answer.status_code, answer.json()) == (201, {"moment": 2, "added": 1, "unchanged": 1})
    (found,) = api.get("/facts", params={"head": NEW}).json()["facts"]
    assert (found["source"], found["confidence"]) == ("me", 0.5)
    with Store.open(zoo, read_only=True) as store:
        assert next(store.listing(head=NEW)).names == (NEW, "hypernym", "wolf.n.01")
    assert api.post("/predict", json={"entity": NEW, "relation": "hyponym", "direction": "head"}).status_code == 200
    assert api.post("/facts", json=body).json() == {"moment": 2, "added": 0, "unchanged": 2}


def test_a_fact_is_stored_with_the_days_on_which_it_held(api: "TestClient") -> None:
    timed = fact(NEW, "hypernym", "wolf.n.01", valid_from="2019-05", valid_until="2020")
    assert api.post("/facts", json={"facts": [timed]}).status_code == 201
    (found,) = api.get("/facts", params={"head": NEW}).json()["facts"]
    assert (found["valid_from"], found["valid_until"]) == ("2019-05-01", "2020-12-31")
    assert (found["inferred_by"], found["probability"]) == (None, None)
    (neighbor,) = api.get("/neighbors", params={"entity": NEW}).json()["facts"]
    assert neighbor["valid_until"] == "2020-12-31"
    wrong = api.post("/facts", json={"facts": [fact(NEW, "hypernym", "dog.n.01", valid_from="May")]})
    assert code_of(wrong) == (422, "invalid")


def test_inferred_facts_over_http(api: "TestClient") -> None:
    body = {"entity": "wolf.n.01", "k": 40, "least": 0.01}
    done = api.post("/infer", json=body)
    assert (done.status_code, done.json()["moment"]) == (201, 2)
    inferred = api.get("/facts", params={"inferred": True}).json()["facts"]
    assert len(inferred) == done.json()["added"] > 0
    assert all(each["probability"] >= 0.01 and "@" in each["inferred_by"] for each in inferred)
    assert triples(api.get("/facts", params={"inferred": False, "limit": 1000}).json()) == TOY_FACTS
    missing = api.post("/missing", json={"entity": "wolf.n.01", "k": 40}).json()["facts"]
    assert sum("inferred_by" in each for each in missing) == len(inferred)
    low = min(each["probability"] for each in inferred)
    assert api.request("DELETE", "/infer", json={"below": low}).json()["withdrawn"] == 0
    asserted = {part: inferred[0][part] for part in ("head", "relation", "tail")}
    assert api.post("/facts", json={"facts": [asserted]}).json()["added"] == 1
    assert api.request("DELETE", "/infer", json={}).json()["withdrawn"] == len(inferred) - 1
    assert api.get("/facts", params={"inferred": True}).json()["facts"] == []


def test_without_probabilities_nothing_is_inferred(tmp_path: Path, serve: Serve) -> None:
    from hmem.knowledge.base import KnowledgeBase

    KnowledgeBase.create(tmp_path / "small.kb", facts=[("a", "r", "b"), ("b", "r", "c"), ("c", "s", "d")]).close()
    refused = serve(tmp_path / "small.kb", allow_writes=True).post("/infer", json={"entity": "a"})
    assert code_of(refused) == (422, "invalid")
    assert "not calibrated" in refused.json()["error"]["message"]


def test_days_are_revised_over_http(api: "TestClient") -> None:
    stored = {**fact(*TOY_FACTS[0]), "valid_until": "2020"}
    kept = api.post("/facts", json={"facts": [stored]}).json()
    assert (kept["added"], kept["unchanged"], kept["kept"]) == (0, 1, 1)
    done = api.post("/facts", json={"facts": [stored], "revise": True, "source": "me"}).json()
    assert (done["added"], done["revised"]) == (0, 1)
    found = api.get("/facts", params=fact(*TOY_FACTS[0])).json()["facts"]
    assert [each["valid_until"] for each in found] == ["2020-12-31"]
    new, old = api.get("/history", params=fact(*TOY_FACTS[0])).json()["facts"]
    assert (new["added_at"], new["source"]) == (old["removed_at"], "me")


def test_an_answer_changes_with_the_facts_and_back(api: "TestClient") -> None:
    def answers() -> object:
        return api.post("/predict", json={**DOG, "stored": False}).json()["results"][0]["answers"]

    body = {"facts": [fact("dog.n.01", "part_of", "carnivore.n.01")], "source": "me"}
    before = answers()
    api.post("/facts", json=body)
    assert answers() != before
    answer = api.request("DELETE", "/facts", json=body)
    assert (answer.status_code, answer.json()) == (200, {"moment": 3, "removed": 1, "unchanged": 0})
    assert answers() == before
    assert api.request("DELETE", "/facts", json=body).json() == {"moment": 3, "removed": 0, "unchanged": 1}


def test_the_history_remembers_who_and_when(api: "TestClient") -> None:
    body = {"facts": [fact(NEW, "hypernym", "wolf.n.01")], "source": "me"}
    api.post("/facts", json=body)
    api.request("DELETE", "/facts", json={**body, "source": "you"})
    (story,) = api.get("/history", params={"head": NEW}).json()["facts"]
    assert (story["source"], story["removed_by"]) == ("me", "you")
    assert story["added_at"] < story["removed_at"]
    latest = api.get("/history", params={"limit": 1}).json()
    assert (triples(latest), latest["more"]) == ([(NEW, "hypernym", "wolf.n.01")], True)
    assert api.get("/facts", params={"head": NEW}).json()["facts"] == []


def test_facts_as_they_were(api: "TestClient") -> None:
    api.post("/facts", json={"facts": [fact(NEW, "hypernym", "wolf.n.01")]})
    (story,) = api.get("/history", params={"head": NEW}).json()["facts"]
    for as_of, count in ((1, 0), (2, 1), ("2020-01-01", 0), (story["added_at"], 1), ("2020-01-01T00:00:00+02:00", 0)):
        assert len(api.get("/facts", params={"head": NEW, "as_of": as_of}).json()["facts"]) == count
    assert api.get("/facts?as_of=2020-01-01T00:00:00+02:00").json()["facts"] == []  # a plus that was not escaped
    assert code_of(api.get("/facts", params={"as_of": "yesterday"})) == (422, "invalid")


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("17", 17),
        ("2026-05-01", datetime(2026, 5, 1, tzinfo=UTC)),
        ("2026-05-01T12:30", datetime(2026, 5, 1, 12, 30, tzinfo=UTC)),
        ("2026-05-01 12:30", datetime(2026, 5, 1, 12, 30, tzinfo=UTC)),
        ("2026-05-01T12:30Z", datetime(2026, 5, 1, 12, 30, tzinfo=UTC)),
        ("2026-05-01T12:30+02:00", datetime(2026, 5, 1, 10, 30, tzinfo=UTC)),
    ],
)
def test_times(text: str, time: object) -> None:
    assert time_of(text) == time


@given(st.text(max_size=40))
def test_any_text_is_a_time_or_refused(text: str) -> None:
    with suppress(ApiError):
        assert isinstance(time_of(text), int | datetime)


@pytest.mark.parametrize("text", ["", "-1", "0001-01-01T00:00+23:00", "9999-12-31T23:59-23:00", "١٧"])
def test_no_times(text: str) -> None:
    with pytest.raises(ApiError, match="is no time"):
        time_of(text)


def test_names_may_hold_anything(api: "TestClient") -> None:
    body = {"facts": [fact(ODD, "hypernym", "wolf.n.01")], "source": ODD}
    assert api.post("/facts", json=body).status_code == 201
    (found,) = api.get("/facts", params={"head": ODD}).json()["facts"]
    assert (found["head"], found["source"]) == (ODD, ODD)
    assert api.get("/neighbors", params={"entity": ODD}).json()["entity"] == ODD
    assert api.get("/entities", params={"search": ODD}).json()["entities"][0]["name"] == ODD
    answer = api.post("/predict", json={"entity": ODD, "relation": "hyponym", "direction": "head"})
    assert answer.json()["results"][0]["query"]["entity"] == ODD
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert api.request("DELETE", "/facts", json=body).json()["removed"] == 1


def test_removing_names_that_are_not_there_is_an_error_and_removes_nothing(reader: "TestClient") -> None:
    body = {"facts": [fact(*TOY_FACTS[0]), fact("dig.n.01", "hypernym", "canine.n.02")]}
    answer = reader.request("DELETE", "/facts", json=body)
    assert code_of(answer) == (404, "unknown_name")
    assert error_of(answer)["suggestion"][0] == "dog.n.01"
    assert triples(reader.get("/facts", params={"limit": 1000}).json()) == TOY_FACTS


@pytest.mark.parametrize("method", ["POST", "DELETE"])
@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"facts": []}, 422),
        ({"facts": [fact("a", "b", "")]}, 422),
        ({"facts": [{"head": "a", "relation": "b"}]}, 422),
        ({"facts": [fact("a", "b", "c", confidence=2)]}, 422),
        ({"facts": [fact("a", "b", "c", confidence="high")]}, 422),
        ({"facts": [fact("a", "b", "c")], "source": ""}, 422),
        ({"facts": [fact("a", "b", "c")] * 1001}, 413),
        ({"facts": [fact("a", "b", "c" * 10_001)]}, 413),
        ({"facts": [fact("a", "b", "c" * 9_000)] * 120}, 413),
    ],
)
def test_a_write_that_makes_no_sense_is_refused(
    reader: "TestClient", method: str, body: dict[str, object], status: int
) -> None:
    assert code_of(reader.request(method, "/facts", json=body)) == (
        status,
        {422: "invalid", 413: "too_large"}[status],
    )
    assert reader.get("/graph").json()["moment"] == 1


def test_a_name_that_cannot_be_stored_is_refused(api: "TestClient") -> None:
    answer = api.post("/facts", json={"facts": [fact("a\0b", "hypernym", "wolf.n.01")]})
    assert code_of(answer) == (422, "invalid")
    assert "NUL" in error_of(answer)["message"]
    headers = {"content-type": "application/json"}
    for number in (b"NaN", b"Infinity", b"1e999"):
        content = b'{"facts": [{"head": "a", "relation": "b", "tail": "c", "confidence": %s}]}' % number
        assert code_of(api.post("/facts", content=content, headers=headers)) == (422, "invalid")


@pytest.mark.parametrize("path", ["/facts", "/history"])
def test_listing_names_that_are_not_there(reader: "TestClient", path: str) -> None:
    answer = reader.get(path, params={"head": "dogg.n.01"})
    assert code_of(answer) == (404, "unknown_name")
    assert error_of(answer)["suggestion"][0] == "dog.n.01"
    assert code_of(reader.get(path, params={"relation": "hyponyms"})) == (404, "unknown_name")
    assert code_of(reader.get(path, params={"limit": "many"})) == (422, "invalid")


def test_writes_are_off_unless_told_otherwise(serve: Serve, zoo: Path) -> None:
    client = serve(zoo)
    for method in ("POST", "DELETE"):
        answer = client.request(method, "/facts", json={"facts": [fact(*TOY_FACTS[0])]})
        assert code_of(answer) == (403, "writes_off")
        answer = client.request(method, "/facts", json={"facts": [fact("dingo", "eats", "mutton")]})
        assert code_of(answer) == (403, "writes_off")  # and not whether they are known
    assert client.get("/graph").json()["writes"] is False


def test_a_token_opens_writes(serve: Serve, zoo: Path) -> None:
    client = serve(zoo, token="s3cret 1", allow_writes=True)  # with a token, every write needs it
    body = {"facts": [fact(NEW, "hypernym", "wolf.n.01")]}
    for shown in (None, "s3cret 1", "Bearer", "Bearer ", "Bearer s3cret", "Bearer s3cret 12", "Basic s3cret 1"):
        for method in ("POST", "DELETE"):
            headers = {} if shown is None else {"authorization": shown}
            answer = client.request(method, "/facts", json=body, headers=headers)
            assert code_of(answer) == (401, "unauthorized")
            assert answer.headers["www-authenticate"] == "Bearer"
    assert client.post("/facts", json=body, headers={"authorization": "bearer s3cret 1"}).status_code == 201
    graph = client.get("/graph").json()
    assert (graph["writes"], graph["token"], graph["moment"]) == (True, True, 2)
