"""A network that passes messages along the facts, from the asked entity to every possible answer.

No entity has a vector: what an entity is, in a question, is how the asked entity is linked to it. Role vectors are a
table of one graph's roles (`LearnedRoles`), or are computed from which roles meet at which entities (`ComputedRoles`);
then nothing in the network has the size of a graph, and it can be asked about graphs it has never seen.
"""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from hmem.memory.propagation import PARTS, Links, Step, step

MEETINGS = 5  # ways in which two roles meet; see `Links.meetings`


class Steps(nn.Module):
    """The steps of one propagation: what they do with the superposed bindings."""

    def __init__(self, dim: int, steps: int) -> None:
        super().__init__()
        self.mixing = nn.Parameter(torch.randn(steps, PARTS, dim, dim) / math.sqrt(PARTS * dim))
        self.bias = nn.Parameter(torch.zeros(steps, dim))
        self.gain = nn.Parameter(torch.ones(steps, dim))
        self.shift = nn.Parameter(torch.zeros(steps, dim))

    def forward(
        self,
        start: Float[Tensor, "B D"],
        asked: Int[Tensor, " B"],
        links: Links,
        roles: Sequence[Float[Tensor, "Q B D"]],
    ) -> Float[Tensor, "N B D"]:
        """The states after all steps; before the first, `start` stands at the asked nodes and nothing elsewhere."""
        rows = torch.arange(len(start), device=start.device)
        states = start.new_zeros(links.num_entities, *start.shape).index_put((asked, rows), start)
        if states.is_cuda:
            states = states.bfloat16()
        parameters = zip(self.mixing, self.bias, self.gain, self.shift, strict=True)
        for vectors, each in zip(roles, parameters, strict=True):
            states = step(states, vectors, start, Step(*each), links, asked)
        return states


class LearnedRoles(nn.Module):
    """e_q for every role, and ρ_{q,r} = W_r e_q + b_r for every step."""

    def __init__(self, num_roles: int, dim: int, steps: int) -> None:
        super().__init__()
        self.asked = nn.Embedding(num_roles, dim)
        self.weight = nn.Parameter(torch.empty(steps, num_roles, dim, dim).uniform_(-1, 1) / math.sqrt(dim))
        self.bias = nn.Parameter(torch.empty(steps, num_roles, 1, dim).uniform_(-1, 1) / math.sqrt(dim))

    def forward(
        self, role: Int[Tensor, " B"], links: Links
    ) -> tuple[Float[Tensor, "B D"], list[Float[Tensor, "Q B D"]]]:
        asked = self.asked(role)  # (B, D)
        everywhere = asked.expand(len(self.bias[0]), -1, -1)  # (Q, B, D)
        return asked, [torch.baddbmm(b, everywhere, w) for w, b in zip(self.weight, self.bias, strict=True)]


class ComputedRoles(nn.Module):
    """Role vectors by a propagation over the graph of roles, from the asked one; new relations need no training."""

    def __init__(self, dim: int, steps: int, role_steps: int) -> None:
        super().__init__()
        self.start = nn.Parameter(torch.ones(dim))
        self.meetings = nn.Parameter(torch.randn(role_steps, MEETINGS, 1, dim))
        self.propagation = Steps(dim, role_steps)
        self.maps = nn.ModuleList(
            nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim)) for _ in range(steps)
        )

    def forward(
        self, role: Int[Tensor, " B"], links: Links
    ) -> tuple[Float[Tensor, "B D"], list[Float[Tensor, "Q B D"]]]:
        meetings = [each.expand(-1, len(role), -1) for each in self.meetings]  # (5, B, D)
        start = self.start.expand(len(role), -1)
        vectors = self.propagation(start, role, links.meetings, meetings).float()  # (Q, B, D)
        asked = vectors[role, torch.arange(len(role), device=role.device)]  # (B, D)
        return asked, [each(vectors) for each in self.maps]


class Propagation(nn.Module):
    """score(v) = w·ReLU(W·[h_v, e_q] + b), where h_v is the state of v after the last step."""

    def __init__(self, roles: LearnedRoles | ComputedRoles, dim: int, steps: int) -> None:
        super().__init__()
        self.roles = roles
        self.propagation = Steps(dim, steps)
        self.of_state = nn.Parameter(torch.empty(dim, 2 * dim).uniform_(-1, 1) / math.sqrt(2 * dim))
        self.of_asked = nn.Linear(dim, 2 * dim)
        self.score = nn.Linear(2 * dim, 1)

    def forward(self, entity: Int[Tensor, " B"], role: Int[Tensor, " B"], links: Links) -> Float[Tensor, "B N"]:
        """The score of every entity as an answer."""
        asked, vectors = self.roles(role, links)
        states = self.propagation(asked, entity, links, vectors)  # (N, B, D)
        kind = states.dtype
        hidden = (states @ self.of_state.to(kind) + self.of_asked(asked).to(kind)).relu()  # (N, B, 2D)
        scores: Tensor = (hidden @ self.score.weight[0].to(kind)).float().mT + self.score.bias
        return scores
