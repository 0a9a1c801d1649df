"""Ridge regression on sparse features, against the solution of the dense equations."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hmem.knowledge import additive
from hmem.knowledge.additive import Features, folds_of, withheld, worths


def drawn(seed: int, examples: int, features: int) -> tuple[Features, np.ndarray]:
    rng = np.random.default_rng(seed)
    dense = rng.random((examples, features)) < 0.3
    example, feature = np.nonzero(dense)
    return Features(example, feature, examples, features), dense.astype(float)


@given(seed=st.integers(0, 1000), examples=st.integers(5, 40), features=st.integers(1, 12))
def test_the_worths_solve_the_normal_equations(seed: int, examples: int, features: int) -> None:
    sparse, dense = drawn(seed, examples, features)
    numbers = np.random.default_rng(seed + 1).random(examples)
    shown = np.arange(examples) % 4 != 0
    mean, found = worths(sparse, numbers, shown)
    matrix = dense[shown]
    exact = np.linalg.solve(
        matrix.T @ matrix + additive.STIFFNESS * np.eye(features), matrix.T @ (numbers[shown] - numbers[shown].mean())
    )
    assert mean == numbers[shown].mean()
    np.testing.assert_allclose(found, exact, atol=2e-3 * (1 + np.abs(exact).max()))


def test_withheld_numbers_are_not_looked_at() -> None:
    sparse, _ = drawn(0, 40, 6)
    numbers = np.random.default_rng(1).random(40)
    before = withheld(sparse, numbers)
    changed = numbers.copy()
    changed[7] = 100.0
    same = folds_of(40) == folds_of(40)[7]
    after = withheld(sparse, changed)
    np.testing.assert_array_equal(before[same], after[same])
    assert (before[~same] != after[~same]).any()


def test_without_features_the_answer_is_the_mean() -> None:
    none = Features(np.empty(0, np.int64), np.empty(0, np.int64), 5, 0)
    assert worths(none, np.arange(5.0), np.ones(5, dtype=bool))[0] == 2.0
