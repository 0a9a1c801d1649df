"""A damaged model folder is loaded or refused, by a process that has little memory and time."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmem.model.checkpoint import save
from tests.laws import examples
from tests.limited import Limited, damaged, limited
from tests.model.test_checkpoint import saved_model

READ = "from hmem.model.checkpoint import load as read_folder\nfrom pathlib import Path\n"


@pytest.fixture(scope="module")
def child() -> Iterator[Limited]:
    with limited(f"{READ}def read(path): read_folder(Path(path))\n") as child:
        yield child


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model") / "folder"
    save(folder, saved_model("recall"))
    return folder


@examples(25)
@given(data=st.data())
def test_a_damaged_folder_is_loaded_or_refused(child: Limited, whole: Path, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(sorted(each for each in whole.iterdir() if each.is_file())))
    content = path.read_bytes()
    try:
        path.write_bytes(data.draw(damaged(content)))
        child.read(whole)
    finally:
        path.write_bytes(content)
    assert child.read(whole) == "read"
