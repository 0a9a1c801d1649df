"""How each figure looks. Numbers come in, a `Picture` goes out; nothing is computed here.

Bindings have one color each in all figures. Explicit memories are round markers and solid lines, implicit ones square
and dashed, rules black and dotted.
"""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from jaxtyping import Float

from hmem.evaluation.protocol import Protocol
from hmem.figures.capacity import NUM_ENTITIES, NUM_ROLES, Capacity, memory_size, shape_label
from hmem.figures.compared_models import Kind
from hmem.figures.degree import BINS, DegreeEffect, paper_row
from hmem.figures.growth import GrowthEffect
from hmem.figures.harmony_surface import HarmonySurfaces
from hmem.figures.plotting import BLACK, BLUE, GRAY, GREEN, LIGHT, PALETTE, VERMILION, Picture
from hmem.figures.traversal import Traversal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

T = TypeVar("T")

BINDING_COLORS = {"tpr": BLUE, "cconv": VERMILION, "hadamard": GREEN}
BINDING_MARKERS = {"tpr": "o", "cconv": "s", "hadamard": "^"}
KIND_MARKERS: dict[Kind, str] = {"explicit": "o", "implicit": "s", "baseline": "D"}
KIND_DASHES: dict[Kind, str] = {"explicit": "-", "implicit": "--", "baseline": ":"}
PROTOCOL_TITLES: dict[Protocol, str] = {"all": "protocol all", "typed": "protocol typed"}
DEGREE_TICKS = (0, 1, 3, 10, 30, 100, 300, 1000, 3000, 10000)


def capacity_picture(result: Capacity) -> Picture:
    """Two panels: every entity a rival, and only those that are not stored in the same role."""

    def draw(figure: "Figure") -> None:
        every, filtered = figure.subplots(1, 2, sharey=True)
        largest = max(memory_size(curve.config) for curve in result.curves)
        for curve in sorted(result.curves, key=lambda curve: list(BINDING_COLORS).index(curve.config.binding)):
            style = {
                **_binding_style(curve.config.binding),
                "linestyle": "-" if memory_size(curve.config) == largest else "--",
                "label": shape_label(curve.config),
            }
            for axes, shares in ((every, curve.among_all), (filtered, curve.filtered)):
                axes.plot(result.counts, shares.mean(axis=0), markersize=4, **style)
                _band(axes, result.counts.astype(float), shares, style["color"])
        (ceiling,) = every.plot(result.counts, result.ceiling, color=BLACK, linestyle=":", linewidth=1.4, zorder=5)
        every.set_ylabel("bindings that come out first")
        every.set_title("among all entities")
        filtered.set_title("other fillers of the role aside")
        for axes in (every, filtered):
            axes.set_xscale("log")
            axes.set_xlabel("bindings stored in one memory")
            axes.xaxis.set_major_formatter("{x:g}")
            axes.set_ylim(-0.02, 1.03)
            axes.yaxis.set_major_formatter("{x:.0%}")
        lines, names = every.get_legend_handles_labels()
        lines.insert(1, ceiling)  # below the tensor product, so that each binding has a column
        names.insert(1, "one filler per role")
        figure.legend(lines, names, loc="outside upper center", ncols=3)

    seeds = len(result.curves[0].filtered)
    return Picture(
        draw=draw,
        height=3.4,
        caption=f"Retrieval from a memory of random vectors: bindings of {NUM_ROLES} roles to {NUM_ENTITIES} entities "
        f"are summed, and each is asked for by its role. Numbers after a name are the components of the memory; solid "
        f"lines have equally large memories. Lines are means of {seeds} seeds with {result.memories} memories each, "
        f"bands run from the worst seed to the best. Dotted: the most that is possible when a role gives one answer.",
    )


def degree_picture(result: DegreeEffect) -> Picture:
    """MRR against degree with the fitted line, and below it the six bins of the paper, for each protocol."""
    protocols = _distinct([curve.protocol for curve in result.curves])
    names = _distinct([curve.name for curve in result.curves])
    has_paper = any(not math.isnan(paper_row(result.dataset, curve.kind)[0]) for curve in result.curves)

    def draw(figure: "Figure") -> None:
        panels = figure.subplots(2, len(protocols), sharey=True, squeeze=False, height_ratios=(1.25, 1))
        bottom = _bottom(result)
        for column, protocol in enumerate(protocols):
            fine, six = panels[0, column], panels[1, column]
            most = max(int(curve.fine.queries.max()) for curve in result.curves)
            for curve in result.curves:
                if curve.protocol != protocol:
                    continue
                color = _color(names, curve.name, curve.kind)
                style = {"color": color, "marker": KIND_MARKERS[curve.kind], "linestyle": KIND_DASHES[curve.kind]}
                x = 1 + curve.degree
                fine.errorbar(x, curve.fine.mrr, curve.fine.error, fmt="none", ecolor=color, elinewidth=0.8, alpha=0.6)
                area = 8 + 60 * curve.fine.queries / most
                fine.scatter(x, curve.fine.mrr, area, color=color, marker=style["marker"], alpha=0.75, linewidths=0)
                ends, line = np.array([x.min(), x.max()]), curve.per_doubling
                fitted = line.intercept + line.slope * np.log2(ends)
                fine.plot(ends, fitted, color=color, linestyle=style["linestyle"], label=f"_{curve.name}")
                described = curve.name if curve.kind == "baseline" else f"{curve.name} ({curve.kind})"
                fine.plot([], [], **style, label=described)
                places = np.arange(len(BINS))
                six.errorbar(places, curve.six.mrr, curve.six.error, elinewidth=0.8, **style)
                paper = {**style, "color": GRAY, "markerfacecolor": "white", "linewidth": 1}
                six.plot(places, paper_row(result.dataset, curve.kind), **paper)
            fine.set_title(PROTOCOL_TITLES[protocol])
            fine.set_xscale("log")
            low, high = fine.get_xlim()  # of 1 + degree
            ticks = [tick for tick in DEGREE_TICKS if low <= 1 + tick <= high]
            fine.set_xticks(
                [1 + tick for tick in ticks], [f"{tick:,}" for tick in ticks], rotation=45 if len(ticks) > 7 else 0
            )
            fine.minorticks_off()
            fine.set_xlabel("neighbors of the asked entity")
            six.set_xticks(range(len(BINS)), BINS, rotation=45, ha="right", rotation_mode="anchor")
            six.set_xlim(-0.4, len(BINS) - 0.6)
            six.set_xlabel("neighbors, bins of the paper")
            fine.set_ylim(bottom - 0.03 * (1 - bottom), 1 + 0.05 * (1 - bottom))
        for row in panels:
            row[0].set_ylabel("MRR")
        figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3)

    plus = ", validation facts in the graph" if result.graph == "train+valid" else ""
    beside = " Open gray markers: the paper's table." if has_paper else ""
    return Picture(
        draw=draw,
        height=5.4,
        caption=f"MRR against the size of the asked entity's neighborhood: {result.dataset}, test, "
        f"{result.num_queries:,} queries{plus}. Top: two bins for each doubling, larger markers for more queries, bars "
        f"of one standard error, lines fitted to all queries against the logarithm. Bottom: the same in bins of 100."
        + beside,
    )


def _bottom(result: DegreeEffect) -> float:
    """Where the MRR axis begins: at 0, or near the lowest value where all are high and would lie on each other."""
    paper = [paper_row(result.dataset, curve.kind) for curve in result.curves]
    lowest = float(np.nanmin(np.concatenate([bins.mrr for c in result.curves for bins in (c.fine, c.six)] + paper)))
    return 0.0 if lowest < 0.5 else math.floor(10 * lowest - 0.5) / 10


def growth_picture(result: GrowthEffect) -> Picture:
    """MRR against the share of the facts about new entities that have arrived."""
    protocols = _distinct([curve.protocol for curve in result.curves])
    names = _distinct([curve.name for curve in result.curves])
    draws = len(result.curves[0].mrr)

    def draw(figure: "Figure") -> None:
        panels = figure.subplots(1, len(protocols), sharey=True, squeeze=False)[0]
        for axes, protocol in zip(panels, protocols, strict=True):
            for curve in result.curves:
                if curve.protocol != protocol:
                    continue
                color = _color(names, curve.name, curve.kind)
                axes.plot(
                    result.shares,
                    curve.mrr.mean(axis=0),
                    color=color,
                    marker=KIND_MARKERS[curve.kind],
                    linestyle=KIND_DASHES[curve.kind],
                    label=curve.name,
                )
                _band(axes, result.shares, curve.mrr, color)
            axes.set_title(PROTOCOL_TITLES[protocol])
            axes.set_xlabel("share of the facts in memory")
            axes.xaxis.set_major_formatter("{x:.0%}")
        panels[0].set_ylabel("MRR")
        top = 1.05 * max(float(curve.mrr.max()) for curve in result.curves)
        panels[0].set_ylim(-0.03 * top, top)  # of all panels, which share it
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)

    facts = "observed and validation" if result.graph == "train+valid" else "observed"
    return Picture(
        draw=draw,
        height=3.3,
        caption=f"Answers about entities that training never saw, as facts about them arrive: {result.dataset}, test, "
        f"{result.num_queries:,} queries; 100% are all {int(result.facts.max()):,} {facts} facts. Nothing is trained "
        f"in between. Lines are means of {draws} random orders of arrival, bands run from the lowest to the highest.",
    )


def harmony_picture(result: HarmonySurfaces) -> Picture:
    """Contours of each surface, with the memory, the optimum, and the way of the optimum as λ grows."""

    def draw(figure: "Figure") -> None:
        panels = figure.subplots(1, len(result.surfaces), sharex=True, sharey=True, squeeze=False)[0]
        for axes, surface in zip(panels, result.surfaces, strict=True):
            # It is a quadratic form: the root of how far it has fallen grows evenly, and so do its rings.
            fallen = np.sqrt(surface.top - surface.values)
            levels = np.linspace(0, fallen.max(), 13)
            filled = axes.contourf(result.first, result.second, fallen, levels, cmap="viridis_r")
            axes.contour(result.first, result.second, fallen, levels, colors="white", linewidths=0.5, alpha=0.7)
            axes.plot(*result.path.T, color=BLACK, linestyle=":", linewidth=1.4, label="optima of all λ")
            axes.plot(*result.memory, "o", color="white", mec=BLACK, markersize=8, linestyle="none", label="memory")
            axes.plot(
                *surface.optimum, "*", color=VERMILION, mec=BLACK, markersize=14, linestyle="none", label="optimum"
            )
            axes.set_aspect("equal")
            axes.grid(visible=False)
            axes.set_title(f"λ = {surface.stiffness:g}")
            axes.set_xlabel("$m_1$")
            bar = figure.colorbar(filled, ax=axes, location="bottom", shrink=0.9, aspect=28)
            bar.set_ticks(levels[::4].tolist(), labels=[_number(surface.top - level**2) for level in levels[::4]])
            bar.ax.invert_xaxis()  # the highest on the right
            bar.set_label("Harmony")
        panels[0].set_ylabel("$m_2$")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)

    top = float(np.linalg.eigvalsh(result.weight).max())
    return Picture(
        draw=draw,
        height=4.2,
        caption=f"Harmony of the states of a two-dimensional memory, for one belief W (largest eigenvalue {top:.1f}) "
        "and bias, and one memory. With a stiffness λ just above the eigenvalue the surface is a ridge along what W "
        "believes and completion goes far; with a large one it stays near the memory. Dotted: the optima of all λ, "
        "which end in the memory as λ goes to infinity.",
    )


def traversal_picture(result: Traversal) -> Picture:
    """Recall by degree, and below it how many links there are of each degree."""

    def draw(figure: "Figure") -> None:
        recall, links = figure.subplots(2, 1, sharex=True, height_ratios=(3.2, 1))
        for curve in result.curves:
            style = _binding_style(curve.config.binding)
            label = f"{shape_label(curve.config)} ({curve.overall:.1%} of links)"
            recall.plot(result.degree, curve.first, **style, label=label)
            recall.plot(result.degree, curve.first_ten, color=style["color"], linestyle=":", linewidth=1.2)
        recall.plot([], [], color=GRAY, linestyle=":", linewidth=1.2, label="among the first ten")
        recall.set_ylabel("links read back first")
        recall.set_ylim(-0.02, 1.03)
        recall.yaxis.set_major_formatter("{x:.0%}")
        figure.legend(*recall.get_legend_handles_labels(), loc="outside upper center", ncols=2)
        share = result.links / result.links.sum()
        links.bar(result.low, share, width=result.high + 1 - result.low, align="edge", color=LIGHT, edgecolor="white")
        links.set_ylabel("share\nof links")
        links.yaxis.set_major_formatter("{x:.0%}")
        links.set_xscale("log", base=2)
        links.set_xlabel("links of the entity")
        links.xaxis.set_major_formatter("{x:g}")

    asked = "all" if result.num_links == 2 * result.num_facts else "a sample of"
    return Picture(
        draw=draw,
        height=4.4,
        caption=f"A graph stored in untrained memories and read back: {result.dataset}, {result.num_facts:,} facts, "
        f"{asked} {result.num_links:,} links. Each entity's links are superposed over random vectors; a link is asked "
        "for by its role, among all entities, other links of the role aside. Numbers after a name are the components "
        "of a memory. Points stand at the mean of a doubling of the degree.",
    )


PICTURES: dict[type, Callable[[Any], Picture]] = {
    Capacity: capacity_picture,
    DegreeEffect: degree_picture,
    GrowthEffect: growth_picture,
    HarmonySurfaces: harmony_picture,
    Traversal: traversal_picture,
}


def _binding_style(binding: str) -> dict[str, Any]:
    return {"color": BINDING_COLORS[binding], "marker": BINDING_MARKERS[binding]}


def _band(
    axes: "Axes", x: Float[np.ndarray, " n"], values: Float[np.ndarray, "runs n"], color: str | tuple[float, ...]
) -> None:
    """From the lowest run to the highest."""
    axes.fill_between(x, values.min(axis=0), values.max(axis=0), color=color, alpha=0.18, linewidth=0)


def _number(value: float) -> str:
    """With the sign that the axes have."""
    return f"{value:.1f}".replace("-", "−")


def _color(names: Sequence[str], name: str, kind: Kind) -> str:
    return BLACK if kind == "baseline" else PALETTE[list(names).index(name) % len(PALETTE)]


def _distinct(values: Sequence[T]) -> list[T]:
    """Each once, in the order in which they appear."""
    return list(dict.fromkeys(values))
