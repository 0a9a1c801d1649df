"""Questions worth asking: about what has some facts, of several relations, with answers that are not stored."""

import numpy as np

from hmem.graph.triples import as_triples
from hmem.knowledge.worth_asking import SHOWN_OF_A_ROLE, candidates, worth_asking
from tests.knowledge.conftest import MakeBase


def test_the_likeliest_new_answers_come_first_and_few_are_of_one_relation(make_base: MakeBase) -> None:
    kb = make_base(None)
    with kb.session() as session:
        found = worth_asking(session, 5)
    assert len(found) > 2
    assert all(each.rank == 1 and not each.stored and each.names not in kb for each in found)
    likely = [each.probability or 0.0 for each in found]
    assert likely == sorted(likely, reverse=True)
    roles = [(each.relation, each.direction) for each in found]
    assert max(roles.count(role) for role in roles) <= SHOWN_OF_A_ROLE


def test_hubs_and_strangers_are_not_asked_about() -> None:
    star = [(0, 0, leaf) for leaf in range(1, 200)] + [(1, 1, 2), (1, 1, 3), (1, 1, 4)]
    facts = as_triples(star)
    asked = candidates(facts, np.bincount(facts[:, [0, 2]].ravel()))
    assert {entity for entity, _, _ in asked} == {1}
    assert len(asked) == len(set(asked))


def test_an_empty_base_has_nothing_to_ask(make_base: MakeBase) -> None:
    kb = make_base(None)
    kb.remove_many([each.names for each in kb.store.listing()])
    with kb.session() as session:
        assert worth_asking(session, 5) == []
