from datetime import UTC, datetime

import pandas as pd
import pyarrow as pa
import pytest

from hmem.errors import ConfigError
from hmem.knowledge import results
from hmem.knowledge.results import Neighbor, Neighbors, Prediction, Predictions, Similar, Similars


def prediction(
    rank: int, probability: float | None = None, query: int | None = None, stored: bool = False
) -> Prediction:
    return Prediction(
        head="dog",
        relation="hypernym",
        tail=f"canine{rank}",
        score=-rank / 3,
        probability=probability,
        stored=stored,
        rank=rank,
        query=query,
    )


TABLES = [
    Predictions([prediction(1), prediction(2, stored=True)]),
    Predictions([prediction(1, 0.25, query=0), prediction(1, 0.5, query=1)]),
    Predictions([]),
    Similars([Similar(entity="wolf", similarity=0.5, rank=1)]),
    Similars([Similar(entity="wolf", similarity=0.5, rank=1, query=0)]),
    Neighbors(
        [
            Neighbor(
                head="dog",
                relation="hypernym",
                tail="canine",
                source=None,
                added_at=datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC),
                confidence=0.5,
            )
        ]
    ),
]


@pytest.mark.parametrize("table", TABLES)
def test_every_form_says_the_same(table: results.Table[Prediction]) -> None:
    dicts = table.to_dicts()
    assert [list(row) for row in dicts] == [table.columns] * len(table)
    for row, plain in zip(table, dicts, strict=True):
        assert plain == {name: getattr(row, name) for name in table.columns}
    arrow = table.to_arrow()
    assert arrow.column_names == table.columns
    assert arrow.to_pylist() == dicts
    frame = table.to_pandas()
    assert list(frame.columns) == table.columns
    assert len(frame) == len(table) == len(list(table)) == len(table.rows)
    pd.testing.assert_frame_equal(frame, arrow.to_pandas())


def test_an_empty_table_has_its_columns_and_types() -> None:
    arrow = Predictions([]).to_arrow()
    assert arrow.column_names == ["head", "relation", "tail", "score", "probability", "if_missing", "stored", "rank"]
    assert arrow.schema.field("score").type == pa.float64()
    assert arrow.schema.field("stored").type == pa.bool_()
    assert repr(Predictions([])) == "nothing"


def test_several_questions_have_a_column_for_which() -> None:
    assert Predictions([prediction(1, query=0)]).columns[0] == "query"
    assert "query" not in Predictions([prediction(1)]).columns


def test_rows_and_slices() -> None:
    table = Predictions([prediction(rank) for rank in (1, 2, 3)])
    assert table[0].tail == "canine1"
    assert table[-1].names == ("dog", "hypernym", "canine3")
    assert isinstance(table[:2], Predictions)
    assert table[:2] == Predictions([prediction(1), prediction(2)])
    assert table[1] in table
    assert table != Predictions([])
    assert table != 3


def test_text_shows_percentages_of_calibrated_probabilities_only() -> None:
    plain = repr(Predictions([prediction(1), prediction(2, stored=True)]))
    assert plain == (
        "head  relation  tail     score    stored  rank\n"
        "dog   hypernym  canine1  -0.3333          1\n"
        "dog   hypernym  canine2  -0.6667  yes     2"
    )
    assert "%" not in plain
    assert "12.5%" in repr(Predictions([prediction(1, 0.125)]))


def test_text_is_cut_where_it_gets_too_long() -> None:
    table = Predictions([prediction(rank) for rank in range(1, 26)])
    lines = repr(table).split("\n")
    assert len(lines) == 1 + results.ROWS_SHOWN + 1
    assert lines[-1] == "… 5 more"
    name = "x" * 100
    shown = repr(Similars([Similar(entity=name, similarity=1.0, rank=1)])).split("\n")[1].split()[0]
    assert shown == "x" * (results.WIDEST - 1) + "…"


def test_without_pandas_there_is_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    class NoPandas:
        def to_pandas(self) -> None:
            raise ModuleNotFoundError("No module named 'pandas'")

    monkeypatch.setattr(Predictions, "to_arrow", lambda self: NoPandas())
    with pytest.raises(ConfigError, match=r"to_pandas\(\) needs pandas .*: pip install pandas, or use to_dicts\(\)"):
        Predictions([]).to_pandas()


def test_a_moment_is_shown_to_the_minute() -> None:
    assert results.cell("added_at", datetime(2026, 1, 2, 3, 4, 59, tzinfo=UTC)) == "2026-01-02 03:04"
