"""What RDF says of statements: by triple terms of RDF 1.2, or by the older way, and only in our own terms."""

from pathlib import Path

import pytest

from hmem.errors import DataError
from hmem.graph.readers.read import read_table

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
FACT = "<urn:hmem:a> <urn:hmem:r> <urn:hmem:b> ."
ABOUT = '_:s <urn:hmem:term:confidence> "0.5" .'
TERM = f"_:s <{RDF}reifies> <<( <urn:hmem:a> <urn:hmem:r> <urn:hmem:b> )>> ."
OLD = f"""_:s <{RDF}subject> <urn:hmem:a> .
_:s <{RDF}predicate> <urn:hmem:r> .
_:s <{RDF}object> <urn:hmem:b> ."""


def read(folder: Path, *lines: str) -> list[dict[str, object]]:
    (folder / "a.nt").write_text("\n".join(lines) + "\n")
    rows: list[dict[str, object]] = read_table(folder / "a.nt").to_pylist()
    return rows


@pytest.mark.parametrize("way", [TERM, OLD])
def test_both_ways(tmp_path: Path, way: str) -> None:
    expected = [{"head": "a", "relation": "r", "tail": "b", "confidence": 0.5}]
    assert read(tmp_path, FACT, way, ABOUT) == read(tmp_path, ABOUT, way, FACT) == expected


def test_what_is_not_stated_is_no_fact(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="expected triples, found none"):
        read(tmp_path, TERM, ABOUT)


def test_other_talk_of_statements_stays_what_it_is(tmp_path: Path) -> None:
    assert len(read(tmp_path, FACT, OLD)) == 4
    with pytest.raises(DataError, match="found a quoted triple"):
        read(tmp_path, FACT, TERM)


def test_a_confidence_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="a confidence is a number from 0 to 1"):
        read(tmp_path, FACT, TERM, '_:s <urn:hmem:term:confidence> "7" .')
