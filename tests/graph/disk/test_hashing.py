"""One name has the number that it has among many, and is compared byte by byte."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hmem.graph.disk.hashing import Bytes, Ends, hash_name, hash_names, same_names

names = st.lists(st.binary(max_size=30), max_size=20)


def laid_out(parts: list[bytes]) -> tuple[Bytes, Ends, Ends]:
    ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
    return (
        np.frombuffer(b"".join(parts), dtype=np.uint8),
        ends - np.array([len(part) for part in parts], dtype=np.int64),
        ends,
    )


@given(names)
def test_many_at_once_are_as_one_by_one(parts: list[bytes]) -> None:
    assert hash_names(*laid_out(parts)).tolist() == [hash_name(part) for part in parts]


def test_names_that_are_nearly_equal_have_other_numbers() -> None:
    parts = [b"", b"\0", b"\0" * 8, b"\0" * 9, b"a", b"a\0", b"12345678", b"1234567812345678", b"8765432112345678"]
    parts += [b"x" * size for size in range(100)] + [f"Q{number}".encode() for number in range(50_000)]
    assert len({*map(hash_name, parts)}) == len(set(parts))


@given(names, names)
def test_equal_names_are_the_same(some: list[bytes], others: list[bytes]) -> None:
    pairs = [(one, other) for one in some for other in others] + [(one, one) for one in some]
    one, other = laid_out([pair[0] for pair in pairs]), laid_out([pair[1] for pair in pairs])
    assert same_names(*one, *other).tolist() == [first == second for first, second in pairs]
