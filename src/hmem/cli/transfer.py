"""`hmem facts import` and `export`: facts from files and pipes, and into them."""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hmem.cli import options, output
from hmem.cli.names import count_new_names, new_names
from hmem.cli.progress import import_progress
from hmem.errors import DataError, Place, plural
from hmem.knowledge.store.places import shown_place

if TYPE_CHECKING:
    import pyarrow as pa

    from hmem.knowledge.store.records import Written
    from hmem.knowledge.store.store import Store

ROLES = ("head", "relation", "tail")
STANDARD = "-"  # input or output, as in any command


def import_(
    kb: options.KnowledgeBase,
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE", help="Facts in any format that can be read, a dataset, or - for standard input."
        ),
    ],
    source: Annotated[
        str | None, typer.Option(help="Where they come from; kept with the facts. The file's name if not given.")
    ] = None,
    confidence: options.Confidence = None,
    valid_from: options.ValidFrom = None,
    valid_until: options.ValidUntil = None,
    columns: options.Columns = None,
    delimiter: options.Delimiter = None,
    header: options.Header = None,
    format_: options.Format = None,
    short_names: options.ShortNames = False,
    language: options.Languages = options.ENGLISH,
    values: options.ValueRelations = None,
    in_parts: Annotated[
        bool, typer.Option("--in-parts", help="In many short writes, so that other processes can write in between.")
    ] = False,
    json_path: options.AnswerJson = None,
) -> None:
    """Add all facts of some files. All of them are read before the first is stored, and each is stored whole.

    With --in-parts each part is; after an interruption the same command adds the rest.
    """
    from hmem.knowledge.store.as_dataset import told_by

    how = options.reading(columns, delimiter, header, format_, short_names)
    given = options.qualifiers(confidence, valid_from, valid_until)  # which counts more than a column
    done: list[tuple[str, Written]] = []
    parts: list[Written] = []
    with open_store(kb) as store, _interruptible(done, parts), import_progress() as progress:
        tables, besides = [], []
        for number, file in enumerate(files):
            progress("reading", number, len(files))
            store.refuse_itself(file)
            tables.append(read(file, **how))
            besides.append(None if how or file == STANDARD else told_by(file))
        progress("reading", len(files), len(files))
        options.free_output(json_path)  # now that it is known what is read
        for file, table, more in zip(files, tables, besides, strict=True):
            name = "standard input" if file == STANDARD else Path(shown_place(file)).name
            word = name if source is None else source
            told = partial(progress, name)
            chosen: dict[str, Any] = {"languages": options.languages(language), "values": options.listed(values)}
            chosen["besides"] = more
            if in_parts:
                for part in store.add_in_parts(table, source=word, progress=told, **chosen, **given):
                    parts.append(part)
                done.append((name, parts[0].joined(parts)))
                parts.clear()
            else:
                done.append((name, store.add_table(table, source=word, progress=told, **chosen, **given)))
        new = new_names([written for _, written in done])
    lines = [
        {
            "file": name,
            "read": table.num_rows,
            "added": len(written.changed),
            "stored_before": written.unchanged,
            "values": written.values,
        }
        for (name, written), table in zip(done, tables, strict=True)
    ]
    if output.write_json(json_path, {"files": lines, **new}):
        return
    for name, written in done:
        values_said = f", {plural(written.values, 'value')}" if written.values else ""
        added = plural(len(written.changed), "fact")
        output.say(f"{name}: {added} added, {written.unchanged:,} stored already{values_said}")
    with open_store(kb, read_only=True) as store:
        count_new_names(store, new)


def export_(
    kb: options.KnowledgeBase,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="NAME.tsv, .csv, .parquet, .nt, .ttl, .jsonld or .graphml, also .gz; for neo4j a folder; - for "
            "standard output.",
        ),
    ],
    as_of: options.AsOf = None,
    format_: Annotated[str | None, typer.Option("--format", help="Such as tsv or neo4j, whatever the name.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file that is there.")] = False,
) -> None:
    """Write the facts to a file, oldest first. TSV has their names alone, CSV and Parquet also confidence and times;
    RDF, GraphML and Neo4j's CSV (--format neo4j) have labels, kinds and values besides. docs/data.md says what each
    keeps."""
    from hmem.knowledge import export

    is_piped = file == STANDARD
    format_ = export.format_of(file, format_ or ("tsv" if is_piped else None))
    with open_store(kb, read_only=True) as store:
        if is_piped:
            export.write_to(store, format_, as_of, sys.stdout.buffer)
            return
        number = export.export(store, file, format_, as_of, overwrite=overwrite)
    output.say(f"{file}: {plural(number, 'fact')}")


@contextmanager
def _interruptible(done: "list[tuple[str, Written]]", parts: "list[Written]") -> Iterator[None]:
    """Ctrl-C says what was stored by then: each file whole or nothing of it, or some parts of one."""
    try:
        yield
    except KeyboardInterrupt:
        stored = [name for name, _ in done]
        if parts:
            stored.append(f"a part of the next file ({sum(len(each.changed) for each in parts):,} facts)")
        said = f"only {', '.join(stored)} was stored" if stored else "nothing was stored"
        output.note(f"hmem: interrupted; {said}")
        raise typer.Exit(130) from None


def open_store(path: Place, *, read_only: bool = False) -> "Store":
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
