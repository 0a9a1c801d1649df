"""Why an answer scored what it scored: the computation itself, taken apart.

The dense score is −τ‖e_o − e_x‖² = 2τ e_o·e_x − τ‖e_x‖² − τ‖e_o‖², and only its first term, the match, depends on both
sides. Superposition and unbinding are linear, so the match is a sum over the stored edges,

    2τ e_o·e_x = Σ_c 2τ w_c unbind(r_q, bind(r_c, e_c))·e_x  +  2τ (unbind(r_q, M̂) − unbind(r_q, M))·e_x,

whose last part is what completion added. With a read-out e_x is turned back through it first, and what all answers to
the asked role have in common, 2τ v_q·e_x, is a part of its own. With the exact channel an answer's probability is a sum
as well: what each edge to it was copied with, what each longer path to it gave of the rest, and what was left for the
dense channel.
"""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hmem.errors import ConfigError
from hmem.model.explicit import Attended, ExplicitMemory
from hmem.model.hmem import HMem
from hmem.model.index import Index
from hmem.model.query import Query, leads_to_other_answer
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
    path_nodes: Int[Tensor, "P L"]  # and whom each step reaches
    reached: Float[Tensor, " P"]  # the probability each walk gives to the answer
    dense_share: float  # the probability that came through the dense channel
    score: float  # as the model ranks it

    @property
    def dense_score(self) -> float:
        return float(self.matches.sum()) + self.completion + self.usual + self.rest


@dataclass(frozen=True, eq=False, slots=True)
class _Recalled:
    """What the exact channels make of an answer."""

    copied: Float[Tensor, " K"]
    path_roles: Int[Tensor, "P L"]
    path_nodes: Int[Tensor, "P L"]
    reached: Float[Tensor, " P"]
    dense_share: float


@torch.inference_mode()
def explain(
    model: HMem, graph: Index, entity: int, role: int, answer: int, vectors: Vectors | None = None
) -> Explanation:
    """Take the score of `answer` in `role` of `entity` apart."""
    if not isinstance(model.memory, ExplicitMemory):
        raise ConfigError("an implicit memory has no stored facts to explain an answer with; train an explicit one")
    vectors = vectors or model.embeddings()
    query = Query(*(torch.tensor([value], device=model.device) for value in (entity, role)))
    identity = model.identify(query, vectors)
    attended = model.memory.attend(query, graph, identity, vectors, None)
    truth, asked = vectors.entities[answer], vectors.roles[role : role + 1]  # (de,), (1, dr)
    factor = 2 * model.log_temperature.exp()
    memory = model.memory.assemble(query, attended, vectors)  # (1, D)
    unbound = model.binding.unbind(asked, model.completion(memory, identity))  # (1, de)
    retrieved, wanted, usual = unbound, truth, torch.zeros_like(truth)
    if model.readout is not None:
        retrieved = model.readout(unbound, query.role, attended.load)
        wanted = model.readout.back(truth[None], query.role, attended.load)[0]  # (de,)
        usual = model.readout.usual[role]  # (de,)
    dense = model.compare(retrieved, vectors.entities, vectors.lengths)  # (1, E)
    model.judge_own_(dense, query)
    own = float(model.own[role]) if model.own is not None and answer == entity else 0.0
    if vectors.placed is not None:
        dense = dense.masked_fill(~vectors.placed, -torch.inf)
    recalled = _recalled(model, graph, query, attended, vectors, retrieved, dense, answer)
    total = recalled.copied.sum() + recalled.reached.sum() + recalled.dense_share
    return Explanation(
        roles=attended.edges.roles,
        fillers=attended.edges.fillers,
        weights=attended.weights,
        matches=factor * _matches(model, attended, vectors, asked, wanted),
        completion=float(factor * ((unbound - model.binding.unbind(asked, memory)) @ wanted)),
        usual=float(factor * (usual @ truth)),
        rest=float(-factor / 2 * (truth.square().sum() + retrieved.square().sum())) + own,
        copied=recalled.copied,
        path_roles=recalled.path_roles,
        path_nodes=recalled.path_nodes,
        reached=recalled.reached,
        dense_share=recalled.dense_share,
        score=float(dense[0, answer] if model.exact is None else torch.log(total)),
    )


def _matches(
    model: HMem, attended: Attended, vectors: Vectors, asked: Float[Tensor, "1 dr"], wanted: Float[Tensor, " de"]
) -> Float[Tensor, " K"]:
    """unbind(r_q, w_c bind(r_c, e_c))·wanted for each edge, some at a time: a hub's bindings would fill the memory."""
    parts = []
    for roles, fillers, weights in zip(
        torch.split(attended.edges.roles, CHUNK),
        torch.split(attended.edges.fillers, CHUNK),
        torch.split(attended.weights, CHUNK),
        strict=True,
    ):
        bound = model.binding.bind(vectors.roles[roles], vectors.entities[fillers])  # (n, D)
        unbound = model.binding.unbind(asked.expand(len(bound), -1), weights[:, None] * bound)  # (n, de)
        parts.append(unbound @ wanted)
    return torch.cat(parts)


def _recalled(
    model: HMem,
    graph: Index,
    query: Query,
    attended: Attended,
    vectors: Vectors,
    retrieved: Float[Tensor, "1 de"],
    dense: Float[Tensor, "1 E"],
    answer: int,
) -> _Recalled:
    edges, no_path = attended.edges, attended.edges.roles.new_empty(0, 0)
    nothing = _Recalled(torch.zeros_like(attended.weights), no_path, no_path, attended.weights.new_empty(0), 0.0)
    if model.exact is None:
        return nothing
    stored, seen = leads_to_other_answer(query, edges), model.seen(vectors, retrieved)
    first = model.exact(query.role, edges, attended.withheld | stored, seen)
    found = replace(nothing, copied=first.log_edge.exp() * (edges.fillers == answer))
    log_left = first.log_null  # (1,) what is left for the next channel
    if model.paths is not None:
        walks = model.paths.follow(query, edges, attended.withheld, graph)
        second = model.paths(query, edges, walks, seen)
        here = (walks.fillers == answer) & (second.log_edge > -torch.inf)
        found = replace(
            found,
            path_roles=model.paths.steps.flatten(0, 1)[walks.rule[here]],
            path_nodes=walks.nodes[here],
            reached=(log_left + second.log_edge[here]).exp(),
        )
        log_left = log_left + second.log_null
    return replace(found, dense_share=float((log_left + model.normalize(dense, query, edges)[:, answer]).exp()))
