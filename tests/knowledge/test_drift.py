import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hmem.evaluation.metrics import MRR
from hmem.graph.triples import Triples
from hmem.knowledge.base import KnowledgeBase
from hmem.knowledge.drift import Drift, drift
from hmem.knowledge.store.records import Names3
from tests.knowledge.conftest import MakeBase, ModelFolder
from tests.knowledge.living import TOY_FACTS, UNSEEN, every_score, same
from tests.oracles_graph import looped_rank

NEW: list[Names3] = [
    (UNSEEN[0], "hypernym", "wolf.n.01"),
    (UNSEEN[0], "similar_to", "dog.n.01"),
    ("canine.n.02", "hyponym", "fox.n.01"),
]


def looped_mrr(kb: KnowledgeBase, facts: list[Names3]) -> float:
    """Each fact really removed, asked from both ends, and added again."""
    reciprocal = []
    for fact in facts:
        kb.remove(*fact)
        with kb.session() as session:
            live = session.live
            head, relation, tail = (
                session.names.entity(fact[0]),
                session.names.role(fact[1], "head"),
                session.names.entity(fact[2]),
            )
            for entity, role, target in ((head, relation + 4, tail), (tail, relation, head)):
                ((_, scores, _),) = session.predictor.passes(np.array([entity]), np.array([role]))
                row = torch.cat([scores[0], torch.full((len(live.entities.names),), -torch.inf)]).tolist()
                candidates = [x for x in range(len(row)) if row[x] > -torch.inf or x == target]
                rank = looped_rank(row, target, live.graph.answers(entity, role).tolist(), candidates)
                reciprocal.append(2 / (rank.optimistic + rank.pessimistic))
        kb.add(*fact)
    return float(np.mean(reciprocal))


@pytest.mark.parametrize("name", ["recall", "tpr"])
def test_what_came_after_training_is_counted_and_ranked(make_base: MakeBase, name: str) -> None:
    kb = make_base(name)
    nothing = drift(kb)
    assert (nothing.facts, nothing.new_facts, nothing.gone_facts, nothing.new_entities) == (32, 0, 0, 0)
    assert (nothing.recent_mrr, nothing.recent_ranked, nothing.validation_mrr) == (None, 0, None)
    assert "no facts came after training" in nothing.advice
    kb.add_many(NEW)
    kb.remove(*TOY_FACTS[0])
    kb.add_many([(UNSEEN[1], "eats", "mutton"), ("wolf.n.01", "eats", "mutton"), TOY_FACTS[1]])
    kb.remove(*TOY_FACTS[2])
    kb.add(*TOY_FACTS[2])  # was there, and is
    before = every_score(kb)
    found = drift(kb)
    assert same(before, every_score(kb))
    assert (found.facts, found.new_facts, found.gone_facts, found.new_entities) == (36, 5, 1, 1)
    assert (found.new_relations, found.unusable_facts, found.recent_ranked) == (("eats",), 2, 3)
    assert found.older_ranked == 31
    assert found.recent_mrr == pytest.approx(looped_mrr(kb, NEW), abs=1e-6)
    assert found.older_mrr == pytest.approx(looped_mrr(kb, TOY_FACTS[1:]), abs=1e-6)
    assert drift(kb, sample=2).recent_ranked == 2
    assert found.advice.startswith(
        'Training again would pay: 2 facts have relations the model was not trained with ("eats").'
    )
    assert str(found) == found.advice
    assert json.loads(json.dumps(found.to_dict()))["new_relations"] == ["eats"]


def test_learned_memories_are_asked_for_entities_they_were_trained_with(make_base: MakeBase) -> None:
    kb = make_base("implicit")
    kb.add_many(NEW)
    found = drift(kb)
    assert (found.new_facts, found.new_entities, found.recent_ranked) == (3, 1, 1)
    assert found.recent_mrr is not None


def test_a_model_counts_from_the_moment_it_was_trained_until(make_base: MakeBase, model_folder: ModelFolder) -> None:
    kb = make_base("recall")
    kb.add_many(NEW)
    kb.use_model(model_folder("recall"), trained_until=1)
    assert drift(kb).new_facts == 3
    kb.use_model(model_folder("recall"))
    assert drift(kb).new_facts == 3, "it is the same model still"
    kb.use_model(model_folder("tpr"))
    assert drift(kb).new_facts == 0, "of this one nothing is known"


def test_the_models_own_figure_is_shown_beside(make_base: MakeBase, model_folder: ModelFolder, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(model_folder("recall"), tmp_path / "model"))
    report = {"split": "valid", "protocols": {"all": {MRR: 0.25}}}
    (folder / "metrics.json").write_text(json.dumps({"reports": [{"split": "test"}, report]}))
    kb = make_base(None)
    kb.use_model(folder)
    assert drift(kb).validation_mrr == 0.25


def test_what_is_written_meanwhile_is_left_for_the_next_look(
    make_base: MakeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = make_base("recall")
    with kb.session():  # brought up to date
        read = kb.store.triples

    def written_before(*given: Any, **named: Any) -> Triples:
        monkeypatch.undo()
        kb.add_many([("dire_wolf.n.01", "hypernym", "wolf.n.01"), ("new", "new", "new")])
        return read(*given, **named)

    monkeypatch.setattr(kb.store, "triples", written_before)
    assert drift(kb).new_facts == 0
    assert drift(kb).new_facts == 2


def figures(**changed: object) -> Drift:
    usual: dict[str, object] = {
        "facts": 1000,
        "new_facts": 50,
        "gone_facts": 0,
        "new_entities": 3,
        "new_relations": (),
        "unusable_facts": 0,
        "recent_mrr": 0.5,
        "recent_ranked": 50,
        "older_mrr": 0.5,
        "older_ranked": 500,
        "validation_mrr": None,
    }
    return Drift(**{**usual, **changed})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changed", "advice"),
    [
        (
            {},
            "Training again would hardly pay: new facts have an MRR of 0.500 (50 ranked), "
            "older ones of 0.500 (500 ranked).",
        ),
        ({"recent_mrr": 0.3}, "Training again would pay: new facts have an MRR of 0.300 (50 ranked), older ones of"),
        ({"new_facts": 300}, "Training again may pay: 30% of the facts are new, though new facts have an MRR of"),
        ({"recent_ranked": 3, "new_facts": 3}, "Too early to tell: only 3 facts came after training."),
        ({"recent_ranked": 1, "new_facts": 1}, "Too early to tell: only 1 fact came after training."),
        ({"older_ranked": 3}, "Too early to tell: only 50 facts came after training."),
        (
            {"recent_ranked": 0, "recent_mrr": None, "new_facts": 0, "gone_facts": 1},
            "Too early to tell: only 0 facts came and 1 went after training.",
        ),
        ({"gone_facts": 300}, "Training again may pay: 300 of the 1,250 facts from before it are gone."),
        ({"new_facts": 0, "recent_mrr": None, "gone_facts": 300}, "may pay: 300 of the 1,300 facts from before it"),
        (
            {"validation_mrr": 0.7},
            "Training again would pay: older facts have an MRR of 0.500 by now (500 ranked), "
            "those kept for validation in training had 0.700.",
        ),
        ({"validation_mrr": 0.6}, "Training again would hardly pay"),
        ({"validation_mrr": 0.7, "older_ranked": 3}, "Too early to tell"),
        ({"validation_mrr": 0.7, "new_facts": 0, "gone_facts": 0}, "Training again would not pay"),
        ({"new_relations": ("a",), "unusable_facts": 1}, '1 fact has a relation the model was not trained with ("a").'),
        ({"new_relations": ("a", "b", "c", "d", "e"), "unusable_facts": 7}, 'with ("a", "b", "c" and 2 more).'),
    ],
)
def test_the_advice_follows_from_the_figures(changed: dict[str, object], advice: str) -> None:
    assert advice in figures(**changed).advice
