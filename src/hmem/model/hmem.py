"""The Harmonic Memory Network: the paper in one function, `HMem.answer`."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from hmem.config import MemoryConfig
from hmem.memory.binding import TensorProduct, make_binding
from hmem.memory.completion import NoCompletion, make_completion
from hmem.memory.exact import Copied, ExactChannel, Seen
from hmem.memory.superpose import Edges
from hmem.model.explicit import Attended, ExplicitMemory
from hmem.model.implicit import ImplicitMemory
from hmem.model.index import Index
from hmem.model.paths import PathChannel
from hmem.model.query import Drop, Query, leads_to_other_answer, other_answers
from hmem.model.readout import ReadOut
from hmem.model.vectors import Embeddings, Vectors


@dataclass(frozen=True, eq=False, slots=True)
class Answer:
    """What a memory gives back before it is compared with anybody."""

    retrieved: Float[Tensor, "B de"]  # e_o
    attended: Attended | None  # the edges it came from; implicit memories have none
    copied: Copied | None = None  # what the exact channel recalls, where the model has one
    reached: Copied | None = None  # what it recalls in several steps, where it takes them

    def mixed_with(self, log_dense: Float[Tensor, "B E"]) -> Float[Tensor, "B E"]:
        """log p(x) from the dense channel's, with what the exact channels recall before it."""
        if self.reached is not None:
            log_dense = self.reached.mixed_with(log_dense)
        return log_dense if self.copied is None else self.copied.mixed_with(log_dense)


class HMem(nn.Module):
    """An entity is a superposition of its bindings; completed, and unbound with the asked role, it answers."""

    is_known: Bool[Tensor, " E"]
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
        self.completion = make_completion(
            memory_dim,
            config.entity_dim,
            config.stiffness,
            config.margin,
            config.local_weight,
        )
        self.readout: ReadOut | None = None
        if config.readout_maps:
            self.readout = ReadOut(2 * num_relations, config.entity_dim, config.readout_maps, config.readout_damping)
        self.own: nn.Parameter | None = None  # s_q, on the asked entity as its own answer
        if config.own_bias:
            self.own = nn.Parameter(torch.zeros(2 * num_relations))
        self.exact = ExactChannel(2 * num_relations, config.entity_dim) if config.exact else None
        self.paths: PathChannel | None = None
        if config.paths_per_role:
            self.paths = PathChannel(2 * num_relations, config.entity_dim, config.paths_per_role, config.path_steps)
        self.log_temperature = nn.Parameter(torch.tensor(math.log(config.temperature)))
        # An entity that training never met has no identity: its vector is still the noise it started from.
        self.register_buffer("is_known", torch.ones(num_entities, dtype=torch.bool))
        # From the memory of an entity that comes later to where its vector would be; see model/placing.py.
        self.register_buffer("placing", torch.zeros(memory_dim + 1, config.entity_dim))
        # The same from the roles it plays alone, for one whose neighbors all came later too; zero if there is no map.
        self.register_buffer("kinds", torch.zeros(2 * num_relations, config.entity_dim))

    @property
    def device(self) -> torch.device:
        return self.embeddings.entity.device

    def forward(self, query: Query, graph: Index, vectors: Vectors | None = None) -> Float[Tensor, "B E"]:
        """The score of every entity as an answer: −τ‖e_o − e_x‖², or log p(x) with the exact channel."""
        vectors = vectors or self.embeddings()
        return self._scores(query, self.answer(query, graph, vectors), vectors)

    def scores_and_chances(
        self, query: Query, graph: Index, vectors: Vectors
    ) -> tuple[Float[Tensor, "B E"], Float[Tensor, "B E"]]:
        """Scores, and what each says of its answer whatever speaks for others; the same without the exact channel.

        p shares one probability among all answers: a rival with as good a reason halves p(x), and x is no less true. So
        the log chance of x is log p(x), or what its own edges say against the null slot, p_x / (p_x + p_null), or what
        its walks do where no edge answers, whichever is the greatest. In none of them do equal rivals count.
        """
        answer = self.answer(query, graph, vectors)
        scores = self._scores(query, answer, vectors)
        chances = scores
        if answer.copied is not None:
            chances = torch.maximum(chances, answer.copied.by_itself(scores))
            if answer.reached is not None:
                chances = torch.maximum(chances, answer.reached.by_itself(scores) + answer.copied.log_null[:, None])
        return scores, chances

    def _scores(self, query: Query, answer: Answer, vectors: Vectors) -> Float[Tensor, "B E"]:
        scores = self.compare(answer.retrieved, vectors.entities, vectors.lengths)  # (B, E)
        self.judge_own_(scores, query)
        if vectors.placed is not None:
            scores = scores.masked_fill(~vectors.placed, -torch.inf)
        if answer.copied is None or answer.attended is None:
            return scores
        return answer.mixed_with(self.normalize(scores, query, answer.attended.edges))

    def answer(self, query: Query, graph: Index, vectors: Vectors, drop: Drop | None = None) -> Answer:
        """Sections 2 to 4 of the paper, line by line."""
        identity = self.identify(query, vectors, drop)  # (B, de) who is asked about; zero for someone new
        if isinstance(self.memory, ImplicitMemory):
            attended = None
            memory = self.memory.assemble(query)  # (B, D) learned
        else:
            attended = self.memory.attend(query, graph, identity, vectors, drop)  # (N,) weighted edges
            if self._is_linear(drop):
                retrieved = self.memory.recall(query, attended, vectors)  # (B, de) memory and unbinding in one
                return self._finish(query, graph, retrieved, attended, vectors, drop)
            memory = self.memory.assemble(query, attended, vectors)  # (B, D) the superposed neighborhood
        completed = self.completion(memory, identity)  # (B, D) the Harmony maximum near it
        if drop is not None:
            completed = drop.noise.dropout(completed, drop.memory)
        retrieved = self.binding.unbind(vectors.roles.index_select(0, query.role), completed)  # (B, de)
        return self._finish(query, graph, retrieved, attended, vectors, drop)

    def compare(
        self,
        retrieved: Float[Tensor, "B de"],
        candidates: Float[Tensor, "C de"],
        lengths: Float[Tensor, " C"] | None = None,
    ) -> Float[Tensor, "B C"]:
        """−τ‖e_o − e_x‖² of every candidate, as one matrix product; `lengths` are the ‖e_x‖², if they are at hand."""
        temperature = self.log_temperature.exp()
        if lengths is not None:  # a few questions to many candidates: no work that grows with the candidates but this
            products = torch.addmm(-temperature * lengths, 2 * temperature * retrieved, candidates.mT)  # (B, C)
            return products - temperature * retrieved.square().sum(1, keepdim=True)
        # −τ‖o − x‖² = (2τo ⊕ −τ‖o‖²)·(x ⊕ 1) − τ‖x‖², so nothing but the product ever has the size of the result
        asked = torch.cat([2 * temperature * retrieved, -temperature * retrieved.square().sum(1, keepdim=True)], dim=1)
        offered = torch.cat([candidates, torch.ones_like(candidates[:, :1])], dim=1)  # (C, de + 1)
        return torch.addmm(-temperature * candidates.square().sum(1), asked, offered.mT)  # (B, C)

    def judge_own_(self, scores: Float[Tensor, "B E"], query: Query) -> None:
        """Add s_q to the score of the asked entity itself, in place: hardly anybody is their own answer."""
        if self.own is not None:
            is_there = query.entity < scores.shape[1]  # somebody new may have no place among the candidates
            column = torch.where(is_there, query.entity, 0)
            scores.scatter_add_(1, column[:, None], (is_there * self.own.index_select(0, query.role))[:, None])

    def normalize(self, scores: Float[Tensor, "B E"], query: Query, edges: Edges) -> Float[Tensor, "B E"]:
        """Log probabilities of the dense channel among the answers that are not stored already, as in training."""
        row, filler = other_answers(query, edges)
        rivals = scores.reshape(-1).index_fill(0, row * scores.shape[1] + filler, -torch.inf).view_as(scores)
        total = rivals.logsumexp(1, keepdim=True)  # (B, 1); −∞ where every entity is stored, so that all are rivals
        total = torch.where(total > -torch.inf, total, scores.logsumexp(1, keepdim=True))
        return scores - torch.where(total > -torch.inf, total, 0.0)  # still −∞ where nobody has a vector

    def identify(self, query: Query, vectors: Vectors, drop: Drop | None = None) -> Float[Tensor, "B de"]:
        """e_i as the weights and the bias see it: zero for an entity that came after training, or plays one."""
        if not self.config.identity:
            return vectors.entities.new_zeros(len(query), vectors.entities.shape[1])
        row = query.entity.clamp_max(self.num_entities - 1)
        known = self.is_known.index_select(0, row) & (query.entity < self.num_entities)
        if drop is not None and drop.identity > 0:
            known = known & ~drop.noise.chosen(len(query), drop.identity)
        return vectors.entities.index_select(0, row) * known[:, None]

    def seen(self, vectors: Vectors, retrieved: Float[Tensor, "B de"]) -> Seen:
        """What the exact channels may know of the dense one. They read it and never move it."""
        entities = vectors.entities.detach()
        lengths = entities.square().sum(1) if vectors.lengths is None else vectors.lengths
        own = None if self.own is None else self.own.detach()
        return Seen(entities, lengths, retrieved.detach(), self.log_temperature.detach().exp(), own)

    def _is_linear(self, drop: Drop | None) -> bool:
        """Whether the answer can be had without assembling the memory: tensor products, left as they are."""
        untouched = isinstance(self.completion, NoCompletion) and (drop is None or drop.memory == 0)
        return untouched and isinstance(self.binding, TensorProduct)

    def _finish(
        self,
        query: Query,
        graph: Index,
        retrieved: Float[Tensor, "B de"],
        attended: Attended | None,
        vectors: Vectors,
        drop: Drop | None,
    ) -> Answer:
        if self.readout is not None:
            load = torch.zeros_like(retrieved[:, 0]) if attended is None else attended.load  # (B,)
            retrieved = self.readout(retrieved, query.role, load)
        if drop is not None:
            retrieved = drop.noise.dropout(retrieved, drop.retrieved)
        if self.exact is None or attended is None:
            return Answer(retrieved, attended)
        edges, seen = attended.edges, self.seen(vectors, retrieved)
        stored = leads_to_other_answer(query, edges)  # what is known already is no rival to the answer
        copied = self.exact(query.role, edges, attended.withheld | stored, seen)
        if self.paths is None:
            return Answer(retrieved, attended, copied)
        walks = self.paths.follow(query, edges, attended.withheld, graph)
        return Answer(retrieved, attended, copied, self.paths(query, edges, walks, seen))


class ModelScorer:
    """A model on a graph, as evaluation asks it."""

    def __init__(self, model: HMem, graph: Index, vectors: Vectors | None = None) -> None:
        self.model = model.eval()
        self.graph = graph
        with torch.inference_mode():
            self.vectors = vectors or model.embeddings()

    @property
    def device(self) -> torch.device:
        return self.model.device

    @torch.inference_mode()
    def score(self, entities: Int[Tensor, " B"], roles: Int[Tensor, " B"]) -> Float[Tensor, "B E"]:
        scores: Tensor = self.model(Query(entities, roles), self.graph, self.vectors)
        return scores

    @torch.inference_mode()
    def log_alone(self, entities: Int[Tensor, " B"], roles: Int[Tensor, " B"]) -> Float[Tensor, "B E"] | None:
        """What calibration counts by, where it is not the scores' softmax; see `HMem.scores_and_chances`."""
        if self.model.exact is None:
            return None
        return self.model.scores_and_chances(Query(entities, roles), self.graph, self.vectors)[1]
