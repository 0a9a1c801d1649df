"""`hmem untrained`: how much does a superposition hold by itself?"""

from typing import Annotated, Literal

import typer

from hmem.cli import options, output


def untrained(
    data: options.Data,
    binding: Annotated[
        Literal["tpr", "cconv", "hadamard"], typer.Option(help="How relations and entities are bound.")
    ] = "tpr",
    entity_dim: Annotated[int, typer.Option(min=1, help="Components of an entity vector.")] = 100,
    relation_dim: Annotated[
        int | None, typer.Option(min=1, help="Components of a role vector; 20 for tpr, entity_dim otherwise.")
    ] = None,
    sample: Annotated[int, typer.Option(min=1, help="How many stored links to read back.")] = 20_000,
    seed: Annotated[int, typer.Option(min=0, help="Of the random vectors and of the sample.")] = 0,
    json_path: options.Json = None,
) -> None:
    """Store the training facts over random vectors and read them back, with no training at all."""
    from hmem.config import MemoryConfig
    from hmem.evaluation.breakdown import breakdown
    from hmem.evaluation.evaluate import rank_queries
    from hmem.evaluation.protocol import Candidates
    from hmem.evaluation.queries import both_sides
    from hmem.model.index import FrozenIndex
    from hmem.model.untrained import UntrainedMemory

    dataset = output.load(data)
    size = relation_dim or (20 if binding == "tpr" else entity_dim)
    config = MemoryConfig(binding=binding, entity_dim=entity_dim, relation_dim=size)
    graph = dataset.inference_graph("train")
    memory = UntrainedMemory(config, dataset.num_entities, dataset.num_relations, FrozenIndex(graph), seed)
    queries = both_sides(dataset.inference_triples("train"), dataset.num_relations).sample(sample, seed)
    ranks = rank_queries(memory, queries, graph, [Candidates("all", dataset)])["all"]
    parts = breakdown(dataset, graph, queries, ranks)["degree"]
    settings = {"binding": binding, "entity_dim": entity_dim, "relation_dim": size}
    about = {"dataset": dataset.name, "model": "untrained", "settings": settings, "seed": seed}
    if output.write_json(json_path, {**about, "recall": parts}):
        return
    table = output.table(
        ["links of the entity"],
        ["read back", "exact", "in the first 10"],
        title=f"{dataset.name}: {len(queries):,} stored links from untrained {binding} memories",
    )
    for name, part in parts.items():
        shares = (output.decimal(part[key]) for key in ("hits@1", "hits@10"))
        table.add_row(name, output.count(int(part["count"])), *shares)
    output.show(table)
