"""`hmem predict`, `explain`, `missing` and `similar`: questions to a knowledge base."""

from typing import Annotated

import typer

from hmem.cli import options, output, tables
from hmem.cli.answers import show_estimate, show_predictions
from hmem.cli.opened import is_property, opened, warn_if_outgrown, watching
from hmem.cli.reasons import show_reasons
from hmem.errors import ConfigError, plural


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
    if output.write_json(json_path, answers):
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
    out: tables.Out = None,
    device: options.Device = "cpu",
    json_path: options.AnswerJson = None,
) -> None:
    """The likeliest facts that are not stored: about ENTITY, over all relations, with it as head or tail; or over the
    whole graph, one relation or one kind of entity. Ctrl-C ends that early and keeps what was found."""
    if entity is not None and (relation is not None or having is not None):
        raise ConfigError("--relation and --having go through the graph: leave out ENTITY, or ask with hmem predict")
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
    told = {"entity": name, "facts": found.to_dicts(), **found.labels.to_dict()}
    if not tables.write_table(out, found, "fact", json_path, told):
        show_predictions(found, title, ["head", "relation", "tail"], stored=False)
    if done is not None:
        before = f", {done.unchanged:,} of them since before" if done.unchanged else ""
        kept = plural(len(done.changed) + done.unchanged, "answer")
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
    if output.write_json(json_path, {"entity": entity, "similar": found.to_dicts(), **found.labels.to_dict()}):
        return
    if not found:
        output.note(f"nothing is like {about}: no other entity has a fact in common with it")
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
    if not output.write_json(
        json_path, {"fact": fact, **found.summary(), "reasons": found.to_dicts(), **found.labels.to_dict()}
    ):
        show_reasons(found)


def _chosen(direction: options.DirectionName, old_tail: bool) -> options.DirectionName:
    """The direction, by its option or by the flag that came before it."""
    if not old_tail:
        return direction
    output.note("--tail is called --direction head now, and will go away")
    return "head"


def _then(at: str | None) -> str:
    return "" if at is None else f" at {at}"
