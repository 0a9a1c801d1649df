"""The documentation is true: its code runs, its links lead somewhere, and docs/cli.md is what `--help` says."""

import doctest
import os
import re
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer.main import get_command

from hmem.cli.main import app
from tests.cli.test_guide import comparable
from tests.pages import use_trained

ROOT = Path(__file__).resolve().parents[1]
README, DOCS = ROOT / "README.md", ROOT / "docs"
PAGES = [README, *sorted(DOCS.glob("*.md")), *sorted((ROOT / "results").glob("*.md"))]
CLI_DOCS = ROOT / "tools" / "write_cli_docs.py"

FENCE = re.compile(r"^```(\w*)\s*$")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


class Block(NamedTuple):
    language: str
    first: int  # the line of its first line, counted from 0
    text: str


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a Markdown text."""
    language, first, inside = "", 0, list[str]()
    is_open = False
    for number, line in enumerate(text.splitlines()):
        fence = FENCE.match(line)
        if fence is None:
            inside.append(line)
        elif is_open:
            yield Block(language, first, "\n".join(inside))
            is_open = False
        else:
            language, first, inside, is_open = fence.group(1), number + 1, [], True
    assert not is_open, "a fence is opened and never closed"


def page(path: Path) -> str:
    if not path.exists():
        pytest.skip(f"no {path.name}")
    return path.read_text(encoding="utf-8")


def by_name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


# The command line


def commands(command: Any, name: str = "hmem") -> Iterator[str]:
    yield name
    for inner, below in getattr(command, "commands", {}).items():
        yield from commands(below, f"{name} {inner}")


def pinned(package: str) -> str:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return next(line.removeprefix(f"{package}==") for line in lines if line.startswith(f"{package}=="))


@pytest.mark.skipif(version("typer") != pinned("typer"), reason="another typer words its help differently")
@pytest.mark.parametrize("terminal", [{"COLUMNS": "40"}, {"COLUMNS": "200", "FORCE_COLOR": "1"}])
def test_the_command_line_page_does_not_drift(terminal: dict[str, str]) -> None:
    checked = subprocess.run(
        [sys.executable, CLI_DOCS, "--check"], capture_output=True, text=True, env={**os.environ, **terminal}
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_every_command_is_documented() -> None:
    headings = re.findall(r"^## (.+)$", page(DOCS / "cli.md"), re.MULTILINE)
    assert headings == list(commands(get_command(app)))


# Links


def prose(text: str) -> str:
    """The text without its fenced blocks and code spans, in which brackets are no links."""
    kept, is_open = list[str](), False
    for line in text.splitlines():
        is_fence = FENCE.match(line) is not None
        if not is_open and not is_fence:
            kept.append(re.sub(r"`[^`]*`", "``", line))
        is_open ^= is_fence
    return "\n".join(kept)


def anchors(text: str) -> set[str]:
    """What `#...` may name: the headings in the form that GitHub gives them."""
    found = set[str]()
    is_open = False
    for line in text.splitlines():
        is_open ^= FENCE.match(line) is not None
        heading = re.match(r"#{1,6} +(.+)", line)
        if heading is None or is_open:
            continue
        words = heading.group(1).replace("`", "").lower().strip()
        kept = (c for c in words if c in " -_" or unicodedata.category(c)[0] in "LNM")
        found.add("".join(kept).replace(" ", "-"))
    return found


@pytest.mark.parametrize("path", PAGES, ids=by_name)
def test_relative_links_resolve(path: Path) -> None:
    for target in LINK.findall(prose(page(path))):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        there = (path.parent / file).resolve() if file else path
        assert there.exists(), f"{path.name} links to {target}"
        if anchor:
            assert anchor in anchors(there.read_text(encoding="utf-8")), f"{path.name} links to {target}"


@pytest.mark.parametrize("path", PAGES, ids=by_name)
def test_named_tests_exist(path: Path) -> None:
    for file, name in TEST.findall(page(path)):
        assert (ROOT / file).exists(), f"{path.name} names {file}"
        defined = re.findall(r"^def (test_\w+)", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
        assert name in defined, f"{path.name} names {file}::{name}"


# Code

MARK = "-- end of block --"
RUN = [
    README,
    DOCS / "tutorial.md",
    DOCS / "evaluation.md",
    DOCS / "data.md",
    DOCS / "real-graphs.md",
]  # pages with Python blocks


def script(text: str) -> str:
    """The Python blocks of a page as one program whose lines have the numbers that they have in the page."""
    lines = [""] * (text.count("\n") + 1)
    for block in blocks(text):
        if block.language == "python":
            code = block.text.splitlines()
            lines[block.first : block.first + len(code)] = code
            lines[block.first + len(code)] = f"print({MARK!r})"  # in place of the closing fence
    return "\n".join(lines)


TRAINING = {  # the line of a page that trains `models/mini`, and what goes on with such a model
    README: (r'^model = hmem\.fit\("wordnet-mini", .*out="models/mini".*\)$', 'model = hmem.load("models/mini")'),
    DOCS / "tutorial.md": (r'^model = hmem\.fit\(graph, .*out="models/mini".*\)$', 'model = hmem.load("models/mini")'),
}
ABOUT_TRAINING = re.compile(r"hmem\.fit\(graph|\.config\.")  # blocks that print its progress or its settings


@pytest.fixture(params=["trained", pytest.param("training", marks=pytest.mark.slow)])
def trained(request: pytest.FixtureRequest) -> Path | None:
    """The model that is used in place of a page's own training of the bundled graph; None: the page runs as it is."""
    return request.getfixturevalue("trained_guide") if request.param == "trained" else None


def run_page(path: Path, folder: Path, trained: Path | None = None) -> list[str]:
    """What each Python block of a page prints, run one after the other in one namespace and an empty folder."""
    text, workplace = script(page(path)), folder / "here"
    workplace.mkdir()
    if trained is not None:
        use_trained(trained, workplace)
        text, replaced = re.subn(*TRAINING[path], text, flags=re.MULTILINE)
        assert replaced == 1, f"{path.name} does not train as it did"
    program = folder / f"{path.name}.py"
    program.write_text(text, encoding="utf-8")
    settings = {"HMEM_HOME": str(folder / "home"), "COLUMNS": "100"}
    environment = {name: value for name, value in os.environ.items() if name != "HMEM_DATA"} | settings
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, cwd=workplace, env=environment)
    assert done.returncode == 0, f"{path.name}: {done.stderr}"
    return [part.strip("\n") for part in done.stdout.split(f"{MARK}\n")[:-1]]


def shown_and_printed(path: Path, folder: Path, trained: Path | None = None) -> Iterator[tuple[Block, str, str]]:
    """Every Python block of a page, the text that is shown below it, and what it prints."""
    page_blocks = list(blocks(page(path)))
    printed = iter(run_page(path, folder, trained))
    for block, following in zip(page_blocks, [*page_blocks[1:], Block("", 0, "")], strict=True):
        if block.language == "python":
            yield block, following.text if following.language == "text" else "", next(printed)


def test_the_readme_runs_and_prints_what_it_says(trained: Path | None, tmp_path: Path) -> None:
    """Numbers that training decides may differ."""
    for block, shown, got in shown_and_printed(README, tmp_path, trained):
        if re.search(TRAINING[README][0], block.text, re.MULTILINE):
            continue  # what training prints is not shown
        assert comparable(got) == comparable(shown), f"README.md:{block.first + 1} printed:\n{got}"


@pytest.mark.slow
def test_the_tutorial_runs_and_prints_what_it_says(trained: Path | None, tmp_path: Path) -> None:
    """To the digits that are shown, where the page trains; with another model, numbers may differ."""
    checker, options = doctest.OutputChecker(), doctest.ELLIPSIS
    for block, shown, got in shown_and_printed(DOCS / "tutorial.md", tmp_path, trained):
        if trained is not None:
            shown, got = ("\n".join(comparable(text)) for text in (shown, got))
        if trained is None or not ABOUT_TRAINING.search(block.text):
            assert checker.check_output(f"{shown}\n", f"{got}\n", options), f"line {block.first + 1} printed:\n{got}"


@pytest.mark.parametrize("path", [path for path in RUN if path not in TRAINING], ids=by_name)
def test_code_runs_and_prints_what_the_page_says(path: Path, tmp_path: Path) -> None:
    """The block of text after a Python block is its output; `...` stands for anything."""
    checker, options = doctest.OutputChecker(), doctest.ELLIPSIS
    for block, shown, got in shown_and_printed(path, tmp_path):
        assert checker.check_output(f"{shown}\n", f"{got}\n", options), f"{path.name}:{block.first + 1} printed:\n{got}"


@pytest.mark.parametrize("path", [path for path in PAGES if path not in RUN], ids=by_name)
def test_other_pages_have_no_code_that_is_not_run(path: Path) -> None:
    assert not [block for block in blocks(page(path)) if block.language == "python"]


# The repository as a whole


def files() -> list[Path]:
    """Every file of the repository, committed or about to be."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, text=True)
    if listed.returncode != 0:
        pytest.skip("needs a git checkout")
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def test_no_file_names_a_place_on_one_machine() -> None:
    whole, users = "|".join(["wo" + "rk", "ro" + "ot"]), "|".join(["ho" + "me", "Us" + "ers"])  # not this line either
    machine_path = re.compile(rf"(?<![\w.~/}}-])/(?:(?:{whole})\b|(?:{users})/)")
    for path in files():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            assert not machine_path.search(line), f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
