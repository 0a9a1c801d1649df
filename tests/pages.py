"""Pages of documentation that show commands: what they show, what the commands print, and how the two compare."""

import io
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FEW = 300  # questions
GUIDE = ROOT / "docs" / "knowledge.md"


def sessions(text: str) -> list[tuple[str, str]]:
    """Every command of a page's console blocks, and the text that is shown below it."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            found.append((command, shown))
    return found


def trains_the_bundled_graph(command: str) -> bool:
    return command.startswith("hmem train wordnet-mini ") and "--out models/mini" in command


def enter(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder, where no data and no models of this machine are found."""
    monkeypatch.chdir(folder)
    monkeypatch.delenv("HMEM_DATA", raising=False)
    monkeypatch.setenv("HMEM_HOME", str(folder / "home"))


def train_guide(folder: Path, *, few_questions: bool) -> None:
    """Run the guide up to its training; what that prints is in `printed.txt`."""
    from hmem.evaluation import weighing
    from hmem.runs import measure

    with pytest.MonkeyPatch.context() as monkeypatch:
        enter(folder, monkeypatch)
        if few_questions:
            for module, name in ((weighing, "MOST"), (measure, "QUESTIONS"), (measure, "SLOTS")):
                monkeypatch.setattr(module, name, FEW)
        for command, shown in sessions(GUIDE.read_text(encoding="utf-8")):
            if trains_the_bundled_graph(command):
                Path("printed.txt").write_text(run(command, monkeypatch), encoding="utf-8")
                return
            assert command.startswith("cat ")
            run(command, monkeypatch, shown)


def use_trained(guide: Path, folder: Path) -> str:
    """Put the guide's model where its training would; what the training printed."""
    shutil.copytree(guide / "models", folder / "models")
    return (guide / "printed.txt").read_text(encoding="utf-8")


def run(command: str, monkeypatch: pytest.MonkeyPatch, shown: str = "") -> str:
    """What a command prints, on standard output and standard error alike; `hmem` runs in this process."""
    from hmem.cli.main import main

    command = re.sub(r"\s+# .*$", "", command)
    if command.startswith("cat "):  # what is shown is the file
        Path(command.removeprefix("cat ")).write_text(shown, encoding="utf-8")
        return shown
    before, pipe, after = command.partition(" | ")
    given = b""
    if pipe:
        given, command = subprocess.run(before, shell=True, capture_output=True, check=True).stdout, after
    words = shlex.split(command)
    if words[0] != "hmem":
        done = subprocess.run(command, shell=True, capture_output=True, text=True)
        return done.stdout + done.stderr
    printed = io.StringIO()
    with monkeypatch.context() as patched:
        patched.setattr(sys, "argv", words)
        patched.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
        with redirect_stdout(printed), redirect_stderr(printed), pytest.raises(SystemExit):
            main()
    return printed.getvalue()
