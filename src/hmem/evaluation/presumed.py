"""What would be if a graph lacked another share of its facts than was left out of it.

How many facts a graph lacks is not known, so a share h is presumed. A share w is left out to see what becomes of it.
Let n answers to a question be stored.

- A slot lacks none of a share h if it lacks none of t = log(1 − h)/log(1 − w) shares w. So P(missing) = 1 − (1 − y)ᵗ,
  where y is the share of such slots from which something was left out. One certain answer is missing anyway in t·z of
  such slots, if in z it was left out, and the others are complete: t·z / (1 − z). `hmem.evaluation.slots.Estimate`
  joins the two.
- Where one answer is left out of n + 1, others may be: of a question that lacks any, h·(n + 1) / (1 − (1 − h)ⁿ⁺¹) of a
  graph without a share h. Without a share w they are fewer, and the best answer is true as much more seldom.
- Of the candidates that count as false some are true and missing anyway. For each candidate that is left out there are
  h/w of these, provided that one of the n others is left out too: y·(h/w)·(1 − (1 − w)ⁿ).
"""

import numpy as np
from jaxtyping import Bool, Float, Int

LEAST_WEIGHT = 0.1  # of a candidate that counts as false


def expected(stored: Int[np.ndarray, " n"], share: float) -> Float[np.ndarray, " n"]:
    """How many answers a question lacks that lacks any, with so many stored, where a share of all facts is missing."""
    number: Float[np.ndarray, " n"] = share * (stored + 1) / (1 - (1 - share) ** (stored + 1))
    return number


def times_as_many(left_out: float, presumed: float) -> float:
    """t: how often that much has to be left out until the presumed share is."""
    return float(np.log(1 - presumed) / np.log(1 - left_out))


def presuming(
    is_true: Bool[np.ndarray, " n"],
    share: Float[np.ndarray, " n"],
    stored: Int[np.ndarray, " n"],
    left_out: float,
    presumed: float,
) -> Float[np.ndarray, " n"]:
    """What each candidate counts for: more if it is true, and less if it is one that may be missing anyway.

    `share` is how many candidates like it were left out.
    """
    unseen = share * presumed / left_out * (1 - (1 - left_out) ** stored)
    true = expected(stored, presumed) / expected(stored, left_out)
    false = np.clip(1 - unseen / np.maximum(1 - share, 1e-6), LEAST_WEIGHT, 1.0)
    weights: Float[np.ndarray, " n"] = np.where(is_true, true, false)
    return weights
