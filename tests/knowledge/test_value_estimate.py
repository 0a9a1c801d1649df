"""Values that are asked for: by facts where these tell more than the kind, in intervals that hold what they promise."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from hmem.errors import ConfigError, UnknownNameError
from hmem.graph.descriptions import Description
from hmem.graph.values import Value, date_of
from hmem.knowledge.base import KnowledgeBase
from hmem.knowledge.store.records import Names3

PEOPLE = 150
RNG = np.random.default_rng(0)
JOBS = RNG.integers(3, size=PEOPLE)
NOISE = RNG.normal(size=PEOPLE)
FACTS: list[Names3] = [
    *((f"p{each}", "works_as", f"job{job}") for each, job in enumerate(JOBS.tolist())),
    *((f"p{each}", "lives_in", f"town{RNG.integers(10)}") for each in range(PEOPLE)),
]


def made(path: Path, name: str, values: Sequence[Value]) -> KnowledgeBase:
    kb = KnowledgeBase.create(path, facts=[*FACTS, ("new", "works_as", "job2"), ("new", "knows", "p0")])
    kb.store.values.set_all([(f"p{each}", name, value) for each, value in enumerate(values)])
    return kb


@pytest.fixture(scope="module")
def paid(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """Pay that depends on the job."""
    pay = 1000 * 3.0**JOBS * np.exp(0.2 * NOISE)
    with made(tmp_path_factory.mktemp("paid") / "a.kb", "pay", [Value.of(round(each), "€") for each in pay]) as kb:
        yield kb


def test_facts_that_decide_a_value_give_it(paid: KnowledgeBase) -> None:
    found = paid.estimate("new", "pay")
    assert found.by_facts
    assert found.error < 0.6 * found.kind_error
    assert int(found.low) < 9000 < int(found.high)
    assert 6500 < int(found.median) < 13000
    assert int(found.kind_median) < 6000
    fact, step = found.because[0]
    assert (fact, step > 0.1) == (("new", "works_as", "job2"), True)
    assert (found.unit, found.family, found.known, found.stored) == ("€", "number", PEOPLE, ())


def test_the_interval_holds_as_many_as_it_says(paid: KnowledgeBase) -> None:
    found = [paid.estimate(f"p{each}", "pay") for each in range(PEOPLE)]
    inside = [int(each.low) <= int(each.stored[0].split()[0]) <= int(each.high) for each in found]
    assert 0.7 <= np.mean(inside) <= 0.9
    assert found[0].covered == pytest.approx(0.8, abs=0.07)


def test_a_stored_value_is_left_out_of_its_own_estimate(paid: KnowledgeBase, tmp_path: Path) -> None:
    before = paid.estimate("p3", "pay")
    values = [row.as_value() for each in range(PEOPLE) for row in paid.values(f"p{each}", "pay")]
    values[3] = Value.of(int(values[3].text) + 1, "€")  # the rank stays
    with made(tmp_path / "b.kb", "pay", values) as kb:
        after = kb.estimate("p3", "pay")
    assert before.stored != after.stored
    assert abs(int(before.median) - int(after.median)) <= 2
    assert before.known == PEOPLE - 1


def test_where_facts_say_nothing_it_is_the_median_of_the_kind(tmp_path: Path) -> None:
    numbers = [round(100 * each) for each in NOISE.tolist()]
    with made(tmp_path / "a.kb", "luck", [Value.of(each) for each in numbers]) as kb:
        found = kb.estimate("new", "luck")
        assert not found.by_facts
        assert found.because == ()
        assert found.median == found.kind_median
        assert int(found.median) == pytest.approx(np.median(numbers), abs=3)
        assert found.error == found.kind_error


def test_kinds_have_medians_of_their_own(tmp_path: Path) -> None:
    tall = [round(100 * each) + (1000 if place % 2 else 0) for place, each in enumerate(NOISE.tolist())]
    with made(tmp_path / "a.kb", "height", [Value.of(each) for each in tall]) as kb:
        kinds = [Description(id=f"p{each}", kind="odd" if each % 2 else "even") for each in range(PEOPLE)]
        kb.store.naming.describe_all([*kinds, Description(id="new", kind="odd")])
        found = kb.estimate("new", "height")
        assert (found.kind, int(found.kind_median) > 800) == ("odd", True)
        assert int(found.median) > 800
        kb.describe("new", kind="even")
        assert int(kb.estimate("new", "height").kind_median) < 200, "the base has changed"


def test_dates_are_estimated_as_dates(tmp_path: Path) -> None:
    days = [
        Value(text=date_of(float(3650 * job + 300 * each)), datatype="xsd:date")
        for job, each in zip(JOBS, NOISE, strict=True)
    ]
    with made(tmp_path / "a.kb", "born", days) as kb:
        found = kb.estimate("new", "born")
        assert found.family == "date"
        assert "1979" < found.low < "1987" < found.median < found.high < "1993"


def test_what_cannot_be_estimated_is_said(paid: KnowledgeBase) -> None:
    paid.set_value("p0", "motto", "carpe diem")
    with pytest.raises(ConfigError, match='"motto" has 0 numbers or dates of one unit; an estimate takes 20'):
        paid.estimate("p1", "motto")
    with pytest.raises(UnknownNameError, match='no property "salary"'):
        paid.estimate("p1", "salary")
    with pytest.raises(UnknownNameError, match='no entity "p999"'):
        paid.estimate("p999", "pay")
