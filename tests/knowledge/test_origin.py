"""What a model inferred is kept apart from what it is concluded from."""

from dataclasses import replace
from pathlib import Path

import pytest

from hmem.errors import ConfigError, EmptyNeighborhoodError
from hmem.knowledge.base import KnowledgeBase
from hmem.knowledge.results import Predictions
from hmem.knowledge.store.as_dataset import dataset_of
from tests.knowledge.conftest import MakeBase
from tests.knowledge.test_bundled import FACTS

NEW = ("gus", "grandparent_of", "ida")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "families.kb"
    KnowledgeBase.create(path, facts=FACTS).close()
    return path


def test_an_inferred_fact_changes_no_answer_and_hides_none(path: Path) -> None:
    with KnowledgeBase.open(path) as kb:
        before, missing = kb.predict(*NEW[:2]), kb.missing("gus")
        kb.add_many([NEW, ("gus", "lives_in", "oslo")], inferred_by="base", probability=0.75)
        after = kb.predict(*NEW[:2])
        assert [replace(row, inferred_by=None) for row in after] == list(before)
        assert {row.names: row.inferred_by for row in after if row.inferred_by} == {NEW: "base"}
        assert "inferred_by" in after.columns
        assert "inferred_by" not in before.columns
        assert [row.names for row in kb.missing("gus")] == [row.names for row in missing]
        assert not kb.explain(*NEW).stored
        assert NEW in kb, "it is stored all the same"
        with pytest.raises(EmptyNeighborhoodError, match="a model inferred them"):
            kb.predict("oslo", "lives_in", direction="head")
    with KnowledgeBase.open(path, with_inferred=True) as kb:
        assert kb.explain(*NEW).stored
        assert NEW[2] not in [row.tail for row in kb.predict(*NEW[:2])]
        assert "gus" not in [row.head for row in kb.predict("oslo", "lives_in", direction="head")]
    with KnowledgeBase.open(path) as kb:
        assert kb.add(*NEW), "asserted from now on"
        assert NEW[2] not in [row.tail for row in kb.predict(*NEW[:2])]


def test_training_sees_what_was_asserted(path: Path) -> None:
    with KnowledgeBase.open(path) as kb:
        kb.add_many([NEW, ("gus", "lives_in", "oslo")], inferred_by="base", probability=0.75)
        kb.revise(*FACTS[0], confidence=0.0)
    dataset = dataset_of(str(path))
    assert len(dataset.everything()) == len(FACTS) - 1
    assert "oslo" not in dataset.vocab.entities


def test_likely_answers_are_kept_with_their_model_and_probability(make_base: MakeBase) -> None:
    kb = make_base("recall")
    found = [replace(row, probability=0.9 - row.rank / 10) for row in kb.missing("wolf.n.01")]
    likely = found[:4]
    done = kb.infer(found, source="test")
    assert len(done.changed) == len(likely)
    link = kb.model_link
    assert link is not None
    for fact, row in zip(kb.store.listing(inferred=True), likely, strict=True):
        assert (fact.names, fact.probability, fact.source) == (row.names, row.probability, "test")
        assert fact.inferred_by == f"{link.folder.name}@{link.checksum[:8]}"
    assert len(kb.infer(found).changed) == 0
    assert len(kb.infer(found, least=0.35).changed) == 1
    assert kb.infer(Predictions([])).moment == done.moment + 1


def test_without_probabilities_nothing_can_be_kept(path: Path) -> None:
    with KnowledgeBase.open(path) as kb, pytest.raises(ConfigError, match="not calibrated"):
        kb.infer(kb.missing("gus"))
