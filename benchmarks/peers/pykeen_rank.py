"""PyKEEN's side of rank_throughput.py; run by an interpreter that has PyKEEN, prints one JSON object."""

import json
import resource
import sys
import time

import torch
from pykeen.evaluation import RankBasedEvaluator
from pykeen.models import ComplEx
from pykeen.triples import TriplesFactory

folder, way, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
tuned = way == "tuned"
train = TriplesFactory.from_path(f"{folder}/train.tsv", create_inverse_triples=tuned)
parts = {
    split: TriplesFactory.from_path(
        f"{folder}/{split}.tsv", entity_to_id=train.entity_to_id, relation_to_id=train.relation_to_id
    )
    for split in ("valid", "test")
}
model = ComplEx(triples_factory=train, embedding_dim=200, random_seed=0).eval()
test = parts["test"].mapped_triples[:count]
best = None
for batch in (16, 64, 256) if tuned else (None,):
    evaluator = RankBasedEvaluator(filtered=True)
    started = time.perf_counter()
    with torch.inference_mode():
        evaluator.evaluate(
            model,
            mapped_triples=test,
            additional_filter_triples=[train.mapped_triples, parts["valid"].mapped_triples],
            batch_size=batch,
            use_tqdm=False,
        )
    rate = len(test) / (time.perf_counter() - started)
    if best is None or rate > best["triples_per_second"]:
        best = {"way": way, "batch": batch, "triples": len(test), "triples_per_second": rate}
best["peak_gib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(json.dumps(best))
