"""Advice for Python becomes advice for the command line."""

from pathlib import Path

import pytest

from hmem.cli.wording import as_typed
from hmem.errors import HMemError
from tests.cli.conftest import Command


@pytest.mark.parametrize(
    ("message", "typed"),
    [
        ("zoo.kb exists already; give overwrite=True", "zoo.kb exists already; give --overwrite"),
        ("columns=(0, 'a b', 2) must name", "--columns 0,a b,2 must name"),
        ("columns=('a',) must name", "--columns a must name"),
        ("delimiter='ab' must be", "--delimiter 'ab' must be"),
        ('try format="tsv", which', "try --format tsv, which"),
        ("but header=False says", "but --no-header says"),
        ("header=True has no meaning for parquet", "--header has no meaning for parquet"),
        ("iris='short' has no meaning for tsv", "--short-names has no meaning for tsv"),
        ("change the permissions, or open it with read_only=True to read it", "change the permissions"),
        ('no entity "a=(b)"', 'no entity "a=(b)"'),
    ],
)
def test_options_are_worded_as_they_are_typed(message: str, typed: str) -> None:
    assert as_typed(HMemError(message)) == typed


def test_no_command_speaks_python(command: Command) -> None:
    Path("wide.csv").write_text("a,b,c,d\n")
    Path("a.tsv").write_text("a\tr\tb\n")
    command("kb", "create", "zoo.kb")
    said = [
        command("kb", "create", "zoo.kb").err,
        command("data", "show", "wide.csv").err,
        command("facts", "import", "zoo.kb", "wide.csv").err,
        command("facts", "import", "zoo.kb", "a.tsv", "--columns", "a,b").err,
        command("facts", "import", "zoo.kb", "a.tsv", "--delimiter", "ab").err,
        command("facts", "import", "zoo.kb", "a.tsv", "--columns", "a,b,c", "--no-header").err,
    ]
    assert "--overwrite" in said[0]
    assert said[1].endswith("use hmem data import or hmem facts import with e.g. --columns 0,1,2\n")
    for message in said:
        assert message.startswith("hmem: ")
        assert "=" not in message
