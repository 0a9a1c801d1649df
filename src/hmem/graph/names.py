"""Names and the integers that stand for them."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain

import numpy as np
import pyarrow as pa
from jaxtyping import Int

from hmem.errors import DataError, UnknownNameError, shown
from hmem.graph.disk.name_file import NameFile
from hmem.graph.name_search import closest

MOST_LOOKED_THROUGH = 2_000_000  # names, in about a second


class Names:
    """The names of one kind of thing, numbered from 0 in the order in which they were first seen.

    The names stay in an Arrow array until one is added or looked up, so a graph that is only read and ranked
    never pays for millions of Python strings. Those of a `NameFile` stay on the disk even then: only what was added
    later is in memory.
    """

    def __init__(self, kind: str, names: "Iterable[str] | pa.Array | NameFile" = ()) -> None:
        self.kind = kind
        self._file: NameFile | None = None
        self._arrow: pa.Array | None = None
        self._list: list[str] | None = None  # those that are not in the file
        match names:
            case NameFile():
                self._file, self._list = names, []
            case pa.Array():
                self._arrow = names
            case _:
                self._list = list(names)

    def __len__(self) -> int:
        if self._list is None:
            assert self._arrow is not None
            return len(self._arrow)
        return self._in_file + len(self._list)

    def __iter__(self) -> Iterator[str]:
        if self._file is None:
            return iter(self.to_list())
        return chain((self._file[number] for number in range(len(self._file))), self._later())

    def __getitem__(self, index: int) -> str:
        if self._list is None:
            return str(self._arrow[index].as_py())  # type: ignore[index]
        if self._file is None or index < 0:
            return self._list[index]
        return self._file[index] if index < len(self._file) else self._list[index - len(self._file)]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Names) and self.to_list() == other.to_list()

    def __repr__(self) -> str:
        return f"Names({self.kind!r}, {len(self)} names)"

    __hash__ = None  # type: ignore[assignment]

    def to_list(self) -> list[str]:
        if self._file is not None:
            return list(self)
        return self._later()

    def _later(self) -> list[str]:
        """The names that are not in the file, as a list that may be added to."""
        if self._list is None:
            assert self._arrow is not None
            self._list = self._arrow.to_pylist()
        return self._list

    @property
    def _in_file(self) -> int:
        return 0 if self._file is None else len(self._file)

    def to_arrow(self) -> pa.Array:
        if self._file is not None:
            later = pa.array(self._later(), pa.large_string())
            return pa.concat_arrays([self._file.to_arrow(), later]).cast(pa.string())
        if self._arrow is None or len(self._arrow) != len(self):
            self._arrow = pa.array(self.to_list(), pa.string())
        return self._arrow

    def extended(self, more: pa.Array) -> "Names":
        """These names followed by `more`, which must not repeat any of them."""
        return Names(self.kind, pa.concat_arrays([self.to_arrow(), more]))

    def add(self, name: str) -> int:
        """The id of `name`, which is given the next free one if it is new."""
        found = self.get(name)
        if found is None:
            found = self._ids[name] = len(self)
            self._later().append(name)
        return found

    def get(self, name: str) -> int | None:
        found = self._ids.get(name)
        return self._file.get(name) if found is None and self._file is not None else found

    def id_of(self, name: str, *, suggest: bool = True) -> int:
        """The id of `name`. One that does not exist is an error, with those that may have been meant if `suggest`."""
        if not isinstance(name, str):
            problem = f"expected the name of one {self.kind} as text, received {name!r:.60} ({type(name).__name__})"
            raise DataError(problem)
        found = self.get(name)
        if found is None:
            raise unknown_name(self.kind, name, self.closest(name) if suggest else ())
        return found

    def ids_of(self, names: Sequence[str]) -> Int[np.ndarray, " n"]:
        return np.array([self.id_of(name) for name in names], dtype=np.int64)

    def closest(self, name: str, count: int = 3) -> list[str]:
        """The names that may have been meant by `name`, the likeliest first; none where there are too many names."""
        return [] if len(self) > MOST_LOOKED_THROUGH else closest(name, self.to_list(), count)

    @cached_property
    def _ids(self) -> dict[str, int]:
        """The numbers of the names that are not in the file."""
        return {name: number for number, name in enumerate(self._later(), self._in_file)}


def unknown_name(kind: str, name: str, suggestions: Sequence[str] = ()) -> UnknownNameError:
    """The error for a name that does not exist. An edge that has the time finds the suggestions later."""
    return UnknownNameError(f'no {kind} "{shown(name)}"', option=kind, found=name, suggestions=suggestions)


class Vocabulary:
    """The names of a graph's entities and relations."""

    def __init__(self, entities: Names | Iterable[str] = (), relations: Names | Iterable[str] = ()) -> None:
        self.entities = entities if isinstance(entities, Names) else Names("entity", entities)
        self.relations = relations if isinstance(relations, Names) else Names("relation", relations)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self.entities == other.entities and self.relations == other.relations

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Vocabulary({len(self.entities)} entities, {len(self.relations)} relations)"
