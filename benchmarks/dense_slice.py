"""How dense is a slice of a graph that a CPU can train on?

Draws entities from those with the most facts and keeps the facts among them. The slice of FB15K in results/research.md:

    python benchmarks/dense_slice.py FB15K --top 6000 --entities 2500 --out fb-slice.tsv
    hmem data gen fb-slice.tsv --heldout 250 --out fb-slice-gen
"""

import argparse
from pathlib import Path

import numpy as np

from hmem.graph.registry import load_dataset
from hmem.graph.triples import Triples


def slice_of(facts: Triples, num_entities: int, top: int, kept: int, seed: int) -> Triples:
    """The facts among `kept` entities, drawn from the `top` ones with the most facts."""
    degrees = np.bincount(facts[:, [0, 2]].ravel(), minlength=num_entities)
    drawn = np.random.default_rng(seed).choice(np.argsort(-degrees)[:top], min(kept, top, num_entities), replace=False)
    is_kept = np.zeros(num_entities, dtype=bool)
    is_kept[drawn] = True
    return facts[is_kept[facts[:, 0]] & is_kept[facts[:, 2]]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", default="wordnet-mini")
    parser.add_argument("--top", type=int, default=1000, help="entities with the most facts, to draw from")
    parser.add_argument("--entities", type=int, default=500, help="how many are drawn")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="where to write the facts, tab-separated")
    given = parser.parse_args()
    dataset = load_dataset(given.data)
    every = np.concatenate([dataset.train, dataset.valid, dataset.test])
    facts = slice_of(every, dataset.num_entities, given.top, given.entities, given.seed)
    entities, relations = len(np.unique(facts[:, [0, 2]])), len(np.unique(facts[:, 1]))
    print(f"{dataset.name}: {len(facts):,} facts of {len(every):,}, {entities:,} entities, {relations:,} relations")
    if given.out:
        names, kinds = dataset.vocab.entities.to_list(), dataset.vocab.relations.to_list()
        lines = (f"{names[head]}\t{kinds[relation]}\t{names[tail]}\n" for head, relation, tail in facts.tolist())
        given.out.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
