import pytest

from hmem.knowledge.base import KnowledgeBase
from tests.knowledge.conftest import MakeBase
from tests.knowledge.living import UNSEEN
from tests.knowledge.test_predictor import NEW_FACTS


@pytest.mark.parametrize("name", ["paths", "exact-tpr", "cconv"])
def test_missing_facts_are_not_stored_and_are_those_that_predict_gives(make_base: MakeBase, name: str) -> None:
    kb = make_base(name)
    kb.add_many(NEW_FACTS)
    for entity in ("dog.n.01", "fur.n.01", UNSEEN[0]):
        check_missing(kb, entity)


def check_missing(kb: KnowledgeBase, entity: str) -> None:
    found = kb.missing(entity, k=15)
    assert len(found) > 0
    assert len({row.names for row in found}) == len(found)
    with kb.session() as session:
        for row in found:
            assert entity in (row.head, row.tail)
            assert row.names not in kb
            role = session.role(row.relation, row.direction)
            turned = session.role(row.relation, "head" if row.direction == "tail" else "tail")
            assert role != turned
            assert len(session.live.graph.answers(session.entity(row.answer), turned)) > 0  # it has had this role
    asked = {row: kb.predict(entity, row.relation, k=50, direction=row.direction) for row in found}
    for row, answers in asked.items():
        (same,) = [each for each in answers if each.names == row.names]
        assert same.score == pytest.approx(row.score, abs=1e-5)
        assert (same.probability, same.if_missing) == (row.probability, row.if_missing)
    assert kb.missing(entity, k=3) == found[:3]
