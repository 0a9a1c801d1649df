"""What do the baselines reach on each dataset, with and without the validation facts in the graph?

One line of `results/baselines.jsonl` per run, in the format of `hmem baseline ... --json`; of the relations in its
break-downs only the most asked are kept.

    python benchmarks/baselines.py [DATA ...] [--json PATH]
"""

import argparse
from pathlib import Path
from typing import Any

from hmem.evaluation.baselines import make_baseline
from hmem.evaluation.report import Report, report
from hmem.graph.dataset import GraphName
from hmem.graph.registry import load_dataset
from hmem.reproduction.results import append_line

RELATIONS_KEPT = 10
GRAPHS: tuple[GraphName, ...] = ("train", "train+valid")


def line(made: Report) -> dict[str, Any]:
    """The report with figures rounded and its longest part cut."""
    found = made.to_dict()
    for protocol, parts in found["breakdowns"].items():
        kept = list(parts["relation"].items())[:RELATIONS_KEPT]
        found["breakdowns"][protocol] = {**parts, "relation": dict(kept)}
    for protocol, figures in found["protocols"].items():
        found["protocols"][protocol] = {name: round(value, 6) for name, value in figures.items()}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="*", default=["wordnet-mini", "wordnet-mini-gen"])
    parser.add_argument("--json")
    given = parser.parse_args()
    for name in given.data:
        dataset = load_dataset(name)
        for graph in GRAPHS:
            for baseline in ("rules", "frequency"):
                made = report(make_baseline(baseline, dataset, graph), dataset, model=baseline, graph=graph)
                mrr = {
                    protocol: round(figures["both.realistic.inverse_harmonic_mean_rank"], 4)
                    for protocol, figures in made.protocols.items()
                }
                print(f"{dataset.name:18s} {made.label:12s} {mrr}", flush=True)
                if given.json:
                    append_line(Path(given.json), line(made))


if __name__ == "__main__":
    main()
