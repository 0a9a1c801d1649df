"""Ours beside the paper's: the right lines, honest differences."""

import pytest

from hmem.reproduction.comparison import compare, entry_of_row, metric_text, table_lines
from hmem.reproduction.paper_rows import METRICS, Run
from tests.reproduction.rows import make_baseline_line, make_line, make_row

ROW = make_row()  # the paper's MRR is .9
RUN = Run(row=ROW, seed=0)


@pytest.mark.parametrize(
    ("mrr", "shortfall"),
    [(0.888, 0.012), (0.9, 0.0), (0.8996, 0.0), (0.8994, 0.001), (0.95, -0.05)],
)
def test_shortfall_is_to_the_digits_that_are_printed(mrr: float, shortfall: float) -> None:
    entry = entry_of_row([make_line(RUN, mrr=mrr)], ROW, "train")
    assert entry.shortfall == shortfall


def test_the_paper_is_compared_in_protocol_typed() -> None:
    line = make_line(RUN, mrr=0.95)
    line["protocols"]["all"] = make_line(RUN, mrr=0.5)["protocols"]["all"]
    (comparison,) = compare([ROW], [line])
    assert comparison.short == []
    line["protocols"] = {"all": line["protocols"]["typed"], "typed": line["protocols"]["all"]}
    (comparison,) = compare([ROW], [line])
    assert [(entry.label, entry.shortfall) for entry in comparison.short] == [("TPR", 0.4)]


def test_a_row_that_was_not_run_or_not_published_has_no_shortfall() -> None:
    assert entry_of_row([], ROW, "train").shortfall is None
    entry = entry_of_row([make_line(RUN, "train+valid")], ROW, "train+valid")
    assert (entry.published, entry.shortfall, entry.label) == (None, None, "TPR+")


def test_each_table_has_the_baselines_and_every_row_on_both_graphs() -> None:
    rows = [ROW, make_row(key="toy_recall", name="recall", preset="recall", published={})]
    lines = [make_baseline_line("rules", mrr=0.7), make_baseline_line("rules", graph="train+valid", mrr=0.8)]
    lines += [make_line(RUN, mrr=0.75), make_line(RUN, "train+valid", mrr=0.78)]
    (comparison,) = compare(rows, lines)
    assert [entry.label for entry in comparison.entries] == [
        "counts", "counts+", "rules", "rules+", "frequency", "frequency+", "TPR", "TPR+", "recall", "recall+",
    ]  # fmt: skip
    assert [entry.label for entry in comparison.entries if entry.ours] == ["rules", "rules+", "TPR", "TPR+"]
    best = [comparison.best("all", graph) for graph in ("train", "train+valid")]
    assert [entry and entry.label for entry in best] == ["TPR", "rules+"]  # also where the rules win


def test_a_model_trained_apart_stands_in_a_table_where_it_was() -> None:
    (without,) = compare([ROW], [make_line(RUN, mrr=0.75)])
    assert "ComplEx-N3" not in [entry.name for entry in without.entries]
    (beside,) = compare([ROW], [make_line(RUN, mrr=0.75), make_baseline_line("ComplEx-N3", mrr=0.8)])
    assert [entry.label for entry in beside.entries if entry.name == "ComplEx-N3"] == ["ComplEx-N3"]  # no "+"
    best = beside.best("all", "train")
    assert best is not None
    assert best.label == "ComplEx-N3"  # a baseline that is ahead is named


def test_seeds_are_averaged_and_their_spread_is_told() -> None:
    row = make_row(seeds=(0, 1, 2))
    lines = [make_line(Run(row=row, seed=seed), mrr=mrr) for seed, mrr in enumerate((0.8, 0.81, 0.82))]
    entry = entry_of_row(lines, row, "train")
    found = entry.ours["typed"]
    assert entry.seeds == (0, 1, 2)
    assert found.mean["MRR"] == pytest.approx(0.81)
    assert found.spread is not None
    assert found.spread["MRR"] == pytest.approx(0.01)
    assert entry_of_row(lines[:2], row, "train").seeds == (0, 1)
    alone = entry_of_row(lines, row, "train", seed=1)
    assert (alone.seeds, alone.ours["typed"].spread) == ((1,), None)
    assert dict(table_lines(entry))["typed"][1] == ".810 ± .010"


def test_the_ablation_stands_beside_what_it_ablates() -> None:
    whole, other = make_row(), make_row(key="toy_tpr-inf", name="TPR-inf", preset="tpr-inf")
    elsewhere = make_row(key="far_tpr", dataset="far")
    ablated = make_row(key="toy_tpr-global", name="TPR-global", preset="tpr-global", group="ablation")
    (comparison,) = compare([ablated], [make_line(RUN)], [whole, other, elsewhere, ablated])
    labels = [entry.label for entry in comparison.entries if entry.kind == "row"]
    assert labels == ["TPR", "TPR+", "TPR-global", "TPR-global+"]
    assert comparison.group == "ablation"


def test_groups_and_datasets_have_tables_of_their_own() -> None:
    rows = [ROW, make_row(key="b", dataset="far"), make_row(key="c", group="ablation", name="TPR-global")]
    assert [(each.group, each.table) for each in compare(rows, [])] == [
        ("wn18", "toy"),
        ("wn18", "far"),
        ("ablation", "toy"),
    ]
    small = make_row(stands_for="WN18")
    assert [(each.table, each.dataset) for each in compare([small], [])] == [("WN18", "toy")]


def test_metrics_are_printed_below_the_papers() -> None:
    entry = entry_of_row([make_line(RUN, mrr=0.875)], ROW, "train")
    assert table_lines(entry) == [
        ("paper", ["253", ".900", ".800", ".850", ".950"]),
        ("typed", ["114", ".875", ".775", ".885", ".975"]),
        ("all", ["114", ".875", ".775", ".885", ".975"]),
    ]
    assert table_lines(entry_of_row([], make_row(published={}), "train")) == []


@pytest.mark.parametrize(
    ("name", "value", "spread", "text"),
    [
        ("MR", 24.0, None, "24"),
        ("MR", 24.26, None, "24.3"),
        ("MR", 2223.4, 3.0, "2,223"),
        ("MRR", 0.9, None, ".900"),
        ("MRR", 1.0, 0.0004, "1.000 ± .000"),
        ("H@1", 0.0004, 0.01, ".000"),
    ],
)
def test_metrics_as_the_field_prints_them(name: str, value: float, spread: float | None, text: str) -> None:
    assert name in METRICS
    assert metric_text(name, value, spread) == text
