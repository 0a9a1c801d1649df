"""Rank every answer of a split, each (entity, role) scored once, within a fixed amount of memory."""

import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Protocol as Interface
from typing import runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from hmem.evaluation.metrics import MRR, metrics
from hmem.evaluation.protocol import PROTOCOLS, Candidates, Protocol
from hmem.evaluation.queries import Queries, queries_of
from hmem.evaluation.ranks import Ranks, filtered_ranks
from hmem.graph.dataset import Dataset
from hmem.graph.neighborhoods import Neighborhoods
from hmem.model.index import FrozenIndex
from hmem.model.query import Query

BUDGET = 128 * 2**20  # bytes; a matrix then has at most 32 MiB, which the allocator reuses instead of asking anew
CUDA_BUDGET = 2**30
COPIES = 4  # score matrices alive at once in the worst case
TIMED = (4, 16)  # questions to warm up with, and those by which it is found how long one takes
ENOUGH = 50  # questions of a validation, for which it may take longer
LONGER = 3  # times
FEWEST = 10  # questions, however long they take


@runtime_checkable
class Scorer(Interface):
    """What models and baselines share: a score for every entity as the answer to each query. Higher is better."""

    @property
    def device(self) -> torch.device: ...

    def score(self, entities: Int[Tensor, " B"], roles: Int[Tensor, " B"]) -> Float[Tensor, "B E"]: ...


@runtime_checkable
class Counting(Interface):
    """A model whose scores no process has all of: it compares the candidates with the true answers itself."""

    @property
    def device(self) -> torch.device: ...

    @property
    def width(self) -> int:
        """The most scores that a process has of a question."""
        ...

    def count(
        self, query: Query, row: Int[Tensor, " K"], filtered: Int[Tensor, " K"]
    ) -> tuple[Int[Tensor, " B"], Int[Tensor, " B"]]:
        """How many entities are better answers than the target, and how many others as good; `filtered` ones, each of
        the question in its `row`, aside."""
        ...


def evaluate(
    scorer: Scorer, dataset: Dataset, queries: Queries, *, protocols: Sequence[Protocol] = PROTOCOLS
) -> dict[Protocol, Ranks]:
    """The rank of every query's answer, in the order of `queries`, in each protocol."""
    candidates = [Candidates(protocol, dataset) for protocol in protocols]
    return rank_queries(scorer, queries, dataset.filter_graph(), candidates)


def counted_ranks(scorer: Counting, queries: Queries, filtered: Neighborhoods) -> Ranks:
    """The rank of every query's answer among all entities, whose scores are in several processes."""
    ranks = Ranks(*(np.empty(len(queries), dtype=np.int64) for _ in range(3)))
    most_rows, num_entities = rows_per_chunk(scorer, scorer.width), len(filtered.offsets) - 1
    for low in range(0, len(queries), most_rows):
        some = slice(low, low + most_rows)
        entities, roles, targets = (each[some] for each in (queries.entities, queries.roles, queries.targets))
        row, others = filtered.answers_of_each(entities, roles)
        is_other = others != targets[row]
        given = (torch.as_tensor(each, device=scorer.device) for each in (entities, roles, targets))
        leave = (torch.as_tensor(each[is_other], device=scorer.device) for each in (row, others))
        better, level = (each.cpu().numpy() for each in scorer.count(Query(*given), *leave))
        ranks.optimistic[some], ranks.pessimistic[some] = 1 + better, 1 + better + level
        ranks.candidates[some] = num_entities - np.bincount(row[is_other], minlength=len(targets))
    return ranks


def rank_queries(
    scorer: Scorer, queries: Queries, filtered: Neighborhoods, candidates: Sequence[Candidates]
) -> dict[Protocol, Ranks]:
    """The same with the answers to leave out of a ranking in `filtered`, and the candidates of each protocol."""
    num_entities = candidates[0].num_entities
    # Sorted by role, so that queries with the same candidates are neighbors; equal (entity, role) fall together.
    keys = queries.roles * num_entities + queries.entities
    groups, group_of = np.unique(keys, return_inverse=True)
    group_role, group_entity = np.divmod(groups, num_entities)
    order = np.argsort(group_of, kind="stable")
    most_rows = rows_per_chunk(scorer, num_entities)
    ranked = {each.protocol: Ranks(*(np.empty(len(queries), dtype=np.int64) for _ in range(3))) for each in candidates}
    for start in range(0, len(groups), most_rows):
        stop = min(start + most_rows, len(groups))
        with torch.inference_mode():
            entities = torch.as_tensor(group_entity[start:stop], device=scorer.device)
            roles = torch.as_tensor(group_role[start:stop], device=scorer.device)
            scores = scorer.score(entities, roles)  # (G, E)
        first, last = np.searchsorted(group_of[order], [start, stop])
        asked = order[first:last]
        # The first query of each group finds its row in place; the others, which are few, get a copy of theirs.
        leads = np.diff(group_of[asked], prepend=-1) != 0
        for some in (asked[leads], asked[~leads]):
            for at in range(0, len(some), most_rows):  # a group may have more answers than rows fit
                rows = some[at : at + most_rows]
                _rank_chunk(scores, start, rows, group_of, queries, filtered, candidates, ranked)
    return ranked


class Validator:
    """Validation MRR, by which training chooses the best weights: protocol `all`, the same sample of queries each time.

    Everything it needs is prepared once. If it may take some `seconds` only, the sample is made smaller when the first
    questions have shown how long one takes.
    """

    def __init__(
        self,
        dataset: Dataset,
        sample: int | None,
        device: torch.device | str = "cpu",
        seconds: float | None = None,
    ) -> None:
        queries = queries_of(dataset, "valid")
        self.num_facts = len(dataset.valid)
        self.seconds, self.pace = seconds, 0.0  # seconds that a question took the last time
        self.queries = queries if sample is None else queries.sample(sample)
        self.filtered = dataset.filter_graph()
        self.candidates = [Candidates("all", dataset)]
        self.graph = FrozenIndex(dataset.inference_graph("train"), device)

    def __call__(self, scorer: Scorer | Counting) -> float:
        if self.seconds is not None and not self.pace:
            self._shorten(scorer, self.seconds)
        began = time.perf_counter()
        metric = self.measure(scorer, self.queries)
        self.pace = max(1e-6, (time.perf_counter() - began) / len(self.queries))
        return metric

    def measure(self, scorer: Scorer | Counting, queries: Queries) -> float:
        """The MRR of these questions."""
        if isinstance(scorer, Counting):
            return metrics(counted_ranks(scorer, queries, self.filtered), queries.sides)[MRR]
        ranks = rank_queries(scorer, queries, self.filtered, self.candidates)
        return metrics(ranks["all"], queries.sides)[MRR]

    def _shorten(self, scorer: Scorer | Counting, seconds: float) -> None:
        """Ask no more questions than there is time for."""
        for count in TIMED:
            began = time.perf_counter()
            self.measure(scorer, self.queries.sample(count))
            took = time.perf_counter() - began
            pace = max(1e-6, took / min(count, len(self.queries)))
            if took > seconds:
                break
        fitting = int(seconds / pace)
        self.queries = self.queries.sample(max(FEWEST, fitting, min(ENOUGH, LONGER * fitting)))

    @property
    def num_questions(self) -> int:
        """How many different ones there are: of those with several answers each is asked once."""
        return len(np.unique(np.stack([self.queries.entities, self.queries.roles]), axis=1).T)


def rows_per_chunk(scorer: Scorer | Counting, num_entities: int) -> int:
    """How many queries can be scored at once within the memory that there is for it."""
    budget = CUDA_BUDGET if scorer.device.type == "cuda" else BUDGET
    return max(1, budget // (COPIES * 4 * num_entities))


def _rank_chunk(
    scores: Float[Tensor, "G E"],
    first_group: int,
    asked: Int[np.ndarray, " Q"],
    group_of: Int[np.ndarray, " all"],
    queries: Queries,
    filtered: Neighborhoods,
    candidates: Sequence[Candidates],
    ranked: dict[Protocol, Ranks],
) -> None:
    """Rank the queries `asked`, whose groups are rows of `scores`, and write the result into `ranked`."""
    device = scores.device
    row = group_of[asked] - first_group
    target = queries.targets[asked]
    filtered_query, filtered_entity = filtered.answers_of_each(queries.entities[asked], queries.roles[asked])
    other = filtered_entity != target[filtered_query]
    filtered_query, filtered_entity = filtered_query[other], filtered_entity[other]

    def at(rows: Int[np.ndarray, " n"], entities: Int[np.ndarray, " n"]) -> Float[Tensor, " n"]:
        return scores[torch.as_tensor(rows, device=device), torch.as_tensor(entities, device=device)]

    width = scores.shape[1]
    true_scores = at(row, target)
    filtered_scores = at(row[filtered_query], filtered_entity)
    for each in candidates:
        for run in _runs(queries.roles[asked] if each.depends_on_role else np.zeros(len(asked), dtype=np.int64)):
            columns = each.of(int(queries.roles[asked[run.start]]))
            theirs = slice(*np.searchsorted(filtered_query, [run.start, run.stop]))  # the filtered answers of this run
            of_query, of_scores = filtered_query[theirs] - run.start, filtered_scores[theirs]
            if columns is not None:
                allowed = np.isin(filtered_entity[theirs], columns)
                of_query, of_scores = of_query[allowed], of_scores[torch.as_tensor(allowed, device=device)]
            optimistic, pessimistic = filtered_ranks(
                _rows_and_columns(scores, row[run], columns),
                true_scores[run],
                torch.as_tensor(of_query, device=device),
                of_scores,
            )
            here = asked[run]
            ranked[each.protocol].optimistic[here] = optimistic.cpu().numpy()
            ranked[each.protocol].pessimistic[here] = pessimistic.cpu().numpy()
            total = width if columns is None else len(columns)
            removed = np.bincount(of_query, minlength=len(here))
            ranked[each.protocol].candidates[here] = total - removed


def _rows_and_columns(
    scores: Float[Tensor, "G E"], rows: Int[np.ndarray, " Q"], columns: Int[np.ndarray, " C"] | None
) -> Float[Tensor, "Q C"]:
    """The scores of the candidates, one row per query, copying only where it is needed."""
    if not np.array_equal(rows, np.arange(rows[0], rows[0] + len(rows))):
        scores = scores.index_select(0, torch.as_tensor(rows, device=scores.device))
    else:
        scores = scores[rows[0] : rows[0] + len(rows)]
    if columns is None:
        return scores
    return scores.index_select(1, torch.as_tensor(columns, device=scores.device))


def _runs(values: Int[np.ndarray, " Q"]) -> list[slice]:
    """The stretches of equal values."""
    cuts = np.flatnonzero(np.diff(values)) + 1
    bounds = [0, *cuts.tolist(), len(values)]
    return [slice(first, last) for first, last in pairwise(bounds)]
