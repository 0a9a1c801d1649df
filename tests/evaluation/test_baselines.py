"""Rules are the counts the loop gives, and the published figures come out."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hmem.errors import ConfigError
from hmem.evaluation import baselines
from hmem.evaluation.baselines import (
    SMOOTHING,
    TIE,
    Counts,
    Frequency,
    Premise,
    RandomScores,
    Rules,
    make_baseline,
)
from hmem.evaluation.evaluate import Scorer, evaluate
from hmem.evaluation.metrics import MRR, metrics
from hmem.evaluation.queries import queries_of
from hmem.graph.dataset import Dataset, GraphName, load_folder
from hmem.graph.names import Vocabulary
from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.rules import mine
from hmem.graph.triples import as_triples
from tests.laws import examples
from tests.oracles_graph import Fact, SetGraph, looped_counts, looped_rules

ENTITIES, RELATIONS = 5, 3
ROLES = 2 * RELATIONS
facts = st.lists(
    st.tuples(st.integers(0, ENTITIES - 1), st.integers(0, RELATIONS - 1), st.integers(0, ENTITIES - 1)), max_size=30
)
EVERY_QUERY = [part.reshape(-1) for part in torch.meshgrid(torch.arange(ENTITIES), torch.arange(ROLES), indexing="ij")]


def build(rows: list[Fact]) -> Neighborhoods:
    return Neighborhoods.build(as_triples(rows), ENTITIES, RELATIONS)


@given(facts)
def test_mined_rules_equal_the_loop(rows: list[Fact]) -> None:
    keys, confidence = mine(build(rows))
    found = {divmod(key, ROLES): value for key, value in zip(keys.tolist(), confidence.tolist(), strict=True)}
    assert found == pytest.approx(looped_rules(rows, RELATIONS, ENTITIES), abs=1e-6)
    assert all(c != q for c, q in found)
    assert all(0 < value <= 1 for value in found.values())
    assert (np.diff(keys) > 0).all()


@given(facts, facts, st.sampled_from(["max", "noisy-or"]))
@examples(25)
def test_scores_combine_the_rules_that_fire(training: list[Fact], graph: list[Fact], combine: str) -> None:
    rules = looped_rules(training, RELATIONS, ENTITIES)
    oracle = SetGraph(graph, RELATIONS)
    scorer = Rules(build(training), build(graph), combine)  # type: ignore[arg-type]
    scores = scorer.score(*EVERY_QUERY)
    assert scores.shape == (ENTITIES * ROLES, ENTITIES)
    for row, (entity, asked) in enumerate(zip(*(part.tolist() for part in EVERY_QUERY), strict=True)):
        expected = []
        for candidate in range(ENTITIES):
            fire = [rules.get((role, asked), 0.0) for role, filler in oracle.edges_of(entity) if filler == candidate]
            missed = np.prod([1 - confidence for confidence in fire])
            expected.append(max(fire, default=0.0) if combine == "max" else 1 - missed)
        assert scores[row].tolist() == pytest.approx(expected, abs=1e-6)
    assert len(scorer) == len(rules)


def test_the_inverse_fact_is_a_rule() -> None:
    rows = [(0, 0, 1), (1, 1, 0), (2, 0, 3), (3, 1, 2), (4, 0, 0)]
    keys, confidence = mine(build(rows))
    rules = dict(zip(keys.tolist(), confidence.tolist(), strict=True))
    # the tail of r is the head of s: two of the three times for r ⇒ s, always for s ⇒ r
    assert rules[(0 + RELATIONS) * ROLES + 1] == pytest.approx(2 / 3)
    assert rules[1 * ROLES + 0 + RELATIONS] == 1.0


@pytest.mark.parametrize("rows", [[], [(0, 0, 1)], [(0, 0, 1), (1, 0, 2), (3, 2, 0)]])
@pytest.mark.parametrize("combine", ["max", "noisy-or"])
def test_no_rule_where_nothing_occurs_together(rows: list[Fact], combine: str) -> None:
    scorer = Rules(build(rows), build(rows), combine)  # type: ignore[arg-type]
    assert len(scorer) == 0
    assert not scorer.score(*EVERY_QUERY).any()


def test_two_rules_make_an_answer_likelier_with_noisy_or() -> None:
    """r ⇒ t and s ⇒ t hold every other time, and both propose entity 3."""
    graph = build([(0, 0, 1), (0, 1, 1), (0, 2, 1), (2, 0, 3), (2, 1, 3)])
    query = torch.tensor([2]), torch.tensor([2 + RELATIONS])
    assert Rules(graph, graph, "max").score(*query)[0].tolist() == [0, 0, 0, 0.5, 0]
    assert Rules(graph, graph, "noisy-or").score(*query)[0].tolist() == pytest.approx([0, 0, 0, 0.75, 0])


def test_noisy_or_of_certain_rules_stays_finite() -> None:
    rows = [(0, relation, 1) for relation in range(RELATIONS)]
    scores = Rules(build(rows), build(rows), "noisy-or").score(*EVERY_QUERY)
    assert torch.isfinite(scores).all()
    assert scores.max().item() == pytest.approx(1.0, abs=1e-6)


@given(facts, facts)
@examples(25)
def test_counts_are_those_of_the_best_premise_from_either_end(training: list[Fact], graph: list[Fact]) -> None:
    premises = looped_counts(training, graph, RELATIONS, ENTITIES, SMOOTHING)
    counted, given = build(training), build(graph)
    scores = Counts(counted, given).score(*EVERY_QUERY)
    for row, (entity, role) in enumerate(zip(*(part.tolist() for part in EVERY_QUERY), strict=True)):
        for answer in range(ENTITIES):
            ends = premises[entity, role, answer], premises[answer, (role + RELATIONS) % ROLES, entity]
            low, high = sorted(max((p for p, *_ in end), default=0.0) for end in ends)
            assert scores[row, answer].item() == pytest.approx(high + TIE * low, abs=1e-6)
            reasons = baselines.premises(counted, given, entity, role, answer)
            assert sorted((each.together, each.of) for each in reasons) == sorted(
                (together, of) for end in ends for _, together, of in end
            )


def test_a_premise_that_many_share_is_counted_like_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(0, 0, 1), (2, 0, 1), (3, 0, 1), (2, 1, 4), (3, 1, 4)]
    graph, query = build(rows), (torch.tensor([0]), torch.tensor([1 + RELATIONS]))
    plain = Counts(graph, graph).score(*query)
    # Two of the three that have 1 in the first relation have 4 in the second.
    assert plain[0, 4].item() == pytest.approx(2 / (3 + SMOOTHING))
    monkeypatch.setattr(baselines, "OFTEN", 1)
    kept = Counts(graph, graph)
    assert torch.equal(kept.score(*query), plain)
    assert torch.equal(kept.score(*query), plain)  # from what was kept
    found = baselines.premises(graph, graph, 0, 1 + RELATIONS, 4)
    assert found[0] == Premise(entity=0, role=RELATIONS, filler=1, together=2, of=3)


@given(facts)
def test_frequency_counts_the_fillers_of_the_role(rows: list[Fact]) -> None:
    scores = Frequency(build(rows)).score(*EVERY_QUERY)
    oracle = SetGraph(rows, RELATIONS)
    for row, role in enumerate(EVERY_QUERY[1].tolist()):
        fillers = [filler for entity in range(ENTITIES) for filler in oracle.answers(entity, role)]
        assert scores[row].tolist() == [fillers.count(candidate) for candidate in range(ENTITIES)]


@pytest.mark.parametrize("name", ["counts", "rules", "rules (noisy-or)", "frequency", "random"])
def test_a_query_scores_the_same_whatever_is_asked_beside_it(name: str, toy: Dataset) -> None:
    scorer = make_baseline(name, toy, "train")
    assert isinstance(scorer, Scorer)
    entities = torch.arange(toy.num_entities).repeat_interleave(toy.num_roles)
    roles = torch.arange(toy.num_roles).repeat(toy.num_entities)
    together = scorer.score(entities, roles)
    assert together.shape == (toy.num_entities * toy.num_roles, toy.num_entities)
    assert together.dtype == torch.float32
    backwards = scorer.score(entities.flip(0), roles.flip(0)).flip(0)
    assert torch.equal(backwards, together)
    for row in range(0, len(entities), 7):
        assert torch.equal(scorer.score(entities[row : row + 1], roles[row : row + 1])[0], together[row])


def test_chance_depends_on_entity_role_and_seed() -> None:
    def row(entity: int, role: int, seed: int) -> torch.Tensor:
        return RandomScores(50, seed).score(torch.tensor([entity]), torch.tensor([role]))

    assert torch.equal(row(1, 2, 0), row(1, 2, 0))
    for other in ((2, 2, 0), (1, 1, 0), (2, 1, 0), (1, 2, 1)):
        assert not torch.equal(row(1, 2, 0), row(*other))


def test_the_seed_reaches_chance(toy: Dataset) -> None:
    query = torch.tensor([0]), torch.tensor([0])
    first, second = (make_baseline("random", toy, "train", seed).score(*query) for seed in (0, 1))
    assert not torch.equal(first, second)


def test_chance_is_uniform() -> None:
    scores = RandomScores(2_000).score(torch.arange(50), torch.zeros(50, dtype=torch.int64))
    assert 0 <= scores.min() < 0.001
    assert 0.999 < scores.max() < 1
    assert scores.mean().item() == pytest.approx(0.5, abs=0.01)


def test_the_index_of_chance_is_near_0() -> None:
    rng = np.random.default_rng(0)
    size = 200
    dataset = Dataset(
        name="noise",
        vocab=Vocabulary(map(str, range(size)), ["r"]),
        train=as_triples([]),
        valid=as_triples([]),
        test=as_triples(rng.integers((size, 1, size), size=(1500, 3))),
    )
    queries = queries_of(dataset, "test")
    ranks = evaluate(make_baseline("random", dataset, "train"), dataset, queries)
    for protocol in ranks:
        index = metrics(ranks[protocol], queries.sides)["both.realistic.adjusted_arithmetic_mean_rank_index"]
        assert abs(index) < 0.05


def test_rules_are_mined_from_train_alone_and_applied_to_the_graph() -> None:
    """Validation facts are premises in graph "train+valid", never statistics."""
    dataset = Dataset(
        name="toy",
        vocab=Vocabulary("abcde", "rst"),
        train=as_triples([(0, 0, 1), (1, 1, 0)]),
        valid=as_triples([(2, 0, 3), (0, 2, 1)]),
        test=as_triples([(3, 1, 2)]),
    )
    query = torch.tensor([3]), torch.tensor([1 + RELATIONS])
    without, with_valid = (make_baseline("rules", dataset, graph) for graph in ("train", "train+valid"))
    assert without.score(*query).tolist() == [[0, 0, 0, 0, 0]]
    assert with_valid.score(*query).tolist() == [[0, 0, 1, 0, 0]]  # r ⇒ s backwards, from two facts of train
    assert isinstance(with_valid, Rules)
    assert np.array_equal(with_valid.keys, mine(build([(0, 0, 1), (1, 1, 0)]))[0])


def test_observed_facts_are_premises_too() -> None:
    dataset = Dataset(
        name="gen",
        vocab=Vocabulary("abcde", "rst"),
        train=as_triples([(0, 0, 1), (1, 1, 0)]),
        observed=as_triples([(4, 0, 2)]),
        valid=as_triples([]),
        test=as_triples([(2, 1, 4)]),
        heldout=np.array([4]),
    )
    scores = make_baseline("rules", dataset, "train").score(torch.tensor([4]), torch.tensor([1]))
    assert scores.tolist() == [[0, 0, 1, 0, 0]]


def test_a_baseline_that_does_not_exist(toy: Dataset) -> None:
    with pytest.raises(ConfigError) as caught:
        make_baseline("rule", toy, "train")
    assert str(caught.value) == 'no baseline "rule"; there are counts, rules, rules (noisy-or), frequency, random'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "graph", "expected"),
    [
        ("WN18", "train", 0.938),
        ("WN18RR", "train", 0.348),
        ("WNGen", "train", 0.659),
        ("WNGen", "train+valid", 0.833),
        ("FBGen", "train", 0.645),
        ("FBGen", "train+valid", 0.750),
        ("FB15K", "train", 0.778),
    ],
)
def test_the_figures_of_the_rules(name: str, graph: GraphName, expected: float, shared: Callable[[str], Path]) -> None:
    dataset = load_folder(shared(f"data/{name}"))
    queries = queries_of(dataset, "test", graph)
    ranks = evaluate(make_baseline("rules", dataset, graph), dataset, queries, protocols=["all"])
    assert metrics(ranks["all"], queries.sides)[MRR] == pytest.approx(expected, abs=0.002)
