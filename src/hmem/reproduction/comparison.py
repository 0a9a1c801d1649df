"""Our metrics beside the paper's and beside the baselines.

The paper's metrics are compared with ours in protocol `typed`, which is what its authors' scripts do; see
docs/evaluation.md.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hmem.evaluation.baselines import BASELINES
from hmem.evaluation.protocol import PROTOCOLS, Protocol
from hmem.evaluation.report import share
from hmem.graph.dataset import GraphName
from hmem.reproduction.paper_rows import GRAPHS, METRICS, MetricValues, PaperRow, Run
from hmem.reproduction.results import TRAINED_APART, Line, find_baseline, find_run, metrics_of

PAPERS_PROTOCOL: Protocol = "typed"


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The mean over seeds, and how far they lie apart: the standard deviation, None for a single seed."""

    mean: MetricValues
    spread: MetricValues | None


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A line of a table: one model on one graph."""

    name: str
    graph: GraphName
    kind: str  # "row" or "baseline"
    ours: Mapping[Protocol, Measured] = field(default_factory=dict)  # empty if it has not been run
    seeds: tuple[int, ...] = ()
    published: MetricValues | None = None
    remark: str = ""

    @property
    def label(self) -> str:
        return self.name + ("+" if self.graph == "train+valid" else "")

    @property
    def shortfall(self) -> float | None:
        """By how much our MRR misses the paper's, to the three digits it is printed with; negative if it is ahead."""
        if self.published is None or not self.ours:
            return None
        return round(self.published["MRR"] - round(self.ours[PAPERS_PROTOCOL].mean["MRR"], 3), 3)


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One table: the rows of one group on one dataset, and the baselines there."""

    group: str
    table: str  # the dataset it is about
    dataset: str  # the one that was ranked; another one in miniature
    entries: tuple[Entry, ...]

    @property
    def short(self) -> list[Entry]:
        """The rows that do not reach the paper."""
        return [entry for entry in self.entries if entry.shortfall is not None and entry.shortfall > 0]

    def best(self, protocol: Protocol, graph: GraphName) -> Entry | None:
        """The line with the highest MRR on a graph."""
        run = [entry for entry in self.entries if entry.ours and entry.graph == graph]
        return max(run, key=lambda entry: entry.ours[protocol].mean["MRR"], default=None)


def compare(
    rows: Sequence[PaperRow], lines: Sequence[Line], every: Sequence[PaperRow] = (), seed: int | None = None
) -> list[Comparison]:
    """A table for each group and dataset among `rows`, from the results in `lines`.

    Of each row, the results with its settings count, with its seeds or with `seed` alone. The ablation also shows the
    rows among `every` that it is an ablation of.
    """
    comparisons = []
    for group, table in dict.fromkeys((row.group, row.table) for row in rows):
        shown = [row for row in rows if (row.group, row.table) == (group, table)]
        if group == "ablation":
            whole = {row.name.removesuffix("-global") for row in shown}
            others = [row for row in every if row.group != group and row.table == table and row.name in whole]
            shown = sorted([*shown, *others], key=lambda row: row.name)
        dataset = shown[0].dataset
        entries = [entry_of_baseline(lines, name, dataset, graph) for name in BASELINES for graph in GRAPHS]
        apart = [entry_of_baseline(lines, name, dataset, graph) for name in TRAINED_APART for graph in GRAPHS]
        entries += [entry for entry in apart if entry.ours]
        entries += [entry_of_row(lines, row, graph, seed) for row in shown for graph in GRAPHS]
        comparisons.append(Comparison(group=group, table=table, dataset=dataset, entries=tuple(entries)))
    return comparisons


def entry_of_row(lines: Sequence[Line], row: PaperRow, graph: GraphName, seed: int | None = None) -> Entry:
    seeds = row.seeds if seed is None else (seed,)
    found = {each: line for each in seeds if (line := find_run(lines, Run(row=row, seed=each), graph)) is not None}
    return Entry(
        name=row.name,
        graph=graph,
        kind="row",
        ours=measured(list(found.values())),
        seeds=tuple(found),
        published=row.published.get(graph),
        remark=row.remark,
    )


def entry_of_baseline(lines: Sequence[Line], name: str, dataset: str, graph: GraphName) -> Entry:
    line = find_baseline(lines, name, dataset, graph)
    return Entry(name=name, graph=graph, kind="baseline", ours=measured([line] if line else []))


def measured(lines: Sequence[Line]) -> dict[Protocol, Measured]:
    if not lines:
        return {}
    found: dict[Protocol, Measured] = {}
    for protocol in PROTOCOLS:
        metrics = [metrics_of(line, protocol) for line in lines]
        columns = {name: [each[name] for each in metrics] for name in METRICS}
        found[protocol] = Measured(
            mean={name: statistics.fmean(values) for name, values in columns.items()},
            spread={name: statistics.stdev(values) for name, values in columns.items()} if len(lines) > 1 else None,
        )
    return found


def table_lines(entry: Entry) -> list[tuple[str, list[str]]]:
    """An entry as it is printed: the source, "paper" or one of our protocols, and its metrics."""
    shown = []
    if entry.published is not None:
        shown.append(("paper", [metric_text(name, entry.published[name]) for name in METRICS]))
    for protocol in (PAPERS_PROTOCOL, *(each for each in PROTOCOLS if each != PAPERS_PROTOCOL)):
        if protocol in entry.ours:
            found = entry.ours[protocol]
            spread = found.spread or {}
            shown.append((protocol, [metric_text(name, found.mean[name], spread.get(name)) for name in METRICS]))
    return shown


def metric_text(name: str, value: float, spread: float | None = None) -> str:
    """.938 as the field prints it, and .938 ± .002 for an MRR with a spread."""
    if name == "MR":
        return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.1f}"
    return share(value) if spread is None or name != "MRR" else f"{share(value)} ± {share(spread)}"
