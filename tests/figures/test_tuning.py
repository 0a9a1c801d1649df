"""The picture of a tuning."""

import numpy as np
import pytest

from hmem.figures.tuning import tuning_picture
from hmem.runs.trials import Tried

pytest.importorskip("matplotlib")

from tests.figures.test_drawings import curves, drawn, legend


def tried(number: int, mrr: float | None, level: int = 0, ended: str = "time") -> Tried:
    return Tried(number=number, settings={}, mrr=mrr, seconds=60.0, level=level, ended=ended)


def test_the_legend_is_not_cut_off() -> None:
    trials = [tried(0, 0.2), tried(1, 0.1, ended="given up"), tried(2, 0.3, level=1), tried(3, 0.4, level=2)]
    figure = drawn(tuning_picture(trials, "zoo.tsv"))
    figure.canvas.draw()
    box, width = figure.legends[0].get_window_extent(), figure.bbox.width
    assert len(legend(figure)) == 5
    assert 0 <= box.x0 < box.x1 <= width


def test_each_training_stands_where_it_ended() -> None:
    trials = [tried(0, 0.2), tried(1, 0.1, ended="given up"), tried(2, None, ended="failed: no"), tried(3, 0.4)]
    picture = tuning_picture([*trials, tried(4, 0.3, level=1)], "zoo.tsv")
    figure = drawn(picture)
    assert legend(figure) == ["short", "trained longer", "given up", "best so far"]
    shown = curves(figure, 0)
    assert list(shown["short"]) == [0.2, 0.4]
    assert list(shown["best so far"]) == [0.2, 0.4, 0.4]
    (given_up,) = (line for line in figure.axes[0].lines if line.get_label() == "given up")
    assert np.asarray(given_up.get_xdata()) == [2.0]
    assert "of 4 trainings" in picture.caption
