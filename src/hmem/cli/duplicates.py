"""`hmem duplicates` and `hmem merge`: entities that are probably one, and how they become one."""

from dataclasses import asdict
from typing import Annotated

import typer

from hmem.cli import names, options, output, tables, transfer
from hmem.errors import plural


def duplicates(
    kb: options.KnowledgeBase,
    k: options.Count = 20,
    out: tables.Out = None,
    json_path: options.AnswerJson = None,
) -> None:
    """Pairs of entities that are probably one, by the facts they share and by names that are nearly alike, with what
    speaks for it and against it. The score orders them and is no probability. hmem merge joins two."""
    from hmem.knowledge.duplicates import Finder

    with transfer.open_store(kb, read_only=True) as store:
        found = Finder(store).best(k)
        labels = store.naming.labels(found.ids("kept", "other"))
    if not tables.write_table(out, found, "pair", json_path, {"pairs": found.to_dicts()}):
        if not found:
            output.note("no two entities seem to be one")
            return
        table = output.table(["entity", "may be", "because"], ["score"])
        for each in found:
            both = (output.cell(labels.entity(name)) for name in (each.kept, each.other))
            table.add_row(*both, "\n".join(map(output.cell, each.reasons)), output.decimal(each.score, 1))
        output.show(table)


def merge(
    kb: options.KnowledgeBase,
    kept: Annotated[str, typer.Argument(metavar="KEPT", help="The entity that stays: its id, its label or an alias.")],
    other: Annotated[str, typer.Argument(metavar="OTHER", help="The one that becomes a name of it.")],
    source: options.Source = None,
    json_path: options.AnswerJson = None,
) -> None:
    """Make one entity of two, in one write: the facts and names of OTHER become those of KEPT, which its old id finds
    too. Facts between the two are dropped. hmem facts undo turns it back."""
    with transfer.open_store(kb) as store:
        find = names.Finder(store)
        done = store.merge(find.entity(kept), find.entity(other), source=source)
    if output.write_json(json_path, asdict(done)):
        return
    told = {
        f"{plural(done.moved, 'fact')} moved": True,
        f"{done.stored_before:,} stored already": done.stored_before,
        f"{done.dropped:,} between the two dropped": done.dropped,
        f"{plural(done.values, 'value')} moved": done.values,
    }
    other, kept = names.shown(done.other), names.shown(done.kept)
    output.say(f"{other} is {kept} now: {', '.join(text for text, so in told.items() if so)}")
    output.note(f"To turn it back: hmem facts undo {kb} {done.moment}")
