"""A relation that came after a model was trained, to a model that answers with any relation."""

from dataclasses import replace
from pathlib import Path

import pytest

from hmem.evaluation.calibration import calibrate
from hmem.graph.dataset import Dataset
from hmem.knowledge.base import KnowledgeBase
from hmem.model.build import ModelScorer
from hmem.model.checkpoint import load, save
from hmem.model.index import FrozenIndex
from tests.knowledge.living import TOY_FACTS
from tests.knowledge.propagating import save_network


@pytest.fixture
def kb(tmp_path: Path, toy: Dataset) -> KnowledgeBase:
    """With a network that has a table for the toy's roles, and a calibration by its validation facts."""
    folder = save_network(tmp_path / "m", "both", toy.vocab)
    saved = load(folder)
    made = calibrate(ModelScorer(saved.model, FrozenIndex(toy.inference_graph("train"), saved.model.device)), toy)
    assert made is not None
    save(folder, replace(saved, metrics={"calibration": made.to_dict()}))
    return KnowledgeBase.create(tmp_path / "zoo.kb", model=folder, facts=list(TOY_FACTS))


def test_everything_can_be_asked_once_it_is_there(kb: KnowledgeBase) -> None:
    kb.add_many([("dog.n.01", "fears", f"thing {number}") for number in range(30)])
    rows = [
        *kb.predict("wolf.n.01", "fears"),
        *kb.predict("wolf.n.01", "hypernym"),
        *kb.missing("wolf.n.01"),
        *kb.score_many([("dog.n.01", "hypernym", "cat.n.01")]),
    ]
    assert all(row.probability is not None for row in rows)
    assert kb.explain("wolf.n.01", "fears", "thing 1").probability is not None
    assert not kb.has_outgrown("dog.n.01")  # training says nothing of how many are feared
    assert len(kb.audit(k=3)) == 3
    assert list(kb.missing_anywhere(k=3))


def test_what_is_probably_missing_elsewhere_stays_as_likely(kb: KnowledgeBase) -> None:
    asked = ("wolf.n.01", "dog.n.01", "lion.n.01"), ("hypernym", "part_of", "similar_to")
    pairs = [(entity, relation) for entity in asked[0] for relation in asked[1]]
    before = {row.names: row for row in kb.predict_many(pairs, k=3)}
    assert max(row.probability / row.if_missing for row in before.values()) < 0.9  # type: ignore[operator]
    kb.add("a stranger", "fears", "another")
    for row in kb.predict_many(pairs, k=3):
        if row.names in before:
            old = before[row.names]
            assert row.probability == pytest.approx(old.probability, abs=0.1), row
