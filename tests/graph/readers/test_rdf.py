"""RDF files of every format."""

import gzip
import re
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


def without_scope(name: str) -> str:
    """A blank node as it is labelled in its file."""
    return re.sub("^_:[0-9a-f]{8}-", "_:", name)


def blank_tails(path: Path) -> list[str]:
    tails = [tail for _, _, tail in triples(read_table(path))]
    assert all(tail != without_scope(tail) for tail in tails)
    return [without_scope(tail) for tail in tails]


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
        assert triples(read_table(write(name, text), iris="short")) == [expected]
        assert triples(read_table(write(name, text))) == [("http://ex/a", "http://ex/r", "http://ex/b")]
    zipped = write(name + ".gz", gzip.compress(content.encode()))
    assert triples(read_table(zipped, iris="short")) == [expected]


def test_iris_literals_and_blank_nodes(write: Write) -> None:
    path = write(
        "a.ttl",
        """@prefix e: <http://ex/> .
        e:a a e:C ; e:is "x", "x"@en, "x"@ar--rtl, 3, true, "l\\n2", _:label ;
            e:is <http://other/b>, <http://dbpedia.org/resource/Rome> .
        """,
    )
    short = triples(read_table(path, iris="short"))
    assert [(head, relation, without_scope(tail)) for head, relation, tail in short] == [
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
    assert triples(read_table(path, iris="short")) == [("e:a", "e:r", "e:b")]


def test_blank_nodes_without_label_are_numbered(write: Write) -> None:
    path = write("a.ttl", "@prefix e: <http://ex/> . e:a e:r [], [], _:anon1 .")
    assert blank_tails(path) == ["_:anon2", "_:anon3", "_:anon1"]
    many = write("a.ttl", f"<http://a> <http://r> {', '.join(['[]'] * 500)} .")
    assert blank_tails(many) == [f"_:anon{number}" for number in range(1, 501)]
    label = "abcdef0123456789" * 2
    assert blank_tails(write("a.nt", f"<http://a> <http://r> _:{label} .")) == [f"_:{label}"]


def test_full_names_keep_datatypes_readable_in_every_file_alike(write: Write) -> None:
    one = write(
        "one.ttl", "@prefix x: <http://www.w3.org/2001/XMLSchema#> . <http://a> <http://r> '3'^^x:integer, 'x' ."
    )
    other = write("other.nt", '<http://a> <http://r> "3"^^<http://www.w3.org/2001/XMLSchema#integer> .')
    assert [tail for _, _, tail in triples(read_table(one))] == ['"3"^^xsd:integer', '"x"']
    assert [tail for _, _, tail in triples(read_table(other))] == ['"3"^^xsd:integer']


def test_files_agree_on_iris_and_on_nothing_else(write: Write) -> None:
    """One thing has one name under any prefix and in any format, and two things never share one."""
    one = write("one.ttl", "@prefix ex: <http://example.org/> . ex:rex ex:has _:b1 .")
    same = write("same.nt", "<http://example.org/rex> <http://example.org/has> _:b1 .")
    other = write("other.ttl", "@prefix ex: <http://other.org/> . ex:rex ex:has _:b1 .")
    found = {path.name: triples(read_table(path))[0] for path in (one, same, other)}
    assert {head for head, _, _ in found.values()} == {"http://example.org/rex", "http://other.org/rex"}
    assert found["one.ttl"][:2] == found["same.nt"][:2]
    assert len({tail for _, _, tail in found.values()}) == 3


def test_blank_nodes_go_by_the_content_of_a_file(write: Write, tmp_path: Path) -> None:
    content = "<http://a> <http://r> _:b1 .\n"
    once = read_table(write("a.nt", content))
    assert read_table(write("b.nt", content)).equals(once)
    assert read_table(write("c.nt.gz", gzip.compress(content.encode()))).equals(once)
    (tmp_path / "elsewhere").mkdir()
    another = tmp_path / "elsewhere" / "a.nt"
    another.write_text(content + "<http://a> <http://r> _:b2 .\n")
    assert not {tail for _, _, tail in triples(once)} & {tail for _, _, tail in triples(read_table(another))}


def test_iris_have_a_meaning_for_rdf_alone(write: Write) -> None:
    for source, kind in ((write("a.tsv", "a\tr\tb\n"), "tsv"), ([("a", "r", "b")], "list")):
        with pytest.raises(ConfigError, match=f"^iris='short' has no meaning for {kind}; leave it out$"):
            read_table(source, iris="short")
    with pytest.raises(ConfigError, match=r"^iris is .full., .* or .short.; not 'long'$"):
        read_table(write("a.nt", NT), iris="long")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.nt", NT + "<http://ex/a> <http://ex/r>\n", ":3: not valid N-Triples: line jumps are not allowed"),
        ("a.ttl", "@prefix e: <http://ex/> .\ne:a e:r ex:b .", ":2: not valid Turtle: "),
        ("a.ttl", "<a> <b> <c> .", ":1: not valid Turtle: No scheme found in an absolute IRI"),
        ("a.rdf", "<rdf:RDF", ":1: not valid RDF/XML: unclosed token"),
        ("a.jsonld", "{", ":1: not valid JSON-LD: "),
        ("a.jsonld", '{"\n@context": {}}', ":1: not valid JSON-LD: '\\n' is not allowed in JSON strings"),
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
