"""How true are the percentages of best answers, for the model that comes with hmem on graphs it has not seen?

With --train it is a model that is trained on the base itself for some minutes.

Hides a tenth of the facts of each graph, such that every entity keeps one, and makes a knowledge base of the others.
With --given its own test facts are hidden instead, which may be others than chance would hide: percentages promise
nothing of these. Then asks for the best answer that is not stored

- to the questions that hidden facts answer: `if_missing` says how likely it is, since an answer is missing there; apart
  for questions of which others are stored and for those without any;
- to questions drawn from all that have a stored answer: `probability` says how likely it is.

That is done several times, with other facts hidden each time, and all questions of a kind are taken together.

An answer is true if its fact was hidden. `said` and `true` are means; the interval is where their difference lies in 95
of 100 cases, by the questions asked: what the base itself happened to leave out adds to it. `off` is how far the two
lie apart on average, over five bins of equal mass; with n questions chance alone makes that about 1/√n.

    python benchmarks/calibration.py [DATA ...] [--given] [--questions 600] [--seeds 3] [--first 0] [--json PATH]
    python benchmarks/calibration.py [DATA ...] --train any-graph [--minutes 1]

DATA are datasets, folders or files of facts, or generated-N for the N-th of `hmem.graph.generated`.
"""

import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from common import arguments, keep

import hmem
from hmem.evaluation.isotonic import expected_calibration_error
from hmem.graph.dataset import Dataset, spare_rows
from hmem.graph.generated import generated
from hmem.graph.triples import Triples
from hmem.knowledge.results import Direction, Question
from hmem.knowledge.retraining import Retraining
from hmem.knowledge.session import Session, whole

HIDDEN = 0.1
BINS = 5
AT_ONCE = 50


KINDS = ("lacking", "lacking, filled", "lacking, empty", "any filled")


class Asked(NamedTuple):
    entity: int
    relation: int
    direction: Direction


class Training(NamedTuple):
    preset: str
    minutes: float


class Measured(NamedTuple):
    """What was said of the best answers to questions of each kind, and whether they are true."""

    seconds: float  # to train, or to calibrate
    found: dict[str, tuple[np.ndarray, np.ndarray]]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("data", nargs="*", default=["wordnet-mini"])
    parser.add_argument("--given", action="store_true", help="hide the test facts of the dataset")
    parser.add_argument("--train", metavar="PRESET", help="train a model on the stored facts, and ask that")
    parser.add_argument("--minutes", type=float, default=1.0, help="of training")
    parser.add_argument("--questions", type=int, default=600, help="of each kind, each time")
    parser.add_argument("--seeds", type=int, default=3, help="how many times facts are hidden; once with --given")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    given = parser.parse_args()
    print(f"{'':22s} {'questions':>15s} {'number':>7s} {'said':>6s} {'true':>6s}  {'difference':>11s} {'off':>5s}")
    for data in given.data:
        dataset = generated(int(data[10:])) if data.startswith("generated-") else hmem.load_dataset(data)
        hidden = "test facts" if given.given else "a tenth"
        seeds = [None] if given.given else list(range(given.first, given.first + given.seeds))
        trained = None if given.train is None else Training(given.train, given.minutes)
        asked = [measured(dataset, given.questions, seed, trained) for seed in seeds]
        seconds = [round(each.seconds, 1) for each in asked]
        for kind in KINDS:
            said, is_true = (np.concatenate(parts) for parts in zip(*(each.found[kind] for each in asked), strict=True))
            if not len(said):
                continue
            found = judged(said, is_true)
            model = {"model": "base"} if trained is None else {"model": trained.preset, "minutes": trained.minutes}
            about = {"question": "calibration", "dataset": dataset.name, **model, "hidden": hidden}
            line = {**about, "kind": kind, "seeds": seeds, **found, "seconds_to_calibrate": seconds}
            low, high = (100 * each for each in found["interval"])
            shown = f"{found['number']:7,d} {found['said']:6.3f} {found['true']:6.3f}  {low:+5.1f}…{high:+5.1f}"
            print(f"{dataset.name:22.22s} {kind:>15s} {shown} {100 * found['off']:5.1f}", flush=True)
            keep(line, given.json)


def judged(said: np.ndarray, is_true: np.ndarray) -> dict[str, Any]:
    """How far what is said of some answers is from what is true of them."""
    over = said - is_true
    error = 1.96 * float(over.std()) / np.sqrt(len(over))
    return {
        "number": len(said),
        "said": float(said.mean()),
        "true": float(is_true.mean()),
        "interval": [float(over.mean() - error), float(over.mean() + error)],
        "off": expected_calibration_error(said, is_true, BINS),
    }


def hide(dataset: Dataset, seed: int | None) -> tuple[Triples, Triples]:
    """The facts that are hidden and those that are stored; without a seed those of test are."""
    if seed is None:
        return dataset.test, dataset.inference_triples("train+valid")
    facts = np.random.default_rng(seed).permutation(np.unique(dataset.everything(), axis=0))
    rows = spare_rows(facts, round(HIDDEN * len(facts)))
    return facts[rows], np.delete(facts, rows, axis=0)


def measured(dataset: Dataset, most: int, seed: int | None = 0, training: Training | None = None) -> Measured:
    """What is said and what is true, for each kind of question."""
    hidden, stored = hide(dataset, seed)
    with_facts = np.unique(stored[:, [0, 2]])
    hidden = hidden[np.isin(hidden[:, [0, 2]], with_facts).all(1)]
    entities, relations = list(dataset.vocab.entities), list(dataset.vocab.relations)
    known = {(entities[head], relations[relation], entities[tail]) for head, relation, tail in hidden.tolist()}
    filled = slots(stored)
    lacking = drawn(sorted(slots(hidden)), most)
    kinds = {
        "lacking": (lacking, "if_missing"),
        "lacking, filled": ([each for each in lacking if each in filled], "if_missing"),
        "lacking, empty": ([each for each in lacking if each not in filled], "if_missing"),
        "any filled": (drawn(sorted(filled), most), "probability"),
    }
    names = [(entities[head], relations[relation], entities[tail]) for head, relation, tail in stored.tolist()]
    found: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as opened:
        path, started = Path(folder) / "all.kb", time.perf_counter()
        hmem.KnowledgeBase.create(path, facts=names).close()
        if training is not None:
            minutes = {"training": {"minutes": training.minutes}}
            Retraining.of(path, Path(folder) / "model").train(Path(folder) / "model", training.preset, settings=minutes)
        session = opened.enter_context(opened.enter_context(hmem.KnowledgeBase.open(path)).session())
        assert session.probabilities.calibration is not None, "too few facts"
        seconds = time.perf_counter() - started
        for kind, (asked, which) in kinds.items():
            found[kind] = best_answers(session, dataset, asked, which, known)
    return Measured(seconds, found)


def slots(facts: np.ndarray) -> set[Asked]:
    """The questions that facts answer, from either end."""
    heads = {Asked(head, relation, "tail") for head, relation, _ in facts.tolist()}
    return heads | {Asked(tail, relation, "head") for _, relation, tail in facts.tolist()}


def drawn(asked: Sequence[Asked], most: int) -> list[Asked]:
    return [asked[place] for place in np.random.default_rng(1).permutation(len(asked))[:most].tolist()]


def best_answers(
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
