"""A knowledge base and a model folder of the first release open, and answer as they did then."""

import json
import shutil
from pathlib import Path

import pytest

from hmem.knowledge.base import KnowledgeBase

FILES = Path(__file__).resolve().parents[1] / "data" / "first_format"
EXPECTED = json.loads((FILES / "expected.json").read_text(encoding="utf-8"))


@pytest.fixture
def people(tmp_path: Path) -> KnowledgeBase:
    """The old files, copied: opening a base may write to it."""
    shutil.copytree(FILES, tmp_path / "old")
    return KnowledgeBase.open(tmp_path / "old" / "people.kb")


def test_what_was_stored_is_there(people: KnowledgeBase) -> None:
    count = people.store.count()
    assert {name: count[name] for name in EXPECTED["count"] if name != "bytes"} == {
        name: value for name, value in EXPECTED["count"].items() if name != "bytes"
    }
    assert ("newcomer", "knows", "person3") in people
    assert people.store.check() == []


@pytest.mark.parametrize("asked", EXPECTED["predictions"], ids=lambda asked: asked["relation"])
def test_answers_are_those_of_then(people: KnowledgeBase, asked: dict[str, object]) -> None:
    entity, relation, direction = (str(asked[name]) for name in ("entity", "relation", "direction"))
    found = people.predict(entity, relation, 5, direction=direction, new_only=False)  # type: ignore[arg-type]
    answers = [[row.tail if direction == "tail" else row.head, row.stored] for row in found]
    assert answers == [[name, known] for name, _, _, known in asked["answers"]]  # type: ignore[attr-defined]
    for row, (_, score, probability, _) in zip(found, asked["answers"], strict=True):  # type: ignore[call-overload]
        assert row.score == pytest.approx(score, abs=1e-5)
        if entity != "newcomer":  # which is judged as one by now
            assert row.probability == pytest.approx(probability, abs=1e-5)


def test_reasons_are_those_of_then(people: KnowledgeBase) -> None:
    reasons = people.explain("newcomer", "citizen_of", "north")
    assert [reason.kind for reason in reasons] == [kind for kind, _ in EXPECTED["explanation"]]
    contributions = [contribution for _, contribution in EXPECTED["explanation"]]
    assert [reason.contribution for reason in reasons] == pytest.approx(contributions, abs=1e-5)
