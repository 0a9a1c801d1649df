"""The time that a run has, how much of it is over, and how quick it is."""

import math
import time

MOST_ENDING = 0.5  # of the time, for what comes after the last step


class Clock:
    """`minutes` are for all of a run: some of them are kept for its end, when the model is measured and saved.

    A run without a limit has all the time there is. `spent` are the seconds of a run that goes on after a stop.
    """

    def __init__(self, minutes: float | None = None, spent: float = 0.0) -> None:
        self.limit = math.inf if minutes is None else 60 * minutes  # seconds
        self.began = time.perf_counter() - spent
        self.ending = 0.0  # seconds that the end will take, as far as is known

    @property
    def is_limited(self) -> bool:
        return math.isfinite(self.limit)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.began

    @property
    def left(self) -> float:
        return max(0.0, self.limit - self.seconds)

    @property
    def share(self) -> float:
        """How much of the time for training is over."""
        return self.seconds / (self.limit - min(self.ending, MOST_ENDING * self.limit)) if self.is_limited else 0.0


class Speedometer:
    """Facts per second since it was last read."""

    def __init__(self) -> None:
        self.facts: int | None = None
        self.since, self.last = time.perf_counter(), 0.0

    def at(self, facts: int) -> float:
        now = time.perf_counter()
        if self.facts is not None and facts > self.facts:
            self.last = (facts - self.facts) / (now - self.since)
        if facts != self.facts:
            self.facts, self.since = facts, now
        return self.last
