"""Arguments that several commands share, worded once."""

import os
import re
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, cast

import typer

from hmem.errors import ConfigError, Place
from hmem.knowledge.store.places import place_of
from hmem.sqlite_files import refuse_to_replace

if TYPE_CHECKING:
    from hmem.graph.qualifiers import Given

T = TypeVar("T")
MOST_SECONDS = 86_400  # that a question may take
LEAST_MINUTES = 0.001  # of a training
SplitName = Literal["valid", "test"]
GraphName = Literal["train", "train+valid"]

DATA = typer.Argument(
    help="A dataset's name (see `hmem data list`), a folder with train/valid/test, a file of facts or a knowledge base."
)
Data = Annotated[str, DATA]
OptionalData = Annotated[str | None, DATA]
Split = Annotated[SplitName, typer.Option(help="The facts to rank.")]
Graph = Annotated[GraphName, typer.Option(help="The facts that memories are made of; train+valid is the paper's '+'.")]
Breakdowns = Annotated[
    bool, typer.Option("--breakdowns", help="Also by relation, degree, seen/unseen and linked/unlinked.")
]


def free_output(path: str | None) -> str | None:
    """Refuse a file that must not or cannot be written before the work, not after it."""
    if path is not None and path != "-":
        target = Path(path).expanduser()
        refuse_to_replace(target)
        if target.is_dir():
            raise ConfigError("{path} is a folder; expected a file to write", path=path)
        if not os.access(target.parent, os.W_OK):
            raise ConfigError("{path} cannot be written; expected a file in a folder that you may write to", path=path)
    return path


Json = Annotated[
    str | None,
    typer.Option(
        "--json", metavar="PATH", callback=free_output, help="Write the numbers as JSON; - for standard output."
    ),
]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N.")]
ModelOut = Annotated[Path, typer.Option("--out", metavar="DIR", help="The model folder to write.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on where an interrupted run stopped.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what DIR holds.")]
OverwriteBase = Annotated[bool, typer.Option("--overwrite", help="Replace the knowledge base that is there.")]
Seed = Annotated[int | None, typer.Option(help="The same as --set training.seed=N.")]

KnowledgeBase = Annotated[
    Place,
    typer.Argument(
        metavar="KB", parser=place_of, help="A knowledge base: a file or an address that `hmem kb create` made one at."
    ),
]
Entity = Annotated[str, typer.Argument(metavar="ENTITY", help="Its id, its label or an alias.")]
Relation = Annotated[str, typer.Argument(metavar="RELATION", help="Its id, its label or an alias.")]
DirectionName = Literal["head", "tail"]
Direction = Annotated[DirectionName, typer.Option("--direction", help="Which end of the fact is asked for.")]
OldTail = Annotated[bool, typer.Option("--tail", hidden=True)]  # what --direction head was called
Count = Annotated[int, typer.Option("--count", "-k", min=1, help="How many to show.")]
Source = Annotated[str | None, typer.Option(help="Where they come from; kept with the facts.")]
Limit = Annotated[int, typer.Option(min=0, help="How many to show at most; 0 for all.")]


def one_more(limit: int) -> int | None:
    """How many to look for, so that it can be said whether there are more."""
    return limit + 1 if limit else None


def cut(found: list[T], limit: int) -> tuple[list[T], bool]:
    """As many as are shown, and whether there are more."""
    return (found[:limit], len(found) > limit) if limit else (found, False)


AnswerJson = Annotated[
    str | None,
    typer.Option(
        "--json", metavar="PATH", callback=free_output, help="Write the result as JSON; - for standard output."
    ),
]
Confidence = Annotated[float | None, typer.Option(min=0, max=1, help="From 0 to 1; kept with the facts.")]
ValidFrom = Annotated[
    str | None, typer.Option("--from", metavar="DAY", help="Since when it held: 2019-05-01, 2019-05 or 2019.")
]
ValidUntil = Annotated[
    str | None, typer.Option("--until", metavar="DAY", help="Until when, that day, month or year included.")
]


def qualifiers(confidence: float | None, valid_from: str | None, valid_until: str | None) -> "Given":
    """What is said of facts besides their names; what was not given is left out."""
    said = {"confidence": confidence, "valid_from": valid_from, "valid_until": valid_until}
    return cast("Given", {name: value for name, value in said.items() if value is not None})


At = Annotated[
    str | None,
    typer.Option("--at", metavar="DAY", help="Only the facts that held then: 2019-05-01, 2019-05 or 2019."),
]
WithInferred = Annotated[
    bool, typer.Option("--with-inferred", help="Let facts count that models inferred, besides those asserted.")
]
Columns = Annotated[
    str | None,
    typer.Option(
        help="Head, relation and tail, by name or position: from,type,to or 0,2,1; then perhaps first and last day."
    ),
]
Delimiter = Annotated[str | None, typer.Option(help="One character, or \\t; found out by default.")]
Header = Annotated[bool | None, typer.Option(help="Whether the first row names the columns.")]
Format = Annotated[str | None, typer.Option("--format", help="Where the file's name does not tell.")]
ShortNames = Annotated[
    bool, typer.Option("--short-names", help="Of RDF files: IRIs by the prefixes of their file, instead of in full.")
]
ValueRelations = Annotated[
    str | None,
    typer.Option("--values", metavar="RELATION,…", help="Whose tails are numbers, dates or texts, and no entities."),
]
ENGLISH = "en"
Languages = Annotated[
    str, typer.Option("--language", help="Of RDF files: whose labels and descriptions are taken, such as de,en.")
]


def languages(text: str) -> list[str]:
    """Languages as typed, the preferred first."""
    return [each.strip().lower() for each in text.split(",") if each.strip()]


def listed(text: str | None) -> list[str]:
    """Names with commas between them."""
    return [] if text is None else [each.strip() for each in text.split(",") if each.strip()]


def parse_time(text: str) -> datetime:
    """A moment of the past, as typed: 2026-05-01, 2026-05-01T12:30 or with seconds and a zone; local time if not."""
    try:
        return datetime.fromisoformat(text.strip()).astimezone()  # without a zone it is local time
    except (ValueError, OverflowError):
        raise ConfigError(
            f'"{text}" is no date or time; expected one such as 2026-05-01, "2026-05-01 12:30" or 2026-05-01T12:30:00Z'
        ) from None


def parse_minutes(text: str) -> float:
    """A stretch of time, as typed, in minutes: 30s, 10m, 1h."""
    found = re.fullmatch(r"(\d+\.?\d*|\.\d+)\s*([smh])", text.strip())
    if found is None or float(found[1]) == 0:
        raise ConfigError(f'"{text}" is no time to train for; expected one such as 30s, 10m or 1h')
    return float(found[1]) * {"s": 1 / 60, "m": 1, "h": 60}[found[2]]


AsOf = Annotated[
    datetime | None,
    typer.Option(
        "--as-of",
        metavar="TIME",
        parser=parse_time,
        help="As it was then: 2026-05-01 (its first moment), 2026-05-01T12:30, in local time unless a zone is given.",
    ),
]


def reading(
    columns: str | None, delimiter: str | None, header: bool | None, format: str | None, short_names: bool
) -> dict[str, object]:
    """How to read a file, as `read_table` takes it; what was not said is left out."""
    chosen: dict[str, object] = {
        "delimiter": "\t" if delimiter == "\\t" else delimiter,
        "header": header,
        "format": format,
        "iris": "short" if short_names else None,
    }
    if columns is not None:  # by name, or by position counted from 0
        chosen["columns"] = tuple(int(name) if name.isdecimal() else name for name in columns.split(","))
    return {name: value for name, value in chosen.items() if value is not None}


def settings(config_file: Path | None, assignments: list[str] | None) -> tuple[str | None, dict[str, Any]]:
    """The settings of a file and those typed after it, and the preset that the file names, as `hmem tune` writes it."""
    from hmem.config import load_toml, merge, parse_assignments

    given = merge(load_toml(config_file) if config_file else {}, parse_assignments(assignments or []))
    named = given.pop("preset", None)
    return (None if named is None else str(named)), given
