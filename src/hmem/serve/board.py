"""What the processes of one server know of each other: a few numbers, in memory that they share.

Each writes its own and reads those of all, so that there is no lock that a killed process could leave behind. Two that
look at the same instant may both take the last place below a limit; that is close enough.
"""

from collections.abc import MutableSequence
from pathlib import Path
from typing import Literal, get_args

Told = Literal[
    "serving",  # 1 once it takes requests
    "connections",
    "listeners",  # to events
    "waiting",  # questions in the queue
    "loading",  # 1 if its model is being loaded while it takes requests
]
TOLD: tuple[Told, ...] = get_args(Told)


class Board:
    """The numbers of all processes, as one of them sees them; by default of a process that is alone."""

    def __init__(
        self,
        processes: int = 1,
        place: int = 0,
        numbers: MutableSequence[float] | None = None,
        counters: Path | None = None,
    ) -> None:
        """Of several processes, each has its `place` from 0 on; `counters` is the folder in which they count."""
        self.processes, self.place, self.counters = processes, place, counters
        self._numbers = [0.0] * self.size(processes) if numbers is None else numbers

    @staticmethod
    def size(processes: int) -> int:
        """How many numbers there are."""
        return processes * len(TOLD)

    def tell(self, what: Told, number: int) -> None:
        """Let the others know."""
        self._numbers[self.place * len(TOLD) + TOLD.index(what)] = number

    def total(self, what: Told) -> int:
        """The sum over all processes."""
        return sum(self._of(what, place) for place in range(self.processes))

    def is_ahead(self, what: Told) -> bool:
        """Whether another that takes requests has less of it."""
        mine = self._of(what, self.place)
        return any(self._of("serving", place) and self._of(what, place) < mine for place in range(self.processes))

    def _of(self, what: Told, place: int) -> int:
        return int(self._numbers[place * len(TOLD) + TOLD.index(what)])

    def clear(self) -> None:
        """This process has ended."""
        for what in TOLD:
            self.tell(what, 0)
