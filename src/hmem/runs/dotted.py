"""Settings by dotted name, as `--set` takes them, and as the text of a settings file."""

import json
from collections.abc import Mapping
from typing import Any


def flat(settings: Mapping[str, Any], where: str = "") -> dict[str, Any]:
    """Nested settings by dotted name: training.epochs and so on."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        found |= flat(value, f"{where}{name}.") if isinstance(value, Mapping) else {f"{where}{name}": value}
    return found


def nested(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The inverse of `flat`."""
    found: dict[str, Any] = {}
    for dotted, value in settings.items():
        *sections, name = dotted.split(".")
        place = found
        for section in sections:
            place = place.setdefault(section, {})
        place[name] = value
    return found


def to_toml(settings: Mapping[str, Any]) -> str:
    """Settings by dotted name as a settings file has them, a section for all that begin alike."""
    sections: dict[str, list[str]] = {}
    for dotted, value in settings.items():
        section, _, name = dotted.rpartition(".")
        sections.setdefault(section, []).append(f"{name} = {_value(value)}\n")
    texts = [(f"[{section}]\n" if section else "") + "".join(sections[section]) for section in sorted(sections)]
    return "\n".join(texts)


def _value(value: Any) -> str:
    return json.dumps("none" if value is None else value)  # TOML has no word for it
