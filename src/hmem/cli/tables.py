"""Answers as a file: CSV, Parquet or JSON, by its name."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hmem.cli import options, output
from hmem.errors import ConfigError, plural
from hmem.sqlite_files import replacing

if TYPE_CHECKING:
    from hmem.knowledge.results import Table

FORMATS = (".csv", ".parquet", ".json")


def _check(target: str | None) -> str | None:
    """A ConfigError if the name does not say what to write; before anything takes long."""
    if target is not None and Path(target).suffix.lower() not in FORMATS:
        raise ConfigError(f'"{target}": expected NAME.csv, .parquet or .json')
    return options.free_output(target)


Out = Annotated[
    str | None,
    typer.Option("--out", metavar="FILE", callback=_check, help="Write them to NAME.csv, .parquet or .json instead."),
]


def write_table(target: str | None, table: "Table[Any]", noun: str, json_path: str | None, told: object) -> bool:
    """Write the table where `--out` says and the rest where `--json` says; True if nothing else is to be printed."""
    is_printed = output.write_json(json_path, told)
    if target is None:
        return is_printed
    _write(table, target)
    (output.note if is_printed else output.say)(f"{target}: {plural(len(table), noun)}")
    return True


def _write(table: "Table[Any]", target: str) -> None:
    """All columns. The file appears whole or not at all."""
    import pyarrow.compute as pc
    from pyarrow import csv, parquet

    path = Path(target).expanduser()
    with replacing(path) as beside:
        match path.suffix.lower():
            case ".json":
                text = json.dumps(table.to_dicts(), indent=2, ensure_ascii=False)
                beside.write_text(text + "\n", encoding="utf-8")
            case ".parquet":
                parquet.write_table(table.to_arrow(), beside)
            case _:
                rows = table.to_arrow()
                if "reasons" in rows.column_names:
                    place = rows.column_names.index("reasons")
                    rows = rows.set_column(place, "reasons", pc.binary_join(rows.column(place), "; "))
                csv.write_csv(rows.drop_columns([name for name in ("because",) if name in rows.column_names]), beside)
