"""How well does a model answer on a graph of which it has seen no entity?

GraIL's sets (Teru, Denis and Hamilton, 2020): trains on the first graph of each, then ranks the test facts of the
second, whose entities are all new, among all of its entities. Nothing is chosen by the test facts.

    python benchmarks/grail.py WN18RR_v1 fb237_v1 ... [--preset propagate] [--seed 0] [--set ...] [--json PATH]

The field ranks in two ways: the test facts alone, or validation and test facts together, as RED-GNN, A*Net and ULTRA
do. Both are printed. `propagate` begins from nothing. `any-graph` is left out: its first weights were trained on
FB15K-237 and WN18RR, of which most of these graphs are parts.
"""

from dataclasses import replace

import numpy as np
from common import arguments, keep

import hmem
from hmem.config import merge, parse_assignments
from hmem.evaluation.baselines import Rules
from hmem.evaluation.metrics import MRR
from hmem.graph.dataset import Dataset
from hmem.graph.neighborhoods import Neighborhoods
from hmem.reproduction.results import line_of

SETTINGS = {
    "recall": {
        "memory": {"entity_dim": 32, "relation_dim": 8, "exact": {"paths": {"per_role": 1000, "steps": 4}}},
        "training": {"batch_size": 256, "epochs": 6, "counting": 0},
    },
    "propagate": {"training": {"counting": 0}},
}


def rules_on(first: Dataset, second: Dataset) -> Rules:
    """Length-1 rules of the first graph, applied to the second: relations must have the same numbers in both."""
    ids = first.vocab.relations.ids_of(list(second.vocab.relations))
    renumbered = first.train.copy()
    place = {int(number): position for position, number in enumerate(ids)}
    renumbered = renumbered[[int(relation) in place for relation in renumbered[:, 1]]]
    renumbered[:, 1] = [place[int(relation)] for relation in renumbered[:, 1]]
    mined = Neighborhoods.build(renumbered, first.num_entities, second.num_relations)
    return Rules(mined, second.inference_graph("train"))


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("sets", nargs="*", default=["WN18RR_v1"])
    parser.add_argument("--preset", default="recall", choices=tuple(SETTINGS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--set", dest="assignments", action="append", default=[])
    given = parser.parse_args()
    settings = merge(SETTINGS[given.preset], parse_assignments(given.assignments))
    for name in given.sets:
        first, second = hmem.load_dataset(f"GraIL/{name}"), hmem.load_dataset(f"GraIL/{name}_ind")
        model = hmem.fit(first, given.preset, settings=settings, seed=given.seed, device=given.device)
        rules = rules_on(first, second)
        asked = np.concatenate([second.valid, second.test])
        together = replace(second, test=asked, valid=second.valid[:0], name=f"{second.name} valid+test")
        for dataset in (second, together):
            for made in (hmem.evaluate(model, dataset), hmem.evaluate(rules, dataset, name="rules")):
                values = made.protocols["all"]
                low, high = (values[MRR.replace("realistic", kind)] for kind in ("pessimistic", "optimistic"))
                print(f"{made.dataset:32} {made.model:10} MRR {values[MRR]:.3f} ({low:.3f}–{high:.3f})", end="  ")
                print(f"H@1 {values['both.realistic.hits_at_1']:.3f}  H@10 {values['both.realistic.hits_at_10']:.3f}")
                keep(line_of(made), given.json)


if __name__ == "__main__":
    main()
