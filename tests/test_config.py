"""Settings are strict: what is not understood is an error that says what would be."""

import dataclasses
import json
import math
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmem.config import Config, MemoryConfig, TrainingConfig, from_dict, load_toml, merge, parse_assignments, to_dict
from hmem.errors import ConfigError


def message_of(settings: dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as caught:
        from_dict(Config, settings)
    return str(caught.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"memory": {"stifness": 2}}, 'unknown setting "stifness" in [memory]; did you mean "stiffness"?'),
        ({"training": {"epoch": 1}}, 'unknown setting "epoch" in [training]; did you mean "epochs"?'),
        ({"memry": {}}, 'unknown setting "memry"; did you mean "memory"?'),
        ({"xyz": {}}, 'unknown setting "xyz"; there are memory, training'),
        ({"memory": 3}, '"memory" is a section of settings, not 3'),
        ({"memory": {"entity_dim": "80"}}, "memory.entity_dim='80': expected int"),
        ({"memory": {"entity_dim": 80.0}}, "memory.entity_dim=80.0: expected int"),
        ({"memory": {"entity_dim": True}}, "memory.entity_dim=True: expected int"),
        ({"memory": {"entity_dim": None}}, "memory.entity_dim=None: expected int"),
        ({"memory": {"entity_dim": [80]}}, "memory.entity_dim=[80]: expected int"),
        ({"memory": {"max_neighbors": "all"}}, "memory.max_neighbors='all': expected int or none"),
        ({"memory": {"max_neighbors": "inf"}}, "memory.max_neighbors='inf': expected int or none"),
        ({"memory": {"role_bias": 1}}, "memory.role_bias=1: expected bool"),
        ({"memory": {"stiffness": "hard"}}, "memory.stiffness='hard': expected float"),
        ({"training": {"minutes": "ten"}}, "training.minutes='ten': expected float or none"),
        (
            {"memory": {"binding": "ccov"}},
            'memory.binding=\'ccov\': expected one of "tpr", "cconv", "hadamard"; did you mean "cconv"?',
        ),
        ({"memory": {"kind": 7}}, 'memory.kind=7: expected one of "explicit", "implicit"'),
    ],
)  # fmt: skip
def test_what_is_not_understood_is_an_error(settings: dict[str, Any], message: str) -> None:
    assert message_of(settings) == message


@pytest.mark.parametrize(
    ("section", "settings", "message"),
    [
        ("memory", {"binding": "cconv"}, 'relation_dim=25 must equal entity_dim=80 for binding "cconv"'),
        ("memory", {"binding": "hadamard"}, 'relation_dim=25 must equal entity_dim=80 for binding "hadamard"'),
        ("memory", {"entity_dim": 0}, "entity_dim=0 must be 1 or more"),
        ("memory", {"max_neighbors": 0}, "max_neighbors=0 must be 1 or more, or left out to keep them all"),
        (
            "memory",
            {"max_neighbors": 5, "weighting": "mean"},
            'max_neighbors=5 keeps the heaviest edges; with weighting="mean" all weigh alike',
        ),
        ("memory", {"stiffness": 0.25}, "margin=0.25 must lie between 0 and stiffness=0.25"),
        ("memory", {"stiffness": math.nan}, "margin=0.25 must lie between 0 and stiffness=nan"),
        ("memory", {"margin": 0.0}, "margin=0.0 must lie between 0 and stiffness=inf"),
        ("memory", {"shrinkage": 0.0}, "shrinkage=0.0 must lie in (0, 1]"),
        ("memory", {"shrinkage": 1.1}, "shrinkage=1.1 must lie in (0, 1]"),
        ("memory", {"temperature": 0}, "temperature=0.0 must be positive"),
        ("memory", {"readout_maps": 1, "readout_damping": 1.5}, "readout_damping=1.5 must lie in [0, 1]"),
        ("memory", {"readout_damping": 0.3}, "readout_damping=0.3 is of the read-out; set readout_maps too"),
        (
            "memory",
            {"counted_bias": True},
            "counted_bias=true is about where the role bias starts; set role_bias=true too",
        ),
        (
            "memory",
            {"counted_bias": True, "role_bias": True, "weighting": "mean"},
            "counted_bias=true is about learned weights of edges; kind or weighting leaves none",
        ),
        (
            "memory",
            {"kind": "implicit", "weighting": "mean"},
            'weighting="mean" weighs edges, and kind="implicit" has none',
        ),
        ("training", {"epochs": 0}, "epochs=0 must be 1 or more"),
        ("training", {"patience": -1}, "patience=-1 must be 1 or more"),
        ("training", {"label_smoothing": 1.0}, "label_smoothing=1.0 must lie in [0, 1)"),
        ("training", {"memory_dropout": -0.1}, "memory_dropout=-0.1 must lie in [0, 1)"),
        ("training", {"neighbor_dropout": math.nan}, "neighbor_dropout=nan must lie in [0, 1)"),
        ("training", {"identity_dropout": 1.1}, "identity_dropout=1.1 must lie in [0, 1]"),
        ("training", {"warmup": 2}, "warmup=2.0 must lie in [0, 1]"),
        ("training", {"learning_rate": 0}, "learning_rate=0.0 must be positive"),
        ("training", {"learning_rate": math.nan}, "learning_rate=nan must be positive"),
        ("training", {"negatives": 0}, "negatives=0 must be 1 or more, or left out to rank against every entity"),
        ("training", {"minutes": 0}, "minutes=0.0 must be positive"),
        ("training", {"weight_decay": -0.1}, "weight_decay=-0.1 must be 0 or more"),
        ("training", {"weight_decay": math.nan}, "weight_decay=nan must be 0 or more"),
        ("training", {"checkpoint_minutes": 0}, "checkpoint_minutes=0.0 must be positive"),
        ("training", {"validation_queries": 0}, "validation_queries=0 must be 1 or more, or left out to take them all"),
        ("training", {"seed": -1}, "seed=-1 must be 0 or more"),
    ],
)
def test_what_does_not_fit_is_an_error(section: str, settings: dict[str, Any], message: str) -> None:
    assert message_of({section: settings}) == message


def test_the_bounds_themselves_are_allowed() -> None:
    MemoryConfig(binding="cconv", entity_dim=1, relation_dim=1, max_neighbors=1, shrinkage=1.0)
    TrainingConfig(epochs=1, identity_dropout=1.0, warmup=0.0, final_rate=1.0, negatives=1, label_smoothing=0.0, seed=0)


def test_config_errors_leave_with_2() -> None:
    assert ConfigError.exit_code == 2


def test_a_whole_number_is_a_float_where_one_is_wanted() -> None:
    memory = from_dict(MemoryConfig, {"stiffness": 2})
    assert isinstance(memory.stiffness, float)
    assert memory.stiffness == 2.0


def test_settings_do_not_change() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Config().memory.stiffness = 1.0  # type: ignore[misc]


configs = st.builds(
    Config,
    memory=st.builds(
        MemoryConfig,
        kind=st.sampled_from(["explicit", "implicit"]),
        stiffness=st.floats(0.5, exclude_min=True) | st.just(math.inf),
        max_neighbors=st.none() | st.integers(1, 1000),
        role_bias=st.booleans(),
    ),
    training=st.builds(
        TrainingConfig,
        minutes=st.none() | st.floats(0, 1000, exclude_min=True) | st.just(math.inf),
        precision=st.sampled_from(["float32", "tf32", "bfloat16"]),
        seed=st.integers(0, 2**32),
    ),
)


@given(configs)
def test_settings_survive_json(config: Config) -> None:
    text = json.dumps(to_dict(config), allow_nan=False)  # allow_nan=False: no Infinity, which is not JSON
    assert from_dict(Config, json.loads(text)) == config


@pytest.mark.parametrize("infinity", ["inf", '"inf"', '"∞"', '"infinity"'])
def test_infinity_in_toml(infinity: str, tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(f"[memory]\nstiffness = {infinity}\n[training]\nepochs = 7\n", encoding="utf-8")
    assert from_dict(Config, load_toml(path)) == Config(training=TrainingConfig(epochs=7))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[memory\n", "not a settings file: "),
        (b"\xff\xfe", "not a settings file: "),
    ],
)
def test_a_file_that_is_not_toml(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        load_toml(path)
    assert str(caught.value).startswith(f"{path}: {message}")


def test_a_settings_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_toml(tmp_path / "none.toml")
    assert str(caught.value) == f"{tmp_path / 'none.toml'}: No such file or directory"


def test_assignments() -> None:
    given = ["memory.entity_dim=80", " memory.binding = cconv ", "training.minutes=none", "memory.stiffness=inf"]
    assert parse_assignments(
        [*given, "training.mask_known=false", "training.learning_rate=1e-3", "memory.kind=a=b", "memory.margin=.3"]
    ) == {
        "memory": {"entity_dim": 80, "binding": "cconv", "stiffness": math.inf, "kind": "a=b", "margin": 0.3},
        "training": {"minutes": None, "mask_known": False, "learning_rate": 1e-3},
    }


def test_the_last_assignment_wins() -> None:
    assert parse_assignments(["memory.entity_dim=80", "memory.entity_dim=90"]) == {"memory": {"entity_dim": 90}}


@pytest.mark.parametrize("assignment", ["entity_dim=80", "memory.entity_dim", "", "=3"])
def test_an_assignment_without_section_or_value(assignment: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_assignments([assignment])
    assert str(caught.value) == f'expected SECTION.SETTING=VALUE such as memory.entity_dim=80, found "{assignment}"'


@given(st.text(), st.text())
def test_any_assignment_is_read_or_refused(name: str, value: str) -> None:
    with suppress(ConfigError):
        from_dict(Config, parse_assignments([f"memory.{name}={value}"]))


def test_merge_lets_the_later_win_and_changes_nothing() -> None:
    base = {"memory": {"entity_dim": 80, "binding": "tpr"}, "training": {"epochs": 1}}
    other = {"memory": {"entity_dim": 90}, "training": 3, "new": {"a": 1}}
    assert merge(base, other, {"new": {"b": 2}}) == {
        "memory": {"entity_dim": 90, "binding": "tpr"},
        "training": 3,
        "new": {"a": 1, "b": 2},
    }
    assert base == {"memory": {"entity_dim": 80, "binding": "tpr"}, "training": {"epochs": 1}}
    assert other == {"memory": {"entity_dim": 90}, "training": 3, "new": {"a": 1}}
