"""Every answer of a split is ranked as the loop would, whatever the budget, and nothing is scored twice."""

import math
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hmem.errors import NonFiniteError
from hmem.evaluation.evaluate import BUDGET, evaluate, rank_queries
from hmem.evaluation.protocol import PROTOCOLS, Candidates, Protocol
from hmem.evaluation.queries import Queries, both_sides, queries_of
from hmem.evaluation.ranks import Ranks
from hmem.graph.dataset import Dataset, Split
from hmem.graph.names import Vocabulary
from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.triples import as_triples
from tests.laws import examples
from tests.oracles_graph import Fact, SetGraph, TableScorer, looped_rank

AVAILABLE = "hmem.evaluation.evaluate.BUDGET"
ENTITIES, RELATIONS = 6, 2
VALUES = [-math.inf, 0.0, 1.0, 2.0]
few = examples(15)


class Problem(NamedTuple):
    train: list[Fact]
    valid: list[Fact]
    test: list[Fact]
    observed: list[Fact]
    heldout: set[int] | None
    seed: int

    @property
    def dataset(self) -> Dataset:
        return dataset_of(**{name: part for name, part in self._asdict().items() if name != "seed"})

    @property
    def table(self) -> torch.Tensor:
        """Scores with few different values, so that ties are the rule."""
        chosen = np.random.default_rng(self.seed).integers(len(VALUES), size=(ENTITIES, 2 * RELATIONS, ENTITIES))
        return torch.tensor(VALUES)[torch.from_numpy(chosen)]


facts = st.lists(
    st.tuples(st.integers(0, ENTITIES - 1), st.integers(0, RELATIONS - 1), st.integers(0, ENTITIES - 1)),
    max_size=12,
)


def dataset_of(
    *, train: list[Fact] | None = None, valid: list[Fact] | None = None, test: list[Fact],
    observed: list[Fact] | None = None, heldout: set[int] | None = None,
) -> Dataset:  # fmt: skip
    return Dataset(
        name="any",
        vocab=Vocabulary("abcdef", "rs"),
        train=as_triples(train or []),
        valid=as_triples(valid or []),
        test=as_triples(test),
        observed=None if heldout is None else as_triples(observed or []),
        heldout=None if heldout is None else np.array(sorted(heldout), dtype=np.int64),
    )


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    heldout = draw(st.none() | st.sets(st.integers(0, ENTITIES - 1), min_size=1, max_size=ENTITIES - 1))
    valid, test = draw(facts.filter(bool)), draw(facts.filter(bool))
    if heldout is not None:  # one fact at least that is about a new entity
        new, old = min(heldout), min(set(range(ENTITIES)) - heldout)
        valid, test = [*valid, (old, 1, new)], [*test, (new, 0, old)]
    return Problem(draw(facts), valid, test, draw(facts), heldout, draw(st.integers(0, 2**32 - 1)))


def by_loop(problem: Problem, queries: Queries, filtered: SetGraph, protocol: Protocol) -> list[tuple[int, int, int]]:
    dataset, table = problem.dataset, problem.table
    ranks = []
    asked = (column.tolist() for column in (queries.entities, queries.roles, queries.targets))
    for entity, role, target in zip(*asked, strict=True):
        among = set(range(ENTITIES))
        if dataset.heldout is not None:
            among -= set(dataset.heldout.tolist())
        if protocol == "typed":
            among &= {
                head if role < RELATIONS else tail
                for head, relation, tail in dataset.everything().tolist()
                if relation == role % RELATIONS
            }
        each = looped_rank(table[entity, role].tolist(), target, set(filtered.answers(entity, role)), among)
        ranks.append((each.optimistic, each.pessimistic, each.candidates))
    return ranks


def listed(ranks: Ranks) -> list[tuple[int, ...]]:
    columns = (ranks.optimistic, ranks.pessimistic, ranks.candidates)
    return list(zip(*(column.tolist() for column in columns), strict=True))


@given(problems(), st.sampled_from([1, 300, BUDGET]), st.sampled_from(["valid", "test"]))
@examples(25)
def test_filtered_ranks_equal_the_definition(problem: Problem, budget: int, split: Split) -> None:
    dataset = problem.dataset
    queries = queries_of(dataset, split)
    filtered = problem.train + problem.valid + problem.test + (problem.observed if problem.heldout is not None else [])
    oracle = SetGraph(filtered, RELATIONS)
    with patch(AVAILABLE, budget):
        ranks = evaluate(TableScorer(problem.table), dataset, queries)
    assert list(ranks) == list(PROTOCOLS)
    for protocol, found in ranks.items():
        assert listed(found) == by_loop(problem, queries, oracle, protocol)
        assert (found.optimistic >= 1).all()
        assert (found.pessimistic >= found.optimistic).all()
        assert (found.candidates >= found.pessimistic).all()


@given(problems(), st.lists(st.integers(1, 3000), min_size=2, max_size=2))
@few
def test_the_budget_changes_nothing_but_the_batches(problem: Problem, budgets: list[int]) -> None:
    queries = queries_of(problem.dataset, "test")
    whole = evaluate(TableScorer(problem.table), problem.dataset, queries)
    for budget in budgets:
        scorer = TableScorer(problem.table)
        with patch(AVAILABLE, budget):
            ranks = evaluate(scorer, problem.dataset, queries)
        assert all(listed(ranks[protocol]) == listed(whole[protocol]) for protocol in PROTOCOLS)
        assert scorer.largest_batch * ENTITIES * 4 <= max(budget, ENTITIES * 4)


@given(problems(), st.sampled_from([1, 300, BUDGET]))
@few
def test_each_entity_and_role_is_scored_once(problem: Problem, budget: int) -> None:
    queries = queries_of(problem.dataset, "test")
    scorer = TableScorer(problem.table)
    with patch(AVAILABLE, budget):
        evaluate(scorer, problem.dataset, queries)
    assert len(scorer.asked) == len(set(scorer.asked))
    assert set(scorer.asked) == set(zip(queries.entities.tolist(), queries.roles.tolist(), strict=True))


@given(problems())
@few
def test_two_protocols_at_once_equal_one_after_the_other(problem: Problem) -> None:
    queries = queries_of(problem.dataset, "test")
    together = evaluate(TableScorer(problem.table), problem.dataset, queries)
    for protocol in PROTOCOLS:
        alone = evaluate(TableScorer(problem.table), problem.dataset, queries, protocols=[protocol])
        assert list(alone) == [protocol]
        assert listed(alone[protocol]) == listed(together[protocol])


@given(problems(), st.lists(st.floats(-100, 100, width=32), min_size=4, max_size=4, unique=True))
@few
def test_only_the_order_of_scores_counts(problem: Problem, images: list[float]) -> None:
    queries = queries_of(problem.dataset, "test")
    transform = dict(zip(VALUES, sorted(images), strict=True))
    moved = problem.table.clone().apply_(transform.__getitem__)
    plain = evaluate(TableScorer(problem.table), problem.dataset, queries)
    after = evaluate(TableScorer(moved), problem.dataset, queries)
    assert all(listed(plain[protocol]) == listed(after[protocol]) for protocol in PROTOCOLS)


@given(problems())
@few
def test_raw_ranks_are_never_better(problem: Problem) -> None:
    dataset = problem.dataset
    queries = queries_of(dataset, "test")
    nothing = Neighborhoods.build(as_triples([]), dataset.num_entities, dataset.num_relations)
    candidates = [Candidates(protocol, dataset) for protocol in PROTOCOLS]
    raw = rank_queries(TableScorer(problem.table), queries, nothing, candidates)
    filtered = evaluate(TableScorer(problem.table), dataset, queries)
    for protocol in PROTOCOLS:
        assert listed(raw[protocol]) == by_loop(problem, queries, SetGraph([], RELATIONS), protocol)
        assert (raw[protocol].optimistic >= filtered[protocol].optimistic).all()
        assert (raw[protocol].pessimistic >= filtered[protocol].pessimistic).all()
        assert (raw[protocol].candidates >= filtered[protocol].candidates).all()


@given(problems(), st.integers(0, 100))
@few
def test_ranks_keep_the_order_of_the_queries(problem: Problem, seed: int) -> None:
    queries = queries_of(problem.dataset, "test")
    order = np.random.default_rng(seed).permutation(len(queries))
    shuffled = Queries(queries.entities[order], queries.roles[order], queries.targets[order], queries.sides[order])
    ranks = evaluate(TableScorer(problem.table), problem.dataset, queries)
    moved = evaluate(TableScorer(problem.table), problem.dataset, shuffled)
    for protocol in PROTOCOLS:
        assert listed(moved[protocol]) == [listed(ranks[protocol])[position] for position in order.tolist()]


def ranked(dataset: Dataset, scores: list[float], entity: int, role: int) -> dict[str, list[tuple[int, ...]]]:
    """The ranks of the test queries of one (entity, role), every candidate scored as in `scores`."""
    table = torch.full((ENTITIES, 2 * RELATIONS, ENTITIES), -5.0)
    table[entity, role] = torch.tensor(scores)
    every = queries_of(dataset, "test")
    rows = (every.entities == entity) & (every.roles == role)
    queries = Queries(every.entities[rows], every.roles[rows], every.targets[rows], every.sides[rows])
    return {protocol: listed(ranks) for protocol, ranks in evaluate(TableScorer(table), dataset, queries).items()}


def test_several_answers_of_one_query_are_no_rivals() -> None:
    dataset = dataset_of(train=[(0, 0, 5)], test=[(0, 0, 1), (0, 0, 2), (0, 0, 3)])
    # 5 is filtered, 4 is a rival; 1, 2 and 3 are each ranked without the other two
    ranks = ranked(dataset, [0.0, 9.0, 8.0, 1.0, 2.0, 10.0], 0, RELATIONS)
    assert ranks["all"] == [(1, 1, 3), (1, 1, 3), (2, 2, 3)]


def test_new_entities_are_no_candidates() -> None:
    dataset = dataset_of(test=[(5, 0, 1)], heldout={4, 5})
    ranks = ranked(dataset, [1.0, 0.0, 0.0, -1.0, 9.0, 9.0], 5, RELATIONS)
    assert ranks["all"] == [(2, 3, 4)]
    assert ranks["typed"] == [(1, 1, 1)]


def test_a_filtered_answer_that_is_no_candidate_is_not_subtracted() -> None:
    """The new entity 4 is filtered and scores above the truth, but was never among the rivals."""
    dataset = dataset_of(train=[(0, 0, 2)], observed=[(5, 0, 4), (5, 0, 3)], test=[(5, 0, 1)], heldout={4, 5})
    ranks = ranked(dataset, [2.0, 1.0, 1.0, 9.0, 9.0, 9.0], 5, RELATIONS)
    assert ranks["all"] == [(2, 3, 3)]  # of 0, 1, 2; 3 is filtered
    assert ranks["typed"] == [(1, 2, 2)]  # of 1, 2


def test_typed_candidates_are_those_seen_in_the_slot() -> None:
    dataset = dataset_of(train=[(2, 0, 3), (4, 1, 5)], valid=[(2, 0, 4)], test=[(0, 0, 1)])
    ranks = ranked(dataset, [9.0, 1.0, 9.0, 2.0, 1.0, 9.0], 0, RELATIONS)
    assert ranks["all"] == [(5, 6, 6)]
    assert ranks["typed"] == [(2, 3, 3)]  # of 1, 3, 4


def test_nan_is_refused_and_minus_infinity_is_not() -> None:
    dataset = dataset_of(test=[(0, 0, 1)])
    assert ranked(dataset, [-math.inf] * ENTITIES, 0, RELATIONS)["all"] == [(1, 6, 6)]
    with pytest.raises(NonFiniteError):
        ranked(dataset, [math.nan, *[0.0] * (ENTITIES - 1)], 0, RELATIONS)


def test_no_queries_give_no_ranks(toy: Dataset) -> None:
    queries = both_sides(as_triples([]), toy.num_relations)
    ranks = evaluate(TableScorer(torch.zeros(1, 1, 1)), toy, queries)
    assert [len(each.realistic) for each in ranks.values()] == [0, 0]


def test_a_true_answer_is_no_rival_in_whatever_split_it_is() -> None:
    dataset = dataset_of(train=[(3, 0, 3)], valid=[(0, 0, 1)], test=[(0, 0, 2)])
    table = torch.zeros(ENTITIES, 2 * RELATIONS, ENTITIES)
    table[0, RELATIONS, 2] = 2.0
    table[0, RELATIONS, 4] = 1.0
    ranks = evaluate(TableScorer(table), dataset, queries_of(dataset, "valid"), protocols=["all"])
    assert ranks["all"].optimistic[0] == 2  # behind entity 4; that entity 2 stands higher is no mistake
