"""Facts that the others speak against, and what is expected in their place."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hmem.errors import UnknownNameError
from hmem.graph.descriptions import Description
from hmem.knowledge import whole_graph
from hmem.knowledge.base import KnowledgeBase

TEAMS = ("red", "blue", "green")
WRONG = ("red 0", "member of", "blue team")


@pytest.fixture(scope="module")
def clubs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """Three teams, whose members play where their team does and know each other; one fact is wrong."""
    facts = []
    for team in TEAMS:
        facts.append((f"{team} team", "plays in", f"{team} hall"))
        for member in range(4):
            name = f"{team} {member}"
            facts += [(name, "member of", f"{team} team"), (name, "trains in", f"{team} hall")]
            facts += [(name, "knows", f"{team} {other}") for other in range(4) if other != member]
    facts[facts.index(("red 0", "member of", "red team"))] = WRONG
    with KnowledgeBase.create(tmp_path_factory.mktemp("clubs") / "clubs.kb", facts=facts) as kb:
        yield kb


def test_the_wrong_fact_is_the_most_doubtful_and_the_right_one_is_expected(clubs: KnowledgeBase) -> None:
    found = clubs.audit(3)
    assert found[0].names == WRONG
    assert (found[0].end, found[0].instead) == ("tail", "red team")
    assert all(fact in clubs for fact in found[0].because)
    assert found[0].because
    assert WRONG not in found[0].because
    assert [each.doubt for each in found] == sorted((each.doubt for each in found), reverse=True)
    assert (found.judged, found.facts) == (len(clubs), len(clubs))
    assert WRONG in clubs  # it was left out for a while only
    assert found.to_arrow().column("instead")[0].as_py() == "red team"


def test_ranks_are_those_of_facts_that_are_not_stored(clubs: KnowledgeBase) -> None:
    for each in clubs.audit(5, relation="member of"):
        (tail,) = clubs.score_many([each.names])
        (head,) = clubs.score_many([each.names], direction="head")
        assert (each.tail_rank, each.head_rank) == (tail.rank, head.rank)
        assert each.relation == "member of"


def test_some_facts_are_drawn_and_those_of_an_entity_are_looked_at(
    clubs: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_graph, "EXPLAINED", 1)
    drawn = clubs.audit(100, sample=7)
    assert (len(drawn), drawn.judged, drawn.facts) == (7, 7, len(clubs))
    about = clubs.audit(100, entity="red 0")
    assert {each.names for each in about} == {each.names for each in clubs.neighbors("red 0")}
    with pytest.raises(UnknownNameError):
        clubs.audit(entity="pink 0")


def test_it_is_ended_early_with_what_was_found(clubs: KnowledgeBase) -> None:
    told = []

    def watch(done: int, total: int) -> bool:
        told.append((done, total))
        return done == 0

    found = clubs.audit(1, watch=watch)
    assert told == [(0, len(clubs)), (32, len(clubs))]
    assert (len(found), found.judged) == (1, 32)


def test_what_a_row_names_has_its_label(clubs: KnowledgeBase) -> None:
    said = {"red hall": "Red Lion", "red team": "Reds", "blue team": "Blues"}
    clubs.describe_many(Description(id=name, label=label) for name, label in said.items())
    clubs.describe("member of", of="relation", label="plays for")
    found = clubs.audit(1)
    assert found.labels.entities == said
    assert found.labels.fact(*found[0].names) == ("red 0", "plays for", "Blues (blue team)")
    assert "Reds (red team)" in repr(found)


def test_of_three_facts_nothing_is_known_and_nothing_is_warned_of(tmp_path: Path) -> None:
    facts = [("a", "r", "b"), ("b", "r", "c"), ("c", "s", "d")]
    with KnowledgeBase.create(tmp_path / "small.kb", facts=facts) as kb:
        assert sorted(each.names for each in kb.audit()) == facts
