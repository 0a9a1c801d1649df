"""A model that goes on under other numbers answers as before, and unseen entities start where their facts put them."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given

from hmem.errors import ConfigError
from hmem.graph.names import Vocabulary
from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.triples import Triples, as_triples
from hmem.memory.completion import Completion
from hmem.model.build import ModelScorer
from hmem.model.hmem import HMem
from hmem.model.index import FrozenIndex
from hmem.model.placing import fit_placing, place
from hmem.training.loop import train
from hmem.training.start import new_model
from hmem.training.warm_start import warm_start
from tests.model.problems import (
    ENTITIES,
    LAW,
    MEMORIES,
    RELATIONS,
    SEEDS,
    memory_of,
    neighborhoods_of,
    random_facts,
    random_model,
    small,
)

SETTINGS = {name: small(name) for name in MEMORIES} | {
    "paths": small("recall", memory={"exact": {"paths": {"per_role": 5}}})
}
NAMES = Vocabulary((f"e{number}" for number in range(ENTITIES)), (f"r{number}" for number in range(RELATIONS)))


def before_of(name: str, seed: int, facts: list[tuple[int, int, int]]) -> HMem:
    model = random_model(SETTINGS[name].memory, seed).float()
    graph = neighborhoods_of(facts)
    model.is_trained.copy_(torch.from_numpy(np.diff(graph.offsets) > 0))
    if isinstance(model.completion, Completion):
        model.completion.tolerance = 1e-6  # again what float32 can reach
    if model.paths is not None:
        steps = torch.randint(2 * RELATIONS, model.paths.steps.shape, generator=torch.Generator().manual_seed(seed))
        steps[:, :, -1] -= steps[:, :, 0] % 2 * 100  # paths of two lengths
        steps[:, -1] = -1  # and an empty place
        steps = steps.clamp_min(-1)
        steps[:, :-1] = torch.stack([row[row[:, 0].argsort()] for row in steps[:, :-1]])
        model.paths.steps.copy_(steps)
    fit_placing(model, FrozenIndex(graph))
    return model


def renamed(facts: list[tuple[int, int, int]], vocab: Vocabulary) -> Triples:
    return as_triples(
        [
            (vocab.entities.id_of(f"e{head}"), vocab.relations.id_of(f"r{relation}"), vocab.entities.id_of(f"e{tail}"))
            for head, relation, tail in facts
        ]
    )


@pytest.mark.parametrize("name", SETTINGS)
@LAW
@given(seed=SEEDS)
def test_answers_stay_the_same_under_other_numbers(name: str, seed: int) -> None:
    """Every entity has a new number; there is one more relation, except where whitening would mix it in."""
    facts = random_facts(seed)
    more = RELATIONS + (0 if name.startswith("cconv") else 1)
    before = before_of(name, seed, facts)
    before.is_trained.fill_(True)
    rng = np.random.default_rng(seed)
    entities, relations = rng.permutation(ENTITIES), rng.permutation(more)
    vocab = Vocabulary([f"e{number}" for number in entities], [f"r{number}" for number in relations])
    triples = renamed([*facts, (0, more - 1, 0)], vocab)
    state = warm_start(SETTINGS[name], before, NAMES, vocab, triples)
    after = new_model(SETTINGS[name], ENTITIES, more).eval()
    after.load_state_dict(state.weights)
    after.is_trained.fill_(True)
    graph = Neighborhoods.build(renamed(facts, vocab), ENTITIES, more)
    ours, theirs = ModelScorer(after, FrozenIndex(graph)), ModelScorer(before, FrozenIndex(neighborhoods_of(facts)))
    now_of = torch.tensor([vocab.entities.id_of(f"e{number}") for number in range(ENTITIES)])
    for role in range(2 * RELATIONS):
        relation = vocab.relations.id_of(f"r{role % RELATIONS}")
        now = relation + (more if role >= RELATIONS else 0)
        asked = torch.arange(ENTITIES)
        expected = theirs.score(asked, torch.full_like(asked, role))
        found = ours.score(now_of, torch.full_like(asked, now))[:, now_of]
        assert torch.allclose(found, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", ["recall", "tpr", "eravg"])
def test_newcomers_start_where_their_facts_put_them(name: str) -> None:
    facts = random_facts(1)
    before = before_of(name, 1, facts)
    vocab = Vocabulary(["new", *NAMES.entities, "linked to new only"], NAMES.relations)
    new, other = 0, ENTITIES + 1
    triples = np.concatenate([renamed(facts, vocab), as_triples([(new, 0, 1), (3, 2, new), (other, 1, new)])])
    weights = warm_start(SETTINGS[name], before, NAMES, vocab, triples).weights
    assert torch.equal(
        weights["embeddings.entity"][1:other][before.is_trained], before.embeddings.entity[before.is_trained]
    )
    edges = FrozenIndex(Neighborhoods.build(as_triples([(9, 0, 0), (2, 2, 9)]), 10, RELATIONS)).lookup(
        torch.tensor([9])
    )
    expected = place(before, edges, before.embeddings())[0]
    assert torch.allclose(weights["embeddings.entity"][new], expected, atol=1e-5)
    fresh = memory_of(new_model(SETTINGS[name], ENTITIES + 2, RELATIONS)).embeddings.entity
    assert torch.allclose(weights["embeddings.entity"][other], math.log(2) * before.kinds[RELATIONS + 1], atol=1e-5)
    before.kinds.zero_()  # a model of an older version: no trained neighbor tells where it belongs
    weights = warm_start(SETTINGS[name], before, NAMES, vocab, triples).weights
    assert torch.equal(weights["embeddings.entity"][other], fresh[other])
    lonely = [entity for entity in range(ENTITIES) if not before.is_trained[entity]]
    assert lonely
    assert weights["is_trained"].tolist() == [True, *before.is_trained.tolist(), True]


def test_a_relation_that_is_gone_takes_its_paths_with_it() -> None:
    facts = random_facts(2)
    before = before_of("paths", 2, facts)
    assert before.paths is not None
    kept = [fact for fact in facts if fact[1] != 1]
    vocab = Vocabulary(NAMES.entities, ["r2", "r0"])
    weights = warm_start(SETTINGS["paths"], before, NAMES, vocab, renamed(kept, vocab)).weights
    steps, affinity = weights["paths.steps"], weights["paths.affinity"]
    assert int(steps.max()) < 4
    assert (steps[:, :, 0].masked_fill(steps[:, :, 0] < 0, 4).diff(dim=1) >= 0).all()
    now = {0: 1, 2: 0, 3: 3, 5: 2, -1: -1}  # r0 and r2, as left and as right roles
    for old, new in ((0, 1), (2, 0), (3, 3), (5, 2)):
        before_paths = zip(before.paths.steps[old].tolist(), before.paths.affinity[old].tolist(), strict=True)
        expected = {
            (*map(now.get, path), value) for path, value in before_paths if set(path) <= set(now) and path[0] >= 0
        }
        paths = zip(steps[new].tolist(), affinity[new].tolist(), strict=True)
        assert {(*path, value) for path, value in paths if path[0] >= 0} == expected


def test_only_training_may_be_set_otherwise() -> None:
    facts = random_facts(1)
    with pytest.raises(ConfigError, match=r"settings of \[memory\]"):
        warm_start(SETTINGS["paths"], before_of("recall", 1, facts), NAMES, NAMES, as_triples(facts))


def test_training_goes_on_from_there() -> None:
    facts = as_triples(random_facts(3))
    config = small("recall", training={"epochs": 30, "batch_size": 8})
    first = train(config, facts, ENTITIES, RELATIONS)
    again = small("recall", training={"epochs": 1, "batch_size": 8, "learning_rate": 1e-9})
    state = warm_start(again, first.model, NAMES, NAMES, facts)
    second = train(again, facts, ENTITIES, RELATIONS, resume=state)
    assert second.epochs == 1
    known = first.model.is_trained
    now, then = (memory_of(each.model).embeddings.entity[known] for each in (second, first))
    assert torch.allclose(now, then, atol=1e-4)
    for name, value in first.model.named_parameters():
        if name != "embeddings.entity":
            assert torch.allclose(second.model.get_parameter(name), value, atol=1e-4), name
