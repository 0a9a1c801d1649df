"""`hmem kb`: knowledge bases, the files in which facts last and which answer by a model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hmem.cli import options, output, transfer
from hmem.cli.opened import opened
from hmem.cli.progress import import_progress
from hmem.errors import CheckpointError, Place, StoreError, plural
from hmem.knowledge.store.places import place_of, shown_place

if TYPE_CHECKING:
    from hmem.knowledge.store.store import Store

KINDS = 6  # that are listed

app = typer.Typer(
    help="Make, inspect and look after knowledge bases: facts that last, with a model that answers from them.",
    no_args_is_help=True,
)


@app.command()
def create(
    kb: Annotated[
        Place,
        typer.Argument(
            metavar="KB",
            parser=place_of,
            help="The file to make, such as zoo.kb; or where in PostgreSQL: postgresql://HOST/DATABASE?schema=zoo.",
        ),
    ],
    model: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The model that answers, a folder `hmem train` wrote; by default `base`."),
    ] = None,
    facts: Annotated[
        str | None,
        typer.Option(
            metavar="DATA", help="Facts to begin with: a file, a folder, a dataset's name; - for standard input."
        ),
    ] = None,
    entities: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Labels, kinds and descriptions, as `hmem entities import` reads them."),
    ] = None,
    values: options.ValueRelations = None,
    overwrite: options.OverwriteBase = False,
    json_path: options.AnswerJson = None,
) -> None:
    """Make a knowledge base, of facts, of a model of its own, of both or of neither: each can come later.

    Until it has a model of its own, `base` answers: the one that comes with hmem.

    Of a dataset with splits the training facts are taken, and those observed of held-out entities.
    """
    from hmem.knowledge.base import KnowledgeBase
    from hmem.knowledge.store.as_dataset import is_knowledge_base

    given: Any = None
    if facts is not None:
        if is_knowledge_base(facts):
            given = facts
        elif facts == transfer.STANDARD or Path(facts).expanduser().is_file():
            given = transfer.read(facts)
        else:
            given = output.load(facts)
    source = "standard input" if facts == transfer.STANDARD else "created" if facts is None else shown_place(facts)
    begin = {"facts": given, "entities": entities or (), "values": options.listed(values), "source": source}
    with KnowledgeBase.create(kb, model=model, overwrite=overwrite, **begin):
        pass
    info(kb, json_path)


@app.command()
def info(kb: options.KnowledgeBase, json_path: options.AnswerJson = None) -> None:
    """What a knowledge base holds, which model it uses, and how much has come since that was trained."""
    with transfer.open_store(kb, read_only=True) as store:
        found = {
            "knowledge_base": kb,
            **store.count(),
            **_times(store),
            "kinds": store.naming.kinds(),
            "inferred": store.models(),
            "model": _model(store),
        }
    if output.write_json(json_path, found):
        return
    facts = output.count(found["facts"])
    if found["removed"]:
        facts += f" ({output.count(found['removed'])} more removed, kept in the history)"
    rows = {
        "knowledge base": str(kb),
        "facts": facts,
        "entities": output.count(found["entities"]),
        "relations": output.count(found["relations"]),
        **({"values": output.count(found["values"])} if found["values"] else {}),
        "writes": output.count(found["moments"]),
        "size": output.size(found["bytes"]),
    }
    if found["inferred"]:
        each = (f"{number:,} by {output.one_line(name)}" for name, number in found["inferred"].items())
        rows["inferred facts"] = ", ".join(each)
    if found["kinds"]:
        some = [f"{output.one_line(kind)} {number:,}" for kind, number in list(found["kinds"].items())[:KINDS]]
        more = len(found["kinds"]) - len(some)
        rows["kinds"] = ", ".join(some) + (f" and {more:,} more" if more else "")
    if found["last_write"] is not None:
        rows["writes"] += f", the last at {output.when(found['last_write'])}"
    output.show(output.facts(rows | _model_rows(kb, found["model"], found["relations"])))


@app.command()
def copy(
    kb: options.KnowledgeBase,
    target: Annotated[
        Place, typer.Argument(metavar="TARGET", parser=place_of, help="Where to make the copy: a file or an address.")
    ],
    overwrite: options.OverwriteBase = False,
    json_path: options.AnswerJson = None,
) -> None:
    """Copy a whole knowledge base with its history: a file, into PostgreSQL, or out of it.

    Numbers, moments, sources, removed facts, names, values and the model in use are the same in the copy, which appears
    when all rows have been compared.
    """
    from hmem.knowledge.copying import copy as copy_base

    with import_progress() as progress:
        rows = copy_base(kb, target, overwrite=overwrite, watch=progress)
    if output.write_json(json_path, {"knowledge_base": kb, "copy": target, "rows": rows}):
        return
    parts = [
        plural(rows["fact"], "fact"),
        plural(rows["entity"], "entity", "entities"),
        plural(rows["moment"], "write"),
    ]
    output.say(f"{target}: {', '.join(parts)}, removed ones included; all {sum(rows.values()):,} rows compared")


@app.command()
def check(kb: options.KnowledgeBase, json_path: options.AnswerJson = None) -> None:
    """Read all of a knowledge base, and of its index, and say what is wrong; leaves with 1 if anything is."""
    from hmem.knowledge.base_index import problems_of_index

    with transfer.open_store(kb, read_only=True) as store:
        problems = [*store.check(), *problems_of_index(store)]
        counts = store.count() if not problems else {}
    if not output.problems("knowledge_base", kb, problems, json_path):
        facts, writes = plural(counts["facts"], "fact"), plural(counts["moments"], "write")
        output.say(f"{kb} is sound: {facts} about {plural(counts['entities'], 'entity', 'entities')}, {writes}")


@app.command()
def compact(kb: options.KnowledgeBase, json_path: options.AnswerJson = None) -> None:
    """Give unused space back to the disk. Facts and history stay; an index of the graph is brought up to date."""
    from hmem.knowledge.base_index import BaseIndex, keep_index

    with transfer.open_store(kb) as store:
        before, after = store.compact()
        if (found := BaseIndex.of(store)) is not None and found.moment < store.moment:
            keep_index(store)
    if not output.write_json(json_path, {"knowledge_base": kb, "bytes_before": before, "bytes": after}):
        output.say(f"{kb}: {output.size(before)} before, {output.size(after)} now")


@app.command()
def index(kb: options.KnowledgeBase, json_path: options.AnswerJson = None) -> None:
    """Write the graph of a knowledge base into a folder beside it, so that it opens at once, whatever its size.

    From a million facts on `hmem kb create` and a server do so by themselves. What is added later is kept on top.
    """
    from hmem.knowledge.base import KnowledgeBase

    with KnowledgeBase.open(kb) as base:
        folder = base.index()
    size = sum(path.stat().st_size for path in folder.iterdir())
    if not output.write_json(json_path, {"knowledge_base": kb, "folder": folder, "bytes": size}):
        output.say(f"{folder}: {output.size(size)}")


@app.command()
def use(
    kb: options.KnowledgeBase,
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A folder that `hmem train` wrote, or `base`.")],
    json_path: options.AnswerJson = None,
) -> None:
    """Let a knowledge base answer by this model from now on."""
    from hmem.knowledge.base import KnowledgeBase

    with KnowledgeBase.open(kb) as base:
        base.use_model(model)
    info(kb, json_path)


@app.command()
def drift(kb: options.KnowledgeBase, device: options.Device = "cpu", json_path: options.AnswerJson = None) -> None:
    """How far the facts have moved on since the model was trained, and whether training again would pay.

    Recent facts and as many older ones are asked for, each left out while it is, from both ends.
    """
    from hmem.knowledge.drift import drift as measure

    with opened(kb, device) as (base, _):
        found = measure(base)
    if output.write_json(json_path, found.to_dict()):
        return
    older = found.facts - found.new_facts
    table = output.table(["facts"], ["number", "MRR"])
    table.add_row("from before training, left out and asked for", output.count(older), output.decimal(found.older_mrr))
    table.add_row("from after it, the same", output.count(found.new_facts), output.decimal(found.recent_mrr))
    table.add_row("kept for validation in training", "", output.decimal(found.validation_mrr))
    output.show(table)
    since = [
        f"{plural(found.gone_facts, 'fact')} removed since",
        plural(found.new_entities, "new entity", "new entities"),
        plural(len(found.new_relations), "new relation"),
    ]
    output.say(f"{', '.join(since)}.")
    output.say(found.advice)


def _times(store: "Store") -> dict[str, Any]:
    """When it was written first and last."""
    ends = [next(store.listing(limit=1, newest_first=newest), None) for newest in (False, True)]
    changed = store.history(limit=1)
    last = changed[0].removed_at or changed[0].added_at if changed else None
    return {"first_write": ends[0].added_at if ends[0] else None, "last_write": last}


def _model(store: "Store") -> dict[str, Any] | None:
    """What `info` says about the model in use."""
    from hmem.evaluation.calibration import Calibration
    from hmem.knowledge.model_link import ModelLink

    link = ModelLink.of(store)
    if link is None:
        return None
    try:
        saved = link.load(store, "cpu")
        found = saved.metrics.get("calibration")
        calibration = None if found is None else Calibration.from_dict(found)
    except (StoreError, CheckpointError) as error:
        return {"folder": link.folder, "trouble": str(error)}
    changes = store.changes_since(link.trained_until, 0, 0)
    return {
        "folder": link.folder,
        "preset": saved.preset,
        "dataset": saved.dataset,
        "entities": len(saved.vocab.entities),
        "relations": len(saved.vocab.relations),
        "calibration_questions": calibration and calibration.questions,
        "calibration_error": calibration and calibration.error,
        "calibration_top_error": calibration and calibration.top_error,
        "facts_since": len(changes.added),
        "removed_since": len(changes.removed),
        "new_entities": sum(name not in saved.vocab.entities for name in store.entity_names()),
        "new_relations": sum(name not in saved.vocab.relations for name in store.relation_names()),
        "takes_new_relations": saved.model.takes_new_relations,
    }


def _model_rows(kb: Place, model: dict[str, Any] | None, stored_relations: int) -> dict[str, str]:
    if model is None:
        return {"model": f"base, which comes with hmem; hmem train --from {kb} --out DIR makes a better one"}
    if "trouble" in model:
        return {"model": model["trouble"]}
    entities = plural(model["entities"], "entity", "entities")
    relations = plural(model["relations"], "relation")
    folder: Path = model["folder"]
    near = folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder
    rows = {"model": f"{near} ({model['preset']}, {entities}, {relations})"}
    if model["calibration_questions"] is None:
        rows["probabilities"] = "none: the model is not calibrated, so answers have scores only"
    elif model["calibration_error"] is None:
        rows["probabilities"] = "calibrated on a single question"
    else:
        rows["probabilities"] = (
            f"off by {100 * model['calibration_top_error']:.1f} points on average for best answers, "
            f"{100 * model['calibration_error']:.2f} for all candidates ({model['calibration_questions']:,} questions)"
        )
    rows["since training"] = f"{plural(model['facts_since'], 'fact')} added, {model['removed_since']:,} removed"
    new_entities = plural(model["new_entities"], "entity", "entities")
    rows["new to it"] = f"{new_entities}, {plural(model['new_relations'], 'relation')}"
    if 0 < stored_relations == model["new_relations"] and not model["takes_new_relations"]:
        rows["new to it"] += ": all there are, so nothing can be predicted with it"
    return rows
