"""Pages of docs/ that a tool writes: `python tools/NAME.py` writes one, `--check` says whether it is up to date."""

import argparse
import difflib
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def write_or_check(page: Path, make: Callable[[], str], description: str | None) -> int:
    """Write what `make` returns to the page; with `--check` write nothing and return 1 if that would change it."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; leave with 1 if the page is out of date")
    given = parser.parse_args()
    wanted, name = make(), page.relative_to(ROOT).as_posix()
    if not given.check:
        page.write_text(wanted, encoding="utf-8")
        return 0
    found = page.read_text(encoding="utf-8") if page.exists() else ""
    if found == wanted:
        return 0
    print("\n".join(difflib.unified_diff(found.splitlines(), wanted.splitlines(), name, "wanted", lineterm="")))
    print(f"{name} is out of date; write it anew: python {sys.argv[0]}", file=sys.stderr)
    return 1
