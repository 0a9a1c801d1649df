"""A toy graph, models of it, and the slow version of a living knowledge base: everything rebuilt for every question."""

import math
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from hmem.graph.dataset import Dataset, load_tables
from hmem.graph.names import Vocabulary
from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.triples import as_triples
from hmem.knowledge.base import KnowledgeBase
from hmem.knowledge.live_vectors import LiveVectors
from hmem.knowledge.session import Session
from hmem.knowledge.store.records import Names3
from hmem.model.checkpoint import Model, save
from hmem.model.index import FrozenIndex, LiveIndex
from hmem.model.placing import place
from hmem.model.query import Query
from hmem.model.vectors import Vectors
from hmem.training.loop import train
from tests.conftest import TOY_TRAIN, TOY_VALID
from tests.model.problems import memory_of, small

TOY_FACTS: list[Names3] = [tuple(line.split()) for line in TOY_TRAIN.split("\n") if line]  # type: ignore[misc]
RELATIONS = ["hypernym", "hyponym", "part_of", "similar_to"]
UNTRAINED = "unicorn.n.01"  # the models list it, but training never met it
TRAINED = sorted({name for head, _, tail in TOY_FACTS for name in (head, tail)})
UNSEEN = ["dire_wolf.n.01", "red_wolf.n.01", "maned_wolf.n.01"]

# What each model is for: every way in which answers come about.
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "recall": ("recall", {}),
    "paths": ("recall", {"exact": {"paths": {"per_role": 6, "steps": 3}}}),
    "tpr": ("tpr", {}),
    "tpr-inf": ("tpr-inf", {}),
    "cconv": ("cconv", {}),
    "implicit": ("tpr-im", {}),
    "read-out": ("tpr-inf", {"readout": {"maps": 2, "damping": 0.3}}),
    "exact-tpr": ("tpr", {"exact": {}, "max_neighbors": 3}),
}
EXPLICIT = [name for name in MODELS if name != "implicit"]


def toy_dataset() -> Dataset:
    def table(text: str) -> pa.Table:
        columns = zip(*(line.split() for line in text.split("\n") if line), strict=True)
        return pa.table(dict(zip(("head", "relation", "tail"), map(list, columns), strict=True)))

    tables = {"train": table(TOY_TRAIN), "valid": table(TOY_VALID), "test": table(TOY_VALID)}
    dataset = load_tables("toy", tables)
    dataset.vocab.entities.add(UNTRAINED)
    return dataset


def train_toy(name: str, folder: Path, metrics: dict[str, Any] | None = None, epochs: int = 2) -> None:
    """Write the folder of a model that is `epochs` away from chance."""
    preset, memory = MODELS[name]
    dataset = toy_dataset()
    config = small(preset, memory=memory, training={"epochs": epochs, "batch_size": 8, "learning_rate": 0.05})
    outcome = train(config, dataset.train, dataset.num_entities, dataset.num_relations)
    save(
        folder,
        Model(
            model=outcome.model,
            config=config,
            vocab=dataset.vocab,
            dataset="toy",
            preset=preset,
            metrics=metrics or {},
        ),
    )


def stored_facts(kb: KnowledgeBase) -> list[Names3]:
    return [fact.names for fact in kb.store.listing()]


def live_vectors_of(session: Session) -> LiveVectors:
    """The vectors of this moment, where the model has any."""
    assert session.predictor.vectors is not None
    return session.predictor.vectors


def every_score(kb: KnowledgeBase) -> dict[tuple[str, int], Tensor]:
    """The score of every entity as an answer to every question that can be asked."""
    with kb.session() as session:
        names, roles = session.live.entities.names, 2 * session.live.num_relations
        askable = [entity for entity in range(len(names)) if session.live.has_facts(entity)]
        questions = np.array([(entity, role) for entity in askable for role in range(roles)]).reshape(-1, 2)
        rows = [row for _, scores, _ in session.predictor.passes(*questions.T) for row in scores]
        return {(names[int(e)], int(r)): row for (e, r), row in zip(questions, rows, strict=True)}


def same(before: dict[tuple[str, int], Tensor], after: dict[tuple[str, int], Tensor]) -> bool:
    """To the last bit."""
    return before.keys() == after.keys() and all(torch.equal(before[key], after[key]) for key in before)


class Rebuilt:
    """A knowledge base that keeps nothing: names, index and vectors are made from the facts for every question."""

    def __init__(self, saved: Model, names_in_order: list[str], facts: list[Names3]) -> None:
        self.model = memory_of(saved.model)
        self.trained = len(saved.vocab.entities)
        self.vocab = Vocabulary(list(saved.vocab.entities), list(saved.vocab.relations))
        for name in names_in_order:
            self.vocab.entities.add(name)
        ids = [
            (self.vocab.entities.id_of(head), self.vocab.relations.id_of(relation), self.vocab.entities.id_of(tail))
            for head, relation, tail in facts
            if relation in self.vocab.relations
        ]
        self.facts = ids
        newest = max((max(head, tail) for head, _, tail in ids), default=0)
        self.width = self.trained + 1024 * math.ceil(max(0, newest + 1 - self.trained) / 1024)
        self.graph = Neighborhoods.build(as_triples(ids), max(self.width, len(self.vocab.entities)), len(RELATIONS))

    @cached_property
    @torch.inference_mode()
    def vectors(self) -> Vectors:
        """The model's rows and, one by one, those of all entities it was not trained with."""
        trained = self.model.embeddings()
        rows = torch.zeros(self.width, trained.entities.shape[1])
        rows[: self.trained] = trained.entities
        placed = torch.zeros(self.width, dtype=torch.bool)
        placed[: self.trained] = self.model.is_trained
        for entity in (~placed).nonzero().squeeze(1).tolist():
            rows[entity] = 0.0
            if len(self.graph.edges_of(entity)[0]) == 0:
                continue
            edges = LiveIndex(self.graph, self.trained).lookup(torch.tensor([entity]))
            edges = edges.select(self.model.is_trained[edges.fillers])
            placed[entity] = True
            if len(edges.query):
                rows[entity] = place(self.model, edges, trained)[0]
            else:
                roles, counts = np.unique(self.graph.edges_of(entity)[0], return_counts=True)
                for role, count in zip(roles.tolist(), counts.tolist(), strict=True):
                    rows[entity] += torch.log1p(torch.tensor(float(count))) * self.model.kinds[role]
        return Vectors(rows, trained.roles, placed, rows.square().sum(1))

    @torch.inference_mode()
    def scores(self, entity: str, role: int) -> Tensor:
        query = Query(torch.tensor([self.vocab.entities.id_of(entity)]), torch.tensor([role]))
        scores: Tensor = self.model(query, FrozenIndex(self.graph), self.vectors)[0]
        return scores
