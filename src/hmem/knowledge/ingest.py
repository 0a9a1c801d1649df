"""New knowledge bases, and facts from wherever they are: files, folders, datasets, tables, triples."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

from hmem.graph.dataset import Dataset
from hmem.graph.readers.read import read_table
from hmem.graph.registry import load_dataset
from hmem.knowledge.model_link import attach
from hmem.knowledge.store.records import Written
from hmem.knowledge.store.store import Confidence, Store
from hmem.model.checkpoint import load
from hmem.sqlite_files import is_database

Progress = Callable[[int, int], None]  # how many facts are done, and of how many


def make(path: Path, *, model: Path | None, facts: object, source: str | None, overwrite: bool) -> None:
    """A new base with facts and a model. If anything is wrong with them there is none, and an old one is untouched."""
    table = None if facts is None else table_of(facts)
    if model is not None:
        load(model)  # says what is wrong with a folder that cannot be used
    with Store.building(path, overwrite=overwrite) as store:
        if table is not None:
            import_table(store, table, source=source)
        if model is not None:
            attach(store, model)


def import_table(
    store: Store,
    table: pa.Table,
    *,
    source: str | None,
    confidence: Confidence = None,
    progress: Progress | None = None,
) -> Written:
    """Store the facts of a table with columns head, relation and tail, in one write."""
    columns = (table.column(name) for name in ("head", "relation", "tail"))
    return store.add_columns(*columns, source=source, confidence=confidence, progress=progress)


def table_of(facts: object, **options: object) -> pa.Table:
    """The facts as a table. Of a dataset with splits those that a model may see: its train and observed facts.

    A path to a single file, or to a knowledge base, gives all its facts; `options` say how to read a file, as in
    `read_table`.
    """
    if isinstance(facts, str | os.PathLike) and not options and is_database(Path(facts).expanduser()):
        with Store.open(Path(facts).expanduser(), read_only=True) as store:
            return store.table()
    if isinstance(facts, str | os.PathLike) and not Path(facts).expanduser().is_file():
        facts = load_dataset(facts, **options)  # type: ignore[arg-type]
    if isinstance(facts, Dataset):
        return _table_of_dataset(facts)
    if isinstance(facts, str | os.PathLike):
        facts = Path(facts).expanduser()
    return read_table(facts, **options)  # type: ignore[arg-type]


def _table_of_dataset(dataset: Dataset) -> pa.Table:
    entities, relations = dataset.vocab.entities.to_arrow(), dataset.vocab.relations.to_arrow()
    columns = zip(("head", "relation", "tail"), (entities, relations, entities), strict=True)
    facts = np.asfortranarray(dataset.inference_triples("train"))  # so that each column lies in one piece
    return pa.table({name: names.take(pa.array(facts[:, place])) for place, (name, names) in enumerate(columns)})
