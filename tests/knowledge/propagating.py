"""Knowledge bases whose model passes messages, and what they answer to every question, by name."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from hmem.config import PropagationConfig
from hmem.graph.names import Vocabulary
from hmem.knowledge.base import KnowledgeBase
from hmem.knowledge.store.records import Names3
from hmem.model.checkpoint import Model, save
from hmem.model.propagation import Propagation
from tests.model.problems import small

KINDS = ["computed", "both", "learned"]
Asked = tuple[str, str, str]  # entity, relation, direction


def save_network(folder: Path, roles: str, names: Vocabulary) -> Path:
    """A model with random weights; one whose roles are computed alone is of no graph in particular."""
    vocab = Vocabulary() if roles == "computed" else names
    config = replace(small("propagate"), propagation=PropagationConfig(dim=6, steps=3, roles=roles))  # type: ignore[arg-type]
    assert config.propagation is not None
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(1)
        model = Propagation(config.propagation, len(vocab.entities), len(vocab.relations))
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    save(folder, Model(model=model, config=config, vocab=vocab, dataset="made up", preset="propagate", metrics={}))
    return folder


def base_of(path: Path, model: Path | None, facts: Sequence[Names3]) -> KnowledgeBase:
    return KnowledgeBase.create(path, model=model, facts=list(facts) or None, overwrite=True)


def every_answer(kb: KnowledgeBase) -> dict[Asked, dict[str, float]]:
    """The score of whatever can be an answer to every question that can be asked."""
    with kb.session() as session:
        live, R = session.live, session.live.num_relations
        names, relations = live.entities.names.to_list(), live.relations.names.to_list()
        askable = [entity for entity in range(len(names)) if live.has_facts(entity)]
        pairs = [(entity, role) for entity in askable for role in range(2 * R)]
        asked = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        rows = [row for _, scores, _ in session.predictor.passes(*asked.T) for row in scores]
        return {
            (names[entity], relations[role % R], "tail" if role >= R else "head"): {
                names[answer]: float(row[answer]) for answer in (row > -torch.inf).nonzero().squeeze(1).tolist()
            }
            for (entity, role), row in zip(asked.tolist(), rows, strict=True)
        }


def differences(found: dict[Asked, dict[str, float]], expected: dict[Asked, dict[str, float]]) -> list[object]:
    """Where two bases do not say the same, to the precision of float32."""
    said: list[object] = []
    for asked, answers in expected.items():
        other = found.get(asked, {})
        if other.keys() != answers.keys():
            said.append((asked, "other answers", sorted(other.keys() ^ answers.keys())))
        elif not np.allclose([other[name] for name in answers], list(answers.values()), rtol=1e-3, atol=1e-3):
            said.append((asked, other, answers))
    return said
