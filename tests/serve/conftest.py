"""A served toy graph. Nothing of hmem is imported here before it is needed, as in other packages."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from starlette.testclient import TestClient


Serve = Callable[..., "TestClient"]


@pytest.fixture(scope="session")
def toy_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a model with all channels and a calibration; it must not be changed."""
    from hmem.evaluation.metrics import ALIASES
    from tests.knowledge.living import train_toy
    from tests.serve.clients import calibration

    folder = tmp_path_factory.mktemp("models") / "toy"
    figures = {key: place / 8 for place, key in enumerate(ALIASES.values())}
    reports = [{"split": "valid", "graph": "train", "protocols": {"all": figures}}]
    train_toy("paths", folder, metrics={"calibration": calibration(), "reports": reports})
    return folder


@pytest.fixture
def zoo(tmp_path: Path, toy_model: Path) -> Path:
    """A knowledge base of the toy facts with that model, which is not open."""
    from hmem.knowledge.base import KnowledgeBase
    from tests.knowledge.living import TOY_FACTS

    KnowledgeBase.create(tmp_path / "zoo.kb", model=toy_model, facts=TOY_FACTS).close()
    return tmp_path / "zoo.kb"


@pytest.fixture
def serve() -> Iterator[Serve]:
    """`serve(path, allow_writes=True)` is a client of a knowledge base served in this process."""
    from tests.serve.clients import client

    with ExitStack() as stack:
        yield lambda path, **settings: stack.enter_context(client(path, **settings))


@pytest.fixture
def api(zoo: Path, serve: Serve) -> "TestClient":
    """A client of the toy graph that may write."""
    return serve(zoo, allow_writes=True)
