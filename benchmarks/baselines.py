"""What do the baselines reach on each dataset, with and without the validation facts in the graph?

One line of `results/baselines.jsonl` per run, in the format of `hmem baseline ... --json`; of the relations in its
break-downs only the most asked are kept.

    python benchmarks/baselines.py [DATA ...] [--json PATH]
"""

from common import arguments, keep

from hmem.evaluation.baselines import BASELINES, make_baseline
from hmem.evaluation.metrics import MRR
from hmem.graph.dataset import GraphName
from hmem.graph.registry import load_dataset
from hmem.reproduction.results import line_of
from hmem.runs.evaluate import evaluate

GRAPHS: tuple[GraphName, ...] = ("train", "train+valid")


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("data", nargs="*", default=["wordnet-mini", "wordnet-mini-gen"])
    given = parser.parse_args()
    for name in given.data:
        dataset = load_dataset(name)
        for graph in GRAPHS:
            for baseline in BASELINES:
                made = evaluate(make_baseline(baseline, dataset, graph), dataset, graph=graph, name=baseline)
                mrr = {protocol: round(values[MRR], 4) for protocol, values in made.protocols.items()}
                print(f"{dataset.name:18s} {made.label:12s} {mrr}", flush=True)
                keep(line_of(made), given.json)


if __name__ == "__main__":
    main()
