"""Fixtures of the memory tests. Nothing of hmem is imported here, or jaxtyping would come too late to watch it."""

from collections.abc import Iterator

import pytest
import torch


@pytest.fixture
def cuda() -> Iterator[torch.device]:
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    yield torch.device("cuda")
    torch.cuda.set_sync_debug_mode("default")
