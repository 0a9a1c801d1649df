"""Several processes that train one model, on one machine or more.

The first process decides everything: when to validate, when to stop, how large a step is, what to do about a loss that
is not a number. The others, its followers (`hmem.training.follower`), are told before each step. All have the same
weights. Each answers its share of the questions of a batch, gradients are added up, and each takes the same step.

That is one sum for each step, of one array: all gradients and the loss. PyTorch's DistributedDataParallel would begin
the sum while gradients are still being computed, but it wants exactly one backward pass for each step in each process:
here a process may have a pass for each question, none if there are fewer questions than processes, and another one if
the first did not fit into its memory, which the others need not know of.

The processes of a machine have one copy of the graph: it is written to a file once, which each maps into its memory.
"""

import math
import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import torch
import torch.distributed as dist
from jaxtyping import Float
from torch import Tensor, nn
from torch.distributed import PrefixStore, Store  # type: ignore[attr-defined]  # named in its documentation

from hmem.errors import ConfigError, ProcessError
from hmem.training.places import Place, Started

T = TypeVar("T")

STEP, BEGIN_AGAIN, END = range(3)  # what followers are told to do
KEEP, COLLECT, SAVE, AGREE, COUNT = range(3, 8)  # and where each has the vectors of some entities
PATIENCE = timedelta(minutes=30)  # with a process that gives no sign of life in the middle of a step
WHILE_FIRST_IS_BUSY = timedelta(days=7)  # that followers wait for the next order: it validates, or saves
PIECE = 2**16  # rows of a table that are sent at once


class Order(NamedTuple):
    """What the first process tells the others."""

    kind: int
    step: int = 0
    rate: float = 0.0  # share of the full learning rate
    facts: int = 0  # of the batch that are asked for


class Processes:
    """The processes that train together; of this class just one, which has nothing to agree on."""

    place, count = 0, 1

    def share(self, questions: int) -> range:
        """The questions of a batch that are asked here: of every `count`, one."""
        return range(self.place, questions, self.count)

    def map(self, made: T) -> T:
        """What the first process has made, in every process; only its value counts."""
        return made

    def order(self, kind: int, step: int = 0, rate: float = 0.0, facts: int = 0) -> None:
        """Tell the followers what to do next."""

    def add_up(self, parameters: Iterable[nn.Parameter], loss: Float[Tensor, ""]) -> Float[Tensor, ""]:
        """Add up the gradients of all processes, in each, and the loss."""
        return loss

    def hand_out(self, tensors: Iterable[Tensor]) -> None:
        """Give every process the values that the first has."""

    def tell(self, what: T) -> T:
        """What the first process says, in every process."""
        return what

    def exchange(self, rows: Tensor, given: list[int], taken: list[int]) -> Tensor:
        """Give each process so many of the rows, one after the other, and take so many of each."""
        return rows

    def of_all(self, values: Tensor) -> Tensor:
        """The values of every process, in each."""
        return values[None]

    def collect(self, rows: Tensor) -> Tensor:
        """In the first process the rows of all, one after the other; in the others what was given."""
        return rows


ALONE = Processes()


class Together(Processes):
    """Two or more processes."""

    def __init__(self, place: Place, store: Store, backend: str, started: Started | None = None) -> None:
        self.at, self.place, self.count = place, place.place, place.count
        self.store, self.started = store, started or Started()
        self.patience = PATIENCE if self.place == 0 else WHILE_FIRST_IS_BUSY
        with self.answered():
            dist.init_process_group(
                backend,
                store=PrefixStore("group", store),
                rank=self.place,
                world_size=self.count,
                timeout=PATIENCE,
            )
            self.orders = dist.new_group(backend="gloo", timeout=self.patience)

    def map(self, made: T) -> T:
        with tempfile.TemporaryDirectory(prefix="hmem-") if self.at.here == 0 else nullcontext("") as folder:
            file = Path(folder) / "shared"  # of the first process of this machine
            if self.place == 0:
                self._write(made, file)
            files: list[Any] = [None] * self.count
            with self.answered():
                self._copy_to_other_machines(file)
                dist.all_gather_object(files, file, group=self.orders)
            found: T = torch.load(files[self.place - self.at.here], mmap=True, weights_only=False)
            with self.answered():
                dist.barrier(self.orders)
        return found  # a file that is mapped stays as long as it is

    def _write(self, made: object, file: Path) -> None:
        try:
            torch.save(made, file)
        except (OSError, RuntimeError) as error:  # the latter where the disk is full
            problem = f"the graph, which {self.count} processes share, could not be written there ({error})"
            hint = "make room, or let TMPDIR name a folder that has it"
            raise ProcessError(problem, path=file.parent.parent, hint=hint) from error

    def _copy_to_other_machines(self, file: Path) -> None:
        """The file of the first process, in the first process of each machine."""
        places: list[Any] = [None] * self.count
        dist.all_gather_object(places, self.at.here, group=self.orders)
        leaders = [place for place, here in enumerate(places) if here == 0]
        if len(leaders) == 1:
            return
        among = dist.new_group(leaders, backend="gloo", timeout=self.patience)
        if self.at.here != 0:
            return
        size = torch.tensor([file.stat().st_size if self.place == 0 else 0])
        dist.broadcast(size, 0, group=among)
        if self.place != 0:
            file.touch()
        content = torch.from_file(str(file), shared=True, size=int(size), dtype=torch.uint8)
        for piece in torch.split(content, 2**26):
            dist.broadcast(piece, 0, group=among)

    def order(self, kind: int, step: int = 0, rate: float = 0.0, facts: int = 0) -> None:
        with self.answered():
            dist.broadcast(torch.tensor([kind, step, rate, facts], dtype=torch.float64), 0, group=self.orders)

    def next_order(self) -> Order:
        """What the first process says next, to its followers."""
        told = torch.empty(4, dtype=torch.float64)
        with self.answered():
            dist.broadcast(told, 0, group=self.orders)
        kind, step, rate, facts = told.tolist()
        return Order(int(kind), int(step), rate, int(facts))

    def add_up(self, parameters: Iterable[nn.Parameter], loss: Float[Tensor, ""]) -> Float[Tensor, ""]:
        learned = [each for each in parameters if each.requires_grad]
        gradients = [torch.zeros_like(each) if each.grad is None else each.grad for each in learned]
        flat = torch.cat([each.flatten() for each in (*gradients, loss)])
        with self.answered():
            dist.all_reduce(flat)
        for parameter, gradient in zip(
            learned, torch.split(flat[:-1], [each.numel() for each in learned]), strict=True
        ):
            parameter.grad = gradient.view_as(parameter)
        return flat[-1]

    def hand_out(self, tensors: Iterable[Tensor]) -> None:
        with self.answered():
            for each in tensors:
                dist.broadcast(each, 0)

    def tell(self, what: T) -> T:
        said: list[Any] = [what]
        with self.answered():
            dist.broadcast_object_list(said, 0, group=self.orders)
        told: T = said[0]
        return told

    def exchange(self, rows: Tensor, given: list[int], taken: list[int]) -> Tensor:
        found = rows.new_empty(sum(taken), *rows.shape[1:])
        with self.answered():
            dist.all_to_all_single(found, rows.contiguous(), taken, given)
        return found

    def of_all(self, values: Tensor) -> Tensor:
        found = [torch.empty_like(values) for _ in range(self.count)]
        with self.answered():
            dist.all_gather(found, values.contiguous())
        return torch.stack(found)

    def collect(self, rows: Tensor) -> Tensor:
        """They go through a file that has no name any more, so that no process needs the memory for all of them."""
        counts = self.of_all(torch.tensor(len(rows), device=rows.device)).tolist()
        if self.place != 0:
            with self.answered():
                for piece in torch.split(rows, PIECE):
                    dist.send(piece.cpu(), 0)
            return rows
        found = _in_a_file(sum(counts), rows)
        for place, whole in enumerate(torch.split(found, counts)):
            for low in range(0, len(whole), PIECE):
                piece = whole[low : low + PIECE]
                if place == 0:
                    piece.copy_(rows[low : low + PIECE])
                    continue
                with self.answered():
                    dist.recv(piece, place)
        return found

    @contextmanager
    def answered(self) -> Iterator[None]:
        """A while in which the others have to answer; a `ProcessError` says which of them did not."""
        try:
            yield
        except RuntimeError as error:  # as torch calls all that goes wrong between processes
            raise ProcessError(self._what_happened(str(error))) from error

    def _what_happened(self, reason: str) -> str:
        for _ in range(20):  # the news may be slower than the end of the connection
            for place in range(self.count):
                with suppress(RuntimeError):
                    if self.store.check([key := f"failed/{place}"]):
                        return f"process {place} of {self.count} failed: {self.store.get(key).decode()}"
            for place, how in self.started.ended().items():
                return f"process {place} of {self.count} {how}"
            time.sleep(0.1)
        if "imed out" in reason:
            return f"one of the {self.count} processes has not answered for {PATIENCE.total_seconds() / 60:g} minutes"
        return f"one of the {self.count} processes has gone"

    def failed(self, error: BaseException) -> None:
        """Let the first process know why this one ends."""
        text = str(error) if isinstance(error, ConfigError) else f"{type(error).__name__}: {error}"
        with suppress(RuntimeError):
            self.store.set(f"failed/{self.place}", " ".join(text.split())[:500])


def _in_a_file(count: int, like: Tensor) -> Tensor:
    """Room for so many rows like these."""
    shape = (count, *like.shape[1:])
    with tempfile.TemporaryDirectory(prefix="hmem-") as folder:
        file = Path(folder) / "rows"
        try:
            with file.open("wb") as opened:
                size = max(1, math.prod(shape) * like.element_size())
                opened.truncate(size)
                if hasattr(os, "posix_fallocate"):  # not on macOS; else a lack of room is a signal when it is written
                    os.posix_fallocate(opened.fileno(), 0, size)
            return torch.from_file(str(file), shared=True, size=math.prod(shape), dtype=like.dtype).view(shape)
        except (OSError, RuntimeError) as error:
            problem = f"the rows of all entities, {count:,}, could not be written there ({error})"
            hint = "make room, or let TMPDIR name a folder that has it"
            raise ProcessError(problem, path=Path(folder).parent, hint=hint) from error
