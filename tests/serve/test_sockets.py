"""Several processes at one socket."""

import socket
from collections.abc import Callable

import pytest

from hmem.serve import sockets
from hmem.serve.board import Board
from hmem.serve.sockets import Shared


@pytest.mark.network
def test_who_has_more_connections_leaves_the_next_to_another(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = [0.0] * Board.size(2)
    boards = Board(2, 0, numbers), Board(2, 1, numbers)
    for board, count in zip(boards, (3, 2), strict=True):
        board.tell("serving", 1)
        board.tell("connections", count)
    slept: list[Callable[[], object]] = []
    monkeypatch.setattr("time.sleep", lambda _: [each() for each in slept])
    bound = sockets.bind("127.0.0.1", 0)
    again = bound.dup()
    with Shared(bound, boards[0]) as ours, Shared(again, boards[1]) as theirs:
        ours.setblocking(False)
        with socket.create_connection(ours.getsockname()):
            slept.append(lambda: theirs.accept()[0].close())
            with pytest.raises(BlockingIOError):
                ours.accept()
        slept.clear()
        with socket.create_connection(ours.getsockname()):
            ours.accept()[0].close()  # the other did not take it
