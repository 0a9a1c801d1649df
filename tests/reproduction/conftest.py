"""Trainings on one thread, so that they can be repeated to the bit."""

from tests.memory.conftest import one_thread

__all__ = ["one_thread"]
