"""What RDF says of statements: a node that stands for a triple, and in hmem's own terms what qualifies it.

Only the terms of `hmem.knowledge.rdf` are understood: a node of which none of them is said stays what it is.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from jaxtyping import Int

from hmem.errors import DataError
from hmem.graph.qualifiers import TYPES as QUALIFIERS
from hmem.graph.readers.rdf_names import TERMS, WELL_KNOWN
from hmem.graph.readers.table import UNIT

REIFIES = WELL_KNOWN["rdf"] + "reifies"
PARTS = tuple(WELL_KNOWN["rdf"] + part for part in ("subject", "predicate", "object"))
Rows = Int[np.ndarray, "_ 3"]


def told(
    rows: Rows, terms: Mapping[str, int], quoted: set[int], path: Path
) -> tuple[Rows, dict[str, list[int | None]]]:
    """The triples that are no talk of others, and for each that any of them has, the terms that qualify them.

    All by number; `terms` are those of IRIs, `quoted` the nodes that stand for triples of RDF 1.2, which without our
    own terms cannot be understood.
    """
    about = {terms[TERMS + name]: name for name in (*QUALIFIERS, UNIT) if TERMS + name in terms}
    nodes = set(rows[np.isin(rows[:, 1], list(about)), 0].tolist())
    if quoted - nodes:
        raise DataError(path=path, expected="IRIs, literals and blank nodes", found="a quoted triple")
    if not nodes:
        return rows, {}
    is_about = np.isin(rows[:, 0], list(nodes))
    parts: dict[int, dict[int, int]] = {node: {} for node in nodes}
    for node, relation, term in rows[is_about].tolist():
        parts[node][relation] = term
    places = [terms.get(part, -1) for part in PARTS]
    said: dict[tuple[int, ...], dict[int, int]] = {}
    for each in parts.values():
        said.setdefault(tuple(each.get(place, -1) for place in places), {}).update(each)
    rows = rows[~is_about]
    columns: dict[str, list[int | None]] = {name: [None] * len(rows) for name in about.values()}
    for place, row in enumerate(map(tuple, rows.tolist())):
        for relation, term in said.get(row, {}).items():
            if relation in about:
                columns[about[relation]][place] = term
    return rows, columns
