"""Figures on the screen, or as JSON for a program."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hmem.cli import output

if TYPE_CHECKING:
    from hmem.evaluation.report import Report
    from hmem.graph.dataset import Dataset


def show_reports(
    reports: "Sequence[Report]", dataset: "Dataset", *, breakdowns: bool = False, json_path: str | None = None
) -> None:
    """Print the evaluations of one dataset side by side and write them where `--json` says.

    With `--json -` standard output carries the JSON and nothing else.
    """
    from hmem.evaluation.report import breakdown_table, metrics_table

    if json_path is not None:
        output.write_json(
            json_path, reports[0].to_dict() if len(reports) == 1 else [each.to_dict() for each in reports]
        )
        if json_path == "-":
            return
    first = reports[0]
    asked = next(iter(first.protocols.values()))["both.count"]
    title = f"{dataset.name}, {first.split}: {asked:,} queries"
    for note in dataset.notes:
        output.note(note)
    output.show(metrics_table(reports, title))
    if breakdowns:
        for each in reports:
            for protocol in each.protocols:
                for cut in each.breakdowns[protocol]:
                    if each.breakdowns[protocol][cut]:  # of "linked by degree" there may be none
                        output.show(breakdown_table(each, protocol, cut))
