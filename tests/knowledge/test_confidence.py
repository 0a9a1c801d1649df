"""A confidence weighs a fact in answers: 0 is as if it were not there, 1 as if none were given, and between in between.

The laws hold for every family of models; that an answer becomes likelier with the confidence of what speaks for it is
shown on a fixed network.
"""

import math
from itertools import pairwise, product
from pathlib import Path

import pytest
import torch

from hmem.knowledge.base import KnowledgeBase
from hmem.knowledge.store.records import Names3
from hmem.memory import propagation
from hmem.model import propagation as network
from hmem.model.hmem import HMem
from hmem.model.query import Query
from tests.knowledge.conftest import MakeBase
from tests.knowledge.living import EXPLICIT, RELATIONS, TOY_FACTS, UNSEEN
from tests.knowledge.test_bundled import FACTS

# Facts of an entity that training placed, and of one that came later: each has others, and roles meet without them.
TRAINED = ("dog.n.01", "hypernym", "canine.n.02")
LATER: list[Names3] = [(UNSEEN[0], "hypernym", "canine.n.02"), (UNSEEN[0], "hyponym", "wolf.n.01")]


def answers(kb: KnowledgeBase, fact: Names3) -> dict[tuple[str, ...], float]:
    """The score of every answer to questions about both ends of a fact."""
    asked = [(entity, relation) for entity in (fact[0], fact[2]) for relation in RELATIONS if relation != fact[1]]
    rows = [row for way in ("tail", "head") for row in kb.predict_many(asked, 99, direction=way)]
    return {row.names: row.score for row in rows}


@pytest.mark.parametrize("name", [*EXPLICIT, None], ids=str)
@pytest.mark.parametrize("fact", [TRAINED, LATER[0]], ids=["trained", "later"])
def test_the_ends_of_the_scale(make_base: MakeBase, name: str | None, fact: Names3) -> None:
    kb = make_base(name, [*TOY_FACTS, *LATER])
    none = answers(kb, fact)
    kb.revise(*fact, confidence=1.0)
    assert answers(kb, fact) == none
    kb.revise(*fact, confidence=0.5)
    half = answers(kb, fact)
    assert half != none
    with KnowledgeBase.open(kb.path, read_only=True) as again:
        assert answers(again, fact) == pytest.approx(half, abs=2e-5)
    kb.revise(*fact, confidence=1e-12)
    tiny = answers(kb, fact)
    kb.revise(*fact, confidence=0.0)
    zero = answers(kb, fact)
    kb.remove(*fact)
    assert answers(kb, fact) == zero
    assert {names for names, score in tiny.items() if score > -30} <= zero.keys()
    assert {names: tiny[names] for names in zero if names in tiny} == pytest.approx(
        {names: score for names, score in zero.items() if names in tiny}, abs=2e-4
    )
    kb.add(*fact)
    assert answers(kb, fact) == pytest.approx(none, abs=2e-5)


def test_an_answer_is_the_likelier_the_surer_what_speaks_for_it_is(tmp_path: Path) -> None:
    with KnowledgeBase.create(tmp_path / "families.kb", facts=FACTS) as kb:
        scores = []
        for confidence in (1.0, 0.75, 0.5, 0.25, 0.05):
            kb.revise("hal", "parent_of", "ida", confidence=confidence)
            scores.append(kb.score("gus", "grandparent_of", "ida"))
        assert scores == sorted(scores, reverse=True)
        assert all(first - second > 0.1 for first, second in pairwise(scores))


def test_an_explanation_without_a_fact_that_is_not_sure(tmp_path: Path) -> None:
    with KnowledgeBase.create(tmp_path / "families.kb", facts=FACTS) as kb:
        kb.revise("hal", "parent_of", "ida", confidence=0.5)
        kb.revise("ann", "lives_in", "rome", confidence=0.25)
        why = kb.explain("gus", "grandparent_of", "ida")
        lines = {line.facts: line for line in why}
        walk = (("gus", "parent_of", "hal"), ("hal", "parent_of", "ida"))
        assert lines[walk].without == 0
        assert why.score == pytest.approx(kb.score("gus", "grandparent_of", "ida"))


@pytest.mark.parametrize("way", ["everywhere", "in a part"])
def test_a_question_has_the_same_answers_whichever_way_it_is_asked(
    make_base: MakeBase, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    kb = make_base(None, [*TOY_FACTS, *LATER])
    for number, fact in enumerate(TOY_FACTS[::3]):
        kb.revise(*fact, confidence=(1 + number % 4) / 5)
    kb.add("x", "hypernym", "dog.n.01", confidence=0.3)
    outwards = answers(kb, TRAINED)
    if way == "everywhere":
        monkeypatch.setattr(propagation, "FEW", 0.0)
    else:
        monkeypatch.setitem(network.LARGE, "cpu", 0)
    with KnowledgeBase.open(kb.path) as again:
        assert answers(again, TRAINED) == pytest.approx(outwards, abs=1e-4)


@torch.inference_mode()
def test_a_path_is_as_sure_as_its_facts_together(make_base: MakeBase) -> None:
    kb, sureness = make_base("paths"), {TOY_FACTS[0]: 0.5, TOY_FACTS[1]: 0.25, TRAINED: 0.125}
    for fact, confidence in sureness.items():
        kb.revise(*fact, confidence=confidence)
    seen = set()
    with kb.session() as session:
        predictor = session.predictor
        index, vectors = predictor.index()
        model = predictor.model
        assert isinstance(model, HMem)
        assert model.paths is not None
        assert vectors is not None
        for entity, role in product(range(session.live.num_trained), range(2 * session.live.num_relations)):
            walks = model.answer(Query(torch.tensor([entity]), torch.tensor([role])), index, vectors).walks
            assert walks is not None
            assert walks.confidence is not None
            roles = model.paths.steps.flatten(0, 1)[walks.rule].tolist()
            for nodes, steps, sure in zip(walks.nodes.tolist(), roles, walks.confidence.tolist(), strict=True):
                ends = zip([entity, *nodes], steps, nodes, strict=False)
                facts = [predictor.named(*step) for step in ends if step[1] >= 0]
                assert sure == pytest.approx(math.prod(sureness.get(fact, 1.0) for fact in facts))
                seen.add(round(sure, 3))
    assert len(seen) > 3


def test_the_first_facts_that_are_not_sure_are_taken_in_without_building_anew(tmp_path: Path) -> None:
    with KnowledgeBase.create(tmp_path / "families.kb", facts=FACTS) as kb:
        kb.predict("gus", "grandparent_of")
        with kb.session() as session:
            links = session.predictor.links
            assert links is not None
            assert links.current().weight is None
            built = links._built
        kb.add("hal", "lives_in", "oslo", confidence=0.5)
        kb.revise(*FACTS[0], confidence=0.5)
        with kb.session() as session:
            now = session.predictor.links.current()  # type: ignore[union-attr]
            assert now.weight is None
            assert now.patch is not None
            assert sorted(now.patch.weight.tolist())[:4] == [0.5] * 4  # type: ignore[union-attr]
            assert links._built is built
        found = kb.predict("gus", "grandparent_of", 99)
        with KnowledgeBase.open(kb.path) as again:
            fresh = {row.tail: row.score for row in again.predict("gus", "grandparent_of", 99)}
            assert {row.tail: row.score for row in found} == pytest.approx(fresh, abs=1e-4)
