"""`hmem reproduce`: trains what is missing, once, and prints ours beside the paper's and the baselines'."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hmem
from hmem.reproduction.paper_rows import load_rows
from hmem.reproduction.results import read_lines
from tests.cli.conftest import Answer, invoke, write_small_bundled
from tests.cli.test_train import Run, interrupt, write_toy

SMALL = "[memory]\nentity_dim = 6\n[training]\nepochs = 3\nbatch_size = 8\nvalidate_every = 1\n"
PUBLISHED = '[paper]\n"train" = [3, 0.999, 0.998, 0.999, 0.999]\n"train+valid" = [24, 0.001, 0.001, 0.001, 0.001]\n'


def write_row(folder: Path, name: str, preset: str, more: str = "", group: str = "wn18") -> None:
    folder.mkdir(exist_ok=True)
    head = f'row = "{name}"\ngroup = "{group}"\ndataset = "toy"\npreset = "{preset}"\n'
    (folder / f"toy_{preset}.toml").write_text(head + more, encoding="utf-8")


@pytest.fixture
def here(here: Path) -> Path:
    """A folder with the toy graph in `toy`, two rows in `rows`, and nothing else to be found."""
    write_toy(here / "toy")
    write_row(here / "rows", "TPR", "tpr", SMALL + PUBLISHED)
    write_row(here / "rows", "recall", "recall", SMALL)
    return here


@pytest.fixture
def run(here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """`run("wn18", …)` is `hmem reproduce wn18 …` on a CPU."""

    def answer(*arguments: object) -> Answer:
        return invoke(monkeypatch, capfd, "reproduce", *arguments, "--device", "cpu")

    return answer


@pytest.fixture(params=["small", pytest.param("bundled", marks=pytest.mark.slow)])
def graphs(request: pytest.FixtureRequest, here: Path) -> None:
    """What `--quick` works on: tiny graphs under the names of the bundled ones, or the bundled ones."""
    if request.param == "small":
        write_small_bundled(here)


OWN = ("wn18", "--rows", "rows", "--models", "models")


def test_trains_ranks_and_compares(run: Run) -> None:
    code, out, err = run(*OWN)
    assert code == 0
    lines = read_lines(Path("results/paper"))
    assert [(line.get("row"), line["model"], line["graph"]) for line in lines] == [
        ("toy_tpr", "TPR", "train"),
        ("toy_tpr", "TPR", "train+valid"),
        ("toy_recall", "recall", "train"),
        ("toy_recall", "recall", "train+valid"),
        (None, "counts", "train"),
        (None, "counts", "train+valid"),
        (None, "rules", "train"),
        (None, "rules", "train+valid"),
        (None, "frequency", "train"),
        (None, "frequency", "train+valid"),
    ]
    printed = [line.split()[:2] for line in out.splitlines()]
    assert ["rules", "typed"] in printed
    assert ["frequency+", "typed"] in printed
    assert ["recall+", "typed"] in printed
    place = printed.index(["TPR", "paper"])
    assert out.splitlines()[place].split() == ["TPR", "paper", "3", ".999", ".998", ".999", ".999"]
    assert [line[0] for line in printed[place + 1 : place + 3]] == ["typed", "all"]
    assert re.search(r"^toy TPR, seed 0: 3\.0 epochs in \d+ s; MRR \(all\) \.\d+ on train, \.\d+ on train\+valid$",
                     err, re.MULTILINE)  # fmt: skip
    assert re.search(r"^TPR: \.\d+ short of the paper's MRR of \.999$", err, re.MULTILINE)
    assert "TPR+: " not in err


def test_tables_of_what_is_done_need_no_data(run: Run, here: Path) -> None:
    assert run(*OWN).code == 0
    (here / "toy").rename(here / "gone")
    code, out, err = run(*OWN)
    assert (code, err.count("toy")) == (0, 0)
    assert ["recall+", "typed"] in [line.split()[:2] for line in out.splitlines()]
    assert run(*OWN, "--seed", 3).code != 0  # which is not there


def test_a_place_that_may_not_be_written_to_can_still_be_read(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(*OWN).code == 0
    monkeypatch.setattr(os, "access", lambda path, mode, **_: mode != os.W_OK)
    assert run(*OWN).code == 0
    code, _, err = run(*OWN, "--seed", 3)
    assert code != 0
    assert "results/paper may not be written to" in err
    assert "seed 3" not in err  # nothing was trained


def test_what_is_done_is_not_done_again(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(*OWN).code == 0
    before = Path("results/paper/toy.jsonl").read_bytes()
    first = run(*OWN)
    assert (first.code, "seed 0" in first.err) == (0, False)
    assert Path("results/paper/toy.jsonl").read_bytes() == before
    assert run(*OWN, "--seed", 3, "--row", "recall").code == 0
    assert run(*OWN, "--retrain", "--row", "recall").code == 0
    lines = read_lines(Path("results/paper"))[10:]
    assert [(line["model"], line["seed"]) for line in lines] == [
        ("recall", 3),
        ("recall", 3),
        ("recall", 0),
        ("recall", 0),
    ]


def test_a_dry_run_does_nothing(run: Run) -> None:
    code, out, err = run(*OWN, "--dry-run", "--minutes", 2.5)
    assert (code, err) == (0, "")
    assert [line.split() for line in out.splitlines() if "toy" in line] == [
        ["toy", "TPR", "toy_tpr", "to", "train", "0", "2.5"],
        ["toy", "recall", "toy_recall", "to", "train", "0", "2.5"],
    ]
    assert not Path("results").exists()
    assert not Path("models").exists()
    assert run(*OWN, "--row", "tpr").code == 0
    _, out, _ = run(*OWN, "--dry-run")
    assert [line.split()[3] for line in out.splitlines() if "toy" in line] == ["done", "to"]
    Path("results/paper/toy.jsonl").unlink()
    _, out, _ = run(*OWN, "--dry-run", "--row", "TPR")
    assert "to rank" in out


def test_a_dry_run_of_everything_that_comes_with_the_package(run: Run) -> None:
    code, out, _ = run("all", "--dry-run")
    assert code == 0
    assert out.count("to train") == (46 + 6 * 2) + (10 + 3)  # the paper's and recall's rows, those of networks; seeds
    assert out.count("to compare") == 4  # two studies of two sets
    _, out, _ = run("fbgen", "--dry-run", "--row", "*inf")
    assert [line.split()[:2] for line in out.splitlines() if "FBGen" in line] == [
        ["FBGen", "CConv-inf"],
        ["FBGen", "TPR-inf"],
    ]


def test_results_that_have_no_place_are_told_before_any_training(run: Run) -> None:
    Path("taken").write_text("", encoding="utf-8")
    code, _, err = run(*OWN, "--row", "TPR", "--results", "taken/mine.jsonl")
    assert code != 0
    assert "taken is a file, not a folder" in err
    assert not Path("models").exists()


def test_json_is_all_there_is_on_standard_output(run: Run) -> None:
    code, out, _ = run(*OWN, "--row", "TPR", "--json", "-", "--results", "mine.jsonl")
    assert code == 0
    (table,) = json.loads(out)
    assert (table["table"], table["group"]) == ("toy", "wn18")
    entry = next(entry for entry in table["entries"] if (entry["name"], entry["graph"]) == ("TPR", "train"))
    assert entry["published"]["MRR"] == 0.999
    assert entry["ours"].keys() == {"all", "typed"}
    assert len(read_lines(Path("mine.jsonl"))) == 8
    assert not Path("results").exists()


def test_baselines_come_from_their_file(run: Run) -> None:
    run(*OWN, "--row", "TPR", "--results", "first.jsonl")
    baselines = [line for line in read_lines(Path("first.jsonl")) if "row" not in line]
    Path("known.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in baselines), encoding="utf-8")
    assert run(*OWN, "--row", "TPR", "--results", "second.jsonl", "--baselines", "known.jsonl").code == 0
    assert [line["model"] for line in read_lines(Path("second.jsonl"))] == ["TPR", "TPR"]


@pytest.mark.slow
def test_ctrl_c_and_going_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, err = interrupt(run, monkeypatch, *OWN)
    assert (code, out) == (130, "")
    assert err.endswith("Stopped in toy TPR, seed 0. The same command goes on from here.\n")
    assert not Path("results/paper").exists()
    _, out, _ = run(*OWN, "--dry-run")
    assert "to resume" in out
    assert run(*OWN).code == 0
    assert run(*OWN, "--results", "whole.jsonl", "--models", "others").code == 0
    resumed, whole = (read_lines(Path(name)) for name in ("results/paper", "whole.jsonl"))
    assert [line["protocols"] for line in resumed] == [line["protocols"] for line in whole]


def test_a_row_that_fails_does_not_stop_the_others(run: Run, here: Path) -> None:
    write_row(here / "rows", "TPR-inf", "tpr-inf", SMALL.replace("epochs = 3", "epochs = 9") + "learning_rate = 1e30\n")
    code, out, err = run(*OWN, "--row", "tpr-inf", "--row", "recall")
    assert code == 1
    assert re.search(r"^toy TPR-inf, seed 0 failed: the loss is .* try a lower learning_rate", err, re.MULTILINE)
    assert [line["model"] for line in read_lines(Path("results/paper"))][:2] == ["recall", "recall"]
    assert "recall+" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["wn18", "--row", "TRP"], 'no row "TRP" in wn18; there are CConv, CConv-inf'),
        (["wn18", "--rows", "nowhere"], "nowhere is not a folder"),
        (["wn18", "--minutes", "0"], "invalid value for '--minutes': it should be"),
    ],
)
def test_mistakes_are_one_line(run: Run, arguments: list[str], message: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"hmem: {message}")


@pytest.mark.usefixtures("graphs")
def test_quick_works_on_the_bundled_graphs(run: Run, here: Path) -> None:
    code, out, _ = run("ablation", "--quick", "--row", "TPR-global")
    assert code == 0
    assert "WN18, global weight (in miniature, on wordnet-mini)" in out
    assert "FB15K, global weight (in miniature, on wordnet-mini)" in out
    assert "paper" not in out
    lines = read_lines(here / "home" / "models" / "quick" / "results.jsonl")
    assert [(line["dataset"], line["row"]) for line in lines if "row" in line] == [
        ("wordnet-mini", "wn18_tpr-global"),
        ("wordnet-mini", "wn18_tpr-global"),
        ("wordnet-mini", "fb15k_tpr-global"),
        ("wordnet-mini", "fb15k_tpr-global"),
    ]
    assert not Path("results").exists()


@pytest.mark.slow
def test_quick_runs_everything(run: Run, here: Path) -> None:
    write_small_bundled(here)
    assert run("all", "--quick").code == 0
    lines = read_lines(here / "home" / "models" / "quick" / "results.jsonl")
    assert len([line for line in lines if "row" in line]) == 2 * len(load_rows())  # without and with the "+"


@pytest.mark.slow
@pytest.mark.usefixtures("graphs")
@pytest.mark.parametrize(
    ("study", "tables"),
    [("degree", ("WN18", "FB15K")), pytest.param("growth", ("WNGen", "FBGen"), marks=pytest.mark.slow)],
)
def test_a_study_trains_its_rows_and_draws(run: Run, here: Path, study: str, tables: tuple[str, str]) -> None:
    pytest.importorskip("matplotlib", reason="needs matplotlib, which draws")
    code, out, _ = run(study, "--quick", "--row", "TPR*", "--models", "models")
    assert code == 0
    assert out.count("by the number of neighbors" if study == "degree" else "by the share of facts") == 2
    for table in tables:
        assert {f"{study}.png", f"{study}.svg", f"{study}.csv"} <= {
            path.name for path in (here / "figures" / table).iterdir()
        }
    lines = read_lines(Path("models/results.jsonl"))
    studies = [line for line in lines if line.get("study") == study]
    assert len(studies) == 2
    names = {row["model"] for row in studies[0]["tables"][study]}
    assert names == ({"TPR", "TPR-im", "rules"} if study == "degree" else {"TPR", "TPR-inf", "rules"})
    drawn = {path: path.read_text(encoding="utf-8") for path in (here / "figures").rglob("*.csv")}
    for folder in Path("models").glob("wordnet-mini*"):
        shutil.rmtree(folder)  # the numbers are there, and that is enough
    again = run(study, "--quick", "--row", "TPR*", "--models", "models", "--figures", "again")
    assert "epochs in" not in again.err  # nothing is trained twice
    assert again.out.replace("again/", "figures/") == out
    listed = run(study, "--quick", "--row", "TPR*", "--models", "models", "--dry-run").out
    assert [line.split()[2] for line in listed.splitlines() if f" {study} " in line] == ["done", "done"]
    listed = run(study, "--quick", "--row", "TPR*", "--models", "models", "--seed", "7", "--dry-run").out
    assert listed.count("to compare") == 2
    assert read_lines(Path("models/results.jsonl")) == lines
    for path, text in drawn.items():
        assert (here / "again" / path.relative_to(here / "figures")).read_text(encoding="utf-8") == text
    other = run(study, "--quick", "--row", "TPR", "--models", "models", "--seed", "7")
    assert other.code == 0
    later = [line for line in read_lines(Path("models/results.jsonl")) if line.get("study") == study]
    assert [each["seed"] for line in later for each in line["runs"].values()][-1] == 7  # other models, another study


def test_a_study_takes_one_seed_of_each_row(run: Run) -> None:
    listed = run("growth", "--row", "recall", "--dry-run").out
    assert [line.split()[0] for line in listed.splitlines() if "_recall" in line] == ["WNGen", "FBGen"]
    assert run("wngen", "--row", "recall", "--dry-run").out.count("wngen_recall") == 3


def test_without_matplotlib_a_study_is_not_begun(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, _, err = run("degree", "--quick", "--models", "models")
    assert code != 0
    assert "hmem[plot]" in err
    assert not Path("models").exists()


def test_a_study_waits_for_rows_that_another_process_trains(run: Run, here: Path) -> None:
    write_small_bundled(here)
    from hmem.reproduction.paper_rows import Run as Training
    from hmem.reproduction.paper_rows import in_miniature, select
    from hmem.runs.folder import claimed

    (row,) = select(load_rows(), "wngen", ["TPR"])
    with claimed(Training(row=in_miniature(row), seed=0).folder(Path("models"))):
        code, _, err = run("growth", "--quick", "--row", "TPR", "--models", "models")
    assert code == 1
    assert "growth on wordnet-mini-gen: not all rows are trained" in " ".join(err.split())


@pytest.mark.slow
def test_runs_from_a_checkout_without_installation(here: Path) -> None:
    """As on a machine that has torch and nothing of ours: only PYTHONPATH says where the package is."""
    source = Path(hmem.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-m", "hmem", "reproduce", "wngen", "--row", "nonsense"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(source)},
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith('hmem: no row "nonsense" in wngen; there are CConv')
