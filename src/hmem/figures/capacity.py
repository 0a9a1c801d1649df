"""How many bindings does a memory of random vectors hold?

The paper's simulation (its figure "TPR memory"): n bindings of twenty random roles to a hundred random entities are
summed, and each is decoded by unbinding its role. The paper gives two reasons why that fails as n grows: roles overlap,
and one role may hold several fillers. Its caption does not say how a decoding is scored, so both readings are here:

    among all       the filler scores higher than the other 99 entities; of a role with k fillers at most one can
    filtered        the filler scores higher than those that are not stored in the same role: overlap alone
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from hmem.config import MemoryConfig
from hmem.errors import ConfigError
from hmem.figures.tables import TableRow, Tables
from hmem.memory.binding import make_binding
from hmem.memory.superpose import Edges, superpose
from hmem.model.untrained import random_vectors

BINDINGS = {"tpr": "TPR", "cconv": "CConv", "hadamard": "Hadamard"}

# The paper's simulation has entities of 100 and roles of 20 components: a memory of 2,000 numbers. The other bindings
# get a memory of the same size, and one of the same entities.
PAPER_TPR = MemoryConfig(binding="tpr", entity_dim=100, relation_dim=20)
SAME_MEMORY = (
    PAPER_TPR,
    MemoryConfig(binding="cconv", entity_dim=2000, relation_dim=2000),
    MemoryConfig(binding="hadamard", entity_dim=2000, relation_dim=2000),
)
SAME_ENTITIES = (
    MemoryConfig(binding="cconv", entity_dim=100, relation_dim=100),
    MemoryConfig(binding="hadamard", entity_dim=100, relation_dim=100),
)
NUM_ENTITIES, NUM_RELATIONS = 100, 10
NUM_ROLES = 2 * NUM_RELATIONS  # the paper's twenty "relations" are roles here, two of each relation
CONFIGS = SAME_MEMORY + SAME_ENTITIES
COUNTS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500)


def memory_size(config: MemoryConfig) -> int:
    """How many numbers one memory has."""
    return make_binding(config.binding).memory_dim(config.entity_dim, config.relation_dim)


def shape_label(config: MemoryConfig) -> str:
    """`TPR 100 × 20`, `CConv 2,000`: the binding and the components of its memory."""
    sizes = f"{config.entity_dim:,} × {config.relation_dim:,}" if config.binding == "tpr" else f"{config.entity_dim:,}"
    return f"{BINDINGS[config.binding]} {sizes}"


@dataclass(frozen=True, kw_only=True)
class CapacityCurve:
    """The share of bindings that one kind of memory gives back, seed by seed."""

    config: MemoryConfig
    among_all: Float[np.ndarray, "seeds counts"]
    filtered: Float[np.ndarray, "seeds counts"]


@dataclass(frozen=True, kw_only=True)
class Capacity:
    counts: Int[np.ndarray, " counts"]  # bindings in one memory
    ceiling: Float[np.ndarray, " counts"]  # the most that `among_all` could be: one filler for each role in use
    memories: int  # of each seed and count
    curves: tuple[CapacityCurve, ...]

    def tables(self) -> Tables:
        rows: list[TableRow] = []
        for curve in self.curves:
            for seed in range(len(curve.filtered)):
                for place, count in enumerate(self.counts.tolist()):
                    rows.append(
                        {
                            "memory": shape_label(curve.config),
                            "binding": curve.config.binding,
                            "entity_dim": curve.config.entity_dim,
                            "relation_dim": curve.config.relation_dim,
                            "memory_size": memory_size(curve.config),
                            "bindings": count,
                            "seed": seed,
                            "retrieved_among_all": float(curve.among_all[seed, place]),
                            "retrieved_filtered": float(curve.filtered[seed, place]),
                            "ceiling_among_all": float(self.ceiling[place]),
                        }
                    )
        return {"capacity": rows}


def capacity(
    configs: Sequence[MemoryConfig] = CONFIGS, counts: Sequence[int] = COUNTS, *, seeds: int = 10, memories: int = 20
) -> Capacity:
    """Fill `memories` memories with each number of bindings and read them back, anew for each seed.

    A seed gives the vectors and what is stored; what is stored is the same for all kinds of memory.
    """
    for count in counts:
        if not 1 <= count <= NUM_ROLES * NUM_ENTITIES:
            most = f"{NUM_ROLES} roles and {NUM_ENTITIES} entities, so 1 to {NUM_ROLES * NUM_ENTITIES:,} of them differ"
            raise ConfigError(f"{count} bindings: there are {most}")
    stored = [[store(count, memories, seed) for count in counts] for seed in range(seeds)]
    curves = []
    for config in configs:
        found = np.array([[retrieve(config, edges, seed) for edges in row] for seed, row in enumerate(stored)])
        curves.append(CapacityCurve(config=config, among_all=found[..., 0], filtered=found[..., 1]))
    ceiling = np.array([[len(edges.bags.roles) / len(edges.roles) for edges in row] for row in stored])  # (S, counts)
    return Capacity(counts=np.array(counts), ceiling=ceiling.mean(axis=0), memories=memories, curves=tuple(curves))


def store(count: int, memories: int, seed: int) -> Edges:
    """What each of several memories holds: `count` different pairs of a role and a filler, drawn at random."""
    generator = np.random.default_rng((seed, count))
    pairs = [generator.choice(NUM_ROLES * NUM_ENTITIES, count, replace=False) for _ in range(memories)]
    roles, fillers = np.divmod(np.sort(np.stack(pairs), axis=1).ravel(), NUM_ENTITIES)  # by role within each memory
    return Edges(
        roles=torch.from_numpy(roles),
        fillers=torch.from_numpy(fillers),
        query=torch.arange(memories).repeat_interleave(count),
        num_queries=memories,
    )


def retrieve(config: MemoryConfig, edges: Edges, seed: int) -> tuple[float, float]:
    """The share of the stored bindings whose filler comes out first: among all entities, and filtered."""
    binding = make_binding(config.binding)
    vectors = random_vectors(config, NUM_ENTITIES, NUM_RELATIONS, seed, torch.device("cpu"))
    memory = superpose(binding, edges, torch.ones(len(edges.query)), vectors.roles, vectors.entities)  # (m, D)
    retrieved = binding.unbind(vectors.roles.unsqueeze(0), memory.unsqueeze(1))  # (m, roles, de)
    scores = retrieved @ vectors.entities.mT  # (m, roles, entities); entities are unit vectors: the nearest is highest
    is_stored = torch.zeros_like(scores, dtype=torch.bool)
    is_stored[edges.query, edges.roles, edges.fillers] = True
    of_role = scores[edges.query, edges.roles]  # (N, entities)
    is_other = torch.ones_like(of_role, dtype=torch.bool).scatter(1, edges.fillers.unsqueeze(1), False)
    among_all = _share_first(of_role, edges.fillers, is_other)
    return among_all, _share_first(of_role, edges.fillers, ~is_stored[edges.query, edges.roles])


def _share_first(
    scores: Float[Tensor, "N entities"], fillers: Int[Tensor, " N"], is_rival: Bool[Tensor, "N entities"]
) -> float:
    """How often the filler scores highest. Two fillers of one role, alone in a memory, score exactly alike; those
    that are level share the first place."""
    truth = scores.gather(1, fillers.unsqueeze(1))  # (N, 1)
    is_beaten = ((scores > truth) & is_rival).any(1)
    level = 1 + ((scores == truth) & is_rival).sum(1)  # with the filler itself
    return float((~is_beaten / level).mean())
