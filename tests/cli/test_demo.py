"""`hmem demo`, shortened: the story it tells, not how well it ends."""

import contextlib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hmem.cli.main import app
from tests.cli.conftest import write_small_bundled
from tests.conftest import MadeOnce


@pytest.fixture(scope="module", params=["small", pytest.param("bundled", marks=pytest.mark.slow)])
def told(request: pytest.FixtureRequest, made_once: MadeOnce) -> str:
    """What it says of tiny graphs under the names of the bundled ones, and of the bundled ones."""

    def tell(folder: Path) -> None:
        is_small = request.param == "small"
        if is_small:
            write_small_bundled(folder)
        with contextlib.chdir(folder):
            answer = CliRunner().invoke(app, ["demo", "--epochs", "12" if is_small else "1"])
        assert answer.exit_code == 0, answer.exception
        (folder / "told.txt").write_text(answer.stdout, encoding="utf-8")

    return (made_once(f"demo-{request.param}", tell) / "told.txt").read_text(encoding="utf-8")


def test_it_stands_beside_the_baselines(told: str) -> None:
    for row in ("hmem recall", "counts", "rules", "frequency"):
        assert told.count(row) == 2 + (row == "rules"), row  # both datasets, and a word about rules


def test_it_asks_about_canines(told: str) -> None:
    assert "Which things are a kind of canine.n.02?" in told
    assert "wolf.n.01" in told


def test_an_unseen_entity_is_answered_about_with_a_reason(told: str) -> None:
    assert "added   dire_wolf.n.01 _hypernym wolf.n.01" in told
    after = told.split("What is dire_wolf.n.01 a kind of?")[1]
    assert after.split("\n")[1].split()[1] == "wolf.n.01"
    assert "from dire_wolf.n.01 _hypernym wolf.n.01" in after
