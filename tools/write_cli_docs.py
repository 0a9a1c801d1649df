"""Write docs/cli.md from the `--help` of every command.

    python tools/write_cli_docs.py            write it
    python tools/write_cli_docs.py --check    leave with 1 if it is not what would be written

The text is typer's plain help at a fixed width: neither the terminal nor its colors have a part in it. Its wording
(`<str>`, `{data}`) is that of the typer version in constraints.txt.
"""

import sys
from collections.abc import Iterator
from typing import Any

from generated_page import ROOT, write_or_check
from typer.main import get_command

from hmem.cli.main import app

PAGE = ROOT / "docs" / "cli.md"
WIDTH = 100  # columns

HEADER = """\
# Command line

<!-- Written by `python tools/write_cli_docs.py` from the `--help` of every command. Do not edit by hand. -->

`python -m hmem` is the same as `hmem`. `DATA` is a dataset's name, a folder with `train`, `valid` and `test` files, or
a single file of facts; see [data.md](data.md). What the metrics mean is in [evaluation.md](evaluation.md).

Tables go to standard output, progress bars and errors to standard error. Every command that prints metrics of a dataset
takes `--json PATH`; with `--json -` standard output holds the JSON and nothing else.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | the input cannot be used: an unreadable file, an unknown name, a damaged model folder, a failed download |
| 2 | the command cannot be used as given: an unknown option or setting, or values that do not fit together |
| 130 | interrupted with Ctrl-C; a training run that was interrupted can be resumed |
| 141 | the reader of a pipe, `head` for instance, closed it |

An error is one line on standard error that begins with `hmem:`.

| variable | meaning |
|---|---|
| `HMEM_DATA` | a folder with datasets, looked in before the cache; see [data.md](data.md#where-a-name-is-looked-for) |
| `HMEM_HOME` | the folder that downloads are kept in, below `data` |
"""


def commands(command: Any, name: str, parent: Any = None) -> Iterator[tuple[str, Any]]:
    """Every command below and including `command`, with the context that its help is made in; groups come first."""
    command.rich_markup_mode = None  # boxes and colors off
    context = command.context_class(
        command, info_name=name, parent=parent, terminal_width=WIDTH, max_content_width=WIDTH
    )
    yield context.command_path, context
    for inner_name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, inner_name, context)


def page() -> str:
    """The whole text of docs/cli.md."""
    found = list(commands(get_command(app), "hmem"))
    contents = "\n".join(f"- [`{path}`](#{path.replace(' ', '-')})" for path, _ in found)
    sections = [f"## {path}\n\n```text\n{help_text(context)}\n```\n" for path, context in found]
    return "\n".join([HEADER, f"{contents}\n", *sections])


def help_text(context: Any) -> str:
    lines = context.command.get_help(context).splitlines()
    return "\n".join(line.rstrip() for line in lines).strip()


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, page, __doc__))
