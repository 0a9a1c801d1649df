"""`hmem baseline`: each of the four, and options that belong to one of them."""

import json

import pytest

from hmem.evaluation.metrics import MRR
from tests.cli.conftest import Command


@pytest.mark.parametrize(
    ("words", "model", "combine", "seed"),
    [
        ("counts", "counts", None, None),
        ("rules", "rules", "max", None),
        ("rules --combine noisy-or", "rules (noisy-or)", "noisy-or", None),
        ("frequency", "frequency", None, None),
        ("random", "random", None, 0),
        ("random --seed 7", "random", None, 7),
    ],
)
def test_a_baseline_is_ranked(
    command: Command, zoo: str, words: str, model: str, combine: str | None, seed: int | None
) -> None:
    answer = command("baseline", *words.split(), "toy", "--json", "-")
    assert answer.code == 0, answer.err
    told = json.loads(answer.out)
    assert (told["model"], told["settings"].get("combine"), told["seed"]) == (model, combine, seed)
    assert 0 < told["protocols"]["all"][MRR] <= 1


@pytest.mark.parametrize(("words", "option", "of"), [("counts --seed 1", "--seed", "random"),
                                                     ("random --combine max", "--combine", "rules")])  # fmt: skip
def test_options_of_another_baseline_are_refused(command: Command, zoo: str, words: str, option: str, of: str) -> None:
    answer = command("baseline", *words.split(), "toy")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == f"hmem: {option} is of the baseline {of}, not of {words.split()[0]}\n"
