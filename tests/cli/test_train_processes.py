"""`hmem train` by several processes: by itself, and under torchrun."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.cli.test_train import Run, here, interrupt, run

__all__ = ["here", "run"]

SMALL = ("--preset", "recall", "--set", "memory.entity_dim=6", "--set", "memory.relation_dim=4", "--device", "cpu")
LONG = (*SMALL, "--set", "training.epochs=800", "--set", "training.patience=none")
TORCHRUN = (
    sys.executable,
    "-m",
    "torch.distributed.run",
    "--standalone",
    "--nproc-per-node",
    "2",
    "--max-restarts",
    "1",
)


def assert_alike(one: str, other: str) -> None:
    left, right = (load_file(Path(folder) / "model.safetensors") for folder in (one, other))
    for name, value in left.items():
        if name not in ("placing", "kinds"):
            torch.testing.assert_close(value, right[name], rtol=1e-3, atol=1e-5, msg=name)


@pytest.mark.slow
def test_a_run_that_was_stopped_goes_on_with_more_processes(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    short = (*SMALL, "--set", "training.epochs=5")
    assert run("train", "toy", "--out", "whole", *short).code == 0
    command = ("train", "toy", "--out", "model", *short)
    code, out, _ = interrupt(run, monkeypatch, *command, "--processes", 2)
    assert (code, out) == (130, "Stopped after 2.0 epochs. The same command with --resume goes on from here.\n")
    code, out, err = run(*command, "--processes", 3, "--resume")
    assert code == 0, err
    assert "model: trained 5.0 epochs" in out
    assert err.count("epoch 5/5") == 1  # of one process
    assert_alike("model", "whole")


def test_torchrun_starts_the_processes(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"WORLD_SIZE": "2", "RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}.items():
        monkeypatch.setenv(name, value)
    code, out, err = run("train", "toy", "--out", "model", *SMALL, "--processes", 3)
    assert (code, out) == (2, "")
    assert err == "hmem: torchrun has started the processes; leave out --processes\n"


def test_there_is_at_least_one_process(run: Run) -> None:
    assert run("train", "toy", "--out", "model", "--processes", 0).code == 2


def under_torchrun(*arguments: str) -> "subprocess.Popen[str]":
    command = (*TORCHRUN, "-m", "hmem", *arguments)
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


@pytest.mark.slow
def test_torchrun_starts_them_again_where_they_were(here: Path) -> None:
    """After the end of any of them."""
    started = under_torchrun("train", "toy", "--out", "model", *LONG)
    try:
        log = Path("model/log.jsonl")
        until = time.monotonic() + 60
        while time.monotonic() < until and not (log.exists() and log.read_text().count("\n") > 50):
            time.sleep(0.1)
        workers = Path(f"/proc/{started.pid}/task/{started.pid}/children").read_text().split()
        os.kill(int(workers[-1]), signal.SIGKILL)
        out, err = started.communicate(timeout=120)
    finally:
        if started.poll() is None:
            os.killpg(started.pid, signal.SIGKILL)
    assert started.returncode == 0, err
    assert out.count("model: trained 800.0 epochs") == 1
    assert err.count("hmem: ") == err.count("hmem: one of the 2 processes has gone; go on from there: --resume") <= 1
    steps = [json.loads(line)["step"] for line in log.read_text().splitlines()]
    assert steps == sorted(steps)  # no step was taken twice, though no clock had saved yet
    assert steps[-1] == 800


@pytest.mark.slow
def test_an_error_is_worded_once(here: Path) -> None:
    out, err = under_torchrun("train", "nowhere", "--out", "model").communicate(timeout=60)
    assert out == ""
    assert err.count("hmem: ") == 2  # torchrun starts them again once, and gets the same answer
    assert "no dataset" in err


@pytest.mark.slow
def test_a_plain_script_may_train_with_several(here: Path) -> None:
    """Without `if __name__ == "__main__"`: followers run a module of hmem, not the script."""
    settings = {"memory": {"entity_dim": 6, "relation_dim": 4}, "training": {"epochs": 2}}
    script = f"import hmem\nprint(hmem.fit('toy', 'recall', settings={settings}, processes=2).preset)\n"
    Path("script.py").write_text(script)
    done = subprocess.run([sys.executable, "script.py"], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("recall\n", "")
