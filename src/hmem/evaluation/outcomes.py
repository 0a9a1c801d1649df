"""The best candidates of many questions, and whether they are true: what probabilities are counted from."""

from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from hmem.evaluation.evaluate import Scorer, rows_per_chunk
from hmem.evaluation.protocol import Candidates
from hmem.evaluation.slots import stored_answers
from hmem.graph.dataset import Dataset

DEPTH = 50  # candidates of each question that are counted


@runtime_checkable
class LogAloneScorer(Protocol):
    """A scorer that can give log p of each answer by its own evidence, whatever its rivals have; None if it cannot."""

    def log_alone(self, entities: Int[Tensor, " B"], roles: Int[Tensor, " B"]) -> Float[Tensor, "B E"] | None: ...


class Outcomes(NamedTuple):
    """The best candidates of many questions, and what became of them."""

    log_p: Float[np.ndarray, " n"]
    is_true: Bool[np.ndarray, " n"]
    leads: Bool[np.ndarray, " n"]  # whether it is the first answer to its question
    question: Int[np.ndarray, " n"]
    stored: Int[np.ndarray, " n"]  # how many answers to its question are stored


NONE = Outcomes(*(np.empty(0, dtype=kind) for kind in (np.float64, bool, bool, np.int64, np.int64)))


def outcomes_of(scorer: Scorer, dataset: Dataset, pairs: Int[np.ndarray, "m 2"], depth: int) -> Outcomes:
    """The best `depth` candidates of each (entity, role) that are not stored, true if validation holds them.

    Test facts count as false here, as every fact does that is recorded nowhere yet.
    """
    stored, true = dataset.inference_graph("train"), dataset.inference_graph("train+valid")
    candidates = Candidates("all", dataset).of(0)
    not_candidates = torch.zeros(dataset.num_entities, dtype=torch.bool)
    if candidates is not None:
        not_candidates = ~not_candidates.index_fill(0, torch.from_numpy(candidates), True)
    rows = rows_per_chunk(scorer, dataset.num_entities)
    chunks = [NONE]
    for start in range(0, len(pairs), rows):
        chunk = pairs[start : start + rows].tolist()
        excluded = not_candidates.repeat(len(chunk), 1)  # (B, E)
        for row, (entity, role) in enumerate(chunk):
            excluded[row, torch.from_numpy(stored.answers(entity, role).astype(np.int64))] = True
        log_p, found = _best(scorer, pairs[start : start + rows], excluded, depth)  # (B, depth)
        is_true = np.stack([np.isin(found[row], true.answers(*pair)) for row, pair in enumerate(chunk)])
        leads = np.broadcast_to(np.arange(log_p.shape[1]) == 0, log_p.shape)
        question = np.broadcast_to(np.arange(start, start + len(chunk))[:, None], log_p.shape)
        usable = np.isfinite(log_p)
        answers = stored_answers(stored, *pairs[start : start + rows].T)
        parts = (log_p, is_true, leads, question, np.broadcast_to(answers[:, None], log_p.shape))
        chunks.append(Outcomes(*(part[usable] for part in parts)))
    return Outcomes(*(np.concatenate(parts) for parts in zip(*chunks, strict=True)))


def _best(
    scorer: Scorer, pairs: Int[np.ndarray, "B 2"], excluded: Bool[Tensor, "B E"], depth: int
) -> tuple[Float[np.ndarray, "B depth"], Int[np.ndarray, "B depth"]]:
    """log p and ids of the best candidates, by their own evidence where the scorer can give that; −∞ if excluded."""
    with torch.inference_mode():
        entities, roles = torch.as_tensor(pairs, device=scorer.device).unbind(1)
        log_p = log_probabilities(scorer.score(entities, roles), excluded.to(scorer.device))  # (B, E)
        best, places = log_p.topk(min(depth, log_p.shape[1]))
        alone = scorer.log_alone(entities, roles) if isinstance(scorer, LogAloneScorer) else None
        if alone is not None:
            best = torch.where(best > -torch.inf, alone.gather(1, places), best)
        return best.double().cpu().numpy(), places.cpu().numpy()


def log_probabilities(scores: Float[Tensor, "B E"], excluded: Bool[Tensor, "B E"]) -> Float[Tensor, "B E"]:
    """log p of each candidate among those not excluded, which calibration speaks of; −∞ for the excluded ones.

    Scores of a model with the exact channel are log probabilities among the answers that are not stored already, and
    stay what they are; scores that are distances become such.
    """
    rivals = scores.masked_fill(excluded, -torch.inf)
    total = rivals.logsumexp(1, keepdim=True)  # −∞ where no candidate is left
    return torch.where(total > -torch.inf, rivals - total, rivals)
