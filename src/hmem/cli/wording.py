"""Advice that the library words for Python, worded for the command line."""

import re

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


def as_typed(message: str) -> str:
    """A message of the library with its options as they are typed."""
    for pattern, words in _WORDS:
        message = re.sub(pattern, words, message)
    return _COLUMNS.sub(lambda found: "--columns " + re.sub("['\"]|(?<=,) |,$", "", found[1]), message)
