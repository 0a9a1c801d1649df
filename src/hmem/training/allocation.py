"""Memory that a process keeps from one step to the next.

glibc gives large blocks back to the system as soon as they are freed, and each step of training asks for them anew: on
a CPU the system then spends its time handing out pages and clearing them. While training runs, what was freed is kept.
"""

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

TRIM_THRESHOLD, TOP_PAD, MMAP_THRESHOLD = -1, -2, -3  # mallopt's names for its parameters
MOST = 2**31 - 1  # the largest int
TRAINING = {MMAP_THRESHOLD: 2**30, TRIM_THRESHOLD: MOST, TOP_PAD: 64 * 2**20}
AFTERWARDS = {MMAP_THRESHOLD: 32 * 2**20, TRIM_THRESHOLD: 64 * 2**20, TOP_PAD: 0}  # what glibc itself goes up to


@contextmanager
def kept_memory() -> Iterator[None]:
    """A while in which freed memory stays with the process; afterwards it goes back to the system.

    Nothing happens where the C library is not glibc, or where the environment has settings for it.
    """
    libc = _glibc()
    if libc is None or any(name.startswith("MALLOC_") for name in os.environ):
        yield
        return
    try:
        _set(libc, TRAINING)
        yield
    finally:
        _set(libc, AFTERWARDS)
        libc.malloc_trim(0)


def _set(libc: ctypes.CDLL, parameters: dict[int, int]) -> None:
    for name, value in parameters.items():
        libc.mallopt(name, value)  # returns 0 and changes nothing where a value is refused


def _glibc() -> ctypes.CDLL | None:
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(None)
    return libc if hasattr(libc, "gnu_get_libc_version") and hasattr(libc, "mallopt") else None
