"""Fixtures that every test may use, and the `--slow` and `--browser` options.

Tests run on one thread each: tiny problems gain nothing from more, there is a worker for each core already (`make
test`), and sums in one order give weights that can be compared bit by bit.
"""

import fcntl
import gc
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from tests import laws, shapes

if TYPE_CHECKING:  # hmem itself is imported inside the fixtures, once jaxtyping watches it
    from hmem.graph.dataset import Dataset

os.environ["OMP_NUM_THREADS"] = "1"  # of the processes that tests start
torch.set_num_threads(1)
shapes.install()


MEMORY, ROOM = Path("/dev/shm"), 4 << 30  # where `tmp_path` is, if there is room: no test waits for a disk
SNAPSHOTS = Path(__file__).parent / "snapshots"
SHARED = Path(__file__).resolve().parents[1].parent / "shared"

TOY_TRAIN = """
dog.n.01 hypernym canine.n.02
wolf.n.01 hypernym canine.n.02
fox.n.01 hypernym canine.n.02
timber_wolf.n.01 hypernym wolf.n.01
white_wolf.n.01 hypernym wolf.n.01
puppy.n.01 hypernym dog.n.01
cat.n.01 hypernym feline.n.01
lion.n.01 hypernym feline.n.01
kitten.n.01 hypernym cat.n.01
canine.n.02 hypernym carnivore.n.01
feline.n.01 hypernym carnivore.n.01
bear.n.01 hypernym carnivore.n.01
carnivore.n.01 hypernym mammal.n.01
canine.n.02 hyponym dog.n.01
canine.n.02 hyponym wolf.n.01
wolf.n.01 hyponym timber_wolf.n.01
dog.n.01 hyponym puppy.n.01
feline.n.01 hyponym cat.n.01
carnivore.n.01 hyponym canine.n.02
carnivore.n.01 hyponym bear.n.01
mammal.n.01 hyponym carnivore.n.01
paw.n.01 part_of canine.n.02
paw.n.01 part_of feline.n.01
claw.n.01 part_of paw.n.01
fur.n.01 part_of mammal.n.01
tail.n.01 part_of dog.n.01
tail.n.01 part_of cat.n.01
dog.n.01 similar_to wolf.n.01
wolf.n.01 similar_to dog.n.01
cat.n.01 similar_to lion.n.01
lion.n.01 similar_to cat.n.01
fur.n.01 similar_to fur.n.01
"""
TOY_VALID = """
canine.n.02 hyponym fox.n.01
wolf.n.01 hyponym white_wolf.n.01
dog.n.01 similar_to fox.n.01
"""
TOY_TEST = """
feline.n.01 hyponym lion.n.01
cat.n.01 hyponym kitten.n.01
carnivore.n.01 hyponym feline.n.01
fox.n.01 similar_to dog.n.01
paw.n.01 part_of bear.n.01
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the tests marked slow too")
    parser.addoption("--write-snapshots", action="store_true", help="write tests/snapshots anew instead of comparing")
    parser.addoption("--browser", action="store_true", help="run the tests that drive a browser too")


def pytest_configure(config: pytest.Config) -> None:
    shapes.every_call = config.getoption("--slow")
    laws.load(thorough=shapes.every_call)
    if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for marker, why in (("slow", "slow"), ("browser", "drives a browser")):
        if not config.getoption(f"--{marker}"):
            for item in items:
                if item.get_closest_marker(marker):
                    item.add_marker(pytest.mark.skip(reason=f"{why}; run it with --{marker}"))


def pytest_collection_finish() -> None:
    gc.freeze()  # what was imported and collected stays, and need not be looked through again and again
    gc.set_threshold(10_000, 50, 100)


MadeOnce = Callable[[str, Callable[[Path], object]], Path]


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> MadeOnce:
    """`made_once(name, make)` is a folder that `make` has filled, in the first of pytest's workers that needed it."""
    base = tmp_path_factory.getbasetemp()
    ours = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def once(name: str, make: Callable[[Path], object]) -> Path:
        folder = ours / f"made-{name}"
        with (ours / f"made-{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.exists():
                unfinished = tmp_path_factory.mktemp(name)
                make(unfinished)
                unfinished.rename(folder)
        return folder

    return once


@pytest.fixture(scope="session")
def trained_guide(made_once: MadeOnce, request: pytest.FixtureRequest) -> Path:
    """A folder in which docs/knowledge.md has trained its model, `models/mini`; `printed.txt` is what was printed.

    The one training of the bundled graph that tests share. To be read, not changed. It is measured and calibrated with
    a few questions, unless the slow tests run too.
    """
    from tests.pages import train_guide

    few = not request.config.getoption("--slow")
    return made_once("guide", lambda folder: train_guide(folder, few_questions=few))


@pytest.fixture
def cuda() -> Iterator[torch.device]:
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    yield torch.device("cuda")
    torch.cuda.set_sync_debug_mode("default")


Snapshot = Callable[[str, str], None]


@pytest.fixture
def snapshot(request: pytest.FixtureRequest) -> Snapshot:
    """`snapshot("data-list", out)` compares the whole output of a command with `tests/snapshots/data-list.txt`.

    One snapshot a command is enough; what else a test wants to know, it asks for. `make golden` writes them anew.
    """

    def compare(name: str, text: str) -> None:
        file = SNAPSHOTS / f"{name}.txt"
        if request.config.getoption("--write-snapshots"):
            file.write_text(text, encoding="utf-8")
        assert text == file.read_text(encoding="utf-8")

    return compare


@pytest.fixture
def rng() -> torch.Generator:
    """Random numbers that are the same in every run."""
    return torch.Generator().manual_seed(0)


@pytest.fixture
def shared() -> Callable[[str], Path]:
    """`shared("golden/ranks.json")` is that file of the folder `shared` beside the checkout; without it, a skip."""

    def find(name: str) -> Path:
        path = SHARED / name
        if not path.exists():
            pytest.skip(f"needs {path}")
        return path

    return find


@pytest.fixture
def toy() -> "Dataset":
    """18 entities, 4 relations, 32 facts to train on, one of them a self loop."""
    import pyarrow as pa

    from hmem.graph.dataset import load_tables

    def table(text: str) -> pa.Table:
        columns = zip(*(line.split() for line in text.split("\n") if line), strict=True)
        return pa.table(dict(zip(("head", "relation", "tail"), map(list, columns), strict=True)))

    return load_tables("toy", {"train": table(TOY_TRAIN), "valid": table(TOY_VALID), "test": table(TOY_TEST)})
