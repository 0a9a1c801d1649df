"""A graph on disk is the graph in memory: the same names, the same numbers, the same edges."""

from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hmem.errors import DataError
from hmem.graph.disk import edges, index, numbering
from hmem.graph.disk.folder import new_folder, problems
from hmem.graph.disk.hashing import Bytes, Ends, Hashes
from hmem.graph.disk.index import DiskGraph, index_facts, write_graph
from hmem.graph.intern import intern
from hmem.graph.names import Vocabulary
from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.readers.read import read_table
from tests.graph.test_neighborhoods import assert_same_base

Row = tuple[str, str, str]

names = st.text(st.characters(codec="utf-8", exclude_characters="\t\r\n\0\x0b\x0c\x1c\x1d\x1e\x85  "), min_size=1)
names = names.filter(lambda name: bool(name.strip()) and not name.startswith("﻿"))
few = st.sampled_from(["a", "b", "c", 'the "d"', "Ünï", "e" * 40])
rows = st.lists(st.tuples(few | names, few, few | names), min_size=1, max_size=30)


def in_memory(path: Path) -> tuple[Vocabulary, Neighborhoods]:
    found = intern(read_table(path, header=False))
    sizes = len(found.vocab.entities), len(found.vocab.relations)
    return found.vocab, Neighborhoods.build(found.triples, *sizes)


def write(path: Path, facts: list[Row]) -> Path:
    path.write_bytes("".join("\t".join(fact) + "\n" for fact in facts).encode())
    return path


@given(rows, st.integers(1, 5), st.integers(1, 20))
@example([("a", "r", "a"), ("b", "r", "a"), ("b", "r", "a"), ("c", "q", "b")], 1, 1)
def test_it_is_the_graph_in_memory(
    tmp_path_factory: pytest.TempPathFactory, facts: list[Row], at_once: int, part: int
) -> None:
    folder = tmp_path_factory.mktemp("index")
    path = write(folder / "facts.tsv", facts)
    with (
        patch.object(index, "ROWS", at_once),
        patch.object(edges, "PART", part),
        patch.object(index, "NAMES_AT_ONCE", 2),
    ):
        graph = index_facts(path, folder / "graph", header=False)
    vocab, built = in_memory(path)
    assert graph.vocab == vocab
    assert_same_base(graph.neighborhoods(), built)
    assert (graph.header["rows"], graph.header["facts"]) == (len(facts), len(built.roles) // 2)
    entities = graph.vocab.entities
    assert [entities.get(name) for name in vocab.entities] == list(range(len(vocab.entities)))
    assert entities.get("never seen") is None
    assert problems(folder / "graph") == []


def colliding(data: Bytes, starts: Ends, ends: Ends) -> Hashes:
    """As if someone had made names of few different hashes."""
    hashes: Hashes = ((ends - starts) % 2).astype(np.uint64)
    return hashes


@given(rows, st.integers(1, 5))
def test_names_with_one_hash_are_told_apart(
    tmp_path_factory: pytest.TempPathFactory, facts: list[Row], at_once: int
) -> None:
    folder = tmp_path_factory.mktemp("index")
    path = write(folder / "facts.tsv", facts)
    with (
        patch.object(index, "ROWS", at_once),
        patch.object(numbering, "hash_names", colliding),
        patch("hmem.graph.disk.name_file.hash_names", colliding),
        patch("hmem.graph.disk.name_file.hash_name", lambda name: len(name) % 2),
    ):
        graph = index_facts(path, folder / "graph", header=False)
        vocab, built = in_memory(path)
        entities = graph.vocab.entities
        assert [entities.get(name) for name in vocab.entities] == list(range(len(vocab.entities)))
        assert entities.get("never seen") is None
    assert graph.vocab == vocab
    assert_same_base(graph.neighborhoods(), built)


def test_facts_in_memory_are_written_as_the_same_graph(tmp_path: Path) -> None:
    path = write(tmp_path / "facts.tsv", [("a", "r", "b"), ("ß", "r", "a"), ("b", "q", "b")])
    found = intern(read_table(path, header=False))
    with new_folder(tmp_path / "graph", overwrite=False) as folder:
        folder.close(write_graph(folder, found.vocab, found.triples, len(found.vocab.relations)))
    graph = DiskGraph.open(tmp_path / "graph")
    assert graph.vocab == found.vocab
    assert_same_base(graph.neighborhoods(), in_memory(path)[1])


def test_facts_and_names_come_and_go_on_top(tmp_path: Path) -> None:
    index_facts(write(tmp_path / "facts.tsv", [("a", "r", "b"), ("b", "r", "c")]), tmp_path / "graph")
    before = {path.name: path.read_bytes() for path in (tmp_path / "graph").iterdir()}
    graph = DiskGraph.open(tmp_path / "graph")
    vocab, edges_of = graph.vocab, graph.neighborhoods()
    a, b, new = (vocab.entities.add(name) for name in ("a", "b", "new"))
    assert (a, b, new) == (0, 1, 3)
    assert vocab.entities[3] == vocab.entities[-1] == "new"
    assert list(vocab.entities) == ["a", "b", "c", "new"]
    assert vocab.entities.to_arrow().to_pylist() == ["a", "b", "c", "new"]
    assert vocab.entities.closest("ne") == ["new"]
    assert edges_of.add(new, 0, a)
    assert edges_of.remove(a, 0, b)
    assert sorted(map(tuple, edges_of.to_triples().tolist())) == [(1, 0, 2), (3, 0, 0)]
    assert {path.name: path.read_bytes() for path in (tmp_path / "graph").iterdir()} == before


def test_literals_and_what_a_model_inferred_are_no_edges(tmp_path: Path) -> None:
    path = tmp_path / "facts.tsv"
    path.write_text("head\trelation\ttail\tconfidence\na\tr\tb\t.5\na\tr\tc\t0\n")
    graph = index_facts(path, tmp_path / "graph")
    assert list(graph.vocab.entities) == ["a", "b"]


def test_nothing_to_index_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "facts.tsv"
    path.write_text("head\trelation\ttail\tconfidence\na\tr\tc\t0\n")
    with pytest.raises(DataError, match="expected facts between entities, found none"):
        index_facts(path, tmp_path / "graph")
    path.write_text("a\tr\tb\na\tr\n")
    with pytest.raises(DataError, match=r"facts.tsv:2: expected 3 tab-separated fields, found 2"):
        index_facts(path, tmp_path / "graph")
    assert [each.name for each in tmp_path.iterdir()] == ["facts.tsv"]
