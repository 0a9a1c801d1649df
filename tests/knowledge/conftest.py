"""Tiny models, each trained once. Nothing of hmem is imported here before it is needed, as in other packages."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from hmem.knowledge.base import KnowledgeBase


ModelFolder = Callable[[str], Path]
MakeBase = Callable[..., "KnowledgeBase"]


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> ModelFolder:
    """`model_folder("recall")` is the folder of a model trained on the toy graph; it must not be changed."""
    made: dict[str, Path] = {}

    def make(name: str) -> Path:
        if name not in made:
            from tests.knowledge.living import train_toy

            made[name] = tmp_path_factory.mktemp("models") / name
            train_toy(name, made[name])
        return made[name]

    return make


@pytest.fixture
def make_base(tmp_path: Path, model_folder: ModelFolder) -> Iterator[MakeBase]:
    """`make_base("recall")` is a knowledge base of the toy facts with that model; closed afterwards."""
    bases = []

    def make(name: str | None = "recall", facts: object = "toy", file: str = "zoo.kb") -> "KnowledgeBase":
        from hmem.knowledge.base import KnowledgeBase
        from tests.knowledge.living import TOY_FACTS

        bases.append(
            KnowledgeBase.create(
                tmp_path / file,
                model=None if name is None else model_folder(name),
                facts=TOY_FACTS if isinstance(facts, str) else facts,
            )
        )
        return bases[-1]

    yield make
    for base in bases:
        base.close()
