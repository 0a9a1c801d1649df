"""`hmem demo`: two minutes that show what the library is for."""

import tempfile
import time
from collections.abc import Set
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hmem.cli import options, output

if TYPE_CHECKING:
    from hmem.evaluation.report import Report
    from hmem.graph.dataset import Dataset
    from hmem.knowledge.base import KnowledgeBase
    from hmem.knowledge.store.records import Names3
    from hmem.model.checkpoint import Model

SETTINGS: dict[str, Any] = {
    "memory": {"entity_dim": 48, "relation_dim": 10, "exact": {"paths": {"per_role": 64, "steps": 3}}},
    "training": {"batch_size": 256, "negatives": 1000, "validate_every": 4, "validation_queries": 1000},
}
PHRASES = {  # how a relation reads, asked for its tail and for its head
    "_hyponym": ("Which things are a kind of {}?", "What is {} a kind of?"),
    "_has_part": ("Which parts does {} have?", "What is {} a part of?"),
    "_part_of": ("What is {} a part of?", "Which parts does {} have?"),
}
QUESTIONS = (("canine.n.02", "_hyponym"), ("corvine_bird.n.01", "_hyponym"), ("building.n.01", "_has_part"))
MOST_REASONS = 3  # of an answer
TELLING = 0.05  # the least share of an answer's score that is worth telling
LIKELY = 0.05  # answers below are not worth showing
UNSEEN = "dire_wolf.n.01"
NEW_FACTS = ((UNSEEN, "_hypernym", "wolf.n.01"), (UNSEEN, "_has_part", "paw.n.01"))
NEW_QUESTIONS = ("_hyponym", "_part_of")  # asked for the head: what has it as a kind, as its part?


def demo(
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the facts; fewer is quicker and worse.")] = 6,
    device: options.Device = "cpu",
) -> None:
    """Train on the bundled graph, compare with the rules, ask questions, then add an unseen entity."""
    from hmem.graph.registry import load_dataset
    from hmem.knowledge.base import KnowledgeBase

    started = time.perf_counter()
    graph, gen = load_dataset("wordnet-mini"), load_dataset("wordnet-mini-gen")
    console = output.console()
    console.print(f"A slice of WordNet: {graph.num_entities:,} things, {len(graph.train):,} facts to learn from.")
    model, reports = _train_and_rank(graph, epochs, device)
    console.print(f"The same with {len(gen.heldout if gen.heldout is not None else ()):,} things kept out of training.")
    _, new_reports = _train_and_rank(gen, epochs, device)
    _show_metrics([*reports, *new_reports])
    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/model")
        with KnowledgeBase.create(f"{folder}/demo.kb", model=f"{folder}/model", facts=graph) as kb:
            entities, relations = graph.vocab.entities, graph.vocab.relations
            facts = [*graph.valid.tolist(), *graph.test.tolist()]
            held_back = {(entities[head], relations[relation], entities[tail]) for head, relation, tail in facts}
            for entity, relation in QUESTIONS:
                _ask(kb, entity, relation, "tail", held_back)
            _add_unseen_entity(kb)
    console.print(f"That took {time.perf_counter() - started:.0f} s. Your own graph: hmem train FILE --out DIR")


def _train_and_rank(dataset: "Dataset", epochs: int, device: str) -> "tuple[Model, list[Report]]":
    """A model of the dataset, and its test metrics beside those of the baselines."""
    from hmem.config import merge
    from hmem.evaluation.baselines import BASELINES, make_baseline
    from hmem.runs.evaluate import evaluate
    from hmem.runs.fit import fit

    with output.training_progress() as show:
        settings = merge(SETTINGS, {"training": {"epochs": epochs}})
        model = fit(dataset, "recall", settings=settings, device=device, callbacks=[show])
    reports = [evaluate(model, dataset, name="hmem recall")]
    reports += [evaluate(make_baseline(name, dataset, "train"), dataset, name=name) for name in BASELINES]
    return model, reports


def _show_metrics(reports: "list[Report]") -> None:
    """The test metrics that matter here: what is stored somewhere in the memory, and what is not."""
    from hmem.evaluation.metrics import ALIASES

    table = output.table(
        ["test facts about", "model"], ["MRR", "H@1", "H@10", "linked H@1", "unlinked MRR"], title="\nHow well?"
    )
    for each in reports:
        values, linked = each.protocols["all"], each.breakdowns["all"]["linked"]
        about = "entities kept out of training" if each.dataset.endswith("-gen") else "entities of the graph"
        numbers = [values[ALIASES[name]] for name in ("mrr", "hits@1", "hits@10")]
        numbers += [linked["linked"]["hits@1"], linked["unlinked"]["mrr"]]
        table.add_row(about, each.model, *map(output.decimal, numbers))
    console = output.console()
    console.print(table)
    console.print(
        "Every entity is a candidate, other true answers are filtered, ties are shared. Linked: the answer already\n"
        "stands somewhere in the entity's memory, so rules can copy it; unlinked answers have to be completed.\n"
    )


def _ask(
    kb: "KnowledgeBase", entity: str, relation: str, direction: options.DirectionName, held_back: "Set[Names3]"
) -> None:
    """What is stored, what is likely besides, and why."""
    console, (head, tail) = output.console(), (entity, None) if direction == "tail" else (None, entity)
    stored = sorted(getattr(fact, direction) for fact in kb.store.listing(head=head, relation=relation, tail=tail))
    likely = [each for each in kb.predict(entity, relation, 3, direction=direction) if (each.probability or 0) > LIKELY]
    console.print(PHRASES[relation][direction == "head"].format(entity), style="bold")
    if stored:
        console.print(f"  stored  {', '.join(stored)}")
    for each in likely:
        why, is_true = kb.explain(*each.names, direction=direction), each.names in held_back
        total = why.total or 1.0
        reasons = [reason for reason in why if reason.contribution > TELLING * total][:MOST_REASONS]
        held = "  (true: a held-back fact says so)" if is_true else ""
        console.print(f"  {output.percent(each.probability):>5}   {getattr(each, direction)}{held}")
        for reason in reasons:
            console.print(f"          {reason.contribution / total:.0%} from {reason.text}", style="dim")
    if not likely:
        console.print(f"  nothing {'else ' if stored else ''}above {LIKELY:.0%}", style="dim")
    console.print()


def _add_unseen_entity(kb: "KnowledgeBase") -> None:
    """Add an entity with two facts and ask about it at once; nothing is trained."""
    console = output.console()
    console.print("Now an entity that came after training. Nothing is trained.", style="bold")
    for fact in NEW_FACTS:
        kb.add(*fact, source="demo")
        console.print(f"  added   {' '.join(fact)}")
    console.print()
    for relation in NEW_QUESTIONS:
        _ask(kb, UNSEEN, relation, "head", set())
