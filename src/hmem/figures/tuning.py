"""How a tuning went: the validation MRR of each training, and the best so far."""

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from hmem.figures.plotting import BLACK, BLUE, GRAY, GREEN, VERMILION, Picture
from hmem.runs.trials import Tried

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEVELS = (("short", BLUE, "o"), ("trained longer", VERMILION, "s"), ("trained to the end", GREEN, "D"))


def tuning_picture(tried: Sequence[Tried], data: str) -> Picture:
    """Trials in their order, by how long they were trained; those that were given up are crosses."""
    seen = [each for each in tried if each.mrr is not None]
    spent = dict(zip([each.number for each in tried], accumulate(each.seconds / 60 for each in tried), strict=True))

    def draw(figure: "Figure") -> None:
        axes = figure.subplots()
        for level, (label, color, marker) in enumerate(LEVELS):
            these = [each for each in seen if each.is_finished and each.level == level]
            if these:
                axes.plot(*_points(these, spent), marker, color=color, label=label)
        lost = [each for each in seen if not each.is_finished]
        if lost:
            axes.plot(*_points(lost, spent), "x", color=GRAY, label="given up")
        finished = [each for each in seen if each.is_finished]
        minutes, mrr = _points(finished, spent)
        axes.step(minutes, list(accumulate(mrr, max)), where="post", color=BLACK, linewidth=1.2, label="best so far")
        axes.set_xlabel("minutes")
        axes.set_ylabel("validation MRR")
        figure.legend(loc="outside upper center", ncols=3)

    caption = f"Tuning on {data}: the validation MRR of {len(seen)} trainings, each at the time at which it ended."
    return Picture(draw=draw, height=3.2, caption=caption)


def _points(tried: Sequence[Tried], spent: dict[int, float]) -> tuple[list[float], list[float]]:
    return [spent[each.number] for each in tried], [each.mrr or 0.0 for each in tried]
