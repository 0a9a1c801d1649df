"""`hmem predict`, `explain`, `missing` and `similar`: questions to a knowledge base."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hmem.cli import options, output, tables
from hmem.cli.names import Finder
from hmem.errors import ConfigError

if TYPE_CHECKING:
    from hmem.graph.descriptions import Labels
    from hmem.knowledge.audit import Watch
    from hmem.knowledge.base import KnowledgeBase
    from hmem.knowledge.explanation import Reason, Reasons
    from hmem.knowledge.results import Predictions
    from hmem.knowledge.value_estimate import Estimate

LINES = 10  # of an explanation; the others are summed up
NEGLIGIBLE = 0.001  # of the largest contribution
MATCHES = 5  # facts shown of those the memory as a whole rests on
TELLING = 0.1  # the least share of the memory as a whole that is worth taking apart
IMPROBABLE = 0.001


def predict(
    kb: options.KnowledgeBase,
    entity: Annotated[
        str, typer.Argument(metavar="ENTITY", help="The head of the question; with --direction head its tail.")
    ],
    relation: options.Relation,
    direction: options.Direction = "tail",
    old_tail: options.OldTail = False,
    everything: Annotated[bool, typer.Option("--all", help="Also what is stored already, marked as such.")] = False,
    k: options.Count = 10,
    at: options.At = None,
    with_inferred: options.WithInferred = False,
    device: options.Device = "cpu",
    json_path: options.AnswerJson = None,
) -> None:
    """What is likely but not stored: the tails of (ENTITY, RELATION, ?), or with --direction head the heads of
    (?, RELATION, ENTITY). Where RELATION is a property of numbers or dates: its median, and where four in five are."""
    direction = _chosen(direction, old_tail)
    is_value = is_property(kb, relation)
    with opened(kb, device, for_likely=not is_value, with_inferred=with_inferred) as (base, find):
        if is_value:
            show_estimate(base.estimate(find.entity(entity), relation, at=at), find, _then(at), json_path)
            return
        entity, relation = find.entity(entity), find.relation(relation)
        found = base.predict(entity, relation, k, direction=direction, new_only=not everything, at=at)
        warn_if_outgrown(base, entity, at)
        asked = [find.labelled(entity), find.labelled(relation, "relation"), "?"]
    head, tail = (None, entity) if direction == "head" else (entity, None)
    question = {"head": head, "relation": relation, "tail": tail, **({} if at is None else {"at": at})}
    answers = {"question": question, "answers": found.to_dicts(), **found.labels.to_dict()}
    if output.written(json_path, answers):
        return
    title = " ".join(asked if direction == "tail" else reversed(asked)) + _then(at)
    show_predictions(found, title, [direction], stored=everything)


def missing(
    kb: options.KnowledgeBase,
    entity: Annotated[
        str | None, typer.Argument(metavar="ENTITY", help="Its name; without one, the whole graph is gone through.")
    ] = None,
    relation: Annotated[
        str | None, typer.Option(metavar="RELATION", help="Of the graph: only facts with this relation.")
    ] = None,
    having: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="RELATION TAIL", help="Of the graph: only facts about entities that have this tail."),
    ] = None,
    k: Annotated[
        int | None, typer.Option("--count", "-k", min=1, help="How many; 10 about an entity, else 100.")
    ] = None,
    at: options.At = None,
    with_inferred: options.WithInferred = False,
    store: Annotated[
        bool, typer.Option("--store", help="Keep them in the base as inferred facts, which are no evidence.")
    ] = False,
    least: Annotated[
        float, typer.Option(min=0, max=1, help="With --store: the least probability of what is kept.")
    ] = 0.5,
    out: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write them to NAME.csv, .parquet or .json instead.")
    ] = None,
    device: options.Device = "cpu",
    json_path: options.AnswerJson = None,
) -> None:
    """The likeliest facts that are not stored: about ENTITY, over all relations, with it as head or tail; or over the
    whole graph, one relation or one kind of entity. Ctrl-C ends that early and keeps what was found."""
    if entity is not None and (relation is not None or having is not None):
        raise ConfigError("--relation and --having go through the graph: leave out ENTITY, or ask with hmem predict")
    if out is not None:
        tables.check(out)
    with opened(kb, device, with_inferred=with_inferred, to_write=store) as (base, find):
        if entity is not None:
            name = find.entity(entity)
            found = base.missing(name, k or 10, at=at)
            warn_if_outgrown(base, name, at)
            title = f"Missing about {find.labelled(name)}{_then(at)}"
        else:
            name, title = None, f"Missing{_then(at)}"
            chosen = None if relation is None else find.relation(relation)
            kind = None if having is None else (find.relation(having[0]), find.entity(having[1]))
            with watching("entities") as watch:
                found = base.missing_anywhere(k or 100, relation=chosen, having=kind, at=at, watch=watch)
        done = base.infer(found, least=least, source="hmem missing") if store else None
    if out is not None:
        tables.write(found, out)
        output.say(f"{out}: {output.plural(len(found), 'fact')}")
    elif not output.written(json_path, {"entity": name, "facts": found.to_dicts(), **found.labels.to_dict()}):
        show_predictions(found, title, ["head", "relation", "tail"], stored=False)
    if done is not None:
        before = f", {done.unchanged:,} of them since before" if done.unchanged else ""
        kept = output.plural(len(done.changed) + done.unchanged, "answer")
        output.note(f"{kept} with a probability of {least:g} or more: kept as inferred{before}")


def similar(
    kb: options.KnowledgeBase,
    entity: options.Entity,
    k: options.Count = 10,
    device: options.Device = "cpu",
    json_path: options.AnswerJson = None,
) -> None:
    """The entities whose vectors are most like that of ENTITY."""
    with opened(kb, device, for_likely=False) as (base, find):
        found = base.similar(entity := find.entity(entity), k)
        about = find.labelled(entity)
    if output.written(json_path, {"entity": entity, "similar": found.to_dicts(), **found.labels.to_dict()}):
        return
    table = output.table(["entity"], ["cosine"], title=f"Like {about}")
    for each in found:
        table.add_row(output.cell(found.labels.entity(each.entity)), output.decimal(each.similarity))
    output.show(table)


def explain(
    kb: options.KnowledgeBase,
    head: Annotated[str, typer.Argument(metavar="HEAD", help="Its name.")],
    relation: options.Relation,
    tail: Annotated[str, typer.Argument(metavar="TAIL", help="Its name.")],
    direction: options.Direction = "tail",
    old_tail: options.OldTail = False,
    at: options.At = None,
    with_inferred: options.WithInferred = False,
    device: options.Device = "cpu",
    json_path: options.AnswerJson = None,
) -> None:
    """Why a fact is likely or not: the stored facts that speak for it, and how much each adds to its score.

    The lines are the computation itself, and sum to the score. A fact that is stored is explained as if it were not.
    By default its tail is asked for, from what is stored about its head; with --direction head it is the other way.
    """
    direction = _chosen(direction, old_tail)
    with opened(kb, device, with_inferred=with_inferred) as (base, find):
        head, relation, tail = find.entity(head), find.relation(relation), find.entity(tail)
        found = base.explain(head, relation, tail, direction=direction, at=at)
        warn_if_outgrown(base, tail if direction == "head" else head, at)
    fact = {"head": head, "relation": relation, "tail": tail}
    if not output.written(
        json_path, {"fact": fact, **found.summary(), "reasons": found.to_dicts(), **found.labels.to_dict()}
    ):
        show_reasons(found)


def _chosen(direction: options.DirectionName, old_tail: bool) -> options.DirectionName:
    """The direction, by its option or by the flag that came before it."""
    if not old_tail:
        return direction
    output.note("--tail is called --direction head now, and will go away")
    return "head"


@contextmanager
def opened(
    kb: Path, device: str, *, for_likely: bool = True, with_inferred: bool = False, to_write: bool = False
) -> "Iterator[tuple[KnowledgeBase, Finder]]":
    """A knowledge base to ask, `for_likely` answers or others, and a finder of its names as they were typed."""
    from hmem.knowledge.base import KnowledgeBase
    from hmem.runs.device import resolve_device

    how = {"read_only": not to_write, "with_inferred": with_inferred}
    with KnowledgeBase.open(kb, device=resolve_device(device), **how) as base:
        if for_likely:
            with base.session() as session:
                if session.self_calibration is not None and session.self_calibration.is_due():
                    output.note("the first question to this base: finding out how far answers can be trusted ...")
        yield base, Finder(base.store)
        base.keep_calibration()


@contextmanager
def watching(what: str) -> "Iterator[Watch]":
    """A bar for something that takes long. The first Ctrl-C ends it with what was found, a second one at once."""
    from hmem.runs.callbacks import CtrlC

    with output.import_progress() as progress, CtrlC() as ctrl_c:

        def watch(done: int, total: int) -> bool:
            progress(what, done, total)
            if ctrl_c.should_stop():
                output.note(f"stopped after {done:,} of {total:,} {what}")
            return not ctrl_c.should_stop()

        yield watch


def _then(at: str | None) -> str:
    return "" if at is None else f" at {at}"


def warn_if_outgrown(base: "KnowledgeBase", entity: str, at: str | None = None) -> None:
    """Say why answers about an entity have no probability, if that is why."""
    if base.has_outgrown(entity, at=at):
        output.note(
            f"{output.cell(entity)} has far more facts of one kind than anything had when the model was trained, so "
            f"its answers have no probability and may be wrong. Training anew helps: "
            f"hmem train --from {base.path} --out DIR"
        )


def is_property(kb: Path, name: str) -> bool:
    """Whether a name is that of a property and of no relation."""
    from hmem.cli import transfer

    with transfer.open_store(kb, read_only=True) as store:
        return store.naming.get("relation", name) is None and store.naming.get("property", name) is not None


def show_estimate(found: "Estimate", find: Finder, then: str, json_path: str | None) -> None:
    """A median with its interval, what it is beside the median of the kind, and which facts move it."""
    from dataclasses import asdict

    if output.written(json_path, asdict(found)):
        return
    labels = find.store.naming.called_by("property", [found.property])
    name = output.cell(labels.get(found.property, found.property))
    unit = "" if found.unit is None else f" {found.unit}"
    median, low, high, usual = (
        rounded(each, found.family) for each in (found.median, found.low, found.high, found.kind_median)
    )
    kind = "all that have one" if found.kind is None else f"all of the kind {output.one_line(found.kind)}"
    about = f"{find.labelled(found.entity)} {name}{then}"
    output.say(f"{about} ≈ {median}{unit}, with 80% between {low} and {high}{unit}")
    output.say(f"the median of {kind} is {usual}{unit}")
    if found.because:
        table = output.table(["because of"], ["moves it by"])
        for fact, step in found.because:
            words = find.store.naming.labels_of([fact]).fact(*fact)
            table.add_row(" ".join(map(output.cell, words)), f"{step:+.0%}")
        output.show(table)
    off, usually = output.percent(found.error), output.percent(found.kind_error)
    if found.by_facts:
        output.note(f"Off by {off} of the {found.known:,} known values on average, that median by {usually}.")
    else:
        output.note(
            f"The facts say no more than that median, which is off by {usually} of {found.known:,} known values."
        )
    if found.stored:
        output.note(f"Stored, and left out here: {', '.join(map(output.cell, found.stored))}.")


def rounded(text: str, family: str) -> str:
    """A number to two digits, for reading; a date as it is."""
    return f"{float(f'{float(text):.2g}'):,.12g}" if family == "number" else text


def show_predictions(found: "Predictions", title: str, columns: Sequence[str], *, stored: bool) -> None:
    """A table of facts with their probability, or with their score where the model is not calibrated.

    Improbable ones are left out; if all are improbable, the first is shown.
    """
    if not found:
        output.note(f"{title}: nothing that is not stored already")
        return
    calibrated = all(each.probability is not None for each in found)
    likely = [each for each in found if each.probability is None or each.probability >= IMPROBABLE] or found[:1]
    table = output.table(["", *columns], ["probability" if calibrated else "score"], title=title)
    table.columns[0].justify = "right"
    marked = stored or any(each.inferred_by is not None for each in likely)
    if marked:
        table.add_column("")
    for each in likely:
        names = [output.cell(found.shown(column, each)) for column in columns]
        value = output.percent(each.probability) if calibrated else output.decimal(each.score)
        inferred = "" if each.inferred_by is None else f"inferred by {output.one_line(each.inferred_by)}"
        table.add_row(str(each.rank), *names, value, *(["stored" if each.stored else inferred] if marked else []))
    output.show(table)
    if len(likely) < len(found):
        output.note(f"All others are below {output.percent(IMPROBABLE)}.")
    if not calibrated:
        output.note("Scores are not calibrated: their order means something, their size does not.")


def show_reasons(found: "Reasons") -> None:
    """The lines that matter, what all others come to, and the sum; then what the memory as a whole rests on."""
    if found.total is None:
        _show_removals(found)
        return
    largest = max((abs(each.contribution) for each in found), default=0.0)
    order = sorted(found, key=lambda each: -abs(each.contribution))
    shown = [each for each in order[:LINES] if abs(each.contribution) > NEGLIGIBLE * largest]
    others = [each for each in found if each not in shown]
    probability = "" if found.probability is None else f"   {output.percent(found.probability)}"
    table = output.table(["because of"], ["weight", "adds"], title=_title(found) + probability)
    for each in shown:
        weight = "" if each.weight is None else output.decimal(each.weight, 2)
        table.add_row(_because(each, found.labels), weight, _significant(each.contribution))
    if others:
        rest = sum(each.contribution for each in others)
        table.add_row("1 other" if len(others) == 1 else f"{len(others)} others", "", _significant(rest))
    table.add_section()
    whole = next((each for each in found if each.kind == "dense"), None)
    sum_of_all = "score" if whole is None else "share among all answers that are not stored"
    table.add_row(sum_of_all, "", _significant(found.total))
    output.show(table)
    if whole is not None and whole.contribution > TELLING * found.total:
        _show_matches(found)
    if found.stored:
        output.note("This fact is stored. The lines say what the others would make of it.")


def _show_removals(found: "Reasons") -> None:
    """The facts and walks without which the answer would be less likely, and how likely it would be."""
    largest = max((each.contribution for each in found), default=0.0)
    shown = [each for each in found if each.contribution > NEGLIGIBLE * largest][:LINES]
    probability = "" if found.probability is None else f"   {output.percent(found.probability)}"
    if not shown:
        reason = "without any one of them it is as likely" if found else "nothing else is stored about the two"
        output.note(f"{' '.join(map(output.cell, found.fact))}{probability}: no single fact decides this, {reason}.")
        return
    table = output.table(["because of"], ["without it"], title=_title(found) + probability)
    for each in shown:
        table.add_row(_because(each, found.labels), "" if each.without is None else output.percent(each.without))
    output.show(table)
    if found.stored:
        output.note("This fact is stored. The lines say what the others would make of it.")


def _because(each: "Reason", labels: "Labels") -> str:
    """The stored facts of a line; those of a path one below the other."""
    facts = "\n  and ".join(" ".join(map(output.cell, labels.fact(*fact))) for fact in each.facts) or each.text
    return f"{facts}\n  {each.counted}" if each.counted else facts


def _title(found: "Reasons") -> str:
    return " ".join(map(output.cell, found.labels.fact(*found.fact)))


def _significant(value: float) -> str:
    return output.decimal(value) if value == 0 or abs(value) >= 0.001 else f"{value:.1e}"


def _show_matches(found: "Reasons") -> None:
    """What the memory as a whole rests on: its dense score, fact by fact."""
    parts = [(each, each.match) for each in found if each.match is not None and each.facts]
    parts.sort(key=lambda part: -abs(part[1]))
    if not parts:
        return
    table = output.table(["the memory as a whole rests on"], ["weight", "match"])
    for each, match in parts[:MATCHES]:
        table.add_row(_because(each, found.labels), output.decimal(each.weight, 2), output.decimal(match, 2))
    if len(parts) > MATCHES:
        rest = sum(match for _, match in parts[MATCHES:])
        table.add_row(output.plural(len(parts) - MATCHES, "other fact"), "", output.decimal(rest, 2))
    output.show(table)
