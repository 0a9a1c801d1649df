"""The studies of `hmem reproduce`: what is asked of several trained rows at once."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hmem.cli import output
from hmem.cli.figure_output import prepare, write

if TYPE_CHECKING:
    from hmem.reproduction.paper_rows import PaperRow, Run
    from hmem.reproduction.reproduce import Surroundings
    from hmem.reproduction.results import Line
    from hmem.reproduction.studies import StudyName


def work_on(
    study: "StudyName", rows: "Sequence[PaperRow]", seed: int | None, where: "Surroundings", figures: Path, quiet: bool
) -> bool:
    """Compare the rows of each dataset, trained now or earlier, and draw it; False if a row is not there."""
    from hmem.reproduction.results import read_lines
    from hmem.reproduction.studies import find_study, result_of_study, runs_compared

    whole = True
    for table, runs in runs_compared(study, rows, seed).items():
        prepare(figures / table)
        line = None if where.retrain else find_study(read_lines(where.results), study, runs[0].row.dataset, runs)
        line = line or _compare(study, runs, where)
        if line is None:
            output.note(
                f"{study} on {runs[0].row.dataset}: not all rows are trained; the same command goes on when they are"
            )
            whole = False
            continue
        write(study, result_of_study(line), figures / table, quiet=quiet)
    return whole


def _compare(study: "StudyName", runs: "Sequence[Run]", where: "Surroundings") -> "Line | None":
    """Compare the models of these runs, and keep the numbers as a line; None if one of them has left none."""
    from hmem.evaluation.report import current_commit
    from hmem.figures.compared_models import compared_model, compared_rules
    from hmem.reproduction.reproduce import device_name, trained_model
    from hmem.reproduction.results import append_result, require_place
    from hmem.reproduction.studies import line_of_study, run_study

    require_place(where.results)  # which would else be missed after all the work
    name = runs[0].row.dataset
    dataset = output.load(name)
    models = []
    for run in runs:
        saved = trained_model(run, dataset, where)
        if saved is None:
            return None
        models.append(compared_model(run.row.name, saved.model, where.device))
    miniature = any(run.row.stands_for for run in runs)
    result = run_study(study, dataset, [*models, compared_rules(dataset)], in_miniature=miniature)
    about = {"commit": where.commit or current_commit(), "device": device_name(where.device)}
    line = {**line_of_study(study, name, result, runs), **about}
    append_result(where.results, line)
    return line
