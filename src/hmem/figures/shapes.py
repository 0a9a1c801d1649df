"""The memories of random vectors that the figures compare."""

from hmem.config import MemoryConfig
from hmem.memory.binding import make_binding

BINDINGS = {"tpr": "TPR", "cconv": "CConv", "hadamard": "Hadamard"}

# The paper's simulation has entities of 100 and roles of 20 components: a memory of 2,000 numbers. The other bindings
# get a memory of the same size, and one of the same entities.
PAPER_TPR = MemoryConfig(binding="tpr", entity_dim=100, relation_dim=20)
SAME_MEMORY = (
    PAPER_TPR,
    MemoryConfig(binding="cconv", entity_dim=2000, relation_dim=2000),
    MemoryConfig(binding="hadamard", entity_dim=2000, relation_dim=2000),
)
SAME_ENTITIES = (
    MemoryConfig(binding="cconv", entity_dim=100, relation_dim=100),
    MemoryConfig(binding="hadamard", entity_dim=100, relation_dim=100),
)


def memory_size(config: MemoryConfig) -> int:
    """How many numbers one memory has."""
    return make_binding(config.binding).memory_dim(config.entity_dim, config.relation_dim)


def shape_label(config: MemoryConfig) -> str:
    """`TPR 100 × 20`, `CConv 2,000`: the binding and the components of its memory."""
    sizes = f"{config.entity_dim:,} × {config.relation_dim:,}" if config.binding == "tpr" else f"{config.entity_dim:,}"
    return f"{BINDINGS[config.binding]} {sizes}"
