"""Triples given one by one, as tuples of three strings."""

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from hmem.errors import DataError, shown
from hmem.graph.readers.table import TableBuilder
from hmem.graph.triples import PARTS


def read_tuples(source: Iterable[object]) -> pa.Table:
    """The triples of an iterable of three strings each, such as tuples or the rows of a numpy array.

    Errors count the rows from 0.
    """
    builder = TableBuilder()
    for row, item in enumerate(source):
        if isinstance(item, str | bytes) or not isinstance(item, Sequence | np.ndarray) or len(item) != 3:
            raise DataError(f"row {row} (counted from 0): expected head, relation and tail, found {shown(repr(item))}")
        for role, name in zip(PARTS, item, strict=True):
            if not isinstance(name, str) or not name or not is_unicode(name):
                expected = "Unicode text" if isinstance(name, str) and name else "a string"
                raise DataError(f"row {row} (counted from 0): expected {expected} as {role}, found {shown(repr(name))}")
        builder.add(*item)
    if not len(builder):
        raise DataError(expected="tuples of head, relation and tail", found="none")
    return builder.finish()


def is_unicode(name: str) -> bool:
    """Whether `name` can be written as UTF-8, as text with half of a surrogate pair cannot."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
