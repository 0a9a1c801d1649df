"""docs/architecture.md is true: its packages are those that exist, and its journeys pass the functions it names."""

import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import hmem
from hmem.cli.main import app
from tests.journeys import Hop, Watch, journey, modules
from tests.serve.clients import DOG, client
from tests.serve.conftest import made_zoo, toy_model, zoo
from tests.test_layers import LAYERS, SRC

__all__ = ["made_zoo", "toy_model", "zoo"]

ROOT = SRC.parents[1]
TOOL = ROOT / "tools" / "draw_architecture.py"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
SETTINGS = ["training.epochs=1", "training.negatives=5", "memory.entity_dim=8", "memory.relation_dim=4"]


@pytest.fixture(scope="module")
def tool() -> dict[str, Any]:
    """What the tool that draws the picture defines; it reads the page as these tests do."""
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(TOOL.parent)
        return runpy.run_path(str(TOOL))


def missed(named: list[str], passed: list[Hop]) -> list[str]:
    """The named functions that a journey does not pass, or passes in another order."""
    rest = iter(f"{module}.{name}" for module, name in passed)
    return [name for name in named if name not in rest]


def test_the_packages_are_those_that_exist(tool: dict[str, Any]) -> None:
    entries = {path.stem for path in SRC.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert set(tool["packages"](PAGE)) == entries - {"__init__", "__main__"}


def test_they_stand_in_the_order_of_their_imports(tool: dict[str, Any]) -> None:
    assert list(tool["packages"](PAGE)) == LAYERS[::-1]


def test_the_picture_shows_the_page() -> None:
    checked = subprocess.run([sys.executable, TOOL, "--check"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_a_journey_has_at_most_a_dozen_hops(tool: dict[str, Any]) -> None:
    assert all(6 <= len(tool["hops"](PAGE, title)) <= 12 for title in tool["JOURNEYS"])


def test_a_hop_that_is_not_passed_in_order_is_noticed() -> None:
    passed = [("a", "f"), ("b", "C.g"), ("a", "h")]
    assert missed(["a.f", "b.C.g", "a.h"], passed) == []
    assert missed(["a.f", "a.k"], passed) == ["a.k"]
    assert missed(["a.h", "b.C.g"], passed) == ["b.C.g"]


def test_training_takes_the_way_of_the_page(tool: dict[str, Any], tmp_path: Path) -> None:
    data = tmp_path / "toy.csv"
    data.write_text(
        "dog,is_a,canine\nwolf,is_a,canine\ncanine,has,dog\ncanine,has,wolf\ncanine,has,paw\nwolf,eats,dog\n"
    )
    named = tool["hops"](PAGE, "Train")
    hmem.fit(data, "recall", settings=SETTINGS)  # what is done once in a process
    passed = journey(lambda: hmem.fit(data, "recall", settings=SETTINGS, out=tmp_path / "a"))
    assert missed(named, passed) == []
    assert counted("hmem.fit") == pytest.approx((len(passed), len(modules(passed))), abs=3)

    assert "(`hmem.cli.train.train`) reads its options and joins at step 4" in " ".join(PAGE.split())
    options = [
        "--out",
        str(tmp_path / "b"),
        "--preset",
        "recall",
        *(word for each in SETTINGS for word in ("--set", each)),
    ]
    passed = journey(lambda: CliRunner().invoke(app, ["train", str(data), *options], catch_exceptions=False))
    assert missed(["hmem.cli.train.train", *named[3:]], passed) == []


def test_predicting_takes_the_way_of_the_page(tool: dict[str, Any], zoo: Path) -> None:
    with hmem.KnowledgeBase.open(zoo) as kb:
        kb.predict(DOG["entity"], DOG["relation"])
        passed = journey(lambda: kb.predict(DOG["entity"], DOG["relation"]))
    assert missed(tool["hops"](PAGE, "Predict"), passed) == []
    assert counted("kb.predict") == pytest.approx((len(passed), len(modules(passed))), abs=3)


def test_a_post_takes_the_way_of_the_page(tool: dict[str, Any], zoo: Path) -> None:
    with Watch() as hops, client(zoo, poll=60.0) as api:
        api.post("/predict", json={**DOG, "k": 9})  # another question, since answers are remembered
        hops.clear()
        assert api.post("/predict", json=DOG).status_code == 200
        passed = list(hops)
    assert missed(tool["hops"](PAGE, "Post"), passed) == []
    assert counted("POST /predict") == pytest.approx((len(passed), len(modules(passed))), abs=3)


def counted(journey: str) -> tuple[int, ...]:
    """The functions and modules of a journey, by the table of the page."""
    found = re.search(rf"^\| `{re.escape(journey)}` \| (\d+) \| (\d+) \|", PAGE, re.MULTILINE)
    assert found is not None
    return tuple(map(int, found.groups()))


def test_the_places_to_add_something_exist(tool: dict[str, Any]) -> None:
    places = re.findall(r"`([\w/]+\.py|[a-z]+/[\w/]+)`", tool["section"](PAGE, "Where to add something"))
    assert len(places) > 10
    for place in places:
        assert (SRC / place).exists() or (ROOT / place).exists() or (SRC / "serve" / place).exists(), place
