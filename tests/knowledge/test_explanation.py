import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from hmem.errors import ConfigError, EmptyNeighborhoodError
from hmem.evaluation.joined import Weights
from hmem.knowledge.base import KnowledgeBase
from hmem.knowledge.results import Direction
from hmem.knowledge.store.records import Names3
from hmem.model.checkpoint import load, save
from hmem.runs.measure import with_counting as with_weight
from tests.knowledge.conftest import MakeBase, ModelFolder
from tests.knowledge.living import EXPLICIT, MODELS, TOY_FACTS, UNSEEN, UNTRAINED, every_score, same, stored_facts

NEW, OTHER, LONELY = UNSEEN
FACTS: list[Names3] = [
    (NEW, "hypernym", "wolf.n.01"),
    (NEW, "similar_to", "dog.n.01"),
    ("paw.n.01", "part_of", OTHER),
    (OTHER, "similar_to", NEW),
    (UNTRAINED, "hypernym", "mammal.n.01"),
]
ASKED: list[Names3] = [
    ("canine.n.02", "hyponym", "fox.n.01"),
    ("fur.n.01", "similar_to", "fur.n.01"),
    ("wolf.n.01", "hyponym", NEW),
    ("canine.n.02", "hyponym", NEW),
    (NEW, "similar_to", OTHER),
    (NEW, "part_of", UNTRAINED),
    *FACTS[:2],
    FACTS[3],
    ("dog.n.01", "hypernym", "canine.n.02"),
]
every_model = pytest.mark.parametrize("name", EXPLICIT)
exact = [name for name in EXPLICIT if MODELS[name][0] == "recall" or name.startswith("exact")]


@every_model
@pytest.mark.parametrize("direction", ["tail", "head"])
def test_contributions_sum_to_the_score(make_base: MakeBase, name: str, direction: Direction) -> None:
    kb = make_base(name)
    kb.add_many(FACTS)
    for fact in ASKED:
        why = kb.explain(*fact, direction=direction)
        score = kb.score(*fact, direction=direction)
        assert why.score == pytest.approx(score, abs=1e-5)
        assert why.total == pytest.approx(math.exp(score) if name in exact else score, rel=1e-4, abs=1e-5)
        assert math.fsum(line.contribution for line in why) == pytest.approx(why.total, rel=1e-4, abs=1e-5)
        assert (why.fact, why.stored, why.probability) == (fact, fact in kb, None)


@pytest.fixture
def with_counting(tmp_path: Path, model_folder: ModelFolder) -> Iterator[Callable[[str], KnowledgeBase]]:
    """A base whose model is joined by counting, with a weight of 2."""
    with ExitStack() as opened:

        def make(name: str) -> KnowledgeBase:
            saved, folder = load(model_folder(name)), tmp_path / f"counted-{name}"
            save(folder, replace(saved, config=with_weight(saved.config, Weights(best=2.0))))
            kb = KnowledgeBase.create(tmp_path / f"counted-{name}.kb", model=folder, facts=TOY_FACTS)
            return opened.enter_context(kb)

        yield make


@pytest.mark.parametrize("name", ["recall", "tpr"])
def test_counting_has_a_line_of_its_own(
    make_base: MakeBase, with_counting: Callable[[str], KnowledgeBase], name: str
) -> None:
    kb, network = with_counting(name), make_base(name)
    for base in (kb, network):
        base.add_many(FACTS)
    for fact in ASKED:
        why, alone = kb.explain(*fact), network.explain(*fact)
        (counted,) = (line for line in why if line.kind == "counted")
        assert [line for line in why if line is not counted] == list(alone)
        assert why.score == pytest.approx(kb.score(*fact), abs=1e-5)
        assert why.total is not None
        assert math.fsum(line.contribution for line in why) == pytest.approx(why.total, rel=1e-4, abs=1e-5)
        assert all(each in kb for each in counted.facts)
        assert ("counting, which finds no" in counted.text) == (counted.counts is None)


def test_what_is_counted_is_said_in_words(with_counting: Callable[[str], KnowledgeBase]) -> None:
    why = with_counting("recall").explain("fox.n.01", "similar_to", "dog.n.01")
    (counted,) = (line for line in why if line.kind == "counted")
    assert counted.counts is not None
    together, of = counted.counts
    assert counted.text.endswith(f" ({together} of {of} with such a fact have the answer)")


@every_model
def test_every_stored_fact_of_the_asked_entity_has_its_line(make_base: MakeBase, name: str) -> None:
    kb = make_base(name)
    kb.add_many(FACTS)
    why = kb.explain("dog.n.01", "hypernym", "canine.n.02")
    lines = [line for line in why if line.kind == "fact"]
    stored = [row.names for row in kb.neighbors("dog.n.01")]
    assert sorted(fact for line in lines for fact in line.facts) == sorted(set(stored) - {why.fact})
    assert all(0 <= line.weight <= 1 for line in lines if line.weight is not None)
    assert all(line.weight is not None for line in lines)
    kinds = [line.kind for line in why if line.kind not in ("fact", "path")]
    is_completed, is_read_out = MODELS[name][0] in ("tpr", "cconv"), name == "read-out"
    between = [*(["completion"] if is_completed else []), *(["usual"] if is_read_out else [])]
    assert kinds == [*between, "dense" if name in exact else "rest"]
    for line in why:
        assert all(fact in kb for fact in line.facts)


def test_what_is_copied_is_said_to_be(make_base: MakeBase) -> None:
    kb = make_base("recall")
    kb.add(NEW, "hypernym", "wolf.n.01")
    why = kb.explain("wolf.n.01", "hyponym", NEW)
    assert (why[0].kind, why[0].facts) == ("fact", ((NEW, "hypernym", "wolf.n.01"),))
    assert why[0].contribution > 0
    assert all(line.contribution == 0 for line in why if line.kind == "fact" and NEW not in line.facts[0])
    contributions = [line.contribution for line in why if line.kind == "fact"]
    assert contributions == sorted(contributions, reverse=True)


def test_paths_are_shown_step_by_step(make_base: MakeBase) -> None:
    """From the entity that is asked about to the answer, each step a stored fact."""
    kb = make_base("paths")
    kb.add_many(FACTS)
    lengths = set()
    for entity in ("dog.n.01", "canine.n.02", "fox.n.01", NEW):
        for prediction in kb.missing(entity, 30):
            direction: Direction = "tail" if prediction.head == entity else "head"
            for line in kb.explain(*prediction.names, direction=direction):
                if line.kind == "path":
                    here = entity
                    for head, relation, tail in line.facts:
                        assert here in (head, tail)
                        assert (head, relation, tail) in kb
                        here = tail if here == head else head
                    assert here == (prediction.tail if direction == "tail" else prediction.head)
                    assert line.contribution > 0
                    lengths.add(len(line.facts))
    assert lengths
    assert lengths <= {2, 3}


def test_explaining_a_stored_fact_leaves_everything_as_it_was(make_base: MakeBase) -> None:
    kb = make_base("paths")
    kb.add_many(FACTS)
    before = every_score(kb)
    for fact in stored_facts(kb)[::3]:
        kb.explain(*fact)
    assert same(before, every_score(kb))
    assert len(kb) == len(stored_facts(kb))


def test_text_and_plain_data(make_base: MakeBase) -> None:
    kb = make_base("tpr")
    why = kb.explain("dog.n.01", "hypernym", "canine.n.02")
    lines = repr(why).split("\n")
    assert lines[0].startswith("dog.n.01 hypernym canine.n.02: score -")
    assert lines[0].endswith("(stored; explained as if it were not)")
    assert lines[1].split() == ["kind", "text", "contribution", "weight"]
    assert "%" not in repr(why)
    (completion,) = [row for row in why.to_dicts() if row["kind"] == "completion"]
    assert (completion["text"], completion["facts"]) == ("added by completing the memory", ())
    first = next(row for row in why.to_dicts() if row["kind"] == "fact")
    assert first["text"] == " ".join(first["facts"][0])
    assert why.to_arrow().column_names == why.columns
    assert len(why[:2]) == 2
    assert why[:2].score == why.score


def test_an_entity_of_this_fact_alone_cannot_be_explained(make_base: MakeBase) -> None:
    kb = make_base("recall")
    kb.add(LONELY, "hypernym", "wolf.n.01")
    with pytest.raises(EmptyNeighborhoodError, match=f'"{LONELY}" has no other fact that links it'):
        kb.explain(LONELY, "hypernym", "wolf.n.01", direction="head")
    kb.add(OTHER, "similar_to", NEW)
    assert len(kb.explain("dog.n.01", "similar_to", OTHER)) > 0  # it plays a part that others play


def test_learned_memories_have_no_facts_to_explain_with(make_base: MakeBase) -> None:
    with pytest.raises(ConfigError, match="an implicit memory has no stored facts"):
        make_base("implicit").explain("canine.n.02", "hyponym", "fox.n.01")
