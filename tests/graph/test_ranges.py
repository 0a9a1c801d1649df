import numpy as np
from hypothesis import given

from hmem.graph.ranges import expand, matches
from tests.memory.test_ranges import NUMBERS, RANGES, looked_for, one_by_one


@given(RANGES)
def test_ranges_stand_end_to_end(ranges: list[tuple[int, int]]) -> None:
    low, counts = np.array(ranges, dtype=np.int64).reshape(-1, 2).T
    assert np.stack(expand(low, counts), axis=1).tolist() == one_by_one(ranges)


@given(NUMBERS, NUMBERS)
def test_all_places_of_a_key_are_found(keys: list[int], wanted: list[int]) -> None:
    found = matches(*(np.array(each, dtype=np.int64) for each in (sorted(keys), wanted)))
    assert np.stack(found, axis=1).tolist() == looked_for(keys, wanted)
