"""Settings that a preset leaves open, chosen for a graph."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import hmem
from hmem.config import Config, from_dict, merge
from hmem.errors import ConfigError
from hmem.graph.dataset import Dataset
from hmem.graph.names import Vocabulary
from hmem.graph.triples import as_triples
from hmem.model.presets import preset
from hmem.runs import choose
from hmem.runs.choose import BLIND_EPOCHS, CPU_MINUTES, LOOKS, MOST_EPOCHS, QUESTIONS, chosen, share_missing
from hmem.runs.folder import read_run

OPEN = from_dict(Config, preset("any-graph"))


def chain(facts: int, valid: int = 4) -> Dataset:
    """Each entity has a fact with the next; no two facts link the same entities."""
    triples = np.array(list(pairwise(range(facts + valid + 1))))
    every = np.insert(triples, 1, 0, axis=1)
    vocab = Vocabulary([f"e{n}" for n in range(facts + valid + 1)], ["next"])
    train, rest = as_triples(every[:facts]), as_triples(every[facts:])
    return Dataset(name="chain", vocab=vocab, train=train, valid=rest, test=rest)


def test_nothing_is_left_open() -> None:
    config, reasons = chosen(OPEN, chain(10), "cpu")
    training = config.training
    assert None not in (
        training.epochs, training.minutes, training.validate_every, training.link_withholding, training.neighbor_dropout
    )  # fmt: skip
    assert (config.propagation, config.memory) == (OPEN.propagation, OPEN.memory)
    assert replace(training, epochs=None, minutes=None, validate_every=None, link_withholding=None,
                   neighbor_dropout=None) == OPEN.training  # fmt: skip
    assert len(reasons) == 1


@pytest.mark.parametrize(("facts", "epochs"), [(10, MOST_EPOCHS), (QUESTIONS // 20, 10), (QUESTIONS // 2, 1)])
def test_a_larger_graph_is_gone_through_less_often(facts: int, epochs: int) -> None:
    config, reasons = chosen(OPEN, chain(facts), "cuda")
    assert (config.training.epochs, config.training.minutes) == (epochs, None)
    assert config.training.validate_every == pytest.approx(epochs / LOOKS)
    said = f"{epochs} {'epoch' if epochs == 1 else 'epochs'} of {facts:,} facts; the best weights are kept"
    assert reasons[0] == said
    unknown = replace(chain(facts), valid=as_triples([]))
    blind, (reason, *_) = chosen(OPEN, unknown, "cuda")
    assert blind.training.epochs == min(epochs, BLIND_EPOCHS)
    assert reason.endswith("the last weights are kept, and few epochs, since no validation facts tell when to stop")


def test_candidates_are_drawn_where_all_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    recall, graph = from_dict(Config, preset("recall")), chain(100)  # 105 entities, 200 questions in a step
    assert chosen(recall, graph, "cpu") == (recall, [])
    monkeypatch.setattr(choose, "MOST_SCORES", 200 * 105 - 1)
    monkeypatch.setattr(choose, "CANDIDATES", 50)
    config, (reason,) = chosen(recall, graph, "cpu")
    assert config.training == replace(recall.training, candidates=50)
    apart = "the vectors of entities are shared out among the processes, all else is in each"
    assert reason == f"candidates: 50 sampled of 105; {apart}"
    assert chosen(config, graph, "cpu") == (config, [reason])
    given = replace(config, training=replace(config.training, candidates=1000))
    assert chosen(given, graph, "cpu") == (given, [f"candidates: all 105; {apart}"])
    for other in ("cconv", "tpr-im"):
        whole = from_dict(Config, preset(other))
        assert chosen(whole, graph, "cpu")[0] == whole


def test_held_out_entities_need_all_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    recall, graph = from_dict(Config, preset("recall")), chain(100)
    heldout = replace(graph, heldout=np.array([104]), observed=graph.valid)
    monkeypatch.setattr(choose, "MOST_SCORES", 1)
    assert chosen(recall, heldout, "cpu")[0].training.candidates is None
    given = replace(recall, training=replace(recall.training, candidates=7))
    with pytest.raises(ConfigError, match=r"training\.candidates=7 must be none where validation asks about held-out"):
        chosen(given, heldout, "cpu")


def test_one_fact_is_no_facts() -> None:
    assert chosen(OPEN, chain(1), "cuda")[1][0].startswith(f"{MOST_EPOCHS} epochs of 1 fact; ")


def test_on_a_cpu_there_is_a_limit_of_time_too() -> None:
    config, reasons = chosen(OPEN, chain(10), "cpu")
    assert config.training.minutes == CPU_MINUTES
    assert f"or {CPU_MINUTES:g} minutes on this CPU" in reasons[0]
    given = from_dict(Config, merge(preset("any-graph"), {"training": {"minutes": 2.0}}))
    assert chosen(given, chain(10), "cpu")[0].training.minutes == 2.0


def test_what_is_given_is_kept() -> None:
    given = {"epochs": 3, "validate_every": 2, "link_withholding": 0.4, "neighbor_dropout": 0.3}
    config = from_dict(Config, merge(preset("any-graph"), {"training": given}))
    assert chosen(config, chain(10), "cpu") == (config, [])
    recall = from_dict(Config, preset("recall"))
    assert chosen(recall, chain(10), "cpu") == (recall, [])


def test_links_are_hidden_as_the_validation_facts_say() -> None:
    """In a graph where every train fact has a second one beside it, and no validation fact has."""
    twice = chain(20)
    beside = twice.train.copy()
    beside[:, 1] = 1
    vocab = Vocabulary(list(twice.vocab.entities), ["next", "beside"])
    train = np.concatenate([twice.train, beside])
    config, reasons = chosen(OPEN, replace(twice, vocab=vocab, train=train), "cpu")
    assert config.training.link_withholding == 1.0
    assert reasons[1].startswith("all links of a fact hidden in 100% of the questions, since validation facts")
    config, reasons = chosen(OPEN, twice, "cpu")
    assert config.training.link_withholding == 0.0
    assert len(reasons) == 1  # nothing is said of what is not hidden


def test_as_many_facts_are_dropped_as_held_out_entities_lack() -> None:
    dataset = chain(20, valid=3)
    observed = replace(dataset, observed=dataset.train[:18])
    assert (share_missing(dataset), share_missing(observed)) == (0.0, 6 / 24)
    config, reasons = chosen(OPEN, observed, "cpu")
    assert config.training.neighbor_dropout == 0.25
    assert reasons[-1] == "25% of all facts hidden, the share that held-out entities lack"
    assert chosen(OPEN, replace(dataset, observed=as_triples([])), "cpu")[0].training.neighbor_dropout == 0.0


def test_a_run_writes_down_what_was_chosen_and_why(toy: Dataset, tmp_path: Path) -> None:
    settings = {"propagation": {"dim": 4, "steps": 2}, "training": {"minutes": 0.001}}
    model = hmem.fit(toy, settings=settings, out=tmp_path / "m", device="cpu")
    assert model.config.training.link_withholding is not None
    run = read_run(tmp_path / "m")
    assert run["chosen"] == ["30 epochs of 32 facts; the best weights are kept"]
    assert run["config"]["training"]["link_withholding"] == model.config.training.link_withholding
    assert "fine_tune" not in run  # the bundled weights do not fit a network of this size
