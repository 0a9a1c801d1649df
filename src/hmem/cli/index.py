"""`hmem index`: a graph as files that are mapped into memory."""

from pathlib import Path
from typing import Annotated, Any

import typer

from hmem.cli import options, output
from hmem.cli.progress import import_progress
from hmem.errors import ConfigError, plural


def index(
    facts: Annotated[
        Path | None, typer.Argument(metavar="FACTS", help="A file of facts, which may be larger than the memory.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="The folder to make.")] = None,
    check: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Read all of such a folder and say what is wrong with it.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the graph that is there.")] = False,
    columns: options.Columns = None,
    delimiter: options.Delimiter = None,
    header: options.Header = None,
    format_: options.Format = None,
    short_names: options.ShortNames = False,
    json_path: options.AnswerJson = None,
) -> None:
    """Write the graph of a file of facts as a folder that opens at once, whatever its size.

    Delimited text and Parquet are read a part at a time. With --check a folder is compared with its checksums; that
    leaves with 1 if anything is wrong.
    """
    from hmem.graph.disk.index import DiskGraph, index_facts

    if check is not None:
        _check(check, json_path)
        return
    if facts is None or out is None:
        raise ConfigError("give a file of facts and --out DIR, or --check DIR")
    how: dict[str, Any] = options.reading(columns, delimiter, header, format_, short_names)
    with import_progress() as progress:
        graph: DiskGraph = index_facts(
            facts.expanduser(), out.expanduser(), overwrite=overwrite, progress=progress, **how
        )
    header_: dict[str, Any] = graph.header
    size = sum(told["bytes"] for told in header_["files"].values())
    about = {
        "folder": out,
        **{name: header_[name] for name in ("rows", "facts", "entities", "relations")},
        "bytes": size,
    }
    if output.write_json(json_path, about):
        return
    facts_, repeated = output.count(about["facts"]), about["rows"] - about["facts"]
    rows = {
        "graph": str(out),
        "facts": facts_ + (f" ({plural(repeated, 'row repeats another', 'rows repeat others')})" if repeated else ""),
        "entities": output.count(about["entities"]),
        "relations": output.count(about["relations"]),
        "size": output.size(size),
    }
    output.show(output.facts(rows))


def _check(folder: Path, json_path: str | None) -> None:
    from hmem.graph.disk.folder import problems

    if not output.problems("folder", folder, problems(folder.expanduser()), json_path):
        output.say(f"{folder} is what was written")
