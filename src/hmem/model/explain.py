"""Why an answer scored what it scored: the computation itself, taken apart.

The dense score is −τ‖e_o − e_x‖² = 2τ e_o·e_x − τ‖e_x‖² − τ‖e_o‖², and only its first term, the match, depends on both
sides. Superposition and unbinding are linear, so the match is a sum over the stored edges,

    2τ e_o·e_x = Σ_c 2τ w_c unbind(r_q, bind(r_c, e_c))·e_x  +  2τ (unbind(r_q, M̂) − unbind(r_q, M))·e_x,

whose last part is what completion added. With a read-out e_x is turned back through it first, and what all answers to
the asked role have in common, 2τ v_q·e_x, is a part of its own. With the exact channel an answer's probability is a sum
as well: what each edge to it was copied with, what each longer path to it gave of the rest, and what was left for the
dense channel.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hmem.errors import ConfigError
from hmem.model.explicit import ExplicitMemory, WeightedEdges
from hmem.model.hmem import HMem
from hmem.model.index import Index
from hmem.model.query import Query
from hmem.model.scoring import Answer, log_p, log_softmax
from hmem.model.vectors import Vectors

CHUNK = 4096  # edges taken apart at a time


@dataclass(frozen=True, eq=False, slots=True)
class Explanation:
    """One answer to one question. `copied`, `reached` and `dense_share` sum to p(x); `matches`, `completion`, `usual`
    and `rest` to the dense score."""

    roles: Int[Tensor, " K"]
    fillers: Int[Tensor, " K"]
    weights: Float[Tensor, " K"]  # how strongly each edge stands in the memory
    matches: Float[Tensor, " K"]  # what each edge adds to the dense score
    completion: float  # what completing the memory adds
    usual: float  # what answers to the asked role have in common adds, where there is a read-out
    rest: float  # −τ‖e_x‖² − τ‖e_o‖², and s_q for the asked entity itself
    copied: Float[Tensor, " K"]  # the probability each edge gives to the answer by itself
    path_roles: Int[Tensor, "P L"]  # the roles of each walk to the answer, step by step; −1 after the last
    path_nodes: Int[Tensor, "P L"]  # and the entity that each step reaches
    reached: Float[Tensor, " P"]  # the probability each walk gives to the answer
    dense_share: float  # the probability that came through the dense channel
    score: float  # as the model ranks it

    @property
    def dense_score(self) -> float:
        return float(self.matches.sum()) + self.completion + self.usual + self.rest


@torch.inference_mode()
def explain(
    model: HMem, graph: Index, entity: int, role: int, answer: int, vectors: Vectors | None = None
) -> Explanation:
    """Take the score of `answer` in `role` of `entity` apart."""
    if not isinstance(model.memory, ExplicitMemory):
        raise ConfigError("an implicit memory has no stored facts to explain an answer with; train an explicit one")
    vectors = vectors or model.embeddings()
    query = Query(*(torch.tensor([value], device=model.device) for value in (entity, role)))
    found = model.answer(query, graph, vectors)
    dense = model.dense.scores(query, found.retrieved, vectors)  # (1, E)
    truth, factor = vectors.entities[answer], 2 * model.dense.temperature  # (de,)
    wanted, usual = truth, torch.zeros_like(truth)
    if model.readout is not None:
        wanted = model.readout.back(truth[None], query.role, found.weighted.load)[0]  # (de,)
        usual = model.readout.usual[role]  # (de,)
    added = found.completed.unbind(query.role) - found.memory.unbind(query.role)  # (1, de)
    self_bias = float(model.own[role]) if model.own is not None and answer == entity else 0.0
    edges = found.weighted.edges
    path_roles, path_nodes, reached = _walks_to(model, found, answer)
    return Explanation(
        roles=edges.roles,
        fillers=edges.fillers,
        weights=found.weighted.weights,
        matches=factor * _matches(model, found.weighted, vectors, query, wanted),
        completion=float(factor * (added @ wanted)),
        usual=float(factor * (usual @ truth)),
        rest=float(-factor / 2 * (truth.square().sum() + found.retrieved.square().sum())) + self_bias,
        copied=_copied(found) * (edges.fillers == answer),
        path_roles=path_roles,
        path_nodes=path_nodes,
        reached=reached,
        dense_share=_dense_share(found, query, dense, answer),
        score=float(log_p(found, query, dense)[0, answer]),
    )


def _matches(
    model: HMem, weighted: WeightedEdges, vectors: Vectors, query: Query, wanted: Float[Tensor, " de"]
) -> Float[Tensor, " K"]:
    """unbind(r_q, w_c bind(r_c, e_c))·wanted for each edge, some at a time: a hub's bindings would fill the memory."""
    parts, asked = [], vectors.roles[query.role]  # (1, dr)
    for roles, fillers, weights in zip(
        torch.split(weighted.edges.roles, CHUNK),
        torch.split(weighted.edges.fillers, CHUNK),
        torch.split(weighted.weights, CHUNK),
        strict=True,
    ):
        bound = model.binding.bind(vectors.roles[roles], vectors.entities[fillers])  # (n, D)
        unbound = model.binding.unbind(asked.expand(len(bound), -1), weights[:, None] * bound)  # (n, de)
        parts.append(unbound @ wanted)
    return torch.cat(parts)


def _copied(found: Answer) -> Float[Tensor, " K"]:
    """p_c of each edge; zero without the exact channel."""
    return torch.zeros_like(found.weighted.weights) if found.copied is None else found.copied.log_edge.exp()


def _walks_to(
    model: HMem, found: Answer, answer: int
) -> tuple[Int[Tensor, "P L"], Int[Tensor, "P L"], Float[Tensor, " P"]]:
    """The roles and nodes of each walk to the answer, and the probability p_null · p_p that it gives."""
    if model.paths is None or found.copied is None or found.walks is None or found.reached is None:
        no_walk = found.weighted.edges.roles.new_empty(0, 0)
        return no_walk, no_walk, found.retrieved.new_empty(0)
    here = (found.walks.fillers == answer) & (found.reached.log_edge > -torch.inf)
    path_roles = model.paths.steps.flatten(0, 1)[found.walks.rule[here]]
    return path_roles, found.walks.nodes[here], (found.copied.log_null + found.reached.log_edge[here]).exp()


def _dense_share(found: Answer, query: Query, dense: Float[Tensor, "1 E"], answer: int) -> float:
    """p_null · p'_null · softmax(x); zero without the exact channel."""
    if found.copied is None:
        return 0.0
    log_left = found.copied.log_null if found.reached is None else found.copied.log_null + found.reached.log_null
    return float((log_left + log_softmax(dense, query, found.weighted.edges)[:, answer]).exp())
