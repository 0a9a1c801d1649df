"""Facts with the day on which they became known, to let a graph grow again as it grew."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from hmem.graph.readers.lines import Lines, open_text
from hmem.graph.registry import find_entry, resolve

DATED = "attack"  # the dataset
PARTS = ("train", "valid", "test", "later")  # the files of dated facts in a dataset's folder


class DatedFact(NamedTuple):
    head: str
    relation: str
    tail: str
    date: str  # 2024-03-28

    @property
    def names(self) -> tuple[str, str, str]:
        return self[:3]


@dataclass(frozen=True, slots=True, kw_only=True)
class Newcomer:
    """An entity that came after a day, and what it was then told to be related to, in the order of the dates."""

    name: str
    kind: str
    date: str
    tails: tuple[str, ...]


def dated_facts() -> list[DatedFact]:
    """All facts of the bundled ATT&CK, the oldest first."""
    folder = resolve(find_entry(DATED)).folder
    facts = [DatedFact(*row) for part in PARTS for row in _rows(folder / f"{part}.tsv.gz")]
    return sorted(facts, key=lambda fact: (fact.date, fact))


def kinds() -> dict[str, str]:
    """The kind of each entity that has one."""
    rows = _rows(resolve(find_entry(DATED)).folder / "entities.tsv.gz")
    return {row[0]: row[2] for row in rows}


def newcomers(
    facts: Sequence[DatedFact], kind_of: Mapping[str, str], relation: str, tail_kind: str, first: str, last: str
) -> list[Newcomer]:
    """The entities whose first fact is of the days from `first` to `last`, with their tails of one relation and kind.

    Tails that became known before `first` count; those of one day are in an order that says nothing, and always the
    same.
    """
    began: dict[str, str] = {}
    for fact in sorted(facts, key=lambda fact: fact.date):
        began.setdefault(fact.head, fact.date)
        began.setdefault(fact.tail, fact.date)
    tails = defaultdict(list)
    for fact in facts:
        if fact.relation == relation and kind_of.get(fact.tail) == tail_kind and began[fact.tail] < first:
            tails[fact.head].append(fact)
    return [
        Newcomer(name=name, kind=kind_of[name], date=began[name], tails=_in_order(told))
        for name, told in sorted(tails.items(), key=lambda item: (began[item[0]], item[0]))
        if first <= began[name] <= last
    ]


def _in_order(told: Iterable[DatedFact]) -> tuple[str, ...]:
    def order(fact: DatedFact) -> tuple[str, bytes]:
        return fact.date, hashlib.sha256("\t".join(fact.names).encode()).digest()

    return tuple(fact.tail for fact in sorted(told, key=order))


def _rows(path: Path) -> list[list[str]]:
    with open_text(path) as stream:
        return [line.rstrip("\n").split("\t") for line in Lines(stream, path)][1:]
