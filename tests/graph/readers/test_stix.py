"""STIX bundles, by a small one made by hand."""

import json
from pathlib import Path
from typing import Any

import pytest

from hmem.errors import DataError
from hmem.graph.readers.read import read_table
from hmem.graph.readers.stix import StixFact, plain, read_bundles
from tests.graph.readers.helpers import Write, triples

Object = dict[str, Any]


def thing(type: str, name: str, number: str = "", **fields: Any) -> Object:
    references = [{"source_name": "a report", "url": "http://x"}]
    if number:
        references += [{"source_name": "other", "external_id": "X1"}]
        references += [{"source_name": "mitre-attack", "external_id": number}]
    created = "2020-01-02T03:04:05.000Z"
    return {"type": type, "id": f"{type}--{name}", "name": name, "created": created} | {
        "external_references": references,
        **fields,
    }


def link(head: Object, relation: str, tail: Object, created: str = "2021-05-06T00:00:00Z", **fields: Any) -> Object:
    ends = {"source_ref": head["id"], "target_ref": tail["id"]}
    return {"type": "relationship", "relationship_type": relation, "created": created, **ends, **fields}


GROUP = thing("intrusion-set", "Akira", "G1024", aliases=["Akira", "GOLD  SAHARA"], x_mitre_domains=["enterprise"])
MALWARE = thing("malware", "Akira", "S1129", x_mitre_platforms=["Windows", "None"], x_mitre_aliases=["Akira"])
PHISHING = thing(
    "attack-pattern",
    "Phishing",
    "T1566",
    kill_chain_phases=[{"kill_chain_name": "mitre-attack", "phase_name": "initial-access"}],
    description="[Phishing](https://x/T1566) is a <code>lure</code>.(Citation: Some one 2020)\n\nMore.",
)
WINDOWS = thing("tool", "Windows", "S9")
NAMELESS = thing("threat-actor", "Nobody")
OLD = thing("malware", "Old", "S0001", revoked=True)
STALE = thing("attack-pattern", "Stale", "T0", x_mitre_deprecated=True)
OBJECTS = [
    *(GROUP, MALWARE, PHISHING, WINDOWS, NAMELESS, OLD, STALE),
    {"type": "marking-definition", "id": "marking-definition--1", "name": "notice"},
    thing("x-mitre-detection-strategy", "Detect", "DET1"),
    link(GROUP, "uses", MALWARE, "2024-02-20T10:00:00Z"),
    link(GROUP, "uses", PHISHING, "2023-01-01T10:00:00Z"),
    link(GROUP, "uses", PHISHING, "2022-01-01T10:00:00Z"),  # told twice
    link(MALWARE, "uses", WINDOWS),
    link(NAMELESS, "attributed-to", GROUP),
    link(GROUP, "uses", OLD),
    link(OLD, "uses", PHISHING),
    link(GROUP, "uses", STALE),
    link(WINDOWS, "uses", PHISHING, revoked=True),
    link(thing("x-mitre-detection-strategy", "Detect"), "detects", PHISHING),
]
FACTS = [
    StixFact("Akira (G1024)", "domain", "enterprise", "2020-01-02"),
    StixFact("Akira (G1024)", "uses", "Akira (S1129)", "2024-02-20"),
    StixFact("Akira (G1024)", "uses", "Phishing", "2022-01-01"),
    StixFact("Akira (S1129)", "platform", "Windows", "2020-01-02"),
    StixFact("Akira (S1129)", "uses", "Windows (S9)", "2021-05-06"),
    StixFact("Nobody", "attributed-to", "Akira (G1024)", "2021-05-06"),
    StixFact("Phishing", "tactic", "initial-access", "2020-01-02"),
]


def bundle(objects: list[Object]) -> str:
    return json.dumps({"type": "bundle", "id": "bundle--1", "objects": objects})


def test_the_facts_are_those_that_hold_between_named_objects(write: Write) -> None:
    assert read_bundles([write("a.json", bundle(OBJECTS))])[1] == FACTS


def test_an_entity_has_its_id_kind_aliases_and_a_plain_description(write: Write) -> None:
    entities, _ = read_bundles([write("a.json", bundle(OBJECTS))])
    assert [(each.name, each.id, each.kind) for each in entities] == [
        ("Akira (G1024)", "G1024", "group"),
        ("Akira (S1129)", "S1129", "malware"),
        ("Nobody", "threat-actor--Nobody", "threat actor"),
        ("Phishing", "T1566", "technique"),
        ("Windows (S9)", "S9", "tool"),
    ]
    assert entities[0].aliases == ("Akira", "GOLD SAHARA")
    assert entities[3].description == "Phishing is a lure. More."
    assert {each.date for each in entities} == {"2020-01-02"}


def test_an_object_of_two_bundles_is_one_entity(write: Write) -> None:
    again = {**GROUP, "x_mitre_domains": ["enterprise", "ics"]}
    paths = [write("a.json", bundle(OBJECTS)), write("b.json", bundle([again, PHISHING]))]
    entities, facts = read_bundles(paths)
    assert len(entities) == 5
    assert set(facts) - set(FACTS) == {StixFact("Akira (G1024)", "domain", "ics", "2020-01-02")}


def test_it_is_read_like_any_file_of_facts(write: Write) -> None:
    expected = [fact.names for fact in FACTS]
    found = read_table(write("a.json", bundle(OBJECTS)))
    assert triples(found.select(["head", "relation", "tail"])) == expected
    assert [str(day) for day in found.column("valid_from").to_pylist()] == [fact.date for fact in FACTS]
    assert read_table(write("a.txt", bundle(OBJECTS)), format="stix").equals(found)


def test_a_relationship_holds_from_its_start_to_its_stop(write: Write) -> None:
    timed = [
        {**each, "start_time": "2019-01-02T03:04:05Z", "stop_time": "2020-06-07T00:00:00Z"}
        if each.get("relationship_type") == "attributed-to"
        else each
        for each in OBJECTS
    ]
    rows = read_table(write("a.json", bundle(timed))).to_pylist()
    (held,) = [row for row in rows if row["valid_until"] is not None]
    assert (str(held["valid_from"]), str(held["valid_until"])) == ("2019-01-02", "2020-06-07")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"type": "bundle", "objects": [', "not valid JSON: Expecting value: line 1 column 32 (char 31)"),
        ('{"objects": []}', 'expected a STIX bundle: {"type": "bundle", "objects": […]}, found other JSON'),
        ('{"type": "bundle", "objects": [1]}', 'expected a STIX bundle: {"type": "bundle", "objects": […]}, found'),
        ("[]", 'expected a STIX bundle: {"type": "bundle", "objects": […]}, found other JSON'),
        (bundle([GROUP | {"x_mitre_domains": []}]), "expected relationships between named objects, found none"),
    ],
)
def test_what_is_no_bundle_is_refused(write: Write, text: str, said: str) -> None:
    path: Path = write("a.json", text)
    with pytest.raises(DataError) as error:
        read_table(path, format="stix")
    assert said in str(error.value)


def test_plain_text() -> None:
    assert plain("A [b](http://c) (Citation: D)(Citation: E 1)\n<br> f.") == "A b f."
