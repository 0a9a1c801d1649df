"""What does the strongest plain factor model reach, and what does it cost?

ComplEx with the nuclear 3-norm and reciprocal relations (Lacroix et al., 2018): the score of x as an answer to (e, q)
is Re⟨e, q, x̄⟩ with complex vectors of `rank`, trained by cross-entropy against all entities with Adagrad. Ranked by the
same protocol as every other model here, on test once at the end, or on validation while settings are chosen.

    python benchmarks/complex_n3.py WN18RR --rank 500 --reg 0.1 --epochs 50 [--split valid] [--minutes 3] [--json PATH]
"""

import argparse
import time

import numpy as np
import torch
from common import arguments, keep
from torch import Tensor, nn

from hmem.evaluation.report import report
from hmem.graph.dataset import Dataset
from hmem.graph.registry import load_dataset
from hmem.reproduction.results import line_of

START = 1e-3  # the scale of the first vectors, as published


class ComplEx(nn.Module):
    def __init__(self, num_entities: int, num_roles: int, rank: int) -> None:
        super().__init__()
        self.entity = nn.Parameter(START * torch.randn(num_entities, 2 * rank))
        self.role = nn.Parameter(START * torch.randn(num_roles, 2 * rank))

    @property
    def device(self) -> torch.device:
        return self.entity.device

    def forward(self, entities: Tensor, roles: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The vectors of both, and their complex product, whose match with an entity is its score."""
        asked, role = self.entity[entities], self.role[roles]
        (real, imaginary), (a, b) = asked.chunk(2, dim=1), role.chunk(2, dim=1)
        return asked, role, torch.cat([real * a - imaginary * b, real * b + imaginary * a], dim=1)

    def score(self, entities: Tensor, roles: Tensor) -> Tensor:
        with torch.inference_mode():
            return self(entities, roles)[2] @ self.entity.mT


def cubes(vectors: Tensor) -> Tensor:
    """Σ |z|³ of complex vectors, for each row."""
    real, imaginary = vectors.chunk(2, dim=1)
    return (real.square() + imaginary.square() + 1e-12).pow(1.5).sum(1)


def train(dataset: Dataset, given: argparse.Namespace, device: str) -> tuple[ComplEx, float, float]:
    """The model, the seconds and the epochs that it took."""
    torch.manual_seed(given.seed)
    model = ComplEx(dataset.num_entities, 2 * dataset.num_relations, given.rank).to(device)
    head, relation, tail = torch.from_numpy(dataset.train.astype(np.int64)).to(device).T
    entity, answer = torch.cat([head, tail]), torch.cat([tail, head])
    role = torch.cat([relation + dataset.num_relations, relation])
    optimizer = torch.optim.Adagrad(model.parameters(), lr=given.rate)
    started, epochs = time.perf_counter(), 0.0
    while epochs < given.epochs and not _is_late(started, given.minutes):
        for batch in torch.randperm(len(entity), device=device).split(given.batch):
            asked, of_role, product = model(entity[batch], role[batch])
            truth = model.entity[answer[batch]]
            loss = nn.functional.cross_entropy(product @ model.entity.mT, answer[batch])
            loss = loss + given.reg * (cubes(asked) + cubes(of_role) + cubes(truth)).mean() / 3
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            epochs += len(batch) / len(entity)
            if _is_late(started, given.minutes):
                break
        print(f"epoch {epochs:.1f}, {time.perf_counter() - started:.0f} s, loss {loss.item():.3f}", flush=True)
    return model, time.perf_counter() - started, epochs


def _is_late(started: float, minutes: float | None) -> bool:
    return minutes is not None and time.perf_counter() - started > 60 * minutes


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("data", nargs="?", default="wordnet-mini")
    parser.add_argument("--rank", type=int, default=200)
    parser.add_argument("--reg", type=float, default=0.05, help="of the nuclear 3-norm")
    parser.add_argument("--rate", type=float, default=0.1)
    parser.add_argument("--batch", type=int, default=1000)
    parser.add_argument("--epochs", type=float, default=10)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--split", default="test", choices=("valid", "test"))
    given = parser.parse_args()
    dataset = load_dataset(given.data)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, seconds, epochs = train(dataset, given, device)
    settings = {name: getattr(given, name) for name in ("rank", "reg", "rate", "batch")}
    made = report(model, dataset, model="ComplEx-N3", split=given.split, settings=settings, seed=given.seed)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    for protocol, values in made.protocols.items():
        mrr = values["both.realistic.inverse_harmonic_mean_rank"]
        print(f"{dataset.name} ComplEx-N3 {protocol}: {given.split} MRR {mrr:.4f}, {parameters:,} parameters")
    name = torch.cuda.get_device_name() if device == "cuda" else "cpu"
    cost = {"parameters": parameters, "training_seconds": round(seconds, 1), "epochs": round(epochs, 2)}
    keep({**line_of(made), **cost, "device": name}, given.json)


if __name__ == "__main__":
    main()
