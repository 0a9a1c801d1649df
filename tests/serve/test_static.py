"""The files of the page, without a browser: nothing from elsewhere, nothing a name of the graph could break out of."""

import re
from pathlib import Path

import pytest

from hmem.serve.page import STATIC

SCRIPTS = sorted(STATIC.glob("*.js"))
FILES = sorted(path for path in STATIC.iterdir() if path.is_file())
LONGEST = 120

# Ways for text to become markup or code.
DANGEROUS = ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "DOMParser", "eval(", "new Function"]
DANGEROUS += ["createContextualFragment", "setHTMLUnsafe", "srcdoc", "javascript:"]


def named(path: Path) -> str:
    return path.name


def test_there_is_a_page() -> None:
    assert (STATIC / "index.html").is_file()
    assert len(SCRIPTS) > 10


@pytest.mark.parametrize("path", SCRIPTS, ids=named)
def test_names_cannot_become_markup(path: Path) -> None:
    source = path.read_text("utf-8")
    assert [word for word in DANGEROUS if word in source] == []


@pytest.mark.parametrize("path", FILES, ids=named)
def test_nothing_is_fetched_from_elsewhere(path: Path) -> None:
    namespaces = {"http://www.w3.org/2000/svg"}  # names, not addresses
    assert set(re.findall(r"https?://[^\s\"')]+", path.read_text("utf-8"))) <= namespaces
    assert not re.search(r"[\"'(]//\w", path.read_text("utf-8"))


def test_the_page_has_no_inline_scripts_and_styles() -> None:
    """They would need exceptions in the content security policy."""
    page = (STATIC / "index.html").read_text("utf-8")
    assert not re.search(r"<style|\sstyle=|\son\w+=", page)
    assert all("src=" in tag for tag in re.findall(r"<script[^>]*>", page))


def test_everything_that_is_asked_for_is_there() -> None:
    page = (STATIC / "index.html").read_text("utf-8")
    wanted = set(re.findall(r"/static/([\w.-]+)", page))
    for path in SCRIPTS:
        wanted |= set(re.findall(r"from \"\./([\w.-]+)\"", path.read_text("utf-8")))
    assert wanted | {"index.html"} == {path.name for path in FILES}  # and no file is left that is not used


@pytest.mark.parametrize("path", SCRIPTS, ids=named)
def test_a_script_says_what_it_is_for(path: Path) -> None:
    lines = path.read_text("utf-8").splitlines()
    assert lines[0].startswith("// ")
    assert [line for line in lines if len(line) > LONGEST] == []
    assert len(lines) <= 300
