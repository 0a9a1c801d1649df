import numpy as np
import pytest
import torch

from hmem.knowledge import live_graph, live_vectors
from hmem.knowledge.base import KnowledgeBase
from hmem.model.vectors import Vectors
from tests.knowledge.conftest import MakeBase
from tests.knowledge.living import NEWCOMERS, STRANGER, TOY_FACTS, Rebuilt, stored_facts

NEW = NEWCOMERS[0]


def vectors_of(kb: KnowledgeBase) -> Vectors:
    with kb.session() as session:
        return session.predictor.vectors.current()


def row(kb: KnowledgeBase, name: str) -> torch.Tensor:
    with kb.session() as session:
        return vectors_of(kb).entities[session.live.entity(name)].clone()


def is_placed(kb: KnowledgeBase, name: str) -> bool:
    with kb.session() as session:
        return session.predictor.vectors.is_placed(session.live.entity(name))


@pytest.mark.parametrize("name", ["recall", "tpr", "cconv"])
def test_rows_are_those_of_one_who_starts_from_scratch(make_base: MakeBase, name: str) -> None:
    kb = make_base(name)
    vectors_of(kb)
    kb.add(NEW, "hypernym", "wolf.n.01")
    vectors_of(kb)
    kb.add_many([(NEW, "hypernym", "dog.n.01"), (STRANGER, "hypernym", "mammal.n.01"), ("x", "part_of", "y")])
    found = vectors_of(kb)
    expected = Rebuilt(kb.model, kb.store.entity_names(), stored_facts(kb)).vectors
    assert torch.equal(found.entities, expected.entities)
    assert torch.equal(found.roles, expected.roles)
    assert found.placed is not None
    assert expected.placed is not None
    assert torch.equal(found.placed, expected.placed)
    assert all(is_placed(kb, who) for who in (NEW, STRANGER, "x", "y"))
    assert bool(row(kb, NEW).any())
    assert bool(row(kb, "x").any())
    assert not torch.equal(row(kb, "x"), row(kb, "y")), "one is a part and the other a whole"


def test_somebody_training_never_met_is_placed_by_facts_only(make_base: MakeBase) -> None:
    kb = make_base("recall")
    assert not is_placed(kb, STRANGER)
    assert not bool(row(kb, STRANGER).any()), "not the noise that training started from"
    kb.add(STRANGER, "hypernym", "mammal.n.01")
    assert is_placed(kb, STRANGER)
    kb.remove(STRANGER, "hypernym", "mammal.n.01")
    assert not is_placed(kb, STRANGER)
    assert not bool(row(kb, STRANGER).any())


def test_nobody_is_placed_by_somebody_who_is_not(make_base: MakeBase) -> None:
    """A stranger stands where its roles put it, wherever those stand that it has facts with."""
    kb = make_base("recall")
    kb.add_many([(NEW, "similar_to", STRANGER), (NEW, "similar_to", NEW), ("x", "similar_to", NEW)])
    before = row(kb, "x")
    assert is_placed(kb, "x")
    kb.add(NEW, "hypernym", "wolf.n.01")
    assert torch.equal(row(kb, "x"), before)


def test_a_model_that_knows_no_kinds_places_no_strangers(make_base: MakeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_vectors, "can_place_by_roles", lambda model: False)
    kb = make_base("recall")
    kb.add_many([(NEW, "similar_to", STRANGER), (NEW, "similar_to", NEW), ("x", "similar_to", NEW)])
    assert not any(is_placed(kb, who) for who in (NEW, STRANGER, "x"))
    kb.add_many([(f"x{number}", "similar_to", NEW) for number in range(live_vectors.MANY)])
    assert not any(is_placed(kb, f"x{number}") for number in range(live_vectors.MANY))


def test_a_model_is_never_changed(make_base: MakeBase) -> None:
    kb = make_base("tpr-inf")
    before = {name: value.clone() for name, value in kb.model.model.state_dict().items()}
    kb.add_many([(STRANGER, "hypernym", "mammal.n.01"), (NEW, "hypernym", "mammal.n.01")])
    vectors_of(kb)
    kb.remove(STRANGER, "hypernym", "mammal.n.01")
    vectors_of(kb)
    assert all(torch.equal(before[name], value) for name, value in kb.model.model.state_dict().items())


def test_rows_are_not_copied_for_every_question(make_base: MakeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    """The matrix is made anew only when there is no room left, and then for twice as many blocks."""
    block = 8
    monkeypatch.setattr(live_graph, "BLOCK", block)
    monkeypatch.setattr(live_vectors, "BLOCK", block)
    kb = make_base("recall")
    kb.add("n0", "hypernym", "dog.n.01")
    places = []
    for number in range(1, 5 * block, block // 2):
        kb.add_many([(f"n{each}", "hypernym", "dog.n.01") for each in range(number, number + block // 2)])
        places.append(vectors_of(kb).entities.data_ptr())
    assert len(set(places)) == 4, "for 1, 2, 4 and 8 blocks"
    assert vectors_of(kb).entities.data_ptr() == places[-1]


def test_only_those_whose_facts_changed_are_placed_again(make_base: MakeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    kb = make_base("recall")
    kb.add_many([(NEW, "hypernym", "dog.n.01"), ("x", "hypernym", "dog.n.01")])
    vectors_of(kb)
    with kb.session() as session:
        vectors, names = session.predictor.vectors, session.live.entities.names
    placed: list[str] = []
    usual = vectors._place

    def noted(entity: int) -> torch.Tensor | None:
        placed.append(names[entity])
        return usual(entity)

    monkeypatch.setattr(vectors, "_place", noted)
    kb.add("x", "part_of", "paw.n.01")
    vectors_of(kb)
    vectors_of(kb)
    assert placed == ["x"]


def test_facts_that_came_while_nobody_asked_are_no_trouble(make_base: MakeBase) -> None:
    """Somebody whose facts came and went before there was a row for them."""
    kb = make_base("recall")
    vectors_of(kb)
    kb.add(NEW, "hypernym", "dog.n.01")
    kb.remove(NEW, "hypernym", "dog.n.01")
    assert len(vectors_of(kb).entities) == len(kb.model.vocab.entities)
    assert not is_placed(kb, NEW)
    kb.add(NEW, "hypernym", "dog.n.01")
    assert is_placed(kb, NEW)


def test_without_newcomers_or_strangers_the_models_own_vectors_are_used(make_base: MakeBase) -> None:
    kb = make_base("recall", facts=TOY_FACTS)
    known = kb.model.model.is_trained
    known.fill_(True)  # of this loaded copy
    with kb.session() as session:
        fresh = type(session.predictor.vectors)(kb.model.model, session.live)
        vectors = fresh.current()
        assert vectors.placed is None
        assert vectors.entities.data_ptr() == kb.model.model.embeddings.entity.data_ptr()
        assert np.all([fresh.has_trained(entity) for entity in range(len(known))])
