"""The page about serving shows what curl prints: each command is run against a server, in order, and compared."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.pages import enter, run, sessions, use_trained
from tests.serve.clients import served

PAGE = Path(__file__).resolve().parents[2] / "docs" / "serve.md"
HERE = "http://127.0.0.1:8000"
TOKEN = "a-token-for-a-test"


def comparable(text: str) -> Any:
    """The answer without what differs from run to run: times and measured figures."""
    if text.startswith("{"):
        return _without_figures(json.loads(text))
    return [
        comparable(line.removeprefix("data: ")) if line.startswith("data: ") else line
        for line in text.splitlines()
        if line
    ]


def _without_figures(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_figures(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_without_figures(each) for each in value]
    if isinstance(value, float):
        return "a figure"
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", value):
        return "a time"
    return value


@pytest.fixture
def zoo_of_the_guide(trained_guide: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The base that the page about knowledge bases makes."""
    enter(tmp_path, monkeypatch)
    use_trained(trained_guide, tmp_path)
    run("hmem kb create zoo.kb --model models/mini --facts wordnet-mini", monkeypatch)
    return tmp_path / "zoo.kb"


@pytest.mark.network
@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_the_guide_shows_what_curl_prints(zoo_of_the_guide: Path) -> None:
    commands = [(command, shown) for command, shown in sessions(PAGE.read_text("utf-8")) if command.startswith("curl")]
    assert len(commands) > 8
    with served(zoo_of_the_guide, token=TOKEN) as url:
        for command, shown in commands:
            done = subprocess.run(
                command.replace(HERE, url),
                shell=True,
                capture_output=True,
                text=True,
                env={**os.environ, "HMEM_TOKEN": TOKEN, "no_proxy": "*"},
            )
            assert done.stdout, done.stderr
            assert comparable(done.stdout) == comparable(shown), f"$ {command}\n{done.stdout}"


def test_the_page_tells_every_code_and_every_address() -> None:
    from hmem.serve.errors import CODES
    from tests.serve.test_openapi import OPERATIONS

    text = PAGE.read_text("utf-8")
    for code, (status, _) in CODES.items():
        (row,) = [line for line in text.splitlines() if line.startswith("|") and f"`{code}`" in line]
        assert str(status) in row
    for _, path in OPERATIONS:
        assert path in text


def test_a_difference_that_matters_is_noticed() -> None:
    one = '{"name": "wolf.n.01", "score": -0.5, "added_at": "2026-11-15T13:29:52.414956Z", "rank": 1}'
    assert comparable(one) == comparable(one.replace("0.5", "0.25").replace("13:29", "14:30"))
    assert comparable(one) != comparable(one.replace("wolf", "dog"))
    assert comparable(one) != comparable(one.replace('"rank": 1', '"rank": 2'))
    assert comparable("id: 1\ndata: {}\n") != comparable("id: 2\ndata: {}\n")
