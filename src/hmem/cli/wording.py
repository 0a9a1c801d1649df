"""Errors in the words of the command line: options as they are typed, commands instead of calls."""

from collections.abc import Sequence
from typing import Any

from hmem.errors import ConfigError, Hint, HMemError, word


def as_typed(error: HMemError) -> str:
    """An error as one line for a reader who types commands."""
    return word(error, str, _hint, _option)


def misused(error: Any) -> ConfigError:
    """What typer says of words that fit no command, as an error of ours: one line, with where to read more."""
    problem = error.format_message().removesuffix(".").replace("Value error, ", "").replace("Input should", "it should")
    command = "hmem" if error.ctx is None else error.ctx.command_path
    return ConfigError(problem[:1].lower() + problem[1:], hint=Hint(text="see", command=f"{command} --help"))


def _hint(hint: Hint) -> str:
    return hint.with_action(hint.command or (_option(hint.option, hint.value) if hint.option else ""))


def _option(name: str, value: object) -> str:
    """An argument of the library as an option: `columns=(0, 1, 2)` is typed `--columns 0,1,2`."""
    match name, value:
        case "iris", "short":
            return "--short-names"
        case "read_only", _:  # commands choose it themselves
            return ""
        case _, bool():
            return f"--{'' if value else 'no-'}{_typed(name)}"
        case "delimiter", _:  # it may be a space
            return f"--delimiter {value!r}"
        case _, Sequence() if not isinstance(value, str):
            return f"--{_typed(name)} {','.join(map(str, value))}"
        case _:
            return f"--{_typed(name)} {value}"


def _typed(name: str) -> str:
    return name.replace("_", "-")
