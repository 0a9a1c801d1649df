"""An explanation on the screen: the facts that speak for an answer, and how much each does."""

from typing import TYPE_CHECKING

from hmem.cli import output
from hmem.errors import plural

if TYPE_CHECKING:
    from hmem.graph.descriptions import Labels
    from hmem.knowledge.explanation import Reason, Reasons

LINES = 10  # of an explanation; the others are summed up
NEGLIGIBLE = 0.001  # of the largest contribution
MATCHES = 5  # facts shown of those the memory as a whole rests on
TELLING = 0.1  # the least share of the memory as a whole that is worth taking apart


def show_reasons(found: "Reasons") -> None:
    """What adds up to the score of an answer, or what it would be less likely without."""
    if found.total is None:
        _show_removals(found)
    else:
        _show_sum(found, found.total)


def _show_sum(found: "Reasons", total: float) -> None:
    """The lines that matter, what all others come to, and the sum; then what the memory as a whole rests on."""
    largest = max((abs(each.contribution) for each in found), default=0.0)
    order = sorted(found, key=lambda each: -abs(each.contribution))
    shown = [each for each in order[:LINES] if abs(each.contribution) > NEGLIGIBLE * largest]
    others = [each for each in found if each not in shown]
    table = output.table(["because of"], ["weight", "adds"], title=_title(found))
    for each in shown:
        weight = "" if each.weight is None else output.decimal(each.weight, 2)
        table.add_row(_because(each, found.labels), weight, _significant(each.contribution))
    if others:
        rest = sum(each.contribution for each in others)
        table.add_row("1 other" if len(others) == 1 else f"{len(others)} others", "", _significant(rest))
    table.add_section()
    whole = next((each for each in found if each.kind == "dense"), None)
    sum_of_all = "score" if whole is None else "share among all answers that are not stored"
    table.add_row(sum_of_all, "", _significant(total))
    output.show(table)
    if whole is not None and whole.contribution > TELLING * total:
        _show_matches(found)
    _note_stored(found)


def _show_removals(found: "Reasons") -> None:
    """The facts and walks without which the answer would be less likely, and how likely it would be."""
    largest = max((each.contribution for each in found), default=0.0)
    shown = [each for each in found if each.contribution > NEGLIGIBLE * largest][:LINES]
    if not shown:
        reason = "without any one of them it is as likely" if found else "nothing else is stored about the two"
        output.note(f"{_title(found)}: no single fact decides this, {reason}.")
        return
    title, heading = _title(found), "without it"
    if found.probability is None and shown[0].without is not None:  # what is shown is the share of the model itself
        share = shown[0].contribution + shown[0].without
        title, heading = f"{title}   share of all answers {output.percent(share)}", "share without it"
    table = output.table(["because of"], [heading], title=title)
    for each in shown:
        table.add_row(_because(each, found.labels), "" if each.without is None else output.percent(each.without))
    output.show(table)
    _note_stored(found)


def _note_stored(found: "Reasons") -> None:
    if found.stored:
        output.note("This fact is stored. The lines say what the others would make of it.")


def _because(each: "Reason", labels: "Labels") -> str:
    """The stored facts of a line; those of a path one below the other."""
    facts = "\n  and ".join(" ".join(map(output.cell, labels.fact(*fact))) for fact in each.facts) or each.text
    return f"{facts}\n  {each.counted}" if each.counted else facts


def _title(found: "Reasons") -> str:
    """The fact, and its probability if it has one."""
    probability = "" if found.probability is None else f"   {output.percent(found.probability)}"
    return " ".join(map(output.cell, found.labels.fact(*found.fact))) + probability


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
        table.add_row(plural(len(parts) - MATCHES, "other fact"), "", output.decimal(rest, 2))
    output.show(table)
