"""GraphML as other programs write it, and what is refused."""

from pathlib import Path

import pytest

from hmem.errors import DataError
from hmem.graph.readers.rdf_descriptions import split_facts
from hmem.graph.readers.read import read_table
from hmem.graph.values import Value

HEAD = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
KEYS = """
<key id="d0" for="node" attr.name="name" attr.type="string"/>
<key id="d1" for="node" attr.name="age" attr.type="int"/>
<key id="d2" for="node" attr.name="Type" attr.type="string"/>
<key id="d3" for="edge" attr.name="label" attr.type="string"/>
<key id="d4" for="edge" attr.name="weight" attr.type="double"/>
<key id="d5" for="edge" attr.name="confidence" attr.type="double"/>
"""
GRAPH = """<graph edgedefault="directed">
<node id="n0"><data key="d0">Ada &amp; co</data><data key="d1">36</data><data key="d2">person</data></node>
<node id="n1"><data key="d9">no such key</data></node>
<edge source="n0" target="n1"><data key="d3">knows</data><data key="d4">2.5</data><data key="d5">0.5</data></edge>
<edge source="n1" target="n2" label="likes"/>
</graph></graphml>"""


def write(folder: Path, text: str) -> Path:
    path = folder / "a.graphml"
    path.write_text(text)
    return path


def test_facts_names_and_values(tmp_path: Path) -> None:
    facts, told = split_facts(read_table(write(tmp_path, HEAD + KEYS + GRAPH)))
    assert [tuple(row.values()) for row in facts.select(["head", "relation", "tail", "confidence"]).to_pylist()] == [
        ("n0", "knows", "n1", 0.5),
        ("n1", "likes", "n2", None),
    ]
    (ada,) = told.descriptions
    assert (ada.id, ada.label, ada.kind) == ("n0", "Ada & co", "person")
    assert told.values == [("n0", "age", Value.of(36))]


@pytest.mark.parametrize(
    ("graph", "problem"),
    [
        ('<graph edgedefault="undirected"><edge source="a" target="b" label="r"/></graph>', "directed edges"),
        ('<graph edgedefault="directed"><edge source="a" target="b"/></graph>', "an edge with a relation"),
        ('<graph edgedefault="directed"><edge source="a" label="r"/></graph>', "a node with target"),
        ('<graph edgedefault="directed"><node id="a"/></graph>', "expected edges, found none"),
        ('<graph edgedefault="directed"><hyperedge/></graph>', "an edge with two ends"),
        ("<graph>", "not valid GraphML: "),
        ('<graph edgedefault="directed">' + "<graph>" * 2000, "more than 1,000 elements inside each other"),
        (
            '<key id="k" attr.name="hmem.relations" for="graph"/><graph><data key="k">[3]</data></graph>',
            "a list of relations",
        ),
    ],
)
def test_what_is_refused(tmp_path: Path, graph: str, problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        read_table(write(tmp_path, f"{HEAD}{graph}</graphml>"))


def test_a_bomb_of_entities_is_refused(tmp_path: Path) -> None:
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10 if n else "x" * 1000}">' for n in range(8))
    with pytest.raises(DataError, match="an entity"):
        read_table(write(tmp_path, f"<!DOCTYPE graphml [{entities}]>{HEAD}<graph>&e7;</graph></graphml>"))


def test_no_file_is_read_from_inside_another(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    text = f'<!DOCTYPE graphml [<!ENTITY e SYSTEM "file://{tmp_path}/secret">]>{HEAD}'
    text += '<graph edgedefault="directed"><edge source="a&e;" target="b" label="r"/></graph></graphml>'
    with pytest.raises(DataError):
        assert "secret" not in str(read_table(write(tmp_path, text)).to_pylist())
