"""The graph of a list of Debian's packages, on a list of four."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

PATH = Path(__file__).parents[2] / "benchmarks" / "debian.py"
TAGS = "role::program, interface::x11, use::editing,\n devel::ide, scope::utility, x11::application, "


@pytest.fixture(scope="module")
def debian() -> ModuleType:
    spec = importlib.util.spec_from_file_location("debian_benchmark", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(PATH.parent)
        spec.loader.exec_module(module)
    return module


def record(name: str, tag: str, depends: str) -> str:
    return (
        f"Package: {name}\nMaintainer: A Team <a@example.org>\nDepends: {depends}\nTag: {TAGS}{tag}\n"
        "Section: editors\nDescription: one\n"
    )


def test_facts_of_a_list(debian: ModuleType) -> None:
    text = "\n".join(
        [
            record("one", "uitoolkit::gtk", "libgtk (>= 3), only-here"),
            record("two", "uitoolkit::gtk", "libgtk:any | other"),
            record("three", "uitoolkit::gtk", "libgtk"),
            "Package: few\nMaintainer: A Team <a@example.org>\nTag: role::program\nSection: editors\n",
        ]
    )
    facts = debian.facts_of(text)
    of_two = {(relation, tail) for head, relation, tail in facts if head == "two"}
    assert {("depends", "libgtk"), ("uitoolkit", "uitoolkit::gtk"), ("maintainer", "A Team")} <= of_two
    assert ("scope", "scope::utility") in of_two
    assert ("section", "editors") in of_two
    assert {head for head, _, _ in facts} == {"one", "two", "three"}  # one has few tags
    assert not any(tail in ("other", "only-here") for _, _, tail in facts)  # an alternative, and a rare tail
    assert facts == sorted(set(facts))
