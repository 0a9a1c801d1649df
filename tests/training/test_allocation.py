"""Freed memory stays with the process while it trains, and only then."""

import ctypes
import sys

import pytest

from hmem.training import allocation
from hmem.training.allocation import AFTERWARDS, TRAINING, kept_memory


class FakeLibrary(ctypes.CDLL):
    """What was asked of the C library."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, ...]] = []

    def mallopt(self, name: int, value: int) -> int:
        self.calls.append((name, value))
        return 1

    def malloc_trim(self, pad: int) -> int:
        self.calls.append((pad,))
        return 1


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> FakeLibrary:
    fake = FakeLibrary()
    monkeypatch.setattr(allocation, "_glibc", lambda: fake)
    for name in ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_", "MALLOC_ARENA_MAX"):
        monkeypatch.delenv(name, raising=False)
    return fake


def test_memory_is_kept_and_then_given_back_also_after_an_error(library: FakeLibrary) -> None:
    def fail() -> None:
        with kept_memory():
            assert library.calls == list(TRAINING.items())
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert library.calls == [*TRAINING.items(), *AFTERWARDS.items(), (0,)]


def test_settings_of_the_environment_stay(library: FakeLibrary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "131072")
    with kept_memory():
        pass
    assert library.calls == []


def test_elsewhere_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert allocation._glibc() is None
    with kept_memory():
        pass


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "gnu_get_libc_version"), reason="not glibc")
def test_glibc_takes_every_value() -> None:
    libc = allocation._glibc()
    assert libc is not None
    for name, value in [*TRAINING.items(), *AFTERWARDS.items()]:
        assert libc.mallopt(name, value) == 1
