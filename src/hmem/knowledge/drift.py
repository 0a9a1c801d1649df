"""How far a graph has moved on from what its model was trained with, and whether training again would pay.

Counting says how much is new. Ranking says how well the model copes with it: the latest facts are asked from both ends,
each left out of the graph while it is asked, and so are as many older ones. A model that ranks new facts as well as
old ones has nothing to learn from them that the living graph does not tell it already.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from hmem.errors import plural
from hmem.evaluation.metrics import MRR
from hmem.evaluation.queries import both_sides
from hmem.evaluation.ranks import filtered_ranks
from hmem.graph.triples import Triples, is_among
from hmem.knowledge.base import KnowledgeBase
from hmem.knowledge.predictor import Predictor
from hmem.knowledge.session import Session

SAMPLE = 500  # facts that are ranked, of either age
MUCH_NEW = 0.1  # share of the facts, as of those that are gone
MUCH_WORSE = 0.8  # of the MRR of older facts, or of those kept for validation
FEW = 20  # facts that say nothing yet


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """What came after training, and how it ranks."""

    facts: int  # all that are stored now
    new_facts: int  # of them, added after training
    gone_facts: int  # that training may have seen and that were removed since
    new_entities: int  # with facts, that the model has no vector of its own for
    new_relations: tuple[str, ...]  # that the model cannot predict with
    unusable_facts: int  # stored with such a relation
    recent_mrr: float | None  # of the latest facts the model can be asked for; None without any
    recent_ranked: int
    older_mrr: float | None  # of as many from before
    older_ranked: int
    validation_mrr: float | None  # what the model's own folder says

    @property
    def advice(self) -> str:
        """Whether training again would pay, in one sentence."""
        if self.new_relations:
            some = ", ".join(f'"{name}"' for name in self.new_relations[:3])
            more = f" and {len(self.new_relations) - 3} more" if len(self.new_relations) > 3 else ""
            have = "have relations" if self.unusable_facts != 1 else "has a relation"
            unusable = f"{plural(self.unusable_facts, 'fact')} {have} the model was not trained with ({some}{more})"
            return f"Training again would pay: {unusable}."
        if self.new_facts + self.gone_facts == 0:
            return "Training again would not pay: no facts came after training."
        if self.new_facts == self.facts and self.recent_mrr is not None:
            said = f"which have an MRR of {self.recent_mrr:.3f} ({self.recent_ranked:,} ranked)"
            return f"Training may pay: the model has seen none of the {plural(self.facts, 'fact')}, {said}."
        if self._has_fallen:
            return (
                f"Training again would pay: older facts have an MRR of {self.older_mrr:.3f} by now "
                f"({self.older_ranked:,} ranked), those kept for validation in training had {self.validation_mrr:.3f}."
            )
        seen = self.facts - self.new_facts + self.gone_facts
        if self.gone_facts > MUCH_NEW * seen:
            return f"Training again may pay: {self.gone_facts:,} of the {plural(seen, 'fact')} from before it are gone."
        if self.recent_mrr is None or self.older_mrr is None or min(self.recent_ranked, self.older_ranked) < FEW:
            return f"Too early to tell: only {self._changes} after training."
        compared = (
            f"new facts have an MRR of {self.recent_mrr:.3f} ({self.recent_ranked:,} ranked), "
            f"older ones of {self.older_mrr:.3f} ({self.older_ranked:,} ranked)"
        )
        if self.recent_mrr < MUCH_WORSE * self.older_mrr:
            return f"Training again would pay: {compared}."
        if self.new_facts > MUCH_NEW * self.facts:
            return f"Training again may pay: {self.new_facts / self.facts:.0%} of the facts are new, though {compared}."
        return f"Training again would hardly pay: {compared}."

    @property
    def _changes(self) -> str:
        """What came and went."""
        if self.gone_facts == 0:
            return f"{plural(self.new_facts, 'fact')} came"
        return f"{plural(self.new_facts, 'fact')} came and {self.gone_facts:,} went"

    @property
    def _has_fallen(self) -> bool:
        """Whether even what was there in training ranks much worse than it did then."""
        if self.older_mrr is None or self.validation_mrr is None:
            return False
        if min(self.older_ranked, self.new_facts + self.gone_facts) < FEW:
            return False
        return self.older_mrr < MUCH_WORSE * self.validation_mrr

    def to_dict(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {**values, "new_relations": list(self.new_relations), "advice": self.advice}

    def __str__(self) -> str:
        return self.advice


def drift(kb: KnowledgeBase, sample: int = SAMPLE) -> Drift:
    """Compare the facts of now with those at the moment the model was trained."""
    with kb.session() as session:
        live, moments = session.live, (session.model_link.trained_until, session.live.moment)
        before, facts = (kb.store.triples(moment, evidence=live.evidence) for moment in moments)
        is_new = ~is_among(facts, before)
        usable = _askable(session, facts[is_new])
        recent = usable[len(usable) - min(sample, len(usable)) :]
        older = _sample(_askable(session, facts[~is_new]), sample)
        untrained = live.relations.of_store[facts[:, 1]] >= live.num_relations
        names = sorted({int(relation) for relation in live.relations.of_store[facts[untrained, 1]]})
        return Drift(
            facts=len(facts),
            new_facts=int(is_new.sum()),
            gone_facts=len(before) - int((~is_new).sum()),
            new_entities=len(live.unseen()),
            new_relations=tuple(live.relations.names[relation] for relation in names),
            unusable_facts=int(untrained.sum()),
            recent_mrr=_mrr(session.predictor, recent),
            recent_ranked=len(recent),
            older_mrr=_mrr(session.predictor, older),
            older_ranked=len(older),
            validation_mrr=validation_mrr(session),
        )


def validation_mrr(session: Session) -> float | None:
    """The MRR that training measured, where the model's folder has it."""
    try:
        (report,) = [each for each in session.saved.metrics["reports"] if each["split"] == "valid"][:1]
        return float(report["protocols"]["all"][MRR])
    except (KeyError, TypeError, ValueError):
        return None


def _askable(session: Session, facts: Triples) -> Triples:
    """Facts of the store that the model can be asked for, from both ends and in its numbering."""
    usable = session.live.translate(facts)
    if session.saved.model.is_implicit:  # learned, so there is none for unseen entities
        return usable[(usable[:, [0, 2]] < session.live.num_trained).all(axis=1)]
    return usable


def _sample(facts: Triples, count: int) -> Triples:
    """Some of the facts, always the same ones."""
    if len(facts) <= count:
        return facts
    return facts[np.sort(np.random.default_rng(0).permutation(len(facts))[:count])]


def _mrr(predictor: Predictor, facts: Triples) -> float | None:
    """The mean reciprocal rank of stored facts, both ends asked, each left out while it is; ties share their mean."""
    if len(facts) == 0:
        return None
    queries = both_sides(facts, predictor.live.num_relations)
    asked = queries.entities, queries.roles, queries.targets
    withheld = predictor.withheld(*asked)
    ranks = [_rank(predictor, row, *(int(part[place]) for part in asked)) for place, row, _ in withheld]
    return float(np.mean([1 / rank for rank in ranks]))


def _rank(predictor: Predictor, row: Float[Tensor, " W"], entity: int, role: int, target: int) -> float:
    """The filtered rank of the target among the scores of all; last if nothing but its own fact tells of it."""
    others = predictor.live.graph.answers(entity, role).astype(np.int64)
    masked = row[torch.from_numpy(others[(others != target) & (others < len(row))])]
    if target >= len(row) or row[target] == -torch.inf:
        return float(1 + (row > -torch.inf).sum() - (masked > -torch.inf).sum())
    truth, same_query = row[target].view(1), torch.zeros(len(masked), dtype=torch.int64, device=row.device)
    optimistic, pessimistic = filtered_ranks(row[None], truth, same_query, masked)
    return float(optimistic + pessimistic) / 2
