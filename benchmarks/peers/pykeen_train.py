"""PyKEEN's side of cpu_training.py; run by an interpreter that has PyKEEN, prints one JSON object.

1-vs-all training (LCWA with cross entropy on inverse triples, so that both sides are learned), Adam, stopped by the
clock; then the validation split is ranked by PyKEEN's own evaluator.
"""

import contextlib
import json
import sys
import time

import torch
from pykeen.evaluation import RankBasedEvaluator
from pykeen.losses import CrossEntropyLoss
from pykeen.models import RESCAL, ComplEx
from pykeen.training import LCWATrainingLoop
from pykeen.training.callbacks import TrainingCallback
from pykeen.triples import TriplesFactory

folder, name, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
learning_rate = float(sys.argv[4]) if len(sys.argv) > 4 else 1e-3
train = TriplesFactory.from_path(f"{folder}/train.tsv", create_inverse_triples=True)
valid = TriplesFactory.from_path(
    f"{folder}/valid.tsv", entity_to_id=train.entity_to_id, relation_to_id=train.relation_to_id
)
kind, dim = {"RESCAL": (RESCAL, 64), "ComplEx": (ComplEx, 200)}[name]
model = kind(triples_factory=train, embedding_dim=dim, loss=CrossEntropyLoss(), random_seed=0)


class OutOfTimeError(Exception):
    pass


class Clock(TrainingCallback):
    triples = 0.0

    def on_batch(self, epoch, batch, batch_loss, **kwargs):
        # a batch holds (head, relation) pairs; the mean number of tails of a pair turns pairs into triples
        Clock.triples += len(batch[0] if isinstance(batch, (tuple, list)) else batch["pairs"]) * PER_PAIR
        if time.perf_counter() - STARTED > seconds:
            raise OutOfTimeError


pairs = {(h, r) for h, r, _ in train.mapped_triples.tolist()} | {
    (t, r + train.real_num_relations) for _, r, t in train.mapped_triples.tolist()
}
PER_PAIR = train.num_triples / len(pairs)  # each triple stands in two pairs, one per direction
loop = LCWATrainingLoop(
    model=model, triples_factory=train, optimizer=torch.optim.Adam(model.parameters(), lr=learning_rate)
)
STARTED = time.perf_counter()
with contextlib.suppress(OutOfTimeError):
    loop.train(triples_factory=train, num_epochs=10_000, batch_size=256, use_tqdm=False, callbacks=[Clock()])
spent = time.perf_counter() - STARTED
evaluator = RankBasedEvaluator(filtered=True)
found = evaluator.evaluate(
    model.eval(),
    mapped_triples=valid.mapped_triples,
    additional_filter_triples=[train.mapped_triples],
    batch_size=64,
    use_tqdm=False,
)
print(
    json.dumps(
        {
            "model": name,
            "dim": dim,
            "learning_rate": learning_rate,
            "seconds": spent,
            "facts_per_second": Clock.triples / spent,
            "valid_mrr": float(found.get_metric("both.realistic.inverse_harmonic_mean_rank")),
            "valid_triples": valid.num_triples,
        }
    )
)
