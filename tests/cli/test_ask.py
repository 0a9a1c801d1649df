"""`hmem predict`, `explain`, `missing` and `similar`: tables and JSON, names forgiven or not."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from hmem.cli.answers import show_predictions
from hmem.cli.opened import watching
from hmem.cli.reasons import show_reasons
from hmem.knowledge.base import KnowledgeBase
from hmem.knowledge.explanation import Reason, Reasons
from hmem.knowledge.results import Prediction, Predictions
from hmem.runs.callbacks import CtrlC
from tests.cli.conftest import Command

PERCENT = r"(< 0\.1|> 99\.9|\d+(\.\d)?)%"


@pytest.fixture
def uncalibrated(zoo: str) -> str:
    metrics = Path("model/metrics.json")
    saved = json.loads(metrics.read_text())
    del saved["calibration"]
    metrics.write_text(json.dumps(saved))
    return zoo


def rows(out: str) -> list[list[str]]:
    return [re.split(r" {2,}", line.strip()) for line in out.splitlines() if line.strip() and "─" not in line]


# predict


def test_predict_shows_the_likeliest_answers_with_their_probability(command: Command, zoo: str) -> None:
    code, out, err = command("predict", zoo, "wolf.n.01", "hyponym", "-k", 3)
    assert (code, err) == (0, "")
    title, heading, *lines = rows(out)
    assert title == ["wolf.n.01 hyponym ?"]
    assert heading == ["tail", "probability"]
    assert [line[0] for line in lines] == ["1", "2", "3"]
    assert all(re.fullmatch(PERCENT, line[2]) for line in lines)
    assert "timber_wolf.n.01" not in out  # is stored
    with KnowledgeBase.open(zoo) as kb:
        assert [line[1] for line in lines] == [each.tail for each in kb.predict("wolf.n.01", "hyponym", 3)]


def test_predict_the_other_way_round(command: Command, zoo: str) -> None:
    title, heading, *lines = rows(command("predict", zoo, "wolf.n.01", "hypernym", "--direction", "head", "-k", 2).out)
    assert (title, heading) == (["? hypernym wolf.n.01"], ["head", "probability"])
    with KnowledgeBase.open(zoo) as kb:
        expected = kb.predict("wolf.n.01", "hypernym", 2, direction="head")
    likely = [each.head for each in expected if (each.probability or 0) >= 0.001] or [expected[0].head]
    assert [line[1] for line in lines] == likely


def test_the_old_name_of_the_direction_still_works(command: Command, zoo: str) -> None:
    for asked in (("predict", zoo, "wolf.n.01", "hypernym"), ("explain", zoo, "dog.n.01", "hypernym", "canine.n.02")):
        now, before = command(*asked, "--direction", "head"), command(*asked, "--tail")
        assert (before.code, before.out) == (0, now.out)
        assert now.out != command(*asked).out
        assert before.err == f"--tail is called --direction head now, and will go away\n{now.err}"
    assert "--tail" not in command("predict", "--help").out


def test_predict_all_marks_what_is_stored(command: Command, zoo: str) -> None:
    out = command("predict", zoo, "wolf.n.01", "hyponym", "--all", "-k", 18).out
    stored = [line[1] for line in rows(out) if line[-1] == "stored"]
    assert stored == ["timber_wolf.n.01"]


def test_questions_about_a_time(command: Command, zoo: str) -> None:
    fact = ("wolf.n.01", "hyponym", "timber_wolf.n.01")
    command("facts", "remove", zoo, *fact)
    command("facts", "add", zoo, *fact, "--from", 2020)
    out = command("predict", zoo, *fact[:2], "-k", 18, "--at", "2019-12").out
    assert "wolf.n.01 hyponym ? at 2019-12" in out
    assert fact[2] not in command("predict", zoo, *fact[:2], "-k", 18).out
    found = json.loads(command("predict", zoo, *fact[:2], "-k", 18, "--at", "2019", "--json", "-").out)
    assert found["question"]["at"] == "2019"
    assert fact[2] in [each["tail"] for each in found["answers"]]
    told = json.loads(command("explain", zoo, *fact, "--at", "2019", "--json", "-").out)
    assert (told["stored"], json.loads(command("explain", zoo, *fact, "--json", "-").out)["stored"]) == (False, True)
    missing = json.loads(command("missing", zoo, fact[0], "-k", 40, "--at", "2019", "--json", "-").out)
    assert fact[2] in [each["tail"] for each in missing["facts"]]
    assert command("missing", zoo, "--relation", fact[1], "--at", "May").err.startswith("hmem: expected a day such as")


def test_answers_are_kept_as_inferred_and_marked(command: Command, zoo: str) -> None:
    code, _, err = command("missing", zoo, "wolf.n.01", "-k", 40, "--store", "--least", 0.01)
    assert code == 0
    kept = re.fullmatch(r"(\d+) answers? with a probability of 0.01 or more: kept as inferred", err.splitlines()[-1])
    assert kept is not None
    listed = json.loads(command("facts", "list", zoo, "--inferred", "--limit", 0, "--json", "-").out)
    assert len(listed) == int(kept[1]) > 0
    assert all(each["probability"] >= 0.01 and each["source"] == "hmem missing" for each in listed)
    again = command("missing", zoo, "wolf.n.01", "-k", 40)
    assert again.out.count("inferred by model@") == len(listed)
    assert [line[:6] for line in rows(again.out)[2:]] != []
    fact = [listed[0][part] for part in ("head", "relation", "tail")]
    explain = ("explain", zoo, *fact, "--json", "-")
    stored = [json.loads(command(*explain, *more).out)["stored"] for more in ((), ("--with-inferred",))]
    assert stored == [False, True]
    before = command("missing", zoo, "wolf.n.01", "-k", 40, "--store", "--least", 0.01).err.splitlines()[-1]
    assert before.endswith(f"kept as inferred, {len(listed)} of them since before")


def test_predict_as_json(command: Command, zoo: str) -> None:
    code, out, err = command("predict", zoo, "wolf.n.01", "hyponym", "-k", 2, "--json", "-")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["question"] == {"head": "wolf.n.01", "relation": "hyponym", "tail": None}
    assert [each["rank"] for each in found["answers"]] == [1, 2]
    assert all(0 < each["probability"] < 1 and each["score"] <= 0 for each in found["answers"])


def test_without_calibration_there_are_no_percentages(command: Command, uncalibrated: str) -> None:
    for question in (["predict", uncalibrated, "wolf.n.01", "hyponym"], ["missing", uncalibrated, "wolf.n.01"]):
        code, out, err = command(*question)
        assert code == 0
        assert "%" not in out
        assert "score" in out
        assert err == "Scores are not calibrated: their order means something, their size does not.\n"
    assert "%" not in command("explain", uncalibrated, "wolf.n.01", "hyponym", "white_wolf.n.01").out


def test_why_an_entity_that_has_grown_has_no_percentages(command: Command, zoo: str) -> None:
    with KnowledgeBase.open(zoo) as kb:
        kb.add_many([(f"pup{number}", "hypernym", "wolf.n.01") for number in range(500)])
    for question in (["predict", zoo, "wolf.n.01", "hyponym"], ["missing", zoo, "wolf.n.01"]):
        code, out, err = command(*question)
        assert code == 0
        assert "%" not in out
        assert "wolf.n.01 has far more facts of one kind than anything had" in " ".join(err.split())
    assert "far more facts" in command("explain", zoo, "wolf.n.01", "hyponym", "pup1").err
    assert "far more facts" not in command("explain", zoo, "wolf.n.01", "hyponym", "pup1", "--direction", "head").err


def test_a_fact_that_was_just_added_is_used(command: Command, zoo: str) -> None:
    command("facts", "add", zoo, "dire_wolf.n.01", "hypernym", "wolf.n.01")
    asked = ("predict", zoo, "dire_wolf.n.01", "hyponym", "--direction", "head", "-k", 18)
    assert "wolf.n.01" in command(*asked).out
    answers = json.loads(command("predict", zoo, "wolf.n.01", "hyponym", "-k", 19, "--json", "-").out)["answers"]
    assert "dire_wolf.n.01" in [each["tail"] for each in answers]  # as an answer too


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["predict", "zoo.kb", "timberwolf", "hyponym"], 'no entity "timberwolf"; did you mean timber_wolf.n.01?'),
        (["predict", "zoo.kb", "wolf.n.01", "hyponim"], 'no relation "hyponim"; did you mean hyponym or hypernym?'),
        (["missing", "zoo.kb", "wulf.n.01"], 'no entity "wulf.n.01"; did you mean'),
        (["similar", "zoo.kb", "Wolff"], 'no entity "Wolff"; did you mean'),
        (["explain", "zoo.kb", "wolf.n.01", "hyponym", "foxx"], 'no entity "foxx"; did you mean fox.n.01'),
    ],
)
def test_misspelt_names_are_one_line_with_suggestions(
    command: Command, zoo: str, arguments: list[str], message: str
) -> None:
    code, out, err = command(*arguments)
    assert (code, out) == (1, "")
    assert err.startswith(f"hmem: {message}")
    assert err.count("\n") == 1


def test_case_is_forgiven_aloud(command: Command, zoo: str) -> None:
    code, out, err = command("predict", zoo, "Wolf.N.01", "Hyponym")
    assert code == 0
    assert err == 'entity "Wolf.N.01": taken for wolf.n.01\nrelation "Hyponym": taken for hyponym\n'
    assert out == command("predict", zoo, "wolf.n.01", "hyponym").out


def test_what_cannot_be_asked_says_why(command: Command, zoo: str) -> None:
    command("facts", "add", zoo, "yak.n.01", "eats", "hay")
    err = command("predict", zoo, "wolf.n.01", "eats").err
    assert "trained before it came" in err
    assert f"hmem train --from {zoo}" in err
    command("facts", "remove", zoo, "yak.n.01", "eats", "hay")
    assert (
        'hmem: "yak.n.01" has no facts yet; add one first: hmem facts add zoo.kb'
        in command("missing", zoo, "yak.n.01").err
    )
    command("kb", "create", "new.kb", "--facts", "-", given="a\tb\tc\n")
    assert command("predict", "new.kb", "a", "b").code == 0  # the model that comes with hmem answers


# missing and similar


def test_missing_lists_whole_facts_that_are_not_stored(command: Command, zoo: str) -> None:
    title, heading, *lines = rows(command("missing", zoo, "wolf.n.01", "-k", 5).out)
    assert title == ["Missing about wolf.n.01"]
    assert heading == ["head", "relation", "tail", "probability"]
    assert lines
    with KnowledgeBase.open(zoo) as kb:
        for _, head, relation, tail, chance in lines:
            assert "wolf.n.01" in (head, tail)
            assert (head, relation, tail) not in kb
            assert re.fullmatch(PERCENT, chance)
    found = json.loads(command("missing", zoo, "wolf.n.01", "-k", 5, "--json", "-").out)
    assert found["entity"] == "wolf.n.01"
    assert [[each["head"], each["relation"], each["tail"]] for each in found["facts"]] == [line[1:4] for line in lines]


def test_similar_lists_others_by_cosine(command: Command, zoo: str) -> None:
    title, heading, *lines = rows(command("similar", zoo, "wolf.n.01", "-k", 4).out)
    assert (title, heading) == (["Like wolf.n.01"], ["entity", "cosine"])
    values = [float(line[-1]) for line in lines]
    assert len(values) == 4
    assert values == sorted(values, reverse=True)
    assert "wolf.n.01" not in [line[0] for line in lines]
    assert len(json.loads(command("similar", zoo, "wolf.n.01", "--json", "-").out)["similar"]) == 10


def test_what_shares_nothing_with_others_is_like_none(command: Command) -> None:
    assert command("kb", "create", "new.kb", "--facts", "-", given="a\tr\tb\nc\ts\td\n").code == 0
    assert command("similar", "new.kb", "a") == (
        0, "", "nothing is like a: no other entity has a fact in common with it\n"
    )  # fmt: skip


# explain


def test_explain_adds_up(command: Command, zoo: str) -> None:
    command("facts", "add", zoo, "dire_wolf.n.01", "hypernym", "wolf.n.01")
    command("facts", "add", zoo, "dire_wolf.n.01", "similar_to", "dog.n.01")
    fact = ("wolf.n.01", "hyponym", "dire_wolf.n.01")
    found = json.loads(command("explain", zoo, *fact, "--json", "-").out)
    assert sum(each["contribution"] for each in found["reasons"]) == pytest.approx(math.exp(found["score"]), rel=1e-5)
    assert found["stored"] is False
    code, out, err = command("explain", zoo, *fact)
    assert (code, err) == (0, "")
    assert re.fullmatch(rf"wolf\.n\.01 hyponym dire_wolf\.n\.01   {PERCENT}", out.splitlines()[0])
    assert "dire_wolf.n.01 hypernym wolf.n.01" in out


def test_explain_says_that_a_stored_fact_is_stored(command: Command, zoo: str) -> None:
    code, out, err = command("explain", zoo, "wolf.n.01", "hyponym", "timber_wolf.n.01")
    assert code == 0
    assert err == "This fact is stored. The lines say what the others would make of it.\n"
    assert "timber_wolf.n.01 hypernym wolf.n.01" in out


def test_explain_says_in_one_sentence_that_nothing_speaks_for_a_fact(command: Command) -> None:
    assert command("kb", "create", "new.kb", "--facts", "-", given="a\tr\tb\nc\tr\tc\n").code == 0
    none = 'hmem: no {}walk of up to 6 stored facts leads from "a" to "{}", so nothing speaks for this fact\n'
    single = "{}: no single fact decides this, {}.\n"
    for words, code, told in (
        ("a r c", 1, none.format("", "c")),
        ("a r b", 1, none.format("other ", "b")),
        ("a r a", 0, single.format("a r a", "without any one of them it is as likely")),
        ("c r c", 0, single.format("c r c", "nothing else is stored about the two")),
    ):
        answer = command("explain", "new.kb", *words.split())
        assert (answer.code, answer.out, answer.err) == (code, "", told)


def test_explain_from_the_other_end(command: Command, zoo: str) -> None:
    fact = ("wolf.n.01", "hyponym", "white_wolf.n.01")
    one, other = (
        json.loads(command("explain", zoo, *fact, *flag, "--json", "-").out)["score"]
        for flag in ([], ["--direction", "head"])
    )
    with KnowledgeBase.open(zoo) as kb:
        assert one == pytest.approx(kb.score(*fact), rel=1e-5)
        assert other == pytest.approx(kb.score(*fact, direction="head"), rel=1e-5)


# What is shown of an answer, whatever model gave it


def test_what_the_memory_as_a_whole_rests_on(capfd: pytest.CaptureFixture[str]) -> None:
    heading = ["the memory as a whole rests on", "weight", "match"]
    whole = Reason(kind="dense", facts=(), contribution=0.3)
    reasons = [
        Reason(kind="fact", facts=(("dog", "likes", f"n{at}"),), contribution=0.01, weight=0.5, match=at - 3.25)
        for at in range(7)
    ]

    def shown(*lines: Reason) -> list[list[str]]:
        show_reasons(Reasons(lines, fact=("dog", "is", "x"), score=-1.0, total=0.37, probability=0.25, stored=False))
        return rows(capfd.readouterr().out)

    taken_apart = shown(whole, *reasons)
    start = taken_apart.index(heading) + 1
    assert taken_apart[start:] == [
        *([f"dog likes n{at}", "0.50", f"{at - 3.25:.2f}"] for at in (0, 6, 1, 5, 2)),  # the strongest first
        ["2 other facts", "0.50"],
    ]
    assert heading not in shown(whole)  # on no fact in particular
    assert heading not in shown(replace(whole, contribution=0.01), *reasons)  # it does not matter


def test_answers_that_are_improbable_and_no_answers(capfd: pytest.CaptureFixture[str]) -> None:
    best = Prediction(head="dog", relation="is", tail="n1", score=-1.0, probability=0.5, stored=False, rank=1)
    found = [best, replace(best, tail="n2", probability=0.0002, rank=2)]
    show_predictions(Predictions(found), "dog is ?", ["tail"], stored=False)
    out, err = capfd.readouterr()
    assert ["1", "n1", "50%"] in rows(out)
    assert "n2" not in out
    assert err == "All others are below 0.1%.\n"
    show_predictions(Predictions([]), "dog is ?", ["tail"], stored=False)
    assert capfd.readouterr().err == "dog is ?: nothing that is not stored already\n"


def test_what_is_left_without_each_fact(capfd: pytest.CaptureFixture[str]) -> None:
    """Of a network that passes messages, whose score has no sum."""
    fact = ("dog", "is", "x")
    lines = [
        Reason(kind="fact", facts=(("dog", "likes", "y"),), contribution=0.3, without=0.2),
        Reason(kind="path", facts=(("dog", "likes", "z"), ("z", "is", "x")), contribution=0.1, without=0.4),
        Reason(kind="fact", facts=(("dog", "sees", "w"),), contribution=0.0, without=0.5),
    ]
    show_reasons(Reasons(lines, fact=fact, score=-1.0, total=None, probability=0.5, stored=True))
    out, err = capfd.readouterr()
    assert rows(out)[0] == ["dog is x", "50%"]
    assert rows(out)[1:] == [
        ["because of", "without it"],
        ["dog likes y", "20%"],
        ["dog likes z", "40%"],
        ["and z is x"],
    ]
    assert err == "This fact is stored. The lines say what the others would make of it.\n"
    show_reasons(Reasons(lines, fact=fact, score=-1.0, total=None, probability=None, stored=False))
    out, err = capfd.readouterr()
    assert "share of all answers 50%" in out
    assert "share without it" in out


def test_what_takes_long_can_be_ended(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    pressed = iter([False, False, True, True])
    monkeypatch.setattr(CtrlC, "should_stop", lambda self: next(pressed))
    with watching("facts") as watch:
        assert [watch(0, 9), watch(4, 9)] == [True, False]
    assert capfd.readouterr().err == "stopped after 4 of 9 facts\n"
