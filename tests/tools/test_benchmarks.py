"""What the benchmarks take from hmem is there: nothing else notices when a name of it changes."""

import ast
import importlib
from pathlib import Path

import pytest

BENCHMARKS = sorted((Path(__file__).parents[2] / "benchmarks").glob("*.py"))


@pytest.mark.parametrize("path", BENCHMARKS, ids=lambda path: path.stem)
def test_the_names_it_imports_are_there(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "hmem":
            module = importlib.import_module(str(node.module))
            for each in node.names:
                if not hasattr(module, each.name):  # it may be a module itself
                    importlib.import_module(f"{node.module}.{each.name}")
