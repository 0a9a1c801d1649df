"""NetworkX graphs, recognized by their methods so that networkx itself is never imported."""

from collections.abc import Iterator
from numbers import Integral
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa

from hmem.errors import DataError
from hmem.graph.readers.columns import Columns
from hmem.graph.readers.table import TableBuilder
from hmem.graph.readers.tuples import is_unicode

_ATTRIBUTES = ("relation", "label", "type")


@runtime_checkable
class NetworkXGraph(Protocol):
    """What the reader uses of a networkx graph."""

    nodes: Any
    edges: Any

    def is_directed(self) -> bool: ...

    def is_multigraph(self) -> bool: ...


def read_networkx(graph: NetworkXGraph, columns: Columns | None) -> pa.Table:
    """The edges u -> v of a directed graph as triples (u, relation, v).

    The relation is the key of a multigraph's edge if that is a string, else the edge's attribute `relation`, `label`
    or `type`. The middle one of `columns`, if given, names another attribute. Nodes and relations may be integers.
    """
    if not graph.is_directed():
        direct = "make it a DiGraph, u -> v from head to tail"
        raise DataError(expected="a directed graph", found="an undirected one", hint=direct)
    names = _node_names(graph)
    builder = TableBuilder()
    for u, v, key, data in _edges(graph):
        relation = key if columns is None and isinstance(key, str) else _attribute(u, v, data, columns)
        builder.add(names[u], _name(relation, f"relation of edge {u!r} -> {v!r}"), names[v])
    if not len(builder):
        raise DataError(expected="a graph with edges", found="none")
    return builder.finish()


def _edges(graph: NetworkXGraph) -> Iterator[tuple[Any, Any, Any, dict[Any, Any]]]:
    if graph.is_multigraph():
        yield from graph.edges(keys=True, data=True)
    else:
        yield from ((u, v, None, data) for u, v, data in graph.edges(data=True))


def _attribute(u: Any, v: Any, data: dict[Any, Any], columns: Columns | None) -> Any:
    attributes = _ATTRIBUTES if columns is None else (columns[1],)
    for attribute in attributes:
        if attribute in data:
            return data[attribute]
    expected = " or ".join(f'"{attribute}"' for attribute in attributes)
    found = ", ".join(f'"{attribute}"' for attribute in data) or "none"
    raise DataError(f"edge {u!r} -> {v!r}: expected its relation in an attribute {expected}, found {found}")


def _node_names(graph: NetworkXGraph) -> dict[Any, str]:
    """The name of each node; 1 and "1" are different nodes, but would be one name."""
    names = {node: _name(node, "node") for node in graph.nodes}
    node_of: dict[str, Any] = {}
    for node, name in names.items():
        other = node_of.setdefault(name, node)
        if other != node:
            raise DataError(expected="nodes with different names", found=f"both {other!r} and {node!r}")
    return names


def _name(value: Any, what: str) -> str:
    if isinstance(value, Integral) and not isinstance(value, bool):
        return str(int(value))
    if not isinstance(value, str) or not value or not is_unicode(value):
        raise DataError(expected=f"text or an integer as {what}", found=repr(value))
    return value
