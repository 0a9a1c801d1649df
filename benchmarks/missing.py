"""What share of hidden facts do the first rows of `missing` find, and how true are its percentages?

Hides a tenth of the facts of a graph. Then lists what is likely to be missing about some entities that are heads of
facts: by counting alone (`counts`: all answers by their score), by counting with the calibration that models have
(`counts, calibrated`), by `kb.missing` with the model that comes with hmem (`base`), and, where there are minutes for
training, with a model of the graph. A row is true if its fact was hidden.

    python benchmarks/missing.py [DATA] [--minutes N] [--preset NAME] [--set ...] [--entities 200] [-k 10] [--json PATH]

DATA is a dataset or a file of facts, such as `python benchmarks/debian.py --graph FILE` writes.
"""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from common import arguments, keep
from torch import Tensor

import hmem
from hmem.config import merge, parse_assignments
from hmem.evaluation.baselines import Counts
from hmem.evaluation.calibration import Calibration, calibrate
from hmem.evaluation.role_counts import shares_of_kind
from hmem.evaluation.slots import stored_answers
from hmem.graph.dataset import Dataset, spare_rows
from hmem.graph.triples import mirror_role
from hmem.knowledge.missing import DEPTH, OF_KIND

HIDDEN, VALID = 0.1, 0.1  # shares of the facts; as many are hidden as calibration expects to be missing
EDGES = (0, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.01)  # of the bins of percentages
FEW = 30  # rows of a bin below which it says little
Fact = tuple[int, int, int]


class Row(NamedTuple):
    fact: Fact
    probability: float


class LogCounts:
    """The counts as a model gives its scores: logarithms."""

    device = torch.device("cpu")

    def __init__(self, dataset: Dataset) -> None:
        graph = dataset.inference_graph("train")
        self.counts = Counts(graph, graph)

    def score(self, entities: Tensor, roles: Tensor) -> Tensor:
        return torch.log(self.counts.score(entities, roles).clamp(1e-7, 1.0))

    def log_alone(self, entities: Tensor, roles: Tensor) -> Tensor:
        return self.score(entities, roles)  # what a premise says, it says whatever others say of other answers


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("data", nargs="?", default="wordnet-mini")
    parser.add_argument("--minutes", type=float, default=0.0, help="of training; with 0 there is only counting")
    parser.add_argument("--preset", default="recall")
    parser.add_argument("--set", dest="assignments", action="append", default=[])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--entities", type=int, default=200)
    parser.add_argument("-k", type=int, default=10)
    given = parser.parse_args()
    dataset, hidden = hide(hmem.load_dataset(given.data))
    stored = replace(dataset, train=dataset.inference_triples("train+valid"), valid=dataset.valid[:0])
    asked = np.random.default_rng(0).permutation(np.unique(stored.train[:, 0]))[: given.entities].tolist()
    calibration = calibrate(LogCounts(dataset), dataset)
    counts = LogCounts(stored)
    lists = {
        "counts": [list(rows_of(counts, None, stored, entity, given.k)) for entity in asked],
        "counts, calibrated": [list(rows_of(counts, calibration, stored, entity, given.k)) for entity in asked],
    }
    lists["base"] = list(by_base(stored, asked, given.k))
    if given.minutes:
        settings = merge({"training": {"minutes": given.minutes}}, parse_assignments(given.assignments))
        lists[given.preset] = list(by_model(dataset, stored, given.preset, settings, given.device, asked, given.k))
    for name, found in lists.items():
        line = {"question": "missing", "dataset": dataset.name, "model": name, "k": given.k} | judged(
            asked, found, hidden
        )
        told = f"{line['found']} of {line['hidden']} hidden facts; {line['rows']} rows, {line['true']} of them true"
        print(f"{name}: {told}", flush=True)
        for each in line["bins"]:
            print("   {from:.2f}–{to:.2f}  {rows:5d} rows  said {said:.3f}  true {true:.3f}".format(**each))
        print(f"   furthest off of the bins with {FEW} rows or more: {100 * line['worst']:.1f} points")
        keep(line, given.json)


def hide(dataset: Dataset) -> tuple[Dataset, set[Fact]]:
    """The dataset with all its facts dealt out anew, and those that are hidden."""
    facts = np.random.default_rng(0).permutation(np.unique(dataset.everything(), axis=0))
    spare = spare_rows(facts, round((HIDDEN + VALID) * len(facts)))  # nothing is known of an entity without facts
    facts = np.concatenate([facts[spare], np.delete(facts, spare, axis=0)])
    first, second = (round(share * len(spare)) for share in (HIDDEN / (HIDDEN + VALID), 1))
    hidden = {(head, relation, tail) for head, relation, tail in facts[:first].tolist()}
    dealt = replace(dataset, train=facts[second:], valid=facts[first:second], test=facts[:first])
    return replace(dealt, observed=None, heldout=None), hidden


def rows_of(scorer: LogCounts, calibration: Calibration | None, dataset: Dataset, entity: int, k: int) -> Iterator[Row]:
    """The first k rows about an entity, as `hmem.knowledge.missing` makes them; without calibration, by score."""
    graph, roles = dataset.inference_graph("train"), np.arange(dataset.num_roles)
    scores = scorer.score(torch.full((len(roles),), entity), torch.from_numpy(roles))
    excluded = torch.zeros(scores.shape, dtype=torch.bool)
    for role in roles.tolist():
        excluded[role, torch.from_numpy(graph.answers(entity, role).astype(np.int64))] = True
    log_p = scores.masked_fill(excluded, -torch.inf)
    best = log_p.topk(min(DEPTH, scores.shape[1]))
    values, answer = best.values.double().numpy(), best.indices.reshape(-1).numpy()
    role = np.asarray(np.repeat(roles, values.shape[1]))
    if calibration is None:
        probability = np.exp(values.reshape(-1))
    else:
        lead = np.repeat(values[:, 0], values.shape[1])
        missing = calibration.missing(graph, np.full(len(role), entity), role, lead)
        leads = (np.arange(len(role)) % values.shape[1]) == 0
        answered = stored_answers(graph, np.full(len(role), entity), role)
        probability = calibration.probability(values.reshape(-1), leads, missing, answered)
    kept = 0
    for place in np.lexsort((-values.reshape(-1), -probability)).tolist():
        end, asked = int(answer[place]), int(role[place])
        if calibration is not None and calibration.slots is not None:
            turned = mirror_role(asked, dataset.num_relations)
            held = len(graph.answers(end, turned)) > 0
            if not held and shares_of_kind(calibration.slots.counted, graph, end, np.array([turned]))[0] < OF_KIND:
                continue
        relation = asked % dataset.num_relations
        fact = (entity, relation, end) if asked >= dataset.num_relations else (end, relation, entity)
        yield Row(fact, float(probability[place]))
        kept += 1
        if kept == k:
            return


def by_model(
    dataset: Dataset,
    stored: Dataset,
    preset: str,
    settings: dict[str, object],
    device: str,
    asked: Sequence[int],
    k: int,
) -> Iterator[list[Row]]:
    """The rows of a knowledge base that holds all but the hidden facts, by a model trained with most of them."""
    with tempfile.TemporaryDirectory() as folder:
        hmem.fit(
            replace(dataset, test=dataset.test[:0]), preset, out=f"{folder}/model", settings=settings, device=device
        )
        yield from by_base(stored, asked, k, f"{folder}/model")


def by_base(stored: Dataset, asked: Sequence[int], k: int, model: str | None = None) -> Iterator[list[Row]]:
    """The same by a given model, or by the one that comes with hmem."""
    number, relation = stored.vocab.entities.id_of, stored.vocab.relations.id_of
    names = stored.vocab.entities, stored.vocab.relations
    facts = [(names[0][head], names[1][role], names[0][tail]) for head, role, tail in stored.train.tolist()]
    with (
        tempfile.TemporaryDirectory() as folder,
        hmem.KnowledgeBase.create(f"{folder}/all.kb", model=model, facts=facts) as kb,
    ):
        for entity in asked:
            yield [
                Row((number(row.head), relation(row.relation), number(row.tail)), row.probability or 0.0)
                for row in kb.missing(names[0][entity], k)
            ]


def judged(asked: Sequence[int], lists: Sequence[Sequence[Row]], hidden: set[Fact]) -> dict[str, object]:
    """How many of the hidden facts about the entities are found, and how true percentages are, bin by bin."""
    rows = [row for found in lists for row in found]
    about = {fact for fact in hidden if fact[0] in set(asked)}
    said = np.array([row.probability for row in rows])
    is_true = np.array([row.fact in hidden for row in rows])
    bins = []
    for low, high in pairwise(EDGES):
        inside = (said >= low) & (said < high)
        if inside.any():
            shares = {"said": float(said[inside].mean()), "true": float(is_true[inside].mean())}
            bins.append({"from": low, "to": min(high, 1), "rows": int(inside.sum()), **shares})
    worst = max((abs(each["said"] - each["true"]) for each in bins if each["rows"] >= FEW), default=0.0)
    found = len(about & {row.fact for row in rows})
    return {
        "found": found,
        "true": int(is_true.sum()),
        "hidden": len(about),
        "rows": len(rows),
        "bins": bins,
        "worst": worst,
    }


if __name__ == "__main__":
    main()
