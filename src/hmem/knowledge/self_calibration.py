"""Probabilities of a model that was not trained on a base, from the facts of the base itself.

Some stored facts are left out and asked for: how often is an answer with such a score one of them? That takes seconds,
and is done when a question is first asked, and again when the base has grown much. A base with few facts has too few to
leave out; there, answers have scores.
"""

from dataclasses import dataclass

import numpy as np
import torch

from hmem.evaluation.calibration import Calibration, calibrate
from hmem.graph.dataset import SHARE_HELD_BACK, Dataset, spare_rows
from hmem.graph.names import Vocabulary
from hmem.knowledge.live_graph import LiveGraph
from hmem.model.build import ModelScorer, Network
from hmem.model.index import FrozenIndex
from hmem.training.allocation import kept_memory

FEWEST = 200  # facts from which on some can be left out
WORK = 5_000_000  # edges that may be looked at in all: some seconds of two cores
MOST, LEAST = 300, 40  # questions
GROWN = 1.5  # times as many facts as when it was last done


@dataclass(slots=True)
class SelfCalibration:
    """A calibration that follows the facts of a base."""

    model: Network
    live: LiveGraph
    facts: int = 0  # when it was last done
    relations: int = 0
    found: Calibration | None = None

    def current(self) -> Calibration | None:
        facts = self.live.graph.num_facts
        if facts < FEWEST:
            return None
        if self.relations != self.live.num_relations or not self.facts / GROWN <= facts <= GROWN * self.facts:
            self.facts, self.relations = facts, self.live.num_relations
            self.found = self._calibrate()
        return self.found

    def _calibrate(self) -> Calibration | None:
        live, facts = self.live, self.live.graph.to_triples()
        left_out = spare_rows(facts, max(LEAST, round(SHARE_HELD_BACK * len(facts))))
        if not left_out:
            return None
        names = Vocabulary(live.entities.names, list(live.relations.names)[: live.num_relations])
        train, valid = np.delete(facts, left_out, axis=0), facts[left_out]
        dataset = Dataset(name="left out", vocab=names, train=train, valid=valid, test=facts[:0])
        questions = int(np.clip(WORK // (2 * len(facts)), LEAST, MOST))
        with torch.inference_mode(), kept_memory():
            scorer = ModelScorer(self.model, FrozenIndex(dataset.inference_graph("train"), self.model.device))
            return calibrate(scorer, dataset, questions=questions, slots=questions // 2)
