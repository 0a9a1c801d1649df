"""hmem: knowledge-graph completion for graphs that keep growing.

The names below are loaded when first used, so `import hmem` is quick. Type checkers see where they come from.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hmem.errors import HMemError as HMemError
    from hmem.evaluation.report import Report as Report
    from hmem.graph.dataset import Dataset as Dataset
    from hmem.graph.names import Vocabulary as Vocabulary
    from hmem.graph.neighborhoods import Neighborhoods as Neighborhoods
    from hmem.graph.readers.read import read_table as read_table
    from hmem.graph.registry import load_dataset as load_dataset
    from hmem.knowledge.base import KnowledgeBase as KnowledgeBase
    from hmem.model.checkpoint import Model as Model
    from hmem.runs.callbacks import Callback as Callback
    from hmem.runs.evaluate import evaluate as evaluate
    from hmem.runs.fit import fit as fit
    from hmem.runs.fit import load as load

_HOMES = {
    "Callback": "hmem.runs.callbacks",
    "Dataset": "hmem.graph.dataset",
    "HMemError": "hmem.errors",
    "KnowledgeBase": "hmem.knowledge.base",
    "Model": "hmem.model.checkpoint",
    "Neighborhoods": "hmem.graph.neighborhoods",
    "Report": "hmem.evaluation.report",
    "Vocabulary": "hmem.graph.names",
    "evaluate": "hmem.runs.evaluate",
    "fit": "hmem.runs.fit",
    "load": "hmem.runs.fit",
    "load_dataset": "hmem.graph.registry",
    "read_table": "hmem.graph.readers.read",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'hmem' has no attribute '{name}'")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
