"""Processes that are threads of the test: they share tables out and add gradients up, without a start or an order."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from hmem.training.processes import Processes

T = TypeVar("T")


class Board:
    """Where each thread puts down what it has for the others."""

    def __init__(self, count: int) -> None:
        self.count, self.barrier = count, Barrier(count, timeout=60)
        self.put: list[Any] = [None] * count

    def all(self, place: int, value: T) -> list[T]:
        self.put[place] = value
        self.barrier.wait()
        found = list(self.put)
        self.barrier.wait()
        return found


class Thread(Processes):
    def __init__(self, place: int, board: Board) -> None:
        self.place, self.count, self.board = place, board.count, board

    def of_all(self, values: Tensor) -> Tensor:
        return torch.stack(self.board.all(self.place, values))

    def exchange(self, rows: Tensor, given: list[int], taken: list[int]) -> Tensor:
        offered = self.board.all(self.place, torch.split(rows, given))
        found = [each[self.place] for each in offered]
        assert [len(each) for each in found] == taken
        return torch.cat(found)

    def collect(self, rows: Tensor) -> Tensor:
        return torch.cat(self.board.all(self.place, rows))

    def add_up(self, parameters: Iterable[nn.Parameter], loss: Tensor) -> Tensor:
        learned = list(parameters)
        every = self.board.all(self.place, [None if each.grad is None else each.grad.clone() for each in learned])
        for parameter, *gradients in zip(learned, *every, strict=True):
            there = [each for each in gradients if each is not None]
            parameter.grad = torch.stack(there).sum(0) if there else torch.zeros_like(parameter)
        return self.of_all(loss).sum(0)


def in_threads(count: int, work: Callable[[Processes], T]) -> list[T]:
    """What each of several processes finds."""
    board = Board(count)
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(lambda place: work(Thread(place, board)), range(count)))
