"""Files made to exhaust memory or time are refused in one line, by a process that has little of both."""

import bz2
import gzip
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmem.graph.triples import PARTS
from tests.graph.readers.helpers import Write, fuzz
from tests.limited import Limited, damaged, limited

RDF = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://ex/">'
ABOUT = '<rdf:Description rdf:about="http://ex/a">'
END = "</rdf:Description></rdf:RDF>"
NT = b"<http://ex/a> <http://ex/r> <http://ex/b> .\n"
LONG = "x" * (20 << 20)


@pytest.fixture(scope="module")
def child() -> Iterator[Limited]:
    with limited("from hmem.graph.readers.read import read_table as read\n") as child:
        yield child


def xml(text: str, *entities: str) -> bytes:
    declared = "".join(f'<!ENTITY a{number} "{value}">' for number, value in enumerate(entities))
    return f"<!DOCTYPE rdf:RDF [{declared}]>{RDF}{ABOUT}<e:r>{text}</e:r>{END}".encode()


def graphml(body: str, *entities: str) -> bytes:
    declared = "".join(f'<!ENTITY a{number} "{value}">' for number, value in enumerate(entities))
    keys = '<key id="l" for="edge" attr.name="label"/><key id="n" for="graph" attr.name="hmem.relations"/>'
    edge = '<edge source="a" target="b"><data key="l">r</data></edge>'
    return f"<!DOCTYPE graphml [{declared}]><graphml>{keys}<graph>{body}{edge}</graph></graphml>".encode()


def bundle(**more: object) -> bytes:
    things = [{"type": "malware", "id": f"malware--{name}", "name": name, **more} for name in "ab"]
    uses = {"type": "relationship", "relationship_type": "uses", "source_ref": "malware--a", "target_ref": "malware--b"}
    return json.dumps({"type": "bundle", "objects": [*things, uses]}).encode()


def parquet(rows: int, name: str) -> bytes:
    """So many rows of one fact, which take no room at all."""
    column = pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), [name])
    table = pa.table(dict.fromkeys(PARTS, column))
    pq.write_table(table, file := io.BytesIO(), row_group_size=rows)
    return file.getvalue()


HOSTILE: dict[str, Callable[[], bytes]] = {
    "nested.rdf": lambda: xml("&a11;", "x" * 20, *(f"&a{number};" * 10 for number in range(11))),
    "twice.rdf": lambda: xml("&a2;", "x", "&a0;").replace(b'a1 "', b'a0 "' + b"&a0;" * 5_000 + b'"><!ENTITY a1 "'),
    "quadratic.rdf": lambda: xml("&a0;" * 20_000, "x" * 80_000),
    "often.rdf": lambda: xml("&a0;" * 200_000, "x" * 9_000),
    "deep.rdf": lambda: (RDF + (ABOUT + "<e:r>") * 20_000 + "</e:r></rdf:Description>" * 20_000 + END[18:]).encode(),
    "deep.jsonld": lambda: b'{"http://ex/r":' * 100_000 + b"1" + b"}" * 100_000,
    "literal.rdf": lambda: xml(LONG),
    "literal.nt": lambda: f'<http://a> <http://b> "{LONG}" .\n'.encode(),
    "literal.ttl": lambda: f'<http://a> <http://b> """{LONG}""" .\n'.encode(),
    "literal.jsonld": lambda: f'{{"@id":"http://a","http://b":"{LONG}"}}'.encode(),
    "line.tsv": lambda: f"a\tb\t{LONG}\n".encode(),
    "line.csv": lambda: f'a,b,"{LONG}"\n'.encode(),
    "line2id.txt": lambda: LONG.encode(),
    "quote.csv": lambda: b'a,b,"' + (b"x,y," + b"z" * 1000 + b"\n") * 20_000,
    "wide.tsv": lambda: b"head\trelation\ttail" + b"\tx" * 1_000_000 + b"\n" + b"a\tb\tc" + b"\t" * 1_000_000,
    "bomb.tsv.gz": lambda: gzip.compress(b"a\tb\tc\n" * 175_000) * 400,
    "nested.graphml": lambda: graphml('<edge source="&a11;" target="b"/>', *(f"&a{n - 1};" * 10 for n in range(12))),
    "prefix.graphml": lambda: graphml("<x:node/>"),
    "deep.graphml": lambda: graphml('<node id="a">' * 20_000 + "</node>" * 20_000),
    "attribute.graphml": lambda: graphml(f'<node id="{LONG}"/>'),
    "relations.graphml": lambda: graphml(f'<data key="n">{"[" * 200_000}</data>'),
    "deep.json": lambda: b'{"type": "bundle", "objects": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "refs.json": lambda: b'{"type": "bundle", "objects": [{"type": "malware", "id": ["a"], "name": "x"}]}',
    "rows.parquet": lambda: parquet(6_000_000, "x"),
    "names.parquet": lambda: parquet(1_000_000, "x" * 100_000),  # which takes no more room in memory, and is read
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_in_one_line(child: Limited, write: Write, name: str) -> None:
    (write("entity2id.txt", "0\n"), write("relation2id.txt", "0\n"))
    found = child.read(write(name, HOSTILE[name]()))
    assert found.startswith("refused: ") and name in found if name != "names.parquet" else found == "read"


@pytest.mark.parametrize("name", ["aliases", "kill_chain_phases", "external_references", "x_mitre_domains", "created"])
@pytest.mark.parametrize("lie", [5, "text", [5], ["text"], {"a": 1}, None], ids=str)
def test_a_bundle_that_lies_about_its_lists_is_read_or_refused(
    child: Limited, write: Write, name: str, lie: object
) -> None:
    child.read(write("bundle.json", bundle(**{name: lie})))


def test_what_is_large_for_good_reasons_is_read(child: Limited, write: Write) -> None:
    spaces = xml('<a rdf:about="&a0;b"/>' * 20_000, "http://www.example.org/a/long/name/space#")
    assert child.read(write("a.rdf", spaces.replace(b"<a ", b"<rdf:Description ", 1)))
    rows = "".join(f"head {row}\trelation\ttail {row}\n" for row in range(400_000))
    assert child.read(write("a.tsv.gz", gzip.compress(rows.encode(), 1))) == "read"


SEEDS = {
    "a.tsv": b"head\trelation\ttail\na\tr\tb\nb\tr\tc\n",
    "a.csv": b'a,r,"b ""c"""\n"d\ne",r,f\r\n',
    "a.txt": b"a r  b\nb r c\n",
    "a.nt": NT * 2,
    "a.ttl": b'@prefix e: <http://ex/> . e:a e:r [ e:s (1 "x"@en) ], _:b .\n',
    "a.trig": b"@prefix : <http://ex/> . :graph { :a :r :b }",
    "a.rdf": xml("&a1;", "x", "&a0;y"),
    "a.jsonld": b'{"@context": {"e": "http://ex/"}, "@id": "e:a", "e:r": [{"@id": "e:b"}, {"@list": [1]}]}',
    "a.parquet": parquet(1000, "x"),
    "a.graphml": graphml('<node id="a"><data key="l">A</data></node>'),
    "relationships.csv": b":START_ID,:END_ID,:TYPE,confidence:double\na,b,r,0.5\nb,c,s,\n",
    "bundle.json": bundle(aliases=["c"], kill_chain_phases=[{"phase_name": "p"}], created="2020-01-01T00:00:00Z"),
    "train2id.txt": b"2\n0 1 0\n1 0 0\n",
    "a.tsv.gz": gzip.compress(b"a\tr\tb\n" * 50),
    "a.nt.bz2": bz2.compress(NT * 9),
}


@fuzz
@given(data=st.data())
@pytest.mark.parametrize("name", SEEDS)
def test_a_damaged_file_is_read_or_refused(child: Limited, folder: Path, name: str, data: st.DataObject) -> None:
    (folder / "entity2id.txt").write_text("2\na 0\nb\t1\n")
    (folder / "relation2id.txt").write_text("1\nr\t0\n")
    path = folder / name
    path.write_bytes(data.draw(damaged(SEEDS[name])))
    child.read(path)
