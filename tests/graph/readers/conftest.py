from pathlib import Path

import pytest

from tests.graph.readers.helpers import Write


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a file of the given name and content, and returns its path."""

    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the examples of a property share."""
    return tmp_path_factory.mktemp("readers")
