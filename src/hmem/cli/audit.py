"""`hmem audit`: stored facts that the others speak against."""

from typing import TYPE_CHECKING, Annotated

import typer

from hmem.cli import options, output, tables
from hmem.cli.opened import opened, watching
from hmem.errors import plural

if TYPE_CHECKING:
    from hmem.graph.descriptions import Labels
    from hmem.knowledge.audit import Suspect, Suspects


def audit(
    kb: options.KnowledgeBase,
    entity: Annotated[
        str | None, typer.Argument(metavar="ENTITY", help="Only facts about it; without one, all facts.")
    ] = None,
    relation: Annotated[str | None, typer.Option(metavar="RELATION", help="Only facts with this relation.")] = None,
    sample: Annotated[
        int, typer.Option(min=0, help="How many facts to look at, drawn at random if there are more; 0 for all.")
    ] = 1000,
    k: options.Count = 10,
    out: tables.Out = None,
    device: options.Device = "cpu",
    json_path: options.AnswerJson = None,
) -> None:
    """Stored facts that the others speak against, with what would be expected instead and why. Each is asked for from
    both of its ends as if it were not stored. Ctrl-C ends it early and keeps what was found."""
    with opened(kb, device) as (base, find):
        about = None if entity is None else find.entity(entity)
        chosen = None if relation is None else find.relation(relation)
        with watching("facts") as watch:
            found = base.audit(k, entity=about, relation=chosen, sample=sample or None, watch=watch)
    told = {"judged": found.judged, "of": found.facts, "facts": found.to_dicts(), **found.labels.to_dict()}
    if not tables.write_table(out, found, "fact", json_path, told):
        show(found)


def show(found: "Suspects") -> None:
    """A table of facts with their ranks, and what is expected in their place."""
    if not found:
        output.note("no facts to look at")
        return
    doubted = [each for each in found if max(each.tail_rank, each.head_rank) > 1]
    if not doubted:
        output.note(f"nothing speaks against {plural(found.judged, 'fact')}: the best answer from both ends")
        return
    numbers = ["rank of tail", "of head", "doubt"]
    table = output.table(["head", "relation", "tail", "expected instead"], numbers)
    for each in doubted:
        names = map(output.cell, found.labels.fact(*each.names))
        ranks = output.count(each.tail_rank), output.count(each.head_rank)
        table.add_row(*names, _instead(each, found.labels), *ranks, output.decimal(each.doubt, 1))
    output.show(table)
    if found.judged < found.facts:
        output.note(f"{found.judged:,} of {found.facts:,} facts were looked at; --sample 0 looks at all.")


def _instead(each: "Suspect", labels: "Labels") -> str:
    """What is expected, how likely it is, and the facts that speak for it, one below the other."""
    if each.instead is None:
        return "–"
    likely = "" if each.if_missing is None else f" ({output.percent(each.if_missing)})"
    because = "".join(f"\n  since {' '.join(map(output.cell, labels.fact(*fact)))}" for fact in each.because)
    return f"{each.end} {output.cell(labels.entity(each.instead))}{likely}{because}"
