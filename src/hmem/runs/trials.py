"""How a tuning divides its time: many short trainings, then longer ones of the best, and the best of all to the end."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

SEARCHING = 0.5  # of the time, for short trials
SHORT = 1 / 32  # of the time, for each of them
LEAST_SECONDS = 5.0
LONGER, LONGER_SHARE = 3, 1 / 12  # how many of the best are trained longer, and how long
MOST_TRIALS = 200


@dataclass(frozen=True, kw_only=True)
class Tried:
    """A training of a tuning."""

    number: int
    settings: dict[str, Any]  # by dotted name
    mrr: float | None  # of validation, the best that it reached by training
    seconds: float
    level: int  # 0 of a short one, 1 of a longer one, 2 of one for all the time that was left
    ended: str  # "done", "patience" or "time" as any training, or "given up", "interrupted", "failed: …"

    @property
    def is_finished(self) -> bool:
        return self.ended in ("done", "patience", "time")


@dataclass(frozen=True, kw_only=True)
class Next:
    """What to train next, and for how long."""

    seconds: float
    level: int = 0
    again: Tried | None = None  # its settings; otherwise new ones are proposed


def next_trial(tried: Sequence[Tried], seconds: float) -> Next | None:
    """What to train next in a tuning of so many seconds; None if it is over."""
    spent, short = sum(each.seconds for each in tried), max(LEAST_SECONDS, SHORT * seconds)
    left = seconds - spent
    if tried and (left < short / 2 or len(tried) >= MOST_TRIALS):
        return None
    if spent >= SEARCHING * seconds:
        best: dict[str, Tried] = {}  # with each settings, in the order of their MRR
        levels: dict[str, int] = {}
        for each in sorted((each for each in tried if each.is_finished), key=lambda each: -(each.mrr or 0.0)):
            best.setdefault(_key(each), each)
            levels[_key(each)] = max(each.level, levels.get(_key(each), 0))
        gains = {key: each for key, each in best.items() if each.ended == "time"}  # by more time
        for key in list(best)[:LONGER]:
            if key in gains and levels[key] == 0:
                return Next(seconds=min(left, max(2 * short, LONGER_SHARE * seconds)), level=1, again=best[key])
        for key in list(best)[:1]:
            if key in gains and levels[key] < 2:
                return Next(seconds=left, level=2, again=best[key])
    return Next(seconds=min(left, short) if tried else short)


def _key(tried: Tried) -> str:
    return json.dumps(tried.settings, sort_keys=True)
