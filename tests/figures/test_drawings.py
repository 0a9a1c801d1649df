"""Every figure has what a reader needs: axes with names, a legend, a caption that says what is drawn."""

from dataclasses import replace

import numpy as np
import pytest

from hmem.figures.capacity import capacity
from hmem.figures.compared_models import compared_model, compared_rules
from hmem.figures.degree import BINS, degree_effect
from hmem.figures.drawings import (
    capacity_picture,
    degree_picture,
    growth_picture,
    harmony_picture,
    traversal_picture,
)
from hmem.figures.growth import growth_effect
from hmem.figures.harmony_surface import harmony_surfaces
from hmem.figures.plotting import Picture
from hmem.figures.traversal import traversal
from hmem.graph.dataset import Dataset
from tests.figures.problems import random_model

pytest.importorskip("matplotlib")

from matplotlib.figure import Figure


def drawn(picture: Picture) -> Figure:
    figure = Figure(layout="constrained")
    picture.draw(figure)
    return figure


def legend(figure: Figure) -> list[str]:
    legends = [*figure.legends, *(axes.get_legend() for axes in figure.axes)]
    return [text.get_text() for each in legends if each is not None for text in each.get_texts()]


def curves(figure: Figure, panel: int) -> dict[str, np.ndarray]:
    """What a panel's lines show, by their label."""
    lines = figure.axes[panel].lines
    return {str(line.get_label()): np.asarray(line.get_ydata(), dtype=float) for line in lines}


def test_capacity() -> None:
    result = capacity(counts=[1, 40], seeds=2, memories=2)
    picture = capacity_picture(result)
    figure = drawn(picture)
    assert legend(figure) == [
        "TPR 100 × 20", "one filler per role", "CConv 2,000", "CConv 100", "Hadamard 2,000", "Hadamard 100",
    ]  # fmt: skip
    assert curves(figure, 0)["TPR 100 × 20"] == pytest.approx(result.curves[0].among_all.mean(axis=0))
    assert curves(figure, 1)["CConv 100"] == pytest.approx(result.curves[3].filtered.mean(axis=0))
    assert all(axes.get_xlabel() for axes in figure.axes)
    assert figure.axes[0].get_ylabel()
    assert "means of 2 seeds with 2 memories each" in picture.caption


def test_degree(toy: Dataset) -> None:
    models = [
        compared_model("tpr", random_model(toy)),
        compared_model("tpr-im", random_model(toy, kind="implicit")),
        compared_rules(toy),
    ]
    result = degree_effect(toy, models)
    picture = degree_picture(result)
    figure = drawn(picture)
    assert legend(figure) == ["tpr (explicit)", "tpr-im (implicit)", "rules"]
    fine = figure.axes[0]
    assert [axes.get_title() for axes in figure.axes[:2]] == ["protocol all", "protocol typed"]
    assert all(axes.get_xlabel() for axes in figure.axes)
    assert fine.get_ylabel() == "MRR"
    line = curves(figure, 1)["_rules"]
    expected = next(curve for curve in result.curves if (curve.name, curve.protocol) == ("rules", "typed"))
    ends = expected.per_doubling.intercept + expected.per_doubling.slope * np.log2(1 + expected.degree[[0, -1]])
    assert line == pytest.approx(ends)
    assert "toy, test, 10 queries." in picture.caption
    assert "paper's table" not in picture.caption
    beside = degree_picture(replace(result, dataset="FB15K", graph="train+valid"))
    assert "Open gray markers: the paper's table" in beside.caption
    assert "validation facts in the graph" in beside.caption


def test_the_axis_of_high_figures_begins_near_the_lowest(toy: Dataset) -> None:
    result = degree_effect(toy, [compared_rules(toy)])

    ones = np.ones(len(BINS))

    def begin(lowest: float) -> float:
        high = [
            replace(curve, fine=replace(curve.fine, mrr=curve.fine.mrr * 0 + lowest), six=replace(curve.six, mrr=ones))
            for curve in result.curves
        ]
        return float(drawn(degree_picture(replace(result, curves=tuple(high)))).axes[0].get_ylim()[0])

    assert begin(0.3) == pytest.approx(-0.03)
    assert begin(0.87) == pytest.approx(0.8 - 0.03 * 0.2)


def test_growth(toy_gen: Dataset) -> None:
    models = [compared_model("recall", random_model(toy_gen)), compared_rules(toy_gen)]
    result = growth_effect(toy_gen, models, draws=2)
    picture = growth_picture(result)
    figure = drawn(picture)
    assert legend(figure) == ["recall", "rules"]
    assert curves(figure, 1)["recall"] == pytest.approx(result.curves[1].mrr.mean(axis=0))
    assert all(axes.get_xlabel() for axes in figure.axes)
    assert f"all {result.facts.max()} observed facts" in picture.caption
    assert "observed and validation facts" in growth_picture(replace(result, graph="train+valid")).caption


def test_growth_shows_the_highest_point_of_every_panel(toy_gen: Dataset) -> None:
    result = growth_effect(toy_gen, [compared_rules(toy_gen)], shares=[0.0, 1.0], draws=1)
    low, high = result.curves
    taller = replace(result, curves=(replace(low, mrr=low.mrr * 0 + 0.5), replace(high, mrr=high.mrr * 0 + 0.7)))
    for axes in drawn(growth_picture(taller)).axes:
        assert axes.get_ylim()[1] == pytest.approx(1.05 * 0.7)


def test_one_protocol_is_one_panel(toy_gen: Dataset) -> None:
    result = growth_effect(toy_gen, [compared_rules(toy_gen)], shares=[0.0, 1.0], draws=1, protocols=["all"])
    assert len(drawn(growth_picture(result)).axes) == 1


def test_harmony() -> None:
    result = harmony_surfaces(resolution=9)
    figure = drawn(harmony_picture(result))
    assert [axes.get_title() for axes in figure.axes[:2]] == ["λ = 1.1", "λ = 6"]
    assert legend(figure) == ["optima of all λ", "memory", "optimum"]
    for axes, surface in zip(figure.axes[:2], result.surfaces, strict=True):
        points = {str(line.get_label()): line.get_xydata() for line in axes.lines}
        assert np.asarray(points["memory"]).ravel() == pytest.approx(result.memory)
        assert np.asarray(points["optimum"]).ravel() == pytest.approx(surface.optimum)


def test_traversal(toy: Dataset) -> None:
    result = traversal(toy, sample=40)
    picture = traversal_picture(result)
    figure = drawn(picture)
    assert [text.split(" (")[0] for text in legend(figure)] == [
        "TPR 100 × 20", "CConv 2,000", "Hadamard 2,000", "among the first ten",
    ]  # fmt: skip
    assert "a sample of 40 links" in picture.caption
    assert "all 80 links" in traversal_picture(traversal(toy)).caption
    label = legend(figure)[0]
    assert curves(figure, 0)[label] == pytest.approx(result.curves[0].first)
    assert figure.axes[1].get_xlabel() == "links of the entity"
