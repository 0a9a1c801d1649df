"""The facts of each training step, as questions."""

import torch
from jaxtyping import Int
from torch import Tensor

from hmem.model.query import Query, seed_for


class Batches:
    """An epoch is one random order of all facts; each is asked for its tail and for its head.

    The order depends on the seed and the epoch alone, so a run that was stopped goes on with the same batches.
    """

    def __init__(self, triples: Int[Tensor, "F 3"], num_relations: int, size: int, seed: int) -> None:
        self.triples, self.num_relations, self.size, self.seed = triples, num_relations, size, seed
        self.per_epoch = max(1, -(-len(triples) // size))
        self._epoch, self._order = -1, torch.empty(0)

    def at(self, step: int, most: int | None = None) -> Query:
        """The questions of a step, about its first `most` facts or all."""
        epoch, position = divmod(step, self.per_epoch)
        if epoch != self._epoch:
            generator = torch.Generator().manual_seed(seed_for("order", self.seed, epoch))
            self._epoch = epoch
            self._order = torch.randperm(len(self.triples), generator=generator).to(self.triples.device)
        rows = self._order[position * self.size : (position + 1) * self.size][:most]
        head, relation, tail = self.triples.index_select(0, rows).unbind(1)
        return Query(
            entity=torch.cat([head, tail]),
            role=torch.cat([relation + self.num_relations, relation]),
            target=torch.cat([tail, head]),
        )
