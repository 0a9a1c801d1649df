"""The learning rate over a training run."""

import math

WARMUP = 0.02  # share of all steps over which the rate rises
FINAL = 0.02  # share of the rate that the cosine ends at


def rate(progress: float, warmup: float = WARMUP, final: float = FINAL) -> float:
    """The share of the full rate after `progress` in [0, 1]: a straight rise, then half a cosine down to `final`."""
    if progress < warmup:
        return max(progress, 1e-3 * warmup) / warmup
    fallen = (progress - warmup) / max(1e-12, 1 - warmup)
    return final + (1 - final) * (1 + math.cos(math.pi * min(1.0, fallen))) / 2
