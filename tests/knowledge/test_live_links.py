"""The edges of a living graph: whatever came and went, answers are those of a base built from the present facts."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmem.graph.names import Vocabulary
from hmem.knowledge import live_graph
from hmem.knowledge.base import KnowledgeBase
from hmem.knowledge.store.records import Names3
from tests.knowledge.living import stored_facts
from tests.knowledge.propagating import KINDS, base_of, differences, every_answer, save_network
from tests.knowledge.stores import file_of
from tests.laws import examples

TRAINED, RELATIONS = ["a", "b", "c", "d"], ["likes", "has"]
NAMES = Vocabulary(TRAINED, RELATIONS)
FACTS: list[Names3] = [
    ("a", "likes", "b"),
    ("b", "has", "c"),
    ("c", "likes", "d"),
    ("a", "has", "c"),
    ("d", "has", "d"),
]
ANY_FACT = st.tuples(
    st.sampled_from([*TRAINED, "x", "y"]),
    st.sampled_from([*RELATIONS, "likes", "knows", "eats"]),
    st.sampled_from([*TRAINED, "x", "z"]),
)
Models = Callable[[str], Path]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Models:
    folders = {kind: save_network(tmp_path_factory.mktemp("models") / kind, kind, NAMES) for kind in KINDS}
    return folders.__getitem__


def meetings(kb: KnowledgeBase) -> set[tuple[str, int, str]]:
    """Which roles meet, by name, and in which way."""
    with kb.session() as session:
        live, links = session.live, session.predictor.links
        assert links is not None
        graph, R, names = links.current().meetings, live.num_relations, live.relations.names
        named = [f"{'to' if role >= R else 'from'} {names[role % R]}" for role in range(2 * R)]
        edges = zip(graph.source.tolist(), graph.role.tolist(), graph.target.tolist(), strict=True)
        return {(named[first], way, named[second]) for first, way, second in edges}


def check(kb: KnowledgeBase, model: Path) -> None:
    with base_of(file_of(kb.store).parent / "afresh.kb", model, stored_facts(kb)) as afresh:
        assert differences(every_answer(kb), every_answer(afresh)) == []
        assert meetings(kb) == meetings(afresh)


@pytest.mark.parametrize("kind", KINDS)
@given(changes=st.lists(st.tuples(ANY_FACT, st.booleans()), min_size=1, max_size=8), most=st.sampled_from([3, 256]))
@examples(3)
def test_after_any_changes_answers_are_those_of_a_base_built_afresh(
    models: Models, tmp_path_factory: pytest.TempPathFactory, kind: str, changes: list[tuple[Names3, bool]], most: int
) -> None:
    """A fact that is there goes, another one comes; sometimes a question is asked in between."""
    with (
        pytest.MonkeyPatch.context() as patch,
        base_of(tmp_path_factory.mktemp("base") / "zoo.kb", models(kind), FACTS) as kb,
    ):
        patch.setattr(live_graph, "MOST_CHANGED", most)
        every_answer(kb)
        for fact, is_asked in changes:
            if fact in kb:
                kb.remove(*fact)
            else:
                kb.add(*fact)
            if is_asked:
                every_answer(kb)
        check(kb, models(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_many_changes_at_once_are_indexed_anew(
    models: Models, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_graph, "MOST_ONE_BY_ONE", 2)
    with base_of(tmp_path / "zoo.kb", models(kind), FACTS) as kb:
        every_answer(kb)
        kb.add_many([("x", "likes", "a"), ("y", "has", "x"), ("x", "has", "b")])
        kb.remove("a", "likes", "b")
        check(kb, models(kind))
        kb.remove_many(stored_facts(kb))
        assert every_answer(kb) == {}
        kb.add("x", "likes", "y")
        check(kb, models(kind))


def test_a_fact_that_is_left_out_for_a_while_comes_back(models: Models, tmp_path: Path) -> None:
    with base_of(tmp_path / "zoo.kb", models("computed"), FACTS) as kb:
        before, met = every_answer(kb), meetings(kb)
        with kb.session() as session:
            fact = session.names.entity("a"), session.live.relations.names.id_of("likes"), session.names.entity("b")
            with session.live.without(*fact):
                assert differences(every_answer(kb), before) != []
                assert meetings(kb) < met
        assert every_answer(kb) == before
        assert meetings(kb) == met


def test_only_what_changed_is_read_again(models: Models, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with base_of(tmp_path / "zoo.kb", models("computed"), FACTS) as kb, kb.session() as session:
        links = session.predictor.links
        assert links is not None
        built = links.current()
        assert links.current() is built
        monkeypatch.setattr(type(links), "_build", lambda self: pytest.fail("the whole graph is indexed anew"))
        kb.add("a", "has", "d")
        session.live.refresh()
        patched = links.current()
        assert patched is not built
        assert patched.patch is not None
        assert patched.patch.targets.tolist() == sorted(session.names.entity(name) for name in ("a", "d"))
        assert patched.meetings is built.meetings, "no roles meet that did not meet before"


@given(facts=st.lists(ANY_FACT, min_size=1, max_size=10, unique=True), count=st.integers(1, 3))
@examples(10)
def test_facts_decide_where_roles_meet_if_they_do_not_meet_without(
    models: Models, tmp_path_factory: pytest.TempPathFactory, facts: list[Names3], count: int
) -> None:
    folder = tmp_path_factory.mktemp("base")
    with base_of(folder / "zoo.kb", models("computed"), facts) as kb, kb.session() as session:
        links, hidden = session.predictor.links, facts[:count]
        assert links is not None
        links.current()
        numbers = [
            (session.names.entity(head), session.live.relations.names.id_of(relation), session.names.entity(tail))
            for head, relation, tail in hidden
        ]
        met = meetings(kb)
        with base_of(folder / "without.kb", models("computed"), facts[count:]) as without:
            assert links.decide_meetings(numbers) == (meetings(without) != met)


@pytest.mark.parametrize("kind", KINDS)
def test_a_stored_fact_is_scored_as_if_it_had_never_been_stored(models: Models, tmp_path: Path, kind: str) -> None:
    """Also where roles meet because of it alone."""
    more = [("b", "likes", "d"), ("d", "has", "a"), ("c", "has", "a")]
    decided = 0
    with base_of(tmp_path / "zoo.kb", models(kind), [*FACTS, *more]) as kb:
        everything = meetings(kb)
        found = kb.score_many([*FACTS, *more])
        listed = {row.names: row.score for fact in FACTS for row in kb.predict(*fact[:2], k=20, new_only=False)}
        for row in found:
            kb.remove(*row.names)
            decided += meetings(kb) != everything
            assert kb.score(*row.names) == pytest.approx(row.score, abs=1e-4)
            assert listed.get(row.names, row.score) == pytest.approx(row.score, abs=1e-4)
            kb.add(*row.names)
    assert decided > 0
