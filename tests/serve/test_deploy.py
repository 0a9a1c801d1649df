"""The files for containers and services are read, not run: the commands in them are commands that there are."""

import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest
import typer
from typer.main import get_command

from hmem.cli.serve import serve
from hmem.serve.settings import Settings

ROOT = Path(__file__).resolve().parents[2]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def dockerfile() -> list[str]:
    (command,) = re.findall(r"^CMD (\[.*\])$", read("Dockerfile"), re.MULTILINE)
    words: list[str] = json.loads(command)
    return words


def compose() -> list[str]:
    """The items below `command:`, without what is said about them."""
    (block,) = re.findall(r"^    command:\n((?:      - .*\n)+)", read("compose.yaml"), re.MULTILINE)
    words = [re.sub(r"\s+#.*", "", line).removeprefix("      - ") for line in block.splitlines()]
    return [re.sub(r"\$\{\w+:-(.*?)\}", r"\1", word) for word in words]  # nothing of it is set


def unit() -> list[str]:
    (command,) = re.findall(r"^ExecStart=(.*)$", read("deploy/hmem.service"), re.MULTILINE)
    return shlex.split(command)[1:]


def comment() -> list[str]:
    """The command in the first lines of the Dockerfile."""
    (command,) = re.findall(r"^#\s+hmem (serve /data.*)$", read("Dockerfile"), re.MULTILINE)
    return shlex.split(command)


@pytest.mark.parametrize("words", [dockerfile(), compose(), unit(), comment()], ids=["image", "compose", "unit", "run"])
def test_the_command_is_one_that_there_is(words: list[str]) -> None:
    app = typer.Typer()
    app.command()(serve)
    name, *arguments = words
    assert name == "serve"
    given = get_command(app).make_context("serve", arguments).params
    assert str(given["kb"]).endswith(".kb")
    for token in (None, "long and random"):
        Settings(host=given["host"], token=token, allow_writes=given["allow_writes"])  # which refuses what is unsafe


def test_a_container_is_open_to_its_own_machine_only_and_known_by_its_names() -> None:
    assert re.findall(r"^      - (\S+:\d+)$", read("compose.yaml"), re.MULTILINE) == ["127.0.0.1:8000:8000"]
    assert {"--host-name=localhost", "--host-name=127.0.0.1"} <= set(compose())


def test_an_image_holds_what_is_copied_into_it() -> None:
    sources = [line.split()[:-1] for line in re.findall(r"^COPY (?!--)(.*)$", read("Dockerfile"), re.MULTILINE)]
    kept = {line[1:] for line in read(".dockerignore").splitlines() if line.startswith("!")}
    named = {word for words in sources for word in words}
    assert {"pyproject.toml", "src"} <= named
    for name in named:
        assert (ROOT / name).exists()
        assert name in kept
    project = tomllib.loads(read("pyproject.toml"))
    assert "serve" in project["project"]["optional-dependencies"]
    assert "serve/static/**" in project["tool"]["setuptools"]["package-data"]["hmem"]


def test_no_image_comes_from_a_named_place() -> None:
    images = re.findall(r"^FROM (\S+)", read("Dockerfile"), re.MULTILINE) + re.findall(
        r"^    image: (\S+)", read("compose.yaml"), re.MULTILINE
    )
    assert set(images) == {"python:3.11-slim", "hmem"}
