"""What all figures share: one style, colors that all readers can tell apart, a caption, and the files they end up in.

Matplotlib is an optional dependency and is looked for only when something is drawn. Figures are made without pyplot, so
drawing needs no display and leaves no state behind.
"""

import importlib
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hmem.errors import ConfigError, Hint
from hmem.sqlite_files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's colors, which stay apart for color-blind readers; markers and dashes repeat what they say.
BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
BLACK, GRAY, LIGHT = "#000000", "#707070", "#D9D9D9"
PALETTE = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)

# Set for a picture 6.6 inches wide; at half of that, a column of a paper, letters are still 5.5 points high.
WIDTH = 6.6
STYLE: dict[str, Any] = {
    "font.size": 11,
    "axes.titlesize": 11,
    "axes.labelsize": 11,
    "legend.fontsize": 10,
    "xtick.labelsize": 10,
    "ytick.labelsize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": LIGHT,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
    "legend.frameon": False,
    "legend.handlelength": 2.4,
    "savefig.dpi": 200,
    "svg.hashsalt": "hmem",  # the same numbers give the same file
}
CAPTION_SIZE = 9
CAPTION_COLUMNS = 98  # letters of that size that fit beside each other


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A figure to be drawn: how, how high in inches, and what stands below it."""

    draw: "Callable[[Figure], None]"
    height: float
    caption: str


def require_matplotlib() -> None:
    """Complain before anything is computed that could not be drawn."""
    _import("matplotlib")


def write_picture(picture: Picture, folder: Path, name: str, *, caption: bool = True) -> list[Path]:
    """Draw the figure and write it as PNG and SVG; returns what was written."""
    matplotlib, module = _import("matplotlib"), _import("matplotlib.figure")
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **STYLE}):
        lines = textwrap.wrap(picture.caption, CAPTION_COLUMNS) if caption else []
        height = picture.height + 1.35 * CAPTION_SIZE / 72 * len(lines)
        figure: Figure = module.Figure(figsize=(WIDTH, height), layout="constrained")
        picture.draw(figure)
        if lines:
            figure.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=CAPTION_SIZE, color="#303030")
        paths = [folder / f"{name}.png", folder / f"{name}.svg"]
        for path, metadata in zip(paths, ({"Software": None}, {"Date": None, "Creator": None}), strict=True):
            with replacing(path) as beside:
                figure.savefig(beside, metadata=metadata)
    return paths


def _import(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        hint = Hint(command="pip install 'hmem[plot]'")
        raise ConfigError("figures need the package matplotlib", hint=hint) from None
