"""Does `hmem audit` find facts that are wrong?

Replaces the tail or the head of one fact in fifty by another entity that has stood in the same place of that relation,
makes a knowledge base of all facts, and asks how doubtful the planted ones are and as many others: by the model that
comes with hmem, and by counting alone. AUC is how often a planted error is more doubtful than a true fact.

    python benchmarks/audit.py [DATA ...] [--facts 300] [--json PATH]

DATA are datasets, folders or files of facts.
"""

import tempfile

import numpy as np
from common import arguments, keep

import hmem
from hmem.evaluation.counted import best_of, counts_of_ends, hidden
from hmem.graph.triples import Triples, mirror_role
from hmem.knowledge.audit import doubt, judged
from hmem.knowledge.session import Session

PLANTED = 0.02
TRIES = 20  # to find another entity with which the fact is not stored


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("data", nargs="*", default=["wordnet-mini"])
    parser.add_argument("--facts", type=int, default=300, help="planted ones, and as many others")
    given = parser.parse_args()
    for data in given.data:
        dataset = hmem.load_dataset(data)
        rng = np.random.default_rng(0)
        facts, is_wrong = planted(np.unique(dataset.everything(), axis=0), rng)
        rows = np.concatenate([rng.permutation(np.flatnonzero(kind))[: given.facts] for kind in (is_wrong, ~is_wrong)])
        entities, relations = list(dataset.vocab.entities), list(dataset.vocab.relations)
        names = [(entities[head], relations[relation], entities[tail]) for head, relation, tail in facts.tolist()]
        with (
            tempfile.TemporaryDirectory() as folder,
            hmem.KnowledgeBase.create(f"{folder}/all.kb", facts=names) as kb,
            kb.session() as session,
        ):
            assert session.probabilities.calibration is not None, "too few facts"  # and what counting is worth
            numbers = [session.names.fact(*names[row], "tail") for row in rows.tolist()]
            asked = np.array([session.predictor.fact(*each) for each in numbers])
            doubts = {
                "base": doubt(judged(session.predictor, asked)),
                "counts": np.array([by_counting(session, fact) for fact in asked.tolist()]),
            }
        for model, found in doubts.items():
            area = auc(found, is_wrong[rows])
            print(f"{dataset.name:22.22s} {model:8s} AUC {area:.3f}  ({len(rows)} facts)", flush=True)
            line = {"question": "audit", "dataset": dataset.name, "model": model, "facts": len(rows), "auc": area}
            keep(line, given.json)


def planted(facts: Triples, rng: np.random.Generator) -> tuple[Triples, np.ndarray]:
    """Facts of which some are wrong, and which ones are."""
    known = set(map(tuple, facts.tolist()))
    facts, is_wrong = facts.copy(), np.zeros(len(facts), dtype=bool)
    true = facts.copy()
    for row in rng.permutation(len(facts))[: round(PLANTED * len(facts))].tolist():
        end = 2 * int(rng.integers(2))
        others = np.unique(true[true[:, 1] == true[row, 1], end])
        for other in rng.choice(others, TRIES).tolist():
            wrong = facts[row].copy()
            wrong[end] = other
            if tuple(wrong.tolist()) not in known:
                facts[row], is_wrong[row] = wrong, True
                known.add(tuple(wrong.tolist()))
                break
    return facts, is_wrong


def by_counting(session: Session, fact: list[int]) -> float:
    """How little counting says for a stored fact, as if it were not stored."""
    head, relation, tail = fact
    graph, R = session.live.graph, session.live.num_relations
    ends = (head, relation + R, tail), (tail, mirror_role(relation + R, R), head)
    with hidden(graph, [(head, relation, tail)]):
        found = [(counts_of_ends(graph, asked, role, graph.num_entities), answer) for asked, role, answer in ends]
    return -sum(float(best_of(*counted)[answer]) for counted, answer in found)


def auc(found: np.ndarray, is_wrong: np.ndarray) -> float:
    """How often one of the wrong is above one of the others; ties count half."""
    wrong, others = found[is_wrong][:, None], found[~is_wrong][None]
    return float(((wrong > others) + 0.5 * (wrong == others)).mean())


if __name__ == "__main__":
    main()
