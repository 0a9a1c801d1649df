import json
import math
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hmem.knowledge.base import KnowledgeBase
from hmem.knowledge.explanation import Reason, Reasons
from hmem.serve.routes_ask import lines_of
from tests.knowledge.living import RELATIONS, TOY_FACTS, TRAINED, UNTRAINED
from tests.serve.clients import DOG, NEW, code_of, error_of, fact
from tests.serve.conftest import Serve

if TYPE_CHECKING:
    from starlette.testclient import TestClient

QUESTIONS: list[dict[str, Any]] = [
    {"entity": entity, "relation": relation, "direction": direction, "stored": stored}
    for entity in TRAINED
    for relation in RELATIONS
    for direction in ("tail", "head")
    for stored in (True, False)
]


def expected(kb: KnowledgeBase, question: dict[str, Any], k: int) -> list[dict[str, Any]]:
    found = kb.predict(
        question["entity"], question["relation"], k, direction=question["direction"], new_only=not question["stored"]
    )
    return [
        {
            "rank": each.rank,
            "name": each.tail if question["direction"] == "tail" else each.head,
            "score": pytest.approx(each.score, abs=1e-4),
            "probability": each.probability,
            "if_missing": each.if_missing,
            "stored": each.stored,
        }
        for each in found
    ]


def test_a_question_is_answered_as_the_library_answers_it(reader: "TestClient", zoo: Path) -> None:
    with KnowledgeBase.open(zoo, read_only=True) as kb:
        for question in QUESTIONS[::5]:
            answer = reader.post("/predict", json={**question, "k": 4})
            assert answer.status_code == 200
            (result,) = answer.json()["results"]
            assert result["query"] == {**question, "k": 4}
            assert result["answers"] == expected(kb, question, 4)


def test_questions_about_a_time(api: "TestClient") -> None:
    stored = fact("wolf.n.01", "hyponym", "timber_wolf.n.01")
    api.request("DELETE", "/facts", json={"facts": [stored]})
    api.post("/facts", json={"facts": [{**stored, "valid_from": "2020"}]})
    asked = {"entity": "wolf.n.01", "relation": "hyponym", "k": 18}
    both = api.post("/predict", json={"queries": [{**asked, "at": "2019-12"}, asked, {**asked, "at": "2020"}]}).json()
    then, now, later = ([each["name"] for each in found["answers"]] for found in both["results"])
    assert (stored["tail"] in then, stored["tail"] in now, stored["tail"] in later) == (True, False, False)
    assert [found["query"].get("at") for found in both["results"]] == ["2019-12", None, "2020"]
    assert api.post("/explain", json={**stored, "at": "2019"}).json()["stored"] is False
    assert api.post("/explain", json=stored).json()["stored"] is True
    facts = [list(stored.values())]
    scored = [api.post("/score", json={"facts": facts, "at": at}).json()["results"][0] for at in ("2019", "2020")]
    assert [each["stored"] for each in scored] == [False, True]
    about = {"entity": "wolf.n.01", "k": 40}
    missing = [api.post("/missing", json={**about, "at": at}).json()["facts"] for at in ("2019", "2020")]
    assert missing[0] != missing[1] == api.post("/missing", json=about).json()["facts"]
    for path, names in (("/facts", {"head": "wolf.n.01"}), ("/neighbors", {"entity": "wolf.n.01"})):
        counts = [len(api.get(path, params={**names, "at": at}).json()["facts"]) for at in ("2019", "2020")]
        assert counts[1] == counts[0] + 1
    assert code_of(api.post("/predict", json={**asked, "at": "May 2019"})) == (422, "invalid")
    assert code_of(api.get("/facts", params={"at": "May"})) == (422, "invalid")


def test_many_questions_at_once_have_the_answers_of_each(reader: "TestClient") -> None:
    asked = QUESTIONS[::3] + QUESTIONS[:3]  # some of them twice
    together = reader.post("/predict", json={"queries": asked, "k": 5}).json()["results"]
    assert len(together) == len(asked)
    for question, result in zip(asked, together, strict=True):
        (alone,) = reader.post("/predict", json={**question, "k": 5}).json()["results"]
        assert result["query"] == alone["query"]
        assert [row["name"] for row in result["answers"]] == [row["name"] for row in alone["answers"]]
        assert [row["score"] for row in result["answers"]] == pytest.approx(
            [row["score"] for row in alone["answers"]], abs=1e-4
        )


def test_k_and_what_is_stored_have_sensible_defaults(reader: "TestClient") -> None:
    (result,) = reader.post("/predict", json=DOG).json()["results"]
    assert result["query"] == {**DOG, "direction": "tail", "k": 10, "stored": False}
    assert len(result["answers"]) == 10
    assert not any(row["stored"] for row in result["answers"])
    for field in ("stored", "known"):  # the second is what it was called before
        (result,) = reader.post("/predict", json={**DOG, field: True}).json()["results"]
        assert [row["name"] for row in result["answers"] if row["stored"]] == ["canine.n.02"]
    asked = {"queries": [DOG, {**DOG, "k": 2}], "k": 3}
    assert [len(each["answers"]) for each in reader.post("/predict", json=asked).json()["results"]] == [3, 2]
    assert [len(each["answers"]) for each in reader.post("/predict", json={"queries": [DOG]}).json()["results"]] == [10]


def test_a_question_that_is_not_understood_says_what_is_missing(reader: "TestClient") -> None:
    answer = reader.post("/predict", json={"entity": "dog.n.01"})
    example = 'expected such as {"direction": "tail", "entity": "wolf.n.01", "k": 10, "relation": "_hyponym"'
    assert error_of(answer)["message"].startswith(f"relation: it is missing; {example}")
    answer = reader.post("/predict", json={"queries": [{"entity": "dog.n.01"}]})
    assert error_of(answer)["message"].startswith(f"queries.0.relation: it is missing; {example}")
    answer = reader.post("/score", json={"facts": [{"head": "dog.n.01"}]})
    assert 'expected such as {"facts": [["dire_wolf.n.01", ' in error_of(answer)["message"]
    answer = reader.post("/missing", json={"entity": "dog.n.01", "k": 0})
    assert "such as" not in error_of(answer)["message"]
    answer = reader.post("/predict", content=b'{"entity": "dog.n.01"}', headers={"Content-Type": "text/plain"})
    assert "sent with Content-Type: application/json" in error_of(answer)["message"]


def test_probabilities_are_calibrated(reader: "TestClient") -> None:
    rows = reader.post("/predict", json={**DOG, "stored": False}).json()["results"][0]["answers"]
    assert {row["probability"] for row in rows} <= {0.125, 0.875}


def test_an_entity_that_has_outgrown_training_has_none(toy_model: Path, tmp_path: Path, serve: Serve) -> None:
    folder = Path(shutil.copytree(toy_model, tmp_path / "model"))
    metrics = json.loads((folder / "metrics.json").read_text())
    metrics["calibration"]["most"] = [1] * 8
    (folder / "metrics.json").write_text(json.dumps(metrics))
    pups = [(f"pup{number}", "hypernym", "dog.n.01") for number in range(30)]
    KnowledgeBase.create(tmp_path / "large.kb", model=folder, facts=[*TOY_FACTS, *pups]).close()
    api = serve(tmp_path / "large.kb")
    for entity, has_any in (("dog.n.01", False), ("pup1", True)):
        (result,) = api.post("/predict", json={"entity": entity, "relation": "hypernym"}).json()["results"]
        assert {answer["probability"] is not None for answer in result["answers"]} == {has_any}


def test_facts_are_scored_with_their_rank(reader: "TestClient", zoo: Path) -> None:
    facts = [list(TOY_FACTS[0]), ["puppy.n.01", "similar_to", "dog.n.01"]]
    with KnowledgeBase.open(zoo, read_only=True) as kb:
        for direction in ("tail", "head"):
            results = reader.post("/score", json={"facts": facts, "direction": direction}).json()["results"]
            for row, each in zip(results, kb.score_many([tuple(f) for f in facts], direction=direction), strict=True):  # type: ignore[misc]
                assert (row["head"], row["relation"], row["tail"]) == each.names
                assert (row["rank"], row["stored"], row["probability"]) == (each.rank, each.stored, each.probability)
                assert row["score"] == pytest.approx(each.score, abs=1e-4)


def test_what_is_missing_and_who_is_alike(reader: "TestClient", zoo: Path) -> None:
    with KnowledgeBase.open(zoo, read_only=True) as kb:
        body = reader.post("/missing", json={"entity": "dog.n.01", "k": 3}).json()
        assert body["entity"] == "dog.n.01"
        assert [(row["head"], row["relation"], row["tail"]) for row in body["facts"]] == [
            each.names for each in kb.missing("dog.n.01", 3)
        ]
        assert [row["rank"] for row in body["facts"]] == [1, 2, 3]
        assert all(list(TOY_FACTS).count((row["head"], row["relation"], row["tail"])) == 0 for row in body["facts"])
        body = reader.post("/similar", json={"entity": "dog.n.01", "k": 3}).json()
        assert [(row["name"], row["similarity"]) for row in body["similar"]] == [
            (each.entity, pytest.approx(each.similarity)) for each in kb.similar("dog.n.01", 3)
        ]


@pytest.mark.parametrize("direction", ["tail", "head"])
def test_reasons_sum_to_the_total(reader: "TestClient", direction: str) -> None:
    asked = fact("wolf.n.01", "hypernym", "carnivore.n.01", direction=direction)
    body = reader.post("/explain", json=asked).json()
    assert {name: body[name] for name in asked} == asked
    assert body["stored"] is False
    assert math.exp(body["score"]) == pytest.approx(body["total"], rel=1e-3)
    assert sum(line["contribution"] for line in body["lines"]) == pytest.approx(body["total"], rel=1e-3)
    assert sum(line["share"] for line in body["lines"]) == pytest.approx(1)
    stored = set(TOY_FACTS)
    kinds = {line["kind"] for line in body["lines"]}
    assert {"fact", "dense"} <= kinds
    for line in body["lines"]:
        assert {tuple(each) for each in line["facts"]} <= stored
        assert (line["weight"] is not None) == (line["kind"] == "fact")
    few = reader.post("/explain", json={**asked, "k": 2}).json()["lines"]
    assert [line["kind"] for line in few][2:] == ["others"]
    assert sum(line["contribution"] for line in few) == pytest.approx(body["total"], rel=1e-3)


def test_the_strongest_lines_are_kept() -> None:
    def explained(*contributions: float) -> Reasons:
        rows = [Reason(kind="fact", facts=(), contribution=value) for value in contributions]
        return Reasons(rows, fact=("a", "b", "c"), score=0.0, total=total, probability=None, stored=False)

    total: float | None = 0.2
    reasons = explained(0.1, -0.4, 0.2, 0.3)
    assert [(line.kind, line.contribution) for line in lines_of(reasons, 2)] == [
        ("fact", -0.4),
        ("fact", 0.3),
        ("others", pytest.approx(0.3)),
    ]
    assert [line.share for line in lines_of(reasons, 4)] == [0.1, 0.4, 0.2, 0.3]
    assert lines_of(explained(), 3) == []
    total = None  # what was asked again without each fact does not add up
    assert [line.contribution for line in lines_of(explained(0.1, -0.4, 0.2, 0.3), 2)] == [-0.4, 0.3]


def test_a_stored_fact_that_nothing_else_speaks_for_has_no_score(api: "TestClient") -> None:
    assert api.post("/facts", json={"facts": [fact("dog.n.01", "hypernym", NEW)]}).status_code == 201
    answer = api.post("/score", json={"facts": [["dog.n.01", "hypernym", NEW]]})
    assert answer.json()["results"][0]["score"] is None
    answer = api.post("/predict", json={**DOG, "k": 1000, "stored": True})
    assert [row["score"] for row in answer.json()["results"][0]["answers"] if row["name"] == NEW] == [None]
    assert code_of(api.post("/explain", json=fact("dog.n.01", "hypernym", NEW))) == (409, "no_facts")


ASKING: list[tuple[str, Any]] = [
    ("/predict", {"entity": "ENTITY", "relation": "RELATION"}),
    ("/predict", {"queries": [DOG, {"entity": "ENTITY", "relation": "RELATION"}]}),
    ("/score", {"facts": [["dog.n.01", "hypernym", "wolf.n.01"], ["ENTITY", "RELATION", "dog.n.01"]]}),
    ("/explain", fact("ENTITY", "RELATION", "dog.n.01")),
]
ABOUT: list[tuple[str, Any]] = [("/missing", {"entity": "ENTITY"}), ("/similar", {"entity": "ENTITY"})]


def filled(body: Any, entity: str, relation: str) -> Any:
    """A request about other names."""
    if isinstance(body, dict):
        return {name: filled(value, entity, relation) for name, value in body.items()}
    if isinstance(body, list):
        return [filled(value, entity, relation) for value in body]
    return {"ENTITY": entity, "RELATION": relation}.get(body, body)


@pytest.mark.parametrize(("path", "body"), ASKING + ABOUT)
def test_a_name_that_is_not_there_is_told_with_those_like_it(reader: "TestClient", path: str, body: Any) -> None:
    answer = reader.post(path, json=filled(body, "timberwolf", "hypernym"))
    assert code_of(answer) == (404, "unknown_name")
    assert error_of(answer)["message"] == 'no entity "timberwolf"'
    assert error_of(answer)["suggestion"][0] == "timber_wolf.n.01"


@pytest.mark.parametrize(("path", "body"), ASKING)
def test_an_unknown_relation_is_told_and_one_that_came_later_cannot_be_asked(
    api: "TestClient", path: str, body: Any
) -> None:
    answer = api.post(path, json=filled(body, "dog.n.01", "hypernymy"))
    assert code_of(answer) == (404, "unknown_name")
    assert error_of(answer)["suggestion"] == ["hypernym", "hyponym"]
    api.post("/facts", json={"facts": [fact("dog.n.01", "eats", "bone.n.01")]})
    answer = api.post(path, json=filled(body, "dog.n.01", "eats"))
    assert code_of(answer) == (409, "not_trained")


@pytest.mark.parametrize(("path", "body"), ASKING + ABOUT)
def test_an_entity_without_facts_cannot_be_asked_about(api: "TestClient", path: str, body: Any) -> None:
    answer = api.post(path, json=filled(body, UNTRAINED, "hypernym"))
    assert code_of(answer) == (409, "no_facts")
    api.post("/facts", json={"facts": [fact(NEW, "eats", "bone.n.01")]})
    answer = api.post(path, json=filled(body, NEW, "hypernym"))
    assert code_of(answer) == (409, "no_facts")


def test_no_message_says_where_the_file_lies(api: "TestClient", zoo: Path) -> None:
    answer = api.post("/predict", json={"entity": UNTRAINED, "relation": "hypernym"})
    assert error_of(answer)["message"] == f'"{UNTRAINED}" has no facts yet; add one first'
    assert str(zoo.parent) not in answer.text


@pytest.mark.parametrize(("path", "body"), ASKING + ABOUT)
def test_without_a_model_of_its_own_a_base_answers(
    serve: Serve, tmp_path: Path, path: str, body: dict[str, object]
) -> None:
    KnowledgeBase.create(tmp_path / "bare.kb", facts=TOY_FACTS).close()
    bare = serve(tmp_path / "bare.kb")
    assert bare.post(path, json=filled(body, "wolf.n.01", "hypernym")).status_code == 200


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("/predict", {}, "invalid"),
        ("/predict", [], "invalid"),
        ("/predict", {**DOG, "k": 0}, "invalid"),
        ("/predict", {**DOG, "k": 1001}, "invalid"),
        ("/predict", {**DOG, "k": "3"}, "invalid"),
        ("/predict", {**DOG, "k": True}, "invalid"),
        ("/predict", {**DOG, "direction": "sideways"}, "invalid"),
        ("/predict", {**DOG, "directoin": "tail"}, "invalid"),
        ("/predict", {**DOG, "entity": ""}, "invalid"),
        ("/predict", {**DOG, "entity": None}, "invalid"),
        ("/predict", {**DOG, "entity": "x" * 10_001}, "too_large"),
        ("/predict", {"queries": []}, "invalid"),
        ("/predict", {"queries": [DOG] * 257}, "too_large"),
        ("/predict", {"queries": [DOG] * 256, "k": 101}, "too_large"),
        ("/score", {"facts": []}, "invalid"),
        ("/score", {"facts": [["a", "b"]]}, "invalid"),
        ("/score", {"facts": [["a", "b", "c", "d"]]}, "invalid"),
        ("/score", {"facts": [["dog.n.01", "hypernym", "cat.n.01"]] * 257}, "too_large"),
        ("/missing", {"entity": "dog.n.01", "k": 1001}, "invalid"),
        ("/similar", {"entity": "dog.n.01", "k": -1}, "invalid"),
        ("/explain", {"head": "dog.n.01", "relation": "hypernym"}, "invalid"),
    ],
)
def test_a_request_that_makes_no_sense_or_wants_too_much_is_refused(
    reader: "TestClient", path: str, body: object, code: str
) -> None:
    assert code_of(reader.post(path, json=body)) == ({"invalid": 422, "too_large": 413}[code], code)


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"null", b"\xff\xfe", b'{"entity": "\\ud800", "relation": "hypernym"}', b"[" * 100_000, b"1" * 9_999],
)
def test_a_body_that_is_no_request_is_refused(reader: "TestClient", body: bytes) -> None:
    answer = reader.post("/predict", content=body, headers={"content-type": "application/json"})
    assert code_of(answer) == (422, "invalid")


def test_half_a_character_in_a_key_is_no_trouble(reader: "TestClient") -> None:
    body = b'{"entity": "dog.n.01", "relation": "hypernym", "\\ud800": 1}'
    answer = reader.post("/predict", content=body, headers={"content-type": "application/json"})
    assert code_of(answer) == (422, "invalid")


def test_a_misspelt_field_is_named(reader: "TestClient") -> None:
    message = error_of(reader.post("/predict", json={**DOG, "directoin": "tail"}))["message"]
    assert message.startswith(
        "directoin: there is no such field; /openapi.json lists those there are; expected such as {"
    )
