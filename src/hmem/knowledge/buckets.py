"""Values in a few buckets, which a model can use as evidence as it uses facts.

The values of a property are cut where each bucket has about as many of them as any other, at the roundest number near
by: that reads well, and does not move when a value comes or goes. A date is cut at the beginning of a year, a month or
a day. Booleans, and texts of which many entities have the same, are a bucket each. What has few values is left out, and
so are texts that are all different: they say nothing about others.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Float, Int

from hmem.graph.values import date_of, days_of, family_of

FEWEST = 20  # entities with a value, from which on a property is evidence
IN_BUCKET = 10  # entities of a bucket at least, on average
MOST_BUCKETS = 8  # of numbers and dates
MOST_TEXTS = 20
SHARED = 4  # entities that have the same text at least, on average
SLACK = 0.2  # of a bucket, by which a cut may be moved to a rounder number
STEPS = (5, 2, 1)
MOST_EXPONENT = 308  # of a float

Row = tuple[int, int, str, str, str | None, float | None]  # entity, property, text, datatype, unit, number
Cuts = Float[np.ndarray, " cuts"]


@dataclass(frozen=True, slots=True)
class Bucketed:
    """The values of a property in one unit: which entities are in which bucket, and what these are called."""

    property: int
    key: str  # what tells it from other buckets of the property: the unit, or what kind of value it is
    words: list[str]  # of each bucket, such as "of 31,000 to 52,000"
    entities: Int[np.ndarray, " n"]
    buckets: Int[np.ndarray, " n"]


def bucketed(rows: Iterable[Row]) -> list[Bucketed]:
    """Buckets for all properties that have enough values."""
    groups: dict[tuple[int, str], list[Row]] = defaultdict(list)
    for row in rows:
        _, name, text, datatype, unit, _ = row
        family = family_of(text, datatype)
        groups[name, unit or "" if family == "number" else family].append(row)
    found = (_bucketed(name, key, group) for (name, key), group in groups.items())
    return [each for each in found if each is not None]


def _bucketed(name: int, key: str, rows: Sequence[Row]) -> Bucketed | None:
    entities = np.array([row[0] for row in rows])
    if len(np.unique(entities)) < FEWEST:
        return None
    if key in ("text", "boolean"):
        texts, buckets, counts = np.unique([row[2] for row in rows], return_inverse=True, return_counts=True)
        if len(texts) < 2 or len(texts) > min(MOST_TEXTS, counts.sum() / SHARED):
            return None
        words = [text if key == "boolean" else f'"{text}"' for text in texts.tolist()]
        return Bucketed(name, key, words, entities, buckets.reshape(-1))
    numbers = np.array([row[5] for row in rows], dtype=np.float64)
    is_date = key == "date"
    found = cuts(numbers, _round_day if is_date else _round_number)
    if not len(found):
        return None
    words = list(_dates_in_words(found) if is_date else _numbers_in_words(found, key))
    return Bucketed(name, key, words, entities, np.searchsorted(found, numbers, side="right"))


def cuts(numbers: Float[np.ndarray, " n"], roundest: Callable[[float, float], float]) -> Cuts:
    """Where to cut: a value that is equal to a cut, or higher, is above it."""
    distinct, counts = np.unique(numbers, return_counts=True)
    up_to = np.cumsum(counts)
    done, found = 0, list[float]()
    for left in range(min(MOST_BUCKETS, len(numbers) // IN_BUCKET), 1, -1):
        share = (len(numbers) - done) / left
        low, high = (int(np.searchsorted(up_to, done + part * share)) for part in (1 - SLACK, 1 + SLACK))
        low, high = min(low, len(distinct) - 2), min(max(low + 1, high), len(distinct) - 1)
        if low < 0 or up_to[low] <= done:  # what is left is all the same
            break
        found.append(roundest(float(distinct[low]), float(distinct[high])))
        done = int(up_to[np.searchsorted(distinct, found[-1]) - 1])
    return np.array(found, dtype=np.float64)


def _round_number(low: float, high: float) -> float:
    """The roundest number above `low` and up to `high`."""
    if low < 0 <= high:
        return 0.0
    largest = min(math.ceil(math.log10(max(abs(low), abs(high)))), MOST_EXPONENT)
    for exponent in range(largest, largest - 16, -1):
        for step in STEPS:
            size = step * 10.0**exponent
            if not 0 < size < math.inf:  # at the ends of what a float can be
                continue
            times = math.floor(low / size) + 1
            number = float(f"{times * step}e{exponent}")  # which is exact, as 3 * 0.1 is not
            if low < number <= high:
                return number
    return high


def _round_day(low: float, high: float) -> float:
    """The beginning of a year, a month or a day, in days since 1970."""
    year, month, _ = date_of(low).rsplit("-", 2)
    for step in (100, 50, 20, 10, 5, 2, 1):
        first = _first_of(int(year) // step * step + step)
        if low < first <= high:
            return first
    first = _first_of(int(year), int(month) + 1) if int(month) < 12 else _first_of(int(year) + 1)
    if low < first <= high:
        return first
    day = math.floor(low) + 1.0
    return day if day <= high else high


def _first_of(year: int, month: int = 1) -> float:
    day = days_of(f"{'-' * (year < 0)}{abs(year):04d}-{month:02d}-01")
    assert day is not None
    return day


def _numbers_in_words(found: Cuts, unit: str) -> Iterator[str]:
    ends = [f"{cut:,.15g}" for cut in found.tolist()]
    behind = f" {unit}" if unit else ""
    yield f"below {ends[0]}{behind}"
    yield from (f"of {low} to {high}{behind}" for low, high in pairwise(ends))
    yield f"of {ends[-1]}{behind} or more"


def _dates_in_words(found: Cuts) -> Iterator[str]:
    ends = [date_of(cut) for cut in found.tolist()]
    yield f"before {ends[0]}"
    yield from (f"from {low} to {high}" for low, high in pairwise(ends))
    yield f"from {ends[-1]} on"
