"""The command line as a whole: what ends it, in one line and with a code."""

import errno
from importlib.metadata import version
from pathlib import Path

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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--bogus", "no such option: --bogus; see: hmem --help"),
        ("kb bogus", "no such command 'bogus'; see: hmem kb --help"),
        ("kb create", "missing argument 'KB'; see: hmem kb create --help"),
        (
            "predict zoo.kb a b --directio head",
            "no such option: --directio (Possible options: --direction); see: hmem predict --help",
        ),
        (
            "predict zoo.kb a b -k 0",
            "invalid value for '--count' / '-k': it should be greater than or equal to 1; see: hmem predict --help",
        ),
        (
            "predict zoo.kb a b --direction up",
            "invalid value for '--direction': 'up' is not one of 'head', 'tail'; see: hmem predict --help",
        ),
    ],
)
def test_words_that_fit_no_command_are_one_line_too(command: Command, words: str, said: str) -> None:
    assert command(*words.split()) == (2, "", f"hmem: {said}\n")


def test_a_group_of_commands_alone_shows_its_help(command: Command) -> None:
    answer = command("kb")
    assert (answer.code, answer.err) == (2, "")
    assert "hmem kb [OPTIONS] COMMAND" in answer.out


def test_ctrl_c_inside_of_a_command_is_said(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("hmem.cli.data._where", interrupted)
    assert command("data", "list") == (130, "", "hmem: interrupted\n")


@pytest.mark.parametrize("option", ["data list --json", "missing zoo.kb --out", "sparql zoo.kb ASK{} --csv"])
def test_a_file_that_cannot_be_written_is_told_before_the_work(command: Command, option: str) -> None:
    """There is not even a knowledge base."""
    told = "expected a file in a folder that you may write to"
    assert command(*option.split(), "no/x.csv") == (2, "", f"hmem: no/x.csv cannot be written; {told}\n")
    Path("y.csv").mkdir()
    assert command(*option.split(), "y.csv") == (2, "", "hmem: y.csv is a folder; expected a file to write\n")


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
