"""What the tests of the commands share: `hmem …` in this process, and a model of the toy graph trained once."""

import contextlib
import functools
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
import typer

from tests.conftest import TOY_TEST, TOY_TRAIN, TOY_VALID, MadeOnce
from tests.pages import enter


class Answer(NamedTuple):
    code: int
    out: str
    err: str


Command = Callable[..., Answer]
QUICK = (
    "--set", "memory.entity_dim=8", "--set", "memory.relation_dim=4", "--set", "training.epochs=12",
    "--set", "training.validate_every=4", "--device", "cpu", "--preset", "recall",
)  # fmt: skip


DEMO = """
canine.n.02 has_part paw.n.01
feline.n.01 has_part paw.n.01
paw.n.01 has_part claw.n.01
building.n.01 has_part wall.n.01
building.n.01 has_part roof.n.01
wall.n.01 part_of building.n.01
corvine_bird.n.01 hyponym raven.n.01
corvine_bird.n.01 hyponym crow.n.01
crow.n.01 hypernym corvine_bird.n.01
"""


typer.main.get_command = functools.cache(typer.main.get_command)  # which makes all commands anew for each call


def tabbed(text: str) -> str:
    """Facts as the toy graph has them, with tabs."""
    return "".join("\t".join(line.split()) + "\n" for line in text.splitlines() if line)


def invoke(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], *arguments: object) -> Answer:
    """`hmem …` in this process."""
    from hmem.cli.main import main

    monkeypatch.setattr(sys, "argv", ["hmem", *map(str, arguments)])
    with pytest.raises(SystemExit) as left:
        main()
    out, err = capfd.readouterr()
    return Answer(int(left.value.code or 0), out, err)


def write_splits(folder: Path, *texts: str) -> Path:
    """A dataset's folder: train, valid and test."""
    folder.mkdir()
    for split, text in zip(("train", "valid", "test"), texts, strict=True):
        (folder / f"{split}.tsv").write_text(tabbed(text), encoding="utf-8")
    return folder


def write_small_bundled(folder: Path) -> None:
    """Tiny graphs in place of the bundled ones: where a folder has a dataset's name, it is the dataset.

    `wordnet-mini` is the toy graph and what `hmem demo` asks about besides, with WordNet's names of relations;
    `wordnet-mini-gen` the same with five entities kept out of training.
    """
    from typer.testing import CliRunner

    from hmem.cli.main import app

    texts = (TOY_TRAIN + DEMO, TOY_VALID, TOY_TEST)
    with contextlib.chdir(folder):
        write_splits(Path("wordnet-mini"), *(re.sub(r" (\w+) ", r" _\1 ", text) for text in texts))
        assert CliRunner().invoke(app, ["data", "gen", "wordnet-mini", "--heldout", "5"]).exit_code == 0


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, where no data of this machine are found."""
    enter(tmp_path, monkeypatch)
    return tmp_path


@pytest.fixture
def command(here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """`command("kb", "info", "zoo.kb")` is `hmem kb info zoo.kb` in an empty folder, in the time zone UTC."""

    def answer(*arguments: object, given: str | bytes = b"") -> Answer:
        given = given.encode() if isinstance(given, str) else given
        with monkeypatch.context() as patched:
            patched.setattr(sys, "stdin", _Input(given))
            return invoke(patched, capfd, *arguments)

    return answer


class _Input:
    """Standard input with the given bytes on it."""

    def __init__(self, content: bytes) -> None:
        import io

        self.buffer = io.BytesIO(content)


@pytest.fixture(scope="session")
def made_zoo(made_once: MadeOnce) -> Path:
    """The folder that `zoo` is a copy of."""
    from typer.testing import CliRunner

    from hmem.cli.main import app
    from hmem.runs.fit import fit

    def make(folder: Path) -> None:
        write_splits(folder / "toy", TOY_TRAIN, TOY_VALID, TOY_TEST)
        with contextlib.chdir(folder):
            fit("toy", "recall", settings=list(QUICK[1:8:2]), device="cpu", out="model")
            made = CliRunner().invoke(app, ["kb", "create", "zoo.kb", "--model", "model", "--facts", "toy"])
        assert made.exit_code == 0, made.output

    return made_once("zoo", make)


@pytest.fixture(scope="session")
def toy_model(made_zoo: Path) -> Path:
    """A calibrated model of the toy graph. To be read, not changed."""
    return made_zoo / "model"


@pytest.fixture
def zoo(here: Path, made_zoo: Path) -> str:
    """A knowledge base of the toy graph's training facts, with a model of its own: `zoo.kb` in this folder."""
    shutil.copytree(made_zoo, here, dirs_exist_ok=True)
    return "zoo.kb"
