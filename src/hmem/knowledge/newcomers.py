"""Probabilities for newcomers: entities that came after training, or after a base was made, with few facts yet.

Of an entity that has been there for long most facts are stored. Of a newcomer most are missing, and an answer with the
same score is far likelier. How likely is seen by making newcomers of others, of the same kind: those that have a role
which the newcomer has. Of some of these all facts are left out but as many as the newcomer has, and then they are asked
about, as entities that the model has never seen. That takes a second or so, once for each case (`Case`), and is done
again when the base has grown much.

An untrained network and counting are weighed by facts of entities that have been there for long. That does not suit
newcomers, for whom both weigh the same; a trained model is asked about them as about all others.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int

from hmem.evaluation.evaluate import Scorer
from hmem.evaluation.isotonic import Steps, isotonic
from hmem.evaluation.joined import ALONE, Joined, Weights
from hmem.evaluation.outcomes import DEPTH, outcomes_of
from hmem.evaluation.role_counts import ENTITIES, Counted, count
from hmem.graph.dataset import Dataset
from hmem.graph.names import Vocabulary
from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.slot_sizes import slot_sizes, usual_answers
from hmem.graph.triples import Triples
from hmem.knowledge.live_graph import LiveGraph
from hmem.knowledge.self_calibration import FEWEST, GROWN, MOST_FACTS, WORK
from hmem.model.build import ModelScorer
from hmem.model.checkpoint import Model
from hmem.model.hmem import HMem
from hmem.model.index import FrozenIndex
from hmem.model.placing import place_all
from hmem.model.renumber import renumber
from hmem.training.allocation import kept_memory

MOST, LEAST = 100, 20  # entities that are made newcomers
EXACT = 5  # numbers of facts below which each has probabilities of its own
SHARE = 0.2  # of all facts that may be left out at a time
TURNS = 5
OF_KIND = 0.02  # the share of the entities of a kind that must have a role in which newcomers are
UNSEEN = "\0unseen "  # before the name of an entity that a model is not to know
WORTH = 20.0  # first answers that the steps of all answers are worth to their own


Marked = Float[np.ndarray, "n 3"]  # answers: log p, whether it is true, whether it is the first


class Case(NamedTuple):
    """How new an entity is to a role."""

    role: int  # that is asked for
    stored: int  # answers there
    kind: int  # the role by which others are of its kind: the asked one, where it has answers
    others: int  # facts of other roles


class Judged(NamedTuple):
    """P(true | log p) for a case: of first answers and of all others, of which none is likelier than the first."""

    first: Steps
    others: Steps

    def __call__(
        self, log_p: Float[np.ndarray, " n"], leads: Bool[np.ndarray, " n"], lead_log_p: Float[np.ndarray, " n"]
    ) -> Float[np.ndarray, " n"]:
        """Of some answers, given log p of the first answer to the question of each."""
        first = self.first(lead_log_p)
        found: Float[np.ndarray, " n"] = np.where(leads, first, np.minimum(first, self.others(log_p)))
        return found


class Likely(NamedTuple):
    """How likely answers about a newcomer are, and how likely where one is missing at all."""

    shown: Judged
    if_missing: Judged


@dataclass(slots=True)
class Newcomers:
    """Which entities of a base are newcomers to a role, and how likely answers are in each such case."""

    saved: Model
    live: LiveGraph
    weights: Weights  # of the network and of counting, for newcomers
    first: int | None = None  # entity that came after all that are none
    facts: int = 0  # when it was last begun anew
    usual: Int[np.ndarray, " R2"] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    usual_degree: Float[np.ndarray, " R2"] = field(default_factory=lambda: np.empty(0))
    counted: Counted | None = None
    found: dict[Case, Likely | None] = field(default_factory=dict)

    def is_one(self, entity: int, role: int) -> bool:
        """Whether an entity is new, and has fewer facts than is usual."""
        return self._case(entity, role) is not None

    def likely(self, entity: int, role: int) -> Likely | None:
        """How likely answers are for an entity as new as this one; None if it is none, or if nothing can be said."""
        case = self._case(entity, role)
        if case is None:
            return None
        if case not in self.found:
            self.found[case] = self._calibrate(case)
        return self.found[case]

    def _case(self, entity: int, role: int) -> Case | None:
        if entity < self._first() or not FEWEST <= self.live.num_facts <= MOST_FACTS:
            return None
        self._keep_up()
        roles = self.live.graph.edges_of(entity)[0]
        stored = int((roles == role).sum())
        if stored:
            is_new, kind = stored < int(self.usual[role]), role
        else:
            assert self.counted is not None
            speaks = np.isin(self.counted.others[role], roles) & (self.counted.share[role] >= OF_KIND)
            if not speaks.any():  # the entities of its kind have no such facts
                return None
            kind = int(self.counted.others[role, int(speaks.argmax())])  # the best are first
            is_new = len(roles) < self.usual_degree[kind]
        return Case(role, _few(stored), kind, _few(len(roles) - stored)) if is_new else None

    def _first(self) -> int:
        """The entities that training knows, or that the first write brought, are no newcomers."""
        if self.first is None and self.live.index is not None:
            self.first = max(self.live.num_trained, self.live.index.first_write)
        elif self.first is None:
            brought = self.live.translate(self.live.store.triples(as_of=1, evidence=self.live.evidence))
            last = int(brought[:, [0, 2]].max()) + 1 if len(brought) else 0
            self.first = max(self.live.num_trained, last)
        return self.first

    def _keep_up(self) -> None:
        graph = self.live.graph
        has_grown = not self.facts / GROWN <= self.live.num_facts <= GROWN * self.facts
        if has_grown or len(self.usual) != graph.num_roles:
            index = self.live.index
            self.found, self.facts = {}, self.live.num_facts
            self.counted = count(graph) if index is None else index.counted()
            sizes = slot_sizes(graph) if index is None else index.sizes(graph.num_relations)
            self.usual, self.usual_degree = usual_answers(sizes, graph.num_roles), _usual_degrees(graph)

    def _calibrate(self, case: Case) -> Likely | None:
        facts, num_relations = self.live.facts(), self.live.num_relations
        slots = Slots.of(facts, num_relations, case.kind)
        alike = slots.entities[slots.counts >= (case.stored if case.kind == case.role else 1)]
        known = alike[alike < self._first()]
        alike = known if len(known) >= LEAST else alike
        if not len(alike):
            return None
        degrees = np.bincount(facts[:, [0, 2]].reshape(-1))
        room = max(1, int(SHARE * len(facts) / degrees[alike].mean()))
        passes = not isinstance(self.saved.model, HMem)  # over the graph, for each question
        wanted = int(np.clip(WORK // (2 * len(facts)) if passes else MOST, LEAST, MOST))
        chosen = np.random.default_rng(0).permutation(alike)[: min(wanted, TURNS * room)]
        with torch.inference_mode(), kept_memory():
            turns = [self._asked(case, np.sort(chosen[at : at + room])) for at in range(0, len(chosen), room)]
        found, lacks = (np.concatenate(parts) for parts in zip(*turns, strict=True))
        return Likely(_judged(found), _judged(found[lacks])) if lacks.any() else None

    def _asked(self, case: Case, chosen: Int[np.ndarray, " k"]) -> tuple[Marked, Bool[np.ndarray, " n"]]:
        """What becomes of the answers about some entities that are made newcomers, and of which one is missing."""
        live, facts, values = self.live, self.live.facts(), self.live.values.edges
        hidden = left_out(facts, live.num_relations, chosen, case)
        names = Vocabulary(live.entities.names, list(live.relations.names)[: live.num_relations])
        dataset = Dataset(name="newcomers", vocab=names, train=facts[~hidden], valid=facts[hidden], test=facts[:0])
        values = values if case.others else values[~np.isin(values[:, 0], chosen)]
        graph = dataset.graph_of(np.concatenate([dataset.train, values]))
        asked = np.stack([chosen, np.full_like(chosen, case.role)], axis=1)
        found = outcomes_of(self._scorer(graph, names, chosen), dataset, asked, DEPTH)
        lacks = np.isin(chosen, Slots.of(dataset.valid, live.num_relations, case.role).entities)
        return np.stack([found.log_p, found.is_true, found.leads], axis=1), lacks[found.question]

    def _scorer(self, graph: Neighborhoods, names: Vocabulary, chosen: Int[np.ndarray, " n"]) -> Scorer:
        """The model on a graph some of whose entities it has not seen, and counting."""
        model, index, vectors = self.saved.model, FrozenIndex(graph, self.saved.model.device), None
        if isinstance(model, HMem):  # it has a vector for each entity, by its name
            entities = list(names.entities)
            for each in chosen.tolist():
                entities[each] = f"{UNSEEN}{entities[each]}"
            placed = renumber(model, self.saved.vocab, Vocabulary(entities, names.relations))
            assert isinstance(placed, HMem)
            model, vectors = placed, place_all(placed, index)
        network, itself = ModelScorer(model, index, vectors), vectors is not None
        if self.weights == ALONE and itself:
            return network
        return Joined(network, graph, self.weights, self.live.values.buckets, itself=itself)


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


def left_out(facts: Triples, num_relations: int, chosen: Int[np.ndarray, " k"], case: Case) -> Bool[np.ndarray, " n"]:
    """Which facts the chosen entities lack as newcomers: all but a few answers and a few others, one of their kind."""
    order = np.random.default_rng(0).permutation(len(facts))
    asked, of_kind = (Slots.of(facts, num_relations, role).owner for role in (case.role, case.kind))
    hidden = np.zeros(len(facts), dtype=bool)
    mine = order[np.isin(facts[order][:, [0, 2]], chosen).any(1)]
    ends = facts[mine][:, [0, 2]]
    for entity in chosen.tolist():
        own = mine[(ends == entity).any(1)]
        answers, others = own[asked[own] == entity], own[asked[own] != entity]
        others = others[np.argsort(of_kind[others] != entity, kind="stable")]
        hidden[answers[case.stored :]] = hidden[others[case.others :]] = True
    return hidden


def _judged(found: Marked) -> Judged:
    log_p, is_true, leads = found[:, 0], found[:, 1] > 0, found[:, 2] > 0
    everything = isotonic(log_p, is_true)
    first = isotonic(log_p[leads], is_true[leads], None, everything(log_p[leads]), WORTH)
    return Judged(first, everything)


def _few(number: int) -> int:
    """1 to 4, 8, 16, …: not more than it is."""
    return number if number < EXACT else 1 << (number.bit_length() - 1)


def _usual_degrees(graph: Neighborhoods) -> Float[np.ndarray, " R2"]:
    """How many facts those that have a role have: the median, of some of them."""
    entities = np.random.default_rng(0).permutation(graph.num_entities)[:ENTITIES]
    edges = graph.lookup(entities)
    owner, role = np.unique(np.stack([edges.owner, edges.roles]).astype(np.int64), axis=1)
    degree = np.bincount(edges.owner, minlength=len(entities))[owner]
    usual = np.zeros(graph.num_roles)
    for place in np.unique(role).tolist():
        usual[place] = np.median(degree[role == place])
    return usual
