"""Which entities a step compares with each other, where the graph has too many to compare all.

The true answers of all questions of the batch are candidates, and `count` draws among all entities, with replacement,
add others. One that is drawn stands for those that are not: in the sum of the softmax it counts as often as it takes
to see it once,

    Ẑ = Σ_{x true for some question} e^{s_x} + Σ_{x drawn besides} e^{s_x} / π        π = 1 − (1 − 1/E)^count

so that Ẑ is on average the Z of all entities, whatever the batch. In log-space that is − log π, the log-q correction.
Without it the true answers of other questions, which come as often as facts name them, would pass for typical entities.
If there are no more entities than draws, all are candidates, and Ẑ is Z.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hmem.model.query import Query, seed_for


@dataclass(frozen=True, eq=False, slots=True)
class Candidates:
    entities: Int[Tensor, " C"]  # sorted
    log_weight: Float[Tensor, " C"]  # − log π; 0 for the true answers of the batch


def draw(batch: Query, num_entities: int, count: int, seed: int, step: int) -> Candidates:
    """The candidates of a step: the same in every process."""
    assert batch.target is not None
    device = batch.target.device
    if count >= num_entities:
        return Candidates(torch.arange(num_entities, device=device), torch.zeros(num_entities, device=device))
    generator = torch.Generator().manual_seed(seed_for("candidates", seed, step))
    drawn = torch.randint(num_entities, (count,), generator=generator).to(device)
    true, entities = torch.unique(batch.target), torch.unique(torch.cat([batch.target, drawn]))
    is_true = torch.isin(entities, true, assume_unique=True)
    often = -math.log(-math.expm1(count * math.log1p(-1 / num_entities)))
    return Candidates(entities, torch.where(is_true, 0.0, often))
