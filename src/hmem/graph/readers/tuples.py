"""Triples given one by one, as tuples of three strings."""

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from hmem.errors import DataError
from hmem.graph.readers.table import ROLES, TableBuilder


def read_tuples(source: Iterable[object]) -> pa.Table:
    """The triples of an iterable of three strings each, such as tuples or the rows of a numpy array.

    Errors count the rows from 0.
    """
    builder = TableBuilder()
    for row, item in enumerate(source):
        if isinstance(item, str | bytes) or not isinstance(item, Sequence | np.ndarray) or len(item) != 3:
            raise DataError(f"row {row} (counted from 0): expected head, relation and tail, found {_shown(item)}")
        for role, name in zip(ROLES, item, strict=True):
            if not isinstance(name, str) or not name:
                raise DataError(f"row {row} (counted from 0): expected a string as {role}, found {_shown(name)}")
            if not is_unicode(name):
                raise DataError(f"row {row} (counted from 0): expected Unicode text as {role}, found {_shown(name)}")
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


def _shown(item: object) -> str:
    text = repr(item)
    return text if len(text) <= 80 else f"{text[:77]}..."
