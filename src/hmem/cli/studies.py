"""The studies of `hmem reproduce`: what is asked of several trained rows at once."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hmem.cli import output
from hmem.cli.drawing import prepare, show_degree, show_growth, write

if TYPE_CHECKING:
    from hmem.analysis.contenders import Contender
    from hmem.analysis.reproduction import Surroundings
    from hmem.analysis.rows import Row
    from hmem.analysis.studies import StudyName
    from hmem.graph.dataset import Dataset


def work_on(
    study: "StudyName", rows: "Sequence[Row]", seed: int | None, where: "Surroundings", figures: Path, quiet: bool
) -> bool:
    """Compare the trained rows of each dataset, draw it, and keep the numbers; False if a row is not there."""
    from hmem.analysis.contenders import rules_contender
    from hmem.analysis.degree import DegreeEffect
    from hmem.analysis.drawings import degree_picture, growth_picture
    from hmem.analysis.reproduction import device_name
    from hmem.analysis.results import append_result
    from hmem.analysis.studies import line_of_study, run_study
    from hmem.evaluation.report import current_commit

    whole = True
    for table in dict.fromkeys(row.table for row in rows):
        mine = [row for row in rows if row.table == table]
        name = mine[0].dataset
        dataset = output.load(name)
        prepare(figures / table)
        contenders = _contenders(mine, dataset, seed, where)
        if contenders is None:
            output.note(f"{study} on {name}: not all rows are trained; the same command goes on when they are")
            whole = False
            continue
        miniature = any(row.stands_for for row in mine)
        result = run_study(study, dataset, [*contenders, rules_contender(dataset)], in_miniature=miniature)
        about = {"commit": where.commit or current_commit(), "device": device_name(where.device)}
        append_result(where.results, {**line_of_study(study, name, result), **about})
        if not quiet:
            show_degree(result) if isinstance(result, DegreeEffect) else show_growth(result)
        picture = degree_picture(result) if isinstance(result, DegreeEffect) else growth_picture(result)
        write(study, result, picture, figures / table, caption=True, json_path=None)
    return whole


def _contenders(
    rows: "Sequence[Row]", dataset: "Dataset", seed: int | None, where: "Surroundings"
) -> "list[Contender] | None":
    """The models that the rows left; None if one of them has left none."""
    from hmem.analysis.contenders import model_contender
    from hmem.analysis.reproduction import trained
    from hmem.analysis.rows import Run

    contenders = []
    for row in rows:
        saved = trained(Run(row=row, seed=row.seeds[0] if seed is None else seed), dataset, where)
        if saved is None:
            return None
        contenders.append(model_contender(row.name, saved.model, where.device))
    return contenders
