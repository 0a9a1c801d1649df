"""Errors are worded for the command line."""

from pathlib import Path

import pytest

from hmem.cli.wording import as_typed
from hmem.errors import ConfigError, DataError, Hint, HMemError, StoreError, UnknownNameError
from tests.cli.conftest import Command


@pytest.mark.parametrize(
    ("option", "value", "typed"),
    [
        ("columns", (0, "a b", 2), "--columns 0,a b,2"),
        ("columns", ["a"], "--columns a"),
        ("columns", "hrt", "--columns hrt"),
        ("delimiter", "ab", "--delimiter 'ab'"),
        ("delimiter", " ", "--delimiter ' '"),
        ("format", "tsv", "--format tsv"),
        ("header", False, "--no-header"),
        ("header", True, "--header"),
        ("iris", "short", "--short-names"),
        ("iris", "long", "--iris long"),
        ("max_neighbors", 3, "--max-neighbors 3"),
    ],
)
def test_options_are_worded_as_they_are_typed(option: str, value: object, typed: str) -> None:
    assert as_typed(ConfigError("{option} has no meaning", option=option, found=value)) == f"{typed} has no meaning"
    hint = Hint(text="try", option=option, value=value)
    assert as_typed(DataError("bad", path="a.tsv", line=3, hint=hint)) == f"a.tsv:3: bad; try: {typed}"


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (HMemError("as it is"), "as it is"),
        (StoreError("{path} exists", path="zoo.kb", hint=Hint(option="overwrite")), "zoo.kb exists; --overwrite"),
        (StoreError("damaged", hint=Hint(command="hmem kb check", call="store.check()")), "damaged; hmem kb check"),
        (StoreError("damaged", hint=Hint(call="store.check()")), "damaged"),
        (StoreError("locked", hint=Hint(text="unlock it", option="read_only")), "locked; unlock it"),
        (UnknownNameError('no entity "a=(b)"', suggestions=["a", "b"]), 'no entity "a=(b)"; did you mean a or b?'),
    ],
)
def test_hints_are_for_those_who_type(error: HMemError, line: str) -> None:
    assert as_typed(error) == line


def test_no_command_speaks_python(command: Command) -> None:
    Path("wide.csv").write_text("a,b,c,d\n")
    Path("a.tsv").write_text("a\tr\tb\n")
    command("kb", "create", "zoo.kb")
    said = [
        command("data", "show", "wide.csv").err,
        command("facts", "import", "zoo.kb", "wide.csv").err,
        command("facts", "import", "zoo.kb", "-", given="a\tb\tc\td\n").err,
        command("facts", "import", "zoo.kb", "a.tsv", "--columns", "a,b").err,
        command("facts", "import", "zoo.kb", "a.tsv", "--delimiter", "ab").err,
        command("facts", "import", "zoo.kb", "a.tsv", "--columns", "a,b,c", "--no-header").err,
    ]
    assert "for instance: hmem facts import KB FILE --columns 0,1,2, or, if a row is all about one entity" in said[0]
    assert said[2].startswith("hmem: standard input:1: expected 3 tab-separated fields, found 4; name the three")
    for message in said:
        assert message.startswith("hmem: ")
        assert "=" not in message


def test_a_first_row_that_may_be_a_heading_is_told(command: Command) -> None:
    Path("facts.csv").write_text("Who,What,Whom\n" + "".join(f"e{number},r,e{number + 1}\n" for number in range(5)))
    told = (
        "the first row of facts.csv was read as a fact (Who, What, Whom); "
        "if it is a heading, delete that row or give the option header\n"
    )
    assert command("kb", "create", "zoo.kb", "--facts", "facts.csv").err == told
    command("kb", "create", "farm.kb")
    assert command("facts", "import", "farm.kb", "facts.csv").err == told
    assert command("facts", "import", "farm.kb", "facts.csv", "--header").err == ""
