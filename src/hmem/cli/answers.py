"""Answers on the screen: ranked facts with their probability, and a value with its interval."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from hmem.cli import output
from hmem.cli.names import Finder

if TYPE_CHECKING:
    from hmem.knowledge.results import Predictions
    from hmem.knowledge.value_estimate import Estimate

IMPROBABLE = 0.001


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


def show_estimate(found: "Estimate", find: Finder, then: str, json_path: str | None) -> None:
    """A median with its interval, what it is beside the median of the kind, and which facts move it."""
    if output.write_json(json_path, asdict(found)):
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
