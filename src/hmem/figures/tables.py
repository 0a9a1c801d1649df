"""The numbers behind a figure, as rows that any program can read."""

import csv
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float

from hmem.sqlite_files import replacing

TableRow = dict[str, str | int | float]
Tables = dict[str, list[TableRow]]  # by the name of the file, without its suffix


def grouped(rows: Sequence[TableRow], *names: str) -> dict[tuple[str | int | float, ...], list[TableRow]]:
    """The rows that agree in the named columns, in the order in which they come first."""
    groups: dict[tuple[str | int | float, ...], list[TableRow]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    return groups


def number(row: TableRow, name: str) -> float:
    """A number of a row; NaN where it has none."""
    return math.nan if row[name] is None else float(row[name])


def column(rows: Sequence[TableRow], name: str) -> Float[np.ndarray, " rows"]:
    """The numbers of a column."""
    return np.array([number(row, name) for row in rows])


def write_csv(path: Path, rows: Sequence[TableRow]) -> None:
    """One line for each row below the names of its columns; what is not a number is left empty."""
    assert rows, f"{path} would have neither rows nor columns"
    with replacing(path) as beside, beside.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _plain(value) for name, value in row.items()} for row in rows)


def _plain(value: str | int | float) -> str | int:
    if not isinstance(value, float):
        return value
    return "" if math.isnan(value) else f"{value:.6g}"
