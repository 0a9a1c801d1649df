"""Questions, and answers as small tables: rows to loop over, columns to hand to pandas or Arrow, text to look at."""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar, overload

import pyarrow as pa

from hmem.errors import ConfigError
from hmem.graph.days import Stretch
from hmem.graph.descriptions import Labels
from hmem.graph.qualifiers import TYPES as QUALIFIERS
from hmem.graph.triples import PARTS
from hmem.knowledge.store.records import Names3, StoredFact, StoredValue

if TYPE_CHECKING:
    import pandas as pd

ROWS_SHOWN = 20
ENTITIES = ("head", "tail", "entity", "instead")  # columns with ids
WIDEST = 40  # characters of a name that are shown
Direction = Literal["tail", "head"]  # which end of the fact is asked for
TYPES = {  # of columns
    **dict.fromkeys((*PARTS, "entity", "source", "kind", "text", "end", "instead"), pa.string()),
    **dict.fromkeys(("property", "datatype", "language", "unit"), pa.string()),
    **dict.fromkeys(("score", "if_missing", "similarity", "contribution"), pa.float64()),
    **dict.fromkeys(("weight", "match", "without", "doubt"), pa.float64()),
    **dict.fromkeys(("query", "rank", "tail_rank", "head_rank"), pa.int64()),
    "stored": pa.bool_(),
    "added_at": pa.timestamp("us", tz="UTC"),
    **QUALIFIERS,
    **dict.fromkeys(("kept", "other"), pa.string()),
    "reasons": pa.list_(pa.string()),
    **dict.fromkeys(("facts", "because"), pa.list_(pa.list_(pa.string()))),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Which tails go with (entity, relation, ?), or for the direction "head" which heads with (?, relation, entity)."""

    entity: str
    relation: str
    direction: Direction = "tail"
    k: int = 10  # answers that are wanted
    new_only: bool = True  # whether stored answers are left out
    at: Stretch | None = None  # answered from the facts that held then; None for all
    most_edges: int | None = None  # that may be looked at to score stored answers; of a hub's, only some are listed


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """A fact and how good it is. `rank` counts from 1 among the answers to the same question."""

    head: str
    relation: str
    tail: str
    score: float  # as the model ranks; comparable within a question
    probability: float | None  # calibrated; None where the model is not, or cannot speak of such entities
    stored: bool  # whether the fact is stored; then the score is what it would be if it were not
    rank: int
    if_missing: float | None = None  # the probability, provided that an answer is missing at all
    query: int | None = None  # which of several questions it answers, counted from 0
    direction: Direction = "tail"  # which end was asked for
    inferred_by: str | None = None  # the model that concluded it before, if that is stored

    @property
    def names(self) -> Names3:
        return self.head, self.relation, self.tail

    @property
    def answer(self) -> str:
        """The entity at the end that was asked for."""
        return self.tail if self.direction == "tail" else self.head


@dataclass(frozen=True, slots=True, kw_only=True)
class Similar:
    """An entity and the cosine between its vector and that of the one asked about."""

    entity: str
    similarity: float
    rank: int
    query: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbor(StoredFact):
    """A stored fact of an entity, with where and when it came from."""

    query: int | None = None


Row = TypeVar("Row")


class Table(Sequence[Row], Generic[Row]):
    """Rows of one kind. `table[0].score` is a value, `table[:3]` a table, `table.to_dicts()` plain data."""

    COLUMNS: ClassVar[tuple[str, ...]]
    WHERE_SAID: ClassVar[tuple[str, ...]] = ("query",)  # those of them that are there only if a row has something there

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = list(rows)
        self.labels = Labels()  # of what is named in it

    def ids(self, *columns: str) -> Iterator[str]:
        """What stands in some columns, those of them that there are."""
        return (getattr(row, name) for row in self.rows for name in columns if name in self.COLUMNS)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        said = {name for name in self.WHERE_SAID if any(getattr(row, name, None) is not None for row in self.rows)}
        return [name for name in self.COLUMNS if name in said or name not in self.WHERE_SAID]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    @overload
    def __getitem__(self, place: int) -> Row: ...

    @overload
    def __getitem__(self, place: slice) -> Any: ...  # the same kind of table

    def __getitem__(self, place: int | slice) -> Any:
        if not isinstance(place, slice):
            return self.rows[place]
        part = copy(self)
        part.rows = self.rows[place]
        return part

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and self.rows == other.rows

    __hash__ = None  # type: ignore[assignment]

    def to_dicts(self) -> list[dict[str, Any]]:
        """One dictionary per row."""
        return [{name: getattr(row, name) for name in self.columns} for row in self.rows]

    def to_arrow(self) -> pa.Table:
        return pa.table({name: pa.array([getattr(row, name) for row in self], TYPES[name]) for name in self.columns})

    def to_pandas(self) -> "pd.DataFrame":
        """A data frame; needs pandas."""
        try:
            frame: pd.DataFrame = self.to_arrow().to_pandas()
        except ImportError as error:
            raise ConfigError(f"to_pandas() needs pandas ({error}): pip install pandas, or use to_dicts()") from error
        return frame

    def __repr__(self) -> str:
        head = self._head()
        rows = [[cell(name, self.shown(name, row)) for name in head] for row in self.rows[:ROWS_SHOWN]]
        return as_text(rows, head, len(self))

    def shown(self, name: str, row: Row) -> Any:
        """A value as it is shown: what has a label by that, an entity with the id beside it."""
        value = getattr(row, name)
        if name in ENTITIES and value is not None:
            return self.labels.entity(value)
        return self.labels.relation(value) if name == "relation" else value

    def _head(self) -> list[str]:
        """The columns that have something to show."""
        return [name for name in self.columns if any(getattr(row, name) is not None for row in self.rows[:ROWS_SHOWN])]


class Predictions(Table[Prediction]):
    """Facts with their scores, the best first; of several questions one after the other."""

    COLUMNS = ("query", *PARTS, "score", "probability", "if_missing", "stored", "rank", "inferred_by")
    WHERE_SAID = ("query", "inferred_by")

    def _head(self) -> list[str]:
        return [name for name in super()._head() if name != "if_missing"]  # for those who ask for it


class Similars(Table[Similar]):
    """Entities with their likeness, the most alike first."""

    COLUMNS = ("query", "entity", "similarity", "rank")


class Values(Table[StoredValue]):
    """What is said of an entity by its properties, as it was written."""

    COLUMNS = ("property", "text", "datatype", "language", "unit", "source", "added_at")

    def _head(self) -> list[str]:
        return [name for name in super()._head() if name not in ("source", "added_at")]


class Neighbors(Table[Neighbor]):
    """Stored facts, those with the entity as head first."""

    COLUMNS = ("query", *PARTS, "source", "added_at", *QUALIFIERS)
    WHERE_SAID = ("query", *(name for name in QUALIFIERS if name != "confidence"))


def cell(name: str, value: object) -> str:
    """A value as it is shown. Only a calibrated probability is a percentage."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else ""
    if name == "probability" and isinstance(value, float):
        return f"{value:.1%}"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M")
    text = str(value)
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"


def as_text(rows: list[list[str]], head: list[str], total: int) -> str:
    """Columns side by side, as wide as they need to be."""
    if not rows:
        return "nothing"
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) for row in [head, *rows]]
    if total > len(rows):
        lines.append(f"… {total - len(rows):,} more")
    return "\n".join(line.rstrip() for line in lines)
