"""A trained model as a folder that other machines and later versions can read. No pickle is ever written or read.

config.json          format version, settings, counts
model.safetensors    the weights
entities.tsv         one name per line, in the order of their ids; relations.tsv the same
metrics.json         what was measured
README.md            a model card
"""

import json
import os
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from hmem.config import Config, from_dict, to_dict
from hmem.errors import CheckpointError, ConfigError
from hmem.graph.names import Vocabulary
from hmem.model.card import model_card
from hmem.model.hmem import HMem

FORMAT = 2
SINCE_2 = ("kinds",)  # tensors that models of format 1 lack, and which are zero then
NOUNS: dict[type, str] = {dict: "an object", int: "a whole number"}
ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}


@dataclass(frozen=True, kw_only=True)
class Model:
    """A model with everything needed to ask it questions by name."""

    model: HMem
    config: Config
    vocab: Vocabulary
    dataset: str
    preset: str
    metrics: dict[str, Any] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, Any]:
        """As reports have them."""
        return {"preset": self.preset, **to_dict(self.config)}

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the model to a folder, from which `hmem.load` reads it."""
        save(Path(folder).expanduser(), self)

    def __repr__(self) -> str:
        return f"Model({self.preset!r}, trained on {self.dataset!r}: {self.vocab})"


def save(folder: Path, saved: Model) -> None:
    """Write the folder, or replace the model in it; logs and checkpoints of the run that made it stay.

    All files are written aside first. Moving them in starts and ends with `config.json`, so a folder is never loaded
    that holds parts of two models.
    """
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=".saving.", dir=folder))
    try:
        _write(made, saved)
        (folder / FILES[0]).unlink(missing_ok=True)
        for name in reversed(FILES):
            os.replace(made / name, folder / name)
    finally:
        shutil.rmtree(made, ignore_errors=True)
        if is_new and not any(folder.iterdir()):
            folder.rmdir()


def load(folder: Path, device: torch.device | str = "cpu") -> Model:
    """Read a model folder, saying exactly what is wrong with one that cannot be used."""
    settings = _read_settings(folder)
    vocab = Vocabulary(_read_names(folder / "entities.tsv"), _read_names(folder / "relations.tsv"))
    for kind, names in (("entities", vocab.entities), ("relations", vocab.relations)):
        if len(names) != settings[f"num_{kind}"]:
            raise CheckpointError(
                f"{folder / kind}.tsv: expected {settings[f'num_{kind}']:,} names, found {len(names):,}; "
                "is it from another model?"
            )
    try:
        config = from_dict(Config, settings["config"])
    except ConfigError as error:
        raise CheckpointError(f"{folder / 'config.json'}: {error}") from error
    model = HMem(config.memory, len(vocab.entities), len(vocab.relations))
    _load_weights(model, folder / "model.safetensors", SINCE_2 if settings["format"] < 2 else ())
    return Model(
        model=model.to(device).eval(),
        config=config,
        vocab=vocab,
        dataset=settings.get("dataset", ""),
        preset=settings.get("preset", ""),
        metrics=_read_metrics(folder / "metrics.json"),
    )


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors and metadata of a safetensors file."""
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118
    except FileNotFoundError as error:
        raise CheckpointError(f"{path}: no such file; a model folder has config.json and model.safetensors") from error
    except (SafetensorError, OSError, ValueError) as error:
        raise CheckpointError(f"{path}: not a whole safetensors file ({error}); copy it again") from error


def write_tensors(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> None:
    """Write beside the old file and move over it, so that a kill leaves one of the two."""
    beside = path.with_name(f".{path.name}.part")
    try:
        save_file(tensors, beside, metadata=metadata)
    except SafetensorError as error:  # a full disk, for one
        beside.unlink(missing_ok=True)
        raise CheckpointError(f"{path}: could not be written ({error}); what was there before is untouched") from error
    os.chmod(beside, 0o644)  # safetensors lets nobody else read it
    os.replace(beside, path)


FILES = ("config.json", "model.safetensors", "entities.tsv", "relations.tsv", "metrics.json", "README.md")


def _write(folder: Path, saved: Model) -> None:
    vocab = saved.vocab
    settings = {
        "format": FORMAT,
        "model": "hmem",
        "preset": saved.preset,
        "dataset": saved.dataset,
        "num_entities": len(vocab.entities),
        "num_relations": len(vocab.relations),
        "config": to_dict(saved.config),
    }
    (folder / "config.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    weights = {name: value.detach().cpu().contiguous() for name, value in saved.model.state_dict().items()}
    write_tensors(folder / "model.safetensors", weights, {"format": "pt"})
    for kind, names in (("entities", vocab.entities), ("relations", vocab.relations)):
        (folder / f"{kind}.tsv").write_text("".join(f"{_escaped(name)}\n" for name in names), encoding="utf-8")
    (folder / "metrics.json").write_text(json.dumps(saved.metrics, indent=2) + "\n", encoding="utf-8")
    card = model_card(saved.preset, saved.dataset, saved.config, vocab, saved.metrics)
    (folder / "README.md").write_text(card, encoding="utf-8")


def _read_settings(folder: Path) -> dict[str, Any]:
    path = folder / "config.json"
    if not path.exists():
        raise CheckpointError(f"{folder}: not a model folder (no config.json); `hmem train DATA --out DIR` makes one")
    try:
        settings: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        version = settings["format"]
    except (ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{path}: not the settings of a model ({error!r})") from error
    if not isinstance(version, int) or version > FORMAT:
        raise CheckpointError(f"{path}: format {version}, this hmem knows up to {FORMAT}; upgrade hmem")
    for name, kind in (("config", dict), ("num_entities", int), ("num_relations", int)):
        if name not in settings:
            raise CheckpointError(f"{path}: {name} is missing")
        if not isinstance(settings[name], kind):
            raise CheckpointError(f"{path}: {name} is {settings[name]!r}, expected {NOUNS[kind]}")
    return settings


def _read_metrics(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        metrics = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise CheckpointError(f"{path}: not JSON ({error}); without the file the model can still be used") from error
    if not isinstance(metrics, dict):
        raise CheckpointError(f"{path}: expected an object; without the file the model can still be used")
    return metrics


def _read_names(path: Path) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise CheckpointError(f"{path}: no such file; without the names of its ids a model cannot be used") from error
    except UnicodeDecodeError as error:
        raise CheckpointError(f"{path}: not UTF-8 text ({error.reason} at byte {error.start})") from error
    return [_unescaped(line) for line in text.split("\n")[:-1]]


def _load_weights(model: HMem, path: Path, unknown_then: tuple[str, ...]) -> None:
    tensors, _ = read_tensors(path)
    expected = model.state_dict()
    for name, value in expected.items():
        if name in unknown_then:
            tensors.setdefault(name, torch.zeros_like(value))
        if name not in tensors:
            raise CheckpointError(f"{path}: the tensor {name} is missing")
        if tensors[name].shape != value.shape or tensors[name].dtype != value.dtype:
            found, wanted = tensors[name], value
            raise CheckpointError(
                f"{path}: {name} has shape {tuple(found.shape)} of {found.dtype}, "
                f"expected {tuple(wanted.shape)} of {wanted.dtype}; config.json and the weights do not belong together"
            )
    extra = sorted(set(tensors) - set(expected))
    if extra:
        raise CheckpointError(f"{path}: unexpected tensor {extra[0]}")
    model.load_state_dict(tensors)


def _escaped(name: str) -> str:
    return "".join(ESCAPES.get(character, character) for character in name)


def _unescaped(line: str) -> str:
    if "\\" not in line:
        return line
    plain, position = [], 0
    codes = {code[1]: character for character, code in ESCAPES.items()}
    while position < len(line):
        escape = line[position] == "\\" and position + 1 < len(line)
        plain.append(codes.get(line[position + 1], line[position + 1]) if escape else line[position])
        position += 2 if escape else 1
    return "".join(plain)
