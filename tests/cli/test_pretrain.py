"""`hmem pretrain`, on a graph that is small enough for a CPU."""

from pathlib import Path

import pytest

from hmem.runs import pretrain as runs
from hmem.training.pretrain import mixture
from tests.cli.conftest import Command
from tests.runs.test_pretrain import graph


@pytest.fixture
def ring(here: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file of facts; and the number of excerpts and generated graphs is small."""
    dataset = graph()
    names, relations = dataset.vocab.entities, dataset.vocab.relations
    lines = [
        f"{names[head]}\t{relations[relation]}\t{names[tail]}\n" for head, relation, tail in dataset.train.tolist()
    ]
    (here / "ring.tsv").write_text("".join(lines))
    monkeypatch.setattr(runs, "mixture", lambda *given, **how: mixture(*given, **{**how, "excerpts": 1, "made": 0}))
    return "ring.tsv"


def test_a_model_that_ranks_any_graph(command: Command, ring: str) -> None:
    made = command("pretrain", ring, "--out", "base-2", "--steps", 2, "--device", "cpu")
    assert made.code == 0, made.err
    assert "base-2: trained 2 steps in" in made.out
    assert "3 graphs to train on\nstep 2  loss" in made.err
    ranked = command("evaluate", "base-2", ring, "--device", "cpu")
    assert ranked.code == 0, ranked.err
    assert "any-graph" in ranked.out
    again = command("pretrain", ring, "--out", "base-2", "--steps", 2)
    assert (again.code, "base-2 is not empty" in again.err) == (2, True)


def test_what_is_refused(command: Command, ring: str) -> None:
    both = command("pretrain", ring, "--out", "a", "--steps", 2, "--minutes", 1)
    assert (both.code, "--minutes or --steps" in both.err) == (2, True)
    words = command("pretrain", ring, "--out", "a", "--weights", "a,b")
    assert (words.code, 'not "a,b"' in words.err) == (2, True)
