"""Answers in order, with what probabilities are made of."""

from collections.abc import Iterable
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


def first(scores: Float[Tensor, " n"], k: int) -> Int[Tensor, " k"]:
    """The places of the k highest scores, best first and equal ones by place; fewer if some are −∞."""
    top = scores.topk(min(k, len(scores))).values
    if len(top) == 0:
        return torch.empty(0, dtype=torch.int64, device=scores.device)
    if bool(top[0].isnan()):
        raise NonFiniteError("the model gave NaN as a score, so nothing can be ranked. Was its training stable?")
    good = ((scores >= top[-1]) & (scores > -torch.inf)).nonzero().squeeze(1)  # with all that tie with the last
    return good[torch.sort(scores[good], descending=True, stable=True).indices[:k]]
