"""Settings as earlier versions named them, in settings files and model folders."""

from collections.abc import Mapping
from typing import Any

from hmem.errors import ConfigError

# Those that are constants now, with the only value that they had in every row of results.
FIXED: dict[str, dict[str, Any]] = {
    "memory": {"margin": 0.25, "shrinkage": 0.2},
    "training": {"warmup": 0.02, "final_rate": 0.02, "mask_known": True},
}
NEVER = 1000  # as a patience, in settings that were written before it could be none


def upgraded(values: Mapping[str, Any], *, is_trained: bool = False) -> dict[str, Any]:
    """Settings under the names of earlier versions, in today's form; what has that form already stays as it is.

    A setting that is a constant now may have its value. With `is_trained` those of training may have had any: they say
    how a model was made, and no longer matter to it.
    """
    new = {name: dict(section) if isinstance(section, Mapping) else section for name, section in values.items()}
    memory, training = (new[name] if isinstance(new.get(name), dict) else {} for name in ("memory", "training"))
    if "warmup" in training and training.get("patience") == NEVER:
        training["patience"] = None
    training.pop("checkpoint_minutes", None)
    for name, section in (("memory", memory), ("training", training)):
        for setting, value in FIXED[name].items():
            found = section.pop(setting, value)
            if found != value and not (is_trained and section is training):
                problem = f"{name}.{setting}={found!r}: it is {value!r} in every model now, and no setting any more"
                raise ConfigError(problem, option=f"{name}.{setting}", found=found, expected=repr(value))
    if isinstance(memory.get("role_bias"), bool):
        memory["role_bias"] = "zero" if memory["role_bias"] else None
    if memory.pop("counted_bias", False) is True:
        memory["role_bias"] = "counted"
    flat = _taken(memory, maps="readout_maps", damping="readout_damping")
    if flat:
        memory["readout"] = _nested(memory.get("readout"), flat, switch="maps")
    flat = _taken(memory, per_role="paths_per_role", steps="path_steps")
    if flat:
        exact = memory["exact"] if isinstance(memory.get("exact"), Mapping) else {}
        paths = _nested(exact.get("paths"), flat, switch="per_role")
        if paths is not None or memory.get("exact"):
            memory["exact"] = {**exact, "paths": paths}
    return new


def _taken(settings: dict[str, Any], **old: str) -> dict[str, Any]:
    """The settings that are there under their old names, taken out, under their new ones."""
    return {name: settings.pop(before) for name, before in old.items() if before in settings}


def _nested(section: Any, flat: dict[str, Any], switch: str) -> dict[str, Any] | None:
    """A section with settings that were flat before. 0 stood for none, and at its `switch` for no section at all."""
    is_on = isinstance(section, Mapping) or any(flat.values())
    if not is_on or not flat.get(switch, True):
        return None
    return {**(section or {}), **{name: value or None for name, value in flat.items()}}
