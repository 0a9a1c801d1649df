"""What the commands print is for people or for programs, and never half of each."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from hmem.cli import output


def test_json_holds_plain_numbers(tmp_path: Path) -> None:
    given = {
        "rank": np.float32(1.5),
        "ranks": np.array([1, 2]),
        "nothing": math.nan,
        "far": [math.inf, (1, 2)],
        "folder": tmp_path,
        "name": "füchse",
        3: None,
    }
    output.write_json(tmp_path / "out.json", given)
    text = (tmp_path / "out.json").read_text(encoding="utf-8")
    assert json.loads(text) == {
        "rank": 1.5,
        "ranks": [1, 2],
        "nothing": None,
        "far": [None, [1, 2]],
        "folder": str(tmp_path),
        "name": "füchse",
        "3": None,
    }
    assert "füchse" in text
    assert text.endswith("}\n")


def test_a_dash_is_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    output.write_json("-", {"a": 1})
    assert capsys.readouterr() == ('{\n  "a": 1\n}\n', "")


def test_numbers_are_readable() -> None:
    assert [output.count(value) for value in (None, 0, 1234567)] == ["–", "0", "1,234,567"]
    assert [output.decimal(value) for value in (None, math.nan, 0.12345, 1234.5)] == ["–", "–", "0.123", "1,234.500"]


def test_piped_tables_are_wide_and_whole(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert output.console().width == 120
    table = output.table(["name"], ["facts"])
    table.add_row("[b]" + "x" * 70, "1")
    output.show(table)
    out, err = capsys.readouterr()
    assert (err, "[b]" + "x" * 70 in out) == ("", True)
    assert all(line == line.rstrip() for line in out.splitlines())


def test_notes_go_to_standard_error_in_one_piece(capsys: pytest.CaptureFixture[str]) -> None:
    output.note("word " * 60 + "[end]")
    assert capsys.readouterr() == ("", "word " * 60 + "[end]\n")
