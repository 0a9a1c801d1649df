import math

import numpy as np
import pytest

from hmem.knowledge.base import KnowledgeBase
from tests.knowledge.conftest import MakeBase
from tests.knowledge.living import UNSEEN, live_vectors_of
from tests.knowledge.test_predictor import NEW_FACTS


@pytest.mark.parametrize("name", ["paths", "exact-tpr", "cconv"])
def test_missing_facts_are_not_stored_and_hold_from_both_ends(make_base: MakeBase, name: str) -> None:
    kb = make_base(name)
    kb.add_many(NEW_FACTS)
    for entity in ("dog.n.01", "fur.n.01", UNSEEN[0]):
        check_missing(kb, entity)


def check_missing(kb: KnowledgeBase, entity: str) -> None:
    found = kb.missing(entity, k=15)
    assert len(found) > 0
    assert len({row.names for row in found}) == len(found)
    with kb.session() as session:
        placed = live_vectors_of(session).current().placed
        assert placed is not None
        blind, live = -math.log(int(placed.sum())), session.live
        log_p = []
        for row in found:
            assert entity in (row.head, row.tail)
            assert row.names not in kb
            head, relation, tail = (
                session.entity(row.head),
                session.role(row.relation, "head"),
                session.entity(row.tail),
            )
            from_head = session.predictor.judge(np.array([head]), np.array([relation + 4]), np.array([tail]))
            from_tail = session.predictor.judge(np.array([tail]), np.array([relation]), np.array([head]))
            mine, other = (from_head, from_tail) if row.head == entity else (from_tail, from_head)
            assert row.score == pytest.approx(float(mine.scores[0]), abs=1e-5)
            assert float(other.log_p[0]) >= blind - 1e-6
            parts = live.graph.answers(head, relation + 4), live.graph.answers(tail, relation)
            assert len(parts[0]) + len(parts[1]) > 0 or float(mine.log_p[0]) > math.log(0.5)
            log_p.append(float(mine.log_p[0]))
    assert log_p == pytest.approx(sorted(log_p, reverse=True), abs=1e-5)
    assert kb.missing(entity, k=3) == found[:3]
