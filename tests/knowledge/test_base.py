import re
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
import torch

import hmem
from hmem.errors import ConfigError, EmptyNeighborhoodError, StoreError, UnknownNameError
from hmem.graph.descriptions import Description
from hmem.graph.values import Value
from hmem.knowledge.base import KnowledgeBase
from hmem.knowledge.results import Direction, Table
from tests.knowledge.conftest import MakeBase, ModelFolder
from tests.knowledge.living import RELATIONS, TOY_FACTS, UNSEEN, every_score, same
from tests.knowledge.stores import finish, start

NEW = UNSEEN[0]


def test_the_base_is_at_hand() -> None:
    assert hmem.KnowledgeBase is KnowledgeBase


def test_adding_and_removing_facts(make_base: MakeBase) -> None:
    kb = make_base(None)
    assert len(kb) == len(TOY_FACTS)
    assert kb.add(NEW, "eats", "mutton", source="me", confidence=0.5)
    assert not kb.add(NEW, "eats", "mutton")
    assert (NEW, "eats", "mutton") in kb
    assert [NEW, "eats", "mutton"] in kb
    for nothing in ((NEW, "eats", "dog.n.01"), (NEW, "drinks", "mutton"), ("x", "y", "z"), (1, 2, 3), "abc", (NEW,), 7):
        assert nothing not in kb
    assert kb.remove(NEW, "eats", "mutton", source="me")
    assert not kb.remove(NEW, "eats", "mutton")
    assert len(kb) == len(TOY_FACTS)
    written = kb.add_many([(NEW, "eats", "mutton"), TOY_FACTS[0]])
    assert (len(written.changed), written.unchanged) == (1, 1)
    assert kb.remove_many([(NEW, "eats", "mutton"), TOY_FACTS[0]]).unchanged == 0
    assert len(kb.add_many([]).changed) == 0
    assert not kb.remove("dingo", "eats", "mutton")
    with pytest.raises(UnknownNameError, match='no entity "dingo"'):
        kb.remove_many([("dingo", "eats", "mutton")])


def test_what_comes_with_a_dataset_describes_its_entities(tmp_path: Path) -> None:
    with KnowledgeBase.create(
        tmp_path / "a.kb", facts="attack", entities=[Description(id="APT29", kind="bears")]
    ) as kb:
        assert kb.describe("Cozy Bear").id == "APT29"
        assert kb.describe("APT29").kind == "bears"  # what is given goes before
        assert kb.kinds()["technique"] == 839


def test_an_empty_base_is_still_a_base(make_base: MakeBase) -> None:
    kb = make_base(None, facts=None)
    assert (len(kb), bool(kb)) == (0, True)
    assert repr(kb).endswith("zoo.kb': 0 facts, 0 entities, the bundled model)")


def test_without_a_model_of_its_own_the_bundled_one_answers(make_base: MakeBase, model_folder: ModelFolder) -> None:
    kb = make_base(None)
    assert [row.names for row in kb.neighbors("puppy.n.01")] == [
        ("puppy.n.01", "hypernym", "dog.n.01"),
        ("dog.n.01", "hyponym", "puppy.n.01"),
    ]
    assert kb.model_link is None
    assert kb.model.preset == "any-graph"
    assert len(kb.predict("dog.n.01", "hypernym", k=3)) == 3
    kb.use_model(model_folder("recall"))
    assert kb.model.preset == "recall"


def test_a_closed_base_says_so(make_base: MakeBase) -> None:
    kb = make_base("recall")
    with kb:
        kb.predict("dog.n.01", "hypernym")
    with pytest.raises(StoreError, match="is closed"):
        kb.predict("dog.n.01", "hypernym")


def test_a_base_opened_to_be_read_can_be_asked(make_base: MakeBase) -> None:
    kb = make_base("recall")
    expected = kb.predict("dog.n.01", "hypernym")
    kb.close()
    with KnowledgeBase.open(kb.path, read_only=True) as reader:
        assert reader.predict("dog.n.01", "hypernym") == expected
        assert repr(reader).endswith("zoo.kb': 32 facts, 18 entities, model recall)")
        with pytest.raises(StoreError, match="read only"):
            reader.add("a", "r", "b")


# Questions


def test_both_directions(make_base: MakeBase) -> None:
    kb = make_base("recall")
    tails = kb.predict("dog.n.01", "hyponym", k=4)
    assert {row.head for row in tails} == {"dog.n.01"}
    assert "puppy.n.01" not in [row.tail for row in tails], "it is stored"
    heads = kb.predict("dog.n.01", "hyponym", k=4, direction="head")
    assert {row.tail for row in heads} == {"dog.n.01"}
    assert "canine.n.02" not in [row.head for row in heads], "it is stored"
    assert kb.predict_target(head="dog.n.01", relation="hyponym", k=4) == tails
    assert kb.predict_target(relation="hyponym", tail="dog.n.01", k=4) == heads
    for row in [*tails, *heads]:
        direction: Direction = "tail" if row in tails else "head"
        assert kb.score(*row.names, direction=direction) == pytest.approx(row.score, abs=1e-5)
        assert row.probability is None


def test_which_relation(make_base: MakeBase) -> None:
    kb = make_base("recall")
    found = kb.predict_target(head="dog.n.01", tail="canine.n.02")
    assert {row.relation for row in found} == set(RELATIONS) - {"hypernym"}
    everything = kb.predict_target(head="dog.n.01", tail="canine.n.02", new_only=False)
    assert {row.relation: row.stored for row in everything} == {name: name == "hypernym" for name in RELATIONS}
    assert [row.rank for row in everything] == [1, 2, 3, 4]
    scores = [row.score for row in everything]
    assert scores == sorted(scores, reverse=True)
    for row in everything:
        assert row.score == pytest.approx(kb.score(*row.names), abs=1e-5)
    assert kb.predict_target(head="dog.n.01", tail="canine.n.02", k=2, new_only=False) == everything[:2]


def test_a_relation_that_cannot_be_judged_is_no_answer(make_base: MakeBase) -> None:
    """Without its only fact, an unseen entity is no candidate: what the fact would score has no meaning."""
    kb = make_base("recall")
    kb.add("wolf.n.01", "hyponym", NEW)
    found = kb.predict_target(head="wolf.n.01", tail=NEW, new_only=False)
    assert {row.relation for row in found} == set(RELATIONS) - {"hyponym"}


@pytest.mark.parametrize("given", [{}, {"head": "dog.n.01"}, {"head": "a", "relation": "b", "tail": "c"}])
def test_exactly_two_of_three(make_base: MakeBase, given: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="predict_target fills in one of three: give two of head="):
        make_base("recall").predict_target(**given)


def test_questions_that_cannot_be_asked(make_base: MakeBase) -> None:
    kb = make_base("recall")
    kb.add(NEW, "eats", "mutton")
    with pytest.raises(UnknownNameError, match=r'no entity "timberwolf"; .*timber_wolf\.n\.01'):
        kb.predict("timberwolf", "hypernym")
    with pytest.raises(UnknownNameError, match=r'no relation "hypernyms"; .*hypernym'):
        kb.predict("dog.n.01", "hypernyms")
    with pytest.raises(UnknownNameError, match=r'the relation "eats" is stored and shown.*hmem train --from'):
        kb.predict("dog.n.01", "eats")
    with pytest.raises(EmptyNeighborhoodError, match=rf'"{NEW}" has only facts with relations that the model was not'):
        kb.predict(NEW, "hypernym")
    kb.remove(NEW, "eats", "mutton")
    for ask in (
        lambda: kb.predict(NEW, "hypernym"),
        lambda: kb.missing(NEW),
        lambda: kb.similar(NEW),
        lambda: kb.explain(NEW, "hypernym", "dog.n.01"),
        lambda: kb.explain("dog.n.01", "hyponym", NEW),
        lambda: kb.score("dog.n.01", "hyponym", NEW),
    ):
        with pytest.raises(EmptyNeighborhoodError, match=rf'"{NEW}" has no facts yet; add one first: hmem facts add'):
            ask()
    with pytest.raises(ConfigError, match='direction is "tail"'), kb.session() as session:
        session.judge([TOY_FACTS[0]], "left")
    for none in (
        lambda: kb.missing("dog.n.01", 0),
        lambda: kb.similar("dog.n.01", -1),
        lambda: kb.predict("dog.n.01", "hypernym", 0),
        lambda: kb.predict_target("dog.n.01", None, "cat.n.01", 0),
    ):
        with pytest.raises(ConfigError, match="expected how many answers"):
            none()


def test_a_device_that_is_not_there_is_refused_when_the_base_is_opened(
    make_base: MakeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_base("recall").store.path
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigError, match="no usable CUDA device; try: device='cpu'"):
        KnowledgeBase.open(path, device="cuda")
    with KnowledgeBase.open(path, device="auto") as kb:
        assert kb.device == "cpu"


UNWATCHED = """
    import numpy as np
    from hmem.errors import DataError
    from hmem.knowledge.base import KnowledgeBase
    kb = KnowledgeBase.open(argv[0])
    for ask in (
        lambda: kb.predict(None, "hypernym"),
        lambda: kb.predict(5, "hypernym"),
        lambda: kb.predict("dog.n.01", None),
        lambda: kb.predict_many(["dog.n.01"]),
        lambda: kb.predict_many([7]),
        lambda: kb.predict_many([("dog.n.01", "hypernym", "cat.n.01")]),
        lambda: kb.score(("dog.n.01", "hypernym", "cat.n.01"), 1, 2),
        lambda: kb.score_many(["dog.n.01"]),
        lambda: kb.explain("dog.n.01", "hypernym", 3),
        lambda: kb.explain_many([("dog.n.01", "hypernym")]),
        lambda: kb.missing(None),
        lambda: kb.similar(b"dog.n.01"),
        lambda: kb.neighbors(None),
    ):
        try:
            ask()
        except DataError as error:
            print(error)
    for ask in (
        lambda k: kb.predict("dog.n.01", "hyponym", k),
        lambda k: kb.predict_target("dog.n.01", None, "cat.n.01", k),
        lambda k: kb.similar("dog.n.01", k),
        lambda k: kb.missing("dog.n.01", k),
    ):
        print(len(ask(np.int64(2))), ask(np.int64(2)) == ask(2))
    kb.add("dire_wolf.n.01", "hypernym", "wolf.n.01")
    print("dire_wolf.n.01" in [row.tail for row in kb.predict("wolf.n.01", "hyponym", 100)])
"""


def test_another_process_has_no_watch_over_types_and_its_fact_is_used_by_the_next_answer(make_base: MakeBase) -> None:
    """What is no name is told with what was expected, and a count may come from numpy."""
    kb = make_base("recall")
    assert NEW not in [row.tail for row in kb.predict("wolf.n.01", "hyponym", 100)]
    *told, first, second, third, fourth, found = finish(start(UNWATCHED, kb.path)).splitlines()
    assert [first, second, third, fourth, found] == ["2 True"] * 4 + ["True"]
    assert NEW in [row.tail for row in kb.predict("wolf.n.01", "hyponym", 100)]
    assert len(told) == 13
    assert all(re.match(r"expected .*, received ", line) for line in told), told
    assert told[0] == "expected the name of one entity as text, received None (NoneType)"
    assert told[6].startswith("expected text as head, received ('dog.n.01', ")


def test_one_question_or_many(make_base: MakeBase) -> None:
    kb = make_base("recall")
    kb.add(NEW, "hypernym", "wolf.n.01")
    entities = ["dog.n.01", NEW]
    pairs: list[tuple[Table[Any], list[Table[Any]]]] = [
        (kb.missing_many(entities, k=3), [kb.missing(entity, k=3) for entity in entities]),
        (kb.similar_many(entities, k=3), [kb.similar(entity, k=3) for entity in entities]),
        (kb.neighbors_many(entities), [kb.neighbors(entity) for entity in entities]),
    ]
    for many, one in pairs:
        assert [row.query for row in many] == [number for number, table in enumerate(one) for _ in table]
        plain = [{name: value for name, value in row.items() if name != "query"} for row in many.to_dicts()]
        assert plain == [row for table in one for row in table.to_dicts()]
    facts = [(NEW, "similar_to", "dog.n.01"), *TOY_FACTS[:3], (NEW, "hypernym", "wolf.n.01")]
    judged = kb.score_many(facts)
    assert [row.names for row in judged] == facts
    assert [row.score for row in judged] == pytest.approx([kb.score(*fact) for fact in facts], abs=1e-6)
    assert [row.stored for row in judged] == [False, True, True, True, True]
    reasons = kb.explain_many(facts[:2])
    assert [why.fact for why in reasons] == facts[:2]
    assert [why.to_dicts() for why in reasons] == [kb.explain(*fact).to_dicts() for fact in facts[:2]]
    assert len(kb.predict_many([])) == len(kb.score_many([])) == len(kb.missing_many([])) == 0


def test_neighbors_tell_where_facts_come_from(make_base: MakeBase) -> None:
    kb = make_base("recall")
    kb.add("fur.n.01", "keeps", "warm", source="me", confidence=0.75)
    found = kb.neighbors("fur.n.01")
    assert [row.names for row in found] == [
        ("fur.n.01", "part_of", "mammal.n.01"),
        ("fur.n.01", "similar_to", "fur.n.01"),
        ("fur.n.01", "keeps", "warm"),
    ], "a fact about itself is one fact, and one the model cannot use is shown"
    assert [row.source for row in found] == ["created", "created", "me"]
    assert [row.confidence for row in found] == [None, None, 0.75]
    assert found[0].added_at < found[2].added_at
    assert kb.neighbors("fur.n.01", limit=1) == found[:1]
    with pytest.raises(UnknownNameError, match='no entity "furr"'):
        kb.neighbors("furr")


# Several of them


def test_a_fact_is_used_by_the_next_answer_everywhere(make_base: MakeBase) -> None:
    kb = make_base("recall")
    with KnowledgeBase.open(kb.path) as other:
        before = every_score(other)
        assert same(before, every_score(kb))
        kb.add(NEW, "hypernym", "wolf.n.01")
        assert NEW in [row.tail for row in other.predict("wolf.n.01", "hyponym", 100)]
        assert same(every_score(kb), every_score(other))
        other.remove(NEW, "hypernym", "wolf.n.01")
        assert NEW not in [row.tail for row in kb.predict("wolf.n.01", "hyponym", 100)]
        assert same(before, every_score(kb))
        assert same(before, every_score(other))


def test_as_long_as_nothing_is_written_nothing_is_read(make_base: MakeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    kb, reads = make_base(), list[object]()
    asked = "dog.n.01", "hypernym"
    before = kb.predict(*asked)
    read = kb.store._connection.read

    def watched(function: Any, /, *given: Any, **named: Any) -> Any:
        reads.append(function)
        return read(function, *given, **named)

    monkeypatch.setattr(kb.store._connection, "read", watched)
    assert list(kb.predict(*asked)) == list(before)
    assert reads == []
    with KnowledgeBase.open(kb.path) as other:  # labels and what was inferred are asked for from now on
        other.describe(before[0].tail, label="First")
        other.add_many([before[1].names], inferred_by="some model", probability=[0.5])
    after = kb.predict(*asked)
    assert reads
    assert after.labels.entities == {before[0].tail: "First"}
    assert {row.names: row.inferred_by for row in after if row.inferred_by} == {before[1].names: "some model"}


def test_another_model_is_used_by_the_next_answer_everywhere(make_base: MakeBase, model_folder: ModelFolder) -> None:
    kb = make_base("recall")
    kb.add(NEW, "hypernym", "wolf.n.01")
    with KnowledgeBase.open(kb.path) as other:
        recalled = every_score(other)
        kb.use_model(model_folder("tpr"))
        assert kb.model.preset == other.model.preset == "tpr"
        assert same(every_score(kb), every_score(other))
        assert not same(recalled, every_score(other))
        assert kb.model_link is not None
        assert (kb.model_link.moment, kb.model_link.trained_until) == (2, 2)
        other.use_model(model_folder("recall"), trained_until=1)
        assert same(recalled, every_score(kb))
        assert kb.model_link.trained_until == 1


def test_a_model_that_cannot_be_used_changes_nothing(make_base: MakeBase, tmp_path: Path) -> None:
    kb = make_base("recall")
    before = every_score(kb)
    with pytest.raises(hmem.HMemError, match="not a model folder"):
        kb.use_model(tmp_path / "none")
    assert kb.model_link is not None
    assert kb.model_link.folder.name == "recall"
    assert same(before, every_score(kb))


def test_a_missing_or_changed_model_stops_prediction_only(
    make_base: MakeBase, model_folder: ModelFolder, tmp_path: Path
) -> None:
    kb = make_base(None)
    folder = Path(shutil.copytree(model_folder("recall"), tmp_path / "model"))
    kb.use_model(folder)
    expected = kb.predict("dog.n.01", "hypernym")
    (folder / "entities.tsv").write_text((folder / "entities.tsv").read_text() + "\n")
    assert kb.predict("dog.n.01", "hypernym") == expected, "what is loaded is loaded"
    with KnowledgeBase.open(kb.path) as other:
        with pytest.raises(StoreError, match="has changed since it was attached"):
            other.predict("dog.n.01", "hypernym")
        folder.rename(tmp_path / "gone")
        with pytest.raises(StoreError, match="is not where it was"):
            other.predict("dog.n.01", "hypernym")
        assert other.add(NEW, "hypernym", "wolf.n.01")
        assert len(other.neighbors(NEW)) == 1
        other.use_model(model_folder("recall"))
        assert len(other.predict(NEW, "hyponym")) == 10


def test_threads_take_turns(make_base: MakeBase) -> None:
    """Some add and remove, some ask; every answer is one of the two that whole facts allow."""
    kb = make_base("recall")
    without = kb.predict("wolf.n.01", "hyponym", 100)
    kb.add(NEW, "hypernym", "wolf.n.01")
    expected = [without, kb.predict("wolf.n.01", "hyponym", 100)]
    wrong: list[object] = []

    def ask() -> None:
        for _ in range(15):
            if (found := kb.predict("wolf.n.01", "hyponym", 100)) not in expected:
                wrong.append(found)

    def change() -> None:
        for _ in range(8):
            kb.remove(NEW, "hypernym", "wolf.n.01")
            kb.add(NEW, "hypernym", "wolf.n.01")

    threads = [threading.Thread(target=target) for target in (ask, change, ask)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert kb.predict("wolf.n.01", "hyponym", 100) == expected[1]


def test_a_session_belongs_to_one_thread_at_a_time(make_base: MakeBase) -> None:
    kb = make_base("recall")
    kb.predict("dog.n.01", "hypernym")
    answered = threading.Event()

    def ask() -> None:
        kb.predict("dog.n.01", "hypernym")
        answered.set()

    thread = threading.Thread(target=ask)
    with kb.session():
        thread.start()
        assert not answered.wait(0.3)
        assert kb.add(NEW, "hypernym", "wolf.n.01"), "facts do not wait for answers"
    thread.join()
    assert answered.is_set()


def test_a_base_can_be_had_by_its_path(tmp_path: Path) -> None:
    KnowledgeBase.create(tmp_path / "zoo.kb", facts=TOY_FACTS).close()
    with KnowledgeBase(tmp_path / "zoo.kb") as kb:
        assert len(kb) == len(set(TOY_FACTS))
        assert kb.add("a", "hypernym", "b")


def test_values_are_set_and_shown(tmp_path: Path) -> None:
    with KnowledgeBase.create(tmp_path / "zoo.kb", facts=[("Q1", "P1", "Q2")]) as kb:
        kb.describe("Q1", label="wolf")
        assert kb.set_value("wolf", "height", 0.8, unit="m", source="me")
        assert not kb.set_value("Q1", "height", 0.8, unit="m")
        assert kb.set_value("wolf", "called", "lobo", Value(text="loup", datatype="rdf:langString", language="fr"))
        table = kb.values("wolf")
        assert [(row.property, row.text, row.unit, row.language) for row in table] == [
            ("height", "0.8", "m", None),
            ("called", "lobo", None, None),
            ("called", "loup", None, "fr"),
        ]
        assert table.to_arrow().column("datatype").to_pylist() == ["xsd:double", "xsd:string", "rdf:langString"]
        assert kb.set_value("wolf", "height")
        assert len(kb.values("wolf", "height")) == 0


def test_literals_of_a_file_are_values_and_come_back_as_they_were(tmp_path: Path) -> None:
    pytest.importorskip("pyoxigraph")
    text = '<u:a> <u:r> <u:b> . <u:a> <u:height> "1.80"^^<http://www.w3.org/2001/XMLSchema#decimal> . '
    text += '<u:c> <u:said> "bonjour"@fr . <u:height> <http://www.w3.org/2000/01/rdf-schema#label> "height" .'
    (tmp_path / "a.nt").write_text(text.replace(" . ", " .\n"), encoding="utf-8")
    with KnowledgeBase.create(tmp_path / "a.kb", facts=tmp_path / "a.nt") as kb:
        assert len(kb) == 1
        assert kb.store.entity_names() == ["u:a", "u:b", "u:c"]
        assert [(row.text, row.datatype) for row in kb.values("u:a", "height")] == [("1.80", "xsd:decimal")]
        assert [(row.text, row.language) for row in kb.values("u:c")] == [("bonjour", "fr")]
        written = kb.import_(tmp_path / "a.nt")
        assert (written.values, written.unchanged) == (0, 1)
        assert kb.store.check() == []


def test_chosen_relations_and_columns_hold_values(tmp_path: Path) -> None:
    facts = [("wolf", "eats", "deer"), ("wolf", "legs", "4"), ("deer", "legs", "4")]
    table = tmp_path / "more.csv"
    table.write_text("id,label,height [m]\nwolf,Wolf,0.8\nghost,Ghost,2\n", encoding="utf-8")
    with KnowledgeBase.create(tmp_path / "a.kb", facts=facts, values=["legs"], entities=[table]) as kb:
        assert (len(kb), kb.store.relation_names()) == (1, ["eats"])
        assert [row.as_value().shown for row in kb.values("Wolf")] == ["4", "0.8 m"]
        done = kb.describe_many(table)
        assert (done.values, done.unknown) == (0, ["ghost"])


@pytest.mark.parametrize("in_parts", [None, False, True])
def test_what_comes_from_another_base_comes_with_its_labels_and_values(tmp_path: Path, in_parts: bool | None) -> None:
    with KnowledgeBase.create(tmp_path / "old.kb", facts=[("Q1", "P1", "Q2")]) as old:
        old.describe("Q1", label="wolf", aliases=["lobo"], kind="animal")
        old.describe("P1", of="relation", label="eats", inverse="is eaten by")
        old.set_value("Q1", "weight", 40, unit="kg")
        old.set_value("Q2", "weight", 50)
        old.remove("Q1", "P1", "Q2")
        old.add("Q1", "P1", "Q3")
        old.describe("Q2", label="deer")  # of which only a value is stored
        old.describe("weight", of="property", label="mass")
    begin = tmp_path / "old.kb" if in_parts is None else None
    with KnowledgeBase.create(tmp_path / "new.kb", facts=begin) as new:
        if in_parts is not None:
            new.import_(tmp_path / "old.kb", in_parts=in_parts)
        assert new.describe("lobo") == Description(id="Q1", label="wolf", aliases=("lobo",), kind="animal")
        assert new.describe("eats", of="relation").inverse == "is eaten by"
        assert [(row.text, row.unit) for row in new.values("wolf", "mass")] == [("40", "kg")]
        assert [row.text for row in new.values("deer")] == ["50"]
