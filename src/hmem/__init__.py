"""hmem: knowledge-graph completion for graphs that keep growing.

The names below are loaded when first used, so `import hmem` is quick.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "Dataset": "hmem.graph.dataset",
    "HMemError": "hmem.errors",
    "KnowledgeBase": "hmem.knowledge.base",
    "Neighborhoods": "hmem.graph.neighborhoods",
    "Vocabulary": "hmem.graph.names",
    "evaluate": "hmem.evaluation.evaluate",
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
