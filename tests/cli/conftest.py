"""What the tests of the commands share: `hmem …` in this process, and a model of the toy graph trained once."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import torch

from tests.conftest import TOY_TEST, TOY_TRAIN, TOY_VALID


class Answer(NamedTuple):
    code: int
    out: str
    err: str


Command = Callable[..., Answer]
QUICK = (
    "--set", "memory.entity_dim=8", "--set", "memory.relation_dim=4", "--set", "training.epochs=12",
    "--set", "training.validate_every=4", "--device", "cpu",
)  # fmt: skip


def tabbed(text: str) -> str:
    """Facts as the toy graph has them, with tabs."""
    return "".join("\t".join(line.split()) + "\n" for line in text.splitlines() if line)


@pytest.fixture
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def invoke(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], *arguments: object) -> Answer:
    """`hmem …` in this process."""
    from hmem.cli.main import main

    monkeypatch.setattr(sys, "argv", ["hmem", *map(str, arguments)])
    with pytest.raises(SystemExit) as left:
        main()
    out, err = capfd.readouterr()
    return Answer(int(left.value.code or 0), out, err)


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], one_thread: None
) -> Command:
    """`command("kb", "info", "zoo.kb")` is `hmem kb info zoo.kb` in an empty folder, in the time zone UTC."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HMEM_DATA", raising=False)
    monkeypatch.setenv("HMEM_HOME", str(tmp_path / "home"))

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
def toy_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A calibrated model of the toy graph. To be read, not changed."""
    import subprocess

    folder = tmp_path_factory.mktemp("trained")
    (folder / "toy").mkdir()
    for split, text in (("train", TOY_TRAIN), ("valid", TOY_VALID), ("test", TOY_TEST)):
        (folder / "toy" / f"{split}.tsv").write_text(tabbed(text), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "hmem", "train", "toy", "--out", "model", *QUICK],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return folder / "model"


@pytest.fixture
def zoo(command: Command, tmp_path: Path, toy_model: Path) -> str:
    """A knowledge base of the toy graph's training facts, with a model of its own: `zoo.kb` in this folder."""
    import shutil

    shutil.copytree(toy_model, tmp_path / "model")
    shutil.copytree(toy_model.parent / "toy", tmp_path / "toy")
    made = command("kb", "create", "zoo.kb", "--model", "model", "--facts", "toy")
    assert made.code == 0, made.err
    return "zoo.kb"
