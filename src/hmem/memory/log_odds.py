"""Log-odds of rules: where coefficients start, from how often one role of a pair of entities comes with another."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

RARE = -5.0  # the log-odds of a rule that was never seen to hold
CERTAIN = 5.0  # and of one that always did


def log_odds(confidence: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """log p/(1 − p), so that against a null slot of 0 a single slot has probability p; never quite sure of anything."""
    return torch.logit(confidence.double()).clamp(RARE, CERTAIN).to(confidence.dtype)


def log_odds_table(
    num_roles: int, keys: Int[Tensor, " rules"], confidence: Float[Tensor, " rules"]
) -> Float[Tensor, "roles roles"]:
    """The log-odds of the rules c ⇒ q, whose keys are c·2R + q, at [q, c]; `RARE` for all others."""
    table = confidence.new_full((num_roles * num_roles,), RARE)
    return table.index_put((keys,), log_odds(confidence)).view(num_roles, num_roles).mT
