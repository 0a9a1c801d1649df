"""A trained model in the numbering of another graph."""

import pytest
import torch

from hmem.graph.names import Vocabulary
from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.triples import as_triples
from hmem.model.build import ModelScorer, build
from hmem.model.hmem import HMem
from hmem.model.index import FrozenIndex
from hmem.model.placing import place, place_all
from hmem.model.query import Query
from hmem.model.renumber import renumber
from tests.model.problems import (
    ENTITIES,
    RELATIONS,
    every_question,
    index_of,
    memory_of,
    random_facts,
    random_model,
    small,
)

NAMES = Vocabulary([f"e{n}" for n in range(ENTITIES)], [f"r{n}" for n in range(RELATIONS)])
every_preset = pytest.mark.parametrize("name", ["recall", "tpr", "cconv-inf", "eravg", "tpr-im"])


def shuffled(seed: int) -> tuple[Vocabulary, torch.Tensor, torch.Tensor]:
    """The same names in another order, with the old numbers of entities and roles by the new ones."""
    generator = torch.Generator().manual_seed(seed)
    entities, relations = (torch.randperm(count, generator=generator) for count in (ENTITIES, RELATIONS))
    vocab = Vocabulary([f"e{n}" for n in entities.tolist()], [f"r{n}" for n in relations.tolist()])
    return vocab, entities, torch.cat([relations, relations + RELATIONS])


def renumbered(facts: list[tuple[int, int, int]], vocab: Vocabulary) -> FrozenIndex:
    ids = [
        (vocab.entities.id_of(f"e{head}"), vocab.relations.id_of(f"r{relation}"), vocab.entities.id_of(f"e{tail}"))
        for head, relation, tail in facts
    ]
    return FrozenIndex(Neighborhoods.build(as_triples(ids), len(vocab.entities), len(vocab.relations)))


@every_preset
@pytest.mark.parametrize("seed", [0, 1])
@torch.no_grad()
def test_another_order_of_names_changes_nothing_but_the_numbers(name: str, seed: int) -> None:
    memory = {"exact": {"paths": {"per_role": 8, "steps": 3}}} if name == "recall" else {}
    model, facts = random_model(small(name, memory=memory).memory, seed), random_facts(seed)
    vocab, old_entity, old_role = shuffled(seed)
    moved = renumber(model.float(), NAMES, vocab).double()
    query = every_question()
    before = model.double()(Query(old_entity[query.entity], old_role[query.role]), index_of(facts))
    after = moved(query, renumbered(facts, vocab))
    torch.testing.assert_close(after, before[:, old_entity], rtol=1e-5, atol=1e-5)


def grown_graph() -> tuple[HMem, HMem, FrozenIndex]:
    """A model, and the same on its graph with two unseen entities; the second has a fact with the first only."""
    model = random_model(small("recall").memory, 0).float()
    facts = [*random_facts(0), (ENTITIES, 0, 0), (ENTITIES + 1, 1, ENTITIES)]
    vocab = Vocabulary([f"e{n}" for n in range(ENTITIES + 2)], list(NAMES.relations))
    return model, memory_of(renumber(model, NAMES, vocab)), index_of(facts, ENTITIES + 2)


@torch.no_grad()
def test_every_entity_is_where_training_or_facts_put_it() -> None:
    model, grown, index = grown_graph()
    vectors = place_all(grown, index)
    assert torch.equal(vectors.entities[:ENTITIES], model.embeddings().entities)
    edges = index.lookup(torch.tensor([ENTITIES]))
    edges = edges.select(edges.fillers < ENTITIES)
    assert torch.equal(vectors.entities[ENTITIES], place(grown, edges, grown.embeddings())[0])
    assert not vectors.entities[ENTITIES + 1].any()
    assert vectors.placed is not None
    assert vectors.placed.tolist() == [True] * (ENTITIES + 1) + [False]
    assert vectors.lengths is not None
    torch.testing.assert_close(vectors.lengths, vectors.entities.square().sum(1))


@torch.no_grad()
def test_a_graph_of_strangers_is_answered_by_the_exact_channels_alone() -> None:
    """No entity has a vector; what can be copied has a probability, the rest none, and nothing is NaN."""
    model = random_model(small("recall", memory={"exact": {"paths": {"per_role": 8}}}).memory, 0).float()
    others = Vocabulary([f"s{n}" for n in range(ENTITIES)], list(NAMES.relations))
    moved, index = memory_of(renumber(model, NAMES, others)), index_of(random_facts(0))
    scorer = ModelScorer(moved, index, place_all(moved, index))
    scores = scorer.score(torch.tensor([0, ENTITIES - 1]), torch.tensor([0, 0]))
    assert not scores.isnan().any()
    assert (scores[0] > -torch.inf).any()
    assert (scores[1] == -torch.inf).all()  # without facts


@pytest.mark.gpu
@pytest.mark.parametrize("preset", ["recall", "any-graph"])
def test_a_model_on_a_gpu_stays_there(preset: str, cuda: torch.device) -> None:
    model = build(small(preset), ENTITIES, RELATIONS).to(cuda)
    assert renumber(model, NAMES, NAMES).device.type == "cuda"
