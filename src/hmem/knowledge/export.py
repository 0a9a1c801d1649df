"""What a base holds into a file of another format; docs/data.md says what each of them keeps."""

import os
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, parquet

from hmem.errors import ConfigError, DataError, Hint
from hmem.graph.rdf_terms import PREFIXES, import_pyoxigraph
from hmem.graph.readers.compression import CODECS, bare_path
from hmem.graph.readers.neo4j import NODES_FILE, RELATIONSHIPS_FILE
from hmem.graph.readers.rdf import RDF_FORMATS
from hmem.knowledge import graphml, neo4j
from hmem.knowledge.rdf import triples
from hmem.knowledge.store.evidence import Evidence
from hmem.knowledge.store.store import Store
from hmem.sqlite_files import refuse_to_replace, replacing

TABLES = ("tsv", "csv", "parquet")
FORMATS = (*TABLES, "nt", "ttl", "jsonld", "graphml", "neo4j")
AT_ONCE = 10_000  # pieces of text that are written together
NOT_IN_TSV = r"[\t\r\n]"
File = IO[bytes] | Any  # or a stream of Arrow's
Moment = datetime | int | None


def format_of(target: str, format: str | None = None) -> str:
    """What to write: as said, or by the name's suffix, behind one of compression."""
    found = format or bare_path(Path(target)).suffix.lower().removeprefix(".")
    if found not in FORMATS:
        what = f'format "{found}"' if format else f'"{target}"'
        endings = ", ".join(f".{each}" for each in FORMATS if each != "neo4j")
        raise ConfigError(f"{what}: expected a name that ends in {endings}, or as format one of {', '.join(FORMATS)}")
    return found


def export(store: Store, target: str | os.PathLike[str], format: str, as_of: Moment = None, *, overwrite: bool) -> int:
    """Write what a base holds, and return how many facts these are. A file appears whole or not at all.

    TSV has no heading and only the facts that are evidence, CSV and Parquet also what qualifies them; the others have
    everything. `train.tsv.gz`, `.bz2` and `.zst` are compressed; of Neo4j's two files `target` is the folder.
    """
    moment = store.moment if as_of is None else as_of  # whatever is written meanwhile
    path = Path(target).expanduser()
    files: dict[Path, Callable[[File], None]] = {path: partial(write_to, store, format, moment)}
    if format == "tsv":  # before it is said that a file is in the way
        refuse_tabs(store.table(moment, evidence=Evidence()), "CSV and Parquet can hold it")
    if format == "neo4j":
        if path.exists() and not path.is_dir():
            raise DataError("{path} is a file; neo4j is two files in a folder", path=path)
        parts = {NODES_FILE: neo4j.nodes, RELATIONSHIPS_FILE: neo4j.relationships}
        files = {path / name: partial(_write_text, rows(store, moment)) for name, rows in parts.items()}
    for each in files:
        _refuse_to_replace(each, overwrite=overwrite)
    if format == "neo4j":
        path.mkdir(parents=True, exist_ok=True)
    for each, produce in files.items():
        _write_file(each, produce)
    return len(store.triples(moment, evidence=Evidence() if format == "tsv" else None))


def write_to(store: Store, format: str, as_of: Moment, file: File) -> None:
    """The same into an open file."""
    match format:
        case "graphml":
            _write_text(graphml.graphml(store, as_of), file)
        case "neo4j":
            raise ConfigError("neo4j is two files in a folder; name the folder")
        case "tsv" | "csv" | "parquet":
            evidence = Evidence() if format == "tsv" else None  # it could not say that a fact is none
            write_table(store.table(as_of, qualified=format != "tsv", evidence=evidence), file, format)
        case _:
            oxigraph = import_pyoxigraph("RDF files need")
            made = triples(store, oxigraph, as_of=as_of, triple_terms=format != "jsonld")
            kind = getattr(oxigraph.RdfFormat, RDF_FORMATS[format])
            prefixes = PREFIXES if format == "ttl" else None
            oxigraph.serialize((oxigraph.Triple(*each) for each in made), file, kind, prefixes=prefixes)


def write_table(table: pa.Table, file: File, format: str) -> None:
    match format:
        case "parquet":
            parquet.write_table(table, file)
        case "csv":
            csv.write_csv(table, file)
        case _:  # pyarrow would refuse names with a quote in them
            refuse_tabs(table, "CSV and Parquet can hold it")
            for text in tsv_lines(table):
                file.write(text)


def tsv_lines(table: pa.Table) -> Iterator[bytes]:
    """The facts as tab-separated lines, some at a time."""
    for line in pc.binary_join_element_wise(*table.columns, "\t").chunks:
        yield "".join(f"{fact}\n" for fact in line.to_pylist()).encode()


def refuse_tabs(table: pa.Table, advice: str = "") -> None:
    """A DataError if a name cannot be written as TSV."""
    for column in table.columns:
        wrong = column.filter(pc.match_substring_regex(column, NOT_IN_TSV))
        if len(wrong):
            problem = f"the name {wrong[0].as_py()!r} has a tab or a line end in it, and cannot be written as TSV"
            raise DataError(problem, hint=advice or None)


def _refuse_to_replace(path: Path, *, overwrite: bool) -> None:
    refuse_to_replace(path)
    if path.exists() and not overwrite:
        raise DataError("{path} exists already", path=path, hint=Hint(text="to replace it", option="overwrite"))


def _write_file(path: Path, produce: Callable[[File], None]) -> None:
    """A file with what is produced, compressed if its name says so."""
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


def _write_text(pieces: Iterator[str], file: File) -> None:
    """Text, some at a time."""
    while some := "".join(islice(pieces, AT_ONCE)):
        file.write(some.encode())
