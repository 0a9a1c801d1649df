"""A network that passes messages along the facts, from the asked entity to every possible answer.

No entity has a vector: what an entity is, in a question, is how the asked entity is linked to it. Only roles have
vectors (`hmem.model.role_vectors`).
"""

import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from hmem.config import PropagationConfig
from hmem.memory.links import Links
from hmem.memory.nearby import Nearby, most_visited
from hmem.memory.propagation import Origin, Steps
from hmem.model.index import Index
from hmem.model.query import NO_TARGET, Query, mirrored
from hmem.model.role_vectors import ComputedRoles, KeptRoles, LearnedRoles, RoleVectors

MOST_STATES = 100_000_000  # numbers of one pass on a GPU in which nothing is learned
MOST_TOGETHER = 4  # questions that a CPU asks in one pass
MOST_NUMBERS = 40_000_000  # of bindings and states of such a pass; with more a question alone is quicker
OF_ENTITY = 10  # edges whose bindings cost as much as the state of one entity
LARGE = {"cpu": 1_000_000, "cuda": 50_000_000}  # edges of a graph beyond which a question is asked in a part of it
MOST_ENTITIES = 10_000  # of that part
MOST_EDGES = 1_000_000  # that these entities have, inside or out of it


def large(device: torch.device) -> int:
    """The most edges of a graph that is not large."""
    return LARGE.get(device.type, LARGE["cpu"])


def is_large(links: Links) -> bool:
    """Whether a question is asked in a part of the graph."""
    return links.num_edges > large(links.device)


class Propagation(nn.Module):
    """score(v) = w·ReLU(W·[h_v, e_q] + b), where h_v is the state of v after the last step.

    Where some facts are not quite sure, log κ_v is added, with κ_v the sureness of the surest walk to v.
    """

    exact = None  # no channel copies stored facts
    is_implicit = False

    def __init__(self, config: PropagationConfig, num_entities: int, num_relations: int) -> None:
        super().__init__()
        self.config, self.num_entities, self.num_relations = config, num_entities, num_relations
        dim, steps = config.dim, config.steps
        self.computed = ComputedRoles(dim, steps) if config.roles != "learned" else None
        self.learned = LearnedRoles(num_relations, dim, steps) if config.roles != "computed" else None
        if self.computed is not None and self.learned is not None:
            self.learned.start_from_zero()
        self.propagation = Steps(dim, steps)
        self.of_state = nn.Parameter(torch.empty(dim, 2 * dim).uniform_(-1, 1).div_(math.sqrt(2 * dim)))
        self.of_asked = nn.Linear(dim, 2 * dim)
        self.score = nn.Linear(2 * dim, 1)

    @property
    def device(self) -> torch.device:
        return self.of_state.device

    @property
    def is_trained(self) -> Bool[Tensor, " E"]:
        """No entity has a vector, so each is as good as trained."""
        return torch.ones(self.num_entities, dtype=torch.bool)

    @property
    def takes_new_relations(self) -> bool:
        """Whether relations that came after training can be asked for and led along."""
        return self.computed is not None

    def forward(self, query: Query, graph: Index, vectors: object = None) -> Float[Tensor, "B E"]:
        """The score of every entity as an answer; with a target, the fact that gives it is not there."""
        links = graph.links()
        at_once = self.at_once(links)
        if len(query) > at_once:
            parts = [query.part(slice(low, low + at_once)) for low in range(0, len(query), at_once)]
            return torch.cat([self(part, graph) for part in parts])
        visible = self._visible(query, links)
        if is_large(links):
            return self.scores_nearby(
                query.entity, query.role, self.nearby(query.entity[0], visible), links.num_entities
            )
        return self.scores(query.entity, query.role, visible, unreached=-torch.inf)

    def at_once(self, links: Links) -> int:
        """How many questions are asked in one pass: where they reach the same entities, several cost less each."""
        if is_large(links):
            return 1
        if self.device.type != "cuda":
            numbers = (links.num_edges + OF_ENTITY * links.num_entities) * self.config.dim
            return min(max(1, MOST_NUMBERS // max(1, numbers)), MOST_TOGETHER)
        return max(1, MOST_STATES // (links.num_entities * self.config.dim))

    def prepare(self, links: Links) -> None:
        """Make what all questions to a graph have in common, before each has a graph of its own."""
        links.bindings  # noqa: B018
        if self.computed is not None:
            links.meetings  # noqa: B018

    def nearby(
        self, entity: Int[Tensor, ""], links: Links, most_entities: int = MOST_ENTITIES, most_edges: int = MOST_EDGES
    ) -> Nearby:
        """The part of a large graph that a question about an entity is asked in."""
        return Nearby.of(links, most_visited(links, entity, self.config.steps, most_entities, most_edges))

    def scores_nearby(
        self, entity: Int[Tensor, " B"], role: Int[Tensor, " B"], near: Nearby, num_entities: int
    ) -> Float[Tensor, "B N"]:
        """The score of every entity, asked in a part of the graph; −∞ for those outside."""
        scores = self.scores(near.places(entity), role, near.links, unreached=-torch.inf)
        nowhere = scores.new_full((len(entity), num_entities), -torch.inf)
        return nowhere.index_copy(1, near.nodes, scores)

    def scores_and_log_alone(
        self, query: Query, graph: Index, vectors: object = None
    ) -> tuple[Float[Tensor, "B E"], Float[Tensor, "B E"]]:
        """The scores twice: nothing speaks for an answer by itself."""
        scores = self(query, graph)
        return scores, scores

    def scores(
        self, entity: Int[Tensor, " B"], role: Int[Tensor, " B"], links: Links, unreached: float | None = None
    ) -> Float[Tensor, "B N"]:
        """The score of every entity; where no walk arrives it is that of a state of zeros, or `unreached`."""
        asked, vectors = self.role_vectors(role, links)
        reached = self.propagation(Origin(links, entity, asked), vectors)
        kind = reached.states.dtype
        of_asked = self.of_asked(asked)  # (B, 2D)
        hidden = (reached.states @ self.of_state.to(kind) + of_asked.to(kind)).relu()  # (n, B, 2D)
        scores: Tensor = (hidden @ self.score.weight[0].to(kind)).to(
            self.score.bias.dtype
        ).mT + self.score.bias  # (B, n)
        if unreached is not None:
            scores = scores.masked_fill((reached.states == 0).all(2).mT, unreached)
        if reached.sureness is not None:
            scores = scores + reached.sureness.to(scores.dtype).mT.log()
        if len(reached.nodes) == links.num_entities:
            return scores
        elsewhere: Tensor = of_asked.relu() @ self.score.weight[0] + self.score.bias  # (B,)
        if unreached is not None:
            elsewhere = torch.full_like(elsewhere, unreached)
        return elsewhere[:, None].repeat(1, links.num_entities).index_copy(1, reached.nodes, scores)

    def role_vectors(self, role: Int[Tensor, " B"], links: Links) -> RoleVectors:
        computed = None if self.computed is None else self._computed(self.computed, role, links)
        vectors: RoleVectors | None = computed if self.learned is None else self.learned(role, links, computed)
        assert vectors is not None
        return vectors

    def _computed(self, computed: ComputedRoles, role: Int[Tensor, " B"], links: Links) -> RoleVectors:
        if not computed.start.requires_grad or not torch.is_grad_enabled():
            return KeptRoles.of(computed, links).get(role, links)
        found: RoleVectors = computed(role, links)
        return found

    def _visible(self, query: Query, links: Links) -> Links:
        """The graph as each question may see it: without the fact that gives its target, in both directions."""
        if query.target is None or not bool((query.target != NO_TARGET).any()):
            return links
        if not is_large(links):
            self.prepare(links)
        question = (query.target != NO_TARGET).nonzero().squeeze(1)
        u, q, v = query.entity[question], query.role[question], query.target[question]
        there, back = (u, q, v), (v, mirrored(q, links.num_roles // 2), u)
        source, role, target = (torch.cat(both) for both in zip(there, back, strict=True))
        return links.withholding(question.repeat(2), source, role, target, len(query))
