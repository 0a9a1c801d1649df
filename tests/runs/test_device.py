"""Which device a name stands for."""

import pytest
import torch

from hmem.errors import ConfigError
from hmem.runs.device import resolve_device


def test_auto_is_the_gpu_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for there, device in ((True, "cuda"), (False, "cpu")):
        monkeypatch.setattr(torch.cuda, "is_available", lambda there=there: there)
        assert resolve_device("auto") == device
        assert resolve_device("cpu") == "cpu"
    with pytest.raises(ConfigError, match="no usable CUDA device; try: device='cpu'"):
        resolve_device("cuda:1")
    with pytest.raises(ConfigError, match='not "tpu"'):
        resolve_device("tpu")
