"""What was not written to the end, was cut or was changed is never taken for a graph."""

import errno
import json
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from hmem.errors import DataError
from hmem.graph.disk.folder import mapped, new_folder, problems, read_header


def make(path: Path, *, overwrite: bool = False, numbers: int = 1000) -> Path:
    with new_folder(path, overwrite=overwrite) as folder:
        folder.whole("numbers", np.arange(numbers))
        folder.whole("none", np.empty(0, dtype=np.int32))
        folder.close({"facts": 3})
    return path


def test_what_was_written_is_mapped(tmp_path: Path) -> None:
    header = read_header(make(tmp_path / "graph"))
    assert header["facts"] == 3
    assert mapped(tmp_path / "graph", "numbers", header).tolist() == list(range(1000))
    assert mapped(tmp_path / "graph", "none", header).tolist() == []
    assert problems(tmp_path / "graph") == []
    assert sorted(path.name for path in (tmp_path / "graph").iterdir()) == ["header.json", "none.bin", "numbers.bin"]


@pytest.mark.parametrize("lost", ["numbers.bin", "none.bin", "header.json"])
def test_a_file_that_is_missing(tmp_path: Path, lost: str) -> None:
    (make(tmp_path / "graph") / lost).unlink()
    with pytest.raises(DataError, match=r"graph is damaged: .*No such file|is no graph that hmem wrote"):
        read_header(tmp_path / "graph")


def test_a_file_that_was_cut(tmp_path: Path) -> None:
    with (make(tmp_path / "graph") / "numbers.bin").open("r+b") as file:
        file.truncate(7999)
    with pytest.raises(DataError, match=r"is damaged: numbers.bin has 7,999 bytes instead of 8,000"):
        read_header(tmp_path / "graph")


def test_a_bit_that_was_changed_is_found_by_the_checksum(tmp_path: Path) -> None:
    path = make(tmp_path / "graph") / "numbers.bin"
    data = bytearray(path.read_bytes())
    data[4000] ^= 1
    path.write_bytes(data)
    read_header(tmp_path / "graph")  # as quick as ever
    assert problems(tmp_path / "graph") == ["numbers.bin is not what was written"]


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ("{", "header.json cannot be read"),
        ("[]", "is no graph that hmem wrote"),
        ('{"format": "else"}', "is no graph that hmem wrote"),
        ('{"format": "hmem graph", "version": 99}', "has version 99, this hmem reads 1"),
        ('{"format": "hmem graph", "version": 1, "files": {}}', "header.json was changed"),
    ],
)
def test_a_header_that_is_none(tmp_path: Path, wrong: str, problem: str) -> None:
    (make(tmp_path / "graph") / "header.json").write_text(wrong)
    with pytest.raises(DataError, match=problem):
        read_header(tmp_path / "graph")


def test_a_number_in_the_header_that_was_changed(tmp_path: Path) -> None:
    path = make(tmp_path / "graph") / "header.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "facts": 4}))
    with pytest.raises(DataError, match=r"header\.json was changed"):
        read_header(tmp_path / "graph")


def test_only_a_graph_is_overwritten_and_only_when_asked(tmp_path: Path) -> None:
    make(tmp_path / "graph")
    with pytest.raises(DataError, match="exists already"):
        make(tmp_path / "graph")
    kept = mapped(tmp_path / "graph", "numbers", read_header(tmp_path / "graph"))
    make(tmp_path / "graph", overwrite=True, numbers=7)
    assert len(mapped(tmp_path / "graph", "numbers", read_header(tmp_path / "graph"))) == 7
    assert kept.tolist() == list(range(1000))  # who has the old one open keeps it
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("all of it")
    with pytest.raises(DataError, match="no graph that hmem wrote, so it is not overwritten"):
        make(tmp_path / "mine", overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["graph", "mine"]


KILLED = """
    import os, signal, sys
    from pathlib import Path
    import numpy as np
    from hmem.graph.disk.folder import new_folder
    with new_folder(Path(sys.argv[1]), overwrite=True) as folder:
        folder.whole("numbers", np.arange(100))
        if sys.argv[2] == "later":
            folder.close({"facts": 3})
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("when", ["early", "later"])
@pytest.mark.parametrize("is_there", [False, True])
def test_a_process_that_is_killed_leaves_nothing_that_looks_whole(tmp_path: Path, when: str, is_there: bool) -> None:
    path = tmp_path / "graph"
    if is_there:
        make(path)
    ended = subprocess.run([sys.executable, "-c", textwrap.dedent(KILLED), path, when], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert path.exists() == is_there
    assert len(list(tmp_path.iterdir())) == 1 + is_there
    make(path, overwrite=True, numbers=5)  # begun again, it removes what is left
    assert [each.name for each in tmp_path.iterdir()] == ["graph"]


def test_of_two_at_work_the_quicker_one_stays(tmp_path: Path) -> None:
    def slower() -> None:
        with new_folder(tmp_path / "graph", overwrite=False) as folder:
            make(tmp_path / "graph")
            assert folder.path.exists()  # and was not taken for a leftover
            folder.close({"facts": 4})

    with pytest.raises(DataError, match="exists already"):
        slower()
    assert read_header(tmp_path / "graph")["facts"] == 3
    assert [each.name for each in tmp_path.iterdir()] == ["graph"]


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        make(tmp_path / "graph")
    assert list(tmp_path.iterdir()) == []
