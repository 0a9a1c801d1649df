"""Answers in order, with what probabilities are made of."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from hmem.errors import NonFiniteError


@dataclass(frozen=True, eq=False, slots=True)
class Ranked:
    """Answers to one question, or facts judged one by one."""

    answers: Int[np.ndarray, " n"]
    scores: Float[np.ndarray, " n"]
    log_p: Float[np.ndarray, " n"]
    stored: Bool[np.ndarray, " n"]
    leads: Bool[np.ndarray, " n"]  # the best of those that are not stored
    ranks: Int[np.ndarray, " n"]  # from 1; among the answers that are not stored for a fact judged by itself
    lead_log_p: Float[np.ndarray, " n"]  # log_p of the best answer that is not stored, to the same question

    def take(self, places: Int[np.ndarray, " k"] | slice) -> "Ranked":
        """Some of them, in the order of these places."""
        return Ranked(*(getattr(self, name)[places] for name in self.__slots__))

    def ranked_anew(self) -> "Ranked":
        """The same, ranked in the order in which they stand."""
        return replace(self, ranks=1 + np.arange(len(self.ranks)))


def unjudged(answers: Int[np.ndarray, " n"], stored: Bool[np.ndarray, " n"] | bool) -> Ranked:
    """Room for what is to be said about these answers."""
    count = len(answers)
    is_stored, leads = np.full(count, stored, dtype=bool), np.zeros(count, dtype=bool)
    ranks = np.empty(count, dtype=np.int64)
    return Ranked(answers, np.empty(count), np.empty(count), is_stored, leads, ranks, np.empty(count))


def joined(parts: Iterable[Ranked]) -> Ranked:
    """All of them, one after the other."""
    whole = [unjudged(np.empty(0, dtype=np.int64), stored=False), *parts]
    return Ranked(*(np.concatenate([getattr(each, name) for each in whole]) for name in Ranked.__slots__))


def merged(new: Ranked, old: Ranked, k: int) -> Ranked:
    """The k best of new answers and of stored ones."""
    both = joined([new, old])
    return both.take(np.lexsort((both.answers, -both.scores))[:k]).ranked_anew()


def first(scores: Float[Tensor, "B n"], k: Sequence[int]) -> list[Int[np.ndarray, " _"]]:
    """The places of the k highest scores of each row, best first and equal ones by place; fewer if some are −∞."""
    last = [min(each, scores.shape[1]) - 1 for each in k]
    if not last or max(last) < 0:
        return [np.empty(0, dtype=np.int64) for _ in last]
    top = scores.topk(max(last) + 1).values
    if bool(top[:, 0].isnan().any()):
        raise NonFiniteError("the model gave NaN as a score, so nothing can be ranked. Was its training stable?")
    least = top.gather(1, torch.tensor(last, device=top.device)[:, None])
    good = ((scores >= least) & (scores > -torch.inf)).nonzero()  # with all that tie with the last
    row, place = good.cpu().numpy().T
    order = np.lexsort((place, -scores[good[:, 0], good[:, 1]].cpu().numpy(), row))
    starts = np.searchsorted(row, np.arange(len(last))).tolist()
    ends = [*starts[1:], len(row)]
    return [place[order[start:end]][:each] for start, end, each in zip(starts, ends, k, strict=True)]
