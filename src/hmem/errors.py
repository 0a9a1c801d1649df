"""Every error hmem raises on purpose.

    HMemError
    ├── ConfigError             a setting is unknown, or does not fit the others
    ├── DataError               input that cannot be read as a graph
    ├── DownloadError           a dataset that could not be fetched, or is not what it should be
    ├── UnknownNameError        an entity or relation that is not in the graph
    │   └── UntrainedRelationError  a relation that is stored, but came after the model was trained
    ├── AmbiguousNameError      a label that several entities or relations have
    ├── EmptyNeighborhoodError  a question about an entity that has no facts
    ├── StiffnessError          a Harmony function without a maximum
    ├── NonFiniteError          NaN where a score or a loss should be
    ├── CheckpointError         a model folder that cannot be used
    ├── QueryError              a SPARQL query that is none, or that is not answered
    │   └── QueryLimitError         one that took too long, or too much memory
    ├── InterruptedRunError     a training that was asked to stop before its end
    ├── ProcessError            one of the processes of a training ended, or does not answer
    └── StoreError              a knowledge base file that cannot be used

An error carries its parts as fields: what is wrong, where, what was found, what was expected, what may have been meant,
what to try. Each edge words them for its readers: Python by `str(error)`, the command line in `hmem.cli.wording`, HTTP
in `hmem.serve.errors`. Nothing else in the package prints or exits.
"""

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

PASSWORD = re.compile(r"(postgres[a-z+]*:/{1,2}[^/@\s:]*):[^/@\s]*@")  # in an address that was taken for something else


@runtime_checkable
class Place(Protocol):
    """Where something is: a path, or the address of a database. As text it can be shown to anybody."""

    @property
    def name(self) -> str: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Hint:
    """What to try next. Each edge takes the form that its readers can use; `text` suits them all."""

    text: str = ""  # "make room and try again"
    option: str = ""  # an argument of the call that failed: "overwrite"
    value: object = True  # what to give for it
    command: str = ""  # a shell command: "hmem kb check zoo.kb"
    call: str = ""  # the same in Python: "kb.store.check()"

    def with_action(self, action: str) -> str:
        """The hint as a reader can follow it who takes this action."""
        return f"{self.text}: {action}" if self.text and action else self.text or action


class HMemError(Exception):
    exit_code = 1

    def __init__(
        self,
        problem: str = "",  # "expected ..., found ..." where only those two are given
        *,
        path: str | os.PathLike[str] | Place | None = None,  # the file or folder it is about
        line: int | None = None,  # of that file, counted from 1
        option: str | None = None,  # the setting or argument that is wrong
        found: object = None,
        expected: str | None = None,
        suggestions: Sequence[str] = (),  # what may have been meant, the likeliest first
        hint: Hint | str | None = None,  # a plain text where there is neither option nor command to name
    ) -> None:
        problem = problem or (f"expected {expected}, found {found}" if expected else "")
        super().__init__(problem)
        # Where it names its file it says "{path}", else the path comes before it. It may begin with "{option}".
        self.problem = problem
        self.path: Place | None = Path(path) if isinstance(path, str | os.PathLike) else path
        self.line = line
        self.option = option
        self.found = found
        self.expected = expected
        self.suggestions = tuple(suggestions)
        self.hint = Hint(text=hint) if isinstance(hint, str) else hint

    def __str__(self) -> str:
        return word(self, str, hint_for_python, option_for_python)


class ConfigError(HMemError):
    exit_code = 2


class DataError(HMemError):
    pass


class DownloadError(HMemError):
    pass


class UnknownNameError(HMemError):
    pass


class UntrainedRelationError(UnknownNameError):
    pass


class AmbiguousNameError(HMemError):
    def __init__(self, problem: str = "", *, choices: Sequence[str] = (), **fields: Any) -> None:
        super().__init__(problem, **fields)
        self.choices = tuple(choices)  # the ids that may be meant


class EmptyNeighborhoodError(HMemError):
    pass


class StiffnessError(HMemError):
    pass


class NonFiniteError(HMemError):
    pass


class CheckpointError(HMemError):
    pass


class QueryError(HMemError):
    exit_code = 2


class QueryLimitError(QueryError):
    exit_code = 1


class InterruptedRunError(HMemError):
    exit_code = 130


class ProcessError(HMemError):
    pass


class StoreError(HMemError):
    pass


class NumericalWarning(UserWarning):
    """Numerical trouble that is survivable; filter it with the standard `warnings` module."""


def shown(text: str, most: int = 80) -> str:
    """Text in a message: not longer than a line."""
    return text if len(text) <= most else text[: most - 3] + "..."


def plural(number: int, noun: str, nouns: str | None = None) -> str:
    """`1 fact`, `2 facts`."""
    return f"{number:,} {noun if number == 1 else nouns or noun + 's'}"


def option_for_python(name: str, value: object) -> str:
    """An argument as a caller in Python gives it."""
    return f"{name}={value!r}"


def word(
    error: HMemError,
    show_path: Callable[[Place], str],
    show_hint: Callable[[Hint], str],
    show_option: Callable[[str, object], str] = option_for_python,
) -> str:
    """An error as one line, its path, its hint and its option as an edge shows them, and no password."""
    return PASSWORD.sub(r"\1@", _worded(error, show_path, show_hint, show_option))


def _worded(
    error: HMemError,
    show_path: Callable[[Place], str],
    show_hint: Callable[[Hint], str],
    show_option: Callable[[str, object], str],
) -> str:
    line = error.problem
    if error.option is not None and line.startswith("{option}"):
        line = show_option(error.option, error.found) + line.removeprefix("{option}")
    if error.path is not None:
        shown = show_path(error.path)
        place = shown if error.line is None else f"{shown}:{error.line}"
        line = line.replace("{path}", shown) if "{path}" in line else f"{place}: {line}"
    if error.suggestions:
        *others, last = error.suggestions
        line += f"; did you mean {', '.join(others)}{' or ' if others else ''}{last}?"
    advice = "" if error.hint is None else show_hint(error.hint)
    if not advice:
        return line
    return f"{line} {advice}" if line.endswith("?") else f"{line}; {advice}"


def hint_for_python(hint: Hint) -> str:
    """A hint as a caller in Python can follow it."""
    return hint.with_action(option_for_python(hint.option, hint.value) if hint.option else hint.call or hint.command)
