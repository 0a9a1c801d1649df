"""The files for containers and services are read, not run: the commands in them are commands that there are."""

import json
import re
import shlex
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.main import get_command

from hmem.cli.kb import app as kb_app
from hmem.cli.serve import serve
from hmem.serve.settings import Settings

ROOT = Path(__file__).resolve().parents[2]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def dockerfile() -> list[str]:
    (command,) = re.findall(r"^CMD (\[.*\])$", read("Dockerfile"), re.MULTILINE)
    words: list[str] = json.loads(command)
    return words


def compose() -> dict[str, Any]:
    """compose.yaml where nothing of the environment is set but what has to be."""
    yaml = pytest.importorskip("yaml")
    text = re.sub(r"\$\{\w+:-(.*?)\}", r"\1", read("compose.yaml"))
    found: dict[str, Any] = yaml.safe_load(re.sub(r"\$\{\w+:\?.*?\}", "secret", text))
    return found


def server() -> list[str]:
    words: list[str] = compose()["services"]["hmem-1"]["command"]
    return words


def unit() -> list[str]:
    (command,) = re.findall(r"^ExecStart=(.*)$", read("deploy/hmem.service"), re.MULTILINE)
    return shlex.split(command)[1:]


def comment() -> list[str]:
    """The command in the first lines of the Dockerfile."""
    (command,) = re.findall(r"^#\s+hmem (serve /data.*)$", read("Dockerfile"), re.MULTILINE)
    return shlex.split(command)


@pytest.mark.parametrize("words", [dockerfile, server, unit, comment])
def test_the_command_is_one_that_there_is(words: Callable[[], list[str]]) -> None:
    app = typer.Typer()
    app.command()(serve)
    name, *arguments = words()
    assert name == "serve"
    given = get_command(app).make_context("serve", arguments).params
    assert str(given["kb"]).endswith(".kb") or str(given["kb"]) == "postgresql://hmem@database/hmem"
    for token in (None, "long and random"):
        Settings(host=given["host"], token=token, allow_writes=given["allow_writes"])  # which refuses what is unsafe


def test_containers_are_open_to_their_own_machine_only_and_known_by_their_names() -> None:
    services = compose()["services"]
    open_ports = {name: each["ports"] for name, each in services.items() if "ports" in each}
    assert open_ports == {"proxy": ["127.0.0.1:8000:80"], "prometheus": ["127.0.0.1:9090:9090"]}
    servers = {name for name, each in services.items() if each.get("command", [""])[0] == "serve"}
    assert servers == {"hmem-1", "hmem-2", "hmem-3"}
    assert {f"--host-name={name}" for name in (*servers, "localhost", "127.0.0.1")} <= set(server())
    addresses = sorted(f"{name}:8000" for name in servers)
    assert re.findall(r"^    server (\S+) ", read("deploy/nginx.conf"), re.MULTILINE) == addresses
    scraped = pytest.importorskip("yaml").safe_load(read("deploy/prometheus.yml"))["scrape_configs"]
    assert [each["static_configs"] for each in scraped] == [[{"targets": addresses}]]
    assert set(services["proxy"]["depends_on"]) == servers


def test_containers_name_what_there_is() -> None:
    made = compose()
    for each in made["services"].values():
        for mounted in each.get("volumes", ()):
            source = mounted.partition(":")[0]
            assert source == "./data" or source in made["volumes"] or (ROOT / source).is_file(), source
        for name in each.get("depends_on", ()):
            assert name in made["services"]
    kb, create, *arguments = made["services"]["fill"]["command"]
    assert (kb, create) == ("kb", "create")
    given = get_command(kb_app).commands["create"].make_context("create", arguments).params  # type: ignore[attr-defined]
    assert (str(given["kb"]), given["facts"]) == ("postgresql://hmem@database/hmem", "wordnet-mini")


def test_an_image_holds_what_is_copied_into_it() -> None:
    sources = [line.split()[:-1] for line in re.findall(r"^COPY (?!--)(.*)$", read("Dockerfile"), re.MULTILINE)]
    kept = {line[1:] for line in read(".dockerignore").splitlines() if line.startswith("!")}
    named = {word for words in sources for word in words}
    assert {"pyproject.toml", "src"} <= named
    for name in named:
        assert (ROOT / name).exists()
        assert name in kept
    project = tomllib.loads(read("pyproject.toml"))
    assert {"postgres", "serve"} <= set(project["project"]["optional-dependencies"])
    assert "serve/static/**" in project["tool"]["setuptools"]["package-data"]["hmem"]


def test_no_image_comes_from_a_named_place() -> None:
    images = re.findall(r"^FROM (\S+)", read("Dockerfile"), re.MULTILINE)
    images += [each["image"] for each in compose()["services"].values()]
    assert {each.partition(":")[0] for each in images} == {"python", "hmem", "nginx", "postgres", "prom/prometheus"}
