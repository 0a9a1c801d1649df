"""Why an answer scored what it scored: the computation itself, taken apart.

The dense score is −τ‖e_o − e_x‖² = 2τ e_o·e_x − τ‖e_x‖² − τ‖e_o‖², and only its first term, the match, depends on both
sides. Superposition and unbinding are linear, so the match is a sum over the stored edges,

    2τ e_o·e_x = Σ_c 2τ w_c unbind(r_q, bind(r_c, e_c))·e_x  +  2τ (unbind(r_q, M̂) − unbind(r_q, M))·e_x,

whose last part is what completion added. With the exact channel an answer's probability is a sum as well: what each
edge to it was copied with, what each longer path to it gave of the rest, and what was left for the dense channel.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hmem.errors import ConfigError
from hmem.model.explicit import ExplicitMemory
from hmem.model.hmem import HMem
from hmem.model.index import Index
from hmem.model.query import Query, leads_to_other_answer
from hmem.model.vectors import Vectors


@dataclass(frozen=True, eq=False, slots=True)
class Explanation:
    """One answer to one question. `copied`, `reached` and `dense_share` sum to p(x); `matches`, `completion` and `rest`
    to the dense score."""

    roles: Int[Tensor, " K"]
    fillers: Int[Tensor, " K"]
    weights: Float[Tensor, " K"]  # how strongly each edge stands in the memory
    matches: Float[Tensor, " K"]  # what each edge adds to the dense score
    completion: float  # what completing the memory adds
    rest: float  # −τ‖e_x‖² − τ‖e_o‖²
    copied: Float[Tensor, " K"]  # the probability each edge gives to the answer by itself
    path_roles: Int[Tensor, "P L"]  # the roles of each walk to the answer, step by step; −1 after the last
    path_nodes: Int[Tensor, "P L"]  # and whom each step reaches
    reached: Float[Tensor, " P"]  # the probability each walk gives to the answer
    dense_share: float  # the probability that came through the dense channel
    score: float  # as the model ranks it

    @property
    def dense_score(self) -> float:
        return float(self.matches.sum()) + self.completion + self.rest


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
    edges, weights = attended.edges, attended.weights
    truth = vectors.entities[answer]
    factor = 2 * model.log_temperature.exp()

    def unbind(memory: Float[Tensor, "n D"]) -> Float[Tensor, "n de"]:
        return model.binding.unbind(vectors.roles[role].expand(len(memory), -1), memory)

    bound = model.binding.bind(vectors.roles[edges.roles], vectors.entities[edges.fillers])  # (K, D)
    parts = unbind(weights[:, None] * bound)  # (K, de)
    memory = model.memory.assemble(query, attended, vectors)  # (1, D)
    retrieved = unbind(model.completion(memory, identity))  # (1, de)
    dense = model.compare(retrieved, vectors.entities, vectors.lengths)  # (1, E)
    if vectors.placed is not None:
        dense = dense.masked_fill(~vectors.placed, -torch.inf)
    copied, share, score = torch.zeros_like(weights), 0.0, float(dense[0, answer])
    path_roles = path_nodes = edges.roles.new_empty(0, 0)
    reached = weights.new_empty(0)
    if model.exact is not None:
        stored = leads_to_other_answer(query, edges)
        seen = model.seen(vectors, retrieved)
        channel = model.exact(query.role, edges, attended.withheld | stored, seen)
        copied = channel.log_edge.exp() * (edges.fillers == answer)
        log_left = channel.log_null  # (1,) what is left for the next channel
        if model.paths is not None:
            walks = model.paths.follow(query, edges, attended.withheld, graph)
            second = model.paths(query, edges, walks, seen)
            here = (walks.fillers == answer) & (second.log_edge > -torch.inf)
            path_roles, path_nodes = model.paths.steps.flatten(0, 1)[walks.rule[here]], walks.nodes[here]
            reached = (log_left + second.log_edge[here]).exp()
            log_left = log_left + second.log_null
        share = float((log_left + model.normalize(dense, query, edges)[:, answer]).exp())
        score = float(torch.log(copied.sum() + reached.sum() + share))
    return Explanation(
        roles=edges.roles,
        fillers=edges.fillers,
        weights=weights,
        matches=factor * (parts @ truth),
        completion=float(factor * ((retrieved - unbind(memory)) @ truth)),
        rest=float(-factor / 2 * (truth.square().sum() + retrieved.square().sum())),
        copied=copied,
        path_roles=path_roles,
        path_nodes=path_nodes,
        reached=reached,
        dense_share=share,
        score=score,
    )
