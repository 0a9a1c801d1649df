"""`hmem serve`, as a command of its own and as a process."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
import typer
from typer.testing import CliRunner

from hmem.cli import serve
from hmem.errors import ConfigError, StoreError
from hmem.knowledge.store.store import Store
from hmem.serve import server
from hmem.serve.settings import Settings

FACTS = [("dog.n.01", "hypernym", "canine.n.02")]
COMMAND = "import typer; from hmem.cli.serve import serve; a = typer.Typer(); a.command()(serve); a()"


@pytest.fixture
def base(tmp_path: Path) -> Path:
    with Store.create(tmp_path / "zoo.kb") as store:
        store.add(FACTS)
    return tmp_path / "zoo.kb"


@pytest.fixture
def run(base: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The settings with which `hmem serve` would serve."""
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(serve.serve)
    chosen: list[tuple[Settings, int]] = []
    monkeypatch.setattr(server, "serve", lambda path, settings, port, **more: chosen.append((settings, port)))
    monkeypatch.delenv("HMEM_TOKEN", raising=False)

    def answer(*arguments: str) -> tuple[Settings, int]:
        found = CliRunner().invoke(app, [str(base), *arguments], catch_exceptions=False)
        assert found.exit_code == 0, found.output
        return chosen.pop()

    return answer


def test_by_default_only_this_machine_is_served_and_writes_are_off(run: Any) -> None:
    settings, port = run()
    assert settings == Settings(host="127.0.0.1")
    assert port == 8000
    assert not settings.writable


def test_options_become_settings(run: Any) -> None:
    settings, port = run(
        "--host", "localhost", "--port", "0", "--allow-writes", "--host-name", "Zoo.Example", "--timeout", "5"
    )  # fmt: skip
    names = frozenset({"zoo.example"})
    assert settings == Settings(host="localhost", allow_writes=True, host_names=names, timeout=5.0)
    assert port == 0


def test_the_token_comes_from_the_environment(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HMEM_TOKEN", "")  # as a compose file passes what is not set
    assert run()[0].token is None
    monkeypatch.setenv("HMEM_TOKEN", "long and random")
    assert run("--host", "0.0.0.0")[0].token == "long and random"


def test_writes_without_a_token_on_a_public_host_are_refused(run: Any) -> None:
    with pytest.raises(ConfigError, match="for this machine only"):
        run("--host", "0.0.0.0", "--allow-writes")


def test_what_is_missing_is_named(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "hmem.serve.server")
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(ConfigError, match=r"needs uvicorn: pip install 'hmem\[serve\]'"):
        run()


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no knowledge base"):
        server.serve(tmp_path / "none.kb", Settings(), 0)


@pytest.mark.network
@pytest.mark.parametrize("how", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_a_server_says_where_it_is_and_stops_when_told(base: Path, how: signal.Signals) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    environment.pop("HMEM_TOKEN", None)
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, str(base), "--port", "0", "--allow-writes"],
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stderr is not None
    told = process.stderr.readline()
    found = re.search(r"zoo\.kb is served at (http://127\.0\.0\.1:\d+) \(writes: by all on this machine\)", told)
    assert found, told
    fact = {"head": "puppy.n.01", "relation": "hypernym", "tail": "dog.n.01"}
    assert httpx.post(f"{found[1]}/facts", json={"facts": [fact]}, timeout=30).status_code == 201
    with httpx.stream("GET", f"{found[1]}/events", timeout=30) as events:
        lines = events.iter_lines()
        assert next(lines).startswith("id")
        process.send_signal(how)  # which a listener does not keep waiting
        assert process.wait(30) == (0 if how == signal.SIGINT else -signal.SIGTERM)
        assert list(lines)  # the stream came to an end
    assert process.stderr.read() == ""
    process.stderr.close()
    with Store.open(base, read_only=True) as store:
        assert [each.names for each in store.listing()] == [*FACTS, ("puppy.n.01", "hypernym", "dog.n.01")]


def test_a_module_of_our_own_that_is_missing_is_no_missing_package(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hmem.serve.server", None)
    with pytest.raises(ModuleNotFoundError, match=r"hmem\.serve\.server"):
        run()
