"""What the commands print is a table or JSON, and never half of each."""

import json
import math
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from hmem.cli import output
from hmem.errors import plural


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
    assert not output.write_json(str(tmp_path / "out.json"), given)
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
    assert output.write_json("-", {"a": 1})
    assert capsys.readouterr() == ('{\n  "a": 1\n}\n', "")


def test_numbers_are_readable() -> None:
    assert [output.count(value) for value in (None, 0, 1234567)] == ["–", "0", "1,234,567"]
    assert [output.decimal(value) for value in (None, math.nan, 0.12345, 1234.5)] == ["–", "–", "0.123", "1,234.500"]


def test_probabilities_have_as_many_digits_as_they_are_worth_and_are_never_certain() -> None:
    shown = {0.0004: "< 0.1%", 0.001: "0.1%", 0.0234: "2.3%", 0.0994: "9.9%", 0.0996: "10%", 0.634: "63%", 0.984: "98%"}
    shown |= {0.991: "99.1%", 0.999: "99.9%", 0.9995: "> 99.9%", 1.0: "> 99.9%", math.nan: "–"}
    assert {value: output.percent(value) for value in shown} == shown
    assert output.percent(None) == "–"


def test_sizes_times_and_numbers_of_things_in_words() -> None:
    sizes = {0: "0 bytes", 999: "999 bytes", 1000: "1 kB", 98_304: "98.3 kB", 999_900: "1 MB", 3_210_000_000: "3.21 GB"}
    assert {number: output.size(number) for number in sizes} == sizes
    assert [plural(number, "entity", "entities") for number in (0, 1, 1234)] == [
        "0 entities",
        "1 entity",
        "1,234 entities",
    ]
    assert output.when(None) == "–"
    local = datetime(2026, 5, 1, 12, 30, 59)
    assert output.when(local.astimezone(UTC)) == "2026-05-01 12:30:59"


def test_a_name_stays_in_its_line() -> None:
    assert output.one_line("Köln\t[b]\n\x1b[31m😀\u2028") == "Köln\\t[b]\\n\\x1b[31m😀\\u2028"


def test_joiners_are_part_of_a_name_and_blanks_at_its_ends_are_shown() -> None:
    for name in ("👩\u200d🚀", "می\u200cخواهم", "a b", ""):
        assert output.one_line(name) == name
    assert [output.one_line(name) for name in ("  ", " a", "a ", "\n")] == ['"  "', '" a"', '"a "', "\\n"]


def test_a_name_in_a_table_does_not_fill_the_screen() -> None:
    assert output.cell("x" * 200) == "x" * 200
    assert output.cell("x" * 10_000) == "x" * 199 + "…"
    assert output.cell(None) == "–"


def test_a_title_is_not_folded_to_the_width_of_its_table(capsys: pytest.CaptureFixture[str]) -> None:
    table = output.table(["a"], title="a title that is longer than the table is wide " + "x" * 120)
    table.add_row("b")
    output.show(table)
    assert capsys.readouterr().out.startswith("a title that is longer than the table is wide " + "x" * 120 + "\n\n")


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


def test_on_a_terminal_a_table_is_as_wide_as_that(capsys: pytest.CaptureFixture[str]) -> None:
    terminal = Console(force_terminal=True, width=30, color_system=None)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(output, "console", lambda: terminal)
        table = output.table(["name"], title="a title that is longer than the terminal is wide")
        table.add_row("x" * 50)
        output.show(table)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "a title that is longer than the terminal is wide"
    assert max(map(len, lines[1:])) == 30
    assert "".join(line.strip() for line in lines[-3:]) == "x" * 50
