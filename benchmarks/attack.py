"""A report names some techniques of malware that nobody has seen: how well are its other techniques found?

Asks about the malware, tools, groups and campaigns of ATT&CK that came in 2024 and 2025. The graph has what was known
at the end of 2023, and the first 3, 5 or 10 techniques of the one that is asked about; its others are to be found among
all techniques of then. Whatever was chosen, was chosen on the newcomers of 2023 with the graph of 2022 (--year 2023).

    python benchmarks/attack.py [--year 2023] [--methods NAME ...] [--model NAME=DIR] [--json PATH]
    python benchmarks/attack.py --train DIR [--preset NAME] [--set ...]

The first ranks. `base` is a knowledge base without a model of its own, as it answers. `als` is alternating least
squares, as in MITRE's Technique Inference Engine; without `pip install implicit` it is left out. With --train a model
is trained on the facts until the end of 2023 without the newcomers of 2023, which it is validated with; --model ranks
with it.
"""

import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import torch
from common import arguments, keep

import hmem
from hmem.evaluation.baselines import Counts, Rules
from hmem.graph.dataset import Dataset
from hmem.graph.dated import dated_facts, kinds, newcomers
from hmem.graph.names import Vocabulary
from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.triples import Triples, as_triples

GIVEN = (3, 5, 10)
METRICS = ("recall@10", "recall@20", "ndcg@20", "mrr")
ASKED = ("malware", "tool", "group", "campaign")
ALS = {"factors": 8, "regularization": 20.0, "alpha": 2.0, "iterations": 15}  # the best on 2023 of 105
RANDOM_STARTS = 5
Matrix = np.ndarray[tuple[int, int], np.dtype[np.float64]]


class Case(NamedTuple):
    """A newcomer, the techniques that are given and those that are to be found, by their places."""

    name: str
    given: list[int]
    hidden: list[int]


class World:
    """What was known before a year, and who came from then until the end of another."""

    def __init__(self, year: int, last_year: int) -> None:
        everything, self.kind_of = dated_facts(), kinds()
        first, last = f"{year}-01-01", f"{last_year}-12-31"
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
    for seed in range(RANDOM_STARTS):
        model = AlternatingLeastSquares(**settings, random_state=seed, num_threads=1, dtype=np.float64)
        model.fit(csr_matrix(uses(world)), show_progress=False)
        rows = model.recalculate_user(np.arange(len(cases)), csr_matrix(given))
        scores += rows @ model.item_factors.T
    return scores


def counted(name: str) -> Method:
    """A baseline of hmem."""

    def score(world: World, cases: Sequence[Case]) -> Matrix:
        vocab = Vocabulary()
        known = numbered([fact.names for fact in world.facts], vocab)
        told = numbered([fact for case in cases for fact in world.given_facts(case)], vocab)
        E, R = len(vocab.entities), len(vocab.relations)
        training, graph = (Neighborhoods.build(each, E, R) for each in (known, np.concatenate([known, told])))
        scorer = Counts(training, graph) if name == "counts" else Rules(training, graph)
        asked = torch.tensor([vocab.entities.id_of(case.name) for case in cases])
        roles = torch.full_like(asked, vocab.relations.id_of("uses") + R)
        columns = [vocab.entities.id_of(technique) for technique in world.techniques]
        return scorer.score(asked, roles).double().numpy()[:, columns]

    return score


def numbered(facts: Sequence[tuple[str, str, str]], vocab: Vocabulary) -> Triples:
    """Facts by number; names that are new get one."""
    entities, relations = vocab.entities, vocab.relations
    return as_triples([(entities.add(head), relations.add(rel), entities.add(tail)) for head, rel, tail in facts])


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


def metrics(cases: Sequence[Case], scores: Matrix) -> dict[str, float]:
    """Means over the newcomers. The given techniques are no candidates; ties are broken by chance."""
    chance = np.random.default_rng(0).random(scores.shape[1])
    rows = []
    for case, row in zip(cases, scores.copy(), strict=True):
        row[case.given] = -np.inf
        rank = np.empty(len(row), dtype=int)
        rank[np.lexsort((chance, -row))] = np.arange(len(row))  # from 0
        ranks = np.sort(rank[case.hidden])
        gain = (1 / np.log2(ranks[ranks < 20] + 2)).sum()
        most = (1 / np.log2(np.arange(min(20, len(ranks))) + 2)).sum()
        filtered = ranks - np.arange(len(ranks)) + 1  # without the other hidden ones
        rows.append([(ranks < 10).mean(), (ranks < 20).mean(), gain / most, (1 / filtered).mean()])
    return dict(zip(METRICS, np.mean(rows, 0).tolist(), strict=True))


def train(folder: str, preset: str, assignments: Sequence[str]) -> None:
    """A model of what was known at the end of 2023, validated with the newcomers of that year."""
    world = World(2023, 2023)
    new, cases = {each.name for each in world.newcomers}, world.cases(5)
    known = [fact.names for fact in dated_facts() if fact.date < "2024" and not new & {fact.head, fact.tail}]
    told = [fact for case in cases for fact in world.given_facts(case)]
    asked = [(case.name, "uses", world.techniques[place]) for case in cases for place in case.hidden]
    vocab = Vocabulary()
    parts = [numbered(facts, vocab) for facts in (known, told, asked)]
    heldout = np.unique(vocab.entities.ids_of([case.name for case in cases]))
    names = {"name": "attack, newcomers of 2023", "vocab": vocab, "heldout": heldout, "test": parts[0][:0]}
    dataset = Dataset(**names, train=parts[0], observed=parts[1], valid=parts[2])  # type: ignore[arg-type]
    print(hmem.fit(dataset, preset, settings=assignments, out=folder).metrics["training"])


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--year", type=int, choices=[2022, 2023], help="of the newcomers, in place of 2024 and 2025")
    here = [name for name in METHODS if name != "als" or find_spec("implicit")]
    parser.add_argument("--methods", nargs="*", default=here, choices=list(METHODS), help="all by default")
    parser.add_argument("--model", action="append", default=[], metavar="NAME=DIR")
    parser.add_argument("--train", metavar="DIR")
    parser.add_argument("--preset", default="any-graph")
    parser.add_argument("--set", dest="assignments", action="append", default=[])
    given = parser.parse_args()
    if given.train:
        train(given.train, given.preset, given.assignments)
        return
    world = World(given.year, given.year) if given.year else World(2024, 2025)
    models = {name: knowledge_base(folder) for name, _, folder in (each.partition("=") for each in given.model)}
    methods = {name: METHODS[name] for name in given.methods} | models
    print(f"{len(world.facts):,} facts, {len(world.techniques)} techniques, {len(world.newcomers)} newcomers")
    for name, method in methods.items():
        for number in GIVEN:
            started, cases = time.perf_counter(), world.cases(number)
            found = {metric: round(value, 4) for metric, value in metrics(cases, method(world, cases)).items()}
            line = {"newcomers": given.year or "2024-2025", "method": name, "given": number, "asked": len(cases)}
            line |= found | {"seconds": round(time.perf_counter() - started, 1)}
            print(line, flush=True)
            keep(line, given.json)


METHODS: dict[str, Method] = {
    "popularity": popularity,
    "co-occurrence": counted("counts"),
    "als": als,
    "rules": counted("rules"),
    "base": knowledge_base(None),
}

if __name__ == "__main__":
    main()
