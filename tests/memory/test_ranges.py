import torch
from hypothesis import given
from hypothesis import strategies as st

from hmem.memory.ranges import expand, matches

RANGES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), max_size=5)
NUMBERS = st.lists(st.integers(0, 5), max_size=8)


@given(RANGES)
def test_ranges_stand_end_to_end(ranges: list[tuple[int, int]]) -> None:
    low, counts = torch.tensor(ranges, dtype=torch.int64).reshape(-1, 2).T
    expected = [(place, low + step) for place, (low, count) in enumerate(ranges) for step in range(count)]
    assert torch.stack(expand(low, counts), dim=1).tolist() == [list(each) for each in expected]


@given(NUMBERS, NUMBERS)
def test_all_places_of_a_key_are_found(keys: list[int], wanted: list[int]) -> None:
    keys.sort()
    expected = [[which, place] for which, each in enumerate(wanted) for place, key in enumerate(keys) if key == each]
    found = matches(*(torch.tensor(each, dtype=torch.int64) for each in (keys, wanted)))
    assert torch.stack(found, dim=1).tolist() == expected
