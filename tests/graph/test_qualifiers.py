"""What is said of facts besides their names, from whatever it is given as."""

import math
from datetime import date, datetime

import numpy as np
import pyarrow as pa
import pytest

from hmem.errors import DataError
from hmem.graph.qualifiers import TYPES, Qualifiers, evidence_of, read_column

MAY = date(2019, 5, 1)


@pytest.mark.parametrize(
    "given",
    [
        [MAY, None, date(2018, 1, 1)],
        ["2019-05-01", None, "2018"],
        [datetime(2019, 5, 1, 12), None, 2018],
        pa.array(["2019-05", "", "2018"]),
        pa.array(["2019-05", None, "2018"]).dictionary_encode(),
        pa.chunked_array([["2019-05"], [None, "2018"]]),
        pa.array([MAY, None, date(2018, 1, 1)]),
        pa.array([datetime(2019, 5, 1, 12), None, datetime(2018, 1, 1)]),
    ],
    ids=str,
)
def test_days_in_any_form(given: object) -> None:
    assert read_column("valid_from", given, 3).to_pylist() == [MAY, None, date(2018, 1, 1)]


def test_a_year_ends_with_its_last_day() -> None:
    assert read_column("valid_until", 2019, 2).to_pylist() == [date(2019, 12, 31)] * 2
    assert read_column("valid_until", pa.array([2019, 2018]), 2)[0].as_py() == date(2019, 12, 31)


@pytest.mark.parametrize(
    "given",
    [[0.5, None, 1], pa.array([0.5, None, 1]), pa.array(["0.5", "", "1"]), pa.array([0.5, math.nan, 1]).cast("float")],
    ids=str,
)
def test_confidences_in_any_form(given: object) -> None:
    assert read_column("confidence", given, 3).to_pylist() == [0.5, None, 1.0]


@pytest.mark.parametrize("confidence", [-0.01, 1.01, math.nan, math.inf, True, "0.5", "much", [[0.5]], [math.nan]])
def test_other_confidences_are_refused(confidence: object) -> None:
    with pytest.raises(DataError, match="a confidence is a number from 0 to 1"):
        read_column("confidence", confidence, 1)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"valid_from": ["2019", "May"]}, "expected a day such as .* as valid_from, found 'May'"),
        ({"valid_until": pa.array(["2019", "May"])}, r"row 1 \(counted from 0\): expected a day .* as valid_until"),
        ({"confidence": pa.array(["1", "much"])}, r"row 1 \(counted from 0\): a confidence is a number from 0 to 1"),
        ({"confidence": pa.array([1, 2])}, r"row 1 \(counted from 0\): a confidence is a number from 0 to 1"),
        ({"confidence": [0.5]}, "received 1 confidences for 2 facts; give one for each, or one for all"),
        ({"valid_from": [2019]}, "received 1 values of valid_from for 2 facts"),
        (
            {"valid_from": [2018, 2019], "valid_until": [2018, "2018-12-31"]},
            r"row 1 \(counted from 0\): it ends on 2018-12-31, before it begins on 2019-01-01",
        ),
        ({"inferred_by": "base"}, "give both or neither"),
        ({"probability": [None, 0.5]}, r"row 1 \(counted from 0\): what a model inferred has its probability"),
        ({"inferred_by": 7, "probability": 0.5}, "expected the name of a model"),
    ],
)
def test_what_is_wrong_is_named_with_its_row(given: dict[str, object], reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        Qualifiers.of(2, **given)


def test_a_single_fact_needs_no_number() -> None:
    with pytest.raises(DataError, match=r"^it ends on 2018-12-31, before it begins on 2019-01-01$"):
        Qualifiers.of(1, valid_from=2019, valid_until=2018)


def test_only_asserted_facts_with_some_confidence_are_evidence() -> None:
    table = pa.table(
        {"head": list("abcd"), "confidence": [None, 0.0, 0.5, 1.0], "inferred_by": [None, None, None, "base"]}
    )
    assert evidence_of(table).column("head").to_pylist() == ["a", "c"]
    assert evidence_of(table.select(["head"])).num_rows == 4


def test_what_says_nothing_is_no_column() -> None:
    assert Qualifiers.of(2, confidence=None, valid_from=[None, None]).columns == {}
    assert Qualifiers.of(0, confidence=0.5).columns == {}


def test_rows_as_they_are_stored() -> None:
    said = Qualifiers.of(3, confidence=[0.5, None, 0.25], valid_from="1970-01-02", inferred_by="base", probability=0.5)
    confidence, first, last, model, probability = said.lists(1, 9)
    assert list(TYPES) == ["confidence", "valid_from", "valid_until", "inferred_by", "probability"]
    assert (confidence, first, last) == ([None, 0.25], [1, 1], [None, None])
    assert (model, probability) == (["base", "base"], [0.5, 0.5])
    assert said.select(np.array([True, False, True])).lists(0, 2)[0] == [0.5, 0.25]
