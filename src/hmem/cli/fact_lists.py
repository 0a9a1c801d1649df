"""`hmem facts list`, `history` and `writes`: what a knowledge base holds, and how it came."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hmem.cli import options, output, transfer
from hmem.cli.names import Finder

if TYPE_CHECKING:
    from hmem.graph.descriptions import Labels
    from hmem.knowledge.store.records import StoredFact
    from hmem.knowledge.store.store import Store

LISTED = 20  # facts, unless --limit says otherwise
SAID = {  # of some facts, and what it is called in a table
    "valid_from": "from",
    "valid_until": "until",
    "inferred_by": "inferred by",
    "confidence": "confidence",
    "probability": "probability",
}
NUMBERS = ("confidence", "probability")


def list_facts(
    kb: options.KnowledgeBase,
    head: Annotated[str | None, typer.Option(metavar="ENTITY", help="Only those with this head.")] = None,
    relation: Annotated[str | None, typer.Option(metavar="RELATION", help="Only those with this relation.")] = None,
    tail: Annotated[str | None, typer.Option(metavar="ENTITY", help="Only those with this tail.")] = None,
    as_of: options.AsOf = None,
    at: options.At = None,
    inferred: Annotated[
        bool | None, typer.Option("--inferred/--asserted", help="Only what models inferred, or what was asserted.")
    ] = None,
    limit: options.Limit = LISTED,
    json_path: options.AnswerJson = None,
) -> None:
    """The facts, oldest first, with when they came and from which source."""
    with transfer.open_store(kb, read_only=True) as store:
        chosen = head, relation, tail = _chosen(store, head, relation, tail)
        most = options.one_more(limit)
        listing = store.listing(
            head=head, relation=relation, tail=tail, as_of=as_of, at=at, inferred=inferred, limit=most
        )
        found, more = options.cut(list(listing), limit)
        labels = store.naming.labels_of(each.names for each in found)
    if output.write_json(json_path, [_line(each) for each in found]):
        return
    if not found:
        output.note(
            f"{kb} holds no such fact" if any((*chosen, at, inferred is not None)) else f"{kb} holds no facts yet"
        )
        return
    _show_facts(found, labels)
    if more:
        output.note(f"The first {limit}. --limit 0 shows all; hmem facts export {kb} FILE writes them to a file.")


def history(
    kb: options.KnowledgeBase,
    head: Annotated[str | None, typer.Argument(metavar="HEAD", help="Only of facts with this head.")] = None,
    relation: Annotated[str | None, typer.Argument(metavar="RELATION", help="And this relation.")] = None,
    tail: Annotated[str | None, typer.Argument(metavar="TAIL", help="And this tail.")] = None,
    limit: options.Limit = LISTED,
    json_path: options.AnswerJson = None,
) -> None:
    """What was added and removed, when and by which source; the newest first."""
    with transfer.open_store(kb, read_only=True) as store:
        head, relation, tail = _chosen(store, head, relation, tail)
        found = store.history(head=head, relation=relation, tail=tail, limit=options.one_more(limit))
        labels = store.naming.labels_of(each.names for each in found)
    events = [event for each in found for event in _events(each)]
    events.sort(key=lambda event: event["at"], reverse=True)  # stable: those of one moment stay in the order given
    events, more = options.cut(events, limit)
    if output.write_json(json_path, events):
        return
    if not events:
        output.note(f"nothing has happened yet in {kb}" if head is None else f"{kb} never held such a fact")
        return
    table = output.table(["when", "what", "head", "relation", "tail", "source"])
    for event in events:
        names = map(output.cell, labels.fact(*(event[part] for part in transfer.ROLES)))
        table.add_row(output.when(event["at"]), event["what"], *names, output.cell(event["source"]))
    output.show(table)
    if more:
        output.note(f"The newest {limit}; --limit 0 shows all.")


def writes(kb: options.KnowledgeBase, limit: options.Limit = LISTED, json_path: options.AnswerJson = None) -> None:
    """The writes by number, the newest first: when, from which source, and what each changed."""
    with transfer.open_store(kb, read_only=True) as store:
        found, more = options.cut(store.writes(options.one_more(limit)), limit)
    if output.write_json(json_path, [asdict(each) for each in found]):
        return
    if not found:
        output.note(f"nothing was written yet to {kb}")
        return
    table = output.table(["when", "source"], ["write", "facts added", "removed", "names and values"])
    for each in found:
        numbers = map(output.count, (each.moment, each.added, each.removed, each.said))
        table.add_row(output.when(each.at), output.cell(each.source), *numbers)
    output.show(table)
    if more:
        output.note(f"The newest {limit}; --limit 0 shows all.")


Pattern = tuple[str | None, str | None, str | None]


def _chosen(store: "Store", head: str | None, relation: str | None, tail: str | None) -> Pattern:
    find = Finder(store)
    return (
        None if head is None else find.entity(head),
        None if relation is None else find.relation(relation),
        None if tail is None else find.entity(tail),
    )


def _show_facts(found: "Sequence[StoredFact]", labels: "Labels") -> None:
    """A table; what is said of some facts only has a column where there is something to show."""
    said = {name: heading for name, heading in SAID.items() if any(getattr(each, name) is not None for each in found)}
    numbers = [heading for name, heading in said.items() if name in NUMBERS]
    texts = [heading for name, heading in said.items() if name not in NUMBERS]
    table = output.table(["head", "relation", "tail", *texts, "added", "source"], numbers)
    for each in found:
        values = {name: getattr(each, name) for name in said}
        words = [
            output.cell(None if value is None else str(value)) for name, value in values.items() if name not in NUMBERS
        ]
        row = [
            *map(output.cell, labels.fact(*each.names)),
            *words,
            output.when(each.added_at),
            output.cell(each.source),
        ]
        table.add_row(*row, *(output.decimal(value, 2) for name, value in values.items() if name in NUMBERS))
    output.show(table)


def _line(each: "StoredFact") -> dict[str, Any]:
    return {name: getattr(each, name) for name in (*transfer.ROLES, "added_at", "source", "confidence", *SAID)}


def _events(each: "StoredFact") -> Iterable[dict[str, Any]]:
    fact = dict(zip(transfer.ROLES, each.names, strict=True))
    if each.removed_at is not None:
        yield {"at": each.removed_at, "what": "removed", **fact, "source": each.removed_by}
    yield {"at": each.added_at, "what": "added", **fact, "source": each.source}
