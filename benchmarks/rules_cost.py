"""How long do the rules take: mining, and ranking both sides of the test split?

python benchmarks/rules_cost.py [DATA] [--json PATH]
"""

import time

from common import arguments, keep

from hmem.evaluation.baselines import make_baseline
from hmem.evaluation.report import report
from hmem.graph.registry import load_dataset


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("data", nargs="?", default="wordnet-mini")
    given = parser.parse_args()
    dataset = load_dataset(given.data)
    started = time.perf_counter()
    scorer = make_baseline("rules", dataset, "train")
    mined = time.perf_counter()
    made = report(scorer, dataset, model="rules")
    row = {
        "question": "rules_cost",
        "dataset": dataset.name,
        "mining_seconds": mined - started,
        "ranking_seconds": time.perf_counter() - mined,
        "mrr": made.protocols["all"]["both.realistic.inverse_harmonic_mean_rank"],
    }
    print(
        f"{dataset.name}: rules mined in {row['mining_seconds']:.2f} s, ranked in {row['ranking_seconds']:.2f} s, "
        f"both protocols and break-downs; MRR {row['mrr']:.4f}"
    )
    keep(row, given.json)


if __name__ == "__main__":
    main()
