"""Probabilities of a model that was not trained on a base, from the facts of the base itself.

Some stored facts are left out and asked for: how often is an answer with such a score one of them? That is done when a
question is first asked, and again when the base has grown or shrunk much; a base that can be written to keeps what was
found, so that it is not counted twice. A base with few facts has too few to leave out; there, answers have scores.

A twentieth of the facts is left out at a time, so that the others are nearly as many as there are, and several times
where there are few. How much a base lacks nobody knows: the percentages are those of one that lacks a tenth.
"""

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from hmem.errors import HMemError
from hmem.evaluation.calibration import Calibration, Marks, calibrate_by, marks_of, most_per_role
from hmem.evaluation.slots import count
from hmem.graph.dataset import Dataset, spare_rows
from hmem.graph.names import Vocabulary
from hmem.knowledge.counted import CountedScorer
from hmem.knowledge.live_graph import LiveGraph
from hmem.knowledge.model_link import ModelLink
from hmem.knowledge.store.store import Store
from hmem.model.build import ModelScorer, Network
from hmem.model.index import FrozenIndex
from hmem.training.allocation import kept_memory

FEWEST = 200  # facts from which on some can be left out
LEFT_OUT = 0.05  # of the facts, at a time
LACKING = 0.1  # of all facts, those that a base is presumed to lack
MOST_TIMES = 6
WORK = 10_000_000  # edges that may be looked at in all: some seconds of two cores
MOST, LEAST = 400, 60  # questions
GROWN = 1.5  # times as many facts as when it was last done, or as few
KEY = "calibration"  # of the note in which a base keeps it
FORM = 1  # of the note; another number when the same facts would give another calibration


@dataclass(slots=True)
class SelfCalibration:
    """A calibration that follows the facts of a base."""

    model: Network
    live: LiveGraph
    link: ModelLink
    facts: int = 0  # when it was last done
    relations: int = 0
    found: Calibration | None = None
    is_kept: bool = True  # whether the base has it, or there is nothing to keep

    def is_due(self) -> bool:
        """Whether the next answer has to wait for it."""
        return self.live.graph.num_facts >= FEWEST and not (self._holds(self.facts, self.relations) or self._recall())

    def current(self) -> Calibration | None:
        facts = self.live.graph.num_facts
        if facts < FEWEST:
            return None
        if self.is_due():
            self.facts, self.relations = facts, self.live.num_relations
            self.found = self._calibrate()
            self._keep()
        return self.found

    def note(self) -> str:
        """What was found, as a base keeps it: without what is quickly counted again."""
        kept = None if self.found is None else self.found.to_dict()
        if kept is not None:
            kept["most"] = None
            if kept["slots"] is not None:
                kept["slots"]["counted"] = None
        about = {"form": FORM, "model": self.link.checksum, "facts": self.facts, "relations": self.relations}
        return json.dumps({**about, "found": _rounded(kept)}, separators=(",", ":"))

    def _holds(self, facts: int, relations: int) -> bool:
        """Whether a calibration that was made with so many facts and relations still says what is true."""
        now = self.live.graph.num_facts
        return relations == self.live.num_relations and facts / GROWN <= now <= GROWN * facts

    def _keep(self) -> None:
        if self.live.evidence.with_inferred:  # which others do not count
            return
        self.is_kept = False
        if not self.live.store.read_only:
            self.keep_in(self.live.store)

    def keep_in(self, store: Store) -> None:
        """Write it down. Where that fails it is counted again next time: it is too long, or the disk is full."""
        with suppress(HMemError):
            store.set_meta(**{KEY: self.note()})
            self.is_kept = True

    def _recall(self) -> bool:
        """Take what was kept, if it was made by this model and of about as many facts."""
        try:
            note = json.loads(self.live.store.metas()[KEY])
            if (note["form"], note["model"]) != (FORM, self.link.checksum):
                return False
            if not self._holds(note["facts"], note["relations"]):
                return False
            graph, found = self.live.graph, note["found"]
            if found is not None:
                found["most"] = most_per_role(graph).tolist()
                if found["slots"] is not None:
                    counted = count(graph)
                    found["slots"]["counted"] = {name: part.tolist() for name, part in counted._asdict().items()}
            self.found = None if found is None else Calibration.from_dict(found)
        except (KeyError, TypeError, ValueError, RecursionError, HMemError):  # none, or of another time
            return False
        self.facts, self.relations = note["facts"], note["relations"]
        return True

    def _calibrate(self) -> Calibration | None:
        live, facts = self.live, self.live.graph.to_triples()
        wanted = int(np.clip(WORK // (2 * len(facts)), min(LEAST, MOST), MOST))
        parts: list[Marks] = []
        asked = 0
        with torch.inference_mode(), kept_memory():
            for time in range(MOST_TIMES):
                if asked >= wanted:
                    break
                facts = np.random.default_rng(time).permutation(facts)
                left_out = spare_rows(facts, max(1, round(LEFT_OUT * len(facts))))
                if not left_out:
                    return None
                names = Vocabulary(live.entities.names, list(live.relations.names)[: live.num_relations])
                train, valid = np.delete(facts, left_out, axis=0), facts[left_out]
                dataset = Dataset(name="left out", vocab=names, train=train, valid=valid, test=facts[:0])
                graph = dataset.inference_graph("train")
                scorer = CountedScorer(ModelScorer(self.model, FrozenIndex(graph, self.model.device)), graph)
                rest = wanted - asked
                slots = max(1, min(rest, 2 * len(valid)) // 2)
                parts.append(marks_of(scorer, dataset, questions=rest, slots=slots, presumed=LACKING))
                asked += int(parts[-1].outcomes.leads.sum()) or wanted
        return calibrate_by(parts, live.graph, LEFT_OUT, LACKING)


def _rounded(value: Any) -> Any:
    """The same with numbers of seven digits, which are enough for a percentage."""
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    return float(f"{value:.7g}") if isinstance(value, float) else value
