from hmem.serve.board import Board


def test_each_writes_its_own_and_reads_those_of_all() -> None:
    numbers = [0.0] * Board.size(3)
    first, _, last = boards = [Board(3, place, numbers) for place in range(3)]
    for place, each in enumerate(boards):
        each.tell("listeners", 10**place)
        each.tell("loading", int(place == 1))
    assert [each.total("listeners") for each in boards] == [111] * 3
    assert first.total("loading") == 1
    assert first.total("waiting") == 0
    assert not last.is_ahead("listeners"), "the others serve nothing"
    first.tell("serving", 1)
    assert last.is_ahead("listeners")
    assert not first.is_ahead("listeners")
    last.clear()
    assert [each.total("listeners") for each in boards] == [11] * 3


def test_one_process_alone_has_a_board_of_its_own() -> None:
    one, other = Board(), Board()
    one.tell("connections", 3)
    assert one.total("connections") == 3
    assert other.total("connections") == 0
