"""The builder of the bundled graph of ATT&CK, on a bundle made by hand."""

import gzip
import json
import runpy
import sys
from pathlib import Path

import pytest

from hmem.errors import HMemError
from hmem.graph.registry import load_dataset
from tests.graph.readers.test_stix import GROUP, MALWARE, PHISHING, bundle, link, thing

ROOT = Path(__file__).resolve().parents[2]
BUILDER = ROOT / "tools/build_attack.py"
BUNDLED = ROOT / "src/hmem/bundled/attack"
NEW = thing("malware", "Newcomer", "S2", created="2024-07-01T00:00:00Z", description="It is new. It spreads.")
OBJECTS = [
    *(GROUP, MALWARE, PHISHING, NEW),
    link(GROUP, "uses", PHISHING, "2022-01-01T10:00:00Z"),
    link(MALWARE, "uses", PHISHING, "2024-12-31T10:00:00Z"),
    link(GROUP, "uses", MALWARE, "2025-01-01T10:00:00Z"),
    link(NEW, "uses", PHISHING, "2024-07-02T10:00:00Z"),
]


def build(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> None:
    monkeypatch.setattr(sys, "argv", [str(BUILDER), *map(str, arguments)])
    runpy.run_path(str(BUILDER), run_name="__main__")


def rows(folder: Path, part: str) -> list[list[str]]:
    return [line.split("\t") for line in gzip.decompress((folder / f"{part}.tsv.gz").read_bytes()).decode().split("\n")]


def test_facts_are_split_by_their_dates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.json").write_text(bundle(OBJECTS), encoding="utf-8")
    build(monkeypatch, tmp_path / "a.json", "--out", tmp_path / "out")
    parts = {part: rows(tmp_path / "out", part)[1:-1] for part in ("train", "valid", "test", "later")}
    assert ["Akira (G1024)", "uses", "Phishing", "2022-01-01"] in parts["train"]
    assert parts["valid"] == [["Akira (S1129)", "uses", "Phishing", "2024-12-31"]]
    assert parts["test"] == [["Akira (G1024)", "uses", "Akira (S1129)", "2025-01-01"]]
    assert parts["later"] == [["Newcomer", "uses", "Phishing", "2024-07-02"]]
    assert len(load_dataset(tmp_path / "out").train) == len(parts["train"]) == 4


def test_the_table_of_entities(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.json").write_text(bundle(OBJECTS), encoding="utf-8")
    build(monkeypatch, tmp_path / "a.json", "--out", tmp_path / "out")
    heading, *found = rows(tmp_path / "out", "entities")
    assert heading == ["id", "label", "kind", "description", "aliases"]
    assert found[0] == ["Akira (G1024)", "Akira (G1024)", "group", "", "G1024|Akira|GOLD SAHARA"]
    assert found[2] == ["Newcomer", "Newcomer", "malware", "It is new", "S2"]


def test_long_descriptions_end_at_a_word() -> None:
    shortened = runpy.run_path(str(BUILDER))["shortened"]
    assert shortened("It attacks the U.S. government. Often.") == "It attacks the U.S. government"
    assert shortened("word, " * 40) == "word, " * 22 + "word…"


def test_a_file_that_is_none_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.json").write_text(json.dumps([]), encoding="utf-8")
    with pytest.raises(SystemExit, match=r"^build_attack: .*a\.json: expected a STIX bundle"):
        build(monkeypatch, tmp_path / "a.json", "--out", tmp_path / "out")
    with pytest.raises((SystemExit, HMemError), match="no such file"):
        build(monkeypatch, tmp_path / "b.json", "--out", tmp_path / "out")


def test_the_bundled_files_are_small_and_licensed() -> None:
    assert sum(path.stat().st_size for path in BUNDLED.iterdir()) < 400_000
    notice = "© 2025 The MITRE Corporation. This work is reproduced and distributed with the permission"
    assert notice in (BUNDLED / "LICENSE.txt").read_text(encoding="utf-8")
