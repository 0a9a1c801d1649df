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


def adagrad(rows: Tensor, gradient: Tensor, rate: float, times: int) -> Tensor:
    """Row by row."""
    rows, squares = rows.clone(), torch.zeros(len(rows), dtype=rows.dtype)
    for _ in range(times):
        for row, each in enumerate(gradient):
            if each.any():
                squares[row] += each.square().mean()
                rows[row] -= rate * each / squares[row].sqrt()
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
    def work(processes: Processes) -> tuple[Tensor, Tensor, Tensor]:
        mine, entities = table(processes), wanted(processes.place)
        fetched = mine.fetch(entities)
        for _ in range(2):
            mine.step(fetched, (1.0 + entities[:, None]) * torch.ones(len(entities), DIM).double(), rate=0.1)
        return fetched.rows, mine.rows, mine.squares

    found, first = in_threads(3, work), table().rows
    gradient = torch.zeros(ENTITIES, DIM).double()
    for place, (rows, _, _) in enumerate(found):
        assert torch.equal(rows, first[wanted(place)])
        gradient[wanted(place)] += 1.0 + wanted(place)[:, None]
    torch.testing.assert_close(torch.cat([each[1] for each in found]), adagrad(first, gradient, 0.1, 2))
    assert (torch.cat([each[2] for each in found]) > 0).nonzero().squeeze(1).tolist() == [0, 3, 4, 10]


def test_rows_that_are_touched_decay() -> None:
    one = table()
    before = one.rows.clone()
    one.step(one.fetch(torch.tensor([2, 5])), torch.zeros(2, DIM).double(), rate=0.1, decay=0.25)
    torch.testing.assert_close(one.rows[[2, 5]], 0.75 * before[[2, 5]])
    assert torch.equal(one.rows[[0, 1, 3, 4]], before[[0, 1, 3, 4]])
