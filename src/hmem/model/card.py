"""The model card: what a trained model is, in the form that model hubs read."""

import json
from typing import Any

from hmem.config import Config, to_dict
from hmem.graph.names import Vocabulary


def model_card(preset: str, dataset: str, config: Config, vocab: Vocabulary, metrics: dict[str, Any]) -> str:
    rows = [
        f"| {report['split']} | {report['graph']} | {protocol} | "
        + " | ".join(f"{metrics_of[f'both.realistic.{key}']:.3f}" for key in METRICS)
        + " |"
        for report in metrics.get("reports", [])
        for protocol, metrics_of in report["protocols"].items()
    ]
    table = "\n".join(["| split | graph | protocol | MRR | H@1 | H@3 | H@10 |", "|---|---|---|---|---|---|---|", *rows])
    if config.propagation is None:
        what = (
            f"A Harmonic Memory Network over {len(vocab.entities):,} entities and {len(vocab.relations):,} relations."
        )
    elif config.propagation.roles == "computed":
        what = "A network that passes messages along the facts. It has no names of its own, and answers on any graph."
    else:
        what = (
            f"A network that passes messages along the facts, trained on {len(vocab.entities):,} entities and "
            f"{len(vocab.relations):,} relations."
        )
    return f"""---
pipeline_tag: graph-ml
library_name: hmem
tags: [knowledge-graph, link-prediction, inductive]
---
# {preset or "hmem"} on {dataset or "a knowledge graph"}

{what}
Entities and facts may be added after training; the next answer uses them.

{table if rows else "Not evaluated yet: `hmem evaluate` this folder."}

Filtered ranks, ties shared (realistic), both sides.

```json
{json.dumps(to_dict(config), indent=2)}
```
"""


METRICS = ("inverse_harmonic_mean_rank", "hits_at_1", "hits_at_3", "hits_at_10")
