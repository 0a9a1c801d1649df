import torch
from hypothesis import given
from hypothesis import strategies as st

from hmem.memory.ranges import expand, matches

RANGES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), max_size=5)
NUMBERS = st.lists(st.integers(0, 5), max_size=8)


def one_by_one(ranges: list[tuple[int, int]]) -> list[list[int]]:
    return [[place, low + step] for place, (low, count) in enumerate(ranges) for step in range(count)]


def looked_for(keys: list[int], wanted: list[int]) -> list[list[int]]:
    return [
        [which, place] for which, each in enumerate(wanted) for place, key in enumerate(sorted(keys)) if key == each
    ]


@given(RANGES)
def test_ranges_stand_end_to_end(ranges: list[tuple[int, int]]) -> None:
    low, counts = torch.tensor(ranges, dtype=torch.int64).reshape(-1, 2).T
    assert torch.stack(expand(low, counts), dim=1).tolist() == one_by_one(ranges)


@given(NUMBERS, NUMBERS)
def test_all_places_of_a_key_are_found(keys: list[int], wanted: list[int]) -> None:
    found = matches(*(torch.tensor(each, dtype=torch.int64) for each in (sorted(keys), wanted)))
    assert torch.stack(found, dim=1).tolist() == looked_for(keys, wanted)
