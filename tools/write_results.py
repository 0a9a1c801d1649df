"""Write docs/results.md from results/ and the rows of the paper's tables.

    python tools/write_results.py            write it
    python tools/write_results.py --check    leave with 1 if it is not what would be written

Of each row the results count that have the settings and seeds of its file in benchmarks/paper.
"""

import statistics
import sys
from collections.abc import Iterable, Iterator, Sequence

from generated_page import ROOT, write_or_check

from hmem.evaluation.report import share
from hmem.figures.degree import BINS, PAPER
from hmem.reproduction.comparison import PAPERS_PROTOCOL, Comparison, Entry, compare, table_lines
from hmem.reproduction.link_breakdown import parts_of
from hmem.reproduction.paper_rows import GRAPHS, METRICS, PaperRow, Run, load_rows
from hmem.reproduction.results import TRAINED_APART, Line, find_baseline, find_run, read_lines
from hmem.reproduction.studies import StudyName, find_study, runs_compared

PAGE, RESULTS = ROOT / "docs" / "results.md", ROOT / "results"
PLACES = ("baselines.jsonl", "paper")
OF_MODEL = ("model", "memory", "protocol")  # columns

HEADER = """\
# Results

<!-- Written by `python tools/write_results.py` from results and benchmarks/paper. Do not edit by hand. -->

The paper's tables, with our metrics below the paper's. `hmem reproduce wn18` (or `fb15k`, `wn18rr`, `wngen`, `fbgen`,
`fb15k-237`, `codex-m`, `codex-s`, `ablation`, `degree`, `growth`, `all`) trains what has no result yet, ranks the test
facts and prints these tables; `benchmarks/paper` has the settings of every row, and `results/paper` every run with all
its metrics.

- `paper`: as printed. `typed` and `all`: ours, by which entities are candidates
  ([evaluation.md](evaluation.md#protocols)). The authors' scripts rank in protocol `typed`, so that is the line to
  compare with the paper; the rest of the field ranks in `all`.
- "+": the validation facts are in the graph that memories are made of, without training on them. Learned memories
  (`-im`) are made of no facts, so nothing changes for them.
- `counts`, `rules` and `frequency` learn nothing ([evaluation.md](evaluation.md#baselines)); `ComplEx-N3` is a strong
  plain factor model (`python benchmarks/complex_n3.py NAME --rank 500 --reg R --epochs 200 --minutes M`, with R .05,
  M 2.5 on WN18; .1, 2.5 on WN18RR; .0025, 3 on FB15K; .05, 3 on FB15K-237); `ERAvg` is the closest relative in the
  literature; `recall`, `TPR-inf-readout`, `propagate` and `any-graph` are our own. None of them is in the paper.
- `any-graph` begins with weights that were trained on the train facts of FB15K-237, WN18RR and CoDEx-M, among others.
  It stands only where no test fact is [one of
  those](../results/research.md#propagation-on-a-gpu-as-rows-of-the-tables).
- Where several seeds were run, metrics are means, and the MRR has its standard deviation beside it.
- Settings were chosen on validation facts; those of commit 344f594 with [test facts as
  rivals](evaluation.md#why-test-facts-are-no-rivals-in-validation).
"""


def page(rows: Sequence[PaperRow], lines: Sequence[Line]) -> str:
    """The whole text of docs/results.md."""
    found = compare(rows, lines, rows)
    titles = [title_of(each) for each in found]
    sections = {title: list(section(each)) for title, each in zip(titles, found, strict=True)}
    sections |= {"Recall and completion": list(parts(rows, lines))}
    sections |= {"Neighborhood size": list(degree(rows, lines)), "Facts that arrive": list(growth(rows, lines))}
    sections |= {"The runs": list(runs(rows, lines))}
    contents = "\n".join(f"- [{title}](#{anchor(title)})" for title in sections)
    return "\n".join([HEADER, f"{contents}\n", *("\n".join([f"## {each}\n", *sections[each]]) for each in sections)])


def title_of(comparison: Comparison) -> str:
    return f"Ablation on {comparison.table}" if comparison.group == "ablation" else comparison.table


def anchor(title: str) -> str:
    return title.lower().replace(" ", "-")


def section(comparison: Comparison) -> Iterator[str]:
    if comparison.group == "ablation":
        yield "`-global`: one weight matrix for every query, f = 1; without it, the row of the table above.\n"
    cells = []
    for entry in comparison.entries:
        label = entry.label + (f" ({len(entry.seeds)} seeds)" if len(entry.seeds) > 1 else "")
        for source, metrics in table_lines(entry):
            cells.append([label, source, *metrics])
            label = ""
    yield from markdown(["model", "source"], METRICS, cells)
    yield from leaders(comparison)
    yield from verdict(comparison)
    missing = dict.fromkeys(entry.name for entry in comparison.entries if not entry.ours)
    if missing:
        yield f"Not run yet: {', '.join(missing)}.\n"
    remarks = {entry.name: entry.remark for entry in comparison.entries if entry.remark}
    for remark in dict.fromkeys(remarks.values()):
        names = ", ".join(name for name, each in remarks.items() if each == remark)
        yield f"About the paper's {names}: {remark}.\n"


def leaders(comparison: Comparison) -> Iterator[str]:
    """The model or baseline with the highest MRR."""
    best = [entry for graph in GRAPHS if (entry := comparison.best("all", graph)) is not None]
    if any(entry.kind == "row" and entry.ours for entry in comparison.entries):
        said = " and ".join(f"{entry.label} ({share(entry.ours['all'].mean['MRR'])})" for entry in best)
        yield f"Highest MRR in protocol `all`: {said}.\n"


def verdict(comparison: Comparison) -> Iterator[str]:
    """A line for every row that does not reach the paper."""
    compared = [entry for entry in comparison.entries if entry.shortfall is not None]
    if not compared:
        return
    if not comparison.short:
        yield f"Each of the {len(compared)} rows that the paper has and that were run reaches its MRR.\n"
        return
    yield f"{len(comparison.short)} of {len(compared)} rows fall short of the paper's MRR:\n"
    for entry in comparison.short:
        yield f"- {entry.label} by {share(entry.shortfall or 0)} ({against(entry)})"
    yield ""
    yield "What was tried is in the [research log](../results/research.md#rows-that-fall-short-of-the-paper).\n"


def against(entry: Entry) -> str:
    assert entry.published is not None, "only what the paper has can fall short of it"
    return f"{share(entry.ours[PAPERS_PROTOCOL].mean['MRR'])} against {share(entry.published['MRR'])}"


def parts(rows: Sequence[PaperRow], lines: Sequence[Line]) -> Iterator[str]:
    """What `recall` does for answers that stand in the asked entity's memory already, and for those that do not."""
    yield (
        "Protocol `all`, without the validation facts in memory. Linked: some stored fact links the asked entity and\n"
        "the answer, so that it can be copied; the rest has to be completed. Beside `recall` stand the rules,\n"
        "ComplEx-N3 and the best of the other rows; then by the number of facts in the asked entity's memory.\n"
        "Means of all seeds. That only half of WN18RR's linked questions about entities with 64 facts or more are\n"
        "answered at once holds for every model here: there are six of them.\n"
    )
    for row in rows:
        shown = parts_of(row, rows, lines) if row.preset == "recall" else None
        if shown is None:
            continue
        yield f"### {row.dataset}, linked and unlinked\n"
        yield from markdown([""], shown.columns, ([label, *cells] for label, cells in shown.lines))


def degree(rows: Sequence[PaperRow], lines: Sequence[Line]) -> Iterator[str]:
    """How MRR depends on the number of neighbors of the asked entity."""
    yield (
        "`hmem reproduce degree`. The paper says that explicit memories get better as neighborhoods grow, and\n"
        "implicit ones worse. The last column is the slope of the fitted line: how much MRR changes if an entity has\n"
        "twice as many neighbors, with a 95 % interval over entities.\n"
    )
    for dataset in ("WN18", "FB15K"):
        line = find_study(lines, "degree", dataset)
        if line is None:
            yield f"{dataset}: not run yet.\n"
            continue
        yield f"### {dataset}, MRR by the number of neighbors\n"
        yield f"{models_of('degree', line, rows, lines)}\n"
        papers = [["paper", kind, "", *map(share, values), ""] for kind, values in PAPER.get(dataset, {}).items()]
        slopes = {_model(row): row for row in line["tables"]["degree-lines"] if row["against"] != "degree"}
        bins: dict[tuple[str, str, str], list[str]] = {}
        for row in line["tables"]["degree-bins"]:
            bins.setdefault(_model(row), []).append("–" if row["mrr"] is None else share(row["mrr"]))
        ours = [[*of_model, *cells, _slope(slopes[of_model])] for of_model, cells in bins.items()]
        yield from markdown(OF_MODEL, [*BINS, "per doubling"], papers + ours)
        for (model, kind, protocol), row in slopes.items():
            if kind != "baseline":
                yield f"- {model}, `{protocol}`: {_trend(row, kind)}"
        yield ""


def growth(rows: Sequence[PaperRow], lines: Sequence[Line]) -> Iterator[str]:
    """How MRR on entities that training never saw grows with the facts about them."""
    yield (
        "`hmem reproduce growth`. MRR on entities that training never saw, against the share of the facts about them\n"
        "that is in the graph; nothing is trained in between. Means of three random orders in which the facts arrive.\n"
    )
    for dataset in ("WNGen", "FBGen"):
        line = find_study(lines, "growth", dataset)
        if line is None:
            yield f"{dataset}: not run yet.\n"
            continue
        table = line["tables"]["growth"]
        shares = list(dict.fromkeys(row["share"] for row in table))
        yield f"### {dataset}, MRR by the share of facts in memory\n"
        yield f"{models_of('growth', line, rows, lines)}\n"
        cells = []
        for model in dict.fromkeys(map(_model, table)):
            mine = [row for row in table if _model(row) == model]
            means = [statistics.mean(row["mrr"] for row in mine if row["share"] == each) for each in shares]
            cells.append([*model, *map(share, means)])
        yield from markdown(OF_MODEL, [f"{each:.0%}" for each in shares], cells)


def markdown(texts: Sequence[str], numbers: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table with columns of text, and then columns of numbers."""
    yield f"| {' | '.join([*texts, *numbers])} |"
    yield f"|{'---|' * len(texts)}{'---:|' * len(numbers)}"
    yield from (f"| {' | '.join(cells)} |" for cells in rows)
    yield ""


def models_of(study: StudyName, line: Line, rows: Sequence[PaperRow], lines: Sequence[Line]) -> str:
    """Which models a study compared, and whether they are still those of the tables."""
    said = f"Models of commit {line.get('commit') or '–'}"
    now = runs_compared(study, rows).get(line["dataset"], [])
    if find_study(lines, study, line["dataset"], now) is line:
        return f"{said}."
    return f"{said}, with settings that the rows of the tables had before."


def _model(row: Line) -> tuple[str, str, str]:
    return row["model"], row["kind"], row["protocol"]


def _slope(row: Line) -> str:
    if row["slope"] is None:
        return "–"
    return f"{row['slope']:+.3f} ({row['slope_low']:+.3f} to {row['slope_high']:+.3f})"


def _trend(row: Line, kind: str) -> str:
    """What the slope says about the paper's claim."""
    if row["slope"] is None or row["slope_low"] <= 0 <= row["slope_high"]:
        return "no slope that can be told from chance."
    rises = row["slope_low"] > 0
    agrees = rises == (kind == "explicit")
    return f"{'better' if rises else 'worse'} with more neighbors, {'as' if agrees else 'not as'} the paper says."


def runs(rows: Sequence[PaperRow], lines: Sequence[Line]) -> Iterator[str]:
    """What each training took."""
    found = [
        (row.dataset, row.name, seed, line)
        for row in rows
        for seed in row.seeds
        if (line := find_run(lines, Run(row=row, seed=seed), "train")) is not None
    ]
    for dataset in dict.fromkeys(row.dataset for row in rows):
        apart = [(name, find_baseline(lines, name, dataset, "train")) for name in TRAINED_APART]
        found += [(dataset, name, line["seed"], line) for name, line in apart if line is not None]
    if not found:
        yield "None yet."
        return
    yield (
        "Epochs and seconds are those of training, with up to thirteen other trainings on the same device. What comes\n"
        "after it, such as the five to eleven validations of `fit_absence`, is not counted.\n"
    )
    yield "| dataset | row | seed | parameters | epochs | seconds | device | commit |"
    yield "|---|---|---:|---:|---:|---:|---|---|"
    for dataset, name, seed, line in found:
        cells = [dataset, name, str(seed), f"{line['parameters']:,}", f"{line['epochs']:.1f}"]
        cells += [f"{line['training_seconds']:,.0f}", line["device"]]
        yield f"| {' | '.join([*cells, line['commit'] or '–'])} |"


def current() -> str:
    """The page as the results of now give it."""
    return page(load_rows(), [line for name in PLACES for line in read_lines(RESULTS / name)]).rstrip("\n") + "\n"


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, current, __doc__))
