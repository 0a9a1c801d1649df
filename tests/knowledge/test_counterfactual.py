"""Why an answer: what is left of it without a fact, or without those of a walk."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from hmem.errors import EmptyNeighborhoodError
from hmem.graph.names import Vocabulary
from hmem.knowledge import counterfactual
from hmem.knowledge.base import KnowledgeBase
from hmem.knowledge.counterfactual import tried, walks_between
from hmem.knowledge.results import Direction
from hmem.knowledge.store.records import Names3
from hmem.model import propagation
from tests.knowledge.living import RELATIONS, TOY_FACTS, TRAINED
from tests.knowledge.propagating import KINDS, base_of, save_network

UNSTORED: Names3 = ("puppy.n.01", "hypernym", "canine.n.02")
STORED: Names3 = ("wolf.n.01", "hypernym", "canine.n.02")


@pytest.fixture(params=KINDS)
def kb(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[KnowledgeBase]:
    model = save_network(tmp_path / "model", request.param, Vocabulary(TRAINED, RELATIONS))
    with base_of(tmp_path / "zoo.kb", model, TOY_FACTS) as base:
        yield base


def log_p_of(kb: KnowledgeBase, fact: Names3, direction: Direction) -> tuple[float, int]:
    """The logarithm of the share of a fact, and its rank, among those that are not stored."""
    with kb.session() as session:
        try:
            entity, role, answer = session.names.fact(*fact, direction)
        except EmptyNeighborhoodError:  # nothing is left to answer from
            return -np.inf, 1
        judged = session.predictor.judge(np.array([entity]), np.array([role]), np.array([answer]))
        return float(judged.log_p[0]), int(judged.ranks[0])


@pytest.mark.parametrize("direction", ["tail", "head"])
@pytest.mark.parametrize("fact", [UNSTORED, STORED])
def test_each_line_is_what_is_left_after_its_facts_are_removed(
    kb: KnowledgeBase, fact: Names3, direction: Direction
) -> None:
    """A stored fact is explained as if it were not stored, and removed with the others to check."""
    before = kb.score(*fact, direction=direction)
    found = kb.explain(*fact, direction=direction)
    assert (found.stored, found.total) == (fact in TOY_FACTS, None)
    assert found.score == pytest.approx(before, abs=1e-4)
    kb.remove(*fact)
    whole, _ = log_p_of(kb, fact, direction)
    kinds = {line.kind for line in found}
    assert kinds == {"fact", "path"}
    for line in found:
        assert fact not in line.facts
        assert set(line.facts) <= set(TOY_FACTS)
        kb.remove_many(line.facts)
        left = float(np.exp(log_p_of(kb, fact, direction)[0]))
        kb.add_many(line.facts)
        assert line.without == pytest.approx(left, abs=1e-5)
        assert line.contribution == pytest.approx(np.exp(whole) - left, abs=1e-5)
    contributions = [line.contribution for line in found]
    assert contributions == sorted(contributions, reverse=True)
    assert max(map(abs, contributions)) > 1e-4  # otherwise this shows nothing


def test_ranks_are_those_without_the_facts(kb: KnowledgeBase) -> None:
    with kb.session() as session:
        entity, role, answer = session.names.fact(*UNSTORED, "tail")
        predictor = session.predictor
        walks = tried(session.live.graph, entity, answer)
        ranks = counterfactual.ranked_without(predictor, entity, role, answer, walks).ranks
        named = [{predictor.named(*edge) for edge in walk} for walk in walks]
    for facts, rank in zip(named, ranks.tolist(), strict=True):
        kb.remove_many(sorted(facts))
        log_p, expected = log_p_of(kb, UNSTORED, "tail")
        kb.add_many(sorted(facts))
        if log_p > -np.inf:
            assert rank == expected
    assert len(set(ranks.tolist())) > 1


def test_questions_are_asked_some_at_a_time(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = {line.facts: line.without for line in kb.explain(*UNSTORED)}
    monkeypatch.setattr(counterfactual, "AT_ONCE", 3)
    again = {line.facts: line.without for line in kb.explain(*UNSTORED)}
    assert again == {facts: pytest.approx(without, abs=1e-5) for facts, without in whole.items()}


def test_walks_lead_from_the_entity_to_the_answer_in_one_to_three_facts(kb: KnowledgeBase) -> None:
    with kb.session() as session:
        entity, answer = session.names.entity("puppy.n.01"), session.names.entity("canine.n.02")
        graph, named = session.live.graph, session.predictor.named
        walks = walks_between(graph, entity, answer)
        for walk in walks:
            assert walk[0][0] == entity
            assert walk[-1][2] == answer
            nodes = [entity, *(edge[2] for edge in walk)]
            assert len(set(nodes)) == len(nodes) <= 4
            assert all(edge[2] == following[0] for edge, following in pairwise(walk))
        assert [len(walk) for walk in walks] == sorted(len(walk) for walk in walks)
        facts = [tuple(named(*edge) for edge in walk) for walk in walks]
    up, down = ("puppy.n.01", "hypernym", "dog.n.01"), ("dog.n.01", "hyponym", "puppy.n.01")
    top, back = ("dog.n.01", "hypernym", "canine.n.02"), ("canine.n.02", "hyponym", "dog.n.01")
    assert {walk for walk in facts if len(walk) == 2} == {(up, top), (up, back), (down, top), (down, back)}
    assert (up, ("dog.n.01", "similar_to", "wolf.n.01"), ("wolf.n.01", "hypernym", "canine.n.02")) in facts


def test_what_is_tried_is_named_once(kb: KnowledgeBase) -> None:
    with kb.session() as session:
        entity, answer = session.names.entity("puppy.n.01"), session.names.entity("canine.n.02")
        walks = tried(session.live.graph, entity, answer)
        facts = [frozenset(session.predictor.fact(*edge) for edge in walk) for walk in walks]
    assert len(set(facts)) == len(facts)
    assert {len(walk) for walk in walks} == {1, 2, 3}
    assert sum(len(walk) == 1 for walk in walks) <= counterfactual.MOST_FACTS
    assert sum(len(walk) > 1 for walk in walks) <= counterfactual.MOST_WALKS


def test_what_no_walk_reaches_has_nothing_to_explain(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    kb.add("yak.n.01", "part_of", "hay.n.01")
    told = 'no {}walk of up to 3 stored facts leads from "yak.n.01" to "{}", so nothing speaks for this fact'
    with pytest.raises(EmptyNeighborhoodError) as unlinked:
        kb.explain("yak.n.01", "part_of", "dog.n.01")
    assert str(unlinked.value) == told.format("", "dog.n.01")
    with pytest.raises(EmptyNeighborhoodError) as stored:
        kb.explain("yak.n.01", "part_of", "hay.n.01")
    assert str(stored.value) == told.format("other ", "hay.n.01")
    monkeypatch.setitem(propagation.LARGE, "cpu", 0)
    with pytest.raises(
        EmptyNeighborhoodError, match="stored facts among the 10,000 entities that walks visit most leads"
    ):
        kb.explain("yak.n.01", "part_of", "dog.n.01")


def test_in_a_part_of_a_large_graph_that_has_everything_the_lines_are_the_same(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = kb.explain(*UNSTORED)
    monkeypatch.setitem(propagation.LARGE, "cpu", 0)
    found = kb.explain(*UNSTORED)
    assert [line.facts for line in found] == [line.facts for line in expected]
    assert [line.without for line in found] == pytest.approx([line.without for line in expected], abs=1e-5)
