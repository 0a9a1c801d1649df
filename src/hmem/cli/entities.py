"""`hmem entities`: what the entities and relations of a knowledge base are called, and what they are."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from hmem.cli import options, output, transfer, values
from hmem.cli.names import Finder, shown
from hmem.errors import plural

app = typer.Typer(
    help="Labels, aliases, kinds and descriptions of entities and relations: import, show, change them; rename and "
    "remove.",
    no_args_is_help=True,
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="An entity by its id, its label or an alias.")]
IsRelation = Annotated[bool, typer.Option("--relation", help="NAME is a relation.")]


@app.command("import")
def import_(
    kb: options.KnowledgeBase,
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE", help="TSV, CSV or Parquet with a heading such as id, label, kind; or RDF."),
    ],
    columns: Annotated[
        str | None,
        typer.Option(help="What the columns are where there is no heading: id,label,,kind skips the third."),
    ] = None,
    language: options.Languages = options.ENGLISH,
    source: options.Source = None,
    json_path: options.AnswerJson = None,
) -> None:
    """Read labels, aliases, kinds, descriptions and values. What is said of an id that no fact has is left out.

    The columns of a table are any of id, label, kind, description, aliases (with | between them) and inverse, which is
    what a relation is called the other way round. Other columns are values: population, population:int, height [m].
    Without a heading a row is an id, its label, and its aliases.
    """
    from hmem.graph.readers.entities import read_entities

    chosen = None if columns is None else [name.strip() for name in columns.split(",")]
    read = [read_entities(file.expanduser(), columns=chosen, languages=options.languages(language)) for file in files]
    lines: list[dict[str, Any]] = []
    with transfer.open_store(kb) as store:
        for file, told in zip(files, read, strict=True):
            word = file.name if source is None else source
            done = store.naming.describe_all(told.descriptions, values=told.values, source=word)
            lines.append(
                {
                    "file": file.name,
                    "read": len(told.descriptions),
                    "values": done.values,
                    "changed": done.changed,
                    "unchanged": done.unchanged,
                    "unknown": len(done.unknown),
                }
            )
    if output.write_json(json_path, {"files": lines}):
        return
    for line in lines:
        said = f"{line['changed']:,} described, {line['unchanged']:,} as before"
        if line["values"]:
            said += f", {plural(line['values'], 'value')} changed"
        left = f", {line['unknown']:,} left out, which no fact has" if line["unknown"] else ""
        output.say(f"{line['file']}: {said}{left}")


@app.command()
def show(
    kb: options.KnowledgeBase, name: Name, relation: IsRelation = False, json_path: options.AnswerJson = None
) -> None:
    """What is known of an entity or a relation besides its facts: names, kind and description, and its values."""
    with transfer.open_store(kb, read_only=True) as store:
        find = Finder(store)
        found = store.naming.description(
            "relation" if relation else "entity", find.relation(name) if relation else find.entity(name)
        )
        said = [] if relation else list(store.values.listing(found.id))
        names = store.naming.called_by("property", {each.property for each in said})
    if output.write_json(json_path, {**asdict(found), "values": [asdict(each) for each in said]}):
        return
    rows = {
        "id": found.id,
        "label": found.label,
        "aliases": ", ".join(found.aliases),
        "kind": found.kind,
        "inverse": found.inverse,
        "description": found.description,
    }
    told = {word: output.one_line(text) for word, text in rows.items() if text}
    output.show(output.facts({**told, **values.rows(said, names)}))


@app.command()
def describe(
    kb: options.KnowledgeBase,
    name: Name,
    relation: IsRelation = False,
    label: Annotated[str | None, typer.Option(help="What it is called.")] = None,
    alias: Annotated[list[str] | None, typer.Option(help="What else it is called; may be given several times.")] = None,
    kind: Annotated[str | None, typer.Option(help="What an entity is.")] = None,
    description: Annotated[str | None, typer.Option(help="A sentence about it.")] = None,
    inverse: Annotated[str | None, typer.Option(help="What a relation is called from the tail to the head.")] = None,
    source: options.Source = None,
    json_path: options.AnswerJson = None,
) -> None:
    """Say what an entity or a relation is called and what it is, in the place of what was said; "" for nothing."""
    with transfer.open_store(kb) as store:
        find = Finder(store)
        name = find.relation(name) if relation else find.entity(name)
        said = {"label": label, "kind": kind, "description": description, "inverse": inverse}
        aliases = None if not alias else [each for each in alias if each]
        store.naming.describe("relation" if relation else "entity", name, source=source, aliases=aliases, **said)
    show(kb, name, relation, json_path)


@app.command("set")
def set_(
    kb: options.KnowledgeBase,
    name: Name,
    property_: Annotated[str, typer.Argument(metavar="PROPERTY", help="An id or a label; a new one is made.")],
    values_: Annotated[
        list[str] | None,
        typer.Argument(metavar="VALUE", help="Numbers, dates, true, false or texts; none for nothing."),
    ] = None,
    unit: Annotated[str | None, typer.Option(help="Of numbers, such as km.")] = None,
    datatype: Annotated[
        str | None,
        typer.Option("--type", help="int, decimal, float, bool, date, datetime, year or text; found out by default."),
    ] = None,
    language: Annotated[str | None, typer.Option("--language", help="Of a text, such as de.")] = None,
    source: options.Source = None,
    json_path: options.AnswerJson = None,
) -> None:
    """Say what a property of an entity is, in the place of what was said before; without a value, nothing."""
    from hmem.graph.readers.value_columns import typed

    said = typed(values_ or [], datatype, unit, language)
    with transfer.open_store(kb) as store:
        store.values.set(Finder(store).entity(name), property_, said, source=source)
    show(kb, name, False, json_path)


@app.command()
def rename(
    kb: options.KnowledgeBase,
    name: Name,
    new: Annotated[str, typer.Argument(metavar="NEW", help="Its id from now on.")],
    relation: IsRelation = False,
    source: options.Source = None,
    json_path: options.AnswerJson = None,
) -> None:
    """Give an entity or a relation another id, in one write; the old one finds it, too. Facts of a relation join those
    of NEW if there are any; hmem merge joins entities. hmem facts undo turns it back."""
    with transfer.open_store(kb) as store:
        find = Finder(store)
        name = find.relation(name) if relation else find.entity(name)
        done = store.rename(name, new, of="relation" if relation else "entity", source=source)
    if output.write_json(json_path, asdict(done)):
        return
    before = f", {done.stored_before:,} stored already" if done.stored_before else ""
    output.say(f"{shown(done.was)} is {shown(done.name)} now: {plural(done.moved, 'fact')} moved{before}")
    output.note(f"To turn it back: hmem facts undo {kb} {done.moment}")


@app.command()
def remove(
    kb: options.KnowledgeBase, name: Name, source: options.Source = None, json_path: options.AnswerJson = None
) -> None:
    """Take an entity out: all its facts, values, names and its kind, in one write. hmem facts undo turns it back."""
    with transfer.open_store(kb) as store:
        done = store.remove_entity(Finder(store).entity(name), source=source)
    if output.write_json(json_path, asdict(done)):
        return
    values_too = f" and {plural(done.values, 'value')}" if done.values else ""
    output.say(f"removed: {shown(done.entity)}, with {plural(done.facts, 'fact')}{values_too}")
    output.note(f"To turn it back: hmem facts undo {kb} {done.moment}")


@app.command()
def kinds(kb: options.KnowledgeBase, json_path: options.AnswerJson = None) -> None:
    """The kinds of entities, and how many there are of each."""
    with transfer.open_store(kb, read_only=True) as store:
        found = store.naming.kinds()
    if output.write_json(json_path, found):
        return
    if not found:
        output.note(f"{kb} has no kinds; hmem entities import {kb} FILE reads them from a table with a column kind")
        return
    table = output.table(["kind"], ["entities"])
    for kind, number in found.items():
        table.add_row(shown(kind), output.count(number))
    output.show(table)
