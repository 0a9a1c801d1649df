"""The vectors of roles, in a network that passes messages: a table, or computed from the graph.

A table is of one graph's roles (`LearnedRoles`). Where vectors are computed from which roles meet at which entities
(`ComputedRoles`), nothing in the network has the size of a graph, and it can be asked about graphs it has never seen.
With both, the table holds what one graph's roles have of their own, and is zero for relations that came later.
"""

import math
from collections import OrderedDict

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import pad

from hmem.memory.links import Links
from hmem.memory.propagation import Origin, Steps

MEETINGS = 5  # ways in which two roles meet; see `Links.meetings`
MOST_KEPT = 60_000_000  # numbers of computed vectors that are kept
AT_ONCE = 64  # roles whose vectors are computed in one pass

# Of the asked role; of every role, for each step
RoleVectors = tuple[Float[Tensor, "B D"], list[Float[Tensor, "Q B D"]]]


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
        reached = self.propagation(Origin(links.meetings, different, start), meetings)
        nothing = start.new_zeros(links.num_roles, *start.shape)
        vectors = nothing.index_copy(0, reached.nodes, reached.states.to(start.dtype))
        asked = vectors[different, torch.arange(len(different), device=role.device)]  # (U, D)
        return asked[which], [each(vectors).index_select(1, which) for each in self.maps]


class KeptRoles:
    """Computed role vectors that are kept, so that a role is asked for once while weights and graph stay.

    Where there is no room for those of all roles, it is the latest that are kept.
    """

    def __init__(self, computed: ComputedRoles, num_roles: int) -> None:
        self.computed, self.parameters = computed, tuple(computed.parameters())  # looked for once: it takes a while
        self.version = self._version()
        self.most = max(AT_ONCE, MOST_KEPT // (num_roles * len(computed.start) * len(computed.maps)))
        self.kept: OrderedDict[int, tuple[Float[Tensor, " D"], Float[Tensor, "Q steps D"]]] = OrderedDict()

    @classmethod
    def of(cls, computed: ComputedRoles, links: Links) -> "KeptRoles":
        """Those of a graph of roles."""
        beside = links.meetings.__dict__
        kept = beside.get("kept")
        if not isinstance(kept, cls) or kept.computed is not computed or kept.version != kept._version():
            kept = beside["kept"] = cls(computed, links.num_roles)
        return kept

    def _version(self) -> int:
        """A number that grows whenever parameters are changed in place; fused optimizers do not count as they step."""
        return self.computed.times_taught + sum(parameter._version for parameter in self.parameters)

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
