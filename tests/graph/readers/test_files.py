"""A file that cannot be opened is explained."""

import os
import re
from pathlib import Path

import pytest

from hmem.errors import DataError
from hmem.graph.readers.files import open_file
from tests.graph.readers.helpers import Write


def error_of(path: Path) -> str:
    with pytest.raises(DataError) as error:
        open_file(path)
    return str(error.value)


def test_a_file_opens(write: Write) -> None:
    with open_file(write("a", b"abc")) as file:
        assert file.read() == b"abc"


def test_a_missing_file_comes_with_near_names(tmp_path: Path, write: Write) -> None:
    assert error_of(tmp_path / "train.tvs") == f"{tmp_path}/train.tvs: no such file or folder"
    write("train.tsv", "")
    write("unlike", "")
    assert error_of(tmp_path / "train.tvs") == f"{tmp_path}/train.tvs: no such file or folder; did you mean train.tsv?"


def test_a_relative_name_is_looked_for_in_the_folder_one_is_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.tvs").touch()
    assert error_of(Path("train.tsv")) == "train.tsv: no such file or folder; did you mean train.tvs?"


def test_a_missing_folder(tmp_path: Path) -> None:
    folder = tmp_path / "no"
    assert error_of(folder / "a.tsv") == f"{folder}/a.tsv: no such file or folder, and no folder {folder}"


def test_a_folder_instead_of_a_file(tmp_path: Path, write: Write) -> None:
    assert error_of(tmp_path) == f"{tmp_path} is a folder; expected a file"
    write("train.tsv", "")
    assert error_of(tmp_path) == f"{tmp_path} is a folder; expected a file in it, such as train.tsv"


def test_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    expected = f"{tmp_path}/pipe is a pipe or a device; expected a file, so save its content to one first"
    assert error_of(tmp_path / "pipe") == expected


def test_permission_denied(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write("a.tsv", "")
    if os.geteuid() == 0:  # root may read everything
        monkeypatch.setattr(Path, "stat", lambda self: (_ for _ in ()).throw(PermissionError(13, "Permission denied")))
    path.chmod(0)
    assert error_of(path) == f"{path}: permission denied"


def test_names_that_no_file_can_have(tmp_path: Path, write: Write) -> None:
    assert re.fullmatch(r"'a\\x00b' cannot be a file name: embedded null .*", error_of(Path("a\0b")))
    inside_a_file = write("a.tsv", "") / "b"
    assert error_of(inside_a_file) == f"{inside_a_file}: cannot be opened: Not a directory"
