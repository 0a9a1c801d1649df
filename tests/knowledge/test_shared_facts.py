"""Pairs that share facts are those of the obvious way, and a hub leads to none."""

import numpy as np
import pytest

from hmem.knowledge import shared_facts
from hmem.knowledge.shared_facts import Features
from tests.oracles_graph import pairs_that_share


def test_pairs_that_share_facts_are_those_of_the_obvious_way() -> None:
    rng = np.random.default_rng(0)
    facts = np.unique(np.stack([rng.integers(0, n, 200) for n in (20, 3, 20)], axis=1).astype(np.int32), axis=0)
    none = np.empty((0, 3), dtype=np.int32)
    pairs, bits = Features.of(facts, none, 3, 20).pairs()
    expected = pairs_that_share(facts, 20)
    assert {tuple(pair): bit for pair, bit in zip(pairs.tolist(), bits.tolist(), strict=True)} == pytest.approx(
        expected
    )


def test_a_hub_does_not_make_pairs_of_all_its_neighbors(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = np.array([(number, 0, 5000) for number in range(5000)], dtype=np.int32)
    none = np.empty((0, 3), dtype=np.int32)
    assert len(Features.of(facts, none, 1, 5001).pairs()[0]) == 0
    monkeypatch.setattr(shared_facts, "MOST_PAIRS", 10)
    few = np.array([(number, 0, 5000 + number // 3) for number in range(300)], dtype=np.int32)
    assert len(Features.of(few, none, 1, 6000).pairs()[0]) == 0
