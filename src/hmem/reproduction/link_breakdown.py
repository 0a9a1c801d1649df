"""What a row does for answers that stand in the asked entity's memory already, and for those that do not.

The break-downs of its results beside those of the rules, of what was trained apart and of the best of the other rows.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hmem.evaluation.metrics import MRR
from hmem.evaluation.report import share
from hmem.reproduction.paper_rows import PaperRow, Run
from hmem.reproduction.results import TRAINED_APART, Line, find_baseline, find_run

KINDS = ("linked", "unlinked")


@dataclass(frozen=True, kw_only=True)
class Parts:
    """A table: first linked and unlinked, then by the number of facts in the asked entity's memory."""

    columns: tuple[str, ...]
    lines: tuple[tuple[str, list[str]], ...]  # each with its label


def parts_of(row: PaperRow, rows: Sequence[PaperRow], lines: Sequence[Line]) -> Parts | None:
    """MRR of each part, and H@1 of the linked questions in each; None if the row was not run."""
    found = _compared(row, rows, lines)
    if row.name not in found:
        return None
    whole = found[row.name][0]["breakdowns"]["all"]
    sizes = list(whole["degree"])
    made = [("questions", _counts(whole["linked"], KINDS) + _counts(whole["degree"], sizes))]
    for name, runs in found.items():
        made.append((f"{name}, MRR", _means(runs, "linked", KINDS, "mrr") + _means(runs, "degree", sizes, "mrr")))
    linked = whole["linked by degree"]
    if linked:
        made.append(("linked questions", [*_counts(whole["linked"], KINDS[:1]), "", *_counts(linked, sizes)]))
        for name, runs in found.items():
            cells = _means(runs, "linked by degree", sizes, "hits@1")
            made.append((f"{name}, H@1 where linked", [*_means(runs, "linked", KINDS[:1], "hits@1"), "", *cells]))
    return Parts(columns=(*KINDS, *sizes), lines=tuple(made))


def _compared(row: PaperRow, rows: Sequence[PaperRow], lines: Sequence[Line]) -> dict[str, list[Line]]:
    """The runs of the row and of those to hold it against, as far as they are there and have break-downs."""
    beside = [each for each in rows if (each.group, each.dataset) == (row.group, row.dataset) and each != row]
    trained = {each.name: _runs(each, lines) for each in beside}
    best = max(trained, key=lambda name: max(map(_mrr, trained[name]), default=0.0), default=row.name)
    apart = {name: find_baseline(lines, name, row.dataset, "train") for name in ("rules", *TRAINED_APART)}
    found = {name: [line] for name, line in apart.items() if line is not None}
    found |= {best: trained.get(best, []), row.name: _runs(row, lines)}
    whole = {name: [line for line in runs if "breakdowns" in line] for name, runs in found.items()}
    return {name: runs for name, runs in whole.items() if runs}


def _runs(row: PaperRow, lines: Sequence[Line]) -> list[Line]:
    found = (find_run(lines, Run(row=row, seed=seed), "train") for seed in row.seeds)
    return [line for line in found if line is not None]


def _mrr(line: Line) -> float:
    return float(line["protocols"]["all"][MRR])


def _counts(parts: Mapping[str, Line], names: Sequence[str]) -> list[str]:
    return [f"{parts[name]['count'] if name in parts else 0:,}" for name in names]


def _means(runs: Sequence[Line], kind: str, names: Sequence[str], metric: str) -> list[str]:
    """The mean of a metric over the runs, for each part; a dash where there are no such questions."""
    parts = [[line["breakdowns"]["all"][kind].get(name) for line in runs] for name in names]
    return ["–" if None in each else share(statistics.mean(part[metric] for part in each)) for each in parts]
