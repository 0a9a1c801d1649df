"""What a run tells its surroundings, and how they can end it."""

import signal
from collections.abc import Callable, Iterable, Mapping
from types import FrameType
from typing import Any

from hmem.model.checkpoint import Model
from hmem.training.hooks import Progress


class Callback:
    """Override what you need. A plain function of `Progress` is a callback that has `on_progress` alone."""

    def on_start(self, run: Mapping[str, Any]) -> None:
        """Before the first step, with what `run.json` holds: data, counts, preset, config."""

    def on_progress(self, now: Progress) -> None:
        """Every few steps, and after each validation."""

    def on_validation(self, now: Progress) -> None:
        """After each validation; `now.validated` is the MRR just measured."""

    def on_asking(self, what: str, done: int, total: int | None) -> None:
        """While a model that passes messages is validated, measured or calibrated, as `what` says.

        It tells how many of how many questions are answered; each is a pass over the graph.
        """

    def on_end(self, model: Model) -> None:
        """When the model has been measured and, if there is a folder, saved."""

    def on_error(self, error: BaseException) -> None:
        """In the place of `on_end`, if the run is interrupted or fails."""

    def should_stop(self) -> bool:
        """Asked after each step; True ends the run with `InterruptedRunError`, and it can be resumed."""
        return False


class Callbacks(Callback):
    """Several callbacks as one, told in their order."""

    def __init__(self, callbacks: Iterable[Callback | Callable[[Progress], object]]) -> None:
        self.all = [each if isinstance(each, Callback) else _Function(each) for each in callbacks]

    def on_start(self, run: Mapping[str, Any]) -> None:
        for each in self.all:
            each.on_start(run)

    def on_progress(self, now: Progress) -> None:
        for each in self.all:
            each.on_progress(now)
            if now.validated is not None:
                each.on_validation(now)

    def on_asking(self, what: str, done: int, total: int | None) -> None:
        for each in self.all:
            each.on_asking(what, done, total)

    def on_end(self, model: Model) -> None:
        for each in self.all:
            each.on_end(model)

    def on_error(self, error: BaseException) -> None:
        for each in self.all:
            each.on_error(error)

    def should_stop(self) -> bool:
        return any(each.should_stop() for each in self.all)


class _Function(Callback):
    def __init__(self, function: Callable[[Progress], object]) -> None:
        self.function = function

    def on_progress(self, now: Progress) -> None:
        self.function(now)


class CtrlC(Callback):
    """`with CtrlC() as callback`: the first Ctrl-C ends the run after its step, a second one at once.

    So does SIGTERM, with which machines are shut down and jobs ended.
    """

    def __init__(self) -> None:
        self.asked = False

    def __enter__(self) -> "CtrlC":
        self.before = {each: signal.signal(each, self._handle) for each in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *_: object) -> None:
        for each, handler in self.before.items():
            signal.signal(each, handler)

    def should_stop(self) -> bool:
        return self.asked

    def _handle(self, signum: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
