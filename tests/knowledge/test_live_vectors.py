import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from hmem.config import MemoryConfig
from hmem.knowledge import live_graph, live_vectors
from hmem.knowledge.base import KnowledgeBase
from hmem.knowledge.live_vectors import MOST_BAGS, LiveVectors, place_each
from hmem.memory.superpose import Edges
from hmem.model.hmem import HMem
from hmem.model.placing import place, place_by_roles
from hmem.model.vectors import Vectors
from tests.knowledge.conftest import MakeBase
from tests.knowledge.living import (
    TOY_FACTS,
    UNSEEN,
    UNTRAINED,
    Rebuilt,
    every_score,
    live_vectors_of,
    same,
    stored_facts,
)
from tests.laws import examples
from tests.model.problems import memory_of, small

NEW = UNSEEN[0]


def vectors_of(kb: KnowledgeBase) -> Vectors:
    with kb.session() as session:
        return live_vectors_of(session).current()


def row(kb: KnowledgeBase, name: str) -> torch.Tensor:
    with kb.session() as session:
        return vectors_of(kb).entities[session.names.entity(name)].clone()


def is_placed(kb: KnowledgeBase, name: str) -> bool:
    with kb.session() as session:
        return live_vectors_of(session).is_placed(session.names.entity(name))


@pytest.mark.parametrize("name", ["recall", "tpr", "cconv"])
def test_rows_are_those_made_from_scratch(make_base: MakeBase, name: str) -> None:
    kb = make_base(name)
    vectors_of(kb)
    kb.add(NEW, "hypernym", "wolf.n.01")
    vectors_of(kb)
    kb.add_many([(NEW, "hypernym", "dog.n.01"), (UNTRAINED, "hypernym", "mammal.n.01"), ("x", "part_of", "y")])
    found = vectors_of(kb)
    expected = Rebuilt(kb.model, kb.store.entity_names(), stored_facts(kb)).vectors
    assert torch.equal(found.entities, expected.entities)
    assert torch.equal(found.roles, expected.roles)
    assert found.placed is not None
    assert expected.placed is not None
    assert torch.equal(found.placed, expected.placed)
    assert all(is_placed(kb, each) for each in (NEW, UNTRAINED, "x", "y"))
    assert bool(row(kb, NEW).any())
    assert bool(row(kb, "x").any())
    assert not torch.equal(row(kb, "x"), row(kb, "y")), "one is a part and the other a whole"


def test_an_entity_training_never_met_is_placed_by_facts_only(make_base: MakeBase) -> None:
    kb = make_base("recall")
    assert not is_placed(kb, UNTRAINED)
    assert not bool(row(kb, UNTRAINED).any()), "not the noise that training started from"
    kb.add(UNTRAINED, "hypernym", "mammal.n.01")
    assert is_placed(kb, UNTRAINED)
    kb.remove(UNTRAINED, "hypernym", "mammal.n.01")
    assert not is_placed(kb, UNTRAINED)
    assert not bool(row(kb, UNTRAINED).any())


def test_an_entity_is_not_placed_by_one_that_has_no_place(make_base: MakeBase) -> None:
    """It stands where its roles put it, wherever the entities stand that it has facts with."""
    kb = make_base("recall")
    kb.add_many([(NEW, "similar_to", UNTRAINED), (NEW, "similar_to", NEW), ("x", "similar_to", NEW)])
    before = row(kb, "x")
    assert is_placed(kb, "x")
    kb.add(NEW, "hypernym", "wolf.n.01")
    assert torch.equal(row(kb, "x"), before)


def test_a_model_that_knows_no_kinds_places_none_by_its_roles(
    make_base: MakeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_vectors, "can_place_by_roles", lambda model: False)
    kb = make_base("recall")
    kb.add_many([(NEW, "similar_to", UNTRAINED), (NEW, "similar_to", NEW), ("x", "similar_to", NEW)])
    assert not any(is_placed(kb, each) for each in (NEW, UNTRAINED, "x"))
    kb.add_many([(f"x{number}", "similar_to", NEW) for number in range(16)])
    assert not any(is_placed(kb, f"x{number}") for number in range(16))


def test_a_model_is_never_changed(make_base: MakeBase) -> None:
    kb = make_base("tpr-inf")
    before = {name: value.clone() for name, value in kb.model.model.state_dict().items()}
    kb.add_many([(UNTRAINED, "hypernym", "mammal.n.01"), (NEW, "hypernym", "mammal.n.01")])
    vectors_of(kb)
    kb.remove(UNTRAINED, "hypernym", "mammal.n.01")
    vectors_of(kb)
    assert all(torch.equal(before[name], value) for name, value in kb.model.model.state_dict().items())


def test_rows_are_not_copied_for_every_question(make_base: MakeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    """The matrix is made anew only when there is no room left, and then for twice as many blocks."""
    block = 8
    monkeypatch.setattr(live_graph, "BLOCK", block)
    monkeypatch.setattr(live_vectors, "BLOCK", block)
    kb = make_base("recall")
    kb.add("n0", "hypernym", "dog.n.01")
    kept = []  # so that no freed memory is used again
    for number in range(1, 5 * block, block // 2):
        kb.add_many([(f"n{each}", "hypernym", "dog.n.01") for each in range(number, number + block // 2)])
        kept.append(vectors_of(kb).entities)
    assert len({rows.data_ptr() for rows in kept}) == 4, "for 1, 2, 4 and 8 blocks"
    assert vectors_of(kb).entities.data_ptr() == kept[-1].data_ptr()


def test_only_those_whose_facts_changed_are_placed_again(make_base: MakeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    kb = make_base("recall")
    kb.add_many([(NEW, "hypernym", "dog.n.01"), ("x", "hypernym", "dog.n.01")])
    vectors_of(kb)
    with kb.session() as session:
        vectors, names = live_vectors_of(session), session.live.entities.names
    placed: list[str] = []
    usual = vectors._update

    def noted(entities: list[int]) -> None:
        placed.extend(names[entity] for entity in entities)
        usual(entities)

    monkeypatch.setattr(vectors, "_update", noted)
    kb.add("x", "part_of", "paw.n.01")
    vectors_of(kb)
    vectors_of(kb)
    assert placed == ["x"]


def test_facts_that_came_and_went_between_questions_are_no_trouble(make_base: MakeBase) -> None:
    """An entity whose facts came and went before there was a row for it."""
    kb = make_base("recall")
    vectors_of(kb)
    kb.add(NEW, "hypernym", "dog.n.01")
    kb.remove(NEW, "hypernym", "dog.n.01")
    assert len(vectors_of(kb).entities) == len(kb.model.vocab.entities)
    assert not is_placed(kb, NEW)
    kb.add(NEW, "hypernym", "dog.n.01")
    assert is_placed(kb, NEW)


def test_without_unseen_entities_the_models_own_vectors_are_used(make_base: MakeBase) -> None:
    kb = make_base("recall", facts=TOY_FACTS)
    model = memory_of(kb.model.model)
    known = model.is_trained
    known.fill_(True)  # of this loaded copy
    with kb.session() as session:
        fresh = LiveVectors(model, session.live)
        vectors = fresh.current()
        assert vectors.placed is None
        assert vectors.entities.data_ptr() == model.embeddings.entity.data_ptr()
        assert np.all([fresh.is_trained(entity) for entity in range(len(known))])


# Many at once

ENTITIES, RELATIONS = 30, 12
SIZES = {
    "tpr": [(80, 25), (7, 3), (5, 1)],  # with a role of one component the products are made in another way
    "hadamard": [(24, 24)],
    "cconv": [(15, 15)],
}
CASES = [(binding, *size) for binding, sizes in SIZES.items() for size in sizes]
NEIGHBORHOODS = st.lists(
    st.lists(
        st.tuples(st.integers(0, 2 * RELATIONS - 1), st.integers(0, ENTITIES - 1)), max_size=3 * MOST_BAGS, unique=True
    ),
    min_size=1,
    max_size=20,
).map(lambda some: some + some[::-1])  # so that there are always others with as many roles


def model_of(binding: str, entity_dim: int, relation_dim: int) -> HMem:
    torch.manual_seed(0)
    memory = {"binding": binding, "entity_dim": entity_dim, "relation_dim": relation_dim}
    config: MemoryConfig = small("tpr", memory=memory).memory
    model = HMem(config, ENTITIES, RELATIONS).eval()
    model.placing.normal_()
    model.kinds.normal_()
    return model


def flat(neighborhoods: list[list[tuple[int, int]]]) -> Edges:
    rows = [(role, filler, query) for query, edges in enumerate(neighborhoods) for role, filler in sorted(edges)]
    roles, fillers, query = torch.tensor(rows, dtype=torch.int64).reshape(-1, 3).T.contiguous()
    return Edges(roles, fillers, query, len(neighborhoods))


@pytest.mark.parametrize(("binding", "entity_dim", "relation_dim"), CASES)
@given(neighborhoods=NEIGHBORHOODS, threads=st.sampled_from([1, 2]))
@examples(4)
@torch.inference_mode()
def test_together_each_entity_stands_where_it_stands_alone(
    binding: str, entity_dim: int, relation_dim: int, threads: int, neighborhoods: list[list[tuple[int, int]]]
) -> None:
    model = model_of(binding, entity_dim, relation_dim)
    vectors = model.embeddings()
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        found = place_each(model, flat(neighborhoods), vectors)
        by_roles = place_by_roles(model, flat(neighborhoods))
        for row, by_role, edges in zip(found, by_roles, neighborhoods, strict=True):
            alone = place(model, flat([edges]), vectors)[0] if edges else torch.zeros(entity_dim)
            assert torch.equal(row, alone)
            assert torch.equal(by_role, place_by_roles(model, flat([edges]))[0])
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("name", ["recall", "cconv"])
def test_many_at_once_are_as_one_by_one(make_base: MakeBase, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    facts = [(f"n{number}", ["hypernym", "part_of"][number % 2], "dog.n.01") for number in range(40)]
    facts += [(f"n{number}", "similar_to", "wolf.n.01") for number in range(0, 40, 3)]
    facts += [(UNTRAINED, "hypernym", "mammal.n.01"), ("x", "part_of", "y"), ("x", "part_of", UNSEEN[0])]
    kb = make_base(name)
    alone = make_base(name, file="alone.kb")
    monkeypatch.setattr(live_vectors, "AT_ONCE", 16)  # several times, the last not full
    kb.add_many(facts)
    found = every_score(kb)
    with kb.session() as session:
        vectors = live_vectors_of(session).current()
    monkeypatch.undo()
    for fact in facts:
        alone.add(*fact)
        with alone.session() as session:
            one_by_one = live_vectors_of(session).current()
    assert torch.equal(vectors.entities, one_by_one.entities)
    assert torch.equal(_given(vectors.placed), _given(one_by_one.placed))
    assert torch.equal(_given(vectors.lengths), _given(one_by_one.lengths))
    assert torch.equal(vectors.entities, Rebuilt(kb.model, kb.store.entity_names(), stored_facts(kb)).vectors.entities)
    assert same(found, every_score(alone))


def test_many_that_lose_their_facts_stand_nowhere(make_base: MakeBase) -> None:
    kb = make_base("recall")
    before = every_score(kb)
    crowd = [(f"n{number}", "hypernym", "dog.n.01") for number in range(32)]
    kb.add_many([*crowd, ("last", "hypernym", "dog.n.01")])
    every_score(kb)
    kb.remove_many(crowd)
    with kb.session() as session:
        vectors = live_vectors_of(session).current()
        crowded = [session.names.entity(name) for name, _, _ in crowd]
    assert not bool(vectors.entities[crowded].any())
    assert not bool(_given(vectors.placed)[crowded].any())
    assert not bool(_given(vectors.lengths)[crowded].any())
    kb.remove("last", "hypernym", "dog.n.01")
    assert same(before, every_score(kb))


def _given(part: Tensor | None) -> Tensor:
    assert part is not None
    return part
