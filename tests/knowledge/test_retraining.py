"""A knowledge base is trained on from Python, and uses the model that comes of it."""

from pathlib import Path

import pytest

import hmem
from hmem.errors import ConfigError
from hmem.graph.dataset import Dataset
from hmem.knowledge.model_link import ModelLink
from hmem.knowledge.retraining import Retraining
from hmem.knowledge.store.as_dataset import dataset_of
from hmem.knowledge.store.store import Store

SETTINGS = ["memory.entity_dim=6", "memory.relation_dim=4", "training.epochs=2"]


def test_a_base_uses_the_model_that_was_trained_on_its_facts(toy: Dataset, tmp_path: Path) -> None:
    path, first, second = tmp_path / "zoo.kb", tmp_path / "first", tmp_path / "second"
    hmem.KnowledgeBase.create(path, facts=toy).close()
    nothing_yet = Retraining.of(path, first)
    assert nothing_yet.before is None
    with pytest.raises(ConfigError, match="has no model to start from"):
        nothing_yet.train(first, fine_tune=True)
    trained = nothing_yet.train(first, "tpr-inf", settings=SETTINGS, device="cpu")
    assert (trained.model.preset, trained.model.dataset) == ("tpr-inf", "zoo.kb")
    with hmem.KnowledgeBase.open(path) as kb:
        kb.add("dire_wolf.n.01", "hypernym", "wolf.n.01", source="me")
        assert kb.predict("dire_wolf.n.01", "hypernym", k=1)
    again = Retraining.of(path, second)
    tuned = again.train(second, settings=["training.epochs=1"], fine_tune=True, device="cpu").model
    assert (tuned.preset, tuned.config.memory) == ("tpr-inf", trained.model.config.memory)
    assert "dire_wolf.n.01" in tuned.vocab.entities
    with Store.open(path) as store:
        link = ModelLink.of(store)
        assert link is not None
        assert (link.folder, link.trained_until) == (second.resolve(), store.moment)
    assert "dire_wolf.n.01" not in dataset_of(f"{path}@{nothing_yet.moment}").vocab.entities
    with pytest.raises(ConfigError, match="is the model that"):
        Retraining.of(path, second)
