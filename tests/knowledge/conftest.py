"""Tiny models, each trained once. Nothing of hmem is imported here before it is needed, as in other packages."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from hmem.knowledge.base import KnowledgeBase
    from tests.conftest import MadeOnce


ModelFolder = Callable[[str], Path]
MakeBase = Callable[..., "KnowledgeBase"]


@pytest.fixture(scope="session")
def model_folder(made_once: "MadeOnce") -> ModelFolder:
    """`model_folder("recall")` is the folder of a model trained on the toy graph; it must not be changed."""

    def made(name: str) -> Path:
        from tests.knowledge.living import train_toy

        return made_once(f"toy-{name}", lambda folder: train_toy(name, folder / name)) / name

    return made


@pytest.fixture(scope="session")
def made_base(tmp_path_factory: pytest.TempPathFactory, model_folder: ModelFolder) -> Callable[[str | None], Path]:
    """`made_base("recall")` is a file with the toy facts and that model; it must not be changed.

    Its folder stands beside those of the tests, so that a copy there finds the model.
    """
    folder = tmp_path_factory.mktemp("bases")

    def made(name: str | None) -> Path:
        from hmem.knowledge.base import KnowledgeBase
        from tests.knowledge.living import TOY_FACTS

        path = folder / f"{name}.kb"
        if not path.exists():
            KnowledgeBase.create(path, model=None if name is None else model_folder(name), facts=TOY_FACTS).close()
        return path

    return made


@pytest.fixture
def make_base(tmp_path: Path, model_folder: ModelFolder, made_base: Callable[[str | None], Path]) -> Iterator[MakeBase]:
    """`make_base("recall")` is a knowledge base of the toy facts with that model; closed afterwards."""
    bases = []

    def make(name: str | None = "recall", facts: object = "toy", file: str = "zoo.kb") -> "KnowledgeBase":
        from hmem.knowledge.base import KnowledgeBase

        if isinstance(facts, str):
            bases.append(KnowledgeBase.open(shutil.copy(made_base(name), tmp_path / file)))
        else:
            model = None if name is None else model_folder(name)
            bases.append(KnowledgeBase.create(tmp_path / file, model=model, facts=facts))
        return bases[-1]

    yield make
    for base in bases:
        base.close()
