"""A report names some techniques of a malware that nobody has seen: how well are its other techniques found?

Asks about the malware, tools, groups and campaigns of ATT&CK that came in 2024 and 2025. The graph has what was known
at the end of 2023, and the first 3, 5 or 10 techniques of the one that is asked about; its others are to be found among
all techniques of then. Whatever is chosen, is chosen on the newcomers of 2023 with the graph of 2022 (--year 2023).

    python benchmarks/attack.py [--year 2023] [--methods NAME ...] [--model DIR ...] [--json PATH]

`als` is alternating least squares, as in MITRE's Technique Inference Engine; it needs `pip install implicit`. A model
is a folder that `hmem train` wrote, with or without the newcomers of 2023 to validate with (--write FOLDER makes the
dataset).
"""

import tempfile
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

import hmem
from hmem.evaluation.baselines import Counts, Frequency, Rules
from hmem.graph.dated import dated_facts, kinds, newcomers
from hmem.graph.names import Vocabulary
from hmem.graph.neighborhoods import Neighborhoods

GIVEN = (3, 5, 10)
ASKED = ("malware", "tool", "group", "campaign")
ALS = {"factors": 32, "regularization": 0.1, "alpha": 4.0, "iterations": 20}  # the best on 2023
Matrix = np.ndarray[tuple[int, int], np.dtype[np.float64]]


class Case(NamedTuple):
    """A newcomer, the techniques that are given and those that are to be found, by their places."""

    name: str
    given: list[int]
    hidden: list[int]


class World:
    """What was known at the end of a year, and who came in the next."""

    def __init__(self, year: int) -> None:
        everything, self.kind_of = dated_facts(), kinds()
        first, last = f"{year}-01-01", f"{year}-12-31"
        self.facts = [fact for fact in everything if fact.date < first]
        ends = {fact.head for fact in self.facts} | {fact.tail for fact in self.facts}
        self.techniques = sorted(name for name in ends if self.kind_of.get(name) == "technique")
        self.place = {name: place for place, name in enumerate(self.techniques)}
        found = newcomers(everything, self.kind_of, "uses", "technique", first, last)
        self.newcomers = [each for each in found if each.kind in ASKED]

    def cases(self, given: int) -> list[Case]:
        """Those who have more techniques than are given."""
        places = [(each.name, [self.place[tail] for tail in each.tails]) for each in self.newcomers]
        return [Case(name, tails[:given], tails[given:]) for name, tails in places if len(tails) > given]

    def given_facts(self, case: Case) -> list[tuple[str, str, str]]:
        return [(case.name, "uses", self.techniques[place]) for place in case.given]


Method = Callable[[World, Sequence[Case]], Matrix]


def popularity(world: World, cases: Sequence[Case]) -> Matrix:
    return np.tile(uses(world).sum(0), (len(cases), 1))


def uses(world: World) -> Matrix:
    """Who uses which technique, a row for each."""
    rows: dict[str, list[int]] = {}
    for fact in world.facts:
        if fact.relation == "uses" and fact.tail in world.place:
            rows.setdefault(fact.head, []).append(world.place[fact.tail])
    matrix = np.zeros((len(rows), len(world.techniques)))
    for row, places in enumerate(rows.values()):
        matrix[row, places] = 1
    return matrix


def als(world: World, cases: Sequence[Case], settings: dict[str, Any] = ALS) -> Matrix:
    """Factors of the rows and of the techniques; a new row's are solved for with those of the techniques fixed."""
    from implicit.als import AlternatingLeastSquares
    from scipy.sparse import csr_matrix

    scores = np.zeros((len(cases), len(world.techniques)))
    given = np.zeros_like(scores)
    for row, case in enumerate(cases):
        given[row, case.given] = 1
    for seed in range(5):  # the start is random: the mean of five
        model = AlternatingLeastSquares(**settings, random_state=seed, num_threads=1, dtype=np.float64)
        model.fit(csr_matrix(uses(world)), show_progress=False)
        rows = model.recalculate_user(np.arange(len(cases)), csr_matrix(given))
        scores += rows @ model.item_factors.T
    return scores


def counted(name: str) -> Method:
    """A baseline of hmem."""

    def score(world: World, cases: Sequence[Case]) -> Matrix:
        vocab = Vocabulary()
        new = [fact for case in cases for fact in world.given_facts(case)]
        known, told = (
            np.array([(vocab.entities.add(h), vocab.relations.add(r), vocab.entities.add(t)) for h, r, t in facts])
            for facts in ([fact.names for fact in world.facts], new)
        )
        E, R = len(vocab.entities), len(vocab.relations)
        training, graph = (Neighborhoods.build(each, E, R) for each in (known, np.concatenate([known, told])))
        scorer = {"counts": Counts, "rules": Rules, "frequency": lambda _, graph: Frequency(graph)}[name](
            training, graph
        )
        asked = torch.tensor([vocab.entities.id_of(case.name) for case in cases])
        roles = torch.full_like(asked, vocab.relations.id_of("uses") + R)
        columns = [vocab.entities.id_of(technique) for technique in world.techniques]
        return scorer.score(asked, roles).double().numpy()[:, columns]

    return score


def knowledge_base(model: str | None) -> Method:
    """A knowledge base of what was known: the given facts are added, the question is asked, they are removed."""

    def score(world: World, cases: Sequence[Case]) -> Matrix:
        scores = np.full((len(cases), len(world.techniques)), -np.inf)
        with tempfile.TemporaryDirectory() as folder:
            facts = [fact.names for fact in world.facts]
            with hmem.KnowledgeBase.create(f"{folder}/attack.kb", model=model, facts=facts) as kb:
                for row, case in zip(scores, cases, strict=True):
                    given = world.given_facts(case)
                    kb.add_many(given)
                    for answer in kb.predict(case.name, "uses", k=4000):
                        if answer.tail in world.place:
                            row[world.place[answer.tail]] = answer.score
                    kb.remove_many(given)
        return scores

    return score


METHODS: dict[str, Method] = {
    "popularity": popularity,
    "co-occurrence": counted("counts"),
    "als": als,
    "rules": counted("rules"),
    "base": knowledge_base(None),
}


def metrics(cases: Sequence[Case], scores: Matrix) -> dict[str, float]:
    """Means over the newcomers; the given techniques are no candidates, ties are broken by chance."""
    chance = np.random.default_rng(0).random(scores.shape[1])
    rows = []
    for case, row in zip(cases, scores, strict=True):
        row = row.copy()
        row[case.given] = -np.inf
        order = np.lexsort((chance, -row))
        order = order[: len(order) - len(case.given)] if np.isneginf(row[case.given]).all() else order
        rank = np.empty(len(row), dtype=int)
        rank[np.lexsort((chance, -row))] = np.arange(len(row))
        ranks = np.sort(rank[case.hidden])  # from 0, the other hidden ones among the rivals
        gain = (1 / np.log2(ranks[ranks < 20] + 2)).sum()
        best = (1 / np.log2(np.arange(min(20, len(ranks))) + 2)).sum()
        filtered = ranks - np.arange(len(ranks)) + 1
        rows.append([(ranks < 10).mean(), (ranks < 20).mean(), gain / best, (1 / filtered).mean()])
    names = ("recall@10", "recall@20", "ndcg@20", "mrr")
    return dict(zip(names, np.mean(rows, 0).tolist(), strict=True))
