"""How well does a model answer on a graph of which it has seen no entity?

GraIL's sets (Teru, Denis and Hamilton, 2020): trains on the first graph of each, then ranks the test facts of the
second, whose entities are all new, among all of its entities. Nothing is chosen by the test facts.

    python benchmarks/grail.py WN18RR_v1 fb237_v1 ... [--seed 0] [--set ...] [--split test] [--json PATH]
"""

import argparse
from pathlib import Path

from hmem.config import Config, from_dict, merge, parse_assignments, to_dict
from hmem.evaluation.baselines import Rules
from hmem.evaluation.metrics import MRR
from hmem.evaluation.report import report
from hmem.evaluation.validation import Validator
from hmem.graph.dataset import Dataset
from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.registry import load_dataset
from hmem.model.hmem import ModelScorer
from hmem.model.index import FrozenIndex
from hmem.model.placing import place_all
from hmem.model.presets import preset
from hmem.model.renumber import renumber
from hmem.reproduction.results import append_line, line_of
from hmem.training.loop import Hooks, Outcome, train

SETTINGS = {
    "memory": {"entity_dim": 32, "relation_dim": 8, "exact": {"paths": {"per_role": 1000, "steps": 4}}},
    "training": {"batch_size": 256, "epochs": 6},
}


def fitted(config: Config, first: Dataset) -> Outcome:
    """A model of the first graph; its null slots suit that graph's validation facts."""
    validator = Validator(first, config.training.validation_queries)
    hooks = Hooks(validate=lambda model: validator(ModelScorer(model, validator.graph)))
    return train(config, first.train, first.num_entities, first.num_relations, hooks=hooks)


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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=["WN18RR_v1"])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--set", dest="assignments", action="append", default=[])
    parser.add_argument("--split", default="test", choices=("valid", "test"))
    parser.add_argument("--json")
    given = parser.parse_args()
    chosen = merge(preset("recall"), SETTINGS, parse_assignments(given.assignments))
    config = from_dict(Config, merge(chosen, {"training": {"seed": given.seed}}))
    for name in given.sets:
        first, second = load_dataset(f"GraIL/{name}"), load_dataset(f"GraIL/{name}_ind")
        outcome = fitted(config, first)
        index = FrozenIndex(second.inference_graph("train"))
        model = renumber(outcome.model, first.vocab, second.vocab)
        extra = {"training_seconds": round(outcome.seconds, 1), "epochs": outcome.epochs}
        made = [
            report(
                ModelScorer(model, index, place_all(model, index)),
                second,
                model="recall",
                split=given.split,
                settings={"preset": "recall", **to_dict(config)},
                seed=given.seed,
                extra=extra,
            ),
            report(rules_on(first, second), second, model="rules", split=given.split),
        ]
        for each in made:
            figures = each.protocols["all"]
            low, high = (figures[MRR.replace("realistic", kind)] for kind in ("pessimistic", "optimistic"))
            print(f"{each.dataset:24} {each.model:8} MRR {figures[MRR]:.3f} ({low:.3f}–{high:.3f})", end="  ")
            print(f"H@1 {figures['both.realistic.hits_at_1']:.3f}  H@10 {figures['both.realistic.hits_at_10']:.3f}")
            if given.json:
                append_line(Path(given.json), line_of(each))


if __name__ == "__main__":
    main()
