"""A graph with its splits, and the four questions evaluation asks of them.

Which facts are memories built from, which answers are filtered, which entities are candidates, what is asked?
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import pyarrow as pa
from jaxtyping import Int

from hmem.errors import ConfigError, DataError
from hmem.graph.fact_keys import FactKeys, fact_keys
from hmem.graph.intern import intern
from hmem.graph.names import Vocabulary
from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.qualifiers import evidence_of
from hmem.graph.readers.files import missing
from hmem.graph.readers.lines import Lines, open_text
from hmem.graph.readers.rdf_descriptions import without_literals
from hmem.graph.readers.read import read_table
from hmem.graph.readers.table import note_of
from hmem.graph.triples import Triples, as_triples

Split = Literal["train", "valid", "test"]
GraphName = Literal["train", "train+valid"]

STEMS = {
    "train": ("train",),
    "valid": ("valid", "validation", "val", "dev"),
    "test": ("test",),
    "observed": ("observed",),
}
HELDOUT = ("heldout",)
SHARE_HELD_BACK = 0.05  # of a graph without splits, for each of validation and test
FEWEST = 20  # of what is left to hold back where most facts were trained on before
WHY_NONE = "nearly all are the only ones about some entity or relation"


@dataclass(frozen=True, kw_only=True, repr=False)
class Dataset:
    """Facts in train, validation and test, over one vocabulary.

    A set with held-out entities also has `heldout`, the entities that training never sees, and `observed`, the facts
    that tell about them at inference. Only their side of a fact is asked, and the answers are held-in entities.
    """

    name: str
    vocab: Vocabulary
    train: Triples
    valid: Triples
    test: Triples
    observed: Triples | None = None
    heldout: Int[np.ndarray, " H"] | None = None
    qualifiers: Mapping[str, pa.Table] = field(default_factory=dict)  # by split, of the files that say more of facts
    duplicates: int = 0
    notes: tuple[str, ...] = field(default=())  # for the user to read, such as of a split made on the spot
    entities: Path | None = None  # a table of what is known of its entities besides, for `readers.entities`

    def __repr__(self) -> str:
        sizes = ", ".join(f"{len(self.split(split)):,} {split}" for split in get_args(Split))
        names = f"{self.num_entities:,} entities, {self.num_relations:,} relations"
        return f"Dataset({self.name!r}: {names}, {sizes}{''.join(f'; {note}' for note in self.notes)})"

    @property
    def num_entities(self) -> int:
        return len(self.vocab.entities)

    @property
    def num_relations(self) -> int:
        return len(self.vocab.relations)

    @property
    def num_roles(self) -> int:
        return 2 * self.num_relations

    def split(self, split: Split) -> Triples:
        return {"train": self.train, "valid": self.valid, "test": self.test}[split]

    def inference_triples(self, graph: GraphName) -> Triples:
        """The facts memories are built from: always those observed, and validation only when asked for ("+")."""
        if graph not in get_args(GraphName):
            raise ConfigError(f'graph is "train" or "train+valid", not "{graph}"', option="graph", found=graph)
        parts = [self.train]
        if self.observed is not None:
            parts.append(self.observed)
        if graph == "train+valid":
            parts.append(self.valid)
        return np.concatenate(parts)

    def inference_graph(self, graph: GraphName) -> Neighborhoods:
        return self.graph_of(self.inference_triples(graph))

    def filter_graph(self) -> Neighborhoods:
        """The facts of all splits: their other answers are filtered out of a ranking, in validation as in test."""
        return self.graph_of(self.everything())

    def graph_of(self, facts: Triples) -> Neighborhoods:
        """An index of these facts, with room for all entities of the dataset."""
        return Neighborhoods.build(facts, self.num_entities, self.num_relations)

    def everything(self) -> Triples:
        return np.concatenate([self.inference_triples("train+valid"), self.test])

    @property
    def validates_held_in(self) -> bool:
        """Whether entities are held out, and no validation fact is about exactly one of them."""
        if self.heldout is None or not len(self.valid):
            return False
        return not (np.isin(self.valid[:, [0, 2]], self.heldout).sum(1) == 1).any()

    def heldin(self) -> Int[np.ndarray, " C"] | None:
        """The candidates, where they are not simply all entities."""
        if self.heldout is None:
            return None
        return np.setdiff1d(np.arange(self.num_entities), self.heldout)


def load_tables(
    name: str,
    tables: Mapping[str, pa.Table],
    heldout: list[str] | None = None,
    trained: FactKeys | None = None,
) -> Dataset:
    """A dataset from one table per split; `train` numbers the names first.

    Facts for validation or test that are to be taken from train are none of those that were `trained` on before.
    """
    vocab, duplicates, left_out, parts, qualifiers = Vocabulary(), 0, 0, {}, {}
    for split in STEMS:
        if split in tables:
            counted = evidence_of(tables[split])
            if tables[split].num_rows and not counted.num_rows:
                raise DataError(f"{name}: expected facts to learn from, found only such as a model inferred")
            facts, literals = without_literals(counted)
            if not len(facts) and literals:
                raise DataError(f"{name}: expected facts between entities, found only values of entities")
            interned = intern(facts, vocab)
            vocab, parts[split] = interned.vocab, interned.triples
            duplicates, left_out = duplicates + interned.duplicates, left_out + literals
            if interned.qualifiers.num_columns:
                qualifiers[split] = interned.qualifiers
    notes = [note for table in tables.values() if (note := note_of(table)) is not None]
    if left_out:
        notes.append(f"{left_out:,} statements with literals are left out: values and names are no entities")
    if "valid" not in parts or "test" not in parts:
        parts, note = _split_on_the_spot(parts, vocab, trained)
        notes.append(note)
        qualifiers.pop("train", None)  # the rows of which are others now
    held = None
    if heldout is not None:
        for entity in heldout:  # a held-out entity may have no fact in any split
            vocab.entities.add(entity)
        held = np.unique(vocab.entities.ids_of(heldout))
    made = Dataset(
        name=name,
        vocab=vocab,
        train=parts["train"],
        valid=parts["valid"],
        test=parts["test"],
        observed=parts.get("observed", as_triples([])) if held is not None else None,
        heldout=held,
        qualifiers=qualifiers,
        duplicates=duplicates,
        notes=tuple(notes),
    )
    if made.validates_held_in:
        note = "no validation fact is about a held-out entity: they are used as they are, and say less about the test"
        made = replace(made, notes=(*made.notes, note))
    return made


def load_facts(source: object, **options: object) -> Dataset:
    """A single file of facts or a table in memory, split at random with a fixed seed; its notes tell the sizes."""
    name = Path(source).name if isinstance(source, str | os.PathLike) else type(source).__name__
    return load_tables(name, {"train": read_table(source, **options)})  # type: ignore[arg-type]


def load_splits(sources: Mapping[object, object], **options: object) -> Dataset:
    """The dataset of some splits by name, each in any form that `read_table` reads."""
    unknown = [name for name in sources if name not in STEMS]
    if unknown or "train" not in sources:
        found = ", ".join(map(str, sources)) or "none"
        raise DataError(expected=f"splits called {', '.join(STEMS)}, of which train has to be there", found=found)
    tables = {str(name): read_table(source, **options) for name, source in sources.items()}  # type: ignore[arg-type]
    return load_tables("splits", tables)


def load_folder(path: str | os.PathLike[str], name: str | None = None) -> Dataset:
    """A folder with train, valid and test files in any format that can be read."""
    path = Path(path)
    if not path.is_dir():
        raise DataError(path=path, expected="a folder", found="a file") if path.exists() else missing(path)
    found = {split: _find(path, stems) for split, stems in STEMS.items()}
    if found["train"] is None:
        present = ", ".join(sorted(child.name for child in path.iterdir())[:8]) or "nothing"
        raise DataError(f"expected a file named train.tsv, train.txt or similar; found {present}", path=path)
    tables = {split: read_table(file) for split, file in found.items() if file is not None}
    heldout_file = _find(path, HELDOUT)
    if found["observed"] is not None and heldout_file is None:
        problem = f"{found['observed'].name} tells of held-out entities; expected heldout.tsv to list them"
        raise DataError(problem, path=path)
    heldout = None if heldout_file is None else _read_column(heldout_file)
    return load_tables(name or path.name, tables, heldout)


def _find(folder: Path, stems: tuple[str, ...]) -> Path | None:
    """The file `train.*` or `train2id.*`; an error if there are two to choose from."""
    wanted = {form for stem in stems for form in (stem, stem + "2id")}
    matches = sorted(child for child in folder.iterdir() if child.is_file() and child.name.split(".")[0] in wanted)
    if len(matches) > 1:
        problem = f"{matches[0].name} and {matches[1].name} are both a {stems[0]} file; keep one"
        raise DataError(problem, path=folder)
    return matches[0] if matches else None


def _read_column(path: Path) -> list[str]:
    """A one-column file of names; blank lines are skipped."""
    with open_text(path) as stream:
        return [line.rstrip("\r\n") for line in Lines(stream, path) if line.strip()]


def spare_rows(facts: Triples, count: int, order: Int[np.ndarray, " _"] | None = None) -> list[int]:
    """At most `count` facts without which each entity and relation still has one; the first in `order`, or any."""
    order = np.random.default_rng(0).permutation(len(facts)) if order is None else order
    uses_entity = np.bincount(facts[:, [0, 2]].ravel())
    uses_relation = np.bincount(facts[:, 1])
    taken: list[int] = []
    for row in order.tolist():
        if len(taken) == count:
            break
        head, relation, tail = facts[row].tolist()
        ends = 2 if head == tail else 1
        if uses_entity[head] > ends and uses_entity[tail] > ends and uses_relation[relation] > 1:
            taken.append(row)
            uses_entity[[head, tail]] -= ends
            uses_relation[relation] -= 1
    return taken


def _split_on_the_spot(
    parts: dict[str, Triples], vocab: Vocabulary, trained: FactKeys | None
) -> tuple[dict[str, Triples], str]:
    """Take the missing validation or test facts out of train, such that each entity and relation stays in it.

    Facts are drawn by their keys: whatever else is in train, and in whichever order, mostly the same ones are taken.
    """
    absent = [split for split in ("valid", "test") if split not in parts]
    train = parts["train"]
    keys = fact_keys(train, vocab)
    order, wanted = np.argsort(keys, kind="stable"), max(1, round(SHARE_HELD_BACK * len(train)))
    if trained is not None:
        order = order[~np.isin(keys[order], trained)]
        wanted = min(wanted, _affordable(keys[order]))
    taken = spare_rows(train, wanted * len(absent), order)
    if trained is not None and len(taken) < min(FEWEST, SHARE_HELD_BACK * len(train) / 4):
        taken = []  # so few say nothing
    share = len(taken) // len(absent)
    split = dict(parts)
    rows = np.array(taken[: share * len(absent)], dtype=np.int64)
    for position, name in enumerate(absent):
        split[name] = train[np.sort(rows[position * share : (position + 1) * share])]
    split["train"] = np.delete(train, rows, axis=0)
    if not share:
        return split, f"no {' or '.join(absent)} file, and too few facts to take any from train: {WHY_NONE}"
    sizes = " and ".join(f"{len(split[name]):,} for {name}" for name in absent)
    return split, f"no {' or '.join(absent)} file: {sizes} taken from train at random (the same each time)"


def _affordable(keys: FactKeys) -> int:
    """How many of the facts that were never trained on are kept out of training again.

    Those that would be if nothing had been trained on, with keys in the first twentieth; or a quarter, so that most of
    what is new is learned.
    """
    below = int((keys < np.uint64(SHARE_HELD_BACK * 2.0**64)).sum())
    return max(below, len(keys) // 4, 1)
