"""What was asserted and what was inferred: each becomes the other in one moment, and the history has it all."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from hmem.errors import DataError, UnknownNameError
from hmem.graph.triples import PARTS
from hmem.knowledge.store.evidence import Evidence
from hmem.knowledge.store.sqlite import loading
from hmem.knowledge.store.store import Store
from tests.knowledge.store.conftest import Engine, new_base
from tests.knowledge.stores import DOG, PAW, WOLF, by_name


@pytest.fixture
def store(engine: Engine) -> Iterator[Store]:
    with new_base(engine) as place, Store.create(place) as made:
        yield made


def infer(store: Store, *facts: tuple[str, str, str], by: str = "base", probability: float = 0.75) -> None:
    store.add(facts, inferred_by=by, probability=probability)


def test_inferred_facts_are_no_evidence_unless_asked(store: Store) -> None:
    store.add([WOLF, DOG], confidence=[None, 0.0])
    infer(store, PAW)
    wolf, _, paw = store.triples().tolist()
    assert store.triples(evidence=Evidence()).tolist() == [wolf]
    assert store.triples(evidence=Evidence(with_inferred=True)).tolist() == [wolf, paw]
    assert store.changes_since(0, 0, 0, evidence=Evidence()).added.tolist() == [wolf]
    assert len(store.changes_since(0, 0, 0).added) == 3
    assert store.table(evidence=Evidence()).num_rows == 1
    assert store.models() == {"base": 1}
    assert store.inferred([WOLF, PAW, ("no", "such", "fact")]) == {PAW: "base"}


@pytest.mark.parametrize("way", ["few", "many", "many anew"])
def test_asserting_an_inferred_fact_makes_it_asserted_in_one_moment(
    store: Store, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if way == "many anew":
        monkeypatch.setattr(loading, "FEWEST_TO_REBUILD", 0)
        monkeypatch.setattr(loading, "SHARE_TO_REBUILD", 0)
    store.add([DOG])
    infer(store, WOLF, PAW)
    if way == "few":
        done = store.add([WOLF, DOG], source="me", valid_from=2019)
    else:
        columns = [pa.array(each) for each in zip(WOLF, DOG, strict=True)]
        done = store.add_columns(*columns, source="me", valid_from=2019)
    assert (len(done.changed), done.unchanged, done.moment) == (1, 1, 3)
    new, old, *_ = store.history(head="wolf")
    assert (new.inferred_by, new.source, str(new.valid_from), new.removed_at) == (None, "me", "2019-01-01", None)
    assert (old.inferred_by, old.probability, old.removed_by, old.removed_at) == ("base", 0.75, "me", new.added_at)
    assert [fact.names for fact in store.listing(inferred=True)] == [PAW]
    assert [fact.names for fact in store.listing(inferred=False)] == [DOG, WOLF]
    assert [fact.names for fact in store.listing(inferred=True, as_of=2)] == [WOLF, PAW]
    changes = store.changes_since(2, 9, 9, evidence=Evidence())
    assert (len(changes.added), len(changes.removed)) == (1, 0)
    changes = store.changes_since(2, 9, 9)
    assert (len(changes.added), len(changes.removed)) == (0, 0)  # it was there, and it is
    assert store.check() == []


def test_what_is_asserted_is_not_inferred_as_well(store: Store) -> None:
    store.add([WOLF])
    infer(store, WOLF)
    assert store.moment == 1
    assert store.models() == {}


def test_inferring_again_keeps_the_latest(store: Store) -> None:
    infer(store, WOLF)
    infer(store, WOLF)
    assert store.moment == 1
    infer(store, WOLF, by="zoo@12345678", probability=0.5)
    (fact,) = store.listing()
    assert (fact.inferred_by, fact.probability, store.moment) == ("zoo@12345678", 0.5, 2)
    assert len(store.history()) == 2


def test_inferred_facts_are_withdrawn_by_model_and_by_probability(store: Store) -> None:
    store.add([DOG])
    infer(store, WOLF, by="zoo@12345678", probability=0.5)
    infer(store, PAW)
    assert store.withdraw(model="zoology").moment == store.moment == 3
    assert len(store.withdraw(below=0.5).changed) == 0
    assert len(store.withdraw(model="zoo", below=0.6, source="me").changed) == 1
    assert store.history(limit=1)[0].removed_by == "me"
    assert [fact.names for fact in store.listing()] == [DOG, PAW]
    assert len(store.withdraw().changed) == 1
    assert by_name(store) == [DOG]
    assert store.check() == []


def test_a_fact_is_revised_in_one_moment(store: Store) -> None:
    store.add([WOLF, DOG], source="book", confidence=0.5, valid_from=2001)
    done = store.revise([WOLF, DOG, PAW[:2] + WOLF[:1]][:2], source="me", valid_until=[2019, None])
    assert (len(done.changed), done.unchanged, done.moment) == (1, 1, 2)
    new, old = store.history(head="wolf")
    assert (str(new.valid_from), str(new.valid_until), new.confidence) == ("2001-01-01", "2019-12-31", 0.5)
    assert (old.valid_until, old.removed_by, old.removed_at) == (None, "me", new.added_at)
    store.revise([WOLF], valid_from="", confidence=1.0)
    (fact,) = store.listing(head="wolf")
    assert (fact.valid_from, str(fact.valid_until), fact.confidence) == (None, "2019-12-31", 1.0)
    assert store.revise([WOLF], confidence=1.0).moment == 3
    with pytest.raises(DataError, match="it would end on 2019-12-31, before it begins on 2020-01-01"):
        store.revise([WOLF], valid_from=2020)
    with pytest.raises(UnknownNameError):
        store.revise([("wulf", *WOLF[1:])], valid_from=2020)
    store.remove([WOLF])
    assert len(store.revise([WOLF], valid_from=2000).changed) == 0
    assert store.check() == []


def test_what_was_not_taken_over_is_counted(store: Store) -> None:
    store.add([WOLF, DOG], valid_from=2001)
    assert store.add([WOLF, DOG], valid_from=2001).kept == 0
    assert store.add([WOLF, DOG, PAW], valid_from=[2002, None, 2003], confidence=0.5).kept == 2
    assert store.add([WOLF, DOG]).kept == 0


def test_a_table_brings_the_origin_of_its_facts(store: Store) -> None:
    rows = dict(zip(PARTS, zip(WOLF, PAW, strict=True), strict=True))
    store.add_table(pa.table({**rows, "inferred_by": ["base", None], "probability": [0.5, None]}))
    assert [fact.names for fact in store.listing(inferred=True)] == [WOLF]


@pytest.mark.parametrize("way", ["few", "many", "many anew"])
def test_a_table_asserts_and_infers_again(store: Store, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    infer(store, WOLF, DOG, PAW)
    said: Any = {"inferred_by": ["base", None, "base"], "probability": [0.5, None, 0.75]}
    if way == "few":
        done = store.add([WOLF, DOG, PAW], **said)
    else:
        monkeypatch.setattr(loading, "FEWEST_TO_REBUILD", 0 if way == "many anew" else 10)
        done = store.add_columns(*(pa.array(each) for each in zip(WOLF, DOG, PAW, strict=True)), **said)
    assert (len(done.changed), done.unchanged, done.moment) == (2, 1, 2)
    assert {fact.names: fact.probability for fact in store.listing()} == {WOLF: 0.5, DOG: None, PAW: 0.75}
    assert [fact.names for fact in store.listing(inferred=False)] == [DOG]
    assert store.check() == []
