"""Ranks summed up, under the keys PyKEEN uses: `side.type.metric`."""

import numpy as np
from jaxtyping import Int

from hmem.evaluation.queries import HEAD, TAIL
from hmem.evaluation.ranks import Ranks

KS = (1, 3, 5, 10)
Metrics = dict[str, float | int]  # counts are whole numbers

MRR = "both.realistic.inverse_harmonic_mean_rank"
MR = "both.realistic.arithmetic_mean_rank"
ALIASES = {"mrr": MRR, "mr": MR, **{f"hits@{k}": f"both.realistic.hits_at_{k}" for k in KS}}


def metrics(ranks: Ranks, sides: Int[np.ndarray, " Q"]) -> Metrics:
    """Every metric for head, tail and both, optimistic, realistic and pessimistic. A side without queries is left out.

    The adjusted mean rank index is 0 for a random order and 1 for perfection: 1 − (MR − 1)/(E[MR] − 1), where that of
    C candidates has expected rank (C + 1)/2.
    """
    values: Metrics = {}
    for side, rows in (("head", sides == HEAD), ("tail", sides == TAIL), ("both", np.ones(len(sides), dtype=bool))):
        if not rows.any():
            continue
        part = ranks.select(rows)
        at_random = (part.candidates.mean() + 1) / 2
        for kind in ("optimistic", "realistic", "pessimistic"):
            of_kind = getattr(part, kind)
            key = f"{side}.{kind}"
            values[f"{key}.arithmetic_mean_rank"] = float(of_kind.mean())
            values[f"{key}.inverse_harmonic_mean_rank"] = float((1 / of_kind).mean())
            for k in KS:
                values[f"{key}.hits_at_{k}"] = float((of_kind <= k).mean())
            if at_random > 1:
                index = 1 - (of_kind.mean() - 1) / (at_random - 1)
                values[f"{key}.adjusted_arithmetic_mean_rank_index"] = float(index)
        values[f"{side}.count"] = int(rows.sum())
    return values
