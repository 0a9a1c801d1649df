"""Errors and advice of the library, worded for the command line."""

import re

from hmem.errors import Hint, HMemError, word

_WORDS = (
    (r"overwrite=True", "--overwrite"),
    (r", or open it with read_only=True to read it", ""),
    (r"give e\.g\. columns=\(0, 1, 2\)", "use hmem data import or hmem facts import with e.g. --columns 0,1,2"),
    (r"format=[\"'](\w+)[\"']", r"--format \1"),
    (r"iris='short'", "--short-names"),
    (r"\bdelimiter=('.*?'|\".*?\")", r"--delimiter \1"),
    (r"header=True", "--header"),
    (r"header=False", "--no-header"),
)
_COLUMNS = re.compile(r"columns=\(([^()]*)\)")


def as_typed(error: HMemError) -> str:
    """An error with its options as they are typed."""
    message = word(error, str, _hint)
    for pattern, words in _WORDS:
        message = re.sub(pattern, words, message)
    return _COLUMNS.sub(lambda found: "--columns " + re.sub("['\"]|(?<=,) |,$", "", found[1]), message)


def _hint(hint: Hint) -> str:
    option = f"--{hint.option.replace('_', '-')}" + ("" if hint.value is True else f" {hint.value}")
    action = option if hint.option else hint.command
    return f"{hint.text}: {action}" if hint.text and action else hint.text or action
