"""The model that comes with hmem: it answers on any graph, without training."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import hmem
from hmem.evaluation.metrics import MRR
from hmem.graph.dataset import Dataset
from hmem.graph.names import Vocabulary
from hmem.knowledge.base import KnowledgeBase
from hmem.knowledge.store.records import Names3
from hmem.model.checkpoint import BUNDLED
from hmem.model.propagation import Propagation

# Three families; of the third, nothing says who is whose grandparent.
FACTS: list[Names3] = [
    ("ann", "parent_of", "bob"), ("bob", "parent_of", "cid"), ("ann", "grandparent_of", "cid"),
    ("dee", "parent_of", "eve"), ("eve", "parent_of", "fay"), ("dee", "grandparent_of", "fay"),
    ("gus", "parent_of", "hal"), ("hal", "parent_of", "ida"), ("ann", "lives_in", "rome"), ("gus", "lives_in", "rome"),
]  # fmt: skip


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase.create(tmp_path / "families.kb", facts=FACTS) as base:
        yield base


def test_a_base_of_ten_facts_answers_untrained(kb: KnowledgeBase) -> None:
    assert len(kb) == 10
    found = kb.predict("gus", "grandparent_of", k=3)
    assert "ida" in [row.tail for row in found]
    assert [row.rank for row in found] == [1, 2, 3]
    assert "gus" in [row.head for row in kb.predict("ida", "grandparent_of", k=3, direction="head")]
    assert "fay" not in [row.tail for row in kb.predict("gus", "grandparent_of", k=10)], "no facts lead there"
    assert kb.predict("gus", "grandparent_of", k=3) == found
    missing = kb.missing("gus", k=3)
    assert all("gus" in row.names and row.names not in kb for row in missing)


def test_a_new_relation_can_be_asked_for_at_once(kb: KnowledgeBase) -> None:
    kb.predict("gus", "grandparent_of")
    kb.add_many([("bob", "child_of", "ann"), ("eve", "child_of", "dee"), ("cid", "child_of", "bob")])
    assert kb.predict("hal", "child_of", k=1)[0].tail == "gus"
    kb.add("jim", "parent_of", "kay")
    assert kb.predict("kay", "child_of", k=1)[0].tail == "jim"


def test_answers_are_explained(kb: KnowledgeBase) -> None:
    found = kb.explain("gus", "grandparent_of", "ida")
    assert (found.total, found.stored) == (None, False)
    walk = (("gus", "parent_of", "hal"), ("hal", "parent_of", "ida"))
    by_walk = {line.facts: line for line in found}
    assert by_walk[walk].kind == "path"
    assert by_walk[walk].without == 0, "nothing else leads there"
    assert found[0].contribution == by_walk[walk].contribution > 0
    assert found.to_arrow().column_names[:3] == ["kind", "text", "contribution"]
    stored = kb.explain("ann", "grandparent_of", "cid")
    assert stored.stored
    assert all(("ann", "grandparent_of", "cid") not in line.facts for line in stored)


def test_entities_are_alike_by_the_facts_they_share(kb: KnowledgeBase) -> None:
    """The weight of a fact is one over how many share it; here by hand."""
    kb.add_many([("gus", "likes", "tea"), ("ann", "likes", "tea"), ("dee", "likes", "tea")])
    found = {row.entity: row.similarity for row in kb.similar("gus")}
    # gus: hal's parent 1, lives in Rome 1/2, likes tea 1/3; ann: bob's parent 1, cid's grandparent 1, and the same two.
    shared = 1 / 2 + 1 / 3
    assert found["ann"] == pytest.approx(shared / ((1 + shared) * (2 + shared)) ** 0.5)
    assert found["dee"] == pytest.approx((1 / 3) / ((1 + shared) * (2 + 1 / 3)) ** 0.5)
    assert set(found) == {"ann", "dee"}


def test_it_is_evaluated_on_a_graph_it_has_never_seen(toy: Dataset) -> None:
    model = hmem.load(BUNDLED, device="cpu")
    assert isinstance(model.model, Propagation)
    assert (len(model.vocab.entities), len(model.vocab.relations)) == (0, 0)
    found = hmem.evaluate(model, toy, split="valid").protocols["all"]
    assert found["both.count"] == 2 * len(toy.valid)
    others = Vocabulary([f"e{n}" for n in range(toy.num_entities)], ["a", "b", "c", "d"])
    assert hmem.evaluate(model, replace(toy, vocab=others), split="valid").protocols["all"] == found
    guessing = sum(1 / rank for rank in range(1, toy.num_entities + 1)) / toy.num_entities
    assert found[MRR] > 1.5 * guessing


def test_training_begins_with_it(toy: Dataset) -> None:
    """Where nothing is learned, a trained model answers as the bundled one; from scratch it does not."""
    still = {"training": {"epochs": 1, "learning_rate": 1e-12, "link_withholding": 0.0}}
    bundled = hmem.evaluate(hmem.load(BUNDLED, device="cpu"), toy, split="valid").protocols
    trained = hmem.fit(toy, settings=still, device="cpu")
    assert trained.preset == "any-graph"
    assert hmem.evaluate(trained, toy, split="valid").protocols == bundled
    anew = hmem.fit(toy, settings=still, device="cpu", from_scratch=True)
    own, base = (dict(each.model.named_parameters()) for each in (anew, hmem.load(BUNDLED, device="cpu")))
    assert not torch.allclose(own["of_state"], base["of_state"], atol=1e-3)
    kept = dict(trained.model.named_parameters())
    assert torch.allclose(kept["of_state"], base["of_state"], atol=1e-6)
