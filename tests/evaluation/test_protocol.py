"""Who may be an answer."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hmem.evaluation.protocol import PROTOCOLS, Candidates
from hmem.graph.dataset import Dataset
from hmem.graph.names import Vocabulary
from hmem.graph.triples import as_triples
from tests.oracles_graph import Fact

ENTITIES, RELATIONS = 6, 2
facts = st.lists(
    st.tuples(st.integers(0, ENTITIES - 1), st.integers(0, RELATIONS - 1), st.integers(0, ENTITIES - 1)), max_size=6
)


def test_the_protocols() -> None:
    assert PROTOCOLS == ("all", "typed")


def test_all_is_everyone(toy: Dataset) -> None:
    every_entity = Candidates("all", toy)
    assert every_entity.num_entities == toy.num_entities
    assert not every_entity.depends_on_role
    assert all(every_entity.of(role) is None for role in range(toy.num_roles))


def test_typed_is_who_was_seen_in_that_slot(toy: Dataset) -> None:
    typed = Candidates("typed", toy)
    part_of = toy.vocab.relations.id_of("part_of")
    names = toy.vocab.entities.to_list()
    wholes, parts = typed.of(part_of + toy.num_relations), typed.of(part_of)
    assert wholes is not None
    assert parts is not None
    assert sorted(names[entity] for entity in parts.tolist()) == ["claw.n.01", "fur.n.01", "paw.n.01", "tail.n.01"]
    assert "bear.n.01" in {names[entity] for entity in wholes.tolist()}  # a whole in test only
    assert typed.depends_on_role


@given(facts, facts, facts, facts, st.none() | st.sets(st.integers(0, ENTITIES - 1)))
def test_candidates_equal_the_definition(
    train: list[Fact], valid: list[Fact], test: list[Fact], observed: list[Fact], heldout: set[int] | None
) -> None:
    dataset = Dataset(
        name="any",
        vocab=Vocabulary("abcdef", "rs"),
        train=as_triples(train),
        valid=as_triples(valid),
        test=as_triples(test),
        observed=None if heldout is None else as_triples(observed),
        heldout=None if heldout is None else np.array(sorted(heldout), dtype=np.int64),
    )
    everywhere = train + valid + test + (observed if heldout is not None else [])
    allowed = set(range(ENTITIES)) - (heldout or set())
    in_all, in_typed = Candidates("all", dataset), Candidates("typed", dataset)
    for relation in range(RELATIONS):
        heads = {head for head, other, _ in everywhere if other == relation}
        tails = {tail for _, other, tail in everywhere if other == relation}
        for role, seen in ((relation, heads), (relation + RELATIONS, tails)):
            typed, all_ids = in_typed.of(role), in_all.of(role)
            assert typed is not None
            assert typed.tolist() == sorted(seen & allowed)
            assert (list(range(ENTITIES)) if all_ids is None else all_ids.tolist()) == sorted(allowed)
