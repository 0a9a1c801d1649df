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

from hmem.config import (
    Config,
    ExactConfig,
    MemoryConfig,
    PathsConfig,
    ReadoutConfig,
    TrainingConfig,
    from_dict,
    load_toml,
    merge,
    parse_assignments,
    to_dict,
)
from hmem.earlier_settings import upgraded
from hmem.errors import ConfigError


def message_of(settings: dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as caught:
        from_dict(Config, settings)
    return str(caught.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"memory": {"stifness": 2}}, 'unknown setting "stifness" in [memory]; did you mean stiffness?'),
        ({"training": {"epoch": 1}}, 'unknown setting "epoch" in [training]; did you mean epochs?'),
        ({"memry": {}}, 'unknown setting "memry"; did you mean memory?'),
        ({"xyz": {}}, 'unknown setting "xyz"; there are memory, propagation, training'),
        ({"memory": 3}, '"memory" is a section of settings, not 3'),
        ({"memory": {"entity_dim": "80"}}, "memory.entity_dim='80': expected int"),
        ({"memory": {"entity_dim": 80.0}}, "memory.entity_dim=80.0: expected int"),
        ({"memory": {"entity_dim": True}}, "memory.entity_dim=True: expected int"),
        ({"memory": {"entity_dim": None}}, "memory.entity_dim=None: expected int"),
        ({"memory": {"entity_dim": [80]}}, "memory.entity_dim=[80]: expected int"),
        ({"memory": {"max_neighbors": "all"}}, "memory.max_neighbors='all': expected int or none"),
        ({"memory": {"max_neighbors": "inf"}}, "memory.max_neighbors='inf': expected int or none"),
        ({"memory": {"local_weight": 1}}, "memory.local_weight=1: expected bool"),
        ({"memory": {"role_bias": 1}}, 'memory.role_bias=1: expected one of "zero", "counted" or none'),
        ({"memory": {"readout": 3}}, '"memory.readout" is a section of settings, not 3'),
        ({"memory": {"readout": {"map": 3}}}, 'unknown setting "map" in [memory.readout]; did you mean maps?'),
        ({"memory": {"exact": {"paths": {"steps": "x"}}}}, "memory.exact.paths.steps='x': expected int"),
        ({"memory": {"stiffness": "hard"}}, "memory.stiffness='hard': expected float"),
        ({"training": {"minutes": "ten"}}, "training.minutes='ten': expected float or none"),
        (
            {"memory": {"binding": "ccov"}},
            'memory.binding=\'ccov\': expected one of "tpr", "cconv", "hadamard"; did you mean cconv?',
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
        ("memory", {"max_neighbors": 0}, "max_neighbors=0 must be 1 or more, or none to keep them all"),
        (
            "memory",
            {"max_neighbors": 5, "weighting": "mean"},
            'max_neighbors=5 must be none for weighting "mean", where all edges weigh alike',
        ),
        ("memory", {"stiffness": 0.25}, "stiffness=0.25 must be more than 0.25"),
        ("memory", {"stiffness": math.nan}, "stiffness=nan must be more than 0.25"),
        ("memory", {"temperature": 0}, "temperature=0.0 must be positive"),
        ("memory", {"readout": {"damping": 1.5}}, "readout.damping=1.5 must lie in (0, 1], or be none"),
        ("memory", {"readout": {"maps": 0}}, "readout.maps=0 must be 1 or more"),
        ("memory", {"exact": {"paths": {"per_role": 0}}}, "exact.paths.per_role=0 must be 1 or more"),
        ("memory", {"exact": {"paths": {"steps": 5}}}, "exact.paths.steps=5 must be 2, 3 or 4"),
        (
            "memory",
            {"role_bias": "counted", "weighting": "mean"},
            'role_bias=counted must not be "counted" for weighting "mean"',
        ),
        (
            "memory",
            {"kind": "implicit", "weighting": "mean"},
            'weighting=mean must be about no edges for kind "implicit", which has none',
        ),
        (
            "memory",
            {"kind": "implicit", "role_bias": "counted"},
            'role_bias=counted must be about no edges for kind "implicit", which has none',
        ),
        (
            "memory",
            {"kind": "implicit", "exact": {}},
            'exact must be none for kind "implicit", which has no edges to copy from',
        ),
        ("training", {"epochs": 0}, "epochs=0 must be 1 or more"),
        ("training", {"patience": -1}, "patience=-1 must be 1 or more, or none"),
        ("training", {"label_smoothing": 1.0}, "label_smoothing=1.0 must lie in [0, 1)"),
        ("training", {"memory_dropout": -0.1}, "memory_dropout=-0.1 must lie in [0, 1)"),
        ("training", {"neighbor_dropout": math.nan}, "neighbor_dropout=nan must lie in [0, 1)"),
        ("training", {"identity_dropout": 1.1}, "identity_dropout=1.1 must lie in [0, 1]"),
        ("training", {"learning_rate": 0}, "learning_rate=0.0 must be positive"),
        ("training", {"learning_rate": math.nan}, "learning_rate=nan must be positive"),
        ("training", {"negatives": 0}, "negatives=0 must be 1 or more, or none"),
        ("training", {"candidates": 0}, "candidates=0 must be 1 or more, or none"),
        ("training", {"minutes": 0}, "minutes=0.0 must be positive"),
        ("training", {"weight_decay": -0.1}, "weight_decay=-0.1 must be 0 or more"),
        ("training", {"weight_decay": math.nan}, "weight_decay=nan must be 0 or more"),
        ("training", {"exact_rate": 0}, "exact_rate=0.0 must be positive"),
        ("training", {"validation_queries": 0}, "validation_queries=0 must be 1 or more, or none"),
        ("training", {"seed": -1}, "seed=-1 must be 0 or more"),
    ],
)
def test_what_does_not_fit_is_an_error(section: str, settings: dict[str, Any], message: str) -> None:
    assert message_of({section: settings}) == f"{section}.{message}"


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"propagation": {}}, "for a network that passes messages, which has no vector for any entity"),
        ({"memory": {"kind": "implicit"}}, 'for kind "implicit", which has a whole memory for each entity'),
        (
            {"memory": {"binding": "cconv", "relation_dim": 80}},
            'for binding "cconv", which whitens all vectors together',
        ),
        ({"training": {"negatives": 5}}, "beside negatives, which is about the same"),
    ],
)
def test_some_models_need_all_candidates(settings: dict[str, Any], reason: str) -> None:
    given = merge(settings, {"training": {"candidates": 7}})
    assert message_of(given) == f"training.candidates=7 must be none {reason}"


def test_the_bounds_themselves_are_allowed() -> None:
    MemoryConfig(binding="cconv", entity_dim=1, relation_dim=1, max_neighbors=1)
    MemoryConfig(exact=ExactConfig(paths=PathsConfig(per_role=1, steps=4)), readout=ReadoutConfig(maps=1, damping=1.0))
    TrainingConfig(epochs=1, identity_dropout=1.0, negatives=1, label_smoothing=0.0, seed=0)


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
        exact=st.none() | st.builds(ExactConfig, paths=st.none() | st.builds(PathsConfig, per_role=st.integers(1, 9))),
        readout=st.none() | st.builds(ReadoutConfig, damping=st.none() | st.floats(0, 1, exclude_min=True)),
        stiffness=st.floats(0.5, exclude_min=True) | st.just(math.inf),
        max_neighbors=st.none() | st.integers(1, 1000),
        role_bias=st.sampled_from([None, "zero", "counted"]),
    ),
    training=st.builds(
        TrainingConfig,
        patience=st.none() | st.integers(1, 2000),
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
    deep = ["memory.readout=none", "memory.exact.paths.per_role=9", "memory.exact.paths.steps=3"]
    deep.append("memory.readout.damping=.3")
    assert parse_assignments(
        [*given, "training.fit_absence=false", "training.learning_rate=1e-3", "memory.kind=a=b", *deep]
    ) == {
        "memory": {
            "entity_dim": 80,
            "binding": "cconv",
            "stiffness": math.inf,
            "kind": "a=b",
            "readout": {"damping": 0.3},
            "exact": {"paths": {"per_role": 9, "steps": 3}},
        },
        "training": {"minutes": None, "fit_absence": False, "learning_rate": 1e-3},
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


# Sections that may be absent


@pytest.mark.parametrize("off", [None, "none", False])
def test_a_section_is_turned_off_by_none(off: object) -> None:
    memory = from_dict(Config, {"memory": {"exact": off, "readout": off}}).memory
    assert (memory.exact, memory.readout) == (None, None)


def test_a_section_is_turned_on_by_being_there() -> None:
    ways: tuple[object, ...] = ({}, True)
    for on in ways:
        memory = from_dict(Config, {"memory": {"exact": on, "readout": on}}).memory
        assert (memory.exact, memory.readout) == (ExactConfig(), ReadoutConfig())


def test_none_is_a_word_in_toml(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text('[training]\npatience = "none"\n[memory.exact.paths]\nsteps = 3\n', encoding="utf-8")
    config = from_dict(Config, load_toml(path))
    assert config.training.patience is None
    assert config.memory.exact == ExactConfig(paths=PathsConfig(steps=3))


# The names of earlier versions


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ({"exact": False, "paths_per_role": 0, "path_steps": 2}, {}),
        ({"exact": True, "paths_per_role": 0, "path_steps": 2}, {"exact": {}}),
        ({"exact": True, "paths_per_role": 8, "path_steps": 3}, {"exact": {"paths": {"per_role": 8, "steps": 3}}}),
        ({"readout_maps": 0, "readout_damping": 0.0}, {}),
        ({"readout_maps": 2, "readout_damping": 0.0}, {"readout": {"maps": 2}}),
        ({"readout_maps": 2, "readout_damping": 0.3}, {"readout": {"maps": 2, "damping": 0.3}}),
        ({"role_bias": False, "counted_bias": False}, {}),
        ({"role_bias": True, "counted_bias": False}, {"role_bias": "zero"}),
        ({"role_bias": True, "counted_bias": True}, {"role_bias": "counted"}),
        ({"margin": 0.25, "shrinkage": 0.2}, {}),
    ],
)
def test_flat_settings_are_read(before: dict[str, Any], now: dict[str, Any]) -> None:
    assert from_dict(Config, {"memory": before}) == from_dict(Config, {"memory": now})


@pytest.mark.parametrize(
    ("assignment", "now"),
    [
        ("memory.paths_per_role=9", "memory.exact.paths.per_role=9"),
        ("memory.path_steps=3", "memory.exact.paths.steps=3"),
        ("memory.paths_per_role=0", "memory.exact.paths=none"),
        ("memory.readout_maps=9", "memory.readout.maps=9"),
        ("memory.readout_maps=0", "memory.readout=none"),
        ("memory.readout_damping=.3", "memory.readout.damping=.3"),
        ("memory.readout_damping=0", "memory.readout.damping=none"),
    ],
)
def test_an_old_name_changes_what_the_new_one_does(assignment: str, now: str) -> None:
    """Over settings that have today's form, as presets have."""
    base = {"memory": {"exact": {"paths": {"per_role": 32}}, "readout": {"maps": 4, "damping": 0.1}}}
    old, new = (from_dict(Config, merge(base, parse_assignments([each]))) for each in (assignment, now))
    assert old == new
    assert old != from_dict(Config, base)


def test_settings_written_in_full_by_an_earlier_version() -> None:
    """Where a patience of 1000 stood for none, as it does nowhere else."""
    training = {"warmup": 0.02, "final_rate": 0.02, "mask_known": True, "checkpoint_minutes": 7.0, "patience": 1000}
    assert from_dict(Config, {"training": training}).training == TrainingConfig(patience=None)
    assert from_dict(Config, {"training": {"patience": 1000}}).training.patience == 1000


def test_a_constant_can_no_longer_be_set() -> None:
    assert message_of({"memory": {"margin": 0.3}}) == (
        "memory.margin=0.3: it is 0.25 in every model now, and no setting any more"
    )
    assert message_of({"training": {"warmup": 0.1}}).startswith("training.warmup=0.1: it is 0.02 in every model now")


def test_how_a_model_was_trained_does_not_keep_it_from_being_read() -> None:
    settings = {"memory": {"margin": 0.25}, "training": {"warmup": 0.1, "mask_known": False, "epochs": 3}}
    assert from_dict(Config, upgraded(settings, is_trained=True)) == Config(training=TrainingConfig(epochs=3))
    with pytest.raises(ConfigError, match=r"memory\.shrinkage=0\.5: it is 0\.2 in every model now"):
        upgraded({"memory": {"shrinkage": 0.5}}, is_trained=True)


@given(configs)
def test_what_has_todays_form_is_left_as_it_is(config: Config) -> None:
    assert upgraded(to_dict(config)) == to_dict(config)


def test_errors_carry_their_parts() -> None:
    with pytest.raises(ConfigError) as caught:
        from_dict(Config, {"memory": {"stifness": 2}})
    assert (caught.value.option, caught.value.suggestions) == ("memory.stifness", ("stiffness",))
    with pytest.raises(ConfigError) as caught:
        from_dict(Config, {"memory": {"entity_dim": 0}})
    assert (caught.value.option, caught.value.found, caught.value.expected) == ("memory.entity_dim", 0, "be 1 or more")
