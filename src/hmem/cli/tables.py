"""Answers as a file: CSV, Parquet or JSON, by its name."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hmem.errors import ConfigError
from hmem.sqlite_files import refuse_to_replace, replacing

if TYPE_CHECKING:
    from hmem.knowledge.results import Table

FORMATS = (".csv", ".parquet", ".json")


def check(target: str) -> None:
    """A ConfigError if the name does not say what to write; before anything takes long."""
    if Path(target).suffix.lower() not in FORMATS:
        raise ConfigError(f'"{target}": expected NAME.csv, .parquet or .json')
    refuse_to_replace(Path(target).expanduser())


def write(table: "Table[Any]", target: str) -> None:
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
