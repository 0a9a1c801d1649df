"""Settings that have a name.

The first group are the paper's rows: binding, then `inf` for no completion, `im` for learned memories, `global` for
the weight-matrix ablation. `eravg` is its closest relative in the literature, and `recall` the one of our own.
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
        "training": {"link_withholding": 0.5, "fit_absence": True},
    },
}


def preset(name: str) -> dict[str, Any]:
    """The settings of a preset, in the nested form that `--set` and settings files extend."""
    if name not in PRESETS:
        near = difflib.get_close_matches(name, PRESETS, n=1)
        there = "" if near else f"; there are {', '.join(PRESETS)}"
        raise ConfigError(f'no preset "{name}"{there}', option="preset", found=name, suggestions=near)
    return PRESETS[name]
