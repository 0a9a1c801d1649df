"""Does `hmem duplicates` find entities that stand in a graph twice?

Splits some entities of a graph in two: each of its facts goes to one half, to the other or, with the chance `--shared`,
to both; the second half is called almost the same, with one or two letters changed, dropped, doubled or swapped. Of the
pairs that are proposed first, how many are planted (precision at k), and how many of the planted are among the first as
many again (recall)? Pairs that were in the graph before count as mistakes.

    python benchmarks/duplicates.py [DATA ...] [--split 100] [--shared 0.3] [--json PATH]

DATA are datasets, folders or files of facts.
"""

import re
import tempfile

import numpy as np
from common import arguments, keep

from hmem.graph.registry import load_dataset
from hmem.knowledge.duplicates import Finder
from hmem.knowledge.store.store import Store

FEWEST_FACTS = 4  # of an entity that is split
AT = (10, 50, 100)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("data", nargs="*", default=["attack", "wordnet-mini"])
    parser.add_argument("--split", type=int, default=100, help="entities that are split in two")
    parser.add_argument("--shared", type=float, default=0.3, help="chance of a fact to be in both halves")
    given = parser.parse_args()
    for data in given.data:
        dataset = load_dataset(data)
        rng = np.random.default_rng(0)
        entities, relations = list(dataset.vocab.entities), list(dataset.vocab.relations)
        facts = [(entities[h], relations[r], entities[t]) for h, r, t in dataset.everything().tolist()]
        facts, planted = split(facts, given.split, given.shared, rng)
        with tempfile.TemporaryDirectory() as folder, Store.create(f"{folder}/all.kb") as store:
            store.add(facts)
            found = [{pair.kept, pair.other} for pair in Finder(store).best(2 * len(planted))]
        hits = np.array([pair in planted for pair in found])
        precision = {f"precision@{k}": float(hits[:k].mean()) for k in AT if k <= len(planted)}
        recall = float(hits.sum() / len(planted))
        shown = "  ".join(f"{name} {value:.2f}" for name, value in precision.items())
        print(
            f"{dataset.name:14s} shared {given.shared:.0%}  {shown}  recall {recall:.2f}  ({len(planted)})", flush=True
        )
        line = {"question": "duplicates", "dataset": dataset.name, "shared": given.shared, "split": len(planted)}
        keep({**line, **precision, "recall": recall}, given.json)


def split(
    facts: list[tuple[str, str, str]], number: int, shared: float, rng: np.random.Generator
) -> tuple[list[tuple[str, str, str]], list[set[str]]]:
    """The facts with some entities in two, and the pairs that these are."""
    of: dict[str, list[int]] = {}
    for row, (head, _, tail) in enumerate(facts):
        for end in {head, tail}:
            of.setdefault(end, []).append(row)
    able = sorted(name for name, rows in of.items() if len(rows) >= FEWEST_FACTS and re.search(r"[^\W\d_]{5,}", name))
    names, taken = dict.fromkeys(rng.permutation(able)[:number].tolist()), set(of)
    twins = {name: misspelt(name, taken, rng) for name in names}
    changed: list[tuple[str, str, str]] = []
    for head, relation, tail in facts:
        fate = rng.random() if {head, tail} & twins.keys() else 0.0
        if fate < 0.5 + shared / 2:
            changed.append((head, relation, tail))
        if fate >= 0.5 - shared / 2 and {head, tail} & twins.keys():
            changed.append((twins.get(head, head), relation, twins.get(tail, tail)))
    there = {end for head, _, tail in changed for end in (head, tail)}
    return changed, [{name, twin} for name, twin in twins.items() if {name, twin} <= there]


def misspelt(name: str, taken: set[str], rng: np.random.Generator) -> str:
    """A name almost the same, which is not there yet."""
    made = name
    while made in taken:
        text = list(name)
        for _ in range(int(rng.integers(1, 3))):
            words = re.finditer(r"[^\W\d_]{4,}", "".join(text))
            place = int(rng.choice([place for word in words for place in range(word.start() + 1, word.end())] or [1]))
            match int(rng.integers(4)):
                case 0:
                    text[place] = str(rng.choice(list("abcdefghijklmnopqrstuvwxyz")))
                case 1:
                    del text[place]
                case 2:
                    text.insert(place, text[place])
                case _:
                    text[place - 1 : place + 1] = text[place - 1 : place + 1][::-1]
        made = "".join(text)
    taken.add(made)
    return made


if __name__ == "__main__":
    main()
