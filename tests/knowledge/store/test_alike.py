"""A file and PostgreSQL, changed in the same ways: each call gives the same, and all rows are the same in the end."""

import random
from collections.abc import Callable
from contextlib import ExitStack
from datetime import date

import pytest

from hmem.errors import HMemError
from hmem.graph.values import Value
from hmem.knowledge.store.records import Names3
from hmem.knowledge.store.store import Store
from tests.knowledge.store.conftest import new_base
from tests.knowledge.stores import all_rows

ENTITIES = [
    "a",
    "B",
    "b",
    "é",
    "É",
    "%",
    "_",
    "'q",
    "İstanbul",
    "ß",
    "\N{WOLF FACE}",
    "x" * 300,
    "10",
    "9",
    " z",
    "NULL",
]
RELATIONS, PROPERTIES, MODELS = ["r", "S", "ş"], ["h", "H", "w%"], ["m@1", "m@2", "m%"]
NUMBERS = ["1.5", "NaN", "INF", "-INF", "1e400", "0", "123456789012345678901234567890"]
VALUES = [
    *(Value(text=text, datatype="double") for text in NUMBERS),
    Value(text="2", datatype="integer", unit="m"),
    Value(text="2020-01-01", datatype="date"),
    Value(text="", datatype="string"),
    *(Value(text="Äb", datatype="string", language=language) for language in (None, "de", "EN")),
]
STRETCHES: list[dict[str, str]] = [{}, {"valid_from": "1999", "valid_until": "2001"}, {"valid_from": "2000-02-29"}]
Call = Callable[[Store], object]


def a_write(chance: random.Random, moment: int) -> Call:
    facts: list[Names3] = [
        (chance.choice(ENTITIES), chance.choice(RELATIONS), chance.choice(ENTITIES)) for _ in range(chance.randrange(5))
    ]
    one, other = chance.choice(ENTITIES), chance.choice(ENTITIES)
    what, model, share = chance.choice(PROPERTIES), chance.choice(MODELS), chance.random()
    values, undone = chance.sample(VALUES, chance.randrange(4)), chance.randint(0, moment + 1)
    said = {"confidence": chance.choice([None, 0.1 + 0.2, 1.0, 0.0]), **chance.choice(STRETCHES)}
    relation, labels = chance.choice(RELATIONS), {"label": other, "aliases": [other.lower(), f"X {one}"], "kind": what}
    calls: list[Call] = [
        lambda store: store.add(facts, source="%s", **said),  # type: ignore[arg-type]
        lambda store: store.add(facts, inferred_by=model, probability=share),
        lambda store: store.add(facts, by_label=True),
        lambda store: store.remove(facts),
        lambda store: store.revise(facts, **said),  # type: ignore[arg-type]
        lambda store: store.merge(one, other),
        lambda store: store.undo(undone),
        lambda store: store.withdraw(model=model.partition("@")[0], below=share),
        lambda store: store.values.set(one, what, values),
        lambda store: store.naming.describe("entity", one, **labels),  # type: ignore[arg-type]
        lambda store: store.naming.describe("relation", relation, inverse=other, description="d"),
        lambda store: store.naming.describe("property", what, label=other),
        lambda store: store.set_meta(note=other),
    ]
    return chance.choice(calls)


def reads(chance: random.Random, moment: int) -> list[Call]:
    name, then = chance.choice(ENTITIES), chance.randint(0, moment + 1)
    return [
        lambda store: all_rows(store),
        lambda store: list(store.listing(newest_first=True, limit=5)),
        lambda store: list(store.listing(head=name)),
        lambda store: list(store.listing(at=date(2000, 3, 1), as_of=then)),
        lambda store: list(store.listing(inferred=True)),
        lambda store: store.history(tail=name),
        lambda store: store.writes(5),
        lambda store: store.models(),
        lambda store: list(store.facts(as_of=then)),
        lambda store: store.check(),
    ]


def outcome(call: Call, store: Store) -> str:
    try:
        return repr(call(store))
    except HMemError as error:
        return f"{type(error).__name__} {error}".replace(str(store.path), "")


@pytest.mark.parametrize("seed", range(2))
def test_what_is_done_to_both_gives_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance, clock = random.Random(seed), 1_700_000_000_000_000_000
    with ExitStack() as stack:
        places = [stack.enter_context(new_base(engine)) for engine in ("sqlite", "postgres")]
        stores = [stack.enter_context(Store.create(place)) for place in places]
        for step in range(60):
            clock += chance.choice([1, 1000, -50]) * 10**9  # now and then it goes back
            monkeypatch.setattr("time.time_ns", lambda now=clock: now)
            calls = [a_write(chance, stores[0].moment)]
            if step % 10 == 9:
                calls += reads(chance, stores[0].moment)
            for call in calls:
                told, other = (outcome(call, store) for store in stores)
                assert told == other
