"""How long from nothing to a given test MRR?

Trains with the clock running (validation included in neither the time nor the stopping), then ranks the test split
once, protocol `all`.

    python benchmarks/time_to_quality.py WN18 --preset tpr --set training.minutes=0.4 ... [--json PATH]
"""

import argparse
import time
from pathlib import Path

import torch

from hmem.config import Config, from_dict, merge, parse_assignments, to_dict
from hmem.evaluation.report import report
from hmem.graph.registry import load_dataset
from hmem.model.hmem import ModelScorer
from hmem.model.index import FrozenIndex
from hmem.model.presets import preset
from hmem.reproduction.results import append_line
from hmem.training.loop import train


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", default="wordnet-mini")
    parser.add_argument("--preset", default="recall")
    parser.add_argument("--set", dest="assignments", action="append", default=[])
    parser.add_argument("--split", default="test", choices=("valid", "test"))
    parser.add_argument("--json")
    given = parser.parse_args()
    config = from_dict(Config, merge(preset(given.preset), parse_assignments(given.assignments)))
    dataset = load_dataset(given.data)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    # The device's own start is not training, nor are the seconds in which torch imports its compiler for an optimizer.
    torch.optim.Adam([torch.zeros(1, device=device, requires_grad=True)])
    started = time.perf_counter()
    outcome = train(config, dataset.train, dataset.num_entities, dataset.num_relations, device=device)
    if device == "cuda":
        torch.cuda.synchronize()
    seconds = time.perf_counter() - started
    scorer = ModelScorer(outcome.model, FrozenIndex(dataset.inference_graph("train"), device))
    made = report(scorer, dataset, model=given.preset, split=given.split, protocols=("all",))
    mrr = made.protocols["all"]["both.realistic.inverse_harmonic_mean_rank"]
    print(
        f"{dataset.name} {given.preset}: {given.split} MRR {mrr:.4f} after {seconds:.1f} s, {outcome.epochs:.1f} epochs"
    )
    if given.json:
        row = {
            "question": "time_to_quality",
            "dataset": dataset.name,
            "preset": given.preset,
            "split": given.split,
            "settings": to_dict(config),
            "device": torch.cuda.get_device_name() if device == "cuda" else "cpu",
            "seconds": seconds,
            "epochs": outcome.epochs,
            "mrr": mrr,
        }
        append_line(Path(given.json), row)


if __name__ == "__main__":
    main()
