"""What the paper asks of several trained rows at once: do larger neighborhoods help, and do facts that arrive?"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Literal, get_args

from hmem.figures.compared_models import ComparedModel
from hmem.figures.degree import DegreeEffect, degree_effect
from hmem.figures.growth import SHARES, GrowthEffect, growth_effect
from hmem.graph.dataset import Dataset
from hmem.reproduction.paper_rows import Group, PaperRow, Run
from hmem.reproduction.results import Line, find_line, same_settings

StudyName = Literal["degree", "growth"]
STUDIES: tuple[StudyName, ...] = get_args(StudyName)
# The best explicit and implicit memory of each table, and our own beside them.
ROWS: Mapping[StudyName, Mapping[Group, tuple[str, ...]]] = {
    "degree": {"wn18": ("TPR", "TPR-im", "recall"), "fb15k": ("TPR-inf", "TPR-im", "recall")},
    "growth": {"wngen": ("TPR", "TPR-inf", "recall"), "fbgen": ("TPR", "TPR-inf", "recall")},
}
DRAWS = 3  # orders in which facts arrive


def rows_of(study: StudyName, rows: Sequence[PaperRow]) -> list[PaperRow]:
    """The rows that a study compares, each with its first seed only."""
    compared = [row for row in rows if row.name in ROWS[study].get(row.group, ())]
    return [dataclasses.replace(row, seeds=row.seeds[:1]) for row in compared]


def runs_compared(study: StudyName, rows: Sequence[PaperRow], seed: int | None = None) -> dict[str, list[Run]]:
    """The models that a study compares for each table: the first seed of each row, or `seed`."""
    compared: dict[str, list[Run]] = {}
    for row in rows_of(study, rows):
        compared.setdefault(row.table, []).append(Run(row=row, seed=row.seeds[0] if seed is None else seed))
    return compared


def run_study(
    study: StudyName, dataset: Dataset, models: Sequence[ComparedModel], *, in_miniature: bool = False
) -> DegreeEffect | GrowthEffect:
    """Rank the test facts with each model, by neighborhood size or with a growing share of the facts."""
    sample = 500 if in_miniature else None
    if study == "degree":
        return degree_effect(dataset, models, sample=sample)
    shares, draws = ((0.0, 0.5, 1.0), 1) if in_miniature else (SHARES, DRAWS)
    return growth_effect(dataset, models, shares=shares, draws=draws, sample=sample)


def line_of_study(study: StudyName, dataset: str, result: DegreeEffect | GrowthEffect, runs: Sequence[Run]) -> Line:
    """The numbers as a line of results, with the runs that they come from."""
    tables = {
        name: [{key: _rounded(value) for key, value in row.items()} for row in rows]
        for name, rows in result.tables().items()
    }
    trained = {run.row.key: {"seed": run.seed, "settings": run.settings} for run in runs}
    return {"study": study, "dataset": dataset, "queries": result.num_queries, "runs": trained, "tables": tables}


def result_of_study(line: Line) -> DegreeEffect | GrowthEffect:
    """What a line of results was made of, up to its last digits."""
    kind = DegreeEffect if line["study"] == "degree" else GrowthEffect
    return kind.from_tables(line["tables"], line["queries"])


def find_study(lines: Sequence[Line], study: StudyName, dataset: str, runs: Sequence[Run] | None = None) -> Line | None:
    """The latest line about a study of a dataset; with `runs`, one of these very models."""
    return find_line(lines, {"study": study, "dataset": dataset}, lambda line: runs is None or _is_of(line, runs))


def _is_of(line: Line, runs: Sequence[Run]) -> bool:
    found = line.get("runs", {})
    return found.keys() == {run.row.key for run in runs} and all(
        found[run.row.key]["seed"] == run.seed and same_settings(found[run.row.key]["settings"], run) for run in runs
    )


def _rounded(value: str | int | float) -> str | int | float | None:
    if not isinstance(value, float):
        return value
    return None if math.isnan(value) else round(value, 6)  # JSON has no NaN
