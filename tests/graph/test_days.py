"""Days as people and files write them."""

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmem.errors import DataError
from hmem.graph.days import EPOCH, stretch, to_day, to_number


@pytest.mark.parametrize(
    ("when", "first", "last"),
    [
        ("2019-05-01", "2019-05-01", "2019-05-01"),
        (date(2019, 5, 1), "2019-05-01", "2019-05-01"),
        (datetime(2019, 5, 1, 23, 59, tzinfo=UTC), "2019-05-01", "2019-05-01"),
        ("2019-05-01T10:00:00Z", "2019-05-01", "2019-05-01"),
        ("2019-05-01 10:00", "2019-05-01", "2019-05-01"),
        (" 2019-05 ", "2019-05-01", "2019-05-31"),
        ("2020-02", "2020-02-01", "2020-02-29"),
        ("2019", "2019-01-01", "2019-12-31"),
        (2019, "2019-01-01", "2019-12-31"),
        (987, "0987-01-01", "0987-12-31"),
        ("+2019-05-00T00:00:00Z", "2019-05-01", "2019-05-31"),  # as Wikidata writes a month
        ("+2019-00-00T00:00:00Z", "2019-01-01", "2019-12-31"),
    ],
)
def test_a_month_and_a_year_are_stretches_of_days(when: object, first: str, last: str) -> None:
    assert [str(day) for day in stretch(when)] == [first, last]


@pytest.mark.parametrize(
    "when", ["", "May 2019", "2019-13", "2019-02-30", "2019-5-1", "19", "01.05.2019", "0000", 0, 10_000, True, 2019.0]
)
def test_what_is_no_day_is_refused(when: object) -> None:
    with pytest.raises(DataError, match=r"expected a day such as 2019-05-01, .*, found "):
        stretch(when)


@given(st.dates())
def test_days_are_numbered_from_1970(day: date) -> None:
    assert to_day(to_number(day)) == day
    assert stretch(str(day)) == (day, day)


def test_the_first_day_is_0() -> None:
    assert to_number(EPOCH) == 0
    assert to_number(date(1969, 12, 31)) == -1
    with pytest.raises((OverflowError, ValueError)):
        to_day(10**9)
