"""Write docs/cli.md from the `--help` of every command.

    python tools/write_cli_docs.py            write it
    python tools/write_cli_docs.py --check    leave with 1 if it is not what would be written

The text is typer's plain help at a fixed width: neither the terminal nor its colors have a part in it. Its wording
(`<str>`, `{data}`) is that of the typer version in constraints.txt.
"""

import argparse
import difflib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from hmem.cli.main import app

PAGE = Path(__file__).resolve().parents[1] / "docs" / "cli.md"
WIDTH = 100  # columns

HEADER = """\
# Command line

<!-- Written by `python tools/write_cli_docs.py` from the `--help` of every command. Do not edit by hand. -->

`python -m hmem` is the same as `hmem`. `DATA` is a dataset's name, a folder with `train`, `valid` and `test` files, or
a single file of facts; see [data.md](data.md). What the figures mean is in [evaluation.md](evaluation.md).

Tables go to standard output, progress bars and errors to standard error. Every command that prints figures of a dataset
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; leave with 1 if the page is out of date")
    given = parser.parse_args()
    wanted = page()
    if not given.check:
        PAGE.write_text(wanted, encoding="utf-8")
        return 0
    found = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    if found == wanted:
        return 0
    changes = difflib.unified_diff(found.splitlines(), wanted.splitlines(), "docs/cli.md", "--help", lineterm="")
    print("\n".join(changes))
    print("docs/cli.md is out of date; write it anew: python tools/write_cli_docs.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
