"""What `hmem` offers is there, and type checkers see where it comes from."""

import ast
from pathlib import Path

import hmem


def test_the_types_are_those_of_the_lazy_names() -> None:
    tree = ast.parse(Path(hmem.__file__).read_text(encoding="utf-8"))
    imported = {
        alias.asname: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("hmem.")
        for alias in node.names
    }
    assert imported == hmem._HOMES
    assert hmem.__all__ == dir(hmem)


def test_every_name_is_there() -> None:
    for name in hmem.__all__:
        assert getattr(hmem, name).__name__ == name
