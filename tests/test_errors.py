"""Errors carry fields, and read as one line."""

import pickle
from pathlib import Path

import pytest

from hmem.errors import ConfigError, DataError, Hint, HMemError, StoreError, UnknownNameError, word


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (HMemError("as it is"), "as it is"),
        (
            DataError("expected 3 fields, found 2", path="a/train.txt", line=7),
            "a/train.txt:7: expected 3 fields, found 2",
        ),
        (DataError(expected="3 fields", found=2, path="a.tsv", line=7), "a.tsv:7: expected 3 fields, found 2"),
        (ConfigError("{option} must be positive", option="k", found=-1), "k=-1 must be positive"),
        (ConfigError("no such device", option="device", found="tpu"), "no such device"),
        (UnknownNameError('no entity "{option}"', option="entity", found="{option}"), 'no entity "{option}"'),
        (StoreError("not a model folder", path=Path("m")), "m: not a model folder"),
        (StoreError("{path} is empty", path="zoo.kb"), "zoo.kb is empty"),
        (UnknownNameError('no entity "x{path}"'), 'no entity "x{path}"'),
        (UnknownNameError("no entity", suggestions=["a"]), "no entity; did you mean a?"),
        (UnknownNameError("no entity", suggestions=["a", "b", "c"]), "no entity; did you mean a, b or c?"),
        (UnknownNameError("none", suggestions=["a"], hint=Hint(text="see all")), "none; did you mean a? see all"),
        (
            StoreError("{path} exists", path="zoo.kb", hint=Hint(text="to begin anew", option="overwrite")),
            "zoo.kb exists; to begin anew: overwrite=True",
        ),
        (StoreError("is damaged", hint=Hint(command="hmem kb check zoo.kb")), "is damaged; hmem kb check zoo.kb"),
        (
            StoreError("is damaged", hint=Hint(command="hmem kb check", call="store.check()")),
            "is damaged; store.check()",
        ),
    ],
)
def test_an_error_in_one_line(error: HMemError, line: str) -> None:
    assert str(error) == line


def test_an_edge_shows_paths_and_hints_its_own_way() -> None:
    error = ConfigError("{path} exists", path="/data/zoo.kb", hint=Hint(option="overwrite"))
    assert word(error, lambda path: path.name, lambda hint: f"--{hint.option}") == "zoo.kb exists; --overwrite"
    assert word(error, lambda path: path.name, lambda hint: "") == "zoo.kb exists"
    wrong = ConfigError("{option} is wrong", option="k", found=3)
    assert word(wrong, str, str, lambda name, value: f"--{name} {value}") == "--k 3 is wrong"


def test_fields_survive_another_process() -> None:
    error = pickle.loads(pickle.dumps(DataError("bad", path="a", line=2, found=3, expected="4", hint=Hint(text="t"))))
    assert (str(error), error.line, error.found, error.expected) == ("a:2: bad; t", 2, 3, "4")
