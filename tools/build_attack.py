"""Make the bundled graph of MITRE ATT&CK from the public STIX files.

    python tools/build_attack.py enterprise-attack.json mobile-attack.json ics-attack.json [--out DIR]

The files are those of https://github.com/mitre-attack/attack-stix-data (STIX 2.1) or https://github.com/mitre/cti
(STIX 2.0); both give the same graph. What is written is told in src/hmem/bundled/attack/README.md.
"""

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from hmem.errors import HMemError
from hmem.graph.canonical import pack
from hmem.graph.readers.stix import StixEntity, StixFact, read_bundles

OUT = Path(__file__).parents[1] / "src" / "hmem" / "bundled" / "attack"
LAST_OF_TRAIN, LAST_OF_VALID = "2023-12-31", "2024-12-31"
FACT_HEADING = ("head", "relation", "tail", "valid_from")
ENTITY_HEADING = ("id", "label", "kind", "description", "aliases")
LONGEST = 140  # characters of a description
END_OF_SENTENCE = re.compile(r"(?<=[a-z0-9)\"\]’]{2})\.\s+(?=[A-Z])")


def split(facts: Sequence[StixFact]) -> dict[str, list[StixFact]]:
    """Train is all until the end of 2023. The facts of 2024 and 2025 that are about what train has are valid and test;
    the others, of newcomers, are those that come later."""
    parts: dict[str, list[StixFact]] = {"train": [fact for fact in facts if fact.date <= LAST_OF_TRAIN]}
    ends = {end for fact in parts["train"] for end in (fact.head, fact.tail)}
    new = [fact for fact in facts if fact.date > LAST_OF_TRAIN]
    known = [fact for fact in new if fact.head in ends and fact.tail in ends]
    parts["valid"] = [fact for fact in known if fact.date <= LAST_OF_VALID]
    parts["test"] = [fact for fact in known if fact.date > LAST_OF_VALID]
    parts["later"] = [fact for fact in new if fact.head not in ends or fact.tail not in ends]
    return parts


def entity_rows(entities: Iterable[StixEntity]) -> list[tuple[str, ...]]:
    """The table of entities. The id is the name that facts have; the id of ATT&CK is the first of the aliases."""
    return [
        (each.name, each.name, each.kind, shortened(each.description), "|".join((each.id, *each.aliases)))
        for each in entities
    ]


def shortened(text: str) -> str:
    """The first sentence, or as many of its words as there is room for."""
    sentence = END_OF_SENTENCE.split(text)[0]
    if len(sentence) <= LONGEST:
        return sentence.removesuffix(".")
    return sentence[: LONGEST - 1].rsplit(" ", 1)[0].rstrip(",;:") + "…"


def text_of(heading: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> bytes:
    return "".join("\t".join(row) + "\n" for row in [heading, *rows]).encode()


def build(bundles: Sequence[Path], out: Path) -> None:
    entities, facts = read_bundles(bundles)
    texts = {
        part: text_of(FACT_HEADING, [(*fact.names, fact.date) for fact in rows]) for part, rows in split(facts).items()
    }
    texts["entities"] = text_of(ENTITY_HEADING, entity_rows(entities))
    out.mkdir(parents=True, exist_ok=True)
    for part, text in texts.items():
        packed, rows = pack(text), text.count(b"\n") - 1
        (out / f"{part}.tsv.gz").write_bytes(packed)
        print(f"{part}.tsv.gz: {rows:,} rows, {len(packed):,} bytes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundles", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    build(given.bundles, given.out)


if __name__ == "__main__":
    try:
        main()
    except HMemError as error:
        sys.exit(f"build_attack: {error}")
