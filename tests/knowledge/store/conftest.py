"""Tests that take an `engine` run on SQLite, and on PostgreSQL too.

There all of them run with `--slow`, and always those of the modules that set ALWAYS_ON_POSTGRES.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TypeAlias

import pytest

from hmem.knowledge.store.places import At
from tests.postgres import postgres

Engine: TypeAlias = Literal["sqlite", "postgres"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "engine" in metafunc.fixturenames:
        marks = () if getattr(metafunc.module, "ALWAYS_ON_POSTGRES", False) else (pytest.mark.slow,)
        metafunc.parametrize("engine", ["sqlite", pytest.param("postgres", marks=marks)], indirect=True)


@pytest.fixture(scope="session")
def engine(request: pytest.FixtureRequest) -> Engine:
    kind: Engine = request.param
    return kind


@contextmanager
def new_base(engine: Engine) -> Iterator[At]:
    """Where a base can be made, for as long as it is needed."""
    if engine == "postgres":
        yield postgres().new_address()
    else:
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder) / "zoo.kb"
