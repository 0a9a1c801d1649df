"""The rows of the paper's tables, one TOML file each: settings, seeds, dataset, and the metrics that were published.

    row = "TPR"                 # as the tables print it
    group = "wn18"              # which table it stands in
    dataset = "WN18"
    preset = "tpr"
    seeds = [0]

    [memory]                    # what differs from the preset, in the schema of hmem.config
    entity_dim = 80

    [training]
    epochs = 60

    [paper]                     # MR, MRR, H@1, H@3, H@10; a line is left out where the paper has none
    "train" = [253, 0.934, 0.923, 0.944, 0.948]
    "train+valid" = [174, 0.944, 0.932, 0.955, 0.960]
    remark = "what looks like a misprint"

The files are data of the package, so that the command finds them wherever hmem is installed; in a checkout
`benchmarks/paper` leads to the same folder.
"""

import dataclasses
import fnmatch
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, get_args

from hmem.config import Config, PropagationConfig, from_dict, load_toml, merge, to_dict
from hmem.errors import ConfigError
from hmem.graph.dataset import GraphName
from hmem.model.presets import preset

Group = Literal["wn18", "fb15k", "wn18rr", "wngen", "fbgen", "fb15k-237", "codex-m", "codex-s", "ablation"]
GROUPS: tuple[Group, ...] = get_args(Group)
GRAPHS: tuple[GraphName, ...] = get_args(GraphName)
METRICS = ("MR", "MRR", "H@1", "H@3", "H@10")
KEYS = ("row", "group", "dataset", "preset", "seeds", "memory", "training", "paper")
# The paper's order; what is not from the paper comes last.
PAPERS = ("cconv", "cconv-inf", "cconv-im", "cconv-global", "tpr", "tpr-inf", "tpr-im", "tpr-global")
ORDER = (*PAPERS, "eravg", "recall", "propagate", "any-graph")
MINIATURE_MINUTES = 0.1  # of the training of a network in miniature

MetricValues = Mapping[str, float]  # one for each of METRICS


@dataclass(frozen=True, kw_only=True)
class PaperRow:
    key: str  # the name of its file, by which results know it
    name: str
    group: Group
    dataset: str
    preset: str
    config: Config
    seeds: tuple[int, ...]
    published: Mapping[GraphName, MetricValues]  # empty where the paper has no such row
    remark: str = ""
    stands_for: str = ""  # the dataset that its own one stands in for

    @property
    def table(self) -> str:
        """The dataset whose table it is in."""
        return self.stands_for or self.dataset


@dataclass(frozen=True, kw_only=True)
class Run:
    """One training of a row."""

    row: PaperRow
    seed: int

    @property
    def config(self) -> Config:
        training = dataclasses.replace(self.row.config.training, seed=self.seed)
        return dataclasses.replace(self.row.config, training=training)

    @property
    def settings(self) -> dict[str, Any]:
        """As the results have them."""
        return {"preset": self.row.preset, **to_dict(self.config)}

    def folder(self, models: Path) -> Path:
        """A place for the trained model that no other settings share."""
        return models / self.row.dataset / f"{self.row.key}-seed{self.seed}-{fingerprint(self.config)}"


def load_rows(folder: Path | None = None) -> list[PaperRow]:
    """Every row in `folder`, or every one that comes with the package, in the order of the paper's tables."""
    folder = folder or Path(str(files("hmem"))) / "paper"
    if not folder.is_dir():
        raise ConfigError("{path} is not a folder; expected one with a TOML file for each row", path=folder)
    rows = [read_row(path) for path in sorted(folder.glob("*.toml"))]
    if not rows:
        raise ConfigError("no rows; expected a TOML file for each", path=folder)

    def place(row: PaperRow) -> tuple[int, int, str, int, str]:
        group, dataset = GROUPS.index(row.group), _position(GROUPS, row.dataset.lower())
        return group, dataset, row.dataset, _position(ORDER, row.preset), row.name

    return sorted(rows, key=place)


def read_row(path: Path) -> PaperRow:
    """The row that a file describes, strictly: a misspelt setting is an error that names the file."""
    values = load_toml(path)
    try:
        for name in values:
            if name not in KEYS:
                raise ConfigError(f'unknown setting "{name}"; there are {", ".join(KEYS)}')
        missing = [name for name in ("row", "group", "dataset", "preset") if not isinstance(values.get(name), str)]
        if missing:
            raise ConfigError(f"expected {missing[0]} as a text")
        if values["group"] not in GROUPS:
            raise ConfigError(f'no group "{values["group"]}"; there are {", ".join(GROUPS)}')
        seeds = values.get("seeds", [0])
        if not (isinstance(seeds, list) and seeds and all(type(seed) is int for seed in seeds)):
            raise ConfigError(f"seeds={seeds!r}: expected a list of whole numbers such as [0, 1, 2]")
        own: dict[str, Any] = {section: values[section] for section in ("memory", "training") if section in values}
        published, remark = _published(values.get("paper", {}))
        return PaperRow(
            key=path.stem,
            name=values["row"],
            group=values["group"],
            dataset=values["dataset"],
            preset=values["preset"],
            config=from_dict(Config, merge(preset(values["preset"]), own)),
            seeds=tuple(seeds),
            published=published,
            remark=remark,
        )
    except ConfigError as error:
        raise ConfigError(str(error), path=path) from error


def select(rows: Sequence[PaperRow], group: str, names: Sequence[str] = ()) -> list[PaperRow]:
    """The rows of a group, or of all; with `names`, those of them that are called so. `tpr*` is a name too."""
    chosen = [row for row in rows if group in ("all", row.group)]
    for name in names:
        if not any(_is_called(row, name) for row in chosen):
            there = dict.fromkeys(row.name for row in chosen)
            raise ConfigError(f'no row "{name}" in {group}; there are {", ".join(there)}')
    return [row for row in chosen if not names or any(_is_called(row, name) for name in names)]


def limited(row: PaperRow, minutes: float) -> PaperRow:
    """The row with another limit on its training time."""
    training = dataclasses.replace(row.config.training, minutes=minutes)
    return dataclasses.replace(row, config=dataclasses.replace(row.config, training=training))


def in_miniature(row: PaperRow) -> PaperRow:
    """The same kind of model, tiny, on a bundled graph: seconds on a CPU. The published metrics do not apply to it."""
    propagation = row.config.propagation and dataclasses.replace(row.config.propagation, dim=8, steps=3)
    is_tensor_product = row.config.memory.binding == "tpr"
    memory = dataclasses.replace(row.config.memory, entity_dim=16, relation_dim=4 if is_tensor_product else 16)
    training = dataclasses.replace(
        row.config.training,
        epochs=1,
        minutes=None if propagation is None else MINIATURE_MINUTES,
        batch_size=1024 if propagation is None else 32,
        negatives=200,
        validate_every=1.0,
        validation_queries=200 if propagation is None else 20,
        precision="float32",
    )
    return dataclasses.replace(
        row,
        dataset="wordnet-mini-gen" if row.dataset.endswith("Gen") else "wordnet-mini",
        stands_for=row.dataset,
        config=Config(memory=memory, propagation=propagation, training=training),
        seeds=row.seeds[:1],
        published={},
        remark="",
    )


def fingerprint(config: Config) -> str:
    """Eight letters that differ where settings differ. A setting at its default has no part in them, so that one that
    is added later changes nothing."""
    default = {**to_dict(Config()), "propagation": to_dict(PropagationConfig())}
    chosen = {
        section: {name: value for name, value in values.items() if value != (default[section] or {}).get(name)}
        for section, values in to_dict(config).items()
        if values is not None
    }
    if isinstance(every := chosen["training"].get("validate_every"), float) and every.is_integer():
        chosen["training"]["validate_every"] = int(every)  # as it was written when it could be nothing else
    return hashlib.sha256(json.dumps(chosen, sort_keys=True).encode()).hexdigest()[:8]


def _position(names: Sequence[str], name: str) -> int:
    """Where a name stands; the end for one that is not there."""
    return names.index(name) if name in names else len(names)


def _is_called(row: PaperRow, name: str) -> bool:
    return any(fnmatch.fnmatchcase(own.casefold(), name.casefold()) for own in (row.name, row.key))


def _published(values: Any) -> tuple[dict[GraphName, MetricValues], str]:
    if not isinstance(values, Mapping):
        raise ConfigError(f'"paper" is a section with metrics, not {values!r}')
    for name in values:
        if name not in (*GRAPHS, "remark"):
            raise ConfigError(f'unknown setting "{name}" in [paper]; there are {", ".join((*GRAPHS, "remark"))}')
    published: dict[GraphName, MetricValues] = {}
    for graph in GRAPHS:
        if graph not in values:
            continue
        metrics = values[graph]
        if not isinstance(metrics, list) or [type(value) in (int, float) for value in metrics] != [True] * len(METRICS):
            raise ConfigError(f'[paper] "{graph}" = {metrics!r}: expected the five metrics {", ".join(METRICS)}')
        published[graph] = dict(zip(METRICS, map(float, metrics), strict=True))
    return published, str(values.get("remark", ""))
