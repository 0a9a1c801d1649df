"""Linked and unlinked answers: the break-downs of a row beside those of its rivals."""

from typing import Any

from hmem.reproduction.link_breakdown import parts_of
from hmem.reproduction.paper_rows import Run
from tests.reproduction.rows import make_baseline_line, make_line, make_row


def part(count: int, mrr: float, hits: float) -> dict[str, float]:
    return {"count": count, "mrr": mrr, "hits@1": hits, "hits@10": 1.0, "mr": 2.0}


def broken_down(mrr: float, hits: float) -> dict[str, Any]:
    linked = {"linked": part(1200, mrr, hits), "unlinked": part(300, 0.1, 0.0)}
    sizes = {"2–3": part(1000, mrr, 0.0), "64+": part(500, 0.2, 0.0)}
    return {"all": {"linked": linked, "degree": sizes, "linked by degree": {"64+": part(400, 0.5, hits)}}}


def test_means_of_the_seeds_beside_the_rules_and_the_best_of_the_rest() -> None:
    row = make_row(key="toy_recall", name="recall", preset="recall", seeds=(0, 1))
    good, bad = (make_row(key=f"toy_{name}", name=name) for name in ("good", "bad"))
    lines = [
        make_line(Run(row=row, seed=0), breakdowns=broken_down(0.9, 0.8)),
        make_line(Run(row=row, seed=1), breakdowns=broken_down(0.8, 0.7)),
        make_line(Run(row=bad, seed=0), mrr=0.2, breakdowns=broken_down(0.3, 0.3)),
        make_line(Run(row=good, seed=0), mrr=0.4, breakdowns=broken_down(0.4, 0.4)),
        {**make_baseline_line("rules"), "breakdowns": broken_down(0.95, 0.9)},
    ]
    shown = parts_of(row, [bad, good, row], lines)
    assert shown is not None
    assert shown.columns == ("linked", "unlinked", "2–3", "64+")
    assert shown.lines == (
        ("questions", ["1,200", "300", "1,000", "500"]),
        ("rules, MRR", [".950", ".100", ".950", ".200"]),
        ("good, MRR", [".400", ".100", ".400", ".200"]),
        ("recall, MRR", [".850", ".100", ".850", ".200"]),
        ("linked questions", ["1,200", "", "0", "400"]),
        ("rules, H@1 where linked", [".900", "", "–", ".900"]),
        ("good, H@1 where linked", [".400", "", "–", ".400"]),
        ("recall, H@1 where linked", [".750", "", "–", ".750"]),
    )


def test_nothing_is_shown_of_a_row_that_was_not_run_or_has_no_parts() -> None:
    row = make_row(preset="recall", name="recall")
    assert parts_of(row, [row], []) is None
    assert parts_of(row, [row], [make_line(Run(row=row, seed=0))]) is None


def test_where_nothing_is_linked_there_is_nothing_to_copy() -> None:
    row = make_row(preset="recall", name="recall")
    found = {"linked": {"unlinked": part(7, 0.3, 0.2)}, "degree": {"1": part(7, 0.3, 0.2)}, "linked by degree": {}}
    shown = parts_of(row, [row], [make_line(Run(row=row, seed=0), breakdowns={"all": found})])
    assert shown is not None
    assert shown.lines == (("questions", ["0", "7", "7"]), ("recall, MRR", ["–", ".300", ".300"]))
