"""The guide to knowledge bases shows what the commands print: each is run, in order, and compared."""

import re
from pathlib import Path

import pytest

from tests.pages import GUIDE, ROOT, enter, run, sessions, trains_the_bundled_graph, use_trained

POINTS = 10  # by which a percentage may differ on another machine


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


@pytest.mark.slow
def test_the_guide_shows_what_the_commands_print(
    trained_guide: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    enter(tmp_path, monkeypatch)
    commands = sessions(GUIDE.read_text(encoding="utf-8"))
    assert len(commands) > 15
    assert sum(trains_the_bundled_graph(command) for command, _ in commands) == 1
    for command, shown in commands:
        trained = trains_the_bundled_graph(command)
        printed = use_trained(trained_guide, tmp_path) if trained else run(command, monkeypatch, shown)
        assert comparable(printed) == comparable(shown), f"$ {command}\n{printed}"
        assert percentages(printed) == pytest.approx(percentages(shown), abs=POINTS), f"$ {command}\n{printed}"


def test_the_page_about_names_shows_what_the_commands_print(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    enter(tmp_path, monkeypatch)
    commands = sessions((ROOT / "docs" / "real-graphs.md").read_text(encoding="utf-8"))
    assert len(commands) > 5
    for command, shown in commands:
        printed = run(command, monkeypatch, shown)
        assert comparable(printed) == comparable(shown), f"$ {command}\n{printed}"


def _part(path: Path, begin: str, end: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Run the commands of a part of a page and compare what they print; returns what follows `hmem` in each."""
    enter(folder, monkeypatch)
    commands = sessions(path.read_text(encoding="utf-8").partition(begin)[2].partition(end)[0])
    for command, shown in commands:
        printed = run(command, monkeypatch, shown)
        if "\n...\n" in shown:  # the rest is left out
            shown, _, _ = shown.partition("\n...\n")
            printed = printed[: len(shown)]
        assert comparable(printed) == comparable(shown), f"$ {command}\n{printed}"
        assert percentages(printed) == pytest.approx(percentages(shown), abs=POINTS), f"$ {command}\n{printed}"
    return [command.split()[1] for command, _ in commands]


@pytest.mark.slow
def test_the_first_example_of_the_readme_shows_what_the_commands_print(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = _part(ROOT / "README.md", "## The same by hand", "## Train a model", tmp_path, monkeypatch)
    assert found == ["kb", "report.tsv", "facts", "predict", "explain"]


@pytest.mark.slow
def test_the_first_part_of_the_tutorial_shows_what_the_commands_print(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = _part(ROOT / "docs" / "tutorial.md", "# ", "## 2. ", tmp_path, monkeypatch)
    assert found == ["kb", "entities", "report.tsv", "facts", "predict", "explain", "predict", "facts"]


def test_a_difference_that_matters_is_noticed() -> None:
    assert comparable(" 1   leopard.n.02   98%\n") == comparable("1  leopard.n.02  97.5%")
    assert comparable("3 facts added") != comparable("2 facts added")
    assert comparable("1 leopard.n.02 98%") != comparable("1 lion.n.01 98%")
    assert percentages("1 leopard.n.02 98%\n2 lion.n.01 > 99.9%\n3 fox.n.01 0.2%") == [98, 99.9, 0.2]
