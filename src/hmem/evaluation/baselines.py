"""What any model has to beat: counts, rules, frequency and random scores. None of them learns; all run on a CPU."""

from typing import Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from hmem.errors import ConfigError
from hmem.evaluation.evaluate import Scorer
from hmem.graph.dataset import Dataset, GraphName
from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.ranges import expand, matches
from hmem.graph.rules import mine
from hmem.graph.triples import mirror_role

BASELINES = ("counts", "rules", "frequency")  # they stand in every table
CPU = torch.device("cpu")
SMOOTHING = 4.0  # entities that have the premise without the answer, added to those that were counted
MOST_PREMISES = 128  # of one entity; the most frequent are taken, since they are counted best
OFTEN = 50  # a premise of so many entities is counted once and kept
TIE = 1e-3  # what the lesser of two scores adds to the greater


class Premise(NamedTuple):
    """A fact of one end of an answer, and how many of the entities with such a fact have the other end as well."""

    entity: int
    role: int
    filler: int
    together: int
    of: int


class Counts:
    """Co-occurrence, which is rules with constants: of the entities with filler f in role c, how many have x in role q?

        P(q x | c f) = #{e: f in role c of e, x in role q of e} / (#{e: f in role c of e} + SMOOTHING)

    A fact is asked from both of its ends: by the best premise of the entity that it is about, and by the best premise
    of the candidate, for which the entity is the answer. The score is the greater of the two; where that is equal the
    lesser decides.

    Facts are counted in `training`; the premises are edges of `graph`.
    """

    device = CPU

    def __init__(self, training: Neighborhoods, graph: Neighborhoods) -> None:
        self.training, self.graph = training, graph
        self._features, of_edge, counts = np.unique(
            self._feature(training.roles, training.fillers), return_inverse=True, return_counts=True
        )
        self._of_edge = of_edge.reshape(-1)
        self._counts = counts
        self._weight = 1 / (counts + SMOOTHING)
        self._owners, self._owners_from = _grouped(self._of_edge, training.owners, len(counts))
        counted, premises = matches(self._features, self._feature(graph.roles, graph.fillers))
        holders = graph.owners[counted]
        self._holders, self._holders_from = _grouped(premises, holders, len(counts))
        self._premises, self._premises_from = premises, np.searchsorted(holders, np.arange(graph.num_entities + 1))
        self._kept: dict[tuple[int, int], tuple[Int[np.ndarray, " n"], Float[np.ndarray, " n"]]] = {}

    def score(self, entities: Int[Tensor, " B"], roles: Int[Tensor, " B"]) -> Float[Tensor, "B E"]:
        rows = np.zeros((len(entities), self.graph.num_entities), dtype=np.float32)
        for row, entity, role in zip(rows, entities.tolist(), roles.tolist(), strict=True):
            other = np.zeros_like(row)
            for fillers, probability in self._of_entity(entity, role):
                np.maximum.at(row, fillers, probability)
            np.maximum.at(other, *self._of_candidates(entity, role))
            row[:] = np.maximum(row, other) + np.float32(TIE) * np.minimum(row, other)
        return torch.from_numpy(rows)

    def _of_entity(self, entity: int, role: int) -> list[tuple[Int[np.ndarray, " n"], Float[np.ndarray, " n"]]]:
        """Answers and P of each by the premises that the entity has."""
        premises = self._premises_of(entity)
        often = self._counts[premises] >= OFTEN
        found = [self._counted(premise, role) for premise in premises[often].tolist()]
        return [*found, self._answers(premises[~often], role)]

    def _counted(self, premise: int, role: int) -> tuple[Int[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """The same by one premise, counted once."""
        if (premise, role) not in self._kept:
            self._kept[premise, role] = self._answers(np.array([premise]), role)
        return self._kept[premise, role]

    def _answers(
        self, premises: Int[np.ndarray, " P"], role: int
    ) -> tuple[Int[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """Answers in a role and P of each, by each of the premises."""
        starts, counts = self._owners_from[premises], self._counts[premises]
        of, place = expand(starts, counts)
        owners = self._owners[place]
        owner, answers = self.training.answers_of_each(owners, np.full(len(owners), role))
        width = self.graph.num_entities
        pairs, together = np.unique(of[owner] * width + answers, return_counts=True)
        premise, answers = premises[pairs // width], pairs % width
        other = self._features[premise] != role * width + answers
        return answers[other], (together * self._weight[premise])[other].astype(np.float32)

    def _of_candidates(self, entity: int, role: int) -> tuple[Int[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """Candidates and P of each by each premise that it has, for which the entity is the answer."""
        haves = self.training.answers(entity, role).astype(np.int64)
        starts = self.training.offsets[haves]
        _, edges = expand(starts, self.training.offsets[haves + 1] - starts)
        premises, together = np.unique(self._of_edge[edges], return_counts=True)
        itself = mirror_role(role, self.graph.num_relations) * self.graph.num_entities + entity
        other = (self._features[premises] != itself) & (self._counts[premises] > 1)
        premises, together = premises[other], together[other]
        of, place = expand(self._holders_from[premises], np.diff(self._holders_from)[premises])
        return self._holders[place], (together * self._weight[premises])[of].astype(np.float32)

    def _premises_of(self, entity: int) -> Int[np.ndarray, " P"]:
        """The edges of an entity that others of training have too, by the numbers of their features."""
        found = self._premises[self._premises_from[entity] : self._premises_from[entity + 1]]
        found = found[self._counts[found] > 1]
        most_shared: Int[np.ndarray, " P"] = found[np.argsort(-self._counts[found], kind="stable")[:MOST_PREMISES]]
        return most_shared

    def _feature(self, roles: Int[np.ndarray, " n"], fillers: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """A number for each role with its filler."""
        features: Int[np.ndarray, " n"] = roles.astype(np.int64) * self.graph.num_entities + fillers
        return features


def premises(training: Neighborhoods, graph: Neighborhoods, entity: int, role: int, answer: int) -> list[Premise]:
    """What speaks for an answer where facts are counted in `training`, from both ends and the most convincing first."""
    found = []
    mirror = mirror_role(role, graph.num_relations)
    for asked, asked_role, back_role, filler in ((entity, role, mirror, answer), (answer, mirror, role, entity)):
        haves = training.answers(filler, back_role)
        roles, fillers = graph.edges_of(asked)
        others = (roles != asked_role) | (fillers != filler)
        turned = mirror_role(roles[others], graph.num_relations)
        for back, own_role, own in zip(
            *(each.tolist() for each in (turned, roles[others], fillers[others])), strict=True
        ):
            holders = training.answers(own, back)
            together = len(np.intersect1d(holders, haves))
            if together and len(holders) > 1:
                found.append(Premise(asked, own_role, own, together, len(holders)))
    return sorted(found, key=lambda each: -each.together / (each.of + SMOOTHING))


def _grouped(
    groups: Int[np.ndarray, " n"], values: Int[np.ndarray, " n"], count: int
) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " rows"]]:
    """The values of each group end to end, and where each group begins."""
    order = np.argsort(groups, kind="stable")
    return values[order], np.concatenate([[0], np.cumsum(np.bincount(groups, minlength=count))])


class Rules:
    """Length-1 rules: if x stands in role c of an entity, it also stands in role q, with confidence

        conf(c ⇒ q) = #{(e, x): x in roles c and q of e} / #{(e, x): x in role c of e}

    A candidate's score is the confidence of the best rule that proposes it, or the noisy-or of all of them. "The
    inverse fact is already there" is such a rule, and on WN18 and FB15K it is most of the game.

    Rules are mined from `training` and applied to the edges of `graph`.
    """

    device = CPU

    def __init__(
        self, training: Neighborhoods, graph: Neighborhoods, combine: Literal["max", "noisy-or"] = "max"
    ) -> None:
        self.graph = graph
        self.combine = combine
        self.keys, self.confidence = mine(training)

    def __len__(self) -> int:
        return len(self.keys)

    def score(self, entities: Int[Tensor, " B"], roles: Int[Tensor, " B"]) -> Float[Tensor, "B E"]:
        edges = self.graph.lookup(entities.numpy())
        wanted = edges.roles.astype(np.int64) * self.graph.num_roles + roles.numpy()[edges.owner]
        fires, rule = matches(self.keys, wanted)
        confidence = torch.from_numpy(self.confidence[rule])
        cell = torch.from_numpy(edges.owner[fires] * self.graph.num_entities + edges.fillers[fires])
        scores = torch.zeros(len(entities) * self.graph.num_entities)
        if self.combine == "max":
            scores.scatter_reduce_(0, cell, confidence, "amax")
        else:
            scores.index_add_(0, cell, -torch.log1p(-confidence.clamp(max=1 - 1e-7)))
            scores = 1 - torch.exp(-scores)
        return scores.view(len(entities), self.graph.num_entities)


class Frequency:
    """How often an entity stands in the asked role, whichever entity is asked about."""

    device = CPU

    def __init__(self, graph: Neighborhoods) -> None:
        self._fillers = [torch.from_numpy(fillers) for fillers in graph.fillers_by_role()]
        self._num_entities = graph.num_entities

    def score(self, entities: Int[Tensor, " B"], roles: Int[Tensor, " B"]) -> Float[Tensor, "B E"]:
        asked, row = torch.unique(roles, return_inverse=True)
        counts = torch.zeros(len(asked), self._num_entities)
        for position, role in enumerate(asked.tolist()):
            counts[position] = torch.bincount(self._fillers[role], minlength=self._num_entities)
        return counts[row]


class RandomScores:
    """Uniform random scores, the same for the same query whatever is asked beside it."""

    device = CPU

    def __init__(self, num_entities: int, seed: int = 0) -> None:
        self.num_entities = num_entities
        self.seed = seed

    def score(self, entities: Int[Tensor, " B"], roles: Int[Tensor, " B"]) -> Float[Tensor, "B E"]:
        rows = [
            np.random.default_rng((self.seed, entity, role)).random(self.num_entities, dtype=np.float32)
            for entity, role in zip(entities.tolist(), roles.tolist(), strict=True)
        ]
        return torch.from_numpy(np.stack(rows))


def make_baseline(name: str, dataset: Dataset, graph: GraphName, seed: int = 0) -> Scorer:
    """The baseline as the command line and the tables call it. Rules and counts are of the training facts alone: the
    observed and validation facts of `graph` are premises, never statistics."""
    inference = dataset.inference_graph(graph)
    match name:
        case "counts":
            return Counts(dataset.graph_of(dataset.train), inference)
        case "rules" | "rules (noisy-or)":
            return Rules(dataset.graph_of(dataset.train), inference, "max" if name == "rules" else "noisy-or")
        case "frequency":
            return Frequency(inference)
        case "random":
            return RandomScores(dataset.num_entities, seed)
        case _:
            names = "there are counts, rules, rules (noisy-or), frequency, random"
            raise ConfigError(f'no baseline "{name}"', option="name", found=name, hint=names)
