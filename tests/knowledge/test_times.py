"""Answers at a time are those of a base that holds only the facts of then."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hmem.errors import DataError, EmptyNeighborhoodError
from hmem.graph.names import Vocabulary
from hmem.knowledge import sessions as module
from hmem.knowledge.base import KnowledgeBase
from hmem.knowledge.live_graph import LiveGraph
from hmem.knowledge.store.records import Names3
from tests.knowledge.conftest import MakeBase
from tests.knowledge.living import TOY_FACTS
from tests.knowledge.test_bundled import FACTS

FROM: dict[Names3, str] = {("bob", "parent_of", "cid"): "2019-05-02", ("dee", "lives_in", "rome"): "2020"}
UNTIL: dict[Names3, str] = {("ann", "parent_of", "bob"): "2019-04", ("dee", "lives_in", "rome"): "2020"}
TIMED = [*FACTS, ("dee", "lives_in", "rome")]
NOT_THEN = {  # at each time, the facts that did not hold
    "2019-04-30": {("bob", "parent_of", "cid"), ("dee", "lives_in", "rome")},
    "2019-05-01": {("bob", "parent_of", "cid"), ("ann", "parent_of", "bob"), ("dee", "lives_in", "rome")},
    "2019-05": {("ann", "parent_of", "bob"), ("dee", "lives_in", "rome")},  # on some day of the month
    "2020-12-31": {("ann", "parent_of", "bob")},
    "2019": {("dee", "lives_in", "rome")},
}


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase.create(tmp_path / "families.kb") as base:
        base.add_many(TIMED, valid_from=map(FROM.get, TIMED), valid_until=map(UNTIL.get, TIMED))
        yield base


def answers(base: KnowledgeBase, at: str | None = None) -> object:
    """With their scores, which hardly differ if the facts are added up in another order."""
    asked = [("gus", "grandparent_of"), ("dee", "lives_in"), ("ann", "parent_of")]
    return [(row.tail, pytest.approx(row.score, abs=1e-4)) for row in base.predict_many(asked, at=at)]


@pytest.mark.parametrize("at", NOT_THEN)
def test_only_the_facts_that_held_then_are_there(kb: KnowledgeBase, tmp_path: Path, at: str) -> None:
    then = [fact for fact in TIMED if fact not in NOT_THEN[at]]
    assert [fact.names for fact in kb.store.listing(at=at)] == then
    with kb.session(at=at) as session:
        assert session.live.graph.num_facts == len(then)
    with KnowledgeBase.create(tmp_path / "then.kb") as other:
        other.add_many(TIMED)
        other.remove_many(NOT_THEN[at])
        assert answers(kb, at) == answers(other)
        assert answers(kb) != answers(other)


def test_every_question_can_be_about_a_time(kb: KnowledgeBase) -> None:
    fact = ("gus", "grandparent_of", "ida")
    why = kb.explain(*fact, at="2019-05-01")
    assert {("bob", "parent_of", "cid")} not in [set(line.facts) for line in why]
    assert why.score == kb.score(*fact, at="2019-05-01") != kb.score(*fact)
    assert kb.missing("ann", at="2019-05-01") != kb.missing("ann")
    assert kb.missing_many(["ann"], at="2019-05-01")[0].names == kb.missing("ann", at="2019-05-01")[0].names
    assert kb.missing_anywhere(3, at="2019-05-01") != kb.missing_anywhere(3)
    assert "parent_of" in [row.relation for row in kb.predict_target("ann", None, "bob", at="2020")]
    assert "parent_of" not in [row.relation for row in kb.predict_target("ann", None, "bob")]
    assert [row.names for row in kb.neighbors("dee", at="2019")] == [FACTS[3], FACTS[5]]
    assert len(kb.neighbors_many(["dee", "gus"], at="2020")) == 3 + 2
    with pytest.raises(DataError, match="expected a day such as"):
        kb.predict("gus", "grandparent_of", at="May")


def test_an_entity_without_facts_then_is_told_apart_from_one_without_any(kb: KnowledgeBase) -> None:
    kb.add("jim", "parent_of", "kay", valid_from="2021")
    assert kb.predict("jim", "grandparent_of") is not None
    with pytest.raises(
        EmptyNeighborhoodError, match='the facts about "jim" do not count here: they held at other times'
    ):
        kb.predict("jim", "grandparent_of", at="2020")


def test_the_last_times_are_kept_and_follow_the_facts(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    loads = []
    load = LiveGraph._load

    def counted(self: LiveGraph) -> None:
        loads.append(self.evidence.at)
        load(self)

    monkeypatch.setattr(LiveGraph, "_load", counted)
    kb.predict("gus", "grandparent_of")
    for at in ("2019-05-01", "2020", "2019-05-01", "2020"):
        kb.predict("gus", "grandparent_of", at=at)
    assert len(loads) == 3, "the present and two times"
    kb.add("gus", "lives_in", "oslo", valid_until="2019")
    assert "oslo" in [row.tail for row in kb.neighbors("gus", at="2019-05-01")]
    with kb.session(at="2019-05-01") as then, kb.session(at="2020") as later:
        assert then.live.graph.num_facts == len(TIMED) - 3 + 1
        assert later.live.graph.num_facts == len(TIMED) - 1
    assert len(loads) == 3
    kb.remove("gus", "lives_in", "oslo")
    with kb.session(at="2019-05-01") as then:
        assert then.live.graph.num_facts == len(TIMED) - 3
    kb.predict("gus", "grandparent_of", at="2018")
    assert len(loads) == 4
    assert len(kb._sessions._dated) == module.MOST_DATED


def test_a_model_of_its_own_answers_about_a_time_too(make_base: MakeBase) -> None:
    kb, other = make_base("recall"), make_base("recall", TOY_FACTS[1:], file="then.kb")
    kb.remove(*TOY_FACTS[0])
    kb.add(*TOY_FACTS[0], valid_from=2020)
    asked = (TOY_FACTS[0][0], TOY_FACTS[0][1])
    then, now = kb.predict(*asked, at=2019), kb.predict(*asked)
    assert [row.tail for row in then] == [row.tail for row in other.predict(*asked)]
    assert TOY_FACTS[0][2] in [row.tail for row in then]
    assert TOY_FACTS[0][2] not in [row.tail for row in now]


def test_a_change_of_days_is_a_change_of_the_graph_of_that_time(kb: KnowledgeBase) -> None:
    live = LiveGraph(kb.store, Vocabulary([], []), takes_new_relations=True)
    count = live.graph.num_facts
    kb.remove("dee", "lives_in", "rome")
    kb.add("dee", "lives_in", "rome", valid_from=2030)
    live.refresh()
    assert live.graph.num_facts == count
    with kb.session(at=2020) as session:
        assert session.live.graph.num_facts == len(FACTS) - 1


def test_the_days_of_a_dataset_are_kept(tmp_path: Path) -> None:
    with KnowledgeBase.create(tmp_path / "attack.kb", facts="attack") as kb:
        first, last = kb.store.table(qualified=True).column("valid_from").to_pylist()[:: len(kb) - 1]
        assert first.year < 2024 > last.year
        (fact,) = kb.store.listing(head="/etc/passwd and /etc/shadow", relation="domain")
        assert str(fact.valid_from) == "2020-02-11"
        assert (
            0 < len(list(kb.store.listing(relation="tactic", at=2017))) < len(list(kb.store.listing(relation="tactic")))
        )
