"""Files of results: one JSON line for each evaluation, in the form of `Report`, added to and never rewritten."""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hmem.config import Config, from_dict
from hmem.errors import ConfigError, DataError
from hmem.evaluation.protocol import Protocol
from hmem.evaluation.report import COLUMNS, Report
from hmem.graph.dataset import GraphName
from hmem.reproduction.paper_rows import METRICS, MetricValues, Run
from hmem.sqlite_files import read_text, refuse_to_replace

Line = dict[str, Any]
TRAINED_APART = ("ComplEx-N3",)  # by benchmarks/complex_n3.py; in a table where its metrics are there
RELATIONS_KEPT = 10  # of the break-down by relation; FB15K's 1,345 would be most of the file


def line_of(report: Report) -> Line:
    """The report with its metrics rounded, and of the relations only those that are asked most."""
    found = report.to_dict()
    found["protocols"] = {
        protocol: {name: round(value, 6) for name, value in metrics.items()}
        for protocol, metrics in report.protocols.items()
    }
    found["breakdowns"] = {
        protocol: {**parts, "relation": dict(list(parts.get("relation", {}).items())[:RELATIONS_KEPT])}
        for protocol, parts in report.breakdowns.items()
    }
    return found


def read_lines(path: Path) -> list[Line]:
    """What a file holds, or all files of a folder; nothing if it is not there yet."""
    if path.is_dir():
        return [line for file in sorted(path.glob("*.jsonl")) for line in read_lines(file)]
    if not path.exists():
        return []
    lines = []
    for number, text in enumerate(read_text(path).splitlines(), 1):
        if text.strip():
            try:
                line = json.loads(text)
            except ValueError as error:
                raise DataError(f"not JSON ({error}); take the line out", path=path, line=number) from error
            if not isinstance(line, dict):
                raise DataError(f"expected an object, found {text[:40]}", path=path, line=number)
            lines.append(line)
    return lines


def append_result(results: Path, line: Line) -> None:
    """Add a line to a file of results or, where they are in a folder, to the file of its dataset."""
    is_folder = results.is_dir() or not (results.is_file() or results.suffix)
    append_line(results / f"{Path(line['dataset']).name}.jsonl" if is_folder else results, line)


def append_line(path: Path, line: Line) -> None:
    """Add a line in a single write, so that those of several processes never mix."""
    refuse_to_replace(path, appending=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    data = (json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n").encode()
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        if os.write(file, data) != len(data):
            raise DataError("the disk is full, and its last line is not whole; make room and take it out", path=path)
    except OSError as error:  # which does not say of which file
        problem = f"nothing could be added ({error.strerror}); the same command tries again"
        raise DataError(problem, path=path) from error
    finally:
        os.close(file)


def require_place(results: Path) -> None:
    """An error now where adding a line would fail later, after hours of training."""
    place = next(each for each in (results, *results.parents) if each.exists())
    if place != results and not place.is_dir():
        raise ConfigError(f"results cannot go to {results}: {{path}} is a file, not a folder", path=place)
    if not os.access(place, os.W_OK):
        raise ConfigError(f"results cannot go to {results}: {{path}} may not be written to", path=place)


SECTIONS = ("memory", "propagation", "training")


def find_run(lines: Sequence[Line], run: Run, graph: GraphName) -> Line | None:
    """The last test result of the row with these very settings and seed, if there is one."""
    wanted = {"row": run.row.key, "dataset": run.row.dataset, "graph": graph, "seed": run.seed, "split": "test"}
    return find_line(lines, wanted, lambda line: same_settings(line.get("settings"), run))


def find_baseline(lines: Sequence[Line], name: str, dataset: str, graph: GraphName) -> Line | None:
    wanted = {"model": name, "dataset": dataset, "graph": graph, "split": "test"}
    return find_line(lines, wanted, lambda line: "row" not in line)


def find_line(lines: Sequence[Line], wanted: Line, fits: Callable[[Line], bool]) -> Line | None:
    """The last line with these values that also fits."""
    found = (line for line in reversed(lines) if all(line.get(key) == value for key, value in wanted.items()))
    return next(filter(fits, found), None)


def metrics_of(line: Line, protocol: Protocol) -> MetricValues:
    """MR, MRR and Hits as the tables have them: realistic, both sides."""
    keys = dict(COLUMNS)
    return {name: line["protocols"][protocol][f"both.realistic.{keys[name]}"] for name in METRICS}


def same_settings(settings: Any, run: Run) -> bool:
    """Whether a line's settings are those of `run`: what it does not mention, a later addition, was at its default."""
    if not isinstance(settings, dict) or settings.get("preset") != run.row.preset:
        return False
    try:
        config = from_dict(Config, {name: settings[name] for name in SECTIONS if name in settings})
    except ConfigError:  # a setting that no longer exists
        return False
    return config == run.config
