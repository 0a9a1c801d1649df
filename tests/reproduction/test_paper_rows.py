"""The rows of the paper's tables: all there, with the metrics that were printed, and strictly read."""

import dataclasses
import hashlib
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmem.config import Config, from_dict
from hmem.errors import ConfigError
from hmem.graph.catalog import CATALOG
from hmem.reproduction.paper_rows import (
    METRICS,
    Run,
    fingerprint,
    in_miniature,
    limited,
    load_rows,
    read_row,
    select,
)
from tests.reproduction.rows import make_row

ROOT = Path(__file__).resolve().parents[2]
SIX = ["CConv", "CConv-inf", "CConv-im", "TPR", "TPR-inf", "TPR-im"]
OWN = ["ERAvg", "recall", "propagate"]
EXPECTED = {
    ("wn18", "WN18"): [*SIX, *OWN],
    ("fb15k", "FB15K"): [*SIX, "ERAvg", "recall", "any-graph"],
    ("wn18rr", "WN18RR"): [*SIX, *OWN, "any-graph"],
    # Not "any-graph", here and below: of these test facts many are train facts of what base was trained on.
    ("wngen", "WNGen"): ["CConv", "CConv-inf", "TPR", "TPR-inf", *OWN],
    ("fbgen", "FBGen"): ["CConv", "CConv-inf", "TPR", "TPR-inf", *OWN],
    ("fb15k-237", "FB15K-237"): ["TPR", "TPR-inf", "TPR-inf-readout", "TPR-im", *OWN, "any-graph"],
    ("codex-m", "CoDEx-M"): ["propagate"],
    ("codex-s", "CoDEx-S"): ["propagate"],
    ("ablation", "WN18"): ["CConv-global", "TPR-global"],
    ("ablation", "FB15K"): ["CConv-global", "TPR-global"],
}


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


GOOD = 'row = "TPR"\ngroup = "wn18"\ndataset = "WN18"\npreset = "tpr"\n'


# Those that come with the package


def test_every_row_is_there_and_in_the_papers_order() -> None:
    found: dict[tuple[str, str], list[str]] = {}
    for row in load_rows():
        found.setdefault((row.group, row.dataset), []).append(row.name)
    assert found == EXPECTED
    assert list(found) == list(EXPECTED)


def test_rows_can_be_trained() -> None:
    for row in load_rows():
        assert row.dataset in CATALOG
        assert row.key == f"{row.dataset.lower()}_{row.name.lower()}"
        assert row.name.lower().removesuffix("-readout") == row.preset
        assert (row.config.memory.readout is not None) == (row.preset == "recall" or row.name.endswith("-readout"))
        assert row.config.training.minutes is not None
        assert row.config.training.precision == ("tf32" if row.config.propagation is None else "float32")


def test_the_preset_is_what_the_name_says() -> None:
    for row in load_rows():
        memory = row.config.memory
        assert (memory.kind == "implicit") == row.name.endswith("-im")
        assert memory.local_weight != row.name.endswith("-global")
        if row.preset.endswith("-inf"):
            assert math.isinf(memory.stiffness)
        elif row.name.startswith(("TPR", "CConv")):
            assert math.isfinite(memory.stiffness)
        assert (memory.exact is not None) == (row.name == "recall")
        assert (row.config.propagation is not None) == (row.name in ("propagate", "any-graph"))


def test_published_metrics_are_those_of_the_paper(shared: Callable[[str], Path]) -> None:
    tables: dict[str, Any] = json.loads(shared("paper/tables.json").read_text(encoding="utf-8"))
    for row in load_rows():
        table = (
            tables["ablation-global-weight"][row.dataset] if row.group == "ablation" else tables.get(row.dataset, {})
        )
        for graph, plus in (("train", ""), ("train+valid", "+")):
            printed = table.get(f"HMem-{row.name.removesuffix('-global')}{plus}")
            published = row.published.get(graph)  # type: ignore[call-overload]
            assert (None if published is None else list(published.values())) == printed, row.key


def test_suspected_misprints_are_said() -> None:
    remarks = {row.key: row.remark for row in load_rows() if row.remark}
    assert {"wn18_tpr-inf", "fb15k_tpr", "wn18rr_cconv-inf", "wn18rr_tpr-inf", "wngen_cconv"} <= remarks.keys()
    assert "0.824" in remarks["wn18_tpr-inf"]


def test_a_checkout_has_them_under_benchmarks_too() -> None:
    if not (ROOT / "benchmarks" / "paper").is_dir():
        pytest.skip("this file system has no links")
    assert (ROOT / "benchmarks" / "paper").resolve() == ROOT / "src" / "hmem" / "paper"


# Reading


def test_a_row_is_its_preset_with_changes(tmp_path: Path) -> None:
    text = GOOD + 'seeds = [3, 4]\n[memory]\nentity_dim = 7\n[paper]\n"train+valid" = [1, 0.5, 0.4, 0.6, 0.7]\n'
    row = read_row(write(tmp_path / "mine.toml", text))
    assert (row.key, row.name, row.seeds, row.preset) == ("mine", "TPR", (3, 4), "tpr")
    assert (row.config.memory.entity_dim, row.config.memory.stiffness) == (7, 1.0)
    assert row.published == {"train+valid": dict(zip(METRICS, (1, 0.5, 0.4, 0.6, 0.7), strict=True))}
    assert row.table == "WN18"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD + "epochs = 3", 'unknown setting "epochs"; there are row, group'),
        (GOOD + "[memory]\nentiy_dim = 3", 'unknown setting "entiy_dim" in [memory]; did you mean entity_dim?'),
        (GOOD.replace('"wn18"', '"wn19"'), 'no group "wn19"; there are wn18, fb15k'),
        (GOOD.replace('preset = "tpr"', 'preset = "trp"'), 'no preset "trp"; did you mean tpr?'),
        (GOOD.replace('dataset = "WN18"', ""), "expected dataset as a text"),
        (GOOD + "seeds = []", "seeds=[]: expected a list of whole numbers"),
        (GOOD + "seeds = [true]", "seeds=[True]: expected a list of whole numbers"),
        (GOOD + 'paper = "none"', "\"paper\" is a section with metrics, not 'none'"),
        (GOOD + "[paper]\nvalid = [1]", 'unknown setting "valid" in [paper]; there are train, train+valid, remark'),
        (GOOD + "[paper]\ntrain = [1, 0.5]", "expected the five metrics MR, MRR, H@1, H@3, H@10"),
        (GOOD + "[paper]\ntrain = [1, 0.5, 0.4, 0.6, 'x']", "expected the five metrics"),
        ("row = ", "not a settings file"),
    ],
)
def test_a_wrong_row_is_said_with_its_file(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path / "mine.toml", text)
    with pytest.raises(ConfigError) as caught:
        read_row(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


def test_a_folder_without_rows(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no rows"):
        load_rows(tmp_path)
    with pytest.raises(ConfigError, match="is not a folder"):
        load_rows(tmp_path / "nowhere")


# Choosing and changing


def test_select_by_group_and_name() -> None:
    rows = load_rows()
    assert [row.name for row in select(rows, "wngen")] == EXPECTED["wngen", "WNGen"]
    assert select(rows, "all") == rows
    assert [row.key for row in select(rows, "wn18", ["tpr-INF", "recall"])] == ["wn18_tpr-inf", "wn18_recall"]
    assert [row.name for row in select(rows, "fb15k", ["tpr*"])] == ["TPR", "TPR-inf", "TPR-im"]
    assert [row.key for row in select(rows, "all", ["fbgen_tpr"])] == ["fbgen_tpr"]
    with pytest.raises(ConfigError, match='no row "TRP" in wngen; there are CConv, CConv-inf, TPR'):
        select(rows, "wngen", ["TPR", "TRP"])


def test_a_limit_on_minutes_changes_nothing_else() -> None:
    row = make_row()
    other = limited(row, 1.5)
    assert other.config.training.minutes == 1.5
    assert limited(other, 2.0) == limited(row, 2.0)
    assert dataclasses.replace(other, config=row.config) == row


def test_in_miniature_every_row_keeps_its_kind() -> None:
    for row in load_rows():
        small = in_miniature(row)
        before, after = row.config.memory, small.config.memory
        assert CATALOG[small.dataset].bundled
        assert (CATALOG[small.dataset].heldout is None) == (CATALOG[row.dataset].heldout is None)
        assert (small.table, small.published) == (row.dataset, {})
        assert (small.config.training.minutes is None) == (small.config.propagation is None)
        assert (small.config.propagation is None) == (row.config.propagation is None)
        assert dataclasses.replace(before, entity_dim=16, relation_dim=after.relation_dim) == after


def test_runs_share_a_folder_only_if_they_are_the_same() -> None:
    row = make_row(seeds=(0, 1))
    other = make_row(settings={"training": {"learning_rate": 0.5}})
    runs = [Run(row=row, seed=0), Run(row=row, seed=1), Run(row=other, seed=0)]
    assert len({run.folder(Path("models")) for run in runs}) == 3
    assert runs[0].folder(Path("models")) == Run(row=make_row(), seed=0).folder(Path("models"))
    assert runs[1].config.training.seed == 1
    assert runs[1].settings["training"]["seed"] == 1


@given(st.integers(1, 200), st.integers(1, 200))
def test_fingerprints_differ_where_settings_do(one: int, other: int) -> None:
    first, second = (from_dict(Config, {"memory": {"entity_dim": dim}}) for dim in (one, other))
    assert (fingerprint(first) == fingerprint(second)) == (one == other)


def test_a_default_that_is_said_changes_no_fingerprint() -> None:
    said = {"memory": {"stiffness": "inf"}, "training": {"minutes": None, "patience": 5}}
    assert fingerprint(from_dict(Config, said)) == fingerprint(Config())


def test_networks_of_either_family_have_fingerprints() -> None:
    said: list[dict[str, Any]] = [{}, {"propagation": {}}, {"propagation": {"dim": 8}}, {"propagation": {"dim": 9}}]
    assert len({fingerprint(from_dict(Config, each)) for each in said}) == 4


def test_a_setting_that_is_added_later_changes_no_fingerprint() -> None:
    """None of those at their default is in it, so that folders of models are found again."""
    nothing = json.dumps({"memory": {}, "training": {}}, sort_keys=True)
    assert fingerprint(Config()) == hashlib.sha256(nothing.encode()).hexdigest()[:8]
    every_two = json.dumps({"memory": {}, "training": {"validate_every": 2}}, sort_keys=True)
    said = from_dict(Config, {"training": {"validate_every": 2}})
    assert fingerprint(said) == hashlib.sha256(every_two.encode()).hexdigest()[:8]
