"""What do some minutes of training on a CPU give, beside PyKEEN's in the same minutes?

Trains hmem for a while on two cores and ranks the validation split; with `--pykeen PYTHON`, an interpreter that has
PyKEEN 1.11, does the same with its RESCAL (d = 64) and ComplEx (d = 200), 1-vs-all, one after the other.
PyKEEN leaves out validation facts whose entities are not in train; hmem ranks them all, and also without them, so
that the metrics can be compared.

    python benchmarks/cpu_training.py [DATA] [--minutes 10] [--set ...] [--pykeen PYTHON] [--json PATH]
"""

import json
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import torch
from common import arguments, keep
from rank_throughput import write_files

import hmem
from hmem.config import merge, parse_assignments, to_dict
from hmem.evaluation.metrics import MRR

SETTINGS = {
    "memory": {"entity_dim": 128, "relation_dim": 10},
    "training": {
        "epochs": 10_000,
        "batch_size": 1024,
        "learning_rate": 3e-3,
        "negatives": 1000,
        "neighbor_dropout": 0.3,
        "label_smoothing": 0.1,
    },
}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("data", nargs="?", default="wordnet-mini")
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--set", dest="assignments", action="append", default=[])
    parser.add_argument("--pykeen", help="an interpreter with PyKEEN 1.11")
    parser.add_argument("--pykeen-rate", default="1e-3", help="its learning rate")
    given = parser.parse_args()
    settings = merge(SETTINGS, {"training": {"minutes": given.minutes}}, parse_assignments(given.assignments))
    dataset = hmem.load_dataset(given.data)
    unvalidated = replace(dataset, valid=dataset.valid[:0])  # which would take some of the minutes
    model = hmem.fit(unvalidated, "recall", settings=settings, device="cpu")
    cost = model.metrics["training"]
    made = hmem.evaluate(model, dataset, split="valid", protocols=("all",))
    seen = made.breakdowns["all"]["entities"]["seen"]
    ours = {
        "model": "hmem recall",
        "seconds": cost["training_seconds"],
        "facts_per_second": cost["epochs"] * len(dataset.train) / cost["training_seconds"],
        "valid_mrr": made.protocols["all"][MRR],
        "valid_mrr_seen_entities": seen["mrr"],
        "linked": made.breakdowns["all"]["linked"],
    }
    print(ours)
    rows = [ours]
    if given.pykeen:
        peer = Path(__file__).parent / "peers" / "pykeen_train.py"
        with tempfile.TemporaryDirectory() as folder:
            write_files(dataset, Path(folder))
            for name in ("RESCAL", "ComplEx"):
                command = [given.pykeen, str(peer), folder, name, str(60 * given.minutes), given.pykeen_rate]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                rows.append(json.loads(done.stdout.splitlines()[-1]))
                print(rows[-1])
    row = {
        "question": "cpu_training",
        "dataset": dataset.name,
        "threads": torch.get_num_threads(),
        "settings": to_dict(model.config),
        "torch": torch.__version__,
        "rows": rows,
    }
    keep(row, given.json)


if __name__ == "__main__":
    main()
