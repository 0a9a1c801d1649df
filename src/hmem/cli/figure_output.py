"""Write a figure: the picture, its numbers as CSV, and a summary as tables on the screen."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from hmem.cli import output

if TYPE_CHECKING:
    from hmem.figures.compared_models import Kind
    from hmem.figures.degree import DegreeCurve, DegreeEffect
    from hmem.figures.growth import GrowthEffect
    from hmem.figures.tables import Tables


@runtime_checkable
class Result(Protocol):
    """Numbers that can be drawn and written down."""

    def tables(self) -> "Tables": ...


def prepare(out: Path) -> None:
    """Fail before the work, not after it."""
    from hmem.figures.plotting import require_matplotlib

    require_matplotlib()
    out.mkdir(parents=True, exist_ok=True)


def write(
    name: str, result: Result, out: Path, *, caption: bool = True, json_path: str | None = None, quiet: bool = False
) -> None:
    """The picture, and a CSV file for each table of its numbers; then say what there is."""
    from hmem.figures.degree import DegreeEffect
    from hmem.figures.drawings import PICTURES
    from hmem.figures.growth import GrowthEffect
    from hmem.figures.plotting import write_picture
    from hmem.figures.tables import write_csv

    if not quiet and json_path != "-":
        if isinstance(result, DegreeEffect):
            show_degree(result)
        elif isinstance(result, GrowthEffect):
            show_growth(result)
    written = write_picture(PICTURES[type(result)](result), out, name, caption=caption)
    for table, rows in result.tables().items():
        written.append(out / f"{table}.csv")
        write_csv(written[-1], rows)
    output.written(json_path, result.tables())
    output.console(stderr=json_path == "-").print(f"Wrote {', '.join(map(str, written))}", soft_wrap=True)


def show_degree(result: "DegreeEffect") -> None:
    from hmem.figures.degree import BINS, paper_row

    title = f"{result.dataset}, test: MRR by the number of neighbors of the asked entity"
    table = output.table(["model", "protocol"], BINS, title=title)
    for curve in result.curves:
        table.add_row(curve.name, curve.protocol, *map(output.decimal, curve.six.mrr.tolist()))
    kinds: tuple[Kind, ...] = ("explicit", "implicit")
    for kind in kinds:
        paper = paper_row(result.dataset, kind)
        if not math.isnan(paper[0]):  # there is such a row
            table.add_row(f"paper, {kind}", "", *map(output.decimal, paper))
    output.show(table)
    lines = output.table(
        ["model", "protocol"],
        ["per 100 neighbors", "per doubling"],
        title="How MRR changes with neighbors: slope of the fitted line (95 % interval)",
    )
    for curve in result.curves:
        lines.add_row(curve.name, curve.protocol, *_slopes(curve))
    output.show(lines)


def _slopes(curve: "DegreeCurve") -> list[str]:
    """How much MRR changes with a hundred neighbors more and with twice as many, each with its 95 % interval."""
    return [
        f"{by * line.slope:+.3f} ({by * line.low:+.3f} to {by * line.high:+.3f})" if math.isfinite(line.slope) else "–"
        for line, by in ((curve.per_neighbor, 100), (curve.per_doubling, 1))
    ]


def show_growth(result: "GrowthEffect") -> None:
    title = f"{result.dataset}, test: MRR by the share of facts in memory"
    table = output.table(["model", "protocol"], [f"{share:.0%}" for share in result.shares], title=title)
    for curve in result.curves:
        table.add_row(curve.name, curve.protocol, *map(output.decimal, curve.mrr.mean(axis=0).tolist()))
    output.show(table)
