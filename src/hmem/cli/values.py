"""`hmem values`: the numbers, dates, booleans and texts that are said of entities."""

from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from hmem.cli import options, output, transfer
from hmem.cli.names import Finder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hmem.knowledge.store.records import StoredValue
    from hmem.knowledge.store.store import Store


def values(
    kb: options.KnowledgeBase,
    entity: Annotated[
        str | None, typer.Argument(metavar="ENTITY", help="Its id, its label or an alias; without it, all properties.")
    ] = None,
    property_: Annotated[
        str | None, typer.Option("--property", metavar="PROPERTY", help="Only what is said by this property.")
    ] = None,
    history: Annotated[bool, typer.Option("--history", help="Also what was said before, the newest first.")] = False,
    as_of: options.AsOf = None,
    limit: options.Limit = 100,
    json_path: options.AnswerJson = None,
) -> None:
    """What is said of an entity that is no fact: numbers, dates, booleans and texts, with their datatypes.

    Without an entity, of how many each property says something, and between what.
    """
    with transfer.open_store(kb, read_only=True) as store:
        if entity is None and property_ is None and not history:
            _properties(store, json_path)
            return
        entity = None if entity is None else Finder(store).entity(entity)
        chosen = store.values
        if history:
            found = chosen.history(entity, property_, limit=options.one_more(limit))
        else:
            listing = chosen.listing(entity, property_, as_of=as_of)
            found = list(islice(listing, options.one_more(limit)))
        found, more = options.cut(found, limit)
        entities = store.naming.labels({each.entity for each in found})
        names = store.naming.called_by("property", {each.property for each in found})
    if output.write_json(json_path, [_line(each, history) for each in found]):
        return
    if not found:
        output.note(f"nothing is said of {output.cell(entity)}" if entity else f"{kb} has no such values")
        return
    table = output.table(["entity", "property", "value", "datatype", "since", "source"])
    if history:
        table.add_column("until")
    for each in found:
        said = output.cell(each.as_value().shown), _short(each.datatype), output.when(each.added_at)
        row = output.cell(entities.entity(each.entity)), output.cell(names.get(each.property, each.property)), *said
        until = [output.when(each.removed_at) if each.removed_at else ""] if history else []
        table.add_row(*row, output.cell(each.source), *until)
    output.show(table)
    if more:
        output.note(f"The first {limit}; --limit 0 shows all.")


def rows(found: "Sequence[StoredValue]", names: dict[str, str]) -> dict[str, str]:
    """The values of one entity for reading, by property."""
    said: dict[str, list[str]] = {}
    for each in found:
        said.setdefault(names.get(each.property, each.property), []).append(output.cell(each.as_value().shown))
    return {output.cell(name): ", ".join(some) for name, some in said.items()}


def _properties(store: "Store", json_path: str | None) -> None:
    found = store.values.properties()
    if output.write_json(json_path, [asdict(each) for each in found]):
        return
    if not found:
        kb = store.path
        output.note(f"{kb} has no values; hmem entities import {kb} FILE reads them from the columns of a table")
        return
    table = output.table(["property", "datatype", "unit", "lowest", "median", "highest"], ["values", "entities"])
    for each in found:
        texts = (each.label or each.id, _short(each.datatype), each.unit or "")
        ends = ("" if end is None else end for end in (each.lowest, each.median, each.highest))
        numbers = output.count(each.values), output.count(each.entities)
        table.add_row(*map(output.cell, (*texts, *ends)), *numbers)
    output.show(table)


def _line(each: "StoredValue", history: bool) -> dict[str, object]:
    past = ("removed_at", "removed_by")
    return {name: value for name, value in asdict(each).items() if history or name not in past}


def _short(datatype: str) -> str:
    return datatype.removeprefix("xsd:")
