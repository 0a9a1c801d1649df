"""Arguments that several commands share, worded once."""

from typing import Annotated, Literal

import typer

from hmem.errors import ConfigError

SplitName = Literal["valid", "test"]
GraphName = Literal["train", "train+valid"]

Data = Annotated[
    str,
    typer.Argument(help="A dataset's name (see `hmem data list`), a folder with train/valid/test, or a file of facts."),
]
Split = Annotated[SplitName, typer.Option(help="The facts to rank.")]
Graph = Annotated[GraphName, typer.Option(help="The facts that memories are made of; train+valid is the paper's '+'.")]
Breakdowns = Annotated[
    bool, typer.Option("--breakdowns", help="Also by relation, degree, seen/unseen and linked/unlinked.")
]
Json = Annotated[
    str | None, typer.Option("--json", metavar="PATH", help="Write the figures as JSON; - for standard output.")
]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N.")]


def resolve_device(name: str) -> str:
    """`auto` is the GPU where there is one."""
    import torch

    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if name.split(":")[0] not in ("cpu", "cuda"):
        raise ConfigError(f'device is auto, cpu, cuda or cuda:N, not "{name}"')
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise ConfigError("device cuda was asked for, and this machine has no usable CUDA device; try --device cpu")
    return name
