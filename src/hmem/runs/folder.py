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
import shutil
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from hmem.config import Config, from_dict, to_dict
from hmem.errors import CheckpointError, ConfigError, Hint
from hmem.graph.fact_keys import FactKeys
from hmem.model.checkpoint import ASIDE, Model
from hmem.model.weights import read_tensors, write_tensors
from hmem.sqlite_files import FACTS, LOG, PART, RUN, SAVED, STATE, is_input
from hmem.training.hooks import Progress
from hmem.training.pretrain import Look
from hmem.training.state import State

if sys.platform != "win32":
    import fcntl

LOCK = ".lock"


class RunFacts(NamedTuple):
    """Which facts a model has seen in training and which it has not, by their keys."""

    trained: FactKeys  # also by the models that it went on from
    valid: FactKeys


class RunFolder:
    """A full disk ends a run at its beginning or at its end, in one line; in between it goes on as well as it can."""

    def __init__(self, path: Path, facts: RunFacts | None = None) -> None:
        self.path, self.facts = path, facts
        self._has_warned = self._has_kept = False

    @property
    def is_interrupted(self) -> bool:
        return (self.path / STATE).exists()

    @property
    def is_finished(self) -> bool:
        """Whether the model here is that of a run that has ended, not the best so far."""
        return (self.path / "config.json").exists() and not self.is_interrupted

    def begin(self, run: Mapping[str, Any], overwrite: bool) -> None:
        """Make the folder ready for a new run."""
        there = list(self.path.iterdir()) if self.path.exists() else []
        if any(not _is_left_over(child) for child in there) and not overwrite:
            going_on = Hint(text="choose another folder, or go on with its run", option="resume")
            anew = Hint(text="choose another folder, or replace what it holds", option="overwrite")
            raise ConfigError("{path} is not empty", path=self.path, hint=going_on if self.is_interrupted else anew)
        for name in (*SAVED, RUN, FACTS, LOG):
            if is_input(self.path / name):
                problem = "{path} is what is read here, and is not overwritten"
                raise ConfigError(problem, path=self.path / name, hint="choose another folder")
        self.path.mkdir(parents=True, exist_ok=True)
        _write(self.path / RUN, json.dumps(run, indent=2) + "\n")
        for name in (STATE, LOG):
            (self.path / name).unlink(missing_ok=True)
        for left in self.path.glob(f"{ASIDE}*"):  # nobody else is writing here
            shutil.rmtree(left, ignore_errors=True)

    def resume(self, run: Mapping[str, Any]) -> State:
        """Where the interrupted run stopped, if it is the same as `run`."""
        if not self.is_interrupted:
            raise CheckpointError(f"no interrupted run to go on with (no {STATE})", path=self.path)
        before = read_run(self.path)
        settings = before.get("config", {})
        if not isinstance(settings, dict):
            raise CheckpointError("expected an object as config", path=self.path / RUN)
        before["config"] = to_dict(from_dict(Config, settings))  # perhaps of an earlier version
        before.setdefault("facts", run["facts"])  # which earlier versions did not keep
        if before != {**run, "facts": before["facts"]}:
            raise ConfigError(
                f"the interrupted run had {difference(before, run)}; give the same to go on", path=self.path
            )
        if before != run:
            problem = f"the facts of {run['data']} are not those of the interrupted run"
            raise ConfigError(problem, path=self.path, hint=Hint(text="begin anew", option="overwrite"))
        try:
            return State.from_tensors(*read_tensors(self.path / STATE))
        except CheckpointError as error:
            error.path = self.path / STATE
            raise

    def log(self, now: Progress | Look) -> None:
        """Add a line; without room for it the run goes on."""
        values = {name: getattr(now, name) for name in now.__dataclass_fields__}
        values |= {"loss": None} if math.isnan(now.loss) else {}  # before the first step, and JSON has no NaN
        try:
            _append(self.path / LOG, (json.dumps(values) + "\n").encode())
        except OSError as error:
            if not self._has_warned:
                warnings.warn(f"the training goes on, but not its log: {_reason(error)}", stacklevel=2)
            self._has_warned = True

    def checkpoint(self, state: State) -> None:
        write_tensors(self.path / STATE, *state.to_tensors())

    def keep(self, model: Model) -> None:
        """Save the best model so far; a full disk is no reason to end the run, which tries again with the next."""
        with suppress(OSError, CheckpointError):
            self._save(model)
            self._has_kept = True

    def finish(self, model: Model) -> None:
        """Save the model; there is nothing to go on with any more."""
        try:
            self._save(model)
        except (OSError, CheckpointError) as error:
            problem = f"the trained model could not be saved: {_reason(error)}"
            if self.is_interrupted:
                hint = Hint(text="make room, and go on from its last state", option="resume")
            else:
                found = "the best one before calibration is there" if self._has_kept else "make room, and train again"
                hint = Hint(text=found)
            raise CheckpointError(problem, path=self.path, hint=hint) from error
        (self.path / STATE).unlink(missing_ok=True)

    def _save(self, model: Model) -> None:
        """Save the model, and then which facts it has seen."""
        model.save(self.path)
        if self.facts is None:
            (self.path / FACTS).unlink(missing_ok=True)
        else:
            keys = {name: torch.from_numpy(np.sort(each).view(np.int64)) for name, each in self.facts._asdict().items()}
            write_tensors(self.path / FACTS, keys)


def _is_left_over(child: Path) -> bool:
    """Whether a file is one of a run that got nowhere."""
    return (
        child.name in (RUN, FACTS, LOG, LOCK)
        or child.name.startswith(ASIDE)
        or (child.name[0] == "." and PART in child.name)
    )


def _write(path: Path, text: str) -> None:
    """Make or replace a file, whole or not at all."""
    beside = path.with_name(f".{path.name}{PART}")
    try:
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise CheckpointError(f"could not be written ({_reason(error)})", path=path, hint="make room") from error


def _append(path: Path, line: bytes) -> None:
    """Add a line to a file, whole or not at all."""
    with path.open("ab", buffering=0) as file:
        before = file.tell()
        try:
            while line:  # on a disk that is nearly full, less is written at first
                line = line[file.write(line) :]
        except OSError:
            file.truncate(before)
            raise


def _reason(error: OSError | CheckpointError) -> str:
    if isinstance(error, CheckpointError):
        return f"{'' if error.path is None else error.path.name} {error.problem}"
    return error.strerror or str(error)


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
