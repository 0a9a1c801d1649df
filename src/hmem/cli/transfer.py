"""Facts from files and pipes, and into them."""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING

from hmem.cli import output
from hmem.errors import ConfigError, DataError, Hint
from hmem.sqlite_files import refuse_to_replace, replacing

if TYPE_CHECKING:
    from datetime import datetime

    import pyarrow as pa

    from hmem.knowledge.store.store import Store

ROLES = ("head", "relation", "tail")
STANDARD = "-"  # input or output, as in any command
FORMATS = ("tsv", "csv", "parquet", "nt", "ttl", "jsonld", "graphml", "neo4j")
TABLES = ("tsv", "csv", "parquet")
AT_ONCE = 10_000  # pieces of text that are written together
NOT_IN_TSV = r"[\t\r\n]"


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


def format_of(target: str, format: str | None) -> str:
    """What to write: as said, or by the name's suffix, behind one of compression."""
    from hmem.graph.readers.compression import bare_path

    found = format or (bare_path(Path(target)).suffix.lower().removeprefix(".") if target != STANDARD else "tsv")
    if found not in FORMATS:
        what = f'format "{found}"' if format else f'"{target}"'
        endings = ", ".join(f".{each}" for each in FORMATS[:-1])
        raise ConfigError(f"{what}: expected one of {endings}, or --format with one of {', '.join(FORMATS)}")
    if found == "neo4j" and target == STANDARD:
        raise ConfigError("neo4j is two files in a folder; name the folder")
    return found


def export(store: "Store", target: str, format: str, as_of: "datetime | None", *, overwrite: bool) -> int:
    """Write what a base holds, and return how many facts these are. A file appears whole or not at all.

    TSV has no heading and only the facts, CSV and Parquet also what qualifies them; the others have everything.
    `train.tsv.gz`, `.bz2` and `.zst` are compressed.
    """
    from hmem.graph.readers.neo4j import NODES_FILE, RELATIONSHIPS_FILE
    from hmem.knowledge import graphml, neo4j

    if format in TABLES:
        table = store.table(as_of, qualified=format != "tsv")
        if format == "tsv":
            refuse_tabs(table, "CSV and Parquet can hold it")
        write(target, lambda file: _write(table, file, format), overwrite=overwrite)
        return len(table)
    if format == "neo4j":
        folder = Path(target).expanduser()
        if folder.exists() and not folder.is_dir():
            raise DataError("{path} is a file; neo4j is two files in a folder", path=target)
        files = {folder / NODES_FILE: neo4j.nodes, folder / RELATIONSHIPS_FILE: neo4j.relationships}
        for path in files:
            _refuse_to_replace(path, overwrite=overwrite)
        folder.mkdir(parents=True, exist_ok=True)
        for path, rows in files.items():
            write(str(path), partial(_write_text, rows(store, as_of)), overwrite=overwrite)
    elif format == "graphml":
        write(target, partial(_write_text, graphml.graphml(store, as_of)), overwrite=overwrite)
    else:
        write(target, lambda file: _write_rdf(store, file, format, as_of), overwrite=overwrite)
    return len(store.triples(as_of))


def write(target: str, produce: "Callable[[IO[bytes] | pa.NativeFile], None]", *, overwrite: bool) -> None:
    """Have a file written, compressed if its name says so, or standard output."""
    import pyarrow as pa

    from hmem.graph.readers.compression import CODECS

    if target == STANDARD:
        produce(sys.stdout.buffer)
        return
    path = Path(target).expanduser()
    _refuse_to_replace(path, overwrite=overwrite)
    codec = CODECS.get(path.suffix.lower())
    try:
        with replacing(path) as beside, beside.open("wb") as file:
            if codec is None:
                produce(file)
            else:
                with pa.CompressedOutputStream(file, codec) as stream:
                    produce(stream)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise DataError(f"{path} cannot be written: {reason}") from None


def _refuse_to_replace(path: Path, *, overwrite: bool) -> None:
    refuse_to_replace(path)
    if path.exists() and not overwrite:
        raise DataError("{path} exists already", path=path, hint=Hint(text="to replace it", option="overwrite"))


def _write_text(pieces: Iterator[str], file: "IO[bytes] | pa.NativeFile") -> None:
    """Text, some at a time."""
    while some := "".join(islice(pieces, AT_ONCE)):
        file.write(some.encode())


def _write_rdf(store: "Store", file: "IO[bytes] | pa.NativeFile", format: str, as_of: "datetime | None") -> None:
    from hmem.graph.rdf_terms import PREFIXES, import_pyoxigraph
    from hmem.graph.readers.rdf import RDF_FORMATS
    from hmem.knowledge.rdf import triples

    oxigraph = import_pyoxigraph("RDF files need")
    kind = getattr(oxigraph.RdfFormat, RDF_FORMATS[format])
    made = triples(store, oxigraph, as_of=as_of, triple_terms=format != "jsonld")
    oxigraph.serialize(
        (oxigraph.Triple(*each) for each in made), file, kind, prefixes=PREFIXES if format == "ttl" else None
    )


def _write(table: "pa.Table", file: "IO[bytes] | pa.NativeFile", format: str) -> None:
    from pyarrow import csv, parquet

    match format:
        case "parquet":
            parquet.write_table(table, file)
        case "csv":
            csv.write_csv(table, file)
        case _:  # pyarrow would refuse names with a quote in them
            for text in tsv_lines(table):
                file.write(text)


def tsv_lines(table: "pa.Table") -> Iterator[bytes]:
    """The facts as tab-separated lines, some at a time."""
    import pyarrow.compute as pc

    for line in pc.binary_join_element_wise(*table.columns, "\t").chunks:
        yield "".join(f"{fact}\n" for fact in line.to_pylist()).encode()


def refuse_tabs(table: "pa.Table", advice: str = "") -> None:
    """A DataError if a name cannot be written as TSV."""
    import pyarrow.compute as pc

    for column in table.columns:
        wrong = column.filter(pc.match_substring_regex(column, NOT_IN_TSV))
        if len(wrong):
            problem = f"the name {wrong[0].as_py()!r} has a tab or a line end in it, and cannot be written as TSV"
            raise DataError(problem, hint=advice or None)
