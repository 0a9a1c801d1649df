"""Evaluations as tables on the screen, or as JSON for a program."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hmem.cli import output

if TYPE_CHECKING:
    from rich.table import Table

    from hmem.evaluation.protocol import Protocol
    from hmem.evaluation.report import Report
    from hmem.graph.dataset import Dataset

PARTS_SHOWN = 12  # of a breakdown


def show_reports(
    reports: "Sequence[Report]", dataset: "Dataset", *, breakdowns: bool = False, json_path: str | None = None
) -> None:
    """Print the evaluations of one dataset side by side and write them where `--json` says."""
    told = [each.to_dict() for each in reports]
    if output.write_json(json_path, told[0] if len(told) == 1 else told):
        return
    first = reports[0]
    asked = next(iter(first.protocols.values()))["both.count"]
    for note in dataset.notes:
        output.note(note)
    output.show(metrics_table(reports, f"{dataset.name}, {first.split}: {asked:,} queries"))
    if breakdowns:
        for each in reports:
            for protocol in each.protocols:
                for cut in each.breakdowns[protocol]:
                    if each.breakdowns[protocol][cut]:  # of "linked by degree" there may be none
                        output.show(breakdown_table(each, protocol, cut))


def metrics_table(reports: "Sequence[Report]", title: str | None = None) -> "Table":
    """MR, MRR and Hits of several evaluations, a line for each protocol; realistic ranks, both sides.

    The range of the MRR goes from pessimistic to optimistic ranks: what ties could hide.
    """
    from hmem.evaluation.report import COLUMNS, share

    table = output.table(["model", "protocol"], [*(name for name, _ in COLUMNS), "MRR range"], title=title)
    for each in reports:
        for protocol, values in each.protocols.items():
            mean_rank, *shares = (values[f"both.realistic.{key}"] for _, key in COLUMNS)
            low, high = (values[f"both.{kind}.inverse_harmonic_mean_rank"] for kind in ("pessimistic", "optimistic"))
            cells = [f"{mean_rank:,.1f}", *map(share, shares), f"{share(low)}–{share(high)}"]
            table.add_row(each.label, protocol, *cells)
    return table


def breakdown_table(each: "Report", protocol: "Protocol", cut: str, shown: int = PARTS_SHOWN) -> "Table":
    """The metrics of the first parts of a breakdown."""
    from hmem.evaluation.report import share

    table = output.table([cut], ["queries", "MRR", "H@1", "H@10"], title=f"{each.label} by {cut} ({protocol})")
    parts = each.breakdowns[protocol][cut]
    for name, part in list(parts.items())[:shown]:
        shares = (share(part[key]) for key in ("mrr", "hits@1", "hits@10"))
        table.add_row(output.cell(name), f"{int(part['count']):,}", *shares)
    if len(parts) > shown:
        table.add_row(f"… {len(parts) - shown} more")
    return table
