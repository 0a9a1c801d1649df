"""The device that a caller means."""

import torch

from hmem.errors import ConfigError, Hint


def resolve_device(name: str) -> str:
    """`auto` is the GPU where there is one."""
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if name.split(":")[0] not in ("cpu", "cuda"):
        raise ConfigError(f'device is auto, cpu, cuda or cuda:N, not "{name}"', option="device", found=name)
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise ConfigError(
            "device cuda was asked for, and this machine has no usable CUDA device",
            option="device",
            found=name,
            hint=Hint(text="try", option="device", value="cpu"),
        )
    return name
