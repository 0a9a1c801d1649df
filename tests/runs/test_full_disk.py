"""A training on a disk that becomes full: one line, and what was there before is whole.

The disk is a limit on the size of files, in a process of its own: every file that would grow beyond it fails to be
written, as on a full disk, and Python, safetensors and SQLite all see it.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hmem
from hmem.runs.folder import RunFolder
from tests.cli.conftest import QUICK, made_zoo, tabbed, toy_model  # noqa: F401
from tests.conftest import TOY_TRAIN

pytest.importorskip("resource")
NO_LIMIT = 10**9
CHILD = """
import contextlib, io, json, resource, sys
from hmem.cli.main import main

for line in sys.stdin:
    limit, *arguments = json.loads(line)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    sys.argv[1:] = arguments
    with contextlib.redirect_stderr(io.StringIO()) as err, contextlib.redirect_stdout(io.StringIO()):
        try:
            main()
        except SystemExit as left:
            code = left.code
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    print(json.dumps([code, err.getvalue().splitlines()]), flush=True)
"""
TRAIN = ("train", "toy.tsv", *QUICK)


def on_a_small_disk(folder: Path, *lines: tuple[object, ...]) -> list[tuple[int, list[str]]]:
    """What commands say and end with, each with a limit in bytes before it."""
    given = "".join(json.dumps([limit, *words]) + "\n" for limit, *words in lines)
    command = [sys.executable, "-B", "-c", CHILD]  # of compiled modules Python would keep halves
    done = subprocess.run(command, cwd=folder, input=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [(code, said) for code, said in map(json.loads, done.stdout.splitlines())]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name not in ("run.json", "log.jsonl")}


@pytest.mark.slow
def test_a_full_disk_ends_a_training_in_one_line_and_leaves_a_whole_model(
    tmp_path: Path,
    toy_model: Path,  # noqa: F811
) -> None:
    (tmp_path / "toy.tsv").write_text(tabbed(TOY_TRAIN))
    for name in ("nothing", "little", "much"):
        shutil.copytree(toy_model, tmp_path / name)
    again = *TRAIN, "--overwrite", "--seed", "1", "--out"
    runs = [
        (500, *again, "nothing"),  # nothing has room
        (1_400, *again, "little"),  # run.json has, a whole log has not
        (12_500, *again, "much"),  # the best model so far has, the metrics in the end have not
        (500, *TRAIN, "--out", "new"),
        (1_400, *TRAIN, "--out", "new"),
        (NO_LIMIT, *TRAIN, "--out", "new"),  # for which nothing is in the way
    ]
    told = on_a_small_disk(tmp_path, *runs)
    assert [code for code, _ in told] == [1, 1, 1, 1, 1, 0]
    assert not any("Traceback" in line or ".py" in line for _, said in told for line in said)
    nothing, little, much = (said[-1] for _, said in told[:3])
    could_not = "hmem: {}: the trained model could not be saved: {}; {}"
    weights = "model.safetensors could not be written (File too large); what was there before is untouched"
    assert nothing == "hmem: nothing/run.json: could not be written (File too large); make room"
    assert little == could_not.format("little", weights, "make room, and train again")
    assert much == could_not.format("much", "File too large", "the best one before calibration is there")
    assert "hmem: the training goes on, but not its log: File too large" in told[1][1]

    for name in ("nothing", "little"):  # where not even the best model so far could be saved, the old one is as it was
        assert contents(tmp_path / name) == contents(toy_model)
    for name in ("run.json", "log.jsonl"):
        assert (tmp_path / "nothing" / name).read_bytes() == (toy_model / name).read_bytes()
    for line in (tmp_path / "little" / "log.jsonl").read_text().splitlines():
        json.loads(line)
    best = hmem.load(tmp_path / "much")
    assert (best.metrics["training"]["stopped"], best.config.training.seed) == ("not yet", 1)


def test_what_a_killed_run_left_is_not_in_the_way(tmp_path: Path) -> None:
    (tmp_path / ".saving.abc").mkdir()
    (tmp_path / ".saving.abc" / "config.json").touch()
    for name in ("run.json", "log.jsonl", ".0123.part.run.json", ".training.safetensors.part"):
        (tmp_path / name).touch()
    RunFolder(tmp_path).begin({}, overwrite=False)
    assert not list(tmp_path.glob(".saving*"))
