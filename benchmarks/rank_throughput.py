"""How many test facts a second are ranked, both sides, filtered, against every entity?

A dot-product scorer of dimension 200 with random vectors, both protocols' machinery off: what is timed is scoring,
filtering and counting. With `--pykeen PYTHON`, an interpreter that has PyKEEN 1.11, its RankBasedEvaluator ranks
ComplEx of dimension 200 on the same files in the same run: as it comes, and with inverse triples and the best batch
size of three.

    python benchmarks/rank_throughput.py [DATA] [--pykeen PYTHON] [--json PATH]
"""

import json
import resource
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from common import arguments, keep
from torch import Tensor

from hmem.evaluation.evaluate import rank_queries
from hmem.evaluation.protocol import Candidates
from hmem.evaluation.queries import queries_of
from hmem.graph.dataset import Dataset
from hmem.graph.registry import load_dataset

DIM = 200


class DotProduct:
    device = torch.device("cpu")

    def __init__(self, dataset: Dataset) -> None:
        generator = torch.Generator().manual_seed(0)
        self.entities = torch.randn(dataset.num_entities, DIM, generator=generator)
        self.columns = self.entities.mT.contiguous()  # (d, E)
        self.roles = torch.randn(dataset.num_roles, DIM, generator=generator)

    def score(self, entities: Tensor, roles: Tensor) -> Tensor:
        return (self.entities[entities] * self.roles[roles]) @ self.columns


def ours(dataset: Dataset) -> dict[str, float]:
    queries, known = queries_of(dataset, "test"), dataset.filter_graph()
    candidates = [Candidates("all", dataset)]
    scorer = DotProduct(dataset)
    seconds = []
    for _ in range(3):
        started = time.perf_counter()
        rank_queries(scorer, queries, known, candidates)
        seconds.append(time.perf_counter() - started)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"triples_per_second": len(dataset.test) / float(np.median(seconds)), "peak_gib": peak}


def write_files(dataset: Dataset, folder: Path) -> None:
    """The splits as plain files, so that both sides read the same."""
    entities, relations = dataset.vocab.entities, dataset.vocab.relations
    for split in ("train", "valid", "test"):
        rows = [f"{entities[h]}\t{relations[r]}\t{entities[t]}\n" for h, r, t in dataset.split(split).tolist()]  # type: ignore[arg-type]
        (folder / f"{split}.tsv").write_text("".join(rows), encoding="utf-8")


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("data", nargs="?", default="wordnet-mini")
    parser.add_argument("--pykeen", help="an interpreter with PyKEEN 1.11")
    given = parser.parse_args()
    dataset = load_dataset(given.data)
    row: dict[str, object] = {
        "question": "rank_throughput",
        "dataset": dataset.name,
        "threads": torch.get_num_threads(),
        "hmem": ours(dataset),
    }
    print(f"{dataset.name}: hmem {row['hmem']}")
    if given.pykeen:
        peer = Path(__file__).parent / "peers" / "pykeen_rank.py"
        with tempfile.TemporaryDirectory() as folder:
            write_files(dataset, Path(folder))
            for way, count in (("default", 200), ("tuned", 1000)):
                done = subprocess.run(
                    [given.pykeen, str(peer), folder, way, str(count)], capture_output=True, text=True, check=True
                )
                row[f"pykeen {way}"] = json.loads(done.stdout.splitlines()[-1])
                print(f"{dataset.name}: pykeen {row[f'pykeen {way}']}")
    keep(row, given.json)


if __name__ == "__main__":
    main()
