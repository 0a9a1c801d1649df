import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hmem.model.query import (
    KEEP_ALL,
    Drop,
    Noise,
    Query,
    is_stored_answer,
    other_answers,
    seed_for,
    unavailable,
    withheld,
)
from tests.memory.problems import as_tuples
from tests.model.problems import LAW, RELATIONS, SEEDS, ask, both_ways, index_of, random_facts, stated_by
from tests.oracles_graph import SetGraph

CPU = torch.device("cpu")


def looked_up(seed: int) -> tuple[list[tuple[int, int, int]], Query]:
    questions = both_ways(random_facts(seed))
    return questions, ask(*questions)


@given(seed=SEEDS)
@LAW
def test_withheld_are_the_edges_that_the_fact_alone_puts_there(seed: int) -> None:
    """Also of a fact about an entity and itself, both of whose edges lie in one memory."""
    facts = random_facts(seed)
    questions, query = looked_up(seed)
    edges = index_of(facts).lookup(query.entity)
    hidden = withheld(query, edges, RELATIONS)
    for row, question in enumerate(questions):
        mine = edges.query == row
        left = list(zip(edges.roles[mine & ~hidden].tolist(), edges.fillers[mine & ~hidden].tolist(), strict=True))
        rest = SetGraph(set(facts) - {stated_by(question)}, RELATIONS)
        assert left == rest.edges_of(question[0])


def test_both_edges_of_a_self_loop_are_withheld() -> None:
    query = ask((4, RELATIONS, 4), (4, 0, 4))
    edges = index_of([(4, 0, 4), (4, 0, 5), (5, 0, 4), (4, 1, 4)]).lookup(query.entity)
    left = ~withheld(query, edges, RELATIONS)
    kept = list(zip(edges.roles[left].tolist(), edges.fillers[left].tolist(), strict=True))
    assert kept == 2 * [(0, 5), (1, 4), (RELATIONS, 5), (RELATIONS + 1, 4)]


def test_without_a_target_nothing_is_withheld() -> None:
    query = ask((0, 0), (1, 3))
    edges = index_of(random_facts(0)).lookup(query.entity)
    drop = Drop(noise=Noise(0, 0, CPU), neighbor=0.9, link=1.0)
    assert len(edges.query) > 0
    assert not unavailable(query, edges, RELATIONS, KEEP_ALL).any()
    assert not unavailable(query, edges, RELATIONS, drop).any()


@given(seed=SEEDS)
@LAW
def test_link_withholding_hides_every_edge_between_the_two(seed: int) -> None:
    _, query = looked_up(seed)
    assert query.target is not None
    edges = index_of(random_facts(seed)).lookup(query.entity)
    between = edges.fillers == query.target[edges.query]
    always = unavailable(query, edges, RELATIONS, Drop(noise=Noise(seed, 0, CPU), link=1.0))
    assert torch.equal(always, between)
    never = unavailable(query, edges, RELATIONS, Drop(noise=Noise(seed, 0, CPU)))
    assert torch.equal(never, withheld(query, edges, RELATIONS))
    some = unavailable(query, edges, RELATIONS, Drop(noise=Noise(seed, 0, CPU), link=0.5))
    for row in range(len(query)):  # one choice for the whole query
        mine = edges.query == row
        assert torch.equal(some[mine], always[mine]) or torch.equal(some[mine], never[mine])


@given(seed=SEEDS, with_target=st.booleans())
@LAW
def test_other_answers_are_those_of_a_loop(seed: int, with_target: bool) -> None:
    facts = random_facts(seed)
    questions, query = looked_up(seed)
    if not with_target:
        query = Query(query.entity, query.role)
    edges = index_of(facts).lookup(query.entity)
    row, filler = other_answers(query, edges)
    graph = SetGraph(facts, RELATIONS)
    expected = [
        (place, answer)
        for place, (entity, role, target) in enumerate(questions)
        for answer in graph.answers(entity, role)
        if not (with_target and answer == target)
    ]
    assert list(zip(row.tolist(), filler.tolist(), strict=True)) == expected
    rivals = set(expected)
    leads = [(place, answer) in rivals for place, _, answer in as_tuples(edges)]
    assert is_stored_answer(query, edges, edges.query, edges.fillers).tolist() == leads


def test_an_edge_leads_to_another_answer_in_whatever_role() -> None:
    facts = [(0, 0, 1), (0, 0, 2), (0, 1, 2), (2, 2, 0), (0, 1, 3)]
    query = ask((0, RELATIONS, 1))
    edges = index_of(facts).lookup(query.entity)
    leads = is_stored_answer(query, edges, edges.query, edges.fillers)
    assert edges.fillers[leads].tolist() == [2, 2, 2]
    assert sorted(edges.roles[leads].tolist()) == [2, RELATIONS, RELATIONS + 1]


def test_nothing_leads_to_another_answer_where_there_is_none() -> None:
    query = ask((0, RELATIONS, 1), (8, 0, 1))
    edges = index_of([(0, 0, 1), (0, 1, 1)]).lookup(query.entity)
    assert is_stored_answer(query, edges, edges.query, edges.fillers).tolist() == [False, False]
    none = index_of([]).lookup(query.entity)
    assert is_stored_answer(query, none, none.query, none.fillers).tolist() == []


@given(seed=st.integers(0, 2**70), step=st.integers(0, 10**9))
@LAW
def test_noise_depends_on_seed_and_step_alone(seed: int, step: int) -> None:
    draws = [Noise(seed, step, CPU).chosen(64, 0.5) for _ in range(2)]
    assert torch.equal(*draws)
    assert not torch.equal(draws[0], Noise(seed, step + 1, CPU).chosen(64, 0.5))
    assert not torch.equal(draws[0], Noise(seed + 1, step, CPU).chosen(64, 0.5))


def test_every_bit_of_a_seed_counts() -> None:
    """A CPU's generator reads the lowest 32 bits of its seed only."""
    low = {seed_for(purpose, number) % 2**32 for purpose in "ab" for number in (0, 1, 256, 2**24, 2**32, 2**70)}
    assert len(low) == 12


def test_noise_moves_on_within_a_step() -> None:
    noise = Noise(0, 0, CPU)
    assert not torch.equal(noise.chosen(64, 0.5), noise.chosen(64, 0.5))


def test_withheld_links_are_the_same_whenever_they_are_asked_for() -> None:
    """The memory leaves them out, and the loss must know which they are."""
    noise = Noise(0, 3, CPU)
    first = noise.unlinked(64, 0.5)
    noise.chosen(10, 0.5)
    assert torch.equal(noise.unlinked(64, 0.5), first)
    assert torch.equal(Noise(0, 3, CPU).unlinked(64, 0.5), first)
    assert not torch.equal(Noise(0, 4, CPU).unlinked(64, 0.5), first)
    assert not torch.equal(Noise(1, 3, CPU).unlinked(64, 0.5), first)
    assert not torch.equal(Noise(0, 3, CPU).chosen(64, 0.5), first)
    assert noise.unlinked(64, 1.0).all()
    assert not noise.unlinked(64, 0.0).any()


def test_dropout_keeps_the_mean_and_leaves_exact_zeros() -> None:
    values = torch.full((200, 50), 2.0, dtype=torch.float64)
    dropped = Noise(0, 0, CPU).dropout(values, 0.25)
    zero = dropped == 0
    assert zero.double().mean().item() == pytest.approx(0.25, abs=0.02)
    assert torch.equal(dropped[~zero], torch.full_like(dropped[~zero], 2 / 0.75))
    assert Noise(0, 0, CPU).dropout(values, 0.0) is values


def test_shares_of_zero_and_one() -> None:
    noise = Noise(0, 0, CPU)
    assert noise.chosen(100, 1.0).all()
    assert not noise.chosen(100, 0.0).any()
