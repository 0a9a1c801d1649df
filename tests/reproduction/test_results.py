"""Files of results: lines that never mix, and the right one found again."""

import errno
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from hmem.errors import DataError
from hmem.evaluation.baselines import make_baseline
from hmem.evaluation.report import report
from hmem.graph.dataset import Dataset
from hmem.reproduction.paper_rows import Run
from hmem.reproduction.results import (
    RELATIONS_KEPT,
    append_line,
    append_result,
    find_baseline,
    find_run,
    line_of,
    metrics_of,
    read_lines,
)
from tests.reproduction.rows import make_baseline_line, make_line, make_row


def test_lines_come_back_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "new" / "results.jsonl"
    assert read_lines(path) == []
    lines: list[dict[str, Any]] = [{"model": "größer"}, {"model": "b", "seed": None}]
    for line in lines:
        append_line(path, line)
    assert read_lines(path) == lines
    assert path.read_text(encoding="utf-8").splitlines()[0] == '{"model": "größer"}'


def test_a_folder_has_a_file_for_each_dataset(tmp_path: Path) -> None:
    folder = tmp_path / "paper"
    first, second, third = (
        {"dataset": name, "seed": seed} for name, seed in (("WN18", 0), ("/data/FB15K", 0), ("WN18", 1))
    )
    for line in (first, second, third):
        append_result(folder, line)
        append_result(tmp_path / "one.jsonl", line)
    assert read_lines(folder) == [second, first, third]
    assert [file.name for file in sorted(folder.iterdir())] == ["FB15K.jsonl", "WN18.jsonl"]
    assert read_lines(tmp_path / "one.jsonl") == [first, second, third]
    (tmp_path / "2026.11").mkdir()  # a folder, whatever its name looks like
    append_result(tmp_path / "2026.11", first)
    assert read_lines(tmp_path / "2026.11" / "WN18.jsonl") == [first]


def test_lines_of_several_writers_never_mix(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    texts = [f"{number}" * 20_000 for number in range(8)]

    def write(text: str) -> None:
        for _ in range(10):
            append_line(path, {"text": text})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, texts))
    assert sorted(line["text"] for line in read_lines(path)) == sorted(texts * 10)


def test_a_full_disk_is_told_with_the_name_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "results.jsonl"
    append_line(path, {"a": 1})

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(os, "write", full)
        with pytest.raises(DataError, match=r"results\.jsonl: nothing could be added \(No space left on device\)"):
            append_line(path, {"a": 2})
        disk.setattr(os, "write", lambda _, data: len(data) // 2)
        with pytest.raises(DataError, match=r"its last line is not whole"):
            append_line(path, {"a": 2})
    assert read_lines(path) == [{"a": 1}]


@pytest.mark.parametrize("broken", ['{"a": ', "[1]"])
def test_a_broken_line_is_said_with_its_number(tmp_path: Path, broken: str) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text(f'{{"a": 1}}\n\n{broken}\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"results\.jsonl:3: "):
        read_lines(path)


def test_a_line_has_every_metric_and_the_most_asked_relations(toy: Dataset) -> None:
    made = report(make_baseline("rules", toy, "train"), toy, model="rules")
    made.breakdowns["all"]["relation"] |= {f"relation {number}": {"count": 1} for number in range(20)}
    line = json.loads(json.dumps(line_of(made)))
    assert line["protocols"].keys() == {"all", "typed"}
    assert line["protocols"]["all"].keys() == made.protocols["all"].keys()
    assert line["protocols"]["all"] == pytest.approx(made.protocols["all"], abs=1e-6)
    assert list(line["breakdowns"]["all"]["relation"]) == list(made.breakdowns["all"]["relation"])[:RELATIONS_KEPT]
    assert line["breakdowns"]["typed"]["linked"] == made.breakdowns["typed"]["linked"]
    assert metrics_of(line, "all")["MRR"] == pytest.approx(
        made.protocols["all"]["both.realistic.inverse_harmonic_mean_rank"]
    )
    assert len(made.breakdowns["all"]["relation"]) > 20  # the report itself is as it was


# Finding a run again

RUN = Run(row=make_row(), seed=0)


def test_the_last_line_of_a_run_counts() -> None:
    lines = [make_line(RUN, mrr=0.1), make_line(RUN, mrr=0.2), make_line(RUN, "train+valid", mrr=0.3)]
    assert find_run(lines, RUN, "train") is lines[1]
    assert find_run(lines, RUN, "train+valid") is lines[2]
    assert find_run(lines[:2], RUN, "train+valid") is None
    assert find_run([], RUN, "train") is None


@pytest.mark.parametrize(
    "line",
    [
        make_line(Run(row=make_row(), seed=1)),
        make_line(Run(row=make_row(key="toy_other"), seed=0)),
        make_line(Run(row=make_row(dataset="WN18"), seed=0)),
        make_line(Run(row=make_row(settings={"training": {"epochs": 4}}), seed=0)),
        make_line(Run(row=make_row(settings={"memory": {"temperature": 0.3}}), seed=0)),
        make_line(RUN, split="valid"),
        make_line(RUN, settings={**RUN.settings, "preset": "tpr-inf"}),
        make_line(RUN, settings={**RUN.settings, "memory": {**RUN.settings["memory"], "gone": 1}}),
        make_line(RUN, settings=None),
        make_baseline_line("TPR"),
    ],
)
def test_another_run_is_not_taken_for_it(line: dict[str, Any]) -> None:
    assert find_run([line], RUN, "train") is None


def test_settings_of_an_earlier_version_are_those_of_today() -> None:
    flat = {"preset": "tpr", "memory": {"entity_dim": 6, "relation_dim": 4, "stiffness": 1.0, "margin": 0.25}}
    training = {**RUN.settings["training"], "warmup": 0.02, "checkpoint_minutes": 1.0, "patience": 1000}
    never = Run(row=make_row(settings={"training": {"patience": None}}), seed=0)
    line = make_line(RUN, settings={**flat, "training": training})
    assert find_run([line], never, "train") is not None
    assert find_run([line], RUN, "train") is None


def test_a_setting_that_came_later_was_at_its_default() -> None:
    older = json.loads(json.dumps(RUN.settings))
    del older["memory"]["temperature"], older["training"]["exact_rate"]
    assert find_run([make_line(RUN, settings=older)], RUN, "train") is not None
    other = Run(row=make_row(settings={"memory": {"temperature": 0.3}}), seed=0)
    assert find_run([make_line(other, settings=older)], other, "train") is None


def test_baselines_are_found_by_name_dataset_and_graph() -> None:
    lines = [
        make_baseline_line("rules"),
        make_baseline_line("rules", graph="train+valid"),
        make_baseline_line("random"),
    ]
    lines.append(make_line(RUN, model="rules"))  # a row of that name is no baseline
    assert find_baseline(lines, "rules", "toy", "train") is lines[0]
    assert find_baseline(lines, "rules", "toy", "train+valid") is lines[1]
    assert find_baseline(lines, "frequency", "toy", "train") is None
    assert find_baseline(lines, "rules", "WN18", "train") is None
