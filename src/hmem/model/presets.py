"""Settings that have a name.

The first group are the paper's rows: binding, then `inf` for no completion, `im` for learned memories, `global` for
the weight-matrix ablation. `eravg` is its closest relative in the literature, and `recall` and `propagate` are our own.
"""

import difflib
import math
from typing import Any

from hmem.errors import ConfigError

TPR: dict[str, Any] = {"binding": "tpr", "entity_dim": 80, "relation_dim": 25}
# Whitened vectors have norm 1, so distances span [0, 4] only: without a temperature no softmax over them gets sharp.
CCONV: dict[str, Any] = {"binding": "cconv", "entity_dim": 200, "relation_dim": 200, "temperature": 10.0}
COMPLETED: dict[str, Any] = {"stiffness": 1.0}
ASSEMBLED: dict[str, Any] = {"stiffness": math.inf}

# A question costs a pass over the graph, so that a batch has few of them. The rest is chosen for each graph.
PROPAGATED: dict[str, Any] = {
    **dict.fromkeys(("epochs", "validate_every", "link_withholding", "neighbor_dropout", "counting")),
    "batch_size": 32,
    "learning_rate": 3e-3,
    "weight_decay": 1e-4,
    "validation_queries": 3000,
}

DEFAULT = "any-graph"

PRESETS: dict[str, dict[str, Any]] = {
    "tpr": {"memory": {**TPR, **COMPLETED}},
    "tpr-inf": {"memory": {**TPR, **ASSEMBLED}},
    "tpr-im": {"memory": {**TPR, **COMPLETED, "kind": "implicit"}},
    "tpr-global": {"memory": {**TPR, **COMPLETED, "local_weight": False}},
    "cconv": {"memory": {**CCONV, **COMPLETED}},
    "cconv-inf": {"memory": {**CCONV, **ASSEMBLED}},
    "cconv-im": {"memory": {**CCONV, **COMPLETED, "kind": "implicit"}},
    "cconv-global": {"memory": {**CCONV, **COMPLETED, "local_weight": False}},
    # oDistMult-ERAvg (Albooyeh et al. 2020): the mean of r ⊙ e over the neighborhood, answers unbound by r ⊙ M.
    "eravg": {
        "memory": {
            "binding": "hadamard",
            "entity_dim": 200,
            "relation_dim": 200,
            "weighting": "mean",
            "stiffness": math.inf,
            "identity": False,
        }
    },
    # Exact recall of what is stored, in one step or two, and completion of what is not.
    "recall": {
        "memory": {
            **TPR,
            **ASSEMBLED,
            "exact": {"paths": {"per_role": 32}},
            "readout": {"maps": 4},
            "own_bias": True,
            "identity": False,
        },
        "training": {"link_withholding": 0.5, "fit_absence": True, "counting": None},
    },
    # Messages along the facts, from the asked entity: no vector for any entity, only for roles.
    "propagate": {"propagation": {"roles": "learned"}, "training": PROPAGATED},
    # The same from the weights that come with hmem and answer on any graph; a table adds what one graph has of its own.
    "any-graph": {"propagation": {"roles": "both"}, "training": PROPAGATED},
}


def preset(name: str) -> dict[str, Any]:
    """The settings of a preset, in the nested form that `--set` and settings files extend."""
    if name not in PRESETS:
        near = difflib.get_close_matches(name, PRESETS, n=1)
        there = "" if near else f"; there are {', '.join(PRESETS)}"
        raise ConfigError(f'no preset "{name}"{there}', option="preset", found=name, suggestions=near)
    return PRESETS[name]
