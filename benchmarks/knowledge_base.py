"""What does a living knowledge base cost when it is large?

Generates a graph with a Zipf degree distribution and a model for it with random weights (their values do not matter
here, their number does), makes a knowledge base of both, and then, in a process of its own that has imported
everything first, measures: opening it and answering once, a durable add, and the prediction after each add, which must
reflect it. `benchmarks/store_cost.py` has the store alone, at two sizes.

    python benchmarks/knowledge_base.py [--facts 1000000] [--entities 200000] [--preset recall] [--json PATH]
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import torch
from common import arguments, keep

from hmem.config import Config, from_dict, merge
from hmem.graph.names import Vocabulary
from hmem.graph.neighborhoods import Neighborhoods
from hmem.knowledge.base import KnowledgeBase
from hmem.model.checkpoint import Model, save
from hmem.model.presets import preset
from hmem.training.start import new_model, start_from_rules

RELATIONS = 50
ADDS = 200


def zipf_facts(num_facts: int, num_entities: int, seed: int = 0) -> np.ndarray:
    """Distinct facts whose ends are drawn with probability 1/(place + 10), in a random order of the entities."""
    rng = np.random.default_rng(seed)
    chance = 1 / (np.arange(num_entities) + 10)
    edges = np.cumsum(chance / chance.sum())
    order = rng.permutation(num_entities)
    found = np.empty((0, 3), dtype=np.int64)
    while len(found) < num_facts:
        ends = order[np.searchsorted(edges, rng.random((num_facts, 2))).clip(0, num_entities - 1)]
        drawn = np.stack([ends[:, 0], rng.integers(RELATIONS, size=num_facts), ends[:, 1]], axis=1)
        found = np.unique(np.concatenate([found, drawn]), axis=0)
    return found[np.sort(rng.permutation(len(found))[:num_facts])].astype(np.int32)


def make(folder: Path, num_facts: int, num_entities: int, name: str) -> dict[str, float]:
    """A model folder and a knowledge base in `folder`; returns what importing cost."""
    triples = zipf_facts(num_facts, num_entities)
    entities, relations = [f"entity {n}" for n in range(num_entities)], [f"relation {n}" for n in range(RELATIONS)]
    config = from_dict(Config, merge(preset(name), {"memory": {"entity_dim": 80}}))
    model = new_model(config, num_entities, RELATIONS)
    start_from_rules(model, Neighborhoods.build(triples, num_entities, RELATIONS), 0)
    vocab = Vocabulary(entities, relations)
    save(folder / "model", Model(model=model, config=config, vocab=vocab, dataset="zipf", preset=name))
    table = pa.table(
        {
            "head": pa.array(entities).take(pa.array(triples[:, 0])),
            "relation": pa.array(relations).take(pa.array(triples[:, 1])),
            "tail": pa.array(entities).take(pa.array(triples[:, 2])),
        }
    )
    started = time.perf_counter()
    KnowledgeBase.create(folder / "large.kb", model=folder / "model", facts=table).close()
    return {"import_facts_per_second": num_facts / (time.perf_counter() - started)}


def measure(folder: Path) -> dict[str, float]:
    """Open, ask, add and ask again."""
    rng = np.random.default_rng(1)
    started = time.perf_counter()
    kb = KnowledgeBase.open(folder / "large.kb")
    opened = time.perf_counter()
    kb.predict("entity 0", "relation 0")
    answered = time.perf_counter()
    adding, session = [], []
    for number in range(ADDS):
        unseen, neighbor = f"unseen {number}", f"entity {rng.integers(1000)}"
        begun = time.perf_counter()
        kb.add(unseen, "relation 1", neighbor, source="benchmark")
        added = time.perf_counter()
        kb.predict(unseen, "relation 2")  # raises if the fact were not there yet
        session.append(time.perf_counter() - added)
        adding.append(added - begun)
    return {
        "open_seconds": opened - started,
        "open_and_answer_seconds": answered - started,
        "add_milliseconds": 1e3 * median(adding),
        "predict_milliseconds": 1e3 * median(session),
        "predict_milliseconds_p99": 1e3 * float(np.quantile(session, 0.99)),
        "peak_memory_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--facts", type=int, default=50_000)
    parser.add_argument("--entities", type=int, default=10_000)
    parser.add_argument("--preset", default="recall")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measure(Path(given.measure))))
        return
    with tempfile.TemporaryDirectory() as folder:
        measured = make(Path(folder), given.facts, given.entities, given.preset)
        again = [sys.executable, __file__, "--measure", folder]
        measured |= json.loads(subprocess.run(again, capture_output=True, text=True, check=True).stdout)
    for name, value in measured.items():
        print(f"{name:28} {value:12,.2f}")
    row = {
        "question": "knowledge_base",
        "facts": given.facts,
        "entities": given.entities,
        "preset": given.preset,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        **measured,
    }
    keep(row, given.json)


if __name__ == "__main__":
    main()
