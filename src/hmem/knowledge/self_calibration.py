"""How far a model that was not trained on a base can be trusted there, from the facts of the base itself.

Some stored facts are left out and asked for. What do the network and counting say of them, and how much does each of
the two tell (`hmem.evaluation.weighing`)? And with both: how often is an answer with such a score one of them? That is
done when a question is first asked, and again when the base has grown or shrunk much; a base that can be written to
keeps what was found, so that it is not counted twice. A base with few facts has too few to leave out, and one with very
many would take minutes; there, answers have scores, by the usual weights.

A twentieth of the facts is left out at a time, so that the others are nearly as many as there are, and several times
where there are few. Which ones depends on their names alone: a base that has a few facts more is asked much the same.
How much a base lacks is unknown: the percentages are those of one that lacks a tenth.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Int

from hmem.errors import HMemError
from hmem.evaluation.calibration import Calibration, Shares, calibrate_by
from hmem.evaluation.joined import USUAL, Joined, Weights
from hmem.evaluation.marks import asked_by_validation, marks_of
from hmem.evaluation.role_counts import count
from hmem.evaluation.weighing import Asked, asked, weigh
from hmem.graph.dataset import Dataset, spare_rows
from hmem.graph.fact_keys import fact_keys
from hmem.graph.names import Vocabulary
from hmem.graph.slot_sizes import most_answers, slot_sizes
from hmem.knowledge.live_graph import LiveGraph
from hmem.knowledge.model_link import ModelLink
from hmem.knowledge.store.store import Store
from hmem.model.build import ModelScorer, Network
from hmem.model.index import FrozenIndex
from hmem.training.allocation import kept_memory

FEWEST = 200  # facts from which on some can be left out
MOST_FACTS = 2_000_000  # beyond, leaving out a twentieth takes minutes and much memory
LEFT_OUT = 0.05  # of the facts, at a time
MOST_TIMES = 10
WORK = 15_000_000  # edges that may be looked at in all: some seconds of two cores
MOST, LEAST = 600, 100  # questions
WEIGHED = 400  # of these questions, by which the network and counting are weighed
GROWN = 1.5  # times as many facts as when it was last done, or as few
KEY = "calibration"  # of the note in which a base keeps it
FORM = 5  # of the note; another number when the same facts would give another calibration


class LeftOut(NamedTuple):
    """A base without some of its facts, and what is asked about them."""

    dataset: Dataset  # validation holds what was left out
    scorer: Joined
    sample: Int[np.ndarray, "n 2"]  # entities and roles


@dataclass(slots=True)
class SelfCalibration:
    """Weights and a calibration that follow the facts of a base."""

    model: Network
    live: LiveGraph
    link: ModelLink
    facts: int = 0  # when it was last done
    relations: int = 0
    weights: Weights = USUAL
    found: Calibration | None = None
    is_kept: bool = True  # whether the base has it, or there is nothing to keep
    before: Callable[[], None] = lambda: None  # called when the next answer has to wait for it

    def is_due(self) -> bool:
        """Whether the next answer has to wait for it."""
        return FEWEST <= self.live.num_facts <= MOST_FACTS and not (
            self._holds(self.facts, self.relations) or self._recall()
        )

    def current(self) -> Calibration | None:
        facts = self.live.num_facts
        if not FEWEST <= facts <= MOST_FACTS:
            self.weights = USUAL
            return None
        if self.is_due():
            self.before()
            self.facts, self.relations = facts, self.live.num_relations
            self.weights, self.found = self._calibrate()
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
        return json.dumps({**about, "weights": self.weights, "found": _rounded(kept)}, separators=(",", ":"))

    def _holds(self, facts: int, relations: int) -> bool:
        """Whether a calibration that was made with so many facts and relations still says what is true."""
        now = self.live.num_facts
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
                found["most"] = _most(self.live).tolist()
                if found["slots"] is not None:
                    counted = count(graph) if self.live.index is None else self.live.index.counted()
                    found["slots"]["counted"] = {name: part.tolist() for name, part in counted._asdict().items()}
            weights = Weights(*(float(each) for each in note["weights"]))
            if not np.isfinite(weights).all():
                return False
            self.found = None if found is None else Calibration.from_dict(found)
            self.weights = weights
        except (KeyError, TypeError, ValueError, RecursionError, HMemError):  # none, or of another time
            return False
        self.facts, self.relations = note["facts"], note["relations"]
        return True

    def _calibrate(self) -> tuple[Weights, Calibration | None]:
        with torch.inference_mode(), kept_memory():
            parts = self._parts()
            if not parts:
                return USUAL, None
            weights = weigh(list(islice(_evidence(parts), WEIGHED)))
            marks = []
            for dataset, scorer, sample in parts:
                scorer.weights = weights
                slots = max(1, min(len(sample), 2 * len(dataset.valid)) // 2)
                marks.append(marks_of(scorer, dataset, sample=sample, slots=slots))
        return weights, calibrate_by(marks, self.live.graph, Shares(LEFT_OUT))

    def _parts(self) -> list[LeftOut]:
        """The base without one and another twentieth of its facts, until there are enough questions."""
        live, facts = self.live, self.live.facts()
        names = Vocabulary(live.entities.names, list(live.relations.names)[: live.num_relations])
        turns = fact_keys(facts, names) / 2.0**64  # from 0 to 1, evenly
        rest = int(np.clip(WORK // (2 * len(facts)), LEAST, MOST))
        parts: list[LeftOut] = []
        for time in range(MOST_TIMES):
            near = (turns >= time * LEFT_OUT) & (turns < (time + 1) * LEFT_OUT)
            order = np.flatnonzero(near)
            left_out = spare_rows(facts, len(order), order[np.argsort(turns[order])])
            if left_out and rest > 0:
                train, valid = np.delete(facts, left_out, axis=0), facts[left_out]
                dataset = Dataset(name="left out", vocab=names, train=train, valid=valid, test=facts[:0])
                graph = dataset.graph_of(np.concatenate([train, live.values.edges]))
                network = ModelScorer(self.model, FrozenIndex(graph, self.model.device))
                scorer = Joined(network, graph, never=live.values.buckets, keeps=True, itself=False)
                parts.append(LeftOut(dataset, scorer, _drawn(asked_by_validation(dataset), names, rest)))
                rest -= len(parts[-1].sample)
        return parts


def _most(live: LiveGraph) -> Int[np.ndarray, " R2"]:
    """The most answers that any entity has in each role; in a base with an index some may have had more before."""
    graph = live.graph
    if live.index is None:
        return most_answers(slot_sizes(graph), graph.num_roles)
    most = most_answers(live.index.sizes(graph.num_relations), graph.num_roles)
    for entity in graph.changed():
        np.maximum(most, np.bincount(graph.edges_of(entity)[0], minlength=len(most)), out=most)
    return most


def _drawn(pairs: Int[np.ndarray, "n 2"], names: Vocabulary, most: int) -> Int[np.ndarray, "m 2"]:
    """Some entities and roles, by names alone."""
    entities, roles = pairs.T
    relations = len(names.relations)
    keys = fact_keys(np.stack([entities, roles % relations, entities], axis=1), names) ^ (roles >= relations)
    return pairs[np.sort(np.argsort(keys)[:most])]


def _evidence(parts: Sequence[LeftOut]) -> Iterator[Asked]:
    """What speaks for the candidates of the questions, part by part."""
    for dataset, scorer, sample in parts:
        true = dataset.inference_graph("train+valid")
        for entity, role in sample.tolist():
            found = asked(scorer, entity, role, true.answers(entity, role))
            if found is not None:
                yield found


def _rounded(value: Any) -> Any:
    """The same with numbers of seven digits, which are enough for a percentage.

    Of steps that begin at the same place then, the last one counts.
    """
    if isinstance(value, dict):
        found = {key: _rounded(each) for key, each in value.items()}
        if "log_p" in found:
            steps = dict(zip(found["log_p"], found["probability"], strict=True))
            found.update(log_p=list(steps), probability=list(steps.values()))
        return found
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    return float(f"{value:.7g}") if isinstance(value, float) else value
