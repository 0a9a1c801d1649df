import numpy as np
import pytest
import torch

from hmem.errors import DataError
from hmem.evaluation import evaluate
from hmem.evaluation.baselines import RandomScores
from hmem.evaluation.evaluate import Validator, rank_queries
from hmem.evaluation.metrics import MRR
from hmem.evaluation.queries import both_sides, queries_of
from hmem.evaluation.report import report
from hmem.graph.dataset import Dataset
from hmem.graph.names import Vocabulary
from hmem.graph.triples import as_triples
from hmem.model.build import ModelScorer
from tests.model.problems import ENTITIES, RELATIONS, random_facts, random_model, small
from tests.oracles_graph import SetGraph, TableScorer, looped_rank


def table_scorer(dataset: Dataset, seed: int = 0) -> TableScorer:
    rng = torch.Generator().manual_seed(seed)
    size = dataset.num_entities
    return TableScorer(torch.randint(6, (size, dataset.num_roles, size), generator=rng).float())


def looped_mrr(dataset: Dataset, scorer: TableScorer) -> float:
    """Filtered by what is true in any split: an answer that test holds is no mistake."""
    filtered = SetGraph(map(tuple, dataset.everything().tolist()), dataset.num_relations)
    queries = both_sides(dataset.valid, dataset.num_relations)
    inverse = []
    for entity, role, target in zip(queries.entities, queries.roles, queries.targets, strict=True):
        scores = scorer.table[entity, role].tolist()
        answers = filtered.answers(int(entity), int(role))
        rank = looped_rank(scores, int(target), answers, range(dataset.num_entities))
        inverse.append(2 / (rank.optimistic + rank.pessimistic))
    return float(np.mean(inverse))


def test_is_the_mrr_of_a_loop() -> None:
    """On graphs whose splits share many questions, so that it matters which answers are filtered."""
    for seed in range(5):
        facts = as_triples(random_facts(seed, facts=60))[np.random.default_rng(seed).permutation(40)]
        vocab = Vocabulary(map(str, range(ENTITIES)), map(str, range(RELATIONS)))
        dataset = Dataset(name="random", vocab=vocab, train=facts[:15], valid=facts[15:27], test=facts[27:])
        scorer = table_scorer(dataset, seed)
        assert Validator(dataset, None)(scorer) == pytest.approx(looped_mrr(dataset, scorer), rel=1e-12)


def test_is_what_a_report_of_the_validation_split_says(toy: Dataset) -> None:
    model = random_model(small("recall").memory, 0, toy.num_entities, toy.num_relations)
    validator = Validator(toy, None)
    scorer = ModelScorer(model, validator.graph)
    made = report(scorer, toy, model="recall", split="valid")
    assert validator(scorer) == made.protocols["all"][MRR]


def test_memories_are_made_of_training_facts(toy: Dataset) -> None:
    validator = Validator(toy, None)
    edges = validator.graph.lookup(torch.arange(toy.num_entities))
    expected = toy.inference_graph("train").lookup(np.arange(toy.num_entities))
    assert edges.fillers.tolist() == expected.fillers.tolist()
    assert edges.roles.tolist() == expected.roles.tolist()


def test_a_sample_is_the_same_each_time(toy: Dataset) -> None:
    first, second = Validator(toy, 4), Validator(toy, 4)
    assert len(first.queries) == 4
    for part in ("entities", "roles", "targets", "sides"):
        assert getattr(first.queries, part).tolist() == getattr(second.queries, part).tolist()
    scorer = table_scorer(toy)
    assert first(scorer) == second(scorer) == first(scorer)
    whole = rank_queries(scorer, queries_of(toy, "valid"), first.filtered, first.candidates)["all"]
    asked = set(zip(first.queries.entities.tolist(), first.queries.roles.tolist(), strict=True))
    every = queries_of(toy, "valid")
    assert asked <= set(zip(every.entities.tolist(), every.roles.tolist(), strict=True))
    assert len(whole.optimistic) == 6
    assert len(Validator(toy, 1000).queries) == len(Validator(toy, None).queries) == 6


def test_of_held_out_entities_only_their_side_is_asked() -> None:
    dataset = Dataset(
        name="gen",
        vocab=Vocabulary(map(str, range(6)), ["r"]),
        train=as_triples([[0, 0, 1], [1, 0, 2], [2, 0, 3]]),
        observed=as_triples([[4, 0, 1], [2, 0, 5]]),
        valid=as_triples([[4, 0, 2], [3, 0, 5]]),
        test=as_triples([[4, 0, 3]]),
        heldout=np.array([4, 5]),
    )
    validator = Validator(dataset, None)
    asked = list(zip(validator.queries.entities.tolist(), validator.queries.targets.tolist(), strict=True))
    assert asked == [(4, 2), (5, 3)]
    table = torch.zeros(6, 2, 6)
    table[:, :, [4, 5]] = 9.0  # held-out entities are no candidates, however they score
    table[4, 1, 2] = table[5, 0, 3] = 1.0
    assert validator(TableScorer(table)) == 1.0
    assert 4 in validator.graph.lookup(torch.tensor([1])).fillers.tolist()  # what is observed is in the memories


def test_nothing_to_validate_on_is_said(toy: Dataset) -> None:
    bare = Dataset(name="bare", vocab=toy.vocab, train=toy.train, valid=as_triples([]), test=toy.test)
    with pytest.raises(DataError, match="bare has no valid facts to rank"):
        Validator(bare, None)


@pytest.mark.parametrize(("enough", "asked"), [(0, 2), (50, 6), (5, 5)])
def test_the_sample_is_as_large_as_the_time_allows(
    enough: int, asked: int, toy: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four questions take a second on this clock. Up to three times as long is taken for `enough` questions."""
    monkeypatch.setattr(evaluate, "FEWEST", 2)
    monkeypatch.setattr(evaluate, "ENOUGH", enough)
    scorer, clock = RandomScores(toy.num_entities), iter(range(1000))
    monkeypatch.setattr("hmem.evaluation.evaluate.time.perf_counter", lambda: float(next(clock)))
    everything = Validator(toy, None)
    short, long = Validator(toy, None, seconds=0.5), Validator(toy, None, seconds=1000.0)
    assert long(scorer) == everything(scorer)
    first = short(scorer)
    assert len(long.queries) == len(everything.queries)
    assert len(short.queries) == asked
    assert short(scorer) == first
    assert short.num_questions <= asked
