"""Facts from files and pipes."""

import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from hmem.cli import output
from hmem.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

    from hmem.knowledge.store.store import Store

ROLES = ("head", "relation", "tail")
STANDARD = "-"  # input or output, as in any command


def open_store(path: Path, *, read_only: bool = False) -> "Store":
    """The facts of a knowledge base, without its model."""
    from hmem.knowledge.store.store import Store

    return Store.open(path, read_only=read_only)


def read(source: str, **how: object) -> "pa.Table":
    """The facts of a file in any format, a dataset, another knowledge base, or tab-separated lines on standard input.

    Of a dataset with splits they are those that a model may see.
    """
    from hmem.graph.readers.read import read_table
    from hmem.graph.readers.table import note_of
    from hmem.knowledge.store.as_dataset import is_knowledge_base, table_of

    if source != STANDARD:
        if not how and is_knowledge_base(source):
            return table_of(source)
        if not how and _is_dataset(source):
            return table_of(output.load(source))
        table = read_table(Path(source).expanduser(), **how)  # type: ignore[arg-type]
        if (note := note_of(table)) is not None:
            output.note(note)
        return table
    with tempfile.NamedTemporaryFile(suffix=".tsv") as copy:  # the readers go through a file twice
        shutil.copyfileobj(sys.stdin.buffer, copy)
        copy.flush()
        try:
            return read_table(copy.name, **{"format": "tsv", "header": False, **how})  # type: ignore[arg-type]
        except DataError as error:
            error.path = Path("standard input")
            raise


def _is_dataset(name: str) -> bool:
    """Whether this is a folder, or no file but the name of a registered dataset."""
    from hmem.graph.catalog import CATALOG

    path = Path(name).expanduser()
    if path.exists():
        return path.is_dir()
    wanted = name.casefold()
    return any(wanted in (entry.name.casefold(), entry.folder.casefold()) for entry in CATALOG.values())
