"""Probabilities for newcomers: entities that came after a base was made, and of which little is known yet.

Of an entity that has been there for long most facts are stored. Of a newcomer most are missing, and an answer with the
same score is far likelier. How likely is seen by making newcomers of others: of some entities all facts are left out
but as many as the newcomer has in the asked role, and then they are asked about. That takes a second or so, once for
each role and number of facts, and is done again when the base has grown much.

The network and counting are weighed by facts of entities that have been there for long. That does not suit newcomers,
for whom both weigh the same.
"""

from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Bool, Int

from hmem.evaluation.isotonic import Steps, isotonic
from hmem.evaluation.joined import USUAL, Joined
from hmem.evaluation.outcomes import DEPTH, outcomes_of
from hmem.graph.dataset import Dataset
from hmem.graph.names import Vocabulary
from hmem.graph.slot_sizes import slot_sizes, usual_answers
from hmem.graph.triples import Triples
from hmem.knowledge.live_graph import LiveGraph
from hmem.knowledge.self_calibration import FEWEST, GROWN, WORK
from hmem.model.build import ModelScorer, Network
from hmem.model.index import FrozenIndex
from hmem.training.allocation import kept_memory

MOST, LEAST = 100, 20  # entities that are made newcomers
EXACT = 5  # numbers of facts below which each has probabilities of its own
SHARE = 0.2  # of all facts that may be left out for that


@dataclass(slots=True)
class Newcomers:
    """Which entities of a base are newcomers to a role, and how likely answers are in each such case."""

    model: Network
    live: LiveGraph
    first: int | None = None  # entities that the first write brought
    facts: int = 0  # when it was last begun anew
    usual: Int[np.ndarray, " R2"] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    found: dict[tuple[int, int, bool], Steps | None] = field(default_factory=dict)

    def is_one(self, entity: int, role: int) -> bool:
        """Whether an entity is new, and has fewer answers in the role than is usual."""
        if entity < self._first() or self.live.num_facts < FEWEST:
            return False
        self._keep_up()
        roles, _ = self.live.graph.edges_of(entity)
        return 0 < int((roles == role).sum()) < int(self.usual[role])

    def steps(self, entity: int, role: int) -> Steps | None:
        """P(true | log p) for an entity as new as this one; None if it is no newcomer, or if nothing can be said."""
        if not self.is_one(entity, role):
            return None
        roles, _ = self.live.graph.edges_of(entity)
        stored = int((roles == role).sum())
        few = stored if stored < EXACT else 1 << (stored.bit_length() - 1)  # 1 to 4, 8, 16, …: not more than it has
        case = role, few, stored == len(roles)
        if case not in self.found:
            self.found[case] = self._calibrate(*case)
        return self.found[case]

    def _first(self) -> int:
        if self.first is None and self.live.index is not None:
            self.first = self.live.index.first_write
        elif self.first is None:
            brought = self.live.translate(self.live.store.triples(as_of=1, evidence=self.live.evidence))
            self.first = int(brought[:, [0, 2]].max()) + 1 if len(brought) else 0
        return self.first

    def _keep_up(self) -> None:
        graph = self.live.graph
        has_grown = not self.facts / GROWN <= self.live.num_facts <= GROWN * self.facts
        if has_grown or len(self.usual) != graph.num_roles:
            self.found, self.facts = {}, self.live.num_facts
            index = self.live.index
            sizes = slot_sizes(graph) if index is None else index.sizes(graph.num_relations)
            self.usual = usual_answers(sizes, graph.num_roles)

    def _calibrate(self, role: int, few: int, alone: bool) -> Steps | None:
        live, facts = self.live, self.live.facts()
        slots = Slots.of(facts, live.num_relations, role)
        wanted = int(np.clip(WORK // (2 * len(facts)), LEAST, MOST))
        room = int(SHARE * len(facts) / max(1.0, slots.counts.mean()))
        chosen = np.random.default_rng(0).permutation(slots.entities[slots.counts >= few])[: min(wanted, room)]
        hidden = slots.left_out(facts, chosen, few, alone)
        if not hidden.any():
            return None
        names = Vocabulary(live.entities.names, list(live.relations.names)[: live.num_relations])
        none = facts[:0]
        dataset = Dataset(name="newcomers", vocab=names, train=facts[~hidden], valid=facts[hidden], test=none)
        asked = np.stack([chosen, np.full_like(chosen, role)], axis=1)
        with torch.inference_mode(), kept_memory():
            values = live.values.edges
            known = values[~np.isin(values[:, 0], chosen)] if alone else values
            graph = dataset.graph_of(np.concatenate([dataset.train, known]))
            network = ModelScorer(self.model, FrozenIndex(graph, self.model.device))
            scorer = Joined(network, graph, USUAL, live.values.buckets, itself=False)
            found = outcomes_of(scorer, dataset, asked, DEPTH)
        return isotonic(found.log_p, found.is_true) if len(found.log_p) else None


@dataclass(frozen=True, slots=True)
class Slots:
    """The entities that have a role, and how many answers each."""

    owner: Int[np.ndarray, " n"]  # of each fact: the entity that has the role by it, or -1
    entities: Int[np.ndarray, " m"]
    counts: Int[np.ndarray, " m"]

    @classmethod
    def of(cls, facts: Triples, num_relations: int, role: int) -> "Slots":
        of_role = facts[:, 1] == role % num_relations
        owner = np.where(of_role, facts[:, 0 if role >= num_relations else 2], -1).astype(np.int64)
        return cls(owner, *np.unique(owner[of_role], return_counts=True))

    def left_out(self, facts: Triples, chosen: Int[np.ndarray, " k"], few: int, alone: bool) -> Bool[np.ndarray, " n"]:
        """Which facts the chosen entities lack as newcomers: all answers but a few, and all other facts if `alone`."""
        order = np.random.default_rng(0).permutation(len(facts))
        mine = order[np.isin(self.owner[order], chosen)]
        mine = mine[np.argsort(self.owner[mine], kind="stable")]  # by entity, those of each in an order drawn
        first = np.searchsorted(self.owner[mine], self.owner[mine])
        hidden = np.zeros(len(facts), dtype=bool)
        hidden[mine[np.arange(len(mine)) - first >= few]] = True
        if alone:
            hidden |= np.isin(facts[:, [0, 2]], chosen).any(1) & ~np.isin(self.owner, chosen)
        return hidden
