"""OpenKE's id files."""

import gzip
from pathlib import Path

import pytest

from hmem.errors import DataError
from hmem.graph.readers.read import read_table
from tests.graph.readers.helpers import Write, triples

ENTITIES = "3\nc d\t2\na\t0\n/m/b 1\n"
RELATIONS = "2\r\nr\t0\r\ns\t1\r\n"
TRAIN = "2\n0 2 1\n1\t0\t0\n\n"
EXPECTED = [("a", "s", "c d"), ("/m/b", "r", "a")]


@pytest.fixture
def train(write: Write) -> Path:
    write("entity2id.txt", ENTITIES)
    write("relation2id.txt", RELATIONS)
    return write("train2id.txt", TRAIN)


def error_of(path: Path) -> str:
    with pytest.raises(DataError) as error:
        read_table(path)
    return str(error.value)


def test_ids_become_names(train: Path) -> None:
    assert triples(read_table(train)) == EXPECTED


def test_compressed(train: Path, write: Write) -> None:
    assert triples(read_table(write("test2id.txt.gz", gzip.compress(TRAIN.encode())))) == EXPECTED
    train.with_name("entity2id.txt").unlink()
    write("entity2id.txt.gz", gzip.compress(ENTITIES.encode()))
    assert triples(read_table(write("test2id.txt.gz", gzip.compress(TRAIN.encode())))) == EXPECTED


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("train", "3\n0 2 1\n1 0 0\n", ":1: expected 3 triples as this line says, found 2"),
        ("train", "\n1\n0 2 1\n1 0 0\n", ":2: expected 1 triples as this line says, found 2"),
        ("train", "0 2 1\n1 0 0\n", ":1: expected the number of triples, found '0 2 1'"),
        ("train", "", ": expected the number of triples, found ''"),
        ("train", "0\n", ": expected triples, found none"),
        ("train", "1\n0 2\n", ":2: expected 3 ids (head, tail, relation), found 2"),
        ("train", "1\n\n3 2 1\n", ":3: expected the head's id, from 0 to 2, found '3'"),
        ("train", "1\n0 -1 1\n", ":2: expected the tail's id, from 0 to 2, found '-1'"),
        ("train", "1\n0 1 2\n", ":2: expected the relation's id, from 0 to 1, found '2'"),
        ("train", "1\n0 1 r\n", ":2: expected the relation's id, from 0 to 1, found 'r'"),
        ("entity", "2\na\t0\nb\t1\nc\t2\n", ":1: expected 2 names as this line says, found 3"),
        ("entity", "3\na\t0\nb\t1\nc\t3\n", ":4: expected the name's id, from 0 to 2, found '3'"),
        ("entity", "2\na\t0\nb\n", ":3: expected a name and its id, found 'b'"),
        ("entity", "2\na\t0\n\t1\n", ":3: expected a name and its id, found '\\t1'"),
        ("entity", "two\na\t0\n", ":1: expected the number of names, found 'two'"),
        ("relation", "2\nr\t0\nr\t1\n", ":3: expected every name and id once, found 'r' here and in line 2"),
        ("relation", "2\nr\t0\ns\t0\n", ":3: expected every name and id once, found 0 here and in line 2"),
        ("relation", b"1\nr\xff\t0\n", ":2: byte 2 of the line is 0xff, which is not UTF-8; expected UTF-8 text"),
    ],
)
def test_bad_files(train: Path, write: Write, name: str, content: str | bytes, message: str) -> None:
    path = write(f"{name}2id.txt", content)
    assert error_of(train) == f"{path}{message.format(path=path)}"


def test_missing_files(train: Path) -> None:
    folder = train.parent
    assert error_of(folder / "valid2id.txt").startswith(f"{folder}/valid2id.txt: no such file or folder; did you mean ")
    (folder / "relation2id.txt").unlink()
    assert error_of(train).startswith(f"{folder}/relation2id.txt: no such file or folder; did you mean ")
    train.unlink()
    assert error_of(train).startswith(f"{folder}/train2id.txt: no such file or folder")


def test_lists_of_names_are_no_triples(train: Path) -> None:
    path = train.with_name("entity2id.txt")
    assert error_of(path) == f"{path}: expected triples such as those of train2id.txt, found a list of names"
