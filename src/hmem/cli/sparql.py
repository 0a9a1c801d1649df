"""`hmem sparql`: questions in SPARQL over the stored facts."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hmem.cli import options, output, transfer
from hmem.errors import DataError
from hmem.sqlite_files import replacing

if TYPE_CHECKING:
    from hmem.graph.descriptions import Labels
    from hmem.knowledge.sparql import Solutions, Term


def sparql(
    kb: options.KnowledgeBase,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A SELECT or an ASK; or - for standard input.")],
    limit: options.Limit = 1000,
    timeout: Annotated[
        float, typer.Option(min=0.001, max=options.MOST_SECONDS, help="Seconds that it may take.")
    ] = 60.0,
    csv_path: Annotated[
        str | None,
        typer.Option(
            "--csv", metavar="PATH", callback=options.free_output, help="Write the rows as CSV; - for standard output."
        ),
    ] = None,
    json_path: options.AnswerJson = None,
) -> None:
    """Answer a SPARQL query over the stored facts. Nothing can be changed by it. An id is an IRI as it is, or else
    <urn:hmem:ID>, in short :ID; labels are rdfs:label, aliases skos:altLabel, kinds rdf:type."""
    from hmem.knowledge.sparql import Sparql

    text = _standard_input() if query == transfer.STANDARD else query
    with transfer.open_store(kb, read_only=True) as store, Sparql(kb) as engine:
        found = engine.query(text, seconds=timeout, limit=limit or None)
        names = {name for row in found.terms for term in row.values() if (name := _name(term)) is not None}
        labels = store.naming.labels(names, names)
    if csv_path is not None:
        _write_csv(found, csv_path)
    if not output.write_json(json_path, found.to_dict()) and csv_path is None:
        _show(found, labels)
    if found.more:
        output.note(f"The first {limit:,} rows; --limit 0 shows all.")


def _standard_input() -> str:
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise DataError(f"standard input: expected UTF-8 text: {error}") from None


def _write_csv(found: "Solutions", target: str) -> None:
    if target == transfer.STANDARD:
        sys.stdout.write(found.to_csv())
        return
    with replacing(Path(target).expanduser()) as beside:
        beside.write_text(found.to_csv(), encoding="utf-8", newline="")


def _name(term: "Term") -> str | None:
    """The name of an entity or a relation, if a term may be one."""
    from hmem.knowledge.sparql import name_of

    return name_of(term) if term["type"] == "uri" else None


def _show(found: "Solutions", labels: "Labels") -> None:
    """A table of the rows, with labels, or yes or no."""
    if found.boolean is not None:
        output.say("yes" if found.boolean else "no")
        return
    if not found.terms:
        output.note("no rows")
        return
    table = output.table(found.variables)
    for terms, row in zip(found.terms, found, strict=True):
        cells = []
        for variable in found.variables:
            name = _name(terms[variable]) if variable in terms else None
            value = row[variable]
            shown = value if name is None else labels.entity(name) if name in labels.entities else labels.relation(name)
            cells.append(output.cell(None if shown is None else str(shown)))
        table.add_row(*cells)
    output.show(table)
