import math
import re
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from hmem.cli import progress
from hmem.cli.progress import import_progress, step_progress, training_progress
from hmem.training.hooks import Progress


def now(validated: float | None = None, best: float | None = None) -> Progress:
    return Progress(
        epoch=3,
        epochs=50,
        step=96,
        share=0.06,
        loss=1.23456,
        triples_per_second=12345.6,
        seconds=8.4,
        best=best,
        validated=validated,
    )


def test_away_from_a_terminal_one_line_for_each_validation(capsys: pytest.CaptureFixture[str]) -> None:
    with training_progress() as show:
        show(now())
        show(now(validated=0.25, best=0.5))
        show(now())
    assert capsys.readouterr() == (
        "",
        "epoch 3/50  loss 1.235  12,346 facts/s  valid MRR 0.250  8 s\n",
    )


def test_before_the_first_step_there_is_no_loss(capsys: pytest.CaptureFixture[str]) -> None:
    with training_progress() as show:
        show(replace(now(validated=0.25, best=0.25), step=0, loss=math.nan))
    assert capsys.readouterr().err == "before the first step  valid MRR 0.250  8 s\n"


def test_quiet_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with training_progress(quiet=True) as show:
        show(now(validated=0.25, best=0.5))
    assert capsys.readouterr() == ("", "")


def test_on_a_terminal_a_bar_with_the_figures(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def terminal(**options: Any) -> Console:
        return Console(**options, force_terminal=True, width=150)

    monkeypatch.setattr(progress, "Console", terminal)
    with training_progress() as show:
        show(now(validated=0.25, best=0.5))
    out, err = capsys.readouterr()
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", err)
    assert out == ""
    assert "epoch 3/50" in plain
    assert "loss 1.235" in plain
    assert "12,346 facts/s" in plain
    assert "valid MRR 0.500" in plain  # the best so far
    assert "6%" in plain
    assert "valid MRR 0.250" not in plain


def test_away_from_a_terminal_nothing_that_takes_long_is_silent(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(float(20 * tick) for tick in range(100))
    monkeypatch.setattr("hmem.cli.progress.time.monotonic", lambda: next(clock))
    with training_progress() as show:
        show(now())  # after 20 seconds
        show(now())
        show.asking("validating", 20, 100)
        show.asking("validating", 40, 100)
        show.asking("calibrating", 60, None)
        show.asking("calibrating", 80, None)
    with import_progress() as report:
        report("questions", 10, 50)
        report("questions", 20, 50)
    with step_progress() as step:
        step("trial 0", 0.25, "valid MRR 0.500")
        step("trial 0", 0.5, "valid MRR 0.500")
    assert capsys.readouterr().err.splitlines() == [
        "epoch 3/50  loss 1.235  12,346 facts/s  8 s",
        "validating: 40 of 100 questions",
        "calibrating: 80 questions",
        "questions: 20 of 50",
        "trial 0: 50% valid MRR 0.500",
    ]


def test_a_setback_is_one_line_and_leaves_no_loss(capsys: pytest.CaptureFixture[str]) -> None:
    note = "the loss is 1.075e+06 after 2 steps: back to the best weights, and on with a learning rate of 9"
    with training_progress() as show:
        show(replace(now(), loss=math.nan, note=note))
        show(replace(now(validated=0.25), loss=math.nan))
    assert capsys.readouterr().err.splitlines() == [note, "epoch 3/50  loss –  12,346 facts/s  valid MRR 0.250  8 s"]
