"""`hmem demo`: two minutes that show what the library is for."""

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hmem.cli import options, output

if TYPE_CHECKING:
    from hmem.evaluation.report import Report
    from hmem.graph.dataset import Dataset
    from hmem.graph.neighborhoods import Neighborhoods
    from hmem.model.hmem import HMem
    from hmem.model.index import LiveIndex

SETTINGS: dict[str, Any] = {
    "memory": {"entity_dim": 48, "relation_dim": 10, "paths_per_role": 64, "path_steps": 3},
    "training": {
        "batch_size": 256,
        "negatives": 1000,
        "validate_every": 4,
        "validation_queries": 1000,
    },
}
PHRASES = {  # how a relation reads, asked for its tail and for its head
    "_hyponym": ("Which things are a kind of {}?", "What is {} a kind of?"),
    "_has_part": ("Which parts does {} have?", "What is {} a part of?"),
    "_part_of": ("What is {} a part of?", "Which parts does {} have?"),
}
QUESTIONS = (("canine.n.02", "_hyponym"), ("corvine_bird.n.01", "_hyponym"), ("building.n.01", "_has_part"))
MOST_WALKS = 2  # of the ways to an answer, those worth telling
LIKELY = 0.2  # answers below are not worth showing
UNSEEN = "dire_wolf.n.01"
NEW_FACTS = ((UNSEEN, "_hypernym", "wolf.n.01"), (UNSEEN, "_has_part", "paw.n.01"))
NEW_QUESTIONS = ("_hyponym", "_part_of")  # asked for the head: what has it as a kind, as its part?


def demo(
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the facts; fewer is quicker and worse.")] = 6,
    device: options.Device = "cpu",
) -> None:
    """Train on the bundled graph, compare with the rules, ask questions, then add an unseen entity."""
    from hmem.graph.registry import load_dataset

    started = time.perf_counter()
    graph, gen = load_dataset("wordnet-mini"), load_dataset("wordnet-mini-gen")
    console = output.console()
    console.print(f"A slice of WordNet: {graph.num_entities:,} things, {len(graph.train):,} facts to learn from.")
    model, reports = _train_and_rank(graph, epochs, device)
    console.print(f"The same with {len(gen.heldout if gen.heldout is not None else ()):,} things kept out of training.")
    _, new_reports = _train_and_rank(gen, epochs, device)
    _show_metrics([*reports, *new_reports])
    neighborhoods = graph.inference_graph("train")
    for entity, relation in QUESTIONS:
        _ask(model, graph, neighborhoods, entity, relation)
    _add_unseen_entity(model, graph, neighborhoods)
    console.print(f"That took {time.perf_counter() - started:.0f} s. Your own graph: hmem train FILE --out DIR")


def _train_and_rank(dataset: "Dataset", epochs: int, device: str) -> "tuple[HMem, list[Report]]":
    """A model of the dataset, and its test metrics beside those of the baselines."""
    from hmem.cli.progress import training_progress
    from hmem.config import merge
    from hmem.evaluation.baselines import make_baseline
    from hmem.runs.evaluate import evaluate
    from hmem.runs.fit import fit

    with training_progress() as show:
        settings = merge(SETTINGS, {"training": {"epochs": epochs}})
        model = fit(dataset, settings=settings, device=device, callbacks=[show])
    reports = [evaluate(model, dataset, name="hmem recall")]
    reports += [evaluate(make_baseline(name, dataset, "train"), dataset, name=name) for name in ("rules", "frequency")]
    return model.model, reports


def _show_metrics(reports: "list[Report]") -> None:
    """The test metrics that matter here: what is stored somewhere in the memory, and what is not."""
    table = output.table(
        ["test facts about", "model"], ["MRR", "H@1", "H@10", "linked H@1", "unlinked MRR"], title="\nHow well?"
    )
    for each in reports:
        values, linked = each.protocols["all"], each.breakdowns["all"]["linked"]
        table.add_row(
            "entities kept out of training" if each.dataset.endswith("-gen") else "entities of the graph",
            each.model,
            *(
                output.decimal(values[f"both.realistic.{key}"])
                for key in ("inverse_harmonic_mean_rank", "hits_at_1", "hits_at_10")
            ),
            output.decimal(linked["linked"]["hits@1"]),
            output.decimal(linked["unlinked"]["mrr"]),
        )
    console = output.console()
    console.print(table)
    console.print(
        "Every entity is a candidate, other true answers are filtered, ties are shared. Linked: the answer already\n"
        "stands somewhere in the entity's memory, so rules can copy it; unlinked answers have to be completed.\n"
    )


def _ask(
    model: "HMem", dataset: "Dataset", graph: "Neighborhoods", entity: str, relation: str, *, head: bool = False
) -> None:
    """What is stored, what is likely besides, and why."""
    import torch

    from hmem.model.index import LiveIndex
    from hmem.model.query import Query

    entities = dataset.vocab.entities
    asked = entities.id_of(entity)
    role = dataset.vocab.relations.id_of(relation) + (0 if head else dataset.num_relations)
    index = LiveIndex(graph, model.num_entities)
    with torch.inference_mode():
        shares = model(Query(torch.tensor([asked]), torch.tensor([role])), index)[0].exp()  # (E,) p(x)
    stored = set(graph.answers(asked, role).tolist())
    best = shares.topk(5 + len(stored)).indices.tolist()
    likely = [x for x in best if x not in stored and shares[x] > LIKELY]
    held_back = set(dataset.known().answers(asked, role).tolist()) if asked < model.num_entities else set()
    console = output.console()
    console.print(PHRASES[relation][head].format(entity), style="bold")
    if stored:
        console.print(f"  stored  {', '.join(sorted(entities[x] for x in stored))}")
    for answer in likely[:3]:
        console.print(
            f"  {float(shares[answer]):.2f}    {entities[answer]}"
            + ("  (true: a held-back fact says so)" if answer in held_back else "")
        )
        console.print(f"          {_reason(model, dataset, index, asked, role, answer)}", style="dim")
    if not likely:
        console.print(f"  nothing {'else ' if stored else ''}above {LIKELY}", style="dim")
    console.print()


def _reason(model: "HMem", dataset: "Dataset", index: "LiveIndex", asked: int, role: int, answer: int) -> str:
    """The stored facts that gave the answer its probability."""
    from hmem.model.explain import explain

    found = explain(model, index, asked, role, answer)
    total = float(found.copied.sum()) + float(found.reached.sum()) + found.dense_share
    parts = [
        f"{float(copied) / total:.0%} from {_fact(dataset, asked, int(edge_role), int(filler))}"
        for copied, edge_role, filler in zip(found.copied, found.roles, found.fillers, strict=True)
        if float(copied) > 0.05 * total
    ]
    walks = zip(found.reached.tolist(), found.path_roles.tolist(), found.path_nodes.tolist(), strict=True)
    for reached, roles, nodes in sorted(walks, reverse=True)[:MOST_WALKS]:
        if reached > 0.05 * total:
            stops = [asked, *(node for node in nodes if node >= 0)]
            steps = zip(stops, roles, stops[1:], strict=False)
            parts.append(f"{reached / total:.0%} by way of {', '.join(_fact(dataset, *step) for step in steps)}")
    if found.dense_share > 0.05 * total:
        parts.append(f"{found.dense_share / total:.0%} completed from the memory as a whole")
    return ", ".join(parts)


def _add_unseen_entity(model: "HMem", dataset: "Dataset", graph: "Neighborhoods") -> None:
    """Add an entity with two facts and ask about it at once; nothing is trained."""
    console = output.console()
    console.print("Now an entity that came after training. Nothing is trained.", style="bold")
    for head, relation, tail in NEW_FACTS:
        dataset.vocab.entities.add(head)
        graph.add(
            dataset.vocab.entities.id_of(head),
            dataset.vocab.relations.id_of(relation),
            dataset.vocab.entities.id_of(tail),
        )
        console.print(f"  added   {head} {relation} {tail}")
    console.print()
    for relation in NEW_QUESTIONS:
        _ask(model, dataset, graph, UNSEEN, relation, head=True)


def _fact(dataset: "Dataset", owner: int, role: int, filler: int) -> str:
    """An edge as the fact it came from."""
    right = role >= dataset.num_relations
    head, tail = (owner, filler) if right else (filler, owner)
    names = dataset.vocab.entities
    return f"{names[head]} {dataset.vocab.relations[role % dataset.num_relations]} {names[tail]}"
