"""Null slots that suit the facts which a graph lacks."""

from collections.abc import Callable

import pytest
import torch

from hmem.graph.dataset import Dataset
from hmem.model.build import Network
from hmem.model.hmem import HMem
from hmem.training.absence import fit_absence
from hmem.training.hooks import Hooks
from hmem.training.loop import train
from tests.model.problems import memory_of, random_model, small


def wanting(edges: float, walks: float, start: HMem) -> Callable[[HMem], float]:
    """A judge who likes null slots best that are higher than those of `start` by so much."""
    assert start.exact is not None
    assert start.paths is not None
    wanted = (start.exact.null + edges).detach().clone(), (start.paths.null + walks).detach().clone()

    def judge(model: HMem) -> float:
        assert model.exact is not None
        assert model.paths is not None
        nulls = model.exact.null.detach(), model.paths.null.detach()
        return -sum(float((null - best).abs().mean()) for null, best in zip(nulls, wanted, strict=True))

    return judge


@pytest.mark.parametrize(
    ("edges", "walks", "expected"),
    [(0, 0, (0, 0)), (8, 0, (8, 0)), (50, 2, (8, 2)), (-1, 4, (-1, 4)), (2.2, -2.1, (2, -2)), (0.4, -0.4, (0, 0))],
)
def test_each_channel_is_shifted_to_where_the_judge_likes_it_best(
    edges: float, walks: float, expected: tuple[float, float]
) -> None:
    model = random_model(small("recall").memory, 0)
    assert model.exact is not None
    assert model.paths is not None
    before = {name: value.clone() for name, value in model.state_dict().items()}
    judge = wanting(edges, walks, model)
    assert fit_absence(model, judge) == judge(model)
    torch.testing.assert_close(model.exact.null.detach(), before["exact.null"] + expected[0])
    torch.testing.assert_close(model.paths.null.detach(), before["paths.null"] + expected[1])
    others = [name for name in before if name not in ("exact.null", "paths.null")]
    assert all(torch.equal(before[name], model.state_dict()[name]) for name in others)


def test_without_exact_channels_nothing_is_shifted() -> None:
    for preset, memory in (("tpr", {}), ("recall", {"exact": {"paths": None}})):
        model = random_model(small(preset, memory=memory).memory, 0)
        before = {name: value.clone() for name, value in model.state_dict().items()}
        assert fit_absence(model, lambda _: 0.5) == 0.5
        assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


@pytest.mark.parametrize("asked_for", [True, False])
def test_it_is_the_last_touch_to_the_best_weights(toy: Dataset, asked_for: bool) -> None:
    config = small("recall", training={"epochs": 2, "validate_every": 1, "fit_absence": asked_for})
    seen: list[dict[str, torch.Tensor]] = []

    def validate(model: Network) -> float:
        seen.append({name: value.detach().clone() for name, value in model.state_dict().items()})
        return [0.9, 0.1, 0.9, 0.95, 0.92, 0.7, 0.6][len(seen) - 1]  # the fourth value is of edges shifted by 1

    outcome = train(config, toy.train, toy.num_entities, toy.num_relations, hooks=Hooks(validate=validate))
    assert outcome.best == (0.95 if asked_for else 0.9)
    assert torch.equal(memory_of(outcome.model).embeddings.entity, seen[0]["embeddings.entity"])
    assert outcome.model.exact is not None
    torch.testing.assert_close(outcome.model.exact.null.detach(), seen[0]["exact.null"] + (1.0 if asked_for else 0.0))
    assert len(seen) == (7 if asked_for else 2)


def test_an_interrupted_run_is_left_as_it_is(toy: Dataset) -> None:
    config = small("recall", training={"fit_absence": True})
    hooks = Hooks(validate=lambda _: pytest.fail("nothing is judged"), stop=lambda: True)
    assert train(config, toy.train, toy.num_entities, toy.num_relations, hooks=hooks).stopped == "interrupted"
