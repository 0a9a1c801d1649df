"""Values: what they are compared by, and what Python's own become."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmem.graph.values import Plain, Value, date_of, days_of


@pytest.mark.parametrize(
    ("plain", "text", "datatype", "number"),
    [
        (3, "3", "xsd:integer", 3.0),
        (True, "true", "xsd:boolean", 1.0),
        (-2.5, "-2.5", "xsd:double", -2.5),
        (float("inf"), "INF", "xsd:double", None),
        (Decimal("1.50"), "1.50", "xsd:decimal", 1.5),
        (date(1970, 1, 2), "1970-01-02", "xsd:date", 1.0),
        (datetime(1970, 1, 1, 12, tzinfo=UTC), "1970-01-01T12:00:00+00:00", "xsd:dateTime", 0.5),
        ("12", "12", "xsd:string", None),
    ],
)
def test_values_of_python(plain: Plain, text: str, datatype: str, number: float | None) -> None:
    value = Value.of(plain)
    assert (value.text, value.datatype, value.number) == (text, datatype, number)


@pytest.mark.parametrize(
    ("text", "datatype", "family"),
    [
        ("7", "xsd:nonNegativeInteger", "number"),
        ("1e3", "http://dbpedia.org/datatype/kilometre", "number"),
        ("POINT(1 2)", "http://www.opengis.net/ont/geosparql#wktLiteral", "text"),
        ("7", "xsd:string", "text"),
        ("seven", "xsd:integer", "text"),
        ("1", "xsd:boolean", "boolean"),
        ("-0044", "xsd:gYear", "date"),
        ("2020-13-01", "xsd:date", "text"),
        ("NaN", "xsd:double", "text"),
    ],
)
def test_what_kind_of_thing_a_value_is(text: str, datatype: str, family: str) -> None:
    assert Value(text=text, datatype=datatype).family == family


@given(day=st.dates())
def test_days_are_those_of_the_calendar_and_back(day: date) -> None:
    days = (day - date(1970, 1, 1)) // timedelta(days=1)
    assert days_of(day.isoformat()) == days
    assert date_of(days) == day.isoformat()


@given(time=st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 1, 1), timezones=st.timezones()))
def test_moments_of_all_time_zones_are_on_one_line(time: datetime) -> None:
    if time.utcoffset() is None or (time.utcoffset() or timedelta()) % timedelta(minutes=1):
        return  # XML Schema has whole minutes
    exact = (time - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(days=1)
    assert days_of(time.isoformat()) == pytest.approx(exact, abs=1e-6)


@given(st.integers(-(10**7), 10**7))
def test_days_before_the_year_one_come_back_too(days: int) -> None:
    assert days_of(date_of(days)) == days


def test_a_year_is_its_first_day() -> None:
    assert days_of("1879") == days_of("1879-01") == days_of("1879-01-01")


def test_what_is_shown() -> None:
    assert Value.of(12, "km").shown == "12 km"
    assert Value(text="loup", datatype="rdf:langString", language="fr").shown == "loup (fr)"


@pytest.mark.parametrize("text", ["2020-13", "2020-00-01", "2020-01-32", "2020-01-01T25:00:00", "2020-01-01T12:60:00Z"])
def test_what_is_no_day(text: str) -> None:
    assert days_of(text) is None
