import itertools
import math
from collections.abc import Callable
from typing import get_args

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from hmem.errors import ConfigError, EmptyNeighborhoodError, NonFiniteError
from hmem.knowledge import live_vectors
from hmem.knowledge import predictor as module
from hmem.knowledge.base import KnowledgeBase
from hmem.knowledge.ranked import first
from hmem.knowledge.results import Direction
from hmem.knowledge.store.records import Names3
from tests.knowledge.conftest import MakeBase, ModelFolder
from tests.knowledge.living import (
    EXPLICIT,
    RELATIONS,
    TOY_FACTS,
    TRAINED,
    UNSEEN,
    UNTRAINED,
    Rebuilt,
    every_score,
    live_vectors_of,
    same,
    stored_facts,
)
from tests.laws import examples

NAMES = [*TRAINED[::3], UNTRAINED, *UNSEEN]
FACTS = st.tuples(st.sampled_from(NAMES), st.sampled_from([*RELATIONS, "eats"]), st.sampled_from(NAMES))
SOME = examples(4, suppress_health_check=[HealthCheck.function_scoped_fixture])
every_model = pytest.mark.parametrize("name", EXPLICIT)
NEW_FACTS: list[Names3] = [
    (UNSEEN[0], "hypernym", "wolf.n.01"),
    (UNSEEN[0], "similar_to", "dog.n.01"),
    ("paw.n.01", "part_of", UNSEEN[1]),
    (UNSEEN[1], "similar_to", UNSEEN[2]),
    (UNTRAINED, "hypernym", "mammal.n.01"),
]


Fresh = Callable[[str, list[Names3]], KnowledgeBase]


@pytest.fixture
def fresh(tmp_path_factory: pytest.TempPathFactory, model_folder: ModelFolder) -> Fresh:
    """A new base for each example of a law."""

    def make(name: str, facts: list[Names3]) -> KnowledgeBase:
        path = tmp_path_factory.mktemp("law") / "zoo.kb"
        return KnowledgeBase.create(path, model=model_folder(name), facts=facts)

    return make


@every_model
def test_scores_are_those_of_a_model_that_is_given_everything_anew(make_base: MakeBase, name: str) -> None:
    kb = make_base(name)
    every_score(kb)
    kb.add_many([*NEW_FACTS, (UNSEEN[0], "eats", "dog.n.01")])
    kb.remove("dog.n.01", "hypernym", "canine.n.02")
    anew = Rebuilt(kb.model, kb.store.entity_names(), stored_facts(kb))
    with kb.session() as session:
        for entity, role in [*every_score(kb)][::3]:
            number = np.array([session.names.entity(entity)]), np.array([role])
            ((_, scores, _),) = session.predictor.passes(*number)
            assert torch.equal(scores[0], anew.scores(entity, role))


@every_model
@given(facts=st.lists(FACTS, min_size=1, max_size=6, unique=True), data=st.data())
@SOME
def test_adding_and_removing_leaves_every_score_as_it_was(
    fresh: Fresh,
    name: str,
    facts: list[Names3],
    data: st.DataObject,
) -> None:
    """Also for unseen entities, also when stored facts go and come back, to the last bit."""
    with fresh(name, [*TOY_FACTS, *NEW_FACTS]) as kb:
        before = every_score(kb)
        stored = set(stored_facts(kb))
        added = [fact for fact in facts if fact not in stored]
        gone = data.draw(st.lists(st.sampled_from(sorted(stored)), max_size=4, unique=True))
        kb.add_many(added)
        every_score(kb)
        kb.remove_many(gone)
        every_score(kb)
        if added:
            for fact in data.draw(st.permutations(added)):
                kb.remove(*fact)
        for fact in gone:
            kb.add(*fact)
        assert same(before, every_score(kb))
        with KnowledgeBase.open(kb.path) as again:
            assert same(before, every_score(again))


@given(order=st.permutations(NEW_FACTS))
@SOME
def test_one_by_one_is_as_good_as_all_at_once(fresh: Fresh, order: list[Names3]) -> None:
    with fresh("recall", TOY_FACTS) as kb, fresh("recall", [*TOY_FACTS, *order]) as at_once:
        for fact in order:
            kb.add(*fact)
            every_score(kb)
        for question in [("wolf.n.01", "hyponym"), (UNSEEN[0], "hypernym"), (UNSEEN[1], "similar_to")]:
            found, expected = kb.predict(*question, k=50), at_once.predict(*question, k=50)
            assert [row.tail for row in found] == [row.tail for row in expected]
            assert [row.score for row in found] == pytest.approx([row.score for row in expected], abs=1e-5)


@every_model
def test_the_best_k_are_the_first_k_of_the_full_order(make_base: MakeBase, name: str) -> None:
    kb = make_base(name)
    kb.add_many(NEW_FACTS)
    for entity, new_only in itertools.product(["canine.n.02", UNSEEN[0]], [True, False]):
        for relation, direction in itertools.product(RELATIONS, get_args(Direction)):
            full = kb.predict(entity, relation, 1000, direction=direction, new_only=new_only)
            scores = [row.score for row in full]
            assert scores == sorted(scores, reverse=True)
            assert [row.rank for row in full] == list(range(1, len(full) + 1))
            for k in (1, 5):
                assert kb.predict(entity, relation, k, direction=direction, new_only=new_only) == full[:k]
            with kb.session() as session:
                live = session.live
                role = session.names.role(relation, direction)
                ((_, scored, _),) = session.predictor.passes(np.array([session.names.entity(entity)]), np.array([role]))
                stored = {live.entities.names[int(x)] for x in live.graph.answers(session.names.entity(entity), role)}
                answers = [row.tail if direction == "tail" else row.head for row in full]
                ids = [session.names.entity(answer) for answer in answers]
            possible = {live.entities.names[int(x)] for x in (scored[0] > -torch.inf).nonzero()} - stored
            assert {answer for row, answer in zip(full, answers, strict=True) if not row.stored} == possible
            assert set(answers) - possible == (set() if new_only else stored)
            for above, below in zip(range(len(full) - 1), range(1, len(full)), strict=True):
                assert scores[above] > scores[below] or ids[above] < ids[below]
            for row, number in zip(full, ids, strict=True):
                if not row.stored:
                    expected = float(scored[0, number])  # bit for bit, but not among others in the same pass
                    assert row.score == (expected if new_only else pytest.approx(expected, abs=1e-5))


def test_of_a_hub_only_so_many_stored_answers_are_judged(make_base: MakeBase) -> None:
    kb = make_base("recall")
    kb.add_many([(f"pup{number}", "hypernym", "dog.n.01") for number in range(30)])
    with kb.session() as session:
        dog, role = np.array([session.names.entity("dog.n.01")]), np.array([session.names.role("hypernym", "head")])
        degree = int(session.live.graph.degrees(dog)[0])
        best = session.predictor.best
        (everything,) = best(dog, role, [100], [None])
        assert everything.stored.sum() >= 30
        for most_edges, count in ((0, 1), (5 * degree, 5), (1000 * degree, everything.stored.sum())):
            (some,) = best(dog, role, [100], [session.predictor.room(int(dog[0]), most_edges)])
            assert some.stored.sum() == count
            assert set(some.answers[~some.stored]) == set(everything.answers[~everything.stored])


@given(
    values=st.lists(st.sampled_from([-math.inf, -2.0, -1.0, 0.0, 0.5]), min_size=1, max_size=40),
    k=st.integers(1, 45),
)
def test_first_is_the_beginning_of_a_stable_sort(values: list[float], k: int) -> None:
    order = sorted((place for place, value in enumerate(values) if value > -math.inf), key=lambda at: -values[at])
    more = [0.0] * len(values)  # another row, of which other places are wanted
    best, others = first(torch.tensor([values, more]), [k, 2])
    assert best.tolist() == order[:k]
    assert others.tolist() == [0, 1][: len(values)]


def test_nan_is_no_score() -> None:
    with pytest.raises(NonFiniteError, match="the model gave NaN as a score"):
        first(torch.tensor([[2.0, 1.0, 0.0], [0.0, math.nan, 1.0]]), [2, 2])


@every_model
@pytest.mark.parametrize("direction", ["tail", "head"])
def test_a_stored_fact_scores_what_it_would_if_it_were_not(
    make_base: MakeBase, name: str, direction: Direction
) -> None:
    kb = make_base(name)
    kb.add_many([*NEW_FACTS, (UNSEEN[1], "hypernym", "cat.n.01"), (UNTRAINED, "part_of", "fur.n.01")])
    for fact in (TOY_FACTS[0], *NEW_FACTS[:3], NEW_FACTS[4]):
        (stored,) = kb.score_many([fact], direction=direction)
        assert stored.stored
        kb.remove(*fact)
        (gone,) = kb.score_many([fact], direction=direction)
        assert not gone.stored
        assert stored.score == pytest.approx(gone.score, abs=1e-5)
        assert stored.rank == gone.rank
        kb.add(*fact)
        asked = (fact[0], fact[1]) if direction == "tail" else (fact[2], fact[1])
        listed = kb.predict(*asked, 1000, direction=direction, new_only=False)
        assert [row.score for row in listed if row.names == fact] == pytest.approx([stored.score], abs=1e-5)


def test_an_unseen_entity_of_one_fact_is_no_candidate_without_it(make_base: MakeBase) -> None:
    kb = make_base("recall")
    fact = (UNSEEN[0], "hypernym", "wolf.n.01")
    kb.add(*fact)
    before = every_score(kb)
    (judged,) = kb.score_many([fact], direction="head")
    assert (judged.score, judged.stored) == (-math.inf, True)
    assert math.isfinite(kb.score(*fact))
    assert same(before, every_score(kb))


@every_model
def test_an_unseen_entity_answers_and_is_an_answer_from_its_first_fact(make_base: MakeBase, name: str) -> None:
    kb = make_base(name)
    kb.add(UNSEEN[0], "hypernym", "wolf.n.01")
    assert len(kb.predict(UNSEEN[0], "hyponym")) == 10
    scored = kb.predict("wolf.n.01", "hyponym", 1000)
    assert UNSEEN[0] in [row.tail for row in scored]
    if "recall" in name or name == "paths":
        (copied,) = [line for line in kb.explain("wolf.n.01", "hyponym", UNSEEN[0]) if line.contribution > 0][:1]
        assert copied.facts == ((UNSEEN[0], "hypernym", "wolf.n.01"),)
    elsewhere = kb.predict("cat.n.01", "similar_to", 1000)  # nothing links it to the cat: by its vector alone
    assert UNSEEN[0] in [row.tail for row in elsewhere]
    kb.remove(UNSEEN[0], "hypernym", "wolf.n.01")
    assert UNSEEN[0] not in [row.tail for row in kb.predict("cat.n.01", "similar_to", 1000)]


def test_an_entity_that_is_not_placed_can_still_be_copied(make_base: MakeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two unseen entities with facts about each other only, and a model without kinds: recall needs no vectors."""
    monkeypatch.setattr(live_vectors, "can_place_by_roles", lambda model: False)
    kb = make_base("recall")
    kb.add(*NEW_FACTS[3])
    assert [row.tail for row in kb.predict(UNSEEN[2], "similar_to", 1000) if row.tail in UNSEEN] == [UNSEEN[1]]
    assert UNSEEN[1] not in [row.tail for row in kb.predict("cat.n.01", "similar_to", 1000)]
    with pytest.raises(EmptyNeighborhoodError, match="no fact that links it to an entity the model was trained with"):
        kb.similar(UNSEEN[1])


def test_entities_placed_by_their_roles_can_be_answers(make_base: MakeBase) -> None:
    """Two unseen entities with facts about each other only are placed by the parts they play."""
    kb = make_base("recall")
    kb.add(*NEW_FACTS[3])
    assert UNSEEN[1] in [row.tail for row in kb.predict("cat.n.01", "similar_to", 1000)]
    assert len(kb.similar(UNSEEN[1], 3)) == 3


@every_model
@pytest.mark.parametrize("crowd", [0, 5, 13])
def test_unseen_entities_with_equal_facts_tie_exactly(make_base: MakeBase, name: str, crowd: int) -> None:
    """Whatever others there are, and wherever in the matrix they stand."""
    kb = make_base(name)
    kb.add_many([(f"n{number}", "part_of", "dog.n.01") for number in range(crowd)])
    for twin in UNSEEN[:2]:
        kb.add_many([(twin, "hypernym", "wolf.n.01"), (twin, "similar_to", "fox.n.01"), ("paw.n.01", "part_of", twin)])
        kb.add_many([(f"{twin}{number}", "part_of", "cat.n.01") for number in range(crowd)])
    with kb.session() as session:
        numbers = [session.names.entity(twin) for twin in UNSEEN[:2]]
    for (entity, _), row in every_score(kb).items():
        if entity not in UNSEEN:
            assert row[numbers[0]] == row[numbers[1]]
    for relation in RELATIONS:
        ranked = [row for row in kb.predict("wolf.n.01", relation, 1000) if row.tail in UNSEEN]
        if ranked:
            assert [row.tail for row in ranked] == UNSEEN[:2]
            assert ranked[0].score == ranked[1].score


@every_model
@pytest.mark.parametrize("new_only", [True, False])
def test_questions_together_are_answered_as_one_by_one(
    make_base: MakeBase, name: str, new_only: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one pass or in several, between which stored facts of unseen entities are left out for a while."""
    kb = make_base(name)
    kb.add_many(NEW_FACTS)
    questions = [(entity, relation) for entity in ("dog.n.01", UNSEEN[0], "paw.n.01") for relation in RELATIONS]
    alone = [kb.predict(*question, 1000, new_only=new_only) for question in questions]
    for most_edges in (module.MOST_EDGES, 7):
        monkeypatch.setattr(module, "MOST_EDGES", most_edges)
        together = kb.predict_many(questions, 1000, new_only=new_only)
        for number, expected in enumerate(alone):
            found = [row for row in together if row.query == number]
            assert [row.names for row in found] == [row.names for row in expected]
            assert [row.score for row in found] == pytest.approx([row.score for row in expected], rel=1e-6, abs=2e-6)


def test_passes_are_cut_by_edges_and_by_candidates(make_base: MakeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    kb = make_base("recall")
    with kb.session() as session:
        entities = np.arange(6)
        degrees = session.live.graph.degrees(entities)
        monkeypatch.setattr(module, "MOST_EDGES", int(degrees[:2].sum()))
        cut = [rows for rows, _, _ in session.predictor.passes(entities, np.zeros(6, dtype=int))]
        assert cut[0] == slice(0, 2)
        assert [rows.stop for rows in cut[:-1]] == [rows.start for rows in cut[1:]]
        monkeypatch.setattr(module, "MOST_SCORES", 1)
        cut = [rows for rows, _, _ in session.predictor.passes(entities, np.zeros(6, dtype=int))]
        assert cut == [slice(place, place + 1) for place in range(6)]


@every_model
def test_answers_that_are_not_stored_share_one_probability(make_base: MakeBase, name: str) -> None:
    kb = make_base(name)
    kb.add_many(NEW_FACTS)
    with kb.session() as session:
        for entity in ("canine.n.02", UNSEEN[0]):
            for role in range(8):
                asked = np.array([session.names.entity(entity)]), np.array([role])
                (ranked,) = session.predictor.best(*asked, [1000])
                shares = ranked.log_p if session.predictor.model.exact is None else ranked.scores
                assert float(np.exp(shares).sum()) == pytest.approx(1, abs=1e-4)
                assert (ranked.log_p >= shares - 1e-6).all()
                judged = session.predictor.judge(
                    np.repeat(asked[0], len(ranked.answers)), np.repeat(asked[1], len(ranked.answers)), ranked.answers
                )
                assert judged.log_p == pytest.approx(ranked.log_p, abs=1e-5)
                assert judged.ranks.tolist() == ranked.ranks.tolist()
                assert not judged.stored.any()


@pytest.mark.parametrize("name", ["recall", "paths"])
def test_an_answer_is_no_less_likely_because_others_come(make_base: MakeBase, name: str) -> None:
    """Ten unseen entities with the same reason share p among them; each stays as likely as the first was by itself."""
    kb = make_base(name)

    def judged() -> tuple[float, float]:
        with kb.session() as session:
            numbers = (
                session.names.entity("canine.n.02"),
                session.names.role("hyponym", "tail"),
                session.names.entity("pup0"),
            )
            found = session.predictor.judge(*(np.array([number]) for number in numbers))
        return float(found.scores[0]), float(found.log_p[0])

    kb.add("pup0", "hypernym", "canine.n.02")
    score, log_p = judged()
    kb.add_many([(f"pup{number}", "hypernym", "canine.n.02") for number in range(1, 10)])
    crowded_score, crowded_log_p = judged()
    assert crowded_score < score - 0.5
    assert crowded_log_p == pytest.approx(log_p, abs=0.1)


def test_similar_is_the_cosine(make_base: MakeBase) -> None:
    kb = make_base("recall")
    for twin in UNSEEN[:2]:
        kb.add(twin, "hypernym", "wolf.n.01")
    found = kb.similar(UNSEEN[0], k=1000)
    assert len(found) == len(TRAINED) + 1
    assert UNTRAINED not in [row.entity for row in found]
    assert UNSEEN[0] not in [row.entity for row in found]
    assert found[0].entity == UNSEEN[1]
    assert found[0].similarity == pytest.approx(1)
    with kb.session() as session:
        rows = live_vectors_of(session).current().entities
        for each in found:
            pair = rows[[session.names.entity(UNSEEN[0]), session.names.entity(each.entity)]]
            assert each.similarity == pytest.approx(float(torch.cosine_similarity(pair[0], pair[1], dim=0)), abs=1e-5)
    similarities = [row.similarity for row in found]
    assert similarities == sorted(similarities, reverse=True)
    assert kb.similar(UNSEEN[0], k=4) == found[:4]


def test_learned_memories_say_nothing_of_unseen_entities(make_base: MakeBase) -> None:
    kb = make_base("implicit")
    kb.add(UNSEEN[0], "hypernym", "wolf.n.01")
    assert UNSEEN[0] in [row.tail for row in kb.predict("wolf.n.01", "hyponym", 1000)]
    assert len(kb.missing("wolf.n.01", 1000)) > 0
    with pytest.raises(ConfigError, match=f'"{UNSEEN[0]}" came after training'):
        kb.predict(UNSEEN[0], "hypernym")
    kb.remove_many([fact for fact in TOY_FACTS if "tail.n.01" in fact])
    assert len(kb.predict("tail.n.01", "part_of")) == 10, "its memory is learned, and needs no facts"
