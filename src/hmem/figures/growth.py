"""How much better do answers about new entities get as more facts about them arrive?

The paper's figure for WNGen and FBGen: entities that training never saw have empty memories at first; a growing share
of the facts about them is put into the graph, and the test queries are ranked each time. Nothing is trained in between.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from jaxtyping import Float, Int

from hmem.errors import ConfigError, Hint
from hmem.evaluation.evaluate import rank_queries
from hmem.evaluation.metrics import MRR, metrics
from hmem.evaluation.protocol import PROTOCOLS, Candidates, Protocol
from hmem.evaluation.queries import queries_of
from hmem.figures.compared_models import CURVE_COLUMNS, ComparedModel, Curve, curve_columns, curve_of
from hmem.figures.tables import TableRow, Tables, column, grouped
from hmem.graph.dataset import Dataset, GraphName
from hmem.graph.triples import Triples

SHARES = tuple(tenth / 10 for tenth in range(11))


@dataclass(frozen=True, kw_only=True)
class GrowthCurve(Curve):
    mrr: Float[np.ndarray, "draws shares"]


@dataclass(frozen=True, kw_only=True)
class GrowthEffect:
    dataset: str
    graph: GraphName  # with "train+valid", validation facts arrive too
    shares: Float[np.ndarray, " shares"]
    facts: Int[np.ndarray, " shares"]  # how many facts that is
    num_queries: int
    curves: tuple[GrowthCurve, ...]

    def tables(self) -> Tables:
        rows: list[TableRow] = []
        for curve in self.curves:
            which = curve_columns(self.dataset, self.graph, curve)
            for draw, values in enumerate(curve.mrr.tolist()):
                for share, facts, mrr in zip(self.shares.tolist(), self.facts.tolist(), values, strict=True):
                    rows.append({**which, "share": share, "facts": facts, "draw": draw, "mrr": mrr})
        return {"growth": rows}

    @classmethod
    def from_tables(cls, tables: Tables, num_queries: int) -> "GrowthEffect":
        """What these tables were made of."""
        rows = tables["growth"]
        (one_draw, *_) = grouped(rows, "model", "protocol", "draw").values()
        return cls(
            dataset=str(rows[0]["dataset"]),
            graph=cast(GraphName, rows[0]["graph"]),
            shares=column(one_draw, "share"),
            facts=column(one_draw, "facts").astype(np.int64),
            num_queries=num_queries,
            curves=tuple(
                GrowthCurve(**curve_of(key), mrr=column(mine, "mrr").reshape(-1, len(one_draw)))
                for key, mine in grouped(rows, *CURVE_COLUMNS).items()
            ),
        )


def growth_effect(
    dataset: Dataset,
    models: Sequence[ComparedModel],
    *,
    graph: GraphName = "train",
    shares: Sequence[float] = SHARES,
    draws: int = 3,
    sample: int | None = None,
    protocols: Sequence[Protocol] = PROTOCOLS,
) -> GrowthEffect:
    """Rank the test queries with each share of the facts about new entities in the graph.

    A draw is a random order in which the facts arrive; a larger share holds the smaller ones of the same draw.
    """
    arriving = facts_to_come(dataset, graph)
    counts = np.array([round(share * len(arriving)) for share in shares])
    queries = queries_of(dataset, "test", graph)
    if sample is not None:
        queries = queries.sample(sample)
    filtered = dataset.filter_graph()
    candidates = [Candidates(protocol, dataset) for protocol in protocols]
    found = np.empty((len(models), len(protocols), draws, len(shares)))
    for draw in range(draws):
        order = np.random.default_rng(draw).permutation(len(arriving))
        for place, count in enumerate(counts.tolist()):
            if draw > 0 and count in (0, len(arriving)):  # no fact, or all of them: the order does not matter
                found[:, :, draw, place] = found[:, :, 0, place]
                continue
            now = dataset.graph_of(np.concatenate([dataset.train, arriving[order[:count]]]))
            for which, model in enumerate(models):
                ranks = rank_queries(model.on(now), queries, filtered, candidates)
                found[which, :, draw, place] = [metrics(ranks[protocol], queries.sides)[MRR] for protocol in protocols]
    curves = [
        GrowthCurve(name=model.name, kind=model.kind, protocol=protocol, mrr=found[which, place])
        for which, model in enumerate(models)
        for place, protocol in enumerate(protocols)
    ]
    return GrowthEffect(
        dataset=dataset.name,
        graph=graph,
        shares=np.array(shares, dtype=np.float64),
        facts=counts,
        num_queries=len(queries),
        curves=tuple(curves),
    )


def facts_to_come(dataset: Dataset, graph: GraphName) -> Triples:
    """The facts about held-out entities that training did not see."""
    if dataset.observed is None:
        raise ConfigError(
            f"{dataset.name} has no entities held out of training, so none whose memory could grow",
            hint=Hint(text="try WNGen, FBGen or wordnet-mini-gen, or make such a set with", command="hmem data gen"),
        )
    return np.concatenate([dataset.observed, dataset.valid]) if graph == "train+valid" else dataset.observed
