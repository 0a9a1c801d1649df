"""`hmem reproduce`: the paper's tables and what it asks of several rows at once, trained and ranked anew."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hmem.cli import options, output
from hmem.cli.progress import training_progress
from hmem.errors import NonFiniteError

if TYPE_CHECKING:
    from hmem.graph.dataset import Dataset, GraphName
    from hmem.reproduction.comparison import Comparison
    from hmem.reproduction.paper_rows import PaperRow, Run
    from hmem.reproduction.reproduce import Surroundings
    from hmem.reproduction.results import Line
    from hmem.reproduction.studies import StudyName
    from hmem.runs.callbacks import CtrlC

RESULTS, BASELINES = Path("results/paper"), Path("results/baselines.jsonl")
FIGURES = Path("figures")
Table = Literal["wn18", "fb15k", "wn18rr", "wngen", "fbgen", "fb15k-237", "codex-m", "codex-s", "ablation"]
GroupName = Literal[Table, "degree", "growth", "all"]


def reproduce(
    group: Annotated[
        GroupName,
        typer.Argument(
            metavar="TABLE",
            help="Which of the paper's tables (fb15k-237 and codex are our additions), or a study: degree, growth.",
        ),
    ],
    names: Annotated[
        list[str] | None,
        typer.Option("--row", metavar="NAME", help="Only this row, such as TPR-inf or 'tpr*'; may be repeated."),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="This seed instead of those of each row.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Tiny models on the bundled graphs: every step, on a CPU, in a minute.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what there is to do, and do nothing.")] = False,
    retrain: Annotated[bool, typer.Option("--retrain", help="Train and rank again what is there already.")] = False,
    minutes: Annotated[
        float | None, typer.Option(min=options.LEAST_MINUTES, help="Train each row for at most so long.")
    ] = None,
    device: options.Device = "auto",
    results: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help=f"A .jsonl file that gets a line for each row, graph and seed, or a folder with such a file for each "
            f"dataset; {RESULTS} by default.",
        ),
    ] = None,
    baselines: Annotated[
        Path, typer.Option(metavar="FILE", help="Where metrics of the baselines are; missing ones are computed.")
    ] = BASELINES,
    models: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where trained models are kept; models/paper in HMEM_HOME by default."),
    ] = None,
    rows_folder: Annotated[
        Path | None, typer.Option("--rows", metavar="DIR", help="Rows of your own, in files like the packaged ones.")
    ] = None,
    commit: Annotated[
        str | None, typer.Option(help="The commit to write down where the source is no git checkout.")
    ] = None,
    figures: Annotated[
        Path, typer.Option(metavar="DIR", help="Gets the pictures of the studies, a folder for each dataset.")
    ] = FIGURES,
    json_path: options.Json = None,
) -> None:
    """Train the rows of the paper's tables that have no result yet, rank the test facts with them, without and with
    the validation facts in the graph ("+"), and print our metrics beside the paper's and the baselines'.

    `degree` and `growth` draw MRR against the size of neighborhoods (WN18, FB15K) and against the share of the facts
    about new entities in memory (WNGen, FBGen). Where the numbers are not there yet, they train the rows they compare.
    `all` does everything.

    Rows whose results are there are not trained again; an interrupted one goes on from its last checkpoint.
    Several such commands may run side by side and share the work.
    """
    from hmem.cli.figures import prepare
    from hmem.graph.registry import home
    from hmem.reproduction.comparison import compare
    from hmem.reproduction.paper_rows import in_miniature, limited, load_rows, select
    from hmem.reproduction.reproduce import Surroundings
    from hmem.reproduction.results import read_lines
    from hmem.reproduction.studies import STUDIES, rows_of
    from hmem.runs.device import resolve_device

    models = models or home() / "models" / ("quick" if quick else "paper")
    results = results or (models / "results.jsonl" if quick else RESULTS)
    every = [in_miniature(row) if quick else row for row in load_rows(rows_folder)]
    if minutes is not None:
        every = [limited(row, minutes) for row in every]
    studies = [study for study in STUDIES if group in (study, "all") and not (group == "all" and names)]
    asked = (rows_of(studies[0], every), "all") if group in STUDIES else (every, group)
    rows = select(*asked, names or [])
    if dry_run:
        _list(rows, studies, seed, results, models)
        return
    if studies:
        prepare(figures)  # which would else be missed after hours of training
    where = Surroundings(results=results, models=models, device=resolve_device(device), commit=commit, retrain=retrain)
    failed = _work(rows, seed, where, baselines)
    compared = compare(rows, [*read_lines(baselines), *read_lines(results)], every, seed)
    if not output.write_json(json_path, [asdict(each) for each in compared]):
        for each in compared:
            _show_table(each)
    for study in studies:
        failed |= not _work_on(study, rows, seed, where, figures, quiet=json_path == "-")
    if failed:
        raise typer.Exit(1)


def _list(
    rows: "Sequence[PaperRow]", studies: "Sequence[StudyName]", seed: int | None, results: Path, models: Path
) -> None:
    from hmem.reproduction.reproduce import runs_of, stage_of
    from hmem.reproduction.results import read_lines
    from hmem.reproduction.studies import find_study, runs_compared

    lines = read_lines(results)
    table = output.table(["dataset", "row", "file", "what there is to do"], ["seed", "minutes"])
    for run in runs_of(rows, seed):
        names = run.row.dataset, run.row.name, run.row.key
        minutes = output.decimal(run.config.training.minutes, 1)
        table.add_row(*names, stage_of(lines, run, models), str(run.seed), minutes)
    for study in studies:
        for name, runs in runs_compared(study, rows, seed).items():
            done = find_study(lines, study, runs[0].row.dataset, runs) is not None
            table.add_row(name, study, "", "done" if done else "to compare", str(runs[0].seed), "")
    output.show(table)


def _work(rows: "Sequence[PaperRow]", seed: int | None, where: "Surroundings", baselines_file: Path) -> bool:
    """Do what is missing. A row that fails does not stop the others; whether one did."""
    from hmem.reproduction.paper_rows import GRAPHS
    from hmem.reproduction.reproduce import baselines, is_complete, missing_graphs, runs_of
    from hmem.reproduction.results import read_lines, require_place
    from hmem.runs.callbacks import CtrlC

    failed = False
    with CtrlC() as ctrl_c:
        for name in dict.fromkeys(row.dataset for row in rows):
            runs = runs_of([row for row in rows if row.dataset == name], seed)
            lines = [*read_lines(baselines_file), *read_lines(where.results)]
            if not where.retrain and is_complete(lines, runs, name):
                continue
            require_place(where.results)
            dataset = output.load(name)
            for run in runs:
                # Read anew each time: another process may have done it meanwhile.
                missing = list(GRAPHS) if where.retrain else missing_graphs(read_lines(where.results), run)
                if missing:
                    failed |= not _run(run, dataset, missing, where, ctrl_c)
            baselines(dataset, [*read_lines(baselines_file), *read_lines(where.results)], where.results)
    return failed


def _run(run: "Run", dataset: "Dataset", graphs: "Sequence[GraphName]", where: "Surroundings", ctrl_c: "CtrlC") -> bool:
    """One row with one seed, with a bar to watch; False if it failed. Leaves the command if it was interrupted."""
    from hmem.evaluation.report import share
    from hmem.reproduction.reproduce import reproduce
    from hmem.reproduction.results import metrics_of

    title = f"{run.row.table} {run.row.name}, seed {run.seed}"
    output.note(f"{title} ...")
    try:
        with training_progress() as show:
            lines = reproduce(run, dataset, graphs, replace(where, callbacks=(show, ctrl_c)))
    except NonFiniteError as error:
        output.note(f"{title} failed: {error}")
        return False
    if ctrl_c.should_stop():
        output.note(f"Stopped in {title}. The same command goes on from here.")
        raise typer.Exit(130)
    if lines is None:
        output.note(f"{title}: another process is at it")
        return True
    mrr = ", ".join(f"{share(metrics_of(line, 'all')['MRR'])} on {line['graph']}" for line in lines)
    output.note(f"{title}: {lines[0]['epochs']} epochs in {lines[0]['training_seconds']:.0f} s; MRR (all) {mrr}")
    return True


def _show_table(comparison: "Comparison") -> None:
    from hmem.evaluation.report import share
    from hmem.reproduction.comparison import table_lines
    from hmem.reproduction.paper_rows import METRICS

    title = comparison.table + (", global weight" if comparison.group == "ablation" else "")
    if comparison.dataset != comparison.table:
        title += f" (in miniature, on {comparison.dataset})"
    table = output.table(["model", "source"], METRICS, title=title)
    for entry in comparison.entries:
        label = entry.label + (f" ({len(entry.seeds)} seeds)" if len(entry.seeds) > 1 else "")
        for source, cells in table_lines(entry):
            table.add_row(label, source, *cells)
            label = ""
    output.show(table)
    for entry in comparison.short:
        published = entry.published or {}
        short, paper = share(entry.shortfall or 0), share(published["MRR"])
        output.note(f"{entry.label}: {short} short of the paper's MRR of {paper}")


def _work_on(
    study: "StudyName", rows: "Sequence[PaperRow]", seed: int | None, where: "Surroundings", figures: Path, quiet: bool
) -> bool:
    """Compare the rows of each dataset, trained now or earlier, and draw it; False if a row is not there."""
    from hmem.cli.figures import prepare, write
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
