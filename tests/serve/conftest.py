"""A served toy graph. Nothing of hmem is imported here before it is needed, as in other packages."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from starlette.testclient import TestClient

    from tests.conftest import MadeOnce


Serve = Callable[..., "TestClient"]


@pytest.fixture(scope="session")
def toy_model(made_once: "MadeOnce") -> Path:
    """The folder of a model with all channels and a calibration; it must not be changed."""
    from hmem.evaluation.metrics import ALIASES
    from tests.knowledge.living import train_toy
    from tests.serve.clients import calibration

    figures = {key: place / 8 for place, key in enumerate(ALIASES.values())}
    reports = [{"split": "valid", "graph": "train", "protocols": {"all": figures}}]
    metrics = {"calibration": calibration(), "reports": reports}
    return made_once("served", lambda folder: train_toy("paths", folder / "toy", metrics=metrics)) / "toy"


@pytest.fixture(scope="session")
def made_zoo(tmp_path_factory: pytest.TempPathFactory, toy_model: Path) -> Path:
    """The file that `zoo` is a copy of. Its folder stands beside those of the tests: it finds its model from there."""
    from hmem.knowledge.base import KnowledgeBase
    from tests.knowledge.living import TOY_FACTS

    path = tmp_path_factory.mktemp("base") / "zoo.kb"
    KnowledgeBase.create(path, model=toy_model, facts=TOY_FACTS).close()
    return path


@pytest.fixture
def zoo(tmp_path: Path, made_zoo: Path) -> Path:
    """A knowledge base of the toy facts with that model, which is not open."""
    return Path(shutil.copy(made_zoo, tmp_path))


@pytest.fixture
def serve() -> Iterator[Serve]:
    """`serve(path, allow_writes=True)` is a client of a knowledge base served in this process."""
    from tests.serve.clients import client

    with ExitStack() as stack:
        yield lambda path, **settings: stack.enter_context(client(path, **settings))


@pytest.fixture(scope="session")
def serve_to_many(made_zoo: Path, tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Callable[[], TestClient]]":
    """`serve_to_many()` is a client of the toy graph for several tests, which may write."""
    from tests.serve.clients import client

    with ExitStack() as stack:

        def make() -> "TestClient":
            path = Path(shutil.copy(made_zoo, tmp_path_factory.mktemp("shared")))
            # It looks for no news by itself: other tests count what a server does.
            return stack.enter_context(client(path, allow_writes=True, poll=3600.0))

        yield make


@pytest.fixture(scope="session")
def reader(serve_to_many: "Callable[[], TestClient]") -> "Iterator[TestClient]":
    """A client of the toy graph for all tests that change nothing."""
    made = serve_to_many()
    before = made.get("/graph").json()
    yield made
    assert made.get("/graph").json() == before, "a test has written: it takes `api` instead"


@pytest.fixture
def api(zoo: Path, serve: Serve) -> "TestClient":
    """A client of the toy graph that may write."""
    return serve(zoo, allow_writes=True)
