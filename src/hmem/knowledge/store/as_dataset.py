"""Facts as a table, wherever they are, and those of a knowledge base as a dataset to train and rank with.

`zoo.kb` stands for the facts of now, `zoo.kb@17` for those after its 17th write: what a model was trained on can be
asked for again whatever has come since.
"""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from hmem.errors import Hint, Place, StoreError
from hmem.graph.dataset import WHY_NONE, Dataset, load_tables
from hmem.graph.descriptions import Told
from hmem.graph.fact_keys import FactKeys, fact_keys
from hmem.graph.readers.read import read_table
from hmem.graph.readers.table import table_of_triples
from hmem.graph.registry import load_dataset
from hmem.knowledge.store.database import KINDS
from hmem.knowledge.store.evidence import Evidence
from hmem.knowledge.store.places import Address, At, split_moment
from hmem.knowledge.store.store import Store
from hmem.sqlite_files import is_database


def is_knowledge_base(data: str) -> bool:
    """Whether `data` names what only a knowledge base can be: a file, or an address."""
    return _is_base(split_moment(data)[0])


def named_dataset(facts: object) -> object:
    """The dataset, if `facts` are the name of one or a folder; anything else as it is."""
    if not isinstance(facts, str | os.PathLike):
        return facts
    place = split_moment(facts)[0]
    return facts if _is_base(place) or Path(facts).expanduser().is_file() else load_dataset(facts)


def table_of(facts: object, **options: object) -> pa.Table:
    """The facts of a file, a knowledge base, a folder, a dataset, a table, a graph or triples, as a table.

    Of a dataset or a folder with splits those that a model may see: its train and observed facts. What qualifies them
    stands in more columns. `options` say how to read a file, as in `read_table`.
    """
    if isinstance(facts, str | os.PathLike | Address):
        place, moment = split_moment(facts)
        if not options and _is_base(place):
            with Store.open(place, read_only=True) as store:
                return store.table(moment, qualified=True)
        facts = place if isinstance(place, Path) and place.is_file() else load_dataset(facts, **options)  # type: ignore[arg-type]
    if isinstance(facts, Dataset):
        names = facts.vocab.entities.to_arrow(), facts.vocab.relations.to_arrow()
        parts = {"train": facts.train, **({} if facts.observed is None else {"observed": facts.observed})}
        return pa.concat_tables(
            [_qualified(table_of_triples(rows, *names), facts.qualifiers.get(part)) for part, rows in parts.items()],
            promote_options="default",
        )
    return read_table(facts, **options)  # type: ignore[arg-type]


def told_by(facts: object) -> Told:
    """What a knowledge base says besides its facts, if `facts` names one: labels of now, values of the same moment."""
    if not isinstance(facts, str | os.PathLike | Address):
        return Told([], [])
    place, moment = split_moment(facts)
    if not _is_base(place):
        return Told([], [])
    with Store.open(place, read_only=True) as store:
        described = [each for kind in KINDS for each in store.naming.every(kind)]
        values = [(each.entity, each.property, each.as_value()) for each in store.values.listing(as_of=moment)]
    return Told(described, values)


def _is_base(place: Place) -> bool:
    return isinstance(place, Address) or (isinstance(place, Path) and is_database(place))


def _qualified(table: pa.Table, qualifiers: pa.Table | None) -> pa.Table:
    """The facts of a dataset with what its files say of them."""
    if qualifiers is not None:
        for name in qualifiers.column_names:
            table = table.append_column(name, qualifiers.column(name))
    return table


def dataset_of(
    data: At, *, moment: int | None = None, trained: FactKeys | None = None, valid: FactKeys | None = None
) -> Dataset:
    """The facts of a knowledge base, some of them kept out of training to validate with, as of any file of facts.

    They are those of a moment, or of now.

    None of them is one that was `trained` on before; or they are those with the keys `valid`.
    """
    path, named = (data, None) if moment is not None else split_moment(data)
    with Store.open(path, read_only=True) as store:
        table = store.table(named if moment is None else moment, evidence=Evidence())
        path = store.path
    if table.num_rows == 0:
        hint = Hint(text="add some with", command=f"hmem facts import {path} FILE", call="kb.add(head, relation, tail)")
        raise StoreError("{path} holds no facts to learn from", path=path, hint=hint)
    none = table.slice(0, 0)
    if valid is None:
        dataset = load_tables(path.name, {"train": table, "test": none}, trained=trained)
    else:
        dataset = load_tables(path.name, {"train": table, "valid": none, "test": none})
        is_valid = np.isin(fact_keys(dataset.train, dataset.vocab), valid)
        dataset = replace(dataset, train=dataset.train[~is_valid], valid=dataset.train[is_valid])
    kept = f"{len(dataset.valid):,} of the {table.num_rows:,} facts of {path} are kept out of training to validate with"
    if trained is not None:
        kept += "; no earlier model was trained with them"
    if not len(dataset.valid):
        why = WHY_NONE if trained is None else "the model in use was trained with nearly all that could be"
        kept = f"no fact of {path} can be kept out of training to validate with: {why}"
    return replace(dataset, notes=(kept,))
