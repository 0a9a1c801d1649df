"""Tiny problems run on one thread, as in the memory tests. Nothing of hmem is imported here."""

from tests.memory.conftest import one_thread

__all__ = ["one_thread"]
