"""Values in a living graph: edges that follow every change and decide answers, and are never facts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from hmem.errors import UnknownNameError
from hmem.graph.names import Vocabulary
from hmem.graph.values import Said, Value
from hmem.knowledge import buckets, live_graph
from hmem.knowledge.base import KnowledgeBase
from hmem.knowledge.live_graph import LiveGraph
from hmem.knowledge.store.records import Changes, Names3
from hmem.knowledge.store.store import Store
from tests.knowledge.living import every_score, same
from tests.knowledge.stores import hasty
from tests.laws import examples

CITIES = 48
KINDS = ["bus", "tram", "metro"]
NOBODY = Vocabulary([], [])


def planted() -> tuple[list[Names3], list[Names3], list[Said]]:
    """Cities whose transport depends on their population alone: facts, those that are asked for, and populations."""
    rng = np.random.default_rng(0)
    population = rng.permutation(CITIES) * 1000
    near = [(f"city{each}", "near", f"city{rng.integers(CITIES)}") for each in range(CITIES)]
    has = [(f"city{each}", "has", KINDS[number // (1000 * CITIES // 3)]) for each, number in enumerate(population)]
    values = [(f"city{each}", "P1", Value.of(int(number))) for each, number in enumerate(population)]
    return [*near, *(fact for each, fact in enumerate(has) if each % 4)], has[::4], values


FACTS, ASKED, VALUES = planted()


@pytest.fixture(scope="module")
def cities(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    path = tmp_path_factory.mktemp("values") / "cities.kb"
    with KnowledgeBase.create(path, facts=FACTS) as kb:
        kb.store.values.set_all(VALUES)
        kb.set_value("city0", "motto", "alone in this")
        yield kb


def hits(kb: KnowledgeBase) -> int:
    """How often what was left out comes first."""
    return sum(kb.predict(head, relation, k=1)[0].tail == tail for head, relation, tail in ASKED)


def test_an_answer_that_depends_on_a_value_is_found_by_it(cities: KnowledgeBase, tmp_path: Path) -> None:
    with KnowledgeBase.create(tmp_path / "without.kb", facts=FACTS) as without:
        assert hits(without) <= len(ASKED) * 0.6
    assert hits(cities) >= len(ASKED) * 0.8


def test_an_explanation_names_the_bucket_in_plain_words(cities: KnowledgeBase) -> None:
    cities.store.naming.describe("property", "P1", label="population")
    with KnowledgeBase.open(cities.path) as again:
        numbers = {entity: said.number or 0 for entity, _, said in VALUES}
        head, relation, tail = next(fact for fact in ASKED if 20_000 < numbers[fact[0]] < 30_000)
        lines = again.explain(head, relation, tail)
        (value,) = [line for line in lines if line.kind == "value" and line.facts[0][0] == head]
        _, name, words = value.facts[0]
        low, high = (int(part.replace(",", "")) for part in words.removeprefix("of ").split(" to "))
        assert name == "population"
        assert low <= numbers[head] < high
        assert value.contribution > 0


def test_buckets_are_no_answers_and_values_no_facts(cities: KnowledgeBase) -> None:
    stored = {fact.names for fact in cities.store.listing()}
    named = set(cities.store.entity_names())
    answers = cities.predict("city0", "near", k=10_000, new_only=False)
    assert {row.tail for row in answers} <= named
    assert {row.relation for row in cities.missing("city0", 100)} <= {"near", "has"}
    assert {row.relation for row in cities.predict_target("city0", None, "city1")} <= {"near", "has"}
    assert {row.names for row in cities.audit(20, sample=20)} <= stored
    assert {row.entity for row in cities.similar("city0", 100)} <= named
    assert {row.names for row in cities.neighbors("city0")} <= stored
    assert len(cities) == len(stored) == len(FACTS)
    with cities.session() as session:
        live = session.live
        assert live.num_facts == len(live.facts()) == len(FACTS)
        assert len(live.unseen()) == len(named)
        hidden = live.entities.names[int(live.values.buckets[0])]
    with pytest.raises(UnknownNameError) as error:
        cities.predict(hidden, "near")
    assert not any(name.startswith("\0") for name in error.value.suggestions)
    with pytest.raises(UnknownNameError, match="no entity"):
        cities.predict("population", "near")


def test_a_base_that_has_values_no_longer_answers_as_one_that_never_had_any(tmp_path: Path) -> None:
    facts = FACTS[:10] + FACTS[-12:]
    with KnowledgeBase.create(tmp_path / "never.kb", facts=facts) as kb:
        never = every_score(kb)
    with KnowledgeBase.create(tmp_path / "had.kb", facts=facts) as kb:
        kb.store.values.set_all(VALUES)
        had = every_score(kb)
        for entity in kb.store.entity_names():
            if len(kb.values(entity)):
                kb.set_value(entity, "P1")
    with KnowledgeBase.open(tmp_path / "had.kb") as again:
        assert same(every_score(again), never)
    assert not same(had, never)


def test_the_bundled_model_alone_uses_values(tmp_path: Path) -> None:
    with Store.create(tmp_path / "a.kb") as store:
        store.add(FACTS)
        store.values.set_all(VALUES)
        live = LiveGraph(store, Vocabulary([], ["near", "has"]))
        assert live.graph.num_facts == len(FACTS)
        assert list(live.relations.names) == ["near", "has"]


def test_a_value_that_comes_between_two_looks_is_not_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store.create(tmp_path / "a.kb") as store, Store.open(tmp_path / "a.kb") as other:
        store.add(FACTS)
        live = LiveGraph(store, NOBODY, takes_new_relations=True, takes_values=True)
        read = store.changes_since

        def written_before(*given: Any, **named: Any) -> Changes:
            other.values.set_all(VALUES)
            return read(*given, **named)

        store.remove(FACTS[:1])
        monkeypatch.setattr(store, "changes_since", written_before)
        live.refresh()
        live.refresh()
        assert len(live.values.edges) == CITIES


NAMES = [f"e{number}" for number in range(6)]
VALUE_STEP = st.tuples(st.sampled_from(NAMES), st.sampled_from("pq"), st.lists(st.integers(0, 9), max_size=2))
FACT_STEP = st.tuples(st.sampled_from(NAMES), st.sampled_from("rs"), st.sampled_from(NAMES))


def edges(live: LiveGraph) -> set[Names3]:
    """All edges by name, values by the words of their buckets."""
    found = set()
    for head, relation, tail in live.graph.to_triples().tolist():
        names, values = live.entities.names, live.values
        what = (names[tail], live.relations.names[relation])
        if relation in values.properties:
            what = (values.words[tail], values.properties[relation])
        found.add((names[head], what[1], what[0]))
    return found


@given(steps=st.lists(st.one_of(VALUE_STEP, FACT_STEP), max_size=25), many=st.sampled_from([1, 1000]))
@examples(15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_written_the_edges_are_those_of_a_graph_made_anew(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, object]], many: int
) -> None:
    with pytest.MonkeyPatch.context() as patch, hasty():
        patch.setattr(buckets, "FEWEST", 2)
        patch.setattr(buckets, "IN_BUCKET", 1)
        patch.setattr(live_graph, "MOST_ONE_BY_ONE", many)
        with Store.create(tmp_path_factory.mktemp("live") / "a.kb") as store:
            store.add([(name, "r", NAMES[0]) for name in NAMES])
            live = LiveGraph(store, NOBODY, takes_new_relations=True, takes_values=True)
            for entity, name, what in steps:
                if isinstance(what, str):
                    (store.remove if store.contains(entity, name, what) else store.add)([(entity, name, what)])
                elif isinstance(what, list) and (what or name in store.values.names()):
                    store.values.set(entity, name, [Value.of(each) for each in what])
                live.refresh()
                again = LiveGraph(store, NOBODY, takes_new_relations=True, takes_values=True)
                assert edges(live) == edges(again)
                assert live.num_facts == again.num_facts == store.count()["facts"]
                assert len(live.facts()) == live.num_facts
