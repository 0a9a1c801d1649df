"""The laws of a whole model, for every preset that has a memory of facts."""

import math
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from hmem.memory.superpose import Superposition
from hmem.model.build import ModelScorer
from hmem.model.hmem import HMem
from hmem.model.index import LiveIndex
from hmem.model.presets import PRESETS
from hmem.model.query import Drop, Noise, other_answers
from hmem.model.vectors import Vectors
from tests.laws import examples
from tests.model.problems import (
    COMPLETED,
    ENTITIES,
    EXPLICIT,
    LAW,
    MEMORIES,
    RELATIONS,
    SEEDS,
    ask,
    both_ways,
    every_question,
    index_of,
    looped_retrieved,
    looped_scores,
    neighborhoods_of,
    random_facts,
    random_model,
    small,
    stated_by,
)

CPU = torch.device("cpu")
FEW = examples(2)
every_preset = pytest.mark.parametrize("name", MEMORIES)
every_explicit = pytest.mark.parametrize("name", EXPLICIT)
# what the presets leave out: the exact channel on other bindings, the role bias, the cut, identity with recall
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in EXPLICIT},
    "tpr with everything": ("tpr", {"exact": {}, "role_bias": "zero", "max_neighbors": 4, "own_bias": True}),
    "cconv with everything": ("cconv", {"exact": {}, "role_bias": "zero", "max_neighbors": 4}),
    "hadamard with everything": ("eravg", {"exact": {}, "weighting": "learned", "identity": True, "stiffness": 1.0}),
    "recall with identity": ("recall", {"identity": True, "temperature": 3.0}),
    "recall with its own bias": ("recall", {"own_bias": True}),
    "recall with means": ("recall", {"weighting": "mean"}),
}
every_variant = pytest.mark.parametrize("variant", list(VARIANTS))


def variant_model(variant: str, seed: int) -> HMem:
    name, memory = VARIANTS[variant]
    return random_model(small(name, memory=memory).memory, seed)


def close(left: Tensor, right: Tensor, atol: float = 1e-9) -> None:
    torch.testing.assert_close(left, right, rtol=1e-9, atol=atol)


# The paper, line by line


@every_preset
@given(seed=SEEDS)
@FEW
@torch.no_grad()
def test_scores_are_those_of_a_loop_over_the_paper(name: str, seed: int) -> None:
    facts = random_facts(seed)
    model = random_model(small(name).memory, seed)
    questions = [(entity, (entity + seed) % (2 * RELATIONS)) for entity in range(ENTITIES)]
    scores = model(ask(*questions), index_of(facts))
    for row, (entity, role) in enumerate(questions):
        close(scores[row], looped_scores(model, facts, entity, role))


@every_variant
@given(seed=SEEDS)
@FEW
@torch.no_grad()
def test_scores_with_the_fact_withheld_are_those_of_a_loop(variant: str, seed: int) -> None:
    facts = random_facts(seed)
    model = variant_model(variant, seed)
    questions = both_ways(facts)[seed % 6 :: 6]
    scores = model(ask(*questions), index_of(facts))
    for row, question in enumerate(questions):
        close(scores[row], looped_scores(model, facts, *question))


@every_explicit
def test_a_score_is_the_temperature_times_minus_the_squared_distance(name: str) -> None:
    plain = {"exact": None, "own_bias": False}
    model = random_model(small(name, memory={**plain, "temperature": 7.0}).memory, 0)
    query, vectors, graph = every_question(), model.embeddings(), index_of(random_facts(0))
    retrieved = model.answer(query, graph, vectors).retrieved
    distance = (retrieved[:, None] - vectors.entities[None]).square().sum(2)
    temperature = model.log_temperature.exp()
    assert temperature > 2
    close(model(query, graph), -temperature * distance)
    assert torch.equal(model(query, graph), model.dense.scores(query, retrieved, vectors))


@every_variant
def test_a_question_alone_is_answered_as_in_a_batch(variant: str) -> None:
    model, graph = variant_model(variant, 5), index_of(random_facts(5))
    together = model(every_question(), graph)
    for row, (entity, role) in enumerate(
        zip(every_question().entity.tolist(), every_question().role.tolist(), strict=True)
    ):
        if row % 5 == 0:
            close(model(ask((entity, role)), graph)[0], together[row])


# What must not be seen


@every_variant
@given(seed=SEEDS)
@FEW
def test_a_withheld_fact_might_as_well_not_be_in_the_graph(variant: str, seed: int) -> None:
    """Stated once or twice; a fact about an entity and itself, too."""
    facts = random_facts(seed)
    model = variant_model(variant, seed)
    doubled = index_of([*facts, *facts[::2]])
    loops = [question for question in both_ways(facts) if question[0] == question[2]]
    for question in [*loops[:3], *both_ways(facts)[seed % 9 :: 9]]:
        rest = index_of([fact for fact in facts if fact != stated_by(question)])
        with_it, without = model(ask(question), doubled), model(ask(question), rest)
        close(with_it, without, atol=1e-10)
        close(with_it, model(ask(question[:2]), rest), atol=1e-10)


@every_variant
def test_the_withheld_filler_leaves_no_trace(variant: str) -> None:
    """Whatever its vector is, as long as no other edge leads there."""
    facts = [(0, 0, 1), (0, 1, 2), (3, 1, 0), (0, 2, 4), (0, 0, 5), (6, 0, 6), (6, 1, 2), (2, 2, 6)]
    model, graph = variant_model(variant, 0), index_of(facts)
    vectors = model.embeddings()
    for question in [(0, RELATIONS, 1), (0, 1, 3), (0, RELATIONS + 2, 4), (6, 0, 6), (6, RELATIONS, 6)]:
        query, target = ask(question), question[2]
        moved = vectors.entities.clone()
        moved[target] += 100.0
        if target == question[0] and model.config.identity:
            continue  # here its vector is also who is asked about
        answers = [model.answer(query, graph, Vectors(some, vectors.roles)) for some in (vectors.entities, moved)]
        assert torch.equal(answers[0].retrieved, answers[1].retrieved)
        if answers[0].copied is not None and answers[1].copied is not None:
            assert torch.equal(answers[0].copied.log_edge, answers[1].copied.log_edge)
            assert torch.equal(answers[0].copied.log_null, answers[1].copied.log_null)
    if model.config.max_neighbors is not None:
        return  # what follows may have been cut
    seen = model.answer(ask((0, RELATIONS)), graph, vectors).retrieved
    moved = vectors.entities.clone()
    moved[1] += 100.0
    assert not torch.equal(model.answer(ask((0, RELATIONS)), graph, Vectors(moved, vectors.roles)).retrieved, seen)


@every_variant
@given(seed=SEEDS)
@FEW
def test_with_links_withheld_nothing_between_the_two_is_used(variant: str, seed: int) -> None:
    facts = random_facts(seed)
    model = variant_model(variant, seed)
    graph, vectors = index_of(facts), model.embeddings()
    for question in both_ways(facts)[seed % 7 :: 7]:
        entity, role, target = question
        drop = Drop(noise=Noise(seed, 0, CPU), link=1.0)
        answer = model.answer(ask(question), graph, vectors, drop)
        ends = {entity, target}
        apart = [fact for fact in facts if {fact[0], fact[2]} != ends]
        unlinked = model.answer(ask((entity, role)), index_of(apart), vectors)
        close(answer.retrieved, unlinked.retrieved, atol=1e-10)
        if answer.copied is not None:
            between = answer.weighted.edges.fillers == target
            assert between.any()
            assert (answer.copied.log_edge[between] == -math.inf).all()


@every_variant
def test_dropped_neighbors_might_as_well_not_be_there(variant: str) -> None:
    facts = random_facts(6)
    model, graph = variant_model(variant, 6), index_of(facts)
    vectors = model.embeddings()
    question = max(both_ways(facts), key=lambda each: len(graph.lookup(torch.tensor([each[0]])).query))
    answer = model.answer(ask(question), graph, vectors, Drop(noise=Noise(0, 0, CPU), neighbor=0.5))
    entity, edges, absent = question[0], answer.weighted.edges, answer.weighted.absent
    if model.config.max_neighbors is None:
        assert 0 < int(absent.sum()) < len(absent)
    gone = {
        stated_by((entity, role, filler))
        for role, filler in zip(edges.roles[absent].tolist(), edges.fillers[absent].tolist(), strict=True)
        if filler != entity  # one edge of a self loop may be dropped without the other
    }
    if not (edges.fillers[absent] == entity).any():
        rest = index_of([fact for fact in facts if fact not in gone])
        close(answer.retrieved, model.answer(ask(question[:2]), rest, vectors).retrieved, atol=1e-10)
    assert (answer.weighted.weights[absent] == 0).all()


# The short cut at λ = ∞, and its limit


@contextmanager
def the_long_way() -> Iterator[None]:
    """Every memory is built before it is unbound."""

    def unbind(self: Superposition, roles: Tensor) -> Tensor:
        return self.binding.unbind(self.role_vectors[roles], self.state)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Superposition, "unbind", unbind)
        yield


@given(
    seed=SEEDS,
    weighting=st.sampled_from(["learned", "mean"]),
    neighbor=st.sampled_from([0.0, 0.5]),
    retrieved=st.sampled_from([0.0, 0.3]),
)
@LAW
def test_the_short_cut_is_the_long_way(seed: int, weighting: str, neighbor: float, retrieved: float) -> None:
    facts = random_facts(seed)
    model = random_model(small("recall", memory={"weighting": weighting, "identity": True}).memory, seed)
    query, vectors, graph = ask(*both_ways(facts)), model.embeddings(), index_of(facts)

    def drop() -> Drop:
        return Drop(noise=Noise(seed, 0, CPU), neighbor=neighbor, identity=0.5, link=0.5, retrieved=retrieved)

    short = model.answer(query, graph, vectors, drop())
    with the_long_way():
        long = model.answer(query, graph, vectors, drop())
    close(short.retrieved, long.retrieved, atol=1e-10)
    assert short.copied is not None
    assert long.copied is not None
    close(short.copied.log_null, long.copied.log_null, atol=1e-10)


@given(seed=SEEDS)
@LAW
def test_the_short_cut_has_the_same_gradients(seed: int) -> None:
    facts = random_facts(seed)
    model = random_model(small("tpr-inf").memory, seed)
    query = ask(*both_ways(facts))
    results = []
    for way in (nullcontext(), the_long_way()):
        with way:
            retrieved = model.answer(query, index_of(facts), model.embeddings()).retrieved
        used = [parameter for name, parameter in model.named_parameters() if name != "log_temperature"]
        results.append(torch.autograd.grad(retrieved.square().sum(), used))
    for short, long in zip(*results, strict=True):
        close(short, long, atol=1e-10)


def test_only_untouched_tensor_products_take_the_short_cut() -> None:
    noise, facts = Noise(0, 0, CPU), random_facts(0)
    for name, untouched, dropped in [
        ("tpr-inf", True, False),
        ("tpr", False, False),
        ("cconv-inf", False, False),
        ("eravg", False, False),
    ]:
        model = random_model(small(name).memory, 0)
        for drop, short in ((Drop(noise=noise), untouched), (Drop(noise=noise, memory=0.1), dropped)):
            memory = model.answer(every_question(), index_of(facts), model.embeddings(), drop).memory
            assert ("state" not in vars(memory)) is short  # what was built is kept there


@pytest.mark.parametrize("name", COMPLETED)
def test_the_limit_of_completion_is_no_completion(name: str) -> None:
    """And the error falls as 1/λ."""
    query, graph = every_question(), index_of(random_facts(0))
    bare = small(name, memory={"stiffness": math.inf}).memory
    errors = []
    for stiffness in (1e3, 1e6):
        completing = random_model(small(name, memory={"stiffness": stiffness}).memory, 0)
        assembled = random_model(bare, 0)
        assembled.load_state_dict(completing.state_dict(), strict=False)
        vectors = completing.embeddings()
        with torch.no_grad():  # at any stiffness the same W, which starts in proportion to it
            completing.completion.global_weight.div_(stiffness)  # type: ignore[operator]
        stiff = completing.answer(query, graph, vectors).retrieved
        error = stiff - assembled.answer(query, graph, vectors).retrieved
        errors.append(float(error.detach().abs().max()))
    assert 0 < errors[1] < 1e-4
    assert errors[1] == pytest.approx(errors[0] / 1000, rel=0.1)


# The asked entity


@every_explicit
@given(seed=SEEDS)
@FEW
@torch.no_grad()
def test_an_entity_without_an_embedding_is_answered_for(name: str, seed: int) -> None:
    """Training never met it, or it came later still: its facts count, its vector does not."""
    facts = random_facts(seed)
    unseen, untrained = ENTITIES + 3, 2
    added = [(unseen, 0, 1), (unseen, 1, 3), (5, 2, unseen), (unseen, 0, unseen)]
    graph = neighborhoods_of(facts)
    for fact in added:
        graph.add(*fact)
    model = random_model(small(name).memory, seed)
    model.is_trained[untrained] = False
    questions = [(entity, role) for entity in (untrained, unseen, 8, ENTITIES + 1) for role in range(2 * RELATIONS)]
    scores = model(ask(*questions), LiveIndex(graph, ENTITIES))
    for row, (entity, role) in enumerate(questions):
        close(scores[row], looped_scores(model, [*facts, *added], entity, role))
    assert scores.isfinite().all()


@every_explicit
def test_an_unseen_entity_has_no_identity(name: str) -> None:
    model = random_model(small(name).memory, 1)
    query = ask((3, 0), (3, RELATIONS), (ENTITIES, 0), (4, 0))
    vectors = model.embeddings()
    model.is_trained[3] = False
    identity = model.identify(query, vectors)
    assert not identity[:3].any()
    assert bool(identity[3].any()) is model.config.identity
    facts = [(3, 0, 1), (2, 1, 3), (3, 2, 5)]
    graph = index_of(facts)
    moved = vectors.entities.clone()
    moved[3] += 10.0  # it is no filler here
    answers = [
        model.answer(ask((3, 0), (3, 4)), graph, Vectors(some, vectors.roles)) for some in (vectors.entities, moved)
    ]
    assert torch.equal(answers[0].retrieved, answers[1].retrieved)


@pytest.mark.parametrize("name", [name for name in EXPLICIT if PRESETS[name]["memory"].get("identity", True)])
def test_identity_matters_where_there_is_one(name: str) -> None:
    """Or the laws about its absence would say nothing."""
    model, graph = random_model(small(name).memory, 1), index_of(random_facts(1))
    query, vectors = every_question(), model.embeddings()
    known = model.answer(query, graph, vectors).retrieved
    always = Drop(noise=Noise(0, 0, CPU), identity=1.0)
    dropped = model.answer(query, graph, vectors, always).retrieved
    model.is_trained.fill_(False)
    assert not torch.allclose(known, dropped)
    assert torch.equal(dropped, model.answer(query, graph, vectors).retrieved)


def test_identity_dropout_zeroes_a_share_of_the_rows() -> None:
    model = random_model(small("tpr").memory, 0)
    vectors, query = model.embeddings(), ask(*((entity % ENTITIES, 0) for entity in range(900)))
    identity = model.identify(query, vectors, Drop(noise=Noise(0, 0, CPU), identity=0.3))
    gone = ~identity.any(dim=1)
    assert gone.double().mean().item() == pytest.approx(0.3, abs=0.05)
    assert torch.equal(identity[~gone], vectors.entities[query.entity[~gone]])


@pytest.mark.parametrize("name", ["recall", "eravg"])
def test_without_identity_no_entity_has_one(name: str) -> None:
    model = random_model(small(name).memory, 0)
    assert not model.identify(every_question(), model.embeddings()).any()


# The exact channel


@pytest.mark.parametrize("variant", [variant for variant in VARIANTS if variant_model(variant, 0).exact is not None])
def test_probabilities_of_what_is_not_stored_yet_sum_to_one(variant: str) -> None:
    model = variant_model(variant, 7)
    graph = index_of(random_facts(7))
    for query in (every_question(), ask(*both_ways(random_facts(7)))):
        row, stored = other_answers(query, graph.lookup(query.entity))
        assert len(row) > 0
        probability = model(query, graph).exp()
        total = probability.index_put((row, stored), torch.zeros((), dtype=torch.float64)).sum(1)
        close(total, torch.ones_like(total), atol=1e-12)


def test_answers_that_are_stored_are_not_copied_in_whatever_role() -> None:
    """Neither in training, where they are no rivals to the target, nor in use, where they are no news."""
    model = random_model(small("recall").memory, 0)
    facts = [(0, 0, 1), (0, 0, 2), (0, 1, 2), (2, 2, 0), (0, 1, 3), (0, 1, 1)]
    graph, vectors = index_of(facts), model.embeddings()
    for query, copied in [(ask((0, RELATIONS, 1)), [1, 3]), (ask((0, RELATIONS)), [3])]:
        answer = model.answer(query, graph, vectors)
        assert answer.copied is not None
        fillers = answer.weighted.edges.fillers
        assert fillers[answer.copied.log_edge > -math.inf].tolist() == copied
        assert (answer.weighted.weights[fillers == 2] > 0).all()  # the dense channel keeps them


@every_variant
def test_gradients_are_finite_with_and_without_facts(variant: str) -> None:
    """Also where every edge is absent, and of an entity that has none."""
    model = variant_model(variant, 8).train()
    facts = [(0, 0, 1), (2, 0, 2), (3, 1, 4), (3, 1, 5), (3, 2, 5)]
    for query in (ask((0, RELATIONS, 1), (8, 0, 1), (2, 0, 2), (3, RELATIONS + 1, 4)), every_question()):
        model.zero_grad()
        model(query, index_of(facts)).square().sum().backward()
        for name, parameter in model.named_parameters():
            assert parameter.grad is None or parameter.grad.isfinite().all(), name


# Scoring for evaluation


@every_preset
def test_the_scorer_is_the_model(name: str) -> None:
    model, graph = random_model(small(name).memory, 9).train(), index_of(random_facts(9))
    query = every_question()
    expected = model(query, graph)
    scorer = ModelScorer(model, graph)
    assert not model.training
    assert scorer.device == CPU
    scores = scorer.score(query.entity, query.role)  # without any context of the caller's
    assert torch.equal(scores, expected)
    assert not scores.requires_grad


def test_memory_and_retrieved_dropout_zero_coordinates() -> None:
    facts = random_facts(2)
    model, graph = random_model(small("eravg").memory, 2), index_of(facts)
    query, vectors = ask(*both_ways(facts)), model.embeddings()
    plain = model.answer(query, graph, vectors).retrieved
    for part in ("memory", "retrieved"):
        drop = Drop(noise=Noise(0, 0, CPU), **{part: 0.5})
        dropped = model.answer(query, graph, vectors, drop).retrieved
        zero = (dropped == 0) & (plain != 0)
        assert 0.3 < zero.double().mean() < 0.7
        close(dropped[dropped != 0], 2 * plain[dropped != 0], atol=1e-12)


def test_a_looped_model_can_disagree() -> None:
    """The oracle is not the model under another name: with one fact less it differs."""
    facts = random_facts(0)
    model = random_model(small("tpr").memory, 0)
    entity = facts[0][0]
    retrieved = model.answer(ask((entity, 0)), index_of(facts), model.embeddings()).retrieved[0]
    close(retrieved, looped_retrieved(model, facts, entity, 0))
    assert not torch.allclose(retrieved, looped_retrieved(model, facts[1:], entity, 0), atol=1e-6)


def test_the_exact_channels_read_the_dense_one_and_never_move_it() -> None:
    model = random_model(small("recall").memory, 0)
    answer = model.answer(every_question(), index_of(random_facts(0)), model.embeddings())
    assert answer.copied is not None
    assert answer.reached is not None
    (answer.copied.log_null.sum() + answer.reached.log_null.sum()).backward()  # type: ignore[no-untyped-call]
    moved = {name.split(".")[0] for name, each in model.named_parameters() if each.grad is not None and each.grad.any()}
    assert moved == {"exact", "paths"}
