"""A knowledge base is trained on from Python, and uses the model that comes of it."""

from pathlib import Path

import pytest

import hmem
from hmem.errors import ConfigError
from hmem.graph.dataset import Dataset
from hmem.graph.triples import Triples
from hmem.knowledge.drift import drift
from hmem.knowledge.model_link import ModelLink
from hmem.knowledge.retraining import Retraining
from hmem.knowledge.store.as_dataset import dataset_of
from hmem.knowledge.store.records import Names3
from hmem.knowledge.store.store import Store
from hmem.runs.folder import read_facts
from hmem.sqlite_files import FACTS

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


def names_of(dataset: Dataset, facts: Triples) -> set[Names3]:
    names, relations = dataset.vocab.entities, dataset.vocab.relations
    return {(names[head], relations[relation], names[tail]) for head, relation, tail in facts.tolist()}


def growing(start: int, stop: int) -> list[Names3]:
    """Facts among the same few entities, so that nearly all can be spared; later ones bring new entities, too."""
    return [(f"e{n % (7 + n // 50)}", f"r{n % 3}", f"e{n * n % 11}") for n in range(start, stop)]


@pytest.mark.parametrize("is_from_file", [False, True])
def test_validation_facts_are_none_that_an_earlier_model_was_trained_with(tmp_path: Path, is_from_file: bool) -> None:
    """A base that grows and is fine-tuned twice, with a first model of its own or of the file that it was made of."""
    path, seen = tmp_path / "zoo.kb", set[Names3]()
    file = tmp_path / "zoo.tsv"
    file.write_text("".join("\t".join(fact) + "\n" for fact in growing(0, 200)), encoding="utf-8")
    hmem.KnowledgeBase.create(path, facts=file).close()
    if is_from_file:
        hmem.fit(file, "tpr-inf", settings=SETTINGS, out=tmp_path / "0", device="cpu")
        dataset = hmem.load_dataset(file)
        seen = names_of(dataset, dataset.train)
        with hmem.KnowledgeBase.open(path) as kb:
            kb.use_model(tmp_path / "0")
    for round, end in enumerate((200, 400, 600), 1):
        with hmem.KnowledgeBase.open(path) as kb:
            kb.add_many(growing(0, end))
        is_tuned = round > 1 or is_from_file
        preset, settings = (None, []) if is_tuned else ("tpr-inf", SETTINGS)
        retraining = Retraining.of(path, tmp_path / str(round))
        trained = retraining.train(tmp_path / str(round), preset, settings=settings, fine_tune=is_tuned, device="cpu")
        dataset = trained.dataset
        valid = names_of(dataset, dataset.valid)
        assert len(valid) >= 3
        assert not valid & seen
        seen |= names_of(dataset, dataset.train)
        facts = read_facts(tmp_path / str(round))
        assert facts is not None
        again = dataset_of(f"{path}@{retraining.moment}", valid=facts.valid)
        assert names_of(again, again.valid) == valid
        assert names_of(again, again.train) == names_of(dataset, dataset.train)


def test_most_of_what_is_new_is_learned_where_all_else_was_trained_on(toy: Dataset, tmp_path: Path) -> None:
    """The base has the train facts of a dataset with splits, so that only new ones can validate."""
    path, new = tmp_path / "zoo.kb", growing(0, 60)
    hmem.fit(toy, "tpr-inf", settings=SETTINGS, out=tmp_path / "0", device="cpu")
    hmem.KnowledgeBase.create(path, facts=toy, model=tmp_path / "0").close()
    nothing_new = Retraining.of(path, tmp_path / "1").train(tmp_path / "1", fine_tune=True, device="cpu")
    assert not len(nothing_new.dataset.valid)
    assert "the model in use was trained with nearly all that could be" in nothing_new.dataset.notes[0]
    with hmem.KnowledgeBase.open(path) as kb:
        kb.use_model(tmp_path / "0")
        kb.add_many(new)
    dataset = Retraining.of(path, tmp_path / "2").train(tmp_path / "2", fine_tune=True, device="cpu").dataset
    assert names_of(dataset, dataset.valid) <= set(new)
    assert 1 <= len(dataset.valid) <= len(set(new)) // 4
    assert "no earlier model was trained with them" in dataset.notes[0]


def test_a_model_of_before_keys_were_kept_may_have_seen_all_that_was_stored(toy: Dataset, tmp_path: Path) -> None:
    path, new = tmp_path / "zoo.kb", growing(0, 60)
    hmem.fit(toy, "tpr-inf", settings=SETTINGS, out=tmp_path / "0", device="cpu")
    (tmp_path / "0" / FACTS).unlink()
    hmem.KnowledgeBase.create(path, facts=toy, model=tmp_path / "0").close()
    with hmem.KnowledgeBase.open(path) as kb:
        kb.add_many(new)
    dataset = Retraining.of(path, tmp_path / "1").train(tmp_path / "1", fine_tune=True, device="cpu").dataset
    assert len(dataset.valid) >= 1
    assert names_of(dataset, dataset.valid) <= set(new)


def test_what_came_after_training_is_counted_when_an_earlier_model_is_used_again(toy: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "zoo.kb"
    hmem.fit(toy, "tpr-inf", settings=SETTINGS, out=tmp_path / "0", device="cpu")
    hmem.KnowledgeBase.create(path, facts=toy, model=tmp_path / "0").close()
    with hmem.KnowledgeBase.open(path) as kb:
        kb.add("dire_wolf.n.01", "hypernym", "wolf.n.01")
        kb.add("dire_wolf.n.01", "similar_to", "dog.n.01")
    Retraining.of(path, tmp_path / "1").train(tmp_path / "1", settings=["training.epochs=1"], device="cpu")
    with hmem.KnowledgeBase.open(path) as kb:
        assert (drift(kb).new_facts, drift(kb).new_entities) == (0, 0)
        kb.use_model(tmp_path / "0")
        assert (drift(kb).new_facts, drift(kb).new_entities) == (2, 1)


def test_fine_tuning_is_not_from_scratch(toy: Dataset, tmp_path: Path) -> None:
    hmem.KnowledgeBase.create(tmp_path / "zoo.kb", facts=toy).close()
    with pytest.raises(ConfigError, match="fine-tuning begins with the weights of the model in use, and so not from"):
        Retraining.of(tmp_path / "zoo.kb", tmp_path / "new").train(tmp_path / "new", fine_tune=True, from_scratch=True)
    assert not (tmp_path / "new").exists()
