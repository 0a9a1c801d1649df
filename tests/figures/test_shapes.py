"""The memories that are compared."""

from hmem.figures.capacity import PAPER_TPR, SAME_ENTITIES, SAME_MEMORY, memory_size, shape_label


def test_equal_memories_are_equally_large() -> None:
    assert {memory_size(config) for config in SAME_MEMORY} == {2000}
    assert {config.entity_dim for config in (PAPER_TPR, *SAME_ENTITIES)} == {100}


def test_labels() -> None:
    assert [shape_label(config) for config in (*SAME_MEMORY[:2], SAME_ENTITIES[1])] == [
        "TPR 100 × 20", "CConv 2,000", "Hadamard 100",
    ]  # fmt: skip
