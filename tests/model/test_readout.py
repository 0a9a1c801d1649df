import pytest
import torch
from hypothesis import given

from hmem.model.readout import ReadOut
from tests.model.problems import (
    ENTITIES,
    LAW,
    RELATIONS,
    SEEDS,
    ask,
    index_of,
    looped_retrieved,
    random_facts,
    random_model,
    small,
)


def some(seed: int) -> tuple[ReadOut, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    readout = ReadOut(4, 5, 3, 0.3).double()
    with torch.no_grad():
        for parameter in readout.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    roles = torch.randint(4, (6,), generator=generator)
    load = 9 * torch.rand(6, generator=generator, dtype=torch.float64)
    unbound, wanted = torch.randn(2, 6, 5, generator=generator, dtype=torch.float64)
    return readout, roles, load, unbound, wanted


@given(seed=SEEDS)
@LAW
@torch.no_grad()
def test_what_is_turned_back_matches_as_what_is_read_out(seed: int) -> None:
    """⟨read(u), w⟩ = ⟨u, back(w)⟩ + ⟨v_q, w⟩: so the share of every fact in an answer stays exact."""
    readout, roles, load, unbound, wanted = some(seed)
    there = (readout(unbound, roles, load) * wanted).sum(1)
    back = (unbound * readout.back(wanted, roles, load)).sum(1) + (readout.usual[roles] * wanted).sum(1)
    torch.testing.assert_close(there, back, rtol=1e-12, atol=1e-12)


@given(seed=SEEDS)
@LAW
@torch.no_grad()
def test_it_is_linear_but_for_what_all_answers_have_in_common(seed: int) -> None:
    readout, roles, load, first, second = some(seed)
    together = readout(first + 2 * second, roles, load) - readout.usual[roles]
    apart = readout(first, roles, load) + 2 * readout(second, roles, load) - 3 * readout.usual[roles]
    torch.testing.assert_close(together, apart, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("damping", [None, 0.4])
@given(seed=SEEDS)
@LAW
@torch.no_grad()
def test_a_model_with_it_is_the_loop_with_it(damping: float | None, seed: int) -> None:
    facts = random_facts(seed)
    for name in ("tpr", "tpr-inf", "cconv", "recall"):
        model = random_model(small(name, memory={"readout": {"maps": 2, "damping": damping}}).memory, seed)
        graph, vectors = index_of(facts), model.embeddings()
        for entity in range(0, ENTITIES, 3):
            role = entity % (2 * RELATIONS)
            found = model.answer(ask((entity, role)), graph, vectors).retrieved[0]
            torch.testing.assert_close(found, looped_retrieved(model, facts, entity, role), rtol=1e-9, atol=1e-9)


def test_it_begins_as_a_gentle_nudge() -> None:
    torch.manual_seed(0)
    readout, unbound = ReadOut(3, 64, 8), torch.randn(10, 64)
    moved = readout(unbound, torch.arange(10) % 3, torch.zeros(10)) - unbound
    assert moved.norm() < 0.2 * unbound.norm()


def test_what_comes_from_more_is_divided_by_more() -> None:
    readout = ReadOut(2, 4, 1, 0.3).double()
    with torch.no_grad():
        assert readout.damping is not None
        readout.damping.copy_(torch.tensor([0.5, 0.0]))
        readout.mixture.zero_()
    roles, load = torch.tensor([0, 0, 1]), torch.tensor([0.0, 8.0, 8.0], dtype=torch.float64)
    read = readout(torch.ones(3, 4, dtype=torch.float64), roles, load)
    torch.testing.assert_close(read[:, 0], torch.tensor([1.0, 1 / 3, 1.0], dtype=torch.float64))
