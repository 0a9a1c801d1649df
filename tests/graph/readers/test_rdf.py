"""RDF files of every format."""

import gzip
import sys
from pathlib import Path

import pytest

from hmem.errors import ConfigError, DataError
from hmem.graph.readers.read import read_table
from tests.graph.readers.helpers import Write, triples

NT = "<http://ex/a> <http://ex/r> <http://ex/b> .\n"


def error_of(path: Path) -> str:
    with pytest.raises(DataError) as error:
        read_table(path)
    return str(error.value)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.nt", NT, ("http://ex/a", "http://ex/r", "http://ex/b")),
        ("a.nq", NT.replace(" .", " <http://graph> ."), ("http://ex/a", "http://ex/r", "http://ex/b")),
        ("a.ttl", "@prefix e: <http://ex/> . e:a e:r e:b .", ("e:a", "e:r", "e:b")),
        ("a.trig", "@prefix : <http://ex/> . :graph { :a :r :b }", (":a", ":r", ":b")),
        (
            "a.jsonld",
            '{"@context": {"e": "http://ex/"}, "@id": "e:a", "e:r": {"@id": "e:b"}}',
            ("e:a", "e:r", "e:b"),
        ),
        *(
            (
                f"a.{suffix}",
                '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://ex/">'
                '<rdf:Description rdf:about="http://ex/a"><e:r rdf:resource="http://ex/b"/></rdf:Description></rdf:RDF>',
                ("e:a", "e:r", "e:b"),
            )
            for suffix in ("rdf", "xml", "owl")
        ),
    ],
)
def test_every_format(write: Write, name: str, content: str, expected: tuple[str, str, str]) -> None:
    for text in (content, "\ufeff" + content, content.replace("\n", "\r\n")):
        assert triples(read_table(write(name, text))) == [expected]
    assert triples(read_table(write(name + ".gz", gzip.compress(content.encode())))) == [expected]


def test_iris_literals_and_blank_nodes(write: Write) -> None:
    path = write(
        "a.ttl",
        """@prefix e: <http://ex/> .
        e:a a e:C ; e:is "x", "x"@en, "x"@ar--rtl, 3, true, "l\\n2", _:label ;
            e:is <http://other/b>, <http://dbpedia.org/resource/Rome> .
        """,
    )
    assert triples(read_table(path)) == [
        ("e:a", "rdf:type", "e:C"),
        ("e:a", "e:is", '"x"'),
        ("e:a", "e:is", '"x"@en'),
        ("e:a", "e:is", '"x"@ar--rtl'),
        ("e:a", "e:is", '"3"^^xsd:integer'),
        ("e:a", "e:is", '"true"^^xsd:boolean'),
        ("e:a", "e:is", '"l\n2"'),
        ("e:a", "e:is", "_:label"),
        ("e:a", "e:is", "http://other/b"),
        ("e:a", "e:is", "dbr:Rome"),
    ]


def test_a_prefix_declared_late_shortens_earlier_iris(write: Write) -> None:
    path = write("a.ttl", "<http://ex/a> <http://ex/r> <http://ex/b> .\n@prefix e: <http://ex/> .")
    assert triples(read_table(path)) == [("e:a", "e:r", "e:b")]


def test_blank_nodes_without_label_are_numbered(write: Write) -> None:
    path = write("a.ttl", "@prefix e: <http://ex/> . e:a e:r [], [], _:anon1 .")
    assert triples(read_table(path)) == [
        ("e:a", "e:r", "_:anon2"),
        ("e:a", "e:r", "_:anon3"),
        ("e:a", "e:r", "_:anon1"),
    ]
    many = write("a.ttl", f"<http://a> <http://r> {', '.join(['[]'] * 500)} .")
    assert [tail for _, _, tail in triples(read_table(many))] == [f"_:anon{number}" for number in range(1, 501)]
    label = "abcdef0123456789" * 2
    assert triples(read_table(write("a.nt", f"_:{label} <http://r> _:b .")))[0][0] == f"_:{label}"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.nt", NT + "<http://ex/a> <http://ex/r>\n", ":3: not valid N-Triples: line jumps are not allowed"),
        ("a.ttl", "@prefix e: <http://ex/> .\ne:a e:r ex:b .", ":2: not valid Turtle: "),
        ("a.ttl", "<a> <b> <c> .", ":1: not valid Turtle: No scheme found in an absolute IRI"),
        ("a.rdf", "<rdf:RDF", ": not valid RDF/XML: "),
        ("a.jsonld", "{", ":1: not valid JSON-LD: "),
        ("a.jsonld", '{"@context": "http://schema.org/"}', ": not valid JSON-LD: "),
        ("a.nt", "# nothing\n", ": expected triples, found none"),
        ("a.nt", b'<http://a> <http://r> "\xff" .', ":1: not valid N-Triples: Invalid UTF-8"),
        ("a.nt", b"\x89PNG", ": expected UTF-8 text, found a PNG picture"),
        (
            "a.ttl",
            "@prefix e: <http://ex/> . e:a e:r <<( e:a e:r e:b )>> .",
            ": expected IRIs, literals and blank nodes, found the quoted triple <http://ex/a> <http://ex/r> <http://ex/b>",
        ),
    ],
)
def test_bad_files(write: Write, name: str, content: str | bytes, message: str) -> None:
    path = write(name, content)
    assert error_of(path).startswith(f"{path}{message}")


def test_a_compressed_file_cut_short(write: Write) -> None:
    path = write("a.nt.gz", gzip.compress(NT.encode())[:-4])
    assert error_of(path) == f"{path}: the gzip data is corrupt or cut short: Truncated compressed stream"


def test_without_pyoxigraph(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyoxigraph", None)
    with pytest.raises(ConfigError) as error:
        read_table(write("a.nt", NT))
    assert str(error.value) == "RDF files need the package pyoxigraph; pip install 'hmem[rdf]'"
