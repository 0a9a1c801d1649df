"""The facts of a knowledge base as a table, and as a dataset to train and rank with.

`zoo.kb` stands for the facts of now, `zoo.kb@17` for those after its 17th write: what a model was trained on can be
asked for again whatever has come since.
"""

import re
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pyarrow as pa

from hmem.errors import Hint, StoreError
from hmem.graph.dataset import WHY_NONE, Dataset, load_tables
from hmem.knowledge.store.store import Store

MAGIC = b"SQLite format 3\0"


def is_knowledge_base(data: str) -> bool:
    """Whether `data` names a file that only a knowledge base can be."""
    path, _ = split_moment(data)
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def split_moment(data: str) -> tuple[Path, int | None]:
    """`zoo.kb@17` is `zoo.kb` and 17; a file of that very name comes first."""
    whole = Path(data).expanduser()
    found = re.fullmatch(r"(.+)@(\d+)", data)
    if found is None or whole.exists():
        return whole, None
    return Path(found[1]).expanduser(), int(found[2])


def table_of(store: Store, as_of: datetime | int | None = None) -> pa.Table:
    """The facts of a store by name, as of a time or the number of a moment, oldest first."""
    facts = store.triples(as_of)  # first: names that come meanwhile do no harm
    entities, relations = (pa.array(names, pa.string()) for names in (store.entity_names(), store.relation_names()))
    columns = {"head": (entities, facts[:, 0]), "relation": (relations, facts[:, 1]), "tail": (entities, facts[:, 2])}
    return pa.table({name: names.take(pa.array(ids)) for name, (names, ids) in columns.items()})


def dataset_of(data: str) -> Dataset:
    """The facts of a knowledge base, some of them kept out of training to validate with, as of any file of facts."""
    path, moment = split_moment(data)
    with Store.open(path, read_only=True) as store:
        table = table_of(store, moment)
    if table.num_rows == 0:
        hint = Hint(text="add some with", command=f"hmem facts import {path} FILE", call="kb.add(head, relation, tail)")
        raise StoreError("{path} holds no facts to learn from", path=path, hint=hint)
    dataset = load_tables(path.name, {"train": table, "test": table.slice(0, 0)})
    kept = f"{len(dataset.valid):,} of the {table.num_rows:,} facts of {path} are kept out of training to validate with"
    if not len(dataset.valid):
        kept = f"no fact of {path} can be kept out of training to validate with: {WHY_NONE}"
    return replace(dataset, notes=(kept,))
