"""Every setting, in one schema for TOML files, the command line and a model folder's `config.json`.

A setting that does not exist is an error that names the right one; a value of the wrong type, or one that does not
fit the others, is an error that says what would. A section that may be absent is off where it is: `none` turns it off.
The names of earlier versions are still read (`earlier_settings`).
"""

import dataclasses
import difflib
import math
import re
import tomllib
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from hmem.earlier_settings import upgraded
from hmem.errors import ConfigError
from hmem.sqlite_files import read_text

T = TypeVar("T")
MARGIN = 0.25  # ε in ‖W_i‖ ≤ λ − ε, the value of the authors' code


@dataclass(frozen=True, kw_only=True, slots=True)
class PathsConfig:
    """Paths of several steps, which may answer where no edge does."""

    per_role: int = 32  # how many paths each asked role has
    steps: int = 2  # the longest path; 3 or 4 pays in sparse graphs and costs much in dense ones

    def __post_init__(self) -> None:
        _require(self, lambda count: count >= 1, "be 1 or more", "per_role")
        _require(self, lambda steps: steps in (2, 3, 4), "be 2, 3 or 4", "steps")


@dataclass(frozen=True, kw_only=True, slots=True)
class ExactConfig:
    """The exact channel and its null slot: recall without crosstalk (not in the paper)."""

    paths: PathsConfig | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadoutConfig:
    """Linear maps, mixed for each asked role, through which answers are read (not in the paper)."""

    maps: int = 4
    damping: float | None = None  # where γ starts, the power of its load that what is unbound is divided by

    def __post_init__(self) -> None:
        _require(self, lambda maps: maps >= 1, "be 1 or more", "maps")
        _require(self, lambda damping: 0 < damping <= 1, "lie in (0, 1], or be none", "damping")


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryConfig:
    """What a memory is made of (paper, sections 2 to 4)."""

    kind: Literal["explicit", "implicit"] = "explicit"  # "implicit" learns M_i instead of assembling it (the -im rows)
    binding: Literal["tpr", "cconv", "hadamard"] = "tpr"
    entity_dim: int = 80  # d_e, the largest in the paper
    relation_dim: int = 25  # d_r; must equal entity_dim unless the binding is "tpr"
    weighting: Literal["learned", "mean"] = "learned"  # "mean" gives each edge 1/degree, as ERAvg does
    # One more learned number per pair of roles inside the sigmoid, which helps on FB15K. It starts at 0, or from how
    # often the two roles meet; then it is not decayed.
    role_bias: Literal["zero", "counted"] | None = None
    max_neighbors: int | None = None  # k; the paper keeps 200, none keeps the whole neighborhood
    stiffness: float = math.inf  # λ; inf leaves memories as assembled
    local_weight: bool = True  # False is the paper's global-weight ablation: f = 1
    temperature: float = 1.0  # where the learned factor on the squared distance starts; near 10 for "cconv"
    exact: ExactConfig | None = None
    readout: ReadoutConfig | None = None
    own_bias: bool = False  # one learned number per asked role on the asked entity as its own answer (not in the paper)
    identity: bool = True  # False treats every entity as unseen: e_i = 0 in the weights and the bias

    def __post_init__(self) -> None:
        _require(self, lambda size: size >= 1, "be 1 or more", "entity_dim", "relation_dim")
        _require(self, lambda count: count >= 1, "be 1 or more, or none to keep them all", "max_neighbors")
        _require(self, lambda stiffness: stiffness > MARGIN, f"be more than {MARGIN}", "stiffness")
        _require(self, lambda temperature: temperature > 0, "be positive", "temperature")
        if self.binding != "tpr" and self.relation_dim != self.entity_dim:
            expected = f'equal entity_dim={self.entity_dim} for binding "{self.binding}"'
            _require(self, lambda _: False, expected, "relation_dim")
        if self.weighting == "mean":
            _require(
                self, lambda _: False, 'be none for weighting "mean", where all edges weigh alike', "max_neighbors"
            )
            _require(self, lambda bias: bias != "counted", 'not be "counted" for weighting "mean"', "role_bias")
        if self.kind == "implicit":
            _require(self, lambda _: False, 'be none for kind "implicit", which has no edges to copy from', "exact")
            expected = 'be about no edges for kind "implicit", which has none'
            _require(self, lambda each: each not in ("mean", "counted"), expected, "weighting", "role_bias")


@dataclass(frozen=True, kw_only=True, slots=True)
class PropagationConfig:
    """A network that passes messages along the facts; it has no vector for any entity (not in the paper)."""

    dim: int = 32  # of a state
    steps: int = 6  # the longest walk
    # Where role vectors come from: a table of the graph's own, which roles meet at which entities, or both.
    roles: Literal["learned", "computed", "both"] = "learned"

    def __post_init__(self) -> None:
        _require(self, lambda size: size >= 1, "be 1 or more", "dim", "steps")


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingConfig:
    """How the parameters are found. Where it says so, none is for what suits the graph (see hmem.runs.choose)."""

    epochs: int | None = 50  # or none
    minutes: float | None = None  # stop after this long, whichever comes first
    batch_size: int = 1024  # facts; each is asked from both ends
    learning_rate: float = 2e-3
    exact_rate: float = 10.0  # how many times faster the exact channel steps; at 1 it never outgrows the dense one
    negatives: int | None = None  # none ranks against every entity; the paper samples 500
    # A step compares so many entities, drawn at random and weighted to stand for all, and the vectors of entities are
    # shared out among the processes; none compares all, unless the graph is large (see hmem.runs.choose).
    candidates: int | None = None
    label_smoothing: float = 0.0
    memory_dropout: float = 0.0  # on the coordinates of the completed memory
    retrieved_dropout: float = 0.0  # on the coordinates of the retrieved vector
    neighbor_dropout: float | None = 0.0  # on whole edges before they are superposed; or none
    link_withholding: float | None = 0.0  # how often every edge between the two entities is withheld; or none
    identity_dropout: float = 0.0  # how often e_i is zeroed, as it is for an unseen entity
    weight_decay: float = 0.0
    # What counting is worth beside the trained model: of the greater count, or of each thing in
    # hmem.evaluation.joined.Weights; none finds out.
    counting: float | tuple[float, float, float, float, float] | None = 0.0
    fit_absence: bool = False  # in the end, shift the null slots to what suits the validation facts
    validate_every: float | None = 5.0  # epochs; or none
    patience: int | None = 5  # validations without a better MRR before stopping; none never stops early
    validation_queries: int | None = 5000  # a fixed sample keeps validation cheap; none takes them all
    precision: Literal["float32", "tf32", "bfloat16"] = "float32"  # of matrix products on CUDA
    seed: int = 0

    def __post_init__(self) -> None:
        _require(self, lambda count: count >= 1, "be 1 or more", "epochs", "batch_size")
        counts = ("negatives", "candidates", "patience", "validation_queries")
        _require(self, lambda count: count >= 1, "be 1 or more, or none", *counts)
        _require(
            self, lambda value: value > 0, "be positive", "learning_rate", "exact_rate", "minutes", "validate_every"
        )
        _require(self, lambda value: value >= 0, "be 0 or more", "weight_decay", "seed")
        _require(self, _is_weight, "be 0 or more, or five finite numbers", "counting")
        shares = ("label_smoothing", "memory_dropout", "retrieved_dropout", "neighbor_dropout")
        _require(self, lambda share: 0 <= share < 1, "lie in [0, 1)", *shares)
        _require(self, lambda share: 0 <= share <= 1, "lie in [0, 1]", "identity_dropout", "link_withholding")


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    memory: MemoryConfig = field(default_factory=MemoryConfig)
    propagation: PropagationConfig | None = None  # in the place of a memory
    training: TrainingConfig = field(default_factory=TrainingConfig)

    def __post_init__(self) -> None:
        found, reason = self.training.candidates, self.why_all_candidates
        if found is not None and reason:
            option = "training.candidates"
            raise ConfigError(f"{option}={found} must be none {reason}", option=option, found=found, expected="none")

    @property
    def why_all_candidates(self) -> str:
        """Why a step has to compare all entities, and every process to have their vectors; empty if it need not."""
        if self.propagation is not None:
            return "for a network that passes messages, which has no vector for any entity"
        if self.memory.kind == "implicit":
            return 'for kind "implicit", which has a whole memory for each entity'
        if self.memory.binding == "cconv":
            return 'for binding "cconv", which whitens all vectors together'
        return "beside negatives, which is about the same" if self.training.negatives is not None else ""


def load_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_text(path))
    except OSError as error:
        raise ConfigError(error.strerror or str(error), path=path) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"not a settings file: {error}", path=path) from error


def parse_assignments(assignments: list[str]) -> dict[str, Any]:
    """`["memory.entity_dim=80"]`, as given with `--set`, in the nested form of a settings file."""
    nested: dict[str, Any] = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        *sections, setting = name.strip().split(".")
        if not equals or not sections:
            expected = "SECTION.SETTING=VALUE such as memory.entity_dim=80"
            raise ConfigError(f'expected {expected}, found "{assignment}"', found=assignment, expected=expected)
        place = nested
        for section in sections:
            if not isinstance(place.get(section), dict):
                place[section] = {}
            place = place[section]
        place[setting] = _literal(value.strip())
    return nested


def merge(base: Mapping[str, Any], *others: Mapping[str, Any]) -> dict[str, Any]:
    """Nested settings, later ones winning."""
    merged = dict(base)
    for other in others:
        for key, value in other.items():
            if isinstance(value, Mapping) and isinstance(merged.get(key), Mapping):
                merged[key] = merge(merged[key], value)
            else:
                merged[key] = value
    return merged


def from_dict(schema: type[T], values: Mapping[str, Any], where: str = "") -> T:
    """Build a settings object, strictly: no unknown names, no wrong types."""
    if schema is Config:
        values = upgraded(values)
    hints = get_type_hints(schema)
    for name in values:
        if name not in hints:
            near = difflib.get_close_matches(name, hints, n=1)
            there = "" if near else f"; there are {', '.join(hints)}"
            problem = f'unknown setting "{name}"{f" in [{where}]" if where else ""}{there}'
            raise ConfigError(problem, option=_dotted(where, name), suggestions=near)
    built = {}
    for name, value in values.items():
        options, dotted = _options(hints[name]), _dotted(where, name)
        section: Any = next((option for option in options if dataclasses.is_dataclass(option)), None)
        if section is None or (type(None) in options and value in (None, "none", False)):
            built[name] = None if section is not None else _coerce(options, value, dotted)
        elif isinstance(value, Mapping) or (value is True and type(None) in options):
            built[name] = from_dict(section, value if isinstance(value, Mapping) else {}, dotted)
        else:
            raise ConfigError(f'"{dotted}" is a section of settings, not {value!r}', option=dotted, found=value)
    try:
        return schema(**built)
    except ConfigError as error:
        found, expected, option = error.found, error.expected, _dotted(where, error.option or "")
        raise ConfigError(_dotted(where, error.problem), option=option, found=found, expected=expected) from error


def to_dict(config: Any) -> dict[str, Any]:
    """The nested form that TOML and JSON share; infinity is written as the word."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(inner) for key, inner in value.items()}
        return "inf" if isinstance(value, float) and math.isinf(value) else value

    result: dict[str, Any] = plain(dataclasses.asdict(config))
    return result


def _require(config: object, holds: Callable[[Any], bool], expected: str, *names: str) -> None:
    """An error about the first of these settings that is not none and for which `holds` is not true."""
    for name in names:
        value = getattr(config, name)
        if value is not None and not holds(value):  # NaN is refused by every comparison
            shown = name if dataclasses.is_dataclass(value) else f"{name}={value}"
            raise ConfigError(f"{shown} must {expected}", option=name, found=value, expected=expected)


def _is_weight(value: float | tuple[float, float, float, float, float]) -> bool:
    return all(map(math.isfinite, value)) if isinstance(value, tuple) else value >= 0


def _dotted(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _options(hint: Any) -> tuple[Any, ...]:
    """The types that a setting may have."""
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def _literal(text: str) -> Any:
    """A value as TOML would read it, or the bare word; `.3` is a number, too."""
    if text.lower() in ("none", "null"):
        return None
    if re.fullmatch(r"[+-]?\.[0-9]+", text):
        return float(text)
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _coerce(options: tuple[Any, ...], value: Any, name: str) -> Any:
    if type(None) in options and value in (None, "none"):  # TOML has no word for it
        return None
    choices = [choice for option in options if get_origin(option) is Literal for choice in get_args(option)]
    if choices:
        if value in choices:
            return value
        near = difflib.get_close_matches(str(value), choices, n=1)
        expected = "one of " + ", ".join(f'"{choice}"' for choice in choices)
        expected += " or none" if type(None) in options else ""
        problem = f"{name}={value!r}: expected {expected}"
        raise ConfigError(problem, option=name, found=value, expected=expected, suggestions=near)
    if float in options and value in ("inf", "infinity", "∞"):
        return math.inf
    sizes = {len(get_args(option)) for option in options if get_origin(option) is tuple}
    if isinstance(value, list | tuple) and len(value) in sizes:
        return tuple(_coerce((float,), each, name) for each in value)
    if isinstance(value, bool):
        if bool in options:
            return value
    elif isinstance(value, int):
        if int in options:
            return value
        if float in options:
            return float(value)
    elif any(isinstance(value, option) for option in options if isinstance(option, type)):
        return value
    expected = " or ".join("none" if option is type(None) else option.__name__ for option in options)
    raise ConfigError(f"{name}={value!r}: expected {expected}", option=name, found=value, expected=expected)
