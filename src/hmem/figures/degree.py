"""Do answers get better or worse as neighborhoods grow?

The paper says: better for explicit memories, worse for implicit ones (its figure of neighborhood size against MRR,
with a line of best fit, and a table of six bins for FB15K). Here the reciprocal rank of every test query is set against
the number of edges of the entity that is asked about, in both protocols, with the rules beside the models.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from jaxtyping import Float, Int

from hmem.evaluation.evaluate import rank_queries
from hmem.evaluation.protocol import PROTOCOLS, Candidates, Protocol
from hmem.evaluation.queries import queries_of
from hmem.figures.compared_models import CURVE_COLUMNS, ComparedModel, Curve, Kind, curve_columns, curve_of
from hmem.figures.tables import TableRow, Tables, column, grouped, number
from hmem.graph.dataset import Dataset, GraphName

BINS = ("0–99", "100–199", "200–299", "300–399", "400–499", "500+")
BIN_WIDTH = 100
# The paper's table, for its best implicit and explicit model of FB15K.
PAPER = {
    "FB15K": {
        "implicit": (0.862, 0.816, 0.793, 0.702, 0.741, 0.617),
        "explicit": (0.632, 0.746, 0.772, 0.856, 0.835, 0.900),
    }
}
RESAMPLES = 500
LINE_COLUMNS = {"intercept": "intercept", "slope": "slope", "low": "slope_low", "high": "slope_high"}


@dataclass(frozen=True, kw_only=True, slots=True)
class FittedLine:
    """The least-squares line through all queries, with a 95 % interval of its slope.

    The interval is that of a bootstrap over entities: the queries about one hub stand or fall together.
    """

    intercept: float
    slope: float
    low: float
    high: float


@dataclass(frozen=True)
class Bins:
    """The reciprocal ranks of queries, by bins of degrees."""

    queries: Int[np.ndarray, " bins"]
    mrr: Float[np.ndarray, " bins"]  # NaN for a bin without queries
    error: Float[np.ndarray, " bins"]  # the standard error of that mean; NaN where there are too few

    @classmethod
    def of(
        cls, bins: Int[np.ndarray, " Q"], reciprocal: Float[np.ndarray, " Q"], num_bins: int | None = None
    ) -> "Bins":
        counts = np.bincount(bins, minlength=num_bins or 0)
        mrr = np.bincount(bins, reciprocal, len(counts)) / np.where(counts > 0, counts, np.nan)
        squares = np.bincount(bins, (reciprocal - mrr[bins]) ** 2, len(counts))
        return cls(counts, mrr, np.sqrt(squares / np.where(counts > 1, counts * (counts - 1.0), np.nan)))

    @classmethod
    def from_rows(cls, rows: Sequence[TableRow]) -> "Bins":
        return cls(column(rows, "queries").astype(np.int64), column(rows, "mrr"), column(rows, "standard_error"))

    def rows(self) -> list[TableRow]:
        columns = zip(self.queries.tolist(), self.mrr.tolist(), self.error.tolist(), strict=True)
        return [{"mrr": mrr, "standard_error": error, "queries": queries} for queries, mrr, error in columns]


@dataclass(frozen=True, kw_only=True)
class DegreeCurve(Curve):
    """The MRR of one model in one protocol, by the degree of the asked entity."""

    degree: Float[np.ndarray, " bins"]  # mean of the queries in each fine bin
    fine: Bins  # two bins for each doubling of 1 + degree
    six: Bins  # those of the paper
    per_neighbor: FittedLine  # against the degree, as in the paper
    per_doubling: FittedLine  # against log2(1 + degree), which no single hub can tilt


@dataclass(frozen=True, kw_only=True)
class DegreeEffect:
    dataset: str
    graph: GraphName
    num_queries: int
    curves: tuple[DegreeCurve, ...]

    def tables(self) -> Tables:
        fine: list[TableRow] = []
        six: list[TableRow] = []
        lines: list[TableRow] = []
        for curve in self.curves:
            which = curve_columns(self.dataset, self.graph, curve)
            for degree, row in zip(curve.degree.tolist(), curve.fine.rows(), strict=True):
                fine.append({**which, "degree": degree, **row})
            paper = paper_row(self.dataset, curve.kind)
            for neighbors, row, published in zip(BINS, curve.six.rows(), paper, strict=True):
                six.append({**which, "neighbors": neighbors, **row, "paper_mrr": published})
            for against, line in (("degree", curve.per_neighbor), ("log2(1 + degree)", curve.per_doubling)):
                values = {column: getattr(line, name) for name, column in LINE_COLUMNS.items()}
                lines.append({**which, "against": against, **values})
        return {"degree": fine, "degree-bins": six, "degree-lines": lines}

    @classmethod
    def from_tables(cls, tables: Tables, num_queries: int) -> "DegreeEffect":
        """What these tables were made of."""
        six, lines = (grouped(tables[name], *CURVE_COLUMNS) for name in ("degree-bins", "degree-lines"))
        curves = []
        for key, fine in grouped(tables["degree"], *CURVE_COLUMNS).items():
            per_neighbor, per_doubling = (
                FittedLine(**{name: number(line, column) for name, column in LINE_COLUMNS.items()})
                for line in lines[key]
            )
            curves.append(
                DegreeCurve(
                    **curve_of(key),
                    degree=column(fine, "degree"),
                    fine=Bins.from_rows(fine),
                    six=Bins.from_rows(six[key]),
                    per_neighbor=per_neighbor,
                    per_doubling=per_doubling,
                )
            )
        first = tables["degree"][0]
        return cls(
            dataset=str(first["dataset"]),
            graph=cast(GraphName, first["graph"]),
            num_queries=num_queries,
            curves=tuple(curves),
        )


def degree_effect(
    dataset: Dataset,
    models: Sequence[ComparedModel],
    *,
    graph: GraphName = "train",
    sample: int | None = None,
    protocols: Sequence[Protocol] = PROTOCOLS,
) -> DegreeEffect:
    """Rank the test queries, all or a fixed sample of them, and cut the ranks by degree."""
    queries = queries_of(dataset, "test", graph)
    if sample is not None:
        queries = queries.sample(sample)
    neighborhoods = dataset.inference_graph(graph)
    degrees = neighborhoods.degrees(queries.entities)
    filtered = dataset.filter_graph()
    candidates = [Candidates(protocol, dataset) for protocol in protocols]
    curves = []
    for model in models:
        ranks = rank_queries(model.on(neighborhoods), queries, filtered, candidates)
        for protocol, each in ranks.items():
            curves.append(_curve(model, protocol, queries.entities, degrees, 1 / each.realistic))
    return DegreeEffect(dataset=dataset.name, graph=graph, num_queries=len(queries), curves=tuple(curves))


def paper_row(dataset: str, kind: Kind) -> tuple[float, ...]:
    """What the paper prints for the six bins; NaN where it prints nothing."""
    return PAPER.get(dataset, {}).get(kind, (float("nan"),) * len(BINS))


def _curve(
    model: ComparedModel,
    protocol: Protocol,
    entities: Int[np.ndarray, " Q"],
    degrees: Int[np.ndarray, " Q"],
    reciprocal: Float[np.ndarray, " Q"],
) -> DegreeCurve:
    # Two bins for each doubling of 1 + degree: 0, 1, 2, 3–4, 5–6, 7–10, …
    bins = np.unique(np.floor(2 * np.log2(1 + degrees)), return_inverse=True)[1]
    return DegreeCurve(
        name=model.name,
        kind=model.kind,
        protocol=protocol,
        degree=np.bincount(bins, degrees) / np.bincount(bins),
        fine=Bins.of(bins, reciprocal),
        six=Bins.of(np.minimum(degrees // BIN_WIDTH, len(BINS) - 1), reciprocal, len(BINS)),
        per_neighbor=fit(entities, degrees.astype(np.float64), reciprocal),
        per_doubling=fit(entities, np.log2(1 + degrees), reciprocal),
    )


def fit(
    entities: Int[np.ndarray, " Q"], x: Float[np.ndarray, " Q"], y: Float[np.ndarray, " Q"], resamples: int = RESAMPLES
) -> FittedLine:
    """y = intercept + slope · x by least squares over all queries; `x` is the same for all queries of an entity.

    A line through a single x has no slope: NaN.
    """
    _, of_query = np.unique(entities, return_inverse=True)
    center = x.mean()
    centered = x - center  # so that sums of squares lose no digits
    parts = (np.ones_like(x), centered, y, centered**2, centered * y)
    sums = np.stack([np.bincount(of_query, part) for part in parts], axis=1)  # (entities, 5)
    generator = np.random.default_rng(0)
    slopes = []
    for _ in range(resamples):
        drawn = np.bincount(generator.integers(0, len(sums), len(sums)), minlength=len(sums))
        slopes.append(_slope(drawn @ sums))
    low, high = (
        np.nanquantile(slopes, [0.025, 0.975]) if np.isfinite(slopes).any() else np.array([np.nan, np.nan])
    ).tolist()
    slope = _slope(sums.sum(axis=0))
    return FittedLine(intercept=float(y.mean() - slope * center), slope=slope, low=low, high=high)


def _slope(sums: Float[np.ndarray, " 5"]) -> float:
    count, x, y, xx, xy = sums.tolist()
    spread = count * xx - x * x
    return (count * xy - x * y) / spread if spread > 1e-12 * count * count else float("nan")
