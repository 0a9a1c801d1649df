import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmem.training.schedule import rate

shares = st.floats(0, 1)


def test_rises_in_a_straight_line_and_falls_as_half_a_cosine() -> None:
    assert rate(0.05, warmup=0.1, final=0.2) == pytest.approx(0.5)
    assert rate(0.1, warmup=0.1, final=0.2) == pytest.approx(1.0)
    assert rate(0.55, warmup=0.1, final=0.2) == pytest.approx(0.6)
    assert rate(1.0, warmup=0.1, final=0.2) == pytest.approx(0.2)
    assert rate(0.325, warmup=0.1, final=0.0) == pytest.approx((1 + math.cos(math.pi / 4)) / 2)


@given(progress=shares, warmup=shares, final=shares)
def test_is_a_positive_share_unless_it_ends_at_nothing(progress: float, warmup: float, final: float) -> None:
    value = rate(progress, warmup, final)
    assert 0 <= value <= 1 + 1e-12
    if progress < 1 - 1e-6:
        assert value > 0


@given(warmup=shares, final=shares, one=shares, other=shares)
def test_rises_only_before_and_falls_only_after(warmup: float, final: float, one: float, other: float) -> None:
    early, late = sorted((one, other))
    if late < warmup:
        assert rate(early, warmup, final) <= rate(late, warmup, final)
    elif early >= warmup:
        assert rate(early, warmup, final) >= rate(late, warmup, final) - 1e-12


def test_the_first_step_moves_and_a_run_past_its_end_goes_on_slowly() -> None:
    assert rate(0.0, warmup=0.02, final=0.02) == pytest.approx(1e-3)
    assert rate(0.0, warmup=0.0, final=0.02) == 1.0
    assert rate(1.3, warmup=0.02, final=0.02) == pytest.approx(0.02)
    assert rate(1.0, warmup=1.0, final=0.02) == pytest.approx(1.0)
