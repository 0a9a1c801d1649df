"""Buckets of values: about equally full, cut at round places, and said in plain words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmem.graph.values import Value, days_of
from hmem.knowledge import buckets
from hmem.knowledge.buckets import Bucketed, Row, bucketed, cuts


def rows(*values: Value, property: int = 0) -> list[Row]:
    """Of as many entities."""
    return [(entity, property, each.text, each.datatype, each.unit, each.number) for entity, each in enumerate(values)]


def one(*values: Value) -> Bucketed:
    (found,) = bucketed(rows(*values))
    return found


def test_numbers_are_cut_at_round_places_into_equal_shares() -> None:
    found = one(*(Value.of(each, "m") for each in range(0, 4000, 37)))
    assert found.words[:2] == ["below 500 m", "of 500 to 1,000 m"]
    assert found.words[-1] == "of 3,500 m or more"
    assert found.key == "m"
    assert np.bincount(found.buckets).tolist() == [14, 14, 13, 14, 13, 14, 13, 14]


def test_dates_are_cut_at_the_beginning_of_years() -> None:
    found = one(*(Value(text=f"{year}-06-30", datatype="xsd:date") for year in range(1900, 1940)))
    assert found.words == [
        "before 1910-01-01",
        "from 1910-01-01 to 1920-01-01",
        "from 1920-01-01 to 1930-01-01",
        "from 1930-01-01 on",
    ]


def test_years_months_and_days_are_looked_for_in_this_order() -> None:
    march, may = days_of("1999-03-10") or 0.0, days_of("1999-05-03") or 0.0
    assert buckets._round_day(march, may) == days_of("1999-04-01")
    assert buckets._round_day(march, march + 3.5) == march + 1
    assert buckets._round_day(march, march + 0.25) == march + 0.25
    assert buckets._round_day(days_of("-0044-12-10") or 0.0, days_of("-0042-12-10") or 0.0) == days_of("-0042-01-01")


def test_booleans_and_texts_that_many_share_are_a_bucket_each() -> None:
    tame = one(*(Value.of(each % 3 == 0) for each in range(30)))
    assert (tame.words, np.bincount(tame.buckets).tolist()) == (["false", "true"], [20, 10])
    color = one(*(Value.of("red" if each % 2 else "blue") for each in range(30)))
    assert color.words == ['"blue"', '"red"']


@pytest.mark.parametrize(
    "values",
    [
        [Value.of(each) for each in range(19)],
        [Value.of(f"text {each}") for each in range(30)],
        [Value.of(7)] * 30,
        [Value.of("same")] * 30,
        [],
    ],
)
def test_what_says_nothing_of_others_has_no_buckets(values: list[Value]) -> None:
    assert bucketed(rows(*values)) == []


def test_each_property_unit_and_kind_of_value_is_apart() -> None:
    meters, feet = ([Value.of(each, unit) for each in range(30)] for unit in ("m", "ft"))
    texts = [Value.of("tall" if each % 2 else "low") for each in range(30)]
    found = bucketed([*rows(*meters), *rows(*feet), *rows(*texts), *rows(*meters, property=1)])
    assert [(each.property, each.key) for each in found] == [(0, "m"), (0, "ft"), (0, "text"), (1, "m")]


NUMBERS = st.lists(st.one_of(st.floats(-1e9, 1e9), st.integers(-5, 5).map(float)), min_size=20, max_size=200)


@pytest.mark.parametrize(("low", "high"), [(0.0, 5e-324), (3e-320, 4e-320), (-1.7e308, -1e308), (1e308, 1.7e308)])
def test_the_ends_of_what_a_float_can_be_are_cut_too(low: float, high: float) -> None:
    assert low < buckets._round_number(low, high) <= high


@given(numbers=NUMBERS)
def test_no_bucket_is_empty_and_none_but_a_crowd_of_equals_is_overfull(numbers: list[float]) -> None:
    given_numbers = np.array(numbers)
    found = cuts(given_numbers, buckets._round_number)
    assert (np.diff(found) > 0).all()
    sizes = np.bincount(np.searchsorted(found, given_numbers, side="right"), minlength=len(found) + 1)
    assert len(sizes) <= buckets.MOST_BUCKETS
    assert (sizes > 0).all()
    most_alike = np.unique(given_numbers, return_counts=True)[1].max()
    share = len(numbers) / min(buckets.MOST_BUCKETS, len(numbers) // buckets.IN_BUCKET)
    assert sizes.max() <= 1.5 * share + 2 * most_alike + 1


@given(low=st.floats(-1e12, 1e12), more=st.floats(1e-6, 1e12))
def test_the_roundest_number_is_above_the_one_and_up_to_the_other(low: float, more: float) -> None:
    if low + more > low:
        assert low < buckets._round_number(low, low + more) <= low + more


def test_the_roundest_numbers() -> None:
    assert buckets._round_number(28_714.0, 33_120.0) == 30_000
    assert buckets._round_number(0.061, 0.068) == 0.065
    assert buckets._round_number(-3.0, 8.0) == 0
    assert buckets._round_number(3.0, 4.0) == 4
