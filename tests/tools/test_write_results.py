"""docs/results.md: what it says of rows that were run, fall short or were not, and that it does not drift."""

import runpy
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hmem.analysis.rows import Row, Run
from tests.analysis.rows import make_baseline_line, make_line, make_row

TOOL = Path(__file__).resolve().parents[2] / "tools" / "write_results.py"


def page(rows: Sequence[Row], lines: Sequence[dict[str, Any]]) -> str:
    made: str = runpy.run_path(str(TOOL))["page"](rows, lines)
    return made


def test_the_page_does_not_drift() -> None:
    checked = subprocess.run([sys.executable, TOOL, "--check"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def lines_of(text: str, title: str) -> list[str]:
    """The lines of a section, from its heading to the next."""
    lines = text.splitlines()
    start = lines.index(f"## {title}")
    return lines[start + 1 : next((n for n in range(start + 1, len(lines)) if lines[n].startswith("## ")), None)]


def test_a_table_has_ours_below_the_papers() -> None:
    row = make_row(seeds=(0, 1))
    runs = [make_line(Run(row=row, seed=seed), mrr=mrr) for seed, mrr in enumerate((0.87, 0.89))]
    shown = lines_of(page([row], [make_baseline_line("rules", mrr=0.7), *runs]), "toy")
    assert "| rules | typed | 143 | .700 | .600 | .710 | .800 |" in shown
    place = shown.index("| TPR (2 seeds) | paper | 253 | .900 | .800 | .850 | .950 |")
    assert shown[place + 1].startswith("|  | typed | 114 | .880 ± .014 | .780 |")
    assert shown[place + 2].startswith("|  | all | 114 | .880 ± .014 | .780 |")
    assert "Highest MRR in protocol `all`: TPR (.880)." in shown
    assert "1 of 1 rows fall short of the paper's MRR:" in shown
    assert "- TPR by .020 (.880 against .900)" in shown
    assert "Not run yet: frequency." not in shown  # rules+ was not run either
    assert "Not run yet: rules, frequency, TPR." in shown


def test_rows_that_reach_the_paper() -> None:
    row = make_row()
    text = page([row], [make_line(Run(row=row, seed=0), mrr=0.9)])
    assert "Each of the 1 rows that the paper has and that were run reaches its MRR." in text
    assert "fall short" not in text


def test_no_results_yet() -> None:
    text = page([make_row(remark="printed oddly")], [])
    shown = lines_of(text, "toy")
    assert "| TPR | paper | 253 | .900 | .800 | .850 | .950 |" in shown
    assert "Not run yet: rules, frequency, TPR." in shown
    assert "About the paper's TPR: printed oddly." in shown
    assert "Highest MRR" not in text
    assert lines_of(text, "The runs") == ["", "None yet."]


def test_the_runs_are_listed_with_what_they_took() -> None:
    row = make_row()
    shown = lines_of(page([row], [make_line(Run(row=row, seed=0))]), "The runs")
    assert "| toy | TPR | 0 | 1,234,567 | 12.5 | 61 | .250 | some device | abc |" in shown


def test_the_ablation_has_sections_of_its_own() -> None:
    rows = [make_row(), make_row(key="toy_tpr-global", name="TPR-global", preset="tpr-global", group="ablation")]
    text = page(rows, [make_line(Run(row=rows[0], seed=0))])
    assert "- [Ablation on toy](#ablation-on-toy)" in text
    assert [line.split(" | ")[0] for line in lines_of(text, "Ablation on toy") if " | paper" in line] == [
        "| TPR",
        "| TPR-global",
    ]


@pytest.mark.parametrize("commit", [None, "abc"])
def test_a_run_from_an_installed_package_has_no_commit(commit: str | None) -> None:
    row = make_row()
    shown = lines_of(page([row], [make_line(Run(row=row, seed=0), commit=commit)]), "The runs")
    assert shown[-1].endswith(f"| {commit or '–'} |")
