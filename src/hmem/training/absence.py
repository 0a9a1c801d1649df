"""How often is no stored fact the answer? The null slots, shifted to suit facts that training did not see.

In training a fact is asked for with itself withheld, and whatever else links its two entities is still there. Facts
that a graph really lacks are linked less often, in FB15K-237 never, and so the null slots are too low for them. When
training ends, one number is added to all null slots of the edges, and then one to those of the walks: that with which
validation goes best (`training.fit_absence`).
"""

from collections.abc import Callable

import torch

from hmem.model.hmem import HMem

UP, DOWN = (1.0, 2.0, 4.0, 8.0), (-1.0, -2.0)  # shifts, tried one after the other for as long as they help


@torch.no_grad()
def fit_absence(model: HMem, judge: Callable[[HMem], float], is_over: Callable[[], bool] = lambda: False) -> float:
    """Shift the null slots of each exact channel to where `judge` gives the highest value; returns that value.

    When it `is_over` no other shift is tried.
    """
    best = judge(model)
    for channel in (model.exact, model.paths):
        if channel is None:
            continue
        before = channel.null.clone()
        chosen = 0.0
        for shifts in (UP, DOWN):
            for shift in shifts:
                if is_over():
                    break
                channel.null.copy_(before + shift)
                value = judge(model)
                if value <= best:
                    break
                best, chosen = value, shift
            if chosen:
                break
        channel.null.copy_(before + chosen)
    return best
