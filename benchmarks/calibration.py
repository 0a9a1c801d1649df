"""How true are the percentages of best answers, for the model that comes with hmem on graphs it has not seen?

Hides a tenth of the facts of each graph, such that every entity keeps one, and makes a knowledge base of the others.
With --given its own test facts are hidden instead, which may be others than chance would hide: percentages promise
nothing of these. Then asks for the best answer that is not stored

- to the questions that hidden facts answer: `if_missing` says how likely it is, since an answer is missing there; apart
  for questions of which others are stored and for those without any;
- to questions drawn from all that have a stored answer: `probability` says how likely it is.

An answer is true if its fact was hidden. `off` is how far what is said and what is true lie apart on average, over five
bins of equal mass; with n questions chance alone makes that about 1/√n.

    python benchmarks/calibration.py [DATA ...] [--given] [--questions 600] [--json PATH]

DATA are datasets, folders or files of facts.
"""

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

import hmem
from hmem.evaluation.isotonic import expected_calibration_error
from hmem.graph.dataset import Dataset, spare_rows
from hmem.graph.triples import Triples
from hmem.knowledge.results import Direction, Question
from hmem.knowledge.session import Session, whole
from hmem.reproduction.results import append_line

HIDDEN = 0.1
BINS = 5
AT_ONCE = 50


class Asked(NamedTuple):
    entity: int
    relation: int
    direction: Direction


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="*", default=["wordnet-mini"])
    parser.add_argument("--given", action="store_true", help="hide the test facts of the dataset")
    parser.add_argument("--questions", type=int, default=600, help="of each kind")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    print(f"{'':22s} {'questions of':>14s} {'number':>7s} {'said':>7s} {'true':>7s} {'off':>6s}", flush=True)
    for data in given.data:
        dataset = hmem.load_dataset(data)
        hidden = "test facts" if given.given else "a tenth"
        for kind, found in measured(dataset, given.questions, given.given).items():
            about = {"question": "calibration", "dataset": dataset.name, "model": "base", "hidden": hidden}
            line = {**about, "kind": kind, **found}
            shown = f"{found['number']:7,d} {found['said']:7.3f} {found['true']:7.3f} {100 * found['off']:6.1f}"
            print(f"{dataset.name:22.22s} {kind:>14s} {shown}", flush=True)
            if given.json:
                append_line(given.json, line)


def hide(dataset: Dataset, is_given: bool) -> tuple[Triples, Triples]:
    """The facts that are hidden and those that are stored."""
    if is_given:
        return dataset.test, dataset.inference_triples("train+valid")
    facts = np.random.default_rng(0).permutation(np.unique(dataset.everything(), axis=0))
    rows = spare_rows(facts, round(HIDDEN * len(facts)))
    return facts[rows], np.delete(facts, rows, axis=0)


def measured(dataset: Dataset, most: int, is_given: bool = False) -> dict[str, dict[str, float]]:
    """What is said and what is true, for each kind of question."""
    hidden, stored = hide(dataset, is_given)
    with_facts = np.unique(stored[:, [0, 2]])
    hidden = hidden[np.isin(hidden[:, [0, 2]], with_facts).all(1)]
    entities, relations = list(dataset.vocab.entities), list(dataset.vocab.relations)
    known = {(entities[head], relations[relation], entities[tail]) for head, relation, tail in hidden.tolist()}
    filled = slots(stored)
    lacking = drawn(sorted(slots(hidden)), most)
    kinds = {
        "lacking": ([each for each in lacking if each in filled], "if_missing"),
        "lacking, empty": ([each for each in lacking if each not in filled], "if_missing"),
        "any filled": (drawn(sorted(filled), most), "probability"),
    }
    names = [(entities[head], relations[relation], entities[tail]) for head, relation, tail in stored.tolist()]
    found: dict[str, dict[str, float]] = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        hmem.KnowledgeBase.create(f"{folder}/all.kb", facts=names) as kb,
        kb.session() as session,
    ):
        started = time.perf_counter()
        assert session.probabilities.calibration is not None, "too few facts"
        seconds = time.perf_counter() - started
        for kind, (asked, which) in kinds.items():
            said, is_true = judged(session, dataset, asked, which, known)
            if len(said):
                off = expected_calibration_error(said, is_true, BINS)
                shares = {"said": float(said.mean()), "true": float(is_true.mean()), "off": off}
                found[kind] = {"number": len(said), **shares, "seconds_to_calibrate": round(seconds, 1)}
    return found


def slots(facts: np.ndarray) -> set[Asked]:
    """The questions that facts answer, from either end."""
    heads = {Asked(head, relation, "tail") for head, relation, _ in facts.tolist()}
    return heads | {Asked(tail, relation, "head") for _, relation, tail in facts.tolist()}


def drawn(asked: Sequence[Asked], most: int) -> list[Asked]:
    return [asked[place] for place in np.random.default_rng(1).permutation(len(asked))[:most].tolist()]


def judged(
    session: Session, dataset: Dataset, asked: Sequence[Asked], which: str, hidden: set[tuple[str, str, str]]
) -> tuple[np.ndarray, np.ndarray]:
    """The probability of each best answer, and whether its fact was hidden."""
    entities, relations = list(dataset.vocab.entities), list(dataset.vocab.relations)
    questions = [
        Question(entity=entities[entity], relation=relations[relation], direction=direction, k=1)
        for entity, relation, direction in asked
    ]
    best = [
        row
        for start in range(0, len(questions), AT_ONCE)
        for rows in whole(session.answer_each(questions[start : start + AT_ONCE]))
        for row in rows
    ]
    likely = np.array([getattr(row, which) for row in best], dtype=float)
    return likely, np.array([row.names in hidden for row in best], dtype=bool)


if __name__ == "__main__":
    main()
