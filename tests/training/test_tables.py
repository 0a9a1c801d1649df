"""Rows of a table, wherever they are."""

import pytest
import torch
from torch import Tensor

from hmem.training.processes import ALONE, Processes
from hmem.training.tables import Table
from tests.training.threads import in_threads

ENTITIES, DIM = 11, 3
LIKE = torch.empty(0, DIM, dtype=torch.float64)


def table(processes: Processes = ALONE) -> Table:
    return Table(ENTITIES, LIKE, 0.5, 7, processes)


def adam(rows: Tensor, gradients: list[Tensor], rate: float) -> Tensor:
    """Row by row: a second moment for each, and nothing where the gradient is zero."""
    rows = rows.clone()
    for row in range(len(rows)):
        mean, square = torch.zeros(DIM).double(), 0.0
        for times, gradient in enumerate((each[row] for each in gradients if each[row].any()), start=1):
            mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * float(gradient.square().mean())
            rows[row] -= rate * mean / (1 - 0.9**times) / (square / (1 - 0.999**times)) ** 0.5
    return rows


@pytest.mark.parametrize("count", [1, 2, 3, 20])  # some of 20 have no row
def test_rows_do_not_depend_on_who_owns_them(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hmem.training.tables.BLOCK", 4)
    whole = table().rows
    found = in_threads(count, lambda processes: table(processes).rows)
    assert torch.equal(torch.cat(found), whole)
    assert 0.2 < whole.std() < 0.8


def wanted(place: int) -> Tensor:
    """Sorted entities that a process asks for; the third asks for none."""
    return torch.tensor([[0, 3, 4, 10], [3, 10], []][place], dtype=torch.long)


def test_processes_fetch_rows_and_step_with_the_sum_of_their_gradients() -> None:
    generator = torch.Generator().manual_seed(0)
    given = [[torch.randn(len(wanted(place)), DIM, generator=generator).double() for place in range(3)] for _ in "abc"]

    def work(processes: Processes) -> tuple[Tensor, Tensor, Tensor]:
        mine = table(processes)
        fetched = mine.fetch(wanted(processes.place))
        for gradients in given:
            mine.step(fetched, gradients[processes.place], rate=0.1)
        return fetched.rows, mine.rows, mine.moments["times"]

    found, first = in_threads(3, work), table().rows
    assert all(torch.equal(rows, first[wanted(place)]) for place, (rows, _, _) in enumerate(found))
    sums = [torch.zeros(ENTITIES, DIM).double() for _ in given]
    for total, gradients in zip(sums, given, strict=True):
        for place, each in enumerate(gradients):
            total[wanted(place)] += each
    torch.testing.assert_close(torch.cat([each[1] for each in found]), adam(first, sums, 0.1))
    assert torch.cat([each[2] for each in found]).nonzero().squeeze(1).tolist() == [0, 3, 4, 10]


def test_rows_that_are_touched_decay() -> None:
    one = table()
    before = one.rows.clone()
    one.step(one.fetch(torch.tensor([2, 5])), torch.zeros(2, DIM).double(), rate=0.1, decay=0.25)
    torch.testing.assert_close(one.rows[[2, 5]], 0.75 * before[[2, 5]])
    assert torch.equal(one.rows[[0, 1, 3, 4]], before[[0, 1, 3, 4]])
