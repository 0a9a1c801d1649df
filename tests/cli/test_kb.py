"""`hmem kb`: made, looked at, looked after; and `hmem train --from`, which gives it a new model."""

import json
import re
import shutil
import signal
from pathlib import Path

import pytest

from hmem.knowledge.model_link import ModelLink
from hmem.knowledge.store.store import Store
from hmem.model.checkpoint import load
from tests.cli.conftest import QUICK, Command, tabbed
from tests.conftest import TOY_TRAIN
from tests.model.problems import memory_of

FACTS = len([line for line in TOY_TRAIN.splitlines() if line])


def labels(out: str) -> dict[str, str]:
    """The rows of `hmem kb info`."""
    return {line[:15].strip(): line[15:].strip() for line in out.splitlines() if line.strip()}


def model_of(kb: str) -> ModelLink:
    with Store.open(kb) as store:
        link = ModelLink.of(store)
    assert link is not None
    return link


# create


def test_create_with_facts_and_a_model(command: Command, zoo: str) -> None:
    code, out, err = command("kb", "info", zoo)
    assert (code, err) == (0, "")
    rows = labels(out)
    assert rows["knowledge base"] == "zoo.kb"
    assert (rows["facts"], rows["entities"], rows["relations"]) == (str(FACTS), "18", "4")
    assert re.fullmatch(r"1, the last at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d", rows["writes"])
    assert re.fullmatch(r"\d+(\.\d+)? kB", rows["size"])
    assert rows["model"] == "model (recall, 18 entities, 4 relations)"
    assert re.fullmatch(
        r"off by \d+\.\d points on average for best answers, \d+\.\d\d for all candidates \(\d questions\)",
        rows["probabilities"],
    )
    assert (rows["since training"], rows["new to it"]) == ("0 facts added, 0 removed", "0 entities, 0 relations")
    found = json.loads(command("kb", "info", zoo, "--json", "-").out)
    assert (found["facts"], found["model"]["facts_since"], found["model"]["preset"]) == (FACTS, 0, "recall")


def test_create_from_nothing_a_file_a_dataset_or_standard_input(command: Command) -> None:
    rows = labels(command("kb", "create", "empty.kb").out)
    assert (rows["facts"], rows["writes"]) == ("0", "0")
    assert rows["model"] == "base, which comes with hmem; hmem train --from empty.kb --out DIR makes a better one"
    Path("toy.tsv").write_text(tabbed(TOY_TRAIN))
    assert labels(command("kb", "create", "file.kb", "--facts", "toy.tsv").out)["facts"] == str(FACTS)
    given = labels(command("kb", "create", "input.kb", "--facts", "-", given=tabbed(TOY_TRAIN)).out)
    assert given["facts"] == str(FACTS)
    assert labels(command("kb", "create", "mini.kb", "--facts", "wordnet-mini").out)["facts"] == "15,542"
    with Store.open("file.kb") as one, Store.open("input.kb") as other:
        assert [fact.names for fact in one.listing()] == [fact.names for fact in other.listing()]
        assert next(one.listing()).source == "toy.tsv"


def test_create_replaces_only_when_told(command: Command, zoo: str) -> None:
    code, out, err = command("kb", "create", zoo)
    assert (code, out) == (1, "")
    assert err.startswith("hmem: zoo.kb exists already")
    assert labels(command("kb", "create", zoo, "--overwrite").out)["facts"] == "0"


def test_create_leaves_nothing_behind_when_something_is_wrong(command: Command) -> None:
    Path("bad.tsv").write_text("a\tb\n")
    for wrong in (["--facts", "bad.tsv"], ["--facts", "wordnt-mini"], ["--model", "nowhere"]):
        code, out, err = command("kb", "create", "new.kb", *wrong)
        assert (code, out) == (1, "")
        assert re.fullmatch(r"hmem: [^\n]+\n", err)
        assert not Path("new.kb").exists()


# info, check, compact, use


def test_info_counts_what_came_since_training(command: Command, zoo: str) -> None:
    command("facts", "add", zoo, "dire_wolf.n.01", "hypernym", "canine.n.02")
    command("facts", "add", zoo, "dire_wolf.n.01", "eats", "yak.n.01")
    command("facts", "remove", zoo, "dog.n.01", "hypernym", "canine.n.02")
    rows = labels(command("kb", "info", zoo).out)
    assert rows["facts"] == f"{FACTS + 1} (1 more removed, kept in the history)"
    assert (rows["since training"], rows["new to it"]) == ("2 facts added, 1 removed", "2 entities, 1 relation")


def test_info_says_when_the_model_has_none_of_the_relations(command: Command, toy_model: Path) -> None:
    Path("others.tsv").write_text("a\tlikes\tb\nb\tlikes\tc\n", encoding="utf-8")
    made = command("kb", "create", "others.kb", "--facts", "others.tsv", "--model", toy_model)
    said = "3 entities, 1 relation: all there are, so nothing can be predicted with it"
    assert labels(made.out)["new to it"] == said


def test_info_says_when_the_model_is_gone_changed_or_not_calibrated(command: Command, zoo: str) -> None:
    metrics = Path("model/metrics.json")
    saved = json.loads(metrics.read_text())
    del saved["calibration"]
    metrics.write_text(json.dumps(saved))
    rows = labels(command("kb", "info", zoo).out)
    assert rows["probabilities"] == "none: the model is not calibrated, so answers have scores only"
    metrics.write_text(json.dumps({"calibration": [5]}))
    assert "the calibration in metrics.json cannot be used" in " ".join(command("kb", "info", zoo).out.split())
    with Path("model/config.json").open("a") as file:
        file.write("\n")
    assert "has changed since" in " ".join(command("kb", "info", zoo).out.split())
    shutil.rmtree("model")
    code, out, _ = command("kb", "info", zoo)
    assert code == 0
    assert "is not where it was" in out


def test_check_finds_a_sound_file_sound(command: Command, zoo: str) -> None:
    assert command("kb", "check", zoo) == (0, f"zoo.kb is sound: {FACTS} facts about 18 entities, 1 write\n", "")
    assert json.loads(command("kb", "check", zoo, "--json", "-").out) == {"knowledge_base": "zoo.kb", "problems": []}


def test_check_says_what_is_wrong_and_leaves_with_1(command: Command, zoo: str) -> None:
    import sqlite3

    with sqlite3.connect(zoo) as db:
        db.execute("PRAGMA foreign_keys = OFF")
        db.execute("DELETE FROM entity WHERE id = 3")
    db.close()
    code, out, err = command("kb", "check", zoo)
    assert (code, out) == (1, "")
    assert "points to nothing in the table entity" in err
    code, out, _ = command("kb", "check", zoo, "--json", "-")
    assert code == 1
    assert len(json.loads(out)["problems"]) >= 2


def test_compact_keeps_facts_and_history(command: Command, zoo: str) -> None:
    command("facts", "remove", zoo, "dog.n.01", "hypernym", "canine.n.02")
    before = json.loads(command("facts", "history", zoo, "--limit", 0, "--json", "-").out)
    code, out, err = command("kb", "compact", zoo)
    assert (code, err) == (0, "")
    assert re.fullmatch(r"zoo\.kb: [\d.]+ kB before, [\d.]+ kB now\n", out)
    assert json.loads(command("facts", "history", zoo, "--limit", 0, "--json", "-").out) == before


def test_use_takes_another_model(command: Command, zoo: str) -> None:
    shutil.copytree("model", "other")
    code, out, _ = command("kb", "use", zoo, "other")
    assert code == 0
    assert model_of(zoo).folder == Path("other").resolve()
    assert labels(out)["model"].startswith("other (")
    code, out, err = command("kb", "use", zoo, "toy")
    assert (code, out) == (1, "")
    assert "not a model folder" in err
    assert model_of(zoo).folder == Path("other").resolve()


def test_drift_compares_new_facts_with_old_ones(command: Command, zoo: str) -> None:
    code, out, _ = command("kb", "drift", zoo)
    assert code == 0
    assert "Training again would not pay: no facts came after training." in out
    command("facts", "add", zoo, "dire_wolf.n.01", "hypernym", "canine.n.02")
    command("facts", "add", zoo, "dire_wolf.n.01", "eats", "yak.n.01")
    out = command("kb", "drift", zoo).out
    assert "0 facts removed since, 1 new entity, 1 new relation." in out
    assert 'Training again would pay: 1 fact has a relation the model was not trained with ("eats").' in out
    found = json.loads(command("kb", "drift", zoo, "--json", "-").out)
    assert (found["new_facts"], found["new_relations"]) == (2, ["eats"])


def test_drift_without_a_model(command: Command) -> None:
    Path("toy.tsv").write_text(tabbed(TOY_TRAIN))
    command("kb", "create", "file.kb", "--facts", "toy.tsv")
    code, out, _ = command("kb", "drift", "file.kb")
    assert code == 0
    assert "Training may pay: the model has seen none of the 32 facts, which have an MRR of 0." in out


# train --from


def test_train_from_makes_a_model_of_the_present_facts_and_swaps_it_in(command: Command, zoo: str) -> None:
    command("facts", "add", zoo, "dire_wolf.n.01", "hypernym", "canine.n.02")
    command("facts", "add", zoo, "dire_wolf.n.01", "eats", "paw.n.01")
    command("facts", "remove", zoo, "fur.n.01", "part_of", "mammal.n.01")
    code, out, err = command("train", "--from", zoo, "--out", "next", "--set", "training.epochs=2", "--device", "cpu")
    assert code == 0, err
    assert out.endswith("zoo.kb uses it from now on.\n")
    assert re.search(rf"\d of the {FACTS + 1} facts of zoo\.kb are kept out of training to validate with", err)
    saved = load(Path("next"))
    assert (saved.preset, saved.config.memory.entity_dim, saved.config.training.epochs) == ("recall", 8, 2)
    assert {"dire_wolf.n.01"} <= set(saved.vocab.entities)
    assert "eats" in saved.vocab.relations
    link = model_of(zoo)
    assert (link.folder, link.trained_until) == (Path("next").resolve(), 4)
    assert command("predict", zoo, "dire_wolf.n.01", "eats").code == 0


def test_a_first_model_can_come_from_the_facts(command: Command) -> None:
    command("kb", "create", "new.kb", "--facts", "-", given=tabbed(TOY_TRAIN))
    assert command("train", "--from", "new.kb", "--out", "first", *QUICK).code == 0
    assert model_of("new.kb").folder == Path("first").resolve()
    code, out, err = command("evaluate", "first", "--split", "valid")
    assert code == 0, err
    assert json.loads(Path("first/run.json").read_text())["data"] == "new.kb@1"
    command("facts", "add", "new.kb", "yak", "hypernym", "mammal.n.01")
    assert command("evaluate", "first", "--split", "valid").out == out  # the facts of then


def test_fine_tuning_starts_from_what_was_learned(command: Command, zoo: str) -> None:
    command("facts", "add", zoo, "dire_wolf.n.01", "hypernym", "canine.n.02")
    still = ["--set", "training.epochs=1", "--set", "training.learning_rate=1e-9", "--device", "cpu"]
    before = load(Path("model"))
    assert command("train", "--from", zoo, "--out", "tuned", "--fine-tune", *still).code == 0
    assert command("train", "--from", zoo, "--out", "anew", *still, "--seed", 7).code == 0
    row = before.vocab.entities.id_of("wolf.n.01")
    vector = memory_of(before.model).embeddings.entity[row].detach()

    def distance(folder: str) -> float:
        saved = load(Path(folder))
        row = saved.vocab.entities.id_of("wolf.n.01")
        return float((memory_of(saved.model).embeddings.entity[row].detach() - vector).norm())

    assert distance("anew") > 0.1
    # `anew` was swapped in last, and has the settings of the one before
    assert load(Path("anew")).config.memory == before.config.memory
    assert distance("tuned") < 1e-4


def test_a_failed_training_leaves_the_old_model_in_place(command: Command, zoo: str) -> None:
    code, _, err = command("train", "--from", zoo, "--out", "next", "--set", "training.learning_rate=1e30")
    assert code == 1
    assert "try a lower learning_rate" in err
    assert model_of(zoo).folder == Path("model").resolve()
    assert command("predict", zoo, "wolf.n.01", "hyponym").code == 0


def test_a_model_that_cannot_be_put_in_place_is_not_lost(
    command: Command, zoo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hmem.errors import StoreError
    from hmem.knowledge import retraining

    def refuse(*_: object, **__: object) -> None:
        raise StoreError("zoo.kb is being written by another process")

    with monkeypatch.context() as patched:
        patched.setattr(retraining, "attach", refuse)
        code, _, err = command("train", "--from", zoo, "--out", "next", "--set", "training.epochs=1", "--device", "cpu")
    assert code == 1
    assert err.endswith(
        "hmem: zoo.kb is being written by another process. The model is ready; use it with: hmem kb use zoo.kb next\n"
    )
    assert model_of(zoo).folder == Path("model").resolve()
    assert command("kb", "use", zoo, "next").code == 0


def test_a_model_that_is_gone_is_no_reason_not_to_train_another(command: Command, zoo: str) -> None:
    shutil.rmtree("model")
    code, _, err = command("train", "--from", zoo, "--out", "next", *QUICK)
    assert code == 0
    assert "the model of zoo.kb is not where it was" in err
    assert command("train", "--from", zoo, "--out", "again", "--fine-tune", *QUICK).code == 0
    shutil.rmtree("again")
    code, _, err = command("train", "--from", zoo, "--out", "third", "--fine-tune", *QUICK)
    assert code == 2
    assert err.splitlines()[-1].endswith("; train without fine-tuning")


def test_an_interrupted_training_leaves_the_old_model_until_it_is_resumed(
    command: Command, zoo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hmem.training import loop

    usual = loop._Run._step

    def step(self: loop._Run) -> object:
        signal.raise_signal(signal.SIGINT)
        return usual(self)

    train = ("train", "--from", zoo, "--out", "next", "--fine-tune", "--set", "training.epochs=2", "--device", "cpu")
    with monkeypatch.context() as patched:
        patched.setattr(loop._Run, "_step", step)
        assert command(*train).code == 130
    assert model_of(zoo).folder == Path("model").resolve()
    command("facts", "add", zoo, "dire_wolf.n.01", "hypernym", "canine.n.02")  # belongs to the next training
    assert command(*train, "--resume").code == 0
    assert (model_of(zoo).folder, model_of(zoo).trained_until) == (Path("next").resolve(), 1)
    assert "dire_wolf.n.01" not in load(Path("next")).vocab.entities


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected the DATA to train on, or --from KB, and not both"),
        (["toy", "--from", "zoo.kb"], "expected the DATA to train on, or --from KB, and not both"),
        (["toy", "--fine-tune"], "--fine-tune goes on from the model of a knowledge base; say which with --from KB"),
        (
            ["--from", "zoo.kb", "--fine-tune", "--set", "memory.entity_dim=9"],
            "fine-tuning keeps the settings of the network; train without it to change them",
        ),
    ],
)
def test_what_does_not_fit_together(command: Command, zoo: str, arguments: list[str], message: str) -> None:
    assert command("train", *arguments, "--out", "next") == (2, "", f"hmem: {message}\n")
    assert not Path("next").exists()


def test_the_model_in_use_is_not_trained_over(command: Command, zoo: str) -> None:
    code, out, err = command("train", "--from", zoo, "--out", "model", "--overwrite")
    assert (code, out) == (2, "")
    assert err.startswith("hmem: model is the model that zoo.kb uses; choose another folder")


def test_without_a_model_there_is_nothing_to_fine_tune(command: Command) -> None:
    command("kb", "create", "new.kb", "--facts", "-", given=tabbed(TOY_TRAIN))
    code, _, err = command("train", "--from", "new.kb", "--out", "next", "--fine-tune")
    assert code == 2
    assert err == "hmem: new.kb has no model to start from; train without fine-tuning\n"


def test_without_facts_there_is_nothing_to_learn_from(command: Command) -> None:
    command("kb", "create", "new.kb")
    code, _, err = command("train", "--from", "new.kb", "--out", "next")
    assert code == 1
    assert err == "hmem: new.kb holds no facts to learn from; add some with: hmem facts import new.kb FILE\n"


def test_a_knowledge_base_is_a_dataset_like_any_other(command: Command, zoo: str) -> None:
    code, out, _ = command("baseline", "rules", zoo, "--split", "valid")
    assert code == 0
    assert "zoo.kb, valid" in out
