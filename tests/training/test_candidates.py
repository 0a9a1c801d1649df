"""Candidates that are drawn stand for all entities."""

import pytest
import torch

from hmem.model.query import Query
from hmem.training.candidates import draw

ENTITIES, DRAWN, TIMES = 12, 5, 4000


def asked(*targets: int) -> Query:
    given = torch.tensor(targets)
    return Query(torch.zeros_like(given), torch.zeros_like(given), given)


def test_true_answers_are_candidates_and_count_once() -> None:
    drawn = draw(asked(7, 3, 7), ENTITIES, DRAWN, seed=1, step=2)
    assert {3, 7} <= set(drawn.entities.tolist())
    assert drawn.entities.tolist() == sorted(set(drawn.entities.tolist()))
    weight = dict(zip(drawn.entities.tolist(), drawn.log_weight.exp().tolist(), strict=True))
    assert weight.pop(3) == weight.pop(7) == 1
    assert list(weight.values()) == pytest.approx([1 / (1 - (1 - 1 / ENTITIES) ** DRAWN)] * len(weight))


def test_a_step_draws_the_same_again_and_the_next_another() -> None:
    one, again, other = (draw(asked(0), 1000, 20, seed=0, step=step).entities.tolist() for step in (4, 4, 5))
    assert one == again != other


def test_all_entities_are_candidates_of_a_small_graph() -> None:
    drawn = draw(asked(3), ENTITIES, ENTITIES, seed=0, step=0)
    assert drawn.entities.tolist() == list(range(ENTITIES))
    assert not drawn.log_weight.any()


def test_the_sum_of_the_softmax_is_right_on_average() -> None:
    """Exactly that of all entities, though the true answers always count; without the correction it is far off."""
    scores = torch.randn(ENTITIES, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    whole, corrected, plain = float(scores.exp().sum()), 0.0, 0.0
    for step in range(TIMES):
        drawn = draw(asked(2, 9), ENTITIES, DRAWN, seed=0, step=step)
        found = scores[drawn.entities]
        corrected += float((found + drawn.log_weight).exp().sum()) / TIMES
        plain += float(found.exp().sum()) / TIMES
    assert corrected == pytest.approx(whole, rel=0.01)
    assert plain < 0.7 * whole


def test_the_loss_and_its_gradient_are_nearly_right_on_average() -> None:
    """The logarithm of the mean is not the mean of the logarithm, but close; without the correction it is far off."""
    entities, count, times = 200, 60, 1000
    scores = torch.randn(entities, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    corrected, plain = (torch.zeros(entities + 1, dtype=torch.float64) for _ in range(2))
    for step in range(times):
        drawn = draw(asked(2, 9), entities, count, seed=3, step=step)
        found = scores[drawn.entities]
        for total, given in ((corrected, found + drawn.log_weight), (plain, found)):
            total[drawn.entities] += given.softmax(0) / times  # the gradient of what follows
            total[-1] += given.logsumexp(0) / times
    expected = torch.cat([scores.softmax(0), scores.logsumexp(0)[None]])
    assert corrected[[2, 9]].tolist() == pytest.approx(expected[[2, 9]].tolist(), rel=0.05)  # true answers
    assert (plain > 3 * expected)[[2, 9]].all()
    assert (corrected - expected)[:-1].abs().max() < 0.02
    assert abs(float(corrected[-1] - expected[-1])) < 0.03
    assert float(plain[-1] - expected[-1]) < -1
