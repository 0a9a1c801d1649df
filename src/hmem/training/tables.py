"""The vectors of entities in rows that several processes share out, so that they may outgrow the memory of one.

Each process owns a range of the rows, with what the optimizer keeps of each. Before a step it fetches those that its
questions need from their owners, and afterwards it sends the gradients of these rows back, which the owner adds up: no
array ever has a row for each entity. Adam, as for all that is learned, with one second moment for each row,

    m_x ← β₁ m_x + (1 − β₁) g_x        v_x ← β₂ v_x + (1 − β₂) mean(g_x²)        e_x ← e_x − η m̂_x / √v̂_x

leaves a row that a step does not touch as it is, and corrects the moments of each (m̂, v̂) by how often it was touched.

With one process it owns all rows, and fetches them from itself.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hmem.errors import CheckpointError
from hmem.model.query import seed_for
from hmem.training.processes import Processes

BLOCK = 65_536  # rows that are drawn from one seed, so that they do not depend on who owns them
MOMENTS = ("mean", "square", "times")  # m, v, and how often a row was touched
BETAS, TINY = (0.9, 0.999), 1e-8  # as torch has them


@dataclass(frozen=True, eq=False, slots=True)
class Fetched:
    """Rows of this process and others, for one step."""

    rows: Float[Tensor, "n de"]
    given: list[int]  # how many of them each process owns
    taken: list[int]  # how many rows of this process each has fetched
    asked: Int[Tensor, " m"]  # which, by their place here; one after the other


class Table:
    """The rows of all entities, of which those from `low` to `high` are here."""

    def __init__(
        self, num_entities: int, like: Float[Tensor, "n de"], spread: float, seed: int, processes: Processes
    ) -> None:
        self.num_entities, self.dim, self.spread, self.seed = num_entities, like.shape[1], spread, seed
        self.processes, count = processes, processes.count
        self.bounds = torch.tensor([num_entities * each // count for each in range(count + 1)], device=like.device)
        self.low, self.high = self.bounds[processes.place : processes.place + 2].tolist()
        self.kept: Tensor | None = None
        self.rows: Float[Tensor, "own de"] = self._first().to(like)
        self.moments = self._no_moments()

    def fetch(self, entities: Int[Tensor, " n"]) -> Fetched:
        """The rows of some entities, which are sorted; all processes fetch at the same time."""
        given = torch.searchsorted(entities, self.bounds).diff()
        everywhere = [1] * self.processes.count
        taken = self.processes.exchange(given, everywhere, everywhere).tolist()
        asked = self.processes.exchange(entities, given.tolist(), taken) - self.low
        rows = self.processes.exchange(self.rows.index_select(0, asked), taken, given.tolist())
        return Fetched(rows, given.tolist(), taken, asked)

    def step(self, fetched: Fetched, gradient: Float[Tensor, "n de"], rate: float, decay: float = 0.0) -> None:
        """Send gradients to the owners of their rows, and step with those of the rows that are here.

        They lose a share of `decay` before; rows that are not touched lose nothing.
        """
        all_gradients = self.processes.exchange(gradient, fetched.given, fetched.taken)  # (m, de)
        touched, place = torch.unique(fetched.asked, return_inverse=True)
        total = self.rows.new_zeros(len(touched), self.dim).index_add_(0, place, all_gradients)
        mean, square, times = (self.moments[name].index_select(0, touched) for name in MOMENTS)
        mean, times = torch.lerp(total, mean, BETAS[0]), times + 1
        square = torch.lerp(total.square().mean(1), square, BETAS[1])
        for name, each in zip(MOMENTS, (mean, square, times), strict=True):
            self.moments[name].index_copy_(0, touched, each)
        sizes = (square / (1 - BETAS[1] ** times)).sqrt() * (1 - BETAS[0] ** times) + TINY  # (touched,)
        self.rows.index_add_(0, touched, rate * mean / sizes[:, None] + decay * self.rows[touched], alpha=-1)

    def keep(self) -> None:
        """Remember the rows as the best so far."""
        self.kept = self.rows.clone()

    def go_back(self) -> None:
        """To the rows that were kept, or to the first if none were."""
        self.rows.copy_(self._first() if self.kept is None else self.kept)
        self.moments = self._no_moments()

    def whole(self) -> Float[Tensor, "all de"]:
        """The rows of all processes, in the first."""
        return self.processes.collect(self.rows)

    def state(self) -> dict[str, Tensor]:
        """All that a run needs to go on, of all processes, in the first."""
        here = {"rows": self.rows, **self.moments} | ({} if self.kept is None else {"kept": self.kept})
        return {name: self.processes.collect(each) for name, each in here.items()}

    def restore(self, tables: dict[str, Tensor]) -> None:
        """Take over the rows that are here from a run that was stopped, by however many processes.

        Rows alone are those of a model that training begins with.
        """
        shape, own = (self.num_entities, self.dim), slice(self.low, self.high)
        expected = {"rows": shape, "kept": shape, "mean": shape, "square": shape[:1], "times": shape[:1]}
        sound = all(expected.get(name) == each.shape and each.is_floating_point() for name, each in tables.items())
        if "rows" not in tables or not sound:
            raise CheckpointError("the state of the run has other vectors than the model")
        self.rows.copy_(tables["rows"][own])
        for name in MOMENTS:
            if name in tables:
                self.moments[name].copy_(tables[name][own])
        self.kept = tables.get("kept", tables["rows"])[own].to(self.rows, copy=True)

    def _no_moments(self) -> dict[str, Tensor]:
        """Of rows that were never touched."""
        shapes = dict.fromkeys(MOMENTS, (len(self.rows),)) | {"mean": self.rows.shape}
        return {name: self.rows.new_zeros(shape) for name, shape in shapes.items()}

    def _first(self) -> Float[Tensor, "own de"]:
        rows = torch.empty(self.high - self.low, self.dim)
        for block in range(self.low // BLOCK, -(-self.high // BLOCK)):
            generator = torch.Generator().manual_seed(seed_for("rows", self.seed, block))
            begin = block * BLOCK
            drawn = self.spread * torch.randn(min(BLOCK, self.num_entities - begin), self.dim, generator=generator)
            low, high = max(self.low, begin), min(self.high, begin + len(drawn))
            rows[low - self.low : high - self.low] = drawn[low - begin : high - begin]
        return rows
