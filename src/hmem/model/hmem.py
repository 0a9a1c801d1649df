"""The Harmonic Memory Network: the paper in one function, `HMem.answer`."""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from hmem.config import MemoryConfig
from hmem.memory.binding import make_binding
from hmem.memory.completion import NoCompletion, make_completion
from hmem.memory.exact import ExactChannel
from hmem.memory.superpose import Memory, MemoryState
from hmem.model.explicit import ExplicitMemory
from hmem.model.implicit import ImplicitMemory
from hmem.model.index import Index
from hmem.model.paths import PathChannel
from hmem.model.query import KEEP_ALL, Drop, Query, is_stored_answer
from hmem.model.readout import ReadOut
from hmem.model.scoring import Answer, DenseChannel, log_alone, log_p
from hmem.model.vectors import Embeddings, Vectors


class HMem(nn.Module):
    """An entity is a superposition of its bindings; completed, and unbound with the asked role, it answers."""

    takes_new_relations = False  # each relation has a vector, and one that came after training has none
    is_trained: Bool[Tensor, " E"]
    placing: Float[Tensor, "D1 de"]
    kinds: Float[Tensor, "roles de"]

    def __init__(self, config: MemoryConfig, num_entities: int, num_relations: int) -> None:
        super().__init__()
        self.config = config
        self.num_entities = num_entities
        self.num_relations = num_relations
        self.binding = make_binding(config.binding)
        self.embeddings = Embeddings(config, num_entities, num_relations)
        self.memory: ExplicitMemory | ImplicitMemory
        if config.kind == "implicit":
            self.memory = ImplicitMemory(config, num_entities)
        else:
            self.memory = ExplicitMemory(config, num_relations)
        memory_dim = self.binding.memory_dim(config.entity_dim, config.relation_dim)
        self.completion = make_completion(memory_dim, config.entity_dim, config.stiffness, local=config.local_weight)
        self.readout: ReadOut | None = None
        if config.readout is not None:
            self.readout = ReadOut(2 * num_relations, config.entity_dim, config.readout.maps, config.readout.damping)
        self.own: nn.Parameter | None = None  # s_q, on the asked entity as its own answer
        if config.own_bias:
            self.own = nn.Parameter(torch.zeros(2 * num_relations))
        self.exact = ExactChannel(2 * num_relations, config.entity_dim) if config.exact is not None else None
        self.paths: PathChannel | None = None
        if config.exact is not None and config.exact.paths is not None:
            paths = config.exact.paths
            self.paths = PathChannel(2 * num_relations, config.entity_dim, paths.per_role, paths.steps)
        self.log_temperature = nn.Parameter(torch.tensor(math.log(config.temperature)))
        # An entity without training facts has no identity: its vector is still the noise it started from.
        self.register_buffer("is_trained", torch.ones(num_entities, dtype=torch.bool))
        # The map from the memory of an unseen entity to its vector; see model/placing.py.
        self.register_buffer("placing", torch.zeros(memory_dim + 1, config.entity_dim))
        # The map from the roles it plays, for one whose neighbors are all unseen; zero if there is none.
        self.register_buffer("kinds", torch.zeros(2 * num_relations, config.entity_dim))

    @property
    def device(self) -> torch.device:
        return self.embeddings.entity.device

    @property
    def is_implicit(self) -> bool:
        """Whether memories are learned instead of assembled, so that there is none for unseen entities."""
        return isinstance(self.memory, ImplicitMemory)

    @property
    def dense(self) -> DenseChannel:
        """How retrieved vectors are compared with candidates, at the present τ and s_q."""
        return DenseChannel(self.log_temperature.exp(), self.own)

    def forward(self, query: Query, graph: Index, vectors: Vectors | None = None) -> Float[Tensor, "B E"]:
        """The score of every entity as an answer: −τ‖e_o − e_x‖², or log p(x) with the exact channel."""
        vectors = vectors or self.embeddings()
        return self.scores(query, self.answer(query, graph, vectors), vectors)

    def scores_and_log_alone(
        self, query: Query, graph: Index, vectors: Vectors | None = None
    ) -> tuple[Float[Tensor, "B E"], Float[Tensor, "B E"]]:
        """The scores, and what speaks for each answer by itself (see `scoring.log_alone`)."""
        vectors = vectors or self.embeddings()
        answer = self.answer(query, graph, vectors)
        scores = self.scores(query, answer, vectors)
        return scores, log_alone(answer, scores)

    def scores(self, query: Query, answer: Answer, vectors: Vectors) -> Float[Tensor, "B E"]:
        return log_p(answer, query, self.dense.scores(query, answer.retrieved, vectors))

    def answer(self, query: Query, graph: Index, vectors: Vectors, drop: Drop = KEEP_ALL) -> Answer:
        """Sections 2 to 4 of the paper line by line, then the exact channels; docs/math.md has the same words."""
        identity = self.identify(query, vectors, drop)  # (B, de) e_i; zero for an unseen entity
        weighted = self.memory.attend(query, graph, identity, vectors, drop)  # (N,) the edges of e_i and their w_c
        memory = self.memory.assemble(query, weighted, vectors)  # (B, D) M, the superposed neighborhood
        completed = self.complete(memory, identity, drop)  # (B, D) M̂, the Harmony maximum near it
        retrieved = completed.unbind(query.role)  # (B, de) e_o
        if self.readout is not None:
            load = None if self.readout.damping is None else weighted.load
            retrieved = self.readout(retrieved, query.role, load)  # (B, de) ê_o
        retrieved = drop.noise.dropout(retrieved, drop.retrieved)
        copied, walks, reached, edges = None, None, None, weighted.edges
        if self.exact is not None:
            dense = self.dense.view(retrieved, vectors)
            absent = weighted.withheld | is_stored_answer(query, edges, edges.query, edges.fillers)
            copied = self.exact(query.role, edges, absent, dense)  # p_edges and p_null
            if self.paths is not None:
                walks = self.paths.follow(query, edges, weighted.withheld, graph)
                reached = self.paths(query, edges, walks, dense)  # p_walks and p'_null
        return Answer(weighted, memory, completed, retrieved, copied, walks, reached)

    def identify(self, query: Query, vectors: Vectors, drop: Drop = KEEP_ALL) -> Float[Tensor, "B de"]:
        """e_i as the weights and the bias see it: zero for an unseen entity, or one that is treated as unseen."""
        if not self.config.identity:
            return vectors.entities.new_zeros(len(query), vectors.entities.shape[1])
        row = query.entity.clamp_max(self.num_entities - 1)
        has_identity = self.is_trained.index_select(0, row) & (query.entity < self.num_entities)
        if drop.identity > 0:
            has_identity = has_identity & ~drop.noise.chosen_questions(len(query), drop.identity)
        return vectors.entities.index_select(0, row) * has_identity[:, None]

    def complete(self, memory: Memory, identity: Float[Tensor, "B de"], drop: Drop = KEEP_ALL) -> Memory:
        """The Harmony maximum near each memory; with λ = ∞ the memory as it was assembled."""
        if isinstance(self.completion, NoCompletion) and drop.memory == 0:
            return memory
        completed = drop.noise.dropout(self.completion(memory.state, identity), drop.memory)  # (B, D)
        return MemoryState(self.binding, completed, memory.role_vectors)
