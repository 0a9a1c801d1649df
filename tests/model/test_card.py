import json
import re
from typing import Any

from hmem.config import Config, from_dict
from hmem.graph.names import Vocabulary
from hmem.model.card import model_card
from tests.model.problems import small

VOCAB = Vocabulary([f"e{i}" for i in range(1234)], ["r"])


def figures(mrr: float) -> dict[str, float]:
    keys = ("inverse_harmonic_mean_rank", "hits_at_1", "hits_at_3", "hits_at_10")
    return {f"both.realistic.{key}": mrr + place / 10 for place, key in enumerate(keys)}


def card(metrics: dict[str, Any], preset: str = "recall", dataset: str = "toy") -> str:
    return model_card(preset, dataset, small("recall"), VOCAB, metrics)


def test_says_what_the_model_is() -> None:
    text = card({})
    assert text.startswith("---\npipeline_tag: graph-ml\nlibrary_name: hmem\n")
    assert "# recall on toy\n" in text
    assert "1,234 entities and 1 relations" in text
    assert "Not evaluated yet: `hmem evaluate` this folder." in text
    assert "|---|" not in text
    assert "# hmem on a knowledge graph\n" in card({}, "", "")


def test_has_a_row_for_each_evaluation_and_protocol() -> None:
    reports = [
        {"split": "valid", "graph": "train", "protocols": {"all": figures(0.1), "typed": figures(0.2)}},
        {"split": "test", "graph": "train+valid", "protocols": {"all": figures(0.3)}},
    ]
    rows = [line for line in card({"reports": reports}).splitlines() if line.startswith("| ")]
    assert rows == [
        "| split | graph | protocol | MRR | H@1 | H@3 | H@10 |",
        "| valid | train | all | 0.100 | 0.200 | 0.300 | 0.400 |",
        "| valid | train | typed | 0.200 | 0.300 | 0.400 | 0.500 |",
        "| test | train+valid | all | 0.300 | 0.400 | 0.500 | 0.600 |",
    ]


def test_holds_the_settings_in_full() -> None:
    block = re.search(r"```json\n(.*)```", card({}), re.DOTALL)
    assert block is not None
    assert from_dict(Config, json.loads(block[1])) == small("recall")
