"""The folder of a run: what was asked for, its log, the state from which it can go on, and in the end the model.

run.json                what was asked for; a run is resumed only with the same
facts.safetensors       keys of the facts that were trained on, here and before, and of those kept for validation
log.jsonl               a line for each look at the loss and for each validation
training.safetensors    the state of a run that is not finished
.lock                   held by the process that is training here
"""

import json
import math
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from hmem.config import Config, from_dict, to_dict
from hmem.errors import CheckpointError, ConfigError, Hint
from hmem.graph.fact_keys import FactKeys
from hmem.model.checkpoint import Model, read_tensors, write_tensors
from hmem.training.loop import Progress
from hmem.training.pretrain import Look
from hmem.training.state import State

if sys.platform != "win32":
    import fcntl

RUN, FACTS, LOG, STATE, LOCK = "run.json", "facts.safetensors", "log.jsonl", "training.safetensors", ".lock"


class RunFacts(NamedTuple):
    """Which facts a model has seen in training and which it has not, by their keys."""

    trained: FactKeys  # also by the models that it went on from
    valid: FactKeys


class RunFolder:
    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def is_interrupted(self) -> bool:
        return (self.path / STATE).exists()

    @property
    def is_finished(self) -> bool:
        """Whether the model here is that of a run that has ended, not the best so far."""
        return (self.path / "config.json").exists() and not self.is_interrupted

    def begin(self, run: Mapping[str, Any], overwrite: bool, facts: RunFacts | None = None) -> None:
        """Make the folder ready for a new run."""
        there = {child.name for child in self.path.iterdir()} if self.path.exists() else set()
        if there - {RUN, FACTS, LOG, LOCK} and not overwrite:
            going_on = Hint(text="choose another folder, or go on with its run", option="resume")
            replacing = Hint(text="choose another folder, or replace what it holds", option="overwrite")
            raise ConfigError(
                "{path} is not empty", path=self.path, hint=going_on if self.is_interrupted else replacing
            )
        self.path.mkdir(parents=True, exist_ok=True)
        for name in (STATE, LOG, FACTS):
            (self.path / name).unlink(missing_ok=True)
        (self.path / RUN).write_text(json.dumps(run, indent=2) + "\n", encoding="utf-8")
        if facts is not None:
            keys = {name: torch.from_numpy(np.sort(each).view(np.int64)) for name, each in facts._asdict().items()}
            write_tensors(self.path / FACTS, keys)

    def resume(self, run: Mapping[str, Any]) -> State:
        """Where the interrupted run stopped, if it is the same as `run`."""
        if not self.is_interrupted:
            raise CheckpointError(f"no interrupted run to go on with (no {STATE})", path=self.path)
        before = read_run(self.path)
        before["config"] = to_dict(from_dict(Config, before.get("config", {})))  # perhaps of an earlier version
        before.setdefault("facts", run["facts"])  # which earlier versions did not keep
        if before != {**run, "facts": before["facts"]}:
            raise ConfigError(
                f"the interrupted run had {difference(before, run)}; give the same to go on", path=self.path
            )
        if before != run:
            problem = f"the facts of {run['data']} are not those of the interrupted run"
            raise ConfigError(problem, path=self.path, hint=Hint(text="begin anew", option="overwrite"))
        return State.from_tensors(*read_tensors(self.path / STATE))

    def log(self, now: Progress | Look) -> None:
        with (self.path / LOG).open("a", encoding="utf-8") as file:
            values = {name: getattr(now, name) for name in now.__dataclass_fields__}
            values |= {"loss": None} if math.isnan(now.loss) else {}  # before the first step, and JSON has no NaN
            file.write(json.dumps(values) + "\n")

    def checkpoint(self, state: State) -> None:
        write_tensors(self.path / STATE, *state.to_tensors())

    def keep(self, model: Model) -> None:
        """Save the best model so far; a full disk is no reason to end the run, which tries again with the next."""
        with suppress(OSError, CheckpointError):
            model.save(self.path)

    def finish(self, model: Model) -> None:
        """Save the model; there is nothing to go on with any more."""
        model.save(self.path)
        (self.path / STATE).unlink(missing_ok=True)


def read_run(folder: Path) -> dict[str, Any]:
    """What was asked for when the run of this folder began."""
    try:
        run = json.loads((folder / RUN).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CheckpointError("no such file", path=folder / RUN) from None
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"not JSON ({error})", path=folder / RUN) from error
    if not isinstance(run, dict):
        raise CheckpointError("expected an object", path=folder / RUN)
    return run


def read_facts(folder: Path) -> RunFacts | None:
    """Which facts the model of this folder has seen; None of a model of before this was written down."""
    if not (folder / FACTS).exists():
        return None
    keys = read_tensors(folder / FACTS)[0]
    try:
        return RunFacts(*(keys[name].numpy().view(np.uint64) for name in RunFacts._fields))
    except KeyError as error:
        raise CheckpointError(f"the keys {error} are missing", path=folder / FACTS) from error


@contextmanager
def claimed(folder: Path) -> Iterator[bool]:
    """Whether this process may train in the folder: False while another one does.

    The claim ends with the process, however it ends. Where the system has no such locks, every process may.
    """
    if folder.exists() and not folder.is_dir():
        raise CheckpointError("expected a folder, found a file", path=folder)
    if sys.platform == "win32":
        yield True
        return
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / LOCK
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.path.samestat(os.fstat(lock.fileno()), path.stat()):  # removed by the process that had it, below
                raise BlockingIOError
        except (BlockingIOError, FileNotFoundError):
            yield False
            return
        try:
            yield True
        finally:
            path.unlink(missing_ok=True)
            if is_new and not any(folder.iterdir()):
                folder.rmdir()


def difference(before: Mapping[str, Any], now: Mapping[str, Any], where: str = "") -> str:
    """The first setting in which two runs differ."""
    for name in {**before, **now}:
        old, new = before.get(name), now.get(name)
        if isinstance(old, Mapping) and isinstance(new, Mapping) and old != new:
            return difference(old, new, f"{where}{name}.")
        if old != new:
            return f"{where}{name}={old}, not {new}"
    return "other settings"
