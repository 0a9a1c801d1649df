"""Imports point one way (style.md, S2), and what must stay quick to import stays free of torch."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

SRC = Path(__file__).resolve().parents[1] / "src" / "hmem"
PATHS = sorted(SRC.rglob("*.py"))

LAYERS = ["errors", "sqlite_files", "earlier_settings", "config", "graph", "memory", "model", "training", "evaluation"]
LAYERS += ["runs", "knowledge", "figures", "reproduction", "serve", "cli"]
NEVER = {"memory": {"graph"}, "training": {"evaluation"}, "evaluation": {"training"}}
WITHOUT_TORCH = ("errors", "sqlite_files", "earlier_settings", "config", "graph", "cli")


class Import(NamedTuple):
    module: str  # as in `import module`, and for `from package import name` package.name
    line: int
    in_function: bool
    is_relative: bool


def imports(node: ast.AST, in_function: bool = False) -> Iterator[Import]:
    """Every import below `node`, wherever it hides."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield Import(alias.name, node.lineno, in_function, False)
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            yield Import(f"{node.module or ''}.{alias.name}", node.lineno, in_function, node.level > 0)
    inside = in_function or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    for child in ast.iter_child_nodes(node):
        yield from imports(child, inside)


def complaints(source: str, layer: str) -> list[str]:
    """What is wrong with the imports of a module of `layer`."""
    found = []
    for each in imports(ast.parse(source)):
        package, _, rest = each.module.partition(".")
        if each.is_relative:
            found.append(f"line {each.line}: relative import")
        if package == "hmem":
            other = rest.partition(".")[0]
            if other not in LAYERS:
                found.append(f"line {each.line}: import {each.module} from the module it is defined in")
            elif LAYERS.index(other) > LAYERS.index(layer) or other in NEVER.get(layer, ()):
                found.append(f"line {each.line}: {layer} imports {other}")
            elif each.in_function and layer != "cli":
                found.append(f"line {each.line}: only commands import hmem inside functions")
        if package == "torch" and layer in WITHOUT_TORCH and not each.in_function:
            found.append(f"line {each.line}: {layer} imports torch")
    return found


def test_imports_point_one_way() -> None:
    found = {}
    for path in PATHS:
        layer = path.relative_to(SRC).with_suffix("").parts[0]
        if layer not in ("__init__", "__main__"):
            assert layer in LAYERS, f"{layer} has no place in the order of layers"
            found[str(path.relative_to(SRC))] = complaints(path.read_text(encoding="utf-8"), layer)
    assert len(found) > 100
    assert {path: wrong for path, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize(
    ("layer", "source"),
    [
        ("memory", "from hmem.graph.names import Names"),
        ("training", "from hmem.evaluation.ranks import Ranks"),
        ("evaluation", "import hmem.training.loop"),
        ("graph", "from hmem import cli"),
        ("graph", "from hmem import load_dataset"),
        ("errors", "from hmem.config import Config"),
        ("graph", "from . import names"),
        ("graph", "from .names import Names"),
        ("graph", "import torch"),
        ("graph", "try:\n    from torch import Tensor\nexcept ImportError:\n    pass"),
        ("cli", "import torch.nn"),
        ("graph", "def f() -> None:\n    from hmem.model import hmem"),
        ("evaluation", "def f() -> None:\n    from hmem.graph import names"),
    ],
)
def test_a_wrong_import_is_noticed(layer: str, source: str) -> None:
    assert len(complaints(source, layer)) == 1


@pytest.mark.parametrize(
    ("layer", "source"),
    [
        ("graph", "from hmem.graph.names import Names\nfrom hmem.errors import DataError"),
        ("cli", "def f() -> None:\n    import torch\n    from hmem.evaluation.report import report"),
        ("evaluation", "import torch\nfrom hmem.model.hmem import HMem"),
    ],
)
def test_a_right_import_is_not(layer: str, source: str) -> None:
    assert complaints(source, layer) == []


def needs_more_than_the_graph(source: str) -> list[str]:
    """The imports of hmem that a module of durable storage must do without."""
    modules = [each.module for each in imports(ast.parse(source)) if each.module.partition(".")[0] in ("hmem", "torch")]
    graph = ("hmem.errors.", "hmem.sqlite_files.", "hmem.graph.")
    return [module for module in modules if not f"{module}.".startswith((*graph, "hmem.knowledge.store."))]


def test_durable_storage_needs_only_the_graph() -> None:
    paths = sorted((SRC / "knowledge" / "store").glob("*.py"))
    assert len(paths) > 5
    found = {path.name: needs_more_than_the_graph(path.read_text(encoding="utf-8")) for path in paths}
    assert {name: modules for name, modules in found.items() if modules} == {}


@pytest.mark.parametrize(
    "source", ["from hmem.model.hmem import HMem", "from hmem.knowledge.base import KnowledgeBase", "import torch"]
)
def test_storage_that_needs_more_is_noticed(source: str) -> None:
    assert len(needs_more_than_the_graph(f"from hmem.knowledge import store\nfrom hmem.errors import A\n{source}")) == 1


def test_subpackages_re_export_nothing() -> None:
    inits = [path for path in PATHS if path.name == "__init__.py" and path.parent != SRC]
    assert len(inits) >= 5
    assert [str(path) for path in inits if path.read_text(encoding="utf-8")] == []


@pytest.mark.parametrize(
    "part", ["hmem", "hmem.errors", "hmem.config", "hmem.graph", "hmem.knowledge.store.store", "hmem.cli"]
)
def test_no_torch_behind_the_imports(part: str) -> None:
    """Importing every module of `part` does not bring torch in through another one."""
    paths = [path.relative_to(SRC.parent).with_suffix("") for path in PATHS]
    modules = [".".join(path.parts).removesuffix(".__init__") for path in paths]
    wanted = [part] if part == "hmem" else [name for name in modules if f"{name}.".startswith(f"{part}.")]
    assert wanted
    code = f"import sys, {', '.join(wanted)}; print('torch' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=SRC.parent)
    assert (answer.stdout, answer.stderr) == ("False\n", "")
