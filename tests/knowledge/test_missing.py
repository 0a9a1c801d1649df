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
            role = session.names.role(row.relation, row.direction)
            turned = session.names.role(row.relation, "head" if row.direction == "tail" else "tail")
            assert role != turned
            assert len(session.live.graph.answers(session.names.entity(row.answer), turned)) > 0  # it has had this role
    asked = {row: kb.predict(entity, row.relation, k=50, direction=row.direction) for row in found}
    for row, answers in asked.items():
        (same,) = [each for each in answers if each.names == row.names]
        assert same.score == pytest.approx(row.score, abs=1e-5)
        assert (same.probability, same.if_missing) == (row.probability, row.if_missing)
    assert kb.missing(entity, k=3) == found[:3]


def test_over_a_graph_each_fact_is_found_from_its_head(make_base: MakeBase) -> None:
    kb = make_base("exact-tpr")
    kb.describe("dog.n.01", label="Dog")
    found = kb.missing_anywhere(30)
    assert found.labels.entities == {"dog.n.01": "Dog"}
    assert len({row.names for row in found}) == len(found) == 30
    assert [row.rank for row in found] == list(range(1, 31))
    assert all(row.names not in kb and row.direction == "tail" for row in found)
    relation = found[0].relation
    of_relation = kb.missing_anywhere(5, relation=relation)
    assert {row.relation for row in of_relation} == {relation}
    assert of_relation[0].names == found[0].names
    tail = next(iter(kb.store.listing(relation=relation))).tail
    heads = {fact.head for fact in kb.store.listing(relation=relation, tail=tail)}
    assert {row.head for row in kb.missing_anywhere(100, having=(relation, tail))} == heads


def test_a_long_search_can_be_stopped(make_base: MakeBase) -> None:
    kb = make_base("exact-tpr")
    found = kb.missing_anywhere(1000, watch=lambda done, total: done < 2)
    assert 0 < len({row.head for row in found}) <= 2


def test_a_relation_that_comes_during_a_search_makes_no_difference(make_base: MakeBase) -> None:
    kb = make_base(None)

    def watch(done: int, _: int) -> bool:
        if done == 1:
            kb.add("dog.n.01", "chases", "cat.n.01")
        return True

    found = kb.missing_anywhere(1000, relation="hypernym", watch=watch)
    assert {(row.relation, row.direction) for row in found} == {("hypernym", "tail")}
