"""NetworkX graphs."""

import subprocess
import sys
from typing import Any

import networkx as nx
import numpy as np
import pytest

from hmem.errors import DataError
from hmem.graph.readers.read import read_table
from tests.graph.readers.helpers import triples


def error_of(graph: Any, **options: Any) -> str:
    with pytest.raises(DataError) as error:
        read_table(graph, **options)
    return str(error.value)


@pytest.mark.parametrize("attribute", ["relation", "label", "type"])
def test_the_relation_is_an_attribute_of_the_edge(attribute: str) -> None:
    graph: Any = nx.DiGraph()
    graph.add_edge("a", "b", **{attribute: "r"}, weight=2)
    graph.add_edge("b", 3, **{attribute: 7})
    assert triples(read_table(graph)) == [("a", "r", "b"), ("b", "7", "3")]


def test_the_relation_is_the_key_of_a_multigraph() -> None:
    graph: Any = nx.MultiDiGraph()
    graph.add_edge("a", "b", key="r", label="x")
    graph.add_edge("a", "b", key="s")
    graph.add_edge("a", "b", label="x")
    assert triples(read_table(graph)) == [("a", "r", "b"), ("a", "s", "b"), ("a", "x", "b")]


def test_columns_name_the_attribute() -> None:
    graph: Any = nx.MultiDiGraph()
    graph.add_edge("a", "b", key="r", kind="x", label="y")
    assert triples(read_table(graph, columns=("u", "kind", "v"))) == [("a", "x", "b")]
    assert error_of(graph, columns=("u", "sort", "v")) == (
        'edge \'a\' -> \'b\': expected its relation in an attribute "sort", found "kind", "label"'
    )


def test_bad_graphs() -> None:
    assert error_of(nx.Graph([("a", "b")])) == (
        "expected a directed graph, found an undirected one; make it a DiGraph, u -> v from head to tail"
    )
    assert error_of(nx.DiGraph([("a", "b")])) == (
        'edge \'a\' -> \'b\': expected its relation in an attribute "relation" or "label" or "type", found none'
    )
    assert error_of(nx.DiGraph()) == "expected a graph with edges, found none"
    nameless: Any = nx.MultiDiGraph()
    nameless.add_edge("a", "b", key="")
    assert error_of(nameless) == ("expected text or an integer as relation of edge 'a' -> 'b', found ''")
    assert error_of(nx.MultiDiGraph([(("a", 1), "b", "r")])) == "expected text or an integer as node, found ('a', 1)"
    assert error_of(nx.MultiDiGraph([("\ud800", "b", "r")])) == "expected text or an integer as node, found '\\ud800'"
    assert error_of(nx.MultiDiGraph([(True, "b", "r")])) == "expected text or an integer as node, found True"
    assert error_of(nx.MultiDiGraph([(1, "1", "r")])) == "expected nodes with different names, found both 1 and '1'"


def test_integers_of_numpy() -> None:
    assert triples(read_table(nx.MultiDiGraph([(np.int64(1), 2, "r")]))) == [("1", "r", "2")]


def test_networkx_is_not_imported_for_it() -> None:
    code = (
        "import sys, hmem.graph.readers.read; print({'networkx', 'pyoxigraph', 'pandas', 'torch'} & set(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"
