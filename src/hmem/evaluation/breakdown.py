"""Metrics by kind of query: by relation, by degree, by whether the answer is linked already."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Int

from hmem.evaluation.queries import Queries
from hmem.evaluation.ranks import Ranks
from hmem.graph.dataset import Dataset
from hmem.graph.neighborhoods import Neighborhoods

DEGREE_BINS = ((0, 0), (1, 1), (2, 3), (4, 7), (8, 15), (16, 63), (64, None))

Summary = dict[str, float | int]  # the count is a whole number
Breakdown = dict[str, dict[str, Summary]]


def breakdown(dataset: Dataset, graph: Neighborhoods, queries: Queries, ranks: Ranks) -> Breakdown:
    """MRR and Hits by relation, by degree of the asked entity, by whether both ends were seen in training, and by
    whether the answer is linked: does it already stand somewhere in the entity's memory?"""
    degrees = graph.degrees(queries.entities)
    is_linked = linked(graph, queries)
    seen = np.zeros(dataset.num_entities, dtype=bool)
    seen[dataset.train[:, [0, 2]].ravel()] = True
    both_seen = seen[queries.entities] & seen[queries.targets]
    relations = queries.roles % dataset.num_relations
    return {
        "linked": dict(_parts(ranks, [("linked", is_linked), ("unlinked", ~is_linked)])),
        "degree": dict(_parts(ranks, _degree_parts(degrees))),
        "linked by degree": dict(_parts(ranks, [(name, rows & is_linked) for name, rows in _degree_parts(degrees)])),
        "entities": dict(_parts(ranks, [("seen", both_seen), ("unseen", ~both_seen)])),
        "relation": dict(_parts(ranks, _relation_parts(dataset, relations))),
    }


def linked(graph: Neighborhoods, queries: Queries) -> Bool[np.ndarray, " Q"]:
    """Whether the answer is a neighbor of the asked entity, in whatever role."""
    pairs = queries.entities * graph.num_entities + queries.targets
    return np.isin(pairs, graph.owners * graph.num_entities + graph.fillers)


def summary(ranks: Ranks) -> Summary:
    realistic = ranks.realistic
    return {
        "count": len(realistic),
        "mrr": round(float((1 / realistic).mean()), 4),
        "hits@1": round(float((realistic <= 1).mean()), 4),
        "hits@10": round(float((realistic <= 10).mean()), 4),
        "mr": round(float(realistic.mean()), 1),
    }


def _parts(ranks: Ranks, parts: list[tuple[str, Bool[np.ndarray, " Q"]]]) -> Iterator[tuple[str, Summary]]:
    for name, rows in parts:
        if rows.any():
            yield name, summary(ranks.select(rows))


def _degree_parts(degrees: Int[np.ndarray, " Q"]) -> list[tuple[str, Bool[np.ndarray, " Q"]]]:
    parts = []
    for low, high in DEGREE_BINS:
        name = f"{low}+" if high is None else str(low) if low == high else f"{low}–{high}"
        parts.append((name, (degrees >= low) & (degrees <= (np.inf if high is None else high))))
    return parts


def _relation_parts(dataset: Dataset, relations: Int[np.ndarray, " Q"]) -> list[tuple[str, Bool[np.ndarray, " Q"]]]:
    asked, counts = np.unique(relations, return_counts=True)
    by_count = asked[np.argsort(-counts, kind="stable")]
    return [(dataset.vocab.relations[int(relation)], relations == relation) for relation in by_count.tolist()]
