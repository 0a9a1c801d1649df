"""The guide to knowledge bases shows what the commands print: each is run, in order, and compared."""

import io
import re
import shlex
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

POINTS = 10  # by which a percentage may differ on another machine
GUIDE = Path(__file__).resolve().parents[2] / "docs" / "knowledge.md"


def sessions(text: str) -> list[tuple[str, str]]:
    """Every command of the page's console blocks, and the text that is shown below it."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            found.append((command, shown))
    return found


def comparable(text: str) -> list[str]:
    """The text without what differs from run to run: times, measured numbers, and the width that they take."""
    lines = []
    for line in text.splitlines():
        line = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "TIME", line)
        line = re.sub(r"(< |> )?\d+(\.\d+)?%", "N%", line)
        if re.search(r"facts/s|\.\d+–\.\d|trained|Calibrated|probabilities|\bMB|\bkB|MRR", line):
            line = re.sub(r"\d[\d,]*\.?\d*|\.\d+", "N", line)
        line = re.sub(r"-?\d+\.\d+(e-\d+)?", "N", line)
        line = re.sub(r"[━─]+", "─", line)
        lines.append(" ".join(line.split()))
    return [line for line in lines if line]


def percentages(text: str) -> list[float]:
    """Every probability that is shown, in percent."""
    return [float(number) for number in re.findall(r"(\d+(?:\.\d+)?)%", text)]


def run(command: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a command prints, on standard output and standard error alike; `hmem` runs in this process."""
    from hmem.cli.main import main

    before, pipe, after = command.partition(" | ")
    given = b""
    if pipe:
        given, command = subprocess.run(before, shell=True, capture_output=True, check=True).stdout, after
    words = shlex.split(command)
    if words[0] != "hmem":
        done = subprocess.run(command, shell=True, capture_output=True, text=True)
        return done.stdout + done.stderr
    printed = io.StringIO()
    monkeypatch.setattr(sys, "argv", words)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
    with redirect_stdout(printed), redirect_stderr(printed), pytest.raises(SystemExit):
        main()
    return printed.getvalue()


@pytest.mark.usefixtures("one_thread")
def test_the_guide_shows_what_the_commands_print(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HMEM_DATA", raising=False)
    monkeypatch.setenv("HMEM_HOME", str(tmp_path / "home"))
    commands = sessions(GUIDE.read_text(encoding="utf-8"))
    assert len(commands) > 15
    for command, shown in commands:
        if command.startswith("cat "):  # what is shown is the file
            Path(command.removeprefix("cat ")).write_text(shown, encoding="utf-8")
            continue
        printed = run(command, monkeypatch)
        assert comparable(printed) == comparable(shown), f"$ {command}\n{printed}"
        assert percentages(printed) == pytest.approx(percentages(shown), abs=POINTS), f"$ {command}\n{printed}"


def test_a_difference_that_matters_is_noticed() -> None:
    assert comparable(" 1   leopard.n.02   98%\n") == comparable("1  leopard.n.02  97.5%")
    assert comparable("3 facts added") != comparable("2 facts added")
    assert comparable("1 leopard.n.02 98%") != comparable("1 lion.n.01 98%")
    assert percentages("1 leopard.n.02 98%\n2 lion.n.01 > 99.9%\n3 fox.n.01 0.2%") == [98, 99.9, 0.2]
