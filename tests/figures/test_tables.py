"""Numbers as CSV."""

import csv
from pathlib import Path

import pytest

from hmem.figures.tables import TableRow, write_csv


def test_what_is_written_can_be_read(tmp_path: Path) -> None:
    rows: list[TableRow] = [
        {"name": "a, b", "count": 3, "share": 1 / 3},
        {"name": "0–99", "count": 0, "share": float("nan")},
    ]
    write_csv(tmp_path / "table.csv", rows)
    with (tmp_path / "table.csv").open(newline="", encoding="utf-8") as file:
        first, second = csv.DictReader(file)
    assert first["name"] == "a, b"
    assert first["count"] == "3"
    assert float(first["share"]) == pytest.approx(1 / 3, abs=1e-6)
    assert second == {"name": "0–99", "count": "0", "share": ""}
