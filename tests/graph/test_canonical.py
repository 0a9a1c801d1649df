"""One text for every way in which a split may be written, and folders that are complete or absent."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmem.errors import DataError
from hmem.graph.canonical import NAME, canonical_text, pack, sha256, sha256_of_file, write_folder

TEXTS = {"train": b"a\tr\tb\nb\tr\tc\n", "valid": b"a\tr\tc\n", "test": "ü\tr\ta\n".encode()}

names = st.text(st.characters(codec="utf-8", exclude_characters="\ufeff"), min_size=1).filter(
    lambda name: name == name.strip() and not set(name) & set("\t\r\n")
)


@given(st.lists(st.tuples(names, names, names), min_size=1), st.sampled_from(["hrt", "rht", "htr", "trh"]))
def test_every_way_to_write_facts_has_the_same_text(facts: list[tuple[str, str, str]], columns: str) -> None:
    canonical = "".join("\t".join(fact) + "\n" for fact in facts).encode()
    rows = [dict(zip("hrt", fact, strict=True)) for fact in facts]
    other = "\r\n\r\n".join("\t".join(row[column] for column in columns) for row in rows)
    assert canonical_text(canonical) == canonical
    assert canonical_text(b"\xef\xbb\xbf" + other.encode(), columns) == canonical


def test_white_space_separates_where_there_is_no_tab() -> None:
    assert canonical_text(b"a r  b\nb r c") == TEXTS["train"]
    assert canonical_text(b"new york\n rome\n", NAME) == b"new york\nrome\n"


@pytest.mark.parametrize("raw", [b"a\tr\tb\nc\td\n", b"a\tr\tb\n1\t2\t3\t4\n"])
def test_a_line_with_other_columns_is_named(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r"line 2: expected 3 fields, found [24]"):
        canonical_text(raw)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"a\tb\n", b"PAR1"])
def test_what_is_no_text_has_no_checksum(tmp_path: Path, content: bytes) -> None:
    for path in (tmp_path / "train.parquet", tmp_path / "train.tsv.gz"):
        path.write_bytes(content)
        with pytest.raises(DataError, match="expected tab-separated text"):
            sha256_of_file(path)


def test_the_checksum_is_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_bytes(TEXTS["train"].replace(b"\n", b"\r\n"))
    (tmp_path / "train.tsv.gz").write_bytes(pack(TEXTS["train"]))
    assert sha256_of_file(tmp_path / "train.txt") == sha256_of_file(tmp_path / "train.tsv.gz") == sha256(TEXTS["train"])


def test_a_folder_appears_complete_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            write_folder(tmp_path / "Toy", TEXTS)
    assert list(tmp_path.iterdir()) == []
    write_folder(tmp_path / "Toy", TEXTS)
    first = {path.name: path.read_bytes() for path in (tmp_path / "Toy").iterdir()}
    assert all(packed[3:8] == bytes(5) for packed in first.values())  # neither a name nor a time
    write_folder(tmp_path / "Toy", TEXTS)  # another process was first
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "diary.txt").write_text("")
    with pytest.raises(OSError, match="mine"):
        write_folder(tmp_path / "mine", TEXTS)
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["diary.txt"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["Toy", "mine"]
