"""The command line as a whole: what ends it, in one line and with a code."""

import errno
import sys
from importlib.metadata import version

import pytest

from hmem.cli import main
from hmem.errors import ConfigError
from hmem.training.places import Place
from tests.cli.conftest import Command


def test_the_version(command: Command) -> None:
    answer = command("--version")
    assert (answer.code, answer.out) == (0, f"hmem {version('hmem')}\n")


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (ConfigError("what is wrong"), 2, "what is wrong"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (PermissionError(errno.EACCES, "Permission denied", "a.tsv"), 1, "a.tsv: Permission denied"),
        (OSError("no more"), 1, "no more"),
        (
            OSError(errno.ENOSPC, "No space left on device", "model"),
            1,
            "model: No space left on device; make room, then run the same command again",
        ),
    ],
)
def test_what_goes_wrong_is_one_line(
    command: Command, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, line: str
) -> None:
    def fails() -> None:
        raise error

    monkeypatch.setattr(main, "app", fails)
    assert command("data", "list") == (code, "", f"hmem: {line}\n")


def test_ctrl_c_inside_of_a_command_is_said(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """typer turns it into an exit of its own."""

    def fails() -> None:
        try:
            raise RuntimeError from KeyboardInterrupt()
        except RuntimeError:
            sys.exit(130)

    monkeypatch.setattr(main, "app", fails)
    assert command("data", "list") == (130, "", "hmem: interrupted\n")


def test_the_first_of_several_processes_lets_the_others_go(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}
    for name, value in {**environment, "RANK": "0", "LOCAL_RANK": "0"}.items():
        monkeypatch.setenv(name, value)
    dismissed: list[Place] = []
    followed: list[Place] = []

    def follow(place: Place) -> int:
        followed.append(place)
        return 7

    monkeypatch.setattr("hmem.training.gathering.dismiss", dismissed.append)
    monkeypatch.setattr("hmem.training.follower.follow", follow)
    assert command("train", "nothing").code == 2
    assert ([place.place for place in dismissed], followed) == ([0], [])
    monkeypatch.setenv("RANK", "1")
    assert command("train", "nothing") == (7, "", "")
    assert (len(dismissed), [place.place for place in followed]) == (1, [1])
    assert command("data", "show", "nothing").code == 1  # only training has several
