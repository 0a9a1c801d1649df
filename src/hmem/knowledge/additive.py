"""What each of many features adds to a number, learned from examples: ridge regression on sparse features.

    û(x) = μ + Σ_{f ∈ x} b_f,   b = argmin_b Σ_x (u_x − û(x))² + λ Σ_f b_f²

λ is as good as so many examples in which a feature adds nothing, so that a rare one says little. The normal equations
(XᵀX + λI) b = Xᵀ(u − μ) are solved by conjugate gradients on the sparse X: nothing is ever as large as features times
examples.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

STIFFNESS = 10.0  # λ; between 3 and 30 it hardly matters (benchmarks/values.py)
MOST_STEPS = 40
PRECISE = 1e-3  # the part of the first residual at which the equations count as solved
FOLDS = 5


@dataclass(frozen=True, eq=False, slots=True)
class Features:
    """Which examples have which features."""

    example: Int[np.ndarray, " n"]
    feature: Int[np.ndarray, " n"]
    num_examples: int
    num_features: int

    def sums(self, worth: Float[np.ndarray, " features"]) -> Float[np.ndarray, " examples"]:
        """X b: what the features of each example come to."""
        return np.bincount(self.example, worth[self.feature], self.num_examples).astype(np.float64)

    def gathered(self, number: Float[np.ndarray, " examples"]) -> Float[np.ndarray, " features"]:
        """Xᵀ r: the sum over the examples that have a feature."""
        return np.bincount(self.feature, number[self.example], self.num_features).astype(np.float64)


def worths(
    features: Features, numbers: Float[np.ndarray, " examples"], shown: Bool[np.ndarray, " examples"]
) -> tuple[float, Float[np.ndarray, " features"]]:
    """μ and b, from the examples that are shown."""
    mean = float(numbers[shown].mean())
    worth = np.zeros(features.num_features)
    residual = features.gathered(np.where(shown, numbers - mean, 0.0))
    direction, squared = residual.copy(), float(residual @ residual)
    least = PRECISE**2 * squared
    for _ in range(MOST_STEPS):
        if squared <= least:
            break
        image = features.gathered(np.where(shown, features.sums(direction), 0.0)) + STIFFNESS * direction
        step = squared / float(direction @ image)
        worth += step * direction
        residual -= step * image
        before, squared = squared, float(residual @ residual)
        direction = residual + squared / before * direction
    return mean, worth


def folds_of(count: int) -> Int[np.ndarray, " n"]:
    """A part for each of so many examples, evenly and at random, but always alike."""
    return np.random.default_rng(0).permutation(count) % FOLDS


def withheld(features: Features, numbers: Float[np.ndarray, " examples"]) -> Float[np.ndarray, " examples"]:
    """û of each example, learned from those of the other folds."""
    folds, found = folds_of(len(numbers)), np.empty(len(numbers))
    for fold in range(FOLDS):
        mean, worth = worths(features, numbers, folds != fold)
        found[folds == fold] = (mean + features.sums(worth))[folds == fold]
    return found
