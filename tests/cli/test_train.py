"""`hmem train`: what it writes, what it refuses, and how it goes on after Ctrl-C."""

import contextlib
import errno
import json
import math
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from typer.testing import CliRunner, Result

from hmem.cli.main import app
from hmem.cli.options import parse_minutes
from hmem.errors import ConfigError
from hmem.evaluation.calibration import Calibration, calibrate
from hmem.evaluation.metrics import MRR
from hmem.graph.registry import load_dataset
from hmem.model.build import ModelScorer
from hmem.model.checkpoint import load
from hmem.model.index import FrozenIndex
from hmem.runs.folder import claimed
from hmem.sqlite_files import SAVED
from tests.cli.conftest import Answer, invoke, write_splits
from tests.conftest import TOY_TEST, TOY_TRAIN, TOY_VALID

SMALL = ("--preset", "recall", "--set", "memory.entity_dim=6", "--set", "memory.relation_dim=4", "--device", "cpu")
QUICK = (*SMALL, "--set", "training.epochs=3", "--set", "training.validate_every=1")


Run = Callable[..., Answer]


def write_toy(folder: Path) -> Path:
    return write_splits(folder, TOY_TRAIN, TOY_VALID, TOY_TEST)


@pytest.fixture
def here(here: Path) -> Path:
    """A folder with the toy graph in `toy`, and nothing else to be found."""
    write_toy(here / "toy")
    return here


@pytest.fixture
def run(here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """`run("train", …)` is `hmem train …`."""

    def answer(*arguments: object) -> Answer:
        return invoke(monkeypatch, capfd, *arguments)

    return answer


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    """What `hmem train toy --out model` says, and the folder in which that is, for those who only look."""
    folder = tmp_path_factory.mktemp("trained")
    write_toy(folder / "toy")
    with contextlib.chdir(folder):
        return CliRunner().invoke(app, ["train", "toy", "--out", "model", *QUICK]), folder


def same_weights(one: str, other: str) -> bool:
    left, right = (load_file(Path(folder) / "model.safetensors") for folder in (one, other))
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)


def log_of(folder: str | Path) -> list[dict[str, float | None]]:
    return [json.loads(line) for line in (Path(folder) / "log.jsonl").read_text(encoding="utf-8").splitlines()]


# What it writes


def test_a_full_disk_is_one_line_that_says_what_to_do(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")  # as writing to an open file fails: with no file's name

    with monkeypatch.context() as disk:
        disk.setattr(Path, "write_text", full)
        code, _, err = run("train", "toy", *QUICK, "--out", "m")
    assert (code, err) == (1, "hmem: m/run.json: could not be written (No space left on device); make room\n")
    assert run("train", "toy", *QUICK, "--out", "m").code == 0


def test_writes_a_folder_and_says_so(trained: tuple[Result, Path]) -> None:
    answer, folder = trained
    out, model = answer.stdout, folder / "model"
    assert answer.exit_code == 0
    assert {path.name for path in model.iterdir()} == {*SAVED, "run.json", "facts.safetensors", "log.jsonl"}
    assert re.search(r"^ *recall +all ", out, re.MULTILINE)
    assert "toy, valid: 6 queries" in out
    assert re.search(r"^model: trained 3\.0 epochs in \d+ s \(done\)\.$", out, re.MULTILINE)
    assert out.endswith("Next: hmem evaluate model\n")
    lines = answer.stderr.splitlines()
    assert len(lines) == 3
    assert all(
        re.fullmatch(r"epoch \d/3  loss [\d.]+  [\d,]+ facts/s  valid MRR [\d.]+  \d+ s", line) for line in lines
    )
    saved = load(model)
    assert (saved.preset, saved.dataset, saved.config.memory.entity_dim) == ("recall", "toy", 6)
    assert saved.metrics["training"].keys() == {"training_seconds", "epochs", "stopped", "parameters"}
    assert saved.metrics["reports"][0]["split"] == "valid"
    assert json.loads((model / "run.json").read_text())["data"] == "toy"


def test_the_model_is_calibrated_on_its_validation_facts(trained: tuple[Result, Path]) -> None:
    answer, folder = trained
    line = re.search(
        r"^Calibrated on 6 questions: the probabilities of best answers are off by (\d+\.\d) points on average, "
        r"those of all candidates by (\d+\.\d\d)\.$",
        answer.stdout,
        re.MULTILINE,
    )
    assert line is not None
    saved = load(folder / "model")
    calibration = Calibration.from_dict(saved.metrics["calibration"])
    assert calibration.top_error == pytest.approx(float(line[1]) / 100, abs=0.0006)
    assert calibration.error == pytest.approx(float(line[2]) / 100, abs=0.00006)
    dataset = load_dataset(folder / "toy")
    scorer = ModelScorer(saved.model, FrozenIndex(dataset.inference_graph("train")))
    again = calibrate(scorer, dataset)
    assert again is not None
    assert again.to_dict() == calibration.to_dict()


def test_the_best_weights_are_those_that_are_saved(run: Run) -> None:
    assert run("train", "toy", "--out", "model", *QUICK, "--set", "training.learning_rate=0.1").code == 0
    figures = [line["validated"] for line in log_of("model") if line["validated"] is not None]
    saved = load(Path("model"))
    assert len(figures) == 3
    assert saved.metrics["reports"][0]["protocols"]["all"][MRR] == max(each for each in figures if each is not None)


def test_the_log_has_a_line_for_each_look(trained: tuple[Result, Path]) -> None:
    lines = log_of(trained[1] / "model")
    assert [line["step"] for line in lines] == [1, 1, 2, 2, 3, 3]
    for line in lines:
        assert line.keys() == {
            "epoch", "epochs", "step", "share", "loss", "triples_per_second", "seconds", "best", "validated", "note",
        }  # fmt: skip
        assert line["loss"] is not None
        assert math.isfinite(line["loss"])


def test_json_is_all_there_is_on_standard_output(run: Run) -> None:
    code, out, err = run("train", "toy", "--out", "model", *QUICK, "--json", "-")
    assert (code, err) == (0, "")
    made = json.loads(out)
    assert (made["dataset"], made["split"], made["model"], made["stopped"]) == ("toy", "valid", "recall", "done")
    assert made["settings"]["memory"]["entity_dim"] == 6
    assert made["settings"]["preset"] == "recall"
    code, out, _ = run("train", "toy", "--out", "other", *QUICK, "--json", "figures.json")
    assert code == 0
    assert "MRR" in out
    assert json.loads(Path("figures.json").read_text())["protocols"] == made["protocols"]


def test_settings_come_from_preset_file_and_flags_in_this_order(run: Run, here: Path) -> None:
    (here / "mine.toml").write_text("[memory]\nrelation_dim = 3\nentity_dim = 5\n[training]\nepochs = 1\nseed = 7\n")
    code, *_ = run(
        "train", "toy", "--out", "model", "--preset", "tpr", "--config", "mine.toml",
        "--set", "memory.entity_dim=4", "--seed", 9, "--device", "cpu",
    )  # fmt: skip
    config = load(Path("model")).config
    assert code == 0
    assert (config.memory.stiffness, config.memory.relation_dim, config.memory.entity_dim) == (1.0, 3, 4)
    assert (config.training.epochs, config.training.seed) == (1, 9)


def test_the_same_seed_gives_the_same_file(run: Run) -> None:
    for folder, seed in (("a", 1), ("b", 1), ("c", 2)):
        assert run("train", "toy", "--out", folder, *QUICK, "--seed", seed).code == 0
    assert Path("a/model.safetensors").read_bytes() == Path("b/model.safetensors").read_bytes()
    assert not same_weights("a", "c")


def test_trains_on_a_single_file_and_says_how_it_was_split(run: Run, here: Path) -> None:
    code, out, err = run("train", here / "toy" / "train.tsv", "--out", "model", *QUICK)
    assert (code, "at random" in out) == (0, False)
    assert "no valid or test file: 2 for valid and 2 for test taken from train at random (the same each time)" in err


def test_the_folder_may_be_the_one_we_are_in(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "inside").mkdir()
    monkeypatch.chdir(here / "inside")
    assert run("train", here / "toy", "--out", ".", *QUICK).code == 0
    assert {path.name for path in Path().iterdir()} == {*SAVED, "run.json", "facts.safetensors", "log.jsonl"}


# What it refuses


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--set", "memory.stifness=2"], 2, 'unknown setting "stifness" in [memory]; did you mean stiffness?'),
        (["--set", "memry.stiffness=2"], 2, 'unknown setting "memry"; did you mean memory?'),
        (
            ["--set", "stiffness=2"],
            2,
            'expected SECTION.SETTING=VALUE such as memory.entity_dim=80, found "stiffness=2"',
        ),
        (["--set", "memory.entity_dim=wide"], 2, "memory.entity_dim='wide': expected int"),
        (["--preset", "tpr-inff"], 2, 'no preset "tpr-inff"; did you mean tpr-inf?'),
        (["--device", "gpu"], 2, 'device is auto, cpu, cuda or cuda:N, not "gpu"'),
        (["--config", "no.toml"], 2, "no.toml: No such file or directory"),
        (["--resume"], 1, "model: no interrupted run to go on with (no training.safetensors)"),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing(run: Run, arguments: list[str], code: int, message: str) -> None:
    assert run("train", "toy", "--out", "model", *arguments) == (code, "", f"hmem: {message}\n")
    assert not Path("model").exists()


def test_a_misspelt_dataset_leaves_nothing(run: Run) -> None:
    code, out, err = run("train", "WN18R", "--out", "model")
    assert (code, out) == (1, "")
    assert err.startswith('hmem: no dataset "WN18R"; did you mean WN18RR')
    assert not Path("model").exists()


def test_a_folder_that_is_not_empty(run: Run) -> None:
    Path("model").mkdir()
    Path("model/mine.txt").write_text("keep")
    assert run("train", "toy", "--out", "model", *QUICK) == (
        2,
        "",
        "hmem: model is not empty; choose another folder, or replace what it holds: --overwrite\n",
    )
    assert [path.name for path in Path("model").iterdir()] == ["mine.txt"]
    assert run("train", "toy", "--out", "model", *QUICK, "--overwrite").code == 0
    assert Path("model/mine.txt").read_text() == "keep"
    before = Path("model/model.safetensors").read_bytes()
    assert run("train", "toy", "--out", "model", *QUICK).code == 2
    assert run("train", "toy", "--out", "model", *QUICK, "--overwrite", "--seed", 3).code == 0
    assert Path("model/model.safetensors").read_bytes() != before
    assert len(log_of("model")) == 6  # of the new run only


def test_two_trainings_do_not_share_a_folder(run: Run) -> None:
    with claimed(Path("model")) as is_ours:
        assert is_ours
        code, out, err = run("train", "toy", "--out", "model", *QUICK)
    assert (code, out) == (2, "")
    assert err == "hmem: another process is training in model; choose another folder\n"
    assert run("train", "toy", "--out", "model", *QUICK).code == 0


def test_a_run_that_failed_before_it_had_anything_does_not_stand_in_the_way(run: Run) -> None:
    code, _, err = run("train", "toy", "--out", "model", *SMALL, "--set", "training.learning_rate=1e30")
    assert code == 1
    assert "back to the first weights, and on with a learning" in err
    assert "try a lower learning_rate (it was 1e+30, and" in err
    assert run("train", "toy", "--out", "model", *QUICK).code == 0


def test_a_file_in_place_of_the_folder(run: Run) -> None:
    Path("model").write_text("mine")
    code, out, err = run("train", "toy", "--out", "model", *QUICK)
    assert (code, out, err) == (1, "", "hmem: model: expected a folder, found a file\n")
    assert Path("model").read_text() == "mine"


def test_a_dataset_without_validation_facts(run: Run, here: Path) -> None:
    (here / "one.tsv").write_text("a\tr\tb\nb\tr\tc\n")
    code, out, err = run("train", "one.tsv", "--out", "model", *QUICK)
    assert code == 0, err
    assert re.fullmatch(r"model: trained 3\.0 epochs in \d+ s \(done\)\.\n", out.splitlines(keepends=True)[-1])
    assert "no valid or test file, and too few facts to take any from train" in err
    assert "Trained without validation" in err
    assert "probabilities" in err
    saved = load(here / "model")
    assert saved.metrics["reports"] == []
    assert "calibration" not in saved.metrics
    assert [line["validated"] for line in log_of("model")] == [None] * 3
    code, out, err = run("train", "one.tsv", "--out", "other", "--json", "-", *QUICK)
    assert code == 0, err
    assert json.loads(out)["training"]["stopped"] == "done"
    assert same_weights("model", "other")


def test_a_small_knowledge_base_answers_by_scores(run: Run, here: Path) -> None:
    (here / "one.tsv").write_text("anna\tworks_at\tacme\nben\tworks_at\tglobex\ncara\tlives_in\tgraz\n")
    run("kb", "create", "small.kb", "--facts", "one.tsv")
    code, out, err = run("train", "--from", "small.kb", "--out", "model", *QUICK)
    assert code == 0, err
    assert out.endswith("small.kb uses it from now on.\n")
    assert "no fact of small.kb can be kept out of training to validate with" in err
    code, out, err = run("predict", "small.kb", "anna", "works_at", "--direction", "head", "-k", 1)
    assert (code, "score" in out, "Scores are not calibrated" in err) == (0, True, True)


# Ctrl-C and --resume


def interrupt(run: Run, monkeypatch: pytest.MonkeyPatch, *arguments: object) -> Answer:
    """Ctrl-C in the second step, without another process."""
    from hmem.training import loop

    usual, steps = loop._Run._step, [0]

    def step(self: loop._Run) -> object:
        steps[0] += 1
        if steps[0] == 2:
            signal.raise_signal(signal.SIGINT)
        return usual(self)

    with monkeypatch.context() as patched:
        patched.setattr(loop._Run, "_step", step)
        return run(*arguments)


def test_ctrl_c_saves_and_says_how_to_go_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ("train", "toy", "--out", "model", *SMALL, "--set", "training.epochs=5")
    code, out, _ = interrupt(run, monkeypatch, *command)
    assert code == 130
    assert out == "Stopped after 2.0 epochs. The same command with --resume goes on from here.\n"
    assert {path.name for path in Path("model").iterdir()} == {
        "run.json",
        "log.jsonl",
        "training.safetensors",
    }
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

    assert run(*command) == (
        2,
        "",
        "hmem: model is not empty; choose another folder, or go on with its run: --resume\n",
    )
    assert run(*command, "--resume", "--set", "memory.role_bias=zero") == (
        2,
        "",
        "hmem: model: the interrupted run had config.memory.role_bias=None, not zero; give the same to go on\n",
    )
    assert run(*command, "--resume", "--seed", 4).err == (
        "hmem: model: the interrupted run had config.training.seed=0, not 4; give the same to go on\n"
    )
    assert run(*command, "--resume", "--preset", "tpr-inf").err == (
        "hmem: model: the interrupted run had preset=recall, not tpr-inf; give the same to go on\n"
    )
    code, _, _ = run(*command, "--resume")
    assert code == 0
    assert {path.name for path in Path("model").iterdir()} == {*SAVED, "run.json", "facts.safetensors", "log.jsonl"}
    assert run("train", "toy", "--out", "whole", *command[4:]).code == 0
    assert same_weights("model", "whole")
    steps = [line["step"] for line in log_of("model")]
    assert list(dict.fromkeys(steps)) == [1, 2, 3, 4, 5]
    assert run(*command, "--resume").err == "hmem: model: no interrupted run to go on with (no training.safetensors)\n"


def test_ctrl_c_leaves_standard_output_to_the_json(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ("train", "toy", "--out", "model", *SMALL, "--json", "-")
    code, out, err = interrupt(run, monkeypatch, *command)
    assert (code, out) == (130, "")
    assert "--resume" in err


def test_a_truncated_state_is_said(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ("train", "toy", "--out", "model", *SMALL)
    interrupt(run, monkeypatch, *command)
    state = Path("model/training.safetensors")
    state.write_bytes(state.read_bytes()[:1000])
    code, out, err = run(*command, "--resume")
    assert (code, out) == (1, "")
    assert err.startswith("hmem: model/training.safetensors: not a whole safetensors file")


def test_a_dataset_that_changed_since_is_said(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ("train", "toy", "--out", "model", *SMALL)
    interrupt(run, monkeypatch, *command)
    with (here / "toy" / "train.tsv").open("a") as file:
        file.write("a_new_one\thypernym\tdog.n.01\n")
    code, out, err = run(*command, "--resume")
    assert (code, out) == (2, "")
    assert err == "hmem: model: the interrupted run had counts.entities=18, not 19; give the same to go on\n"


WAITING = """
import sys
from hmem.cli.main import main
from hmem.training import loop

usual, steps = loop._Run._step, []

def step(*arguments):
    steps.append(1)
    if len(steps) == 2:
        print("in the second epoch", file=sys.stderr, flush=True)
        sys.stdin.readline()  # until the signal has been sent
    return usual(*arguments)

loop._Run._step = step
main()
"""


@pytest.mark.slow
def test_a_real_ctrl_c(run: Run, here: Path) -> None:
    """A process of its own gets a real signal in the middle; what it goes on to is what it would have reached."""
    command = ["train", "toy", *SMALL, "--set", "training.epochs=9", "--set", "training.validate_every=4"]
    process = subprocess.Popen(
        [sys.executable, "-c", WAITING, *command, "--out", "model"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "in the second epoch\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate("go on\n", timeout=60)
    assert process.returncode == 130, err
    assert re.fullmatch(r"Stopped after [\d.]+ epochs\. The same command with --resume goes on from here\.\n", out)
    assert "Traceback" not in err
    assert run(*command, "--out", "model", "--resume").code == 0
    assert run(*command, "--out", "whole").code == 0
    assert same_weights("model", "whole")


def test_the_chosen_settings_are_told_with_their_reasons(run: Run) -> None:
    few = ("--set", "training.epochs=none", "--budget", "1s", "--device", "cpu")
    code, _, err = run("train", "toy", "--out", "model", *few)
    assert code == 0, err
    told = err.splitlines()[0]
    assert told == "From the weights that come with hmem: 30 epochs of 32 facts; the best weights are kept."
    assert json.loads(Path("model/run.json").read_text())["config"]["training"]["minutes"] == pytest.approx(1 / 60)
    code, _, err = run("train", "toy", "--out", "other", "--preset", "recall", *QUICK)
    assert (code, "hidden" in err) == (0, False)


@pytest.mark.parametrize(("text", "minutes"), [("30s", 0.5), ("10m", 10), ("1h", 60), (".5 h", 30)])
def test_a_budget_is_a_time(text: str, minutes: float) -> None:
    assert parse_minutes(text) == pytest.approx(minutes)


@pytest.mark.parametrize("text", ["", "10", "m", "0s", "1d", "-1m"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="30s, 10m or 1h"):
        parse_minutes(text)
