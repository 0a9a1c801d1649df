import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from hmem.config import MemoryConfig
from hmem.knowledge import live_vectors
from hmem.knowledge.batch_placing import MOST_BAGS, place_each
from hmem.memory.superpose import Edges
from hmem.model.hmem import HMem
from hmem.model.placing import place, place_by_roles
from tests.knowledge.conftest import MakeBase
from tests.knowledge.living import NEWCOMERS, STRANGER, Rebuilt, every_score, same, stored_facts
from tests.model.problems import small

ENTITIES, RELATIONS = 30, 12
SIZES = {
    "tpr": [(80, 25), (7, 3), (5, 1)],  # with a role of one component the products are made in another way
    "hadamard": [(24, 24)],
    "cconv": [(24, 24), (15, 15)],
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


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("binding", "entity_dim", "relation_dim"), CASES)
@given(neighborhoods=NEIGHBORHOODS)
@settings(max_examples=20)
@torch.inference_mode()
def test_together_everybody_stands_where_they_stand_alone(
    binding: str, entity_dim: int, relation_dim: int, threads: int, neighborhoods: list[list[tuple[int, int]]]
) -> None:
    model = model_of(binding, entity_dim, relation_dim)
    vectors = model.embeddings()
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        found = place_each(model, flat(neighborhoods), vectors)
        for row, edges in zip(found, neighborhoods, strict=True):
            alone = place(model, flat([edges]), vectors)[0] if edges else torch.zeros(entity_dim)
            assert torch.equal(row, alone)
        by_roles = place_by_roles(model, flat(neighborhoods))
        for row, edges in zip(by_roles, neighborhoods, strict=True):
            assert torch.equal(row, place_by_roles(model, flat([edges]))[0])
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("name", ["recall", "cconv"])
def test_many_at_once_are_as_one_by_one(make_base: MakeBase, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    facts = [(f"n{number}", ["hypernym", "part_of"][number % 2], "dog.n.01") for number in range(40)]
    facts += [(f"n{number}", "similar_to", "wolf.n.01") for number in range(0, 40, 3)]
    facts += [(STRANGER, "hypernym", "mammal.n.01"), ("x", "part_of", "y"), ("x", "part_of", NEWCOMERS[0])]
    kb = make_base(name)
    alone = make_base(name, file="alone.kb")
    monkeypatch.setattr(live_vectors, "AT_ONCE", 16)  # several times, the last not full
    monkeypatch.setattr(live_vectors.LiveVectors, "_update", lambda *_: pytest.fail("many are placed together"))
    kb.add_many(facts)
    found = every_score(kb)
    with kb.session() as session:
        vectors = session.predictor.vectors.current()
    monkeypatch.undo()
    for fact in facts:
        alone.add(*fact)
        with alone.session() as session:
            one_by_one = session.predictor.vectors.current()
    assert torch.equal(vectors.entities, one_by_one.entities)
    assert torch.equal(_given(vectors.placed), _given(one_by_one.placed))
    assert torch.equal(_given(vectors.lengths), _given(one_by_one.lengths))
    assert torch.equal(vectors.entities, Rebuilt(kb.model, kb.store.entity_names(), stored_facts(kb)).vectors.entities)
    assert same(found, every_score(alone))


def test_many_that_lose_their_facts_stand_nowhere(make_base: MakeBase) -> None:
    kb = make_base("recall")
    before = every_score(kb)
    crowd = [(f"n{number}", "hypernym", "dog.n.01") for number in range(2 * live_vectors.MANY)]
    kb.add_many([*crowd, ("last", "hypernym", "dog.n.01")])
    every_score(kb)
    kb.remove_many(crowd)
    with kb.session() as session:
        vectors = session.predictor.vectors.current()
        crowded = [session.live.entity(name) for name, _, _ in crowd]
    assert not bool(vectors.entities[crowded].any())
    assert not bool(_given(vectors.placed)[crowded].any())
    assert not bool(_given(vectors.lengths)[crowded].any())
    kb.remove("last", "hypernym", "dog.n.01")
    assert same(before, every_score(kb))


def _given(part: Tensor | None) -> Tensor:
    assert part is not None
    return part
