"""The checker of benchmarks/torture.py finds what is wrong, and nothing in a sound file."""

import sys
from importlib import util
from pathlib import Path
from typing import Any

import pytest

from hmem.knowledge.store.store import Store

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "torture.py"


@pytest.fixture(scope="module")
def torture() -> Any:
    spec = util.spec_from_file_location("torture", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["torture"] = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def found(torture: Any, folder: Path, log: str, *facts: str, gone: tuple[str, ...] = (), **notes: str) -> Any:
    files = torture.Files(folder / "zoo.kb", folder / "log.txt")
    files.log.write_text(log)
    with Store.create(files.base) as store:
        store.add([("job", "wrote", fact) for fact in facts])
        store.remove([("job", "wrote", fact) for fact in gone])
        store.set_meta(**notes)
    result = torture.Found()
    torture.check(files, result)
    return {kind: len(getattr(result, kind)) for kind in torture.KINDS if getattr(result, kind)}


def test_the_checker_tells_lost_half_and_stale_apart(torture: Any, tmp_path: Path) -> None:
    cases: list[tuple[str, tuple[str, ...], dict[str, Any], dict[str, int]]] = [
        ("+ 1 0 2\n", ("1/0/2/0", "1/0/2/1"), {}, {}),
        ("", ("1/0/2/0", "1/0/2/1"), {}, {}),  # written, and killed before it was acknowledged
        ("+ 1 0 1\n", (), {}, {"lost": 1}),
        ("+ 1 0 1\n", ("1/0/1/0",), {"gone": ("1/0/1/0",)}, {"lost": 1}),
        ("+ 1 0 1\n~ 1 0 1\n", ("1/0/1/0",), {"gone": ("1/0/1/0",)}, {}),
        ("", ("1/0/2/0",), {}, {"half": 1}),
        ("", ("1/0/2/0", "1/0/2/1"), {"gone": ("1/0/2/0",)}, {"half": 1}),
        ("+ 1 0 1\n~ 1 0 1\n- 1 0 1\n", ("1/0/1/0",), {}, {"stale": 1}),
        ("= 7\n", (), dict.fromkeys(torture.KEYS, "6"), {"stale": 1}),
        ("= 7\n", (), dict.fromkeys(torture.KEYS, "8"), {}),
        ("", (), {"model": "8", "model_moment": "7"}, {"half": 1}),
        ("! a reader saw half a write\n", (), {}, {"unsound": 1}),
        ("? 1/0/1/0\n", ("1/0/1/0",), {}, {}),
        ("? 2/0/1/0\n", ("1/0/1/0",), {}, {"unsound": 1}),
        ("v 1 5\nl 1 3\n", (), {}, {"stale": 2}),
    ]
    for number, (log, facts, more, expected) in enumerate(cases):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert found(torture, folder, log, *facts, **more) == expected, (log, facts)


def test_the_schedule_follows_from_the_seed(torture: Any) -> None:
    one, other = (torture.schedule(torture.random.Random(3), 1, 1, asks=False) for _ in range(2))
    assert one == other
    assert {job.role for job in one} > {"writer", "switcher", "server"}
