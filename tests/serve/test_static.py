"""The files of the page, without a browser: nothing from elsewhere, nothing a name of the graph could break out of."""

import re
from pathlib import Path

import pytest

from hmem.serve.page import STATIC

SCRIPTS = sorted(STATIC.glob("*.js"))
FILES = sorted(path for path in STATIC.iterdir() if path.is_file())
LONGEST = 120
COLOR = re.compile(r"(--\w+|look-\d)(?: \{ --kind)?: light-dark\((#\w{6}), (#\w{6})\)")

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


def contrast(one: str, other: str) -> float:
    """Between two colors such as #14202c, as the WCAG define it: from 1 to 21."""

    def luminance(color: str) -> float:
        parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_colors_have_enough_contrast(theme: int) -> None:
    """4.5 for what is read, 3 for edges; on paper and on what lies above it."""
    css = "".join((STATIC / name).read_text("utf-8") for name in ("style.css", "parts.css"))
    color = {name: (light, dark)[theme] for name, light, dark in COLOR.findall(css)}
    kinds = [name for name in color if name.startswith("look-")]
    assert len(kinds) == 8
    least = dict.fromkeys(("--ink", "--soft", "--mark", "--stored", *kinds), 4.5) | {
        "--edge": 3,
        "--line": 3,
        "--bar": 3,
    }
    for name, wanted in least.items():
        for behind in ("--paper", "--leaf"):
            assert contrast(color[name], color[behind]) >= wanted, (name, behind)
