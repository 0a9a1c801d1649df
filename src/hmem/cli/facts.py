"""`hmem facts`: what comes into a knowledge base, and what goes.

None of these commands looks at the model, so they are quick; the next prediction uses what they did.
"""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from hmem.cli import fact_lists, options, output, transfer
from hmem.cli.names import Finder, count_new_names, new_names, shown, tell_new_names
from hmem.errors import ConfigError, StoreError, plural

if TYPE_CHECKING:
    from hmem.knowledge.store.records import Names3
    from hmem.knowledge.store.store import Store

app = typer.Typer(help="Add, remove, list, import and export the facts of a knowledge base.", no_args_is_help=True)

Fact = Annotated[
    list[str],
    typer.Argument(metavar="HEAD RELATION TAIL", help="A fact; or - for tab-separated facts from standard input."),
]


@app.command()
def add(
    kb: options.KnowledgeBase,
    fact: Fact,
    source: options.Source = None,
    confidence: options.Confidence = None,
    valid_from: options.ValidFrom = None,
    valid_until: options.ValidUntil = None,
    json_path: options.AnswerJson = None,
) -> None:
    """Add a fact, or those that come on standard input. Names that are new are added with it."""
    facts = _given(fact)
    with transfer.open_store(kb) as store:
        if fact != [transfer.STANDARD]:  # typed, not read: labels are understood
            facts = [_known(store, *each) for each in facts]
        done = store.add(facts, source=source, **options.qualifiers(confidence, valid_from, valid_until))
        new = new_names([done])
        counted = {"added": len(done.changed), "stored_before": done.unchanged, "kept": done.kept}
        if output.write_json(json_path, {**counted, **new}):
            return
        if len(facts) == 1:
            output.say(f"{'added' if len(done.changed) else 'stored already'}: {_words(store, facts[0])}")
            tell_new_names(store, new)
        else:
            output.say(f"{plural(len(done.changed), 'fact')} added, {done.unchanged:,} stored already")
            count_new_names(store, new)
        if done.kept:
            which = "it keeps its" if len(facts) == 1 else f"{done.kept:,} of these keep their"
            output.note(f"{which} own days and confidence; hmem facts revise {kb} ... says others")


@app.command()
def revise(
    kb: options.KnowledgeBase,
    fact: Fact,
    source: options.Source = None,
    confidence: options.Confidence = None,
    valid_from: options.ValidFrom = None,
    valid_until: options.ValidUntil = None,
    json_path: options.AnswerJson = None,
) -> None:
    """Say since when and until when a stored fact held, or how sure it is; "" takes a day back. The history keeps
    what was said before."""
    facts = _given(fact)
    given = options.qualifiers(confidence, valid_from, valid_until)
    if not given:
        raise ConfigError("nothing to say of it: give --from, --until or --confidence")
    with transfer.open_store(kb) as store:
        find = Finder(store)
        facts = [find.fact(*each) for each in facts]
        absent = [each for each in facts if not store.contains(*each)]
        if absent:
            raise StoreError(f"{kb} does not hold {_words(store, absent[0])}; see: hmem facts list {kb}")
        done = store.revise(facts, source=source, **given)
        if output.write_json(json_path, {"revised": len(done.changed), "unchanged": done.unchanged}):
            return
        if len(facts) == 1:
            output.say(f"{'revised' if len(done.changed) else 'is so already'}: {_words(store, facts[0])}")
        else:
            output.say(f"{plural(len(done.changed), 'fact')} revised, {done.unchanged:,} were so already")


@app.command()
def withdraw(
    kb: options.KnowledgeBase,
    model: Annotated[str | None, typer.Option(metavar="NAME", help="Only what this model inferred.")] = None,
    below: Annotated[float | None, typer.Option(min=0, max=1, help="Only what is less likely than this.")] = None,
    source: options.Source = None,
    json_path: options.AnswerJson = None,
) -> None:
    """Take back what models inferred. What was asserted stays, and so does the history."""
    with transfer.open_store(kb) as store:
        if model is not None and all(model not in (name, name.partition("@")[0]) for name in store.models()):
            names = ", ".join(store.models()) or "no model did"
            raise StoreError(f"no facts of {kb} were inferred by {model}; {names}")
        done = store.withdraw(model=model, below=below, source=source)
    if not output.write_json(json_path, {"withdrawn": len(done.changed)}):
        output.say(f"{plural(len(done.changed), 'inferred fact')} withdrawn")


@app.command()
def remove(
    kb: options.KnowledgeBase,
    fact: Fact,
    source: options.Source = None,
    json_path: options.AnswerJson = None,
) -> None:
    """Remove a fact, or those that come on standard input. The history keeps them."""
    facts = _given(fact)
    with transfer.open_store(kb) as store:
        find = Finder(store)
        facts = [find.fact(*each) for each in facts]
        done = store.remove(facts, source=source)
        words = _words(store, facts[0]) if facts else ""
    if output.write_json(json_path, {"removed": len(done.changed), "not_stored": done.unchanged}):
        return
    if len(facts) > 1:
        output.say(f"{plural(len(done.changed), 'fact')} removed, {done.unchanged:,} not stored")
    elif len(done.changed):
        output.say(f"removed: {words}")
    else:
        raise StoreError(f"{kb} does not hold {words}; see: hmem facts list {kb} --head {facts[0][0]}")


app.command("list")(fact_lists.list_facts)
app.command()(fact_lists.history)
app.command()(fact_lists.writes)


@app.command()
def undo(
    kb: options.KnowledgeBase,
    moment: Annotated[
        int, typer.Argument(metavar="WRITE", min=1, help="The number of a write; hmem facts writes lists them.")
    ],
    and_later: Annotated[
        bool, typer.Option("--and-later", help="And all later ones: everything is as it was before.")
    ] = False,
    source: options.Source = None,
    json_path: options.AnswerJson = None,
) -> None:
    """Turn a write back: what it brought goes, and what it took away comes again, in one write. What a later write has
    changed stays as it is, unless these are turned back as well."""
    with transfer.open_store(kb) as store:
        done = store.undo(moment, and_later=and_later, source=source)
    if output.write_json(json_path, asdict(done)):
        return
    left = f", {done.left:,} left, which later writes changed" if done.left else ""
    which = f"write {moment} and later" if and_later else f"write {moment}"
    output.say(f"{which}: {done.removed:,} taken back, {done.restored:,} restored{left}")


app.command("import")(transfer.import_)
app.command("export")(transfer.export_)


def _given(fact: list[str]) -> "list[Names3]":
    """The facts of the command line: one, or those on standard input."""
    if fact == [transfer.STANDARD]:
        table = transfer.read(transfer.STANDARD)
        return list(zip(*(table.column(part).to_pylist() for part in transfer.ROLES), strict=True))
    if len(fact) != 3:
        received = f"{len(fact)}: {' '.join(fact)}"
        raise ConfigError(f"expected HEAD RELATION TAIL, or - for standard input; received {received}")
    return [(fact[0], fact[1], fact[2])]


def _known(store: "Store", head: str, relation: str, tail: str) -> "Names3":
    """Names as typed, by the ids of what they are labels of; others are new."""
    find = store.naming.get
    return find("entity", head) or head, find("relation", relation) or relation, find("entity", tail) or tail


def _words(store: "Store", fact: "Names3") -> str:
    return " ".join(map(shown, store.naming.labels_of([fact]).fact(*fact)))
