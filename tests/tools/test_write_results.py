"""docs/results.md: what it says of rows that were run, fall short or were not, and that it does not drift."""

import runpy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hmem.reproduction.paper_rows import PaperRow, Run
from tests.reproduction.rows import make_baseline_line, make_line, make_row

TOOL = Path(__file__).resolve().parents[2] / "tools" / "write_results.py"


def tool() -> dict[str, Any]:
    """What the tool defines."""
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(TOOL.parent)
        return runpy.run_path(str(TOOL))


def page(rows: Sequence[PaperRow], lines: Sequence[dict[str, Any]]) -> str:
    made: str = tool()["page"](rows, lines)
    return made


def test_the_page_does_not_drift() -> None:
    now = tool()
    assert now["PAGE"].read_text(encoding="utf-8") == now["current"](), "python tools/write_results.py writes it anew"


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
    assert "Not run yet: counts, rules, frequency, TPR." in shown


def test_what_was_trained_apart_is_beside_the_rows_with_its_cost() -> None:
    row = make_row()
    apart = make_baseline_line("ComplEx-N3", mrr=0.95)
    apart |= {"seed": 0, "parameters": 1000, "epochs": 2.0, "training_seconds": 3.0, "device": "cpu", "commit": None}
    text = page([row], [make_line(Run(row=row, seed=0), mrr=0.9), apart])
    assert "Highest MRR in protocol `all`: ComplEx-N3 (.950)." in lines_of(text, "toy")
    assert "| toy | ComplEx-N3 | 0 | 1,000 | 2.0 | 3 | cpu | – |" in lines_of(text, "The runs")


def test_rows_that_reach_the_paper() -> None:
    row = make_row()
    text = page([row], [make_line(Run(row=row, seed=0), mrr=0.9)])
    assert "Each of the 1 rows that the paper has and that were run reaches its MRR." in text
    assert "fall short" not in text


def degree_line() -> dict[str, Any]:
    """Explicit memories that get better with more neighbors, and implicit ones that do too."""
    models = [("TPR", "explicit"), ("TPR-im", "implicit"), ("rules", "baseline")]
    bins = [
        {"model": model, "kind": kind, "protocol": "all", "neighbors": str(place), "mrr": 0.5 if place else None}
        for model, kind in models
        for place in range(6)
    ]
    slope = {"protocol": "all", "slope": 0.02, "slope_low": 0.01, "slope_high": 0.03}
    lines = [{"model": model, "kind": kind, "against": "log2(1 + degree)", **slope} for model, kind in models]
    lines += [{**line, "against": "degree", "slope": None} for line in lines]
    return {"study": "degree", "dataset": "FB15K", "tables": {"degree-bins": bins, "degree-lines": lines}}


def test_neighborhood_size_is_told_as_it_is() -> None:
    flat = degree_line()
    flat["tables"]["degree-lines"][1] |= {"slope": -0.01, "slope_low": -0.02, "slope_high": 0.01}
    shown = lines_of(page([make_row()], [flat, degree_line()]), "Neighborhood size")  # the last one counts
    assert "| paper | explicit |  | .632 | .746 | .772 | .856 | .835 | .900 |  |" in shown
    assert "| TPR | explicit | all | – | .500 | .500 | .500 | .500 | .500 | +0.020 (+0.010 to +0.030) |" in shown
    assert "- TPR, `all`: better with more neighbors, as the paper says." in shown
    assert "- TPR-im, `all`: better with more neighbors, not as the paper says." in shown
    assert not any(line.startswith("- rules") for line in shown)
    assert "WN18: not run yet." in shown
    shown = lines_of(page([make_row()], [flat]), "Neighborhood size")
    assert "- TPR-im, `all`: no slope that can be told from chance." in shown


def test_growth_is_the_mean_of_its_draws() -> None:
    model = {"model": "TPR", "kind": "explicit", "protocol": "typed"}
    rows = [
        {**model, "share": share, "draw": draw, "mrr": share / 2 + draw / 10} for share in (0.0, 0.5) for draw in (0, 1)
    ]
    line = {"study": "growth", "dataset": "WNGen", "tables": {"growth": rows}}
    shown = lines_of(page([make_row()], [line]), "Facts that arrive")
    assert "| model | memory | protocol | 0% | 50% |" in shown
    assert "| TPR | explicit | typed | .050 | .300 |" in shown
    assert "FBGen: not run yet." in shown


def test_a_study_of_other_settings_says_so() -> None:
    row = make_row(group="wngen", dataset="WNGen")
    runs = {row.key: {"seed": 0, "settings": Run(row=row, seed=0).settings}}
    line = {"study": "growth", "dataset": "WNGen", "commit": "abc", "runs": runs, "tables": {"growth": []}}
    assert "Models of commit abc." in page([row], [line])
    changed = make_row(group="wngen", dataset="WNGen", settings={"training": {"epochs": 99}})
    assert "Models of commit abc, with settings that the rows of the tables had before." in page([changed], [line])


def test_no_results_yet() -> None:
    text = page([make_row(remark="printed oddly")], [])
    shown = lines_of(text, "toy")
    assert "| TPR | paper | 253 | .900 | .800 | .850 | .950 |" in shown
    assert "Not run yet: counts, rules, frequency, TPR." in shown
    assert "About the paper's TPR: printed oddly." in shown
    assert "Highest MRR" not in text
    assert lines_of(text, "The runs") == ["", "None yet."]


def test_the_runs_are_listed_with_what_they_took() -> None:
    row = make_row()
    shown = lines_of(page([row], [make_line(Run(row=row, seed=0))]), "The runs")
    assert "| toy | TPR | 0 | 1,234,567 | 12.5 | 61 | some device | abc |" in shown


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
