"""The validation metric by which training chooses the best weights."""

import torch

from hmem.evaluation.evaluate import Scorer, rank_queries
from hmem.evaluation.metrics import MRR, metrics
from hmem.evaluation.protocol import Candidates
from hmem.evaluation.queries import queries_of
from hmem.graph.dataset import Dataset
from hmem.model.index import FrozenIndex


class Validator:
    """Validation MRR, protocol `all`, on the same sample of queries each time; everything it needs is prepared once."""

    def __init__(self, dataset: Dataset, sample: int | None, device: torch.device | str = "cpu") -> None:
        queries = queries_of(dataset, "valid")
        self.queries = queries if sample is None else queries.sample(sample)
        self.filtered = dataset.filter_graph()
        self.candidates = [Candidates("all", dataset)]
        self.graph = FrozenIndex(dataset.inference_graph("train"), device)

    def __call__(self, scorer: Scorer) -> float:
        ranks = rank_queries(scorer, self.queries, self.filtered, self.candidates)
        return metrics(ranks["all"], self.queries.sides)[MRR]
