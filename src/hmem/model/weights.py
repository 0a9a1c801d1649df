"""Weights in a safetensors file: read whole or refused, written whole or not at all."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from hmem.errors import CheckpointError, Hint

T = TypeVar("T")
BEFORE_3 = {"is_known": "is_trained"}  # tensors that had another name in model folders of format 1 and 2
DTYPES = {"F32": torch.float32, "F64": torch.float64, "I64": torch.int64, "BOOL": torch.bool}  # as safetensors says


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors and metadata of a safetensors file."""
    with _opened(path) as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except FileNotFoundError as error:
        problem = "no such file; a model folder has config.json and model.safetensors"
        raise CheckpointError(problem, path=path) from error
    except (SafetensorError, OSError, ValueError) as error:
        hint = Hint(text="copy it again")
        raise CheckpointError(f"not a whole safetensors file ({error})", path=path, hint=hint) from error


def with_todays_names(weights: dict[str, T]) -> dict[str, T]:
    """The weights of a model, or what is said of them, under the names that its tensors have now."""
    return {BEFORE_3.get(name, name): value for name, value in weights.items()}


def write_tensors(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> None:
    """Write beside the old file and move over it, so that a kill leaves one of the two."""
    beside = path.with_name(f".{path.name}.part")
    try:
        save_file(tensors, beside, metadata=metadata)
    except SafetensorError as error:  # a full disk, for one
        beside.unlink(missing_ok=True)
        number = re.search(r"os error (\d+)", str(error))
        reason = os.strerror(int(number[1])) if number else str(error)
        problem = f"could not be written ({reason}); what was there before is untouched"
        raise CheckpointError(problem, path=path, hint="free some space and try again" if number else None) from error
    os.chmod(beside, 0o644)  # safetensors makes it readable for its owner only
    os.replace(beside, path)


def check_sizes(expected: dict[str, Tensor], path: Path, absent_then: tuple[str, ...]) -> None:
    """Compare what `config.json` says with the header of the weights, before anything of either size is made."""
    with _opened(path) as file:
        header = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
        sizes = {
            name: (tuple(each.get_shape()), DTYPES.get(each.get_dtype(), each.get_dtype()))
            for name, each in header.items()
        }
    found = with_todays_names(sizes)
    for name, value in expected.items():
        if name not in found and name not in absent_then:
            raise CheckpointError(f"the tensor {name} is missing", path=path)
        wanted = tuple(value.shape), value.dtype
        if found.get(name, wanted) != wanted:
            (shape, kind), (wanted_shape, wanted_kind) = found[name], wanted
            raise CheckpointError(
                f"{name} has shape {shape} of {kind}, expected {wanted_shape} of {wanted_kind}; config.json and the "
                "weights do not belong together",
                path=path,
            )
    extra = sorted(set(found) - set(expected))
    if extra:
        raise CheckpointError(f"unexpected tensor {extra[0]}", path=path)
