"""A network that passes messages along the facts, from the asked entity to every possible answer.

No entity has a vector: what an entity is, in a question, is how the asked entity is linked to it. Role vectors are a
table of one graph's roles (`LearnedRoles`), or are computed from which roles meet at which entities (`ComputedRoles`);
then nothing in the network has the size of a graph, and it can be asked about graphs it has never seen. With both, the
table holds what one graph's roles have of their own, and is zero for relations that came later.
"""

import math
from collections import OrderedDict
from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import pad

from hmem.config import PropagationConfig
from hmem.memory.links import Links
from hmem.memory.nearby import Nearby, most_visited
from hmem.memory.propagation import PARTS, Reached, Step, Sureness, is_fused, sparse_step, step
from hmem.model.index import Index
from hmem.model.query import NO_TARGET, Query, mirrored

MEETINGS = 5  # ways in which two roles meet; see `Links.meetings`
MOST_STATES = 100_000_000  # numbers of one pass on a GPU in which nothing is learned
MOST_KEPT = 60_000_000  # numbers of computed role vectors that are kept
AT_ONCE = 64  # roles whose vectors are computed in one pass
MOST_TOGETHER = 8  # questions that a CPU asks in one pass
MOST_NUMBERS = 40_000_000  # of bindings and states of such a pass; with more a question alone is quicker
OF_ENTITY = 10  # edges whose bindings cost as much as the state of one entity
LARGE = {"cpu": 1_000_000, "cuda": 50_000_000}  # edges of a graph beyond which a question is asked in a part of it
MOST_ENTITIES = 10_000  # of that part
MOST_EDGES = 1_000_000  # that these entities have, inside or out of it

RoleVectors = tuple[
    Float[Tensor, "B D"], list[Float[Tensor, "Q B D"]]
]  # of the asked role; of every role, for each step


class Steps(nn.Module):
    """The steps of one propagation: what they do with the superposed bindings.

    Here and below parameters are scaled in place: on the device `meta`, where a folder is checked, other arithmetic
    would import half of torch, for a second.
    """

    def __init__(self, dim: int, steps: int) -> None:
        super().__init__()
        self.mixing = nn.Parameter(torch.randn(steps, PARTS, dim, dim).div_(math.sqrt(PARTS * dim)))
        self.bias = nn.Parameter(torch.zeros(steps, dim))
        self.gain = nn.Parameter(torch.ones(steps, dim))
        self.shift = nn.Parameter(torch.zeros(steps, dim))

    def forward(
        self,
        start: Float[Tensor, "B D"],
        asked: Int[Tensor, " B"],
        links: Links,
        roles: Sequence[Float[Tensor, "Q B D"]],
    ) -> Reached:
        """The states after all steps; before the first, `start` stands at the asked nodes and nothing elsewhere."""
        each = torch.arange(len(start), device=start.device)
        nodes, place = torch.unique(asked, return_inverse=True)
        reached = Reached(nodes, start.new_zeros(len(nodes), *start.shape).index_put((place, each), start))
        parameters = [Step(*each) for each in zip(self.mixing, self.bias, self.gain, self.shift, strict=True)]
        sureness = None if links.is_sure else Sureness(links, asked)
        for done, (vectors, now) in enumerate(zip(roles, parameters, strict=True)):
            next_one = None if start.is_cuda else sparse_step(reached, vectors, start, now, links, asked)
            if next_one is None:
                return self._everywhere(reached, start, asked, links, roles[done:], parameters[done:], sureness)
            reached = next_one if sureness is None else sureness.damped(reached, next_one)
        return reached

    def _everywhere(
        self,
        reached: Reached,
        start: Float[Tensor, "B D"],
        asked: Int[Tensor, " B"],
        links: Links,
        roles: Sequence[Float[Tensor, "Q B D"]],
        parameters: Sequence[Step],
        sureness: Sureness | None,
    ) -> Reached:
        """The rest of the steps, in which every entity has a state."""
        states = start.new_zeros(links.num_entities, *start.shape).index_copy(0, reached.nodes, reached.states)
        if is_fused(states) and links.is_plain:
            states = states.bfloat16()
        reached = Reached(torch.arange(links.num_entities, device=states.device), states)
        for vectors, now in zip(roles, parameters, strict=True):
            after = Reached(reached.nodes, step(reached.states, vectors, start, now, links, asked))
            reached = after if sureness is None else sureness.damped(reached, after)
        return reached


class LearnedRoles(nn.Module):
    """e_q for every role, and ρ_{q,r} = W_r e_q + b_r for every step."""

    def __init__(self, num_relations: int, dim: int, steps: int) -> None:
        super().__init__()
        roles = 2 * num_relations
        self.asked = nn.Parameter(torch.randn(roles, dim))
        self.weight = nn.Parameter(torch.empty(steps, roles, dim, dim).uniform_(-1, 1).div_(math.sqrt(dim)))
        self.bias = nn.Parameter(torch.empty(steps, roles, 1, dim).uniform_(-1, 1).div_(math.sqrt(dim)))

    def start_from_zero(self) -> None:
        """Begin as if there were no table, where role vectors are computed too."""
        for parameter in self.parameters():
            nn.init.zeros_(parameter)

    def forward(self, role: Int[Tensor, " B"], links: Links, computed: RoleVectors | None = None) -> RoleVectors:
        """What the table says, on top of what is computed."""
        asked = self._rows(self.asked, 0, links.num_roles)[role]  # (B, D)
        if computed is not None:
            asked = asked + computed[0]
        weights, biases = (self._rows(each, 1, links.num_roles) for each in (self.weight, self.bias))
        everywhere = asked.expand(links.num_roles, -1, -1)  # (Q, B, D)
        vectors = [torch.baddbmm(b, everywhere, w) for w, b in zip(weights, biases, strict=True)]
        if computed is not None:
            vectors = [own + shared for own, shared in zip(vectors, computed[1], strict=True)]
        return asked, vectors

    def _rows(self, table: Float[Tensor, "..."], axis: int, num_roles: int) -> Float[Tensor, "..."]:
        """The rows of a graph that may have more relations than the table: zero for these."""
        here, there = table.shape[axis] // 2, num_roles // 2
        if here == there:
            return table
        halves = table.view(*table.shape[:axis], 2, here, *table.shape[axis + 1 :])
        behind = [0, 0] * (halves.dim() - axis - 2)
        return pad(halves, [*behind, 0, there - here]).flatten(axis, axis + 1)


class ComputedRoles(nn.Module):
    """Role vectors by a propagation over the graph of roles, from the asked one; new relations need no training."""

    def __init__(self, dim: int, steps: int) -> None:
        super().__init__()
        self.times_taught = 0  # how often a gradient was asked for
        self.start = nn.Parameter(torch.ones(dim))
        self.meetings = nn.Parameter(torch.randn(steps, MEETINGS, 1, dim))
        self.propagation = Steps(dim, steps)
        self.maps = nn.ModuleList(
            nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim)) for _ in range(steps)
        )

    def forward(self, role: Int[Tensor, " B"], links: Links) -> RoleVectors:
        self.times_taught += torch.is_grad_enabled() and self.start.requires_grad
        different, which = torch.unique(role, return_inverse=True)  # (U,), (B,)
        meetings = [each.expand(-1, len(different), -1) for each in self.meetings]  # (5, U, D)
        start = self.start.expand(len(different), -1)
        reached = self.propagation(start, different, links.meetings, meetings)
        vectors = start.new_zeros(links.num_roles, *start.shape).index_copy(
            0, reached.nodes, reached.states.to(start.dtype)
        )
        asked = vectors[different, torch.arange(len(different), device=role.device)]  # (U, D)
        return asked[which], [each(vectors).index_select(1, which) for each in self.maps]


class KeptRoles:
    """Computed role vectors that are kept, so that a role is asked for once while weights and graph stay.

    Where there is no room for those of all roles, it is the latest that are kept.
    """

    def __init__(self, computed: ComputedRoles, num_roles: int) -> None:
        self.computed, self.version = computed, _version(computed)
        self.most = max(AT_ONCE, MOST_KEPT // (num_roles * len(computed.start) * len(computed.maps)))
        self.kept: OrderedDict[int, tuple[Float[Tensor, " D"], Float[Tensor, "Q steps D"]]] = OrderedDict()

    @classmethod
    def of(cls, computed: ComputedRoles, links: Links) -> "KeptRoles":
        """Those of a graph of roles."""
        beside = links.meetings.__dict__
        kept = beside.get("kept")
        if not isinstance(kept, cls) or kept.computed is not computed or kept.version != _version(computed):
            kept = beside["kept"] = cls(computed, links.num_roles)
        return kept

    @torch.no_grad()
    def get(self, role: Int[Tensor, " B"], links: Links) -> RoleVectors:
        roles = role.tolist()
        missing = [each for each in dict.fromkeys(roles) if each not in self.kept]
        for low in range(0, len(missing), AT_ONCE):
            some = missing[low : low + AT_ONCE]
            asked, of_steps = self.computed(torch.tensor(some, device=role.device), links)
            each = (part.clone() for part in torch.stack(of_steps, 1).unbind(2))  # (Q, steps, D) of every role
            self.kept.update(zip(some, zip(asked, each, strict=True), strict=True))
        found = [self.kept[each] for each in roles]
        for each in roles:
            self.kept.move_to_end(each)
        while len(self.kept) > self.most:
            self.kept.popitem(last=False)
        vectors = torch.stack([each for _, each in found], 1)  # (Q, B, steps, D)
        return torch.stack([asked for asked, _ in found]), [each.contiguous() for each in vectors.unbind(2)]


def large(device: torch.device) -> int:
    """The most edges of a graph that is not large."""
    return LARGE.get(device.type, LARGE["cpu"])


def is_large(links: Links) -> bool:
    """Whether a question is asked in a part of the graph."""
    return links.num_edges > large(links.device)


def _version(module: ComputedRoles) -> int:
    """A number that grows whenever the parameters are changed in place; fused optimizers do not count as they step."""
    return module.times_taught + sum(parameter._version for parameter in module.parameters())


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
        reached = self.propagation(asked, entity, links, vectors)
        kind = reached.states.dtype
        of_asked = self.of_asked(asked)  # (B, 2D)
        hidden = (reached.states @ self.of_state.to(kind) + of_asked.to(kind)).relu()  # (n, B, 2D)
        scores: Tensor = (hidden @ self.score.weight[0].to(kind)).float().mT + self.score.bias  # (B, n)
        if unreached is not None:
            scores = scores.masked_fill((reached.states == 0).all(2).mT, unreached)
        if reached.sureness is not None:
            scores = scores + reached.sureness.float().mT.log()
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
