"""Can a graph be walked by memory alone?

The paper's remark on Crawford et al., who store WordNet as sums of bindings over random vectors, untrained, and
traverse it by unbinding. Every fact of a graph is stored here, in both directions, and every link is asked for again:
the entity's memory is unbound with the link's role, and the neighbor should come out first. Other neighbors in the
same role are no rivals, and every entity of the graph is a candidate.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int

from hmem.config import MemoryConfig
from hmem.evaluation.evaluate import rank_queries
from hmem.evaluation.protocol import Candidates
from hmem.evaluation.queries import both_sides
from hmem.figures.capacity import SAME_MEMORY, memory_size, shape_label
from hmem.figures.tables import TableRow, Tables
from hmem.graph.dataset import Dataset
from hmem.model.index import FrozenIndex
from hmem.model.untrained import UntrainedMemory


@dataclass(frozen=True, kw_only=True)
class Recall:
    """How many links one kind of memory gives back, by the degree of the entity that holds them."""

    config: MemoryConfig
    first: Float[np.ndarray, " bins"]  # share of the links that come out first
    first_ten: Float[np.ndarray, " bins"]
    overall: float  # `first` of all links


@dataclass(frozen=True, kw_only=True)
class Traversal:
    dataset: str
    num_facts: int
    num_links: int  # that were asked for
    low: Int[np.ndarray, " bins"]  # the bounds of each bin of degrees, both inclusive
    high: Int[np.ndarray, " bins"]
    degree: Float[np.ndarray, " bins"]  # the mean of the links in it
    links: Int[np.ndarray, " bins"]
    curves: tuple[Recall, ...]

    def tables(self) -> Tables:
        rows: list[TableRow] = []
        for curve in self.curves:
            for place in range(len(self.links)):
                rows.append(
                    {
                        "dataset": self.dataset,
                        "memory": shape_label(curve.config),
                        "binding": curve.config.binding,
                        "memory_size": memory_size(curve.config),
                        "degree_low": int(self.low[place]),
                        "degree_high": int(self.high[place]),
                        "degree_mean": float(self.degree[place]),
                        "links": int(self.links[place]),
                        "recall_first": float(curve.first[place]),
                        "recall_first_ten": float(curve.first_ten[place]),
                    }
                )
        return {"traversal": rows}


def traversal(
    dataset: Dataset,
    configs: Sequence[MemoryConfig] = SAME_MEMORY,
    *,
    sample: int | None = None,
    seed: int = 0,
    device: torch.device | str = "cpu",
    progress: Callable[[Recall], None] = lambda recall: None,
) -> Traversal:
    """Store all facts, whichever split they are in, and read all links back, or a fixed sample of them."""
    whole = replace(dataset, train=dataset.everything(), observed=None, heldout=None)  # every fact is in the graph
    graph = whole.inference_graph("train")
    facts = graph.to_triples()  # each once
    queries = both_sides(facts, dataset.num_relations)
    if sample is not None:
        queries = queries.sample(sample, seed)
    degrees = graph.degrees(queries.entities)
    power, bins = np.unique(np.floor(np.log2(degrees)).astype(np.int64), return_inverse=True)  # 1, 2–3, 4–7, …
    links = np.bincount(bins)
    curves = []
    for config in configs:
        memory = UntrainedMemory(config, dataset.num_entities, dataset.num_relations, FrozenIndex(graph, device), seed)
        ranks = rank_queries(memory, queries, graph, [Candidates("all", whole)])["all"].realistic
        recall = Recall(
            config=config,
            first=np.bincount(bins, ranks <= 1) / links,
            first_ten=np.bincount(bins, ranks <= 10) / links,
            overall=float((ranks <= 1).mean()),
        )
        progress(recall)
        curves.append(recall)
    return Traversal(
        dataset=dataset.name,
        num_facts=len(facts),
        num_links=len(queries),
        low=2**power,
        high=2 ** (power + 1) - 1,
        degree=np.bincount(bins, degrees) / links,
        links=links,
        curves=tuple(curves),
    )
