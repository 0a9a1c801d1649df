"""What does a question cost on a large graph, and what is lost by asking it in a part of the graph?

    python benchmarks/large_graphs.py --facts 1000000             # a graph with planted rules: seconds, memory, MRR
    python benchmarks/large_graphs.py WN18RR FB15K-237            # MRR at 1, 2, 5, 10 and 100 % of the entities
    python benchmarks/large_graphs.py WN18RR --model trained/ --json out.jsonl --plot budget.png

The generated graph has kinds, relations between kinds whose tails are skewed as those of Wikidata are, and relations
that follow from two others by a rule; a tenth of what the rules conclude is held out and asked for. The model is the
one that comes with hmem, unless another is named.
"""

import resource
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from common import arguments, keep
from torch import Tensor

import hmem
from hmem.graph.dataset import Dataset
from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.registry import load_dataset
from hmem.graph.triples import Triples, as_triples
from hmem.model.index import FrozenIndex
from hmem.model.propagation import MOST_EDGES, Propagation
from hmem.model.query import Query

SHARES = (0.01, 0.02, 0.05, 0.1, 1.0)
KINDS = 60


def planted(
    num_facts: int, num_relations: int, seed: int = 0, num_entities: int | None = None
) -> tuple[Triples, Triples, int]:
    """Facts to store, facts to ask for, and the number of entities: a quarter of that of the facts, if not given."""
    num_entities = num_facts // 4 if num_entities is None else num_entities
    stored, held_out = [], []
    for some, is_held_out in planted_pieces(num_facts, num_relations, num_entities, seed):
        stored.append(some[~is_held_out])
        held_out.append(some[is_held_out])
    return as_triples(np.concatenate(stored)), as_triples(np.concatenate(held_out)), num_entities


def planted_pieces(
    num_facts: int, num_relations: int, num_entities: int, seed: int = 0
) -> Iterator[tuple[Triples, np.ndarray]]:
    """The facts of one relation after the other, and which of them are to be asked for."""
    rng = np.random.default_rng(seed)
    sizes = 1 / np.arange(1, KINDS + 1)
    bounds = np.concatenate([[0], np.cumsum(sizes / sizes.sum())]) * num_entities
    kinds = [(int(low), int(high)) for low, high in pairwise(bounds)]
    given = num_relations // 2
    shares = 1 / np.arange(1, given + 1) ** 0.8
    counts = (0.7 * num_facts * shares / shares.sum()).astype(int)
    ends = rng.integers(KINDS, size=(given, 2)) // rng.integers(1, 6, size=(given, 2))  # large kinds more often
    pairs = []
    for relation, ((first, last), count) in enumerate(zip(ends.tolist(), counts.tolist(), strict=True)):
        heads = rng.integers(*kinds[first], size=count)
        low, high = kinds[last]
        pairs.append(np.stack([heads, low + ((high - low) * rng.random(count) ** 3).astype(int)], 1).astype(np.int32))
        yield np.insert(pairs[-1], 1, relation, axis=1), np.zeros(count, dtype=bool)
    for relation in range(given, num_relations):
        left = int(rng.integers(given))
        onward = np.flatnonzero(ends[:, 0] == ends[left, 1])
        right = pairs[int(rng.choice(onward))] if len(onward) else pairs[left][:, ::-1]
        found = np.insert(joined(pairs[left], right, rng, 0.3 * num_facts / (num_relations - given)), 1, relation, 1)
        yield found, rng.random(len(found)) < 0.1


def joined(left: np.ndarray, right: np.ndarray, rng: np.random.Generator, most: float) -> np.ndarray:
    """(x, z) for (x, y) of left and one (y, z) of right each, at most so many."""
    left = left[rng.permutation(len(left))[: int(most)]]
    right = right[np.argsort(right[:, 0], kind="stable")]
    place = np.searchsorted(right[:, 0], left[:, 1]).clip(max=len(right) - 1)
    there = right[place, 0] == left[:, 1]
    return np.unique(np.stack([left[there, 0], right[place[there], 1]], 1), axis=0)


def reciprocal_rank(row: Tensor, target: int, others: np.ndarray) -> float:
    row = row.clone()
    row[torch.from_numpy(others[others != target].astype(np.int64))] = -torch.inf
    better, tied = int((row > row[target]).sum()), int((row == row[target]).sum()) - 1
    return 1 / (1 + better + tied / 2)


def asked(facts: Triples, count: int, num_relations: int) -> list[tuple[int, int, int]]:
    """Questions about a sample of facts, from both ends."""
    drawn = facts[np.random.default_rng(0).permutation(len(facts))[:count]].tolist()
    return [(h, r + num_relations, t) for h, r, t in drawn] + [(t, r, h) for h, r, t in drawn]


def measured(
    score: Callable[[Tensor, Tensor], Tensor], questions: list[tuple[int, int, int]], truth: Neighborhoods
) -> dict[str, float]:
    """MRR and milliseconds of the questions asked one by one."""
    found, seconds = [], []
    for entity, role, target in questions:
        began = time.perf_counter()
        row = score(torch.tensor([entity]), torch.tensor([role]))[0]
        seconds.append(time.perf_counter() - began)
        found.append(reciprocal_rank(row, target, truth.answers(entity, role)))
    return {"mrr": float(np.mean(found)), "milliseconds": 1000 * float(np.median(seconds)),
            "p90": 1000 * float(np.quantile(seconds, 0.9))}  # fmt: skip


def against_budget(dataset: Dataset, model: Propagation, count: int) -> list[dict[str, object]]:
    links, truth = FrozenIndex(dataset.graph_of(dataset.train)).links(), dataset.filter_graph()
    questions = asked(dataset.valid, count, dataset.num_relations)
    rows: list[dict[str, object]] = []
    for share in SHARES:

        def score(entity: Tensor, role: Tensor, share: float = share) -> Tensor:
            if share == 1.0:
                return model.scores(entity, role, links, unreached=-torch.inf)
            near = model.nearby(entity[0], links, max(1, round(share * links.num_entities)), MOST_EDGES)
            return model.scores_nearby(entity, role, near, links.num_entities)

        found = measured(score, questions, truth)
        rows.append({"data": dataset.name, "share": share, "questions": len(questions), **found})
        print("{data}  {share:6.0%}  MRR {mrr:.4f}  {milliseconds:7.1f} ms".format(**rows[-1]), flush=True)
    return rows


def on_a_large_graph(
    num_facts: int, num_relations: int, model: Propagation, count: int, whole: bool
) -> dict[str, object]:
    began = time.perf_counter()
    facts, held_out, num_entities = planted(num_facts, num_relations)
    graph = FrozenIndex(Neighborhoods.build(facts, num_entities, num_relations))
    truth = Neighborhoods.build(np.concatenate([facts, held_out]), num_entities, num_relations)
    made = time.perf_counter() - began
    began = time.perf_counter()
    _ = graph.links().meetings
    indexed = time.perf_counter() - began
    questions = asked(held_out, count, num_relations)

    def score(entity: Tensor, role: Tensor) -> Tensor:
        if whole:
            return model.scores(entity, role, graph.links(), unreached=-torch.inf)
        found: Tensor = model(Query(entity, role), graph)
        return found

    found = measured(score, questions, truth)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    row = {"facts": len(facts), "entities": num_entities, "relations": num_relations, "questions": len(questions),
           **found, "seconds to make": made, "seconds to index": indexed, "GB": memory}  # fmt: skip
    print("\n".join(f"{name:18} {value:,.3f}" if isinstance(value, float) else f"{name:18} {value:,}"
                    for name, value in row.items()))  # fmt: skip
    return row


def draw(rows: list[dict[str, object]], path: Path) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5, 3.2), layout="constrained")
    for name in dict.fromkeys(str(row["data"]) for row in rows):
        own = [row for row in rows if row["data"] == name]
        axes.plot([row["share"] for row in own], [row["mrr"] for row in own], marker="o", label=name)
    axes.set(xscale="log", xlabel="share of the entities that are looked at", ylabel="validation MRR")
    axes.set_xticks(SHARES, [f"{share:.0%}" for share in SHARES])
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("data", nargs="*")
    parser.add_argument("--facts", type=int, help="of a generated graph")
    parser.add_argument("--relations", type=int, default=400, help="of a generated graph")
    parser.add_argument("--whole", action="store_true", help="ask in all of the generated graph, however large")
    parser.add_argument("--questions", type=int, default=200, help="facts that are asked for, from both ends")
    parser.add_argument("--model", default="base")
    parser.add_argument("--plot", type=Path)
    given = parser.parse_args()
    model = hmem.load(given.model, device="cpu").model.eval()
    assert isinstance(model, Propagation)
    rows: list[dict[str, object]] = []
    with torch.inference_mode():
        for name in given.data:
            rows += against_budget(load_dataset(name), model, given.questions)
        if given.facts or not given.data:
            size = given.facts or 1_000_000
            large = on_a_large_graph(size, given.relations, model, given.questions, given.whole)
            keep(large, given.json)
    for row in rows:
        keep(row, given.json)
    if given.plot:
        draw(rows, given.plot)


if __name__ == "__main__":
    main()
