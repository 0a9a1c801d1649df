"""What the benchmarks share: how they are asked, and where their results go."""

import argparse
import math
from pathlib import Path
from typing import Any


def arguments(description: str | None) -> argparse.ArgumentParser:
    """A parser that knows `--json` and shows what the benchmark says of itself."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="PATH", help="add the results to this file, a line for each")
    return parser


def keep(row: dict[str, Any], path: Path | None) -> None:
    """Add a line to the file that was given with `--json`, if one was."""
    from hmem.reproduction.results import append_line  # only here: some benchmarks tell the memory of their process

    if path is not None:
        append_line(path, _finite(row))


def _finite(value: Any) -> Any:
    """Without what is not a number, such as the memory of a GPU that is not there."""
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
