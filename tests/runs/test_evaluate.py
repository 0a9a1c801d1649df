"""`hmem.evaluate`: a model or a scorer, on its own dataset or on another."""

import inspect
from dataclasses import replace

import pytest

import hmem
from hmem.errors import ConfigError, DataError
from hmem.evaluation.baselines import make_baseline
from hmem.evaluation.metrics import MRR
from hmem.graph.dataset import Dataset
from hmem.graph.names import Vocabulary
from hmem.runs.evaluate import count_unseen
from tests.runs.test_fit import SMALL


def test_evaluate_takes_a_model_or_a_scorer(toy: Dataset) -> None:
    model = hmem.fit(toy, "recall", settings=SMALL)
    on_valid = hmem.evaluate(model, toy, split="valid")
    assert on_valid.protocols == model.metrics["reports"][0]["protocols"]
    assert (on_valid.model, on_valid.seed, on_valid.settings["preset"]) == ("recall", 0, "recall")
    rules = hmem.evaluate(make_baseline("rules", toy, "train"), toy, protocols=["all"])
    assert (rules.model, list(rules.protocols), rules.split) == ("Rules", ["all"], "test")
    assert 0 < rules.protocols["all"][MRR] <= 1


def renamed(toy: Dataset, relations: list[str] | None = None) -> Dataset:
    """The same graph about other entities, and with other relations if they are given."""
    entities = [f"other {name}" for name in toy.vocab.entities]
    return replace(toy, name="other", vocab=Vocabulary(entities, relations or toy.vocab.relations.to_list()))


def test_a_graph_of_unseen_entities_is_ranked(toy: Dataset) -> None:
    model, other = hmem.fit(toy, "recall", settings=SMALL), renamed(toy)
    assert (count_unseen(model, toy), count_unseen(model, other)) == (0, toy.num_entities)
    linked = hmem.evaluate(model, other).breakdowns["all"]["linked"]
    assert linked["linked"]["mrr"] > linked["unlinked"]["mrr"]


def test_what_a_model_cannot_rank_is_refused(toy: Dataset) -> None:
    with pytest.raises(DataError, match='relations that the model was not trained with, such as "like"'):
        hmem.evaluate(hmem.fit(toy, "recall", settings=SMALL), renamed(toy, ["like", "b", "c", "d"]))
    with pytest.raises(DataError, match="its memories are implicit"):
        hmem.evaluate(hmem.fit(toy, "tpr-im", settings=SMALL), renamed(toy))


def test_arguments_of_another_kind_are_refused() -> None:
    evaluate = inspect.unwrap(hmem.evaluate)  # where nothing watches over the types before
    with pytest.raises(ConfigError, match='split is "train", "valid" or "test", not "tets"'):
        evaluate(None, "wordnet-mini", split="tets")
    with pytest.raises(ConfigError, match='protocols are "all" and "typed", not "every"'):
        evaluate(None, "wordnet-mini", protocols=["every"])
    with pytest.raises(ConfigError, match=r"expected a model or a scorer, found a str; .* hmem\.load\('m'\)"):
        evaluate("m", "wordnet-mini")


def test_base_ranks_a_graph_it_was_not_trained_on(toy: Dataset) -> None:
    seen = list[tuple[int, int]]()
    base = hmem.load("base", "cpu")
    found = hmem.evaluate(base, toy, progress=lambda *now: seen.append(now))
    assert found.model == "any-graph"
    assert found.protocols["all"]["both.count"] == 10
    assert seen[-1][0] == seen[-1][1] > 0
    assert found.protocols == hmem.evaluate(base, toy).protocols
