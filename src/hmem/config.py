"""Every setting, in one schema for TOML files, the command line and a model folder's `config.json`.

A setting that does not exist is an error that names the right one; a value of the wrong type, or one that does not
fit the others, is an error that says what would.
"""

import dataclasses
import difflib
import math
import re
import tomllib
import types
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from hmem.errors import ConfigError
from hmem.sqlite_files import read_text

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryConfig:
    """What a memory is made of (paper, sections 2 to 4)."""

    kind: Literal["explicit", "implicit"] = "explicit"  # "implicit" learns M_i instead of assembling it (the -im rows)
    binding: Literal["tpr", "cconv", "hadamard"] = "tpr"
    entity_dim: int = 80  # d_e, the largest in the paper
    relation_dim: int = 25  # d_r; must equal entity_dim unless the binding is "tpr"
    weighting: Literal["learned", "mean"] = "learned"  # "mean" gives each edge 1/degree, as ERAvg does
    role_bias: bool = False  # one more learned number per pair of roles inside the sigmoid; helps on FB15K
    counted_bias: bool = False  # that number starts from how often the two roles meet, and is not decayed
    max_neighbors: int | None = None  # k; the paper keeps 200, None keeps the whole neighborhood
    stiffness: float = math.inf  # λ; inf leaves memories as assembled
    margin: float = 0.25  # ε in ‖W_i‖ ≤ λ − ε, the value of the authors' code
    local_weight: bool = True  # False is the paper's global-weight ablation: f = 1
    shrinkage: float = 0.2  # α of the whitening that convolution needs (appendix 1)
    temperature: float = 1.0  # where the learned factor on the squared distance starts; near 10 for "cconv"
    exact: bool = False  # the exact channel and its null slot: recall without crosstalk (not in the paper)
    paths_per_role: int = 0  # how many paths may answer a role exactly where its edges do not; 0 for none
    path_steps: int = 2  # the longest such path; 3 or 4 pays in sparse graphs and costs much in dense ones
    readout_maps: int = 0  # linear maps, mixed for each asked role, through which answers are read (not in the paper)
    readout_damping: float = 0.0  # where γ starts, the power of its load that what is unbound is divided by; 0 for none
    own_bias: bool = False  # one learned number per asked role on the asked entity as its own answer (not in the paper)
    identity: bool = True  # False treats every entity as new: e_i = 0 in the weights and the bias

    def __post_init__(self) -> None:
        _at_least(self, entity_dim=1, relation_dim=1, paths_per_role=0, readout_maps=0)
        if self.binding != "tpr" and self.relation_dim != self.entity_dim:
            raise ConfigError(
                f'relation_dim={self.relation_dim} must equal entity_dim={self.entity_dim} for binding "{self.binding}"'
            )
        if self.max_neighbors is not None and self.max_neighbors < 1:
            raise ConfigError(f"max_neighbors={self.max_neighbors} must be 1 or more, or left out to keep them all")
        if self.max_neighbors is not None and self.weighting == "mean":
            raise ConfigError(
                f'max_neighbors={self.max_neighbors} keeps the heaviest edges; with weighting="mean" all weigh alike'
            )
        if not 0 < self.margin < self.stiffness:
            raise ConfigError(f"margin={self.margin} must lie between 0 and stiffness={self.stiffness}")
        if not 0 < self.shrinkage <= 1:
            raise ConfigError(f"shrinkage={self.shrinkage} must lie in (0, 1]")
        if not self.temperature > 0:
            raise ConfigError(f"temperature={self.temperature} must be positive")
        if not 0 <= self.readout_damping <= 1:
            raise ConfigError(f"readout_damping={self.readout_damping} must lie in [0, 1]")
        if self.readout_damping and not self.readout_maps:
            raise ConfigError(f"readout_damping={self.readout_damping} is of the read-out; set readout_maps too")
        if self.counted_bias and not self.role_bias:
            raise ConfigError("counted_bias=true is about where the role bias starts; set role_bias=true too")
        if self.path_steps not in (2, 3, 4):
            raise ConfigError(f"path_steps={self.path_steps} must be 2, 3 or 4")
        if self.paths_per_role and not self.exact:
            raise ConfigError(f"paths_per_role={self.paths_per_role} follows the exact channel; set exact=true too")
        if self.kind == "implicit" and self.exact:
            raise ConfigError('exact=true copies from edges, and kind="implicit" has none')
        if self.counted_bias and (self.kind == "implicit" or self.weighting == "mean"):
            raise ConfigError("counted_bias=true is about learned weights of edges; kind or weighting leaves none")
        if self.kind == "implicit" and self.weighting == "mean":
            raise ConfigError('weighting="mean" weighs edges, and kind="implicit" has none')


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingConfig:
    """How the parameters are found."""

    epochs: int = 50
    minutes: float | None = None  # stop after this long, whichever comes first
    batch_size: int = 1024  # facts; each is asked from both ends
    learning_rate: float = 2e-3
    exact_rate: float = 10.0  # how many times faster the exact channel steps; at 1 it never outgrows the dense one
    warmup: float = 0.02  # share of all steps over which the rate rises
    final_rate: float = 0.02  # share of the rate that the cosine ends at
    negatives: int | None = None  # None ranks against every entity; the paper samples 500
    mask_known: bool = True  # leave other true answers of the same query out of the softmax
    label_smoothing: float = 0.0
    memory_dropout: float = 0.0  # on the coordinates of the completed memory
    retrieved_dropout: float = 0.0  # on the coordinates of the retrieved vector
    neighbor_dropout: float = 0.0  # on whole edges before they are superposed
    link_withholding: float = 0.0  # how often every edge between the two entities is withheld, not only the fact
    identity_dropout: float = 0.0  # how often e_i is zeroed, as it is for an entity that comes later
    weight_decay: float = 0.0
    fit_absence: bool = False  # in the end, shift the null slots to what suits the validation facts
    validate_every: int = 5  # epochs
    patience: int = 5  # validations without a better MRR before stopping
    validation_queries: int | None = 5000  # a fixed sample keeps validation cheap; None takes them all
    checkpoint_minutes: float = 5.0
    precision: Literal["float32", "tf32", "bfloat16"] = "float32"  # of matrix products on CUDA
    seed: int = 0

    def __post_init__(self) -> None:
        _at_least(self, epochs=1, batch_size=1, validate_every=1, patience=1, weight_decay=0, seed=0)
        for name in ("label_smoothing", "memory_dropout", "retrieved_dropout", "neighbor_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise ConfigError(f"{name}={getattr(self, name)} must lie in [0, 1)")
        for name in ("identity_dropout", "link_withholding", "warmup", "final_rate"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"{name}={getattr(self, name)} must lie in [0, 1]")
        if not self.learning_rate > 0:
            raise ConfigError(f"learning_rate={self.learning_rate} must be positive")
        if self.negatives is not None and self.negatives < 1:
            raise ConfigError(f"negatives={self.negatives} must be 1 or more, or left out to rank against every entity")
        if self.minutes is not None and not self.minutes > 0:
            raise ConfigError(f"minutes={self.minutes} must be positive")
        if not self.checkpoint_minutes > 0:
            raise ConfigError(f"checkpoint_minutes={self.checkpoint_minutes} must be positive")
        if self.validation_queries is not None and self.validation_queries < 1:
            raise ConfigError(
                f"validation_queries={self.validation_queries} must be 1 or more, or left out to take them all"
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    memory: MemoryConfig = field(default_factory=MemoryConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)


def load_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_text(path))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not a settings file: {error}") from error


def parse_assignments(assignments: list[str]) -> dict[str, Any]:
    """`["memory.entity_dim=80"]`, as given with `--set`, in the nested form of a settings file."""
    nested: dict[str, Any] = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        section, dot, key = name.strip().partition(".")
        if not equals or not dot:
            raise ConfigError(f'expected SECTION.SETTING=VALUE such as memory.entity_dim=80, found "{assignment}"')
        nested.setdefault(section, {})[key] = _literal(value.strip())
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
    hints = get_type_hints(schema)
    for name in values:
        if name not in hints:
            near = difflib.get_close_matches(name, hints, n=1)
            hint = f'; did you mean "{near[0]}"?' if near else f"; there are {', '.join(hints)}"
            raise ConfigError(f'unknown setting "{name}"{f" in [{where}]" if where else ""}{hint}')
    built = {}
    for name, value in values.items():
        if dataclasses.is_dataclass(hints[name]):
            if not isinstance(value, Mapping):
                raise ConfigError(f'"{name}" is a section of settings, not {value!r}')
            built[name] = from_dict(hints[name], value, name)
        else:
            built[name] = _coerce(hints[name], value, f"{where}.{name}" if where else name)
    return schema(**built)


def to_dict(config: Any) -> dict[str, Any]:
    """The nested form that TOML and JSON share; infinity is written as the word."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(inner) for key, inner in value.items()}
        return "inf" if isinstance(value, float) and math.isinf(value) else value

    result: dict[str, Any] = plain(dataclasses.asdict(config))
    return result


def _at_least(config: object, **bounds: int) -> None:
    for name, smallest in bounds.items():
        if not getattr(config, name) >= smallest:  # so that NaN is refused too
            raise ConfigError(f"{name}={getattr(config, name)} must be {smallest} or more")


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


def _coerce(hint: Any, value: Any, name: str) -> Any:
    if get_origin(hint) is Literal:
        if value in get_args(hint):
            return value
        near = difflib.get_close_matches(str(value), map(str, get_args(hint)), n=1)
        choices = ", ".join(f'"{choice}"' for choice in get_args(hint))
        raise ConfigError(
            f"{name}={value!r}: expected one of {choices}" + (f'; did you mean "{near[0]}"?' if near else "")
        )
    options = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    if value is None and type(None) in options:
        return None
    if float in options and value in ("inf", "infinity", "∞"):
        return math.inf
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
    raise ConfigError(f"{name}={value!r}: expected {expected}")
