"""A trained model as a folder that other machines and later versions can read. No pickle is ever written or read.

config.json          format version, settings, counts
model.safetensors    the weights
entities.tsv         one name per line, in the order of their ids; relations.tsv the same
metrics.json         what was measured
README.md            a model card
"""

import hashlib
import json
import os
import re
import shutil
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import torch

from hmem.config import Config, from_dict, to_dict
from hmem.earlier_settings import upgraded
from hmem.errors import CheckpointError, ConfigError, Hint
from hmem.graph.names import Vocabulary
from hmem.model.build import Network, build, sizes
from hmem.model.card import model_card
from hmem.model.weights import check_sizes, read_tensors, with_todays_names, write_tensors
from hmem.sqlite_files import SAVED, STATE

FORMAT = 3
BASE = "base"  # what the model that comes with the package is called where a model folder is expected
BUNDLED = Path(str(files("hmem"))) / "bundled" / "any-graph"
ASIDE = ".saving."
KINDS = ("entities", "relations")
SINCE_2 = ("kinds",)  # tensors that models of format 1 lack, and which are zero then
NOUNS: dict[type, str] = {dict: "an object", int: "a whole number"}
WITHOUT_METRICS = Hint(text="without the file the model can still be used")
STALE = 3600  # seconds after which what a killed process was writing is removed
PATIENCE = 40  # looks at a folder whose model is being replaced
ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}


@dataclass(frozen=True, kw_only=True)
class Model:
    """A model with everything needed to ask it questions by name."""

    model: Network
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


def model_folder(name: str | os.PathLike[str]) -> Path:
    """The model folder that a caller means: `base` is the one that comes with hmem, unless there is such a folder."""
    folder = Path(name).expanduser()
    return BUNDLED if str(name) == BASE and not folder.exists() else folder


def save(folder: Path, saved: Model) -> None:
    """Write the folder, or replace the model in it; logs and checkpoints of the run that made it stay.

    All files are written aside first. Moving them in starts and ends with `config.json`, by which `load` notices it.
    """
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob(f"{ASIDE}*"):
        if time.time() - left.stat().st_mtime > STALE:
            shutil.rmtree(left, ignore_errors=True)
    made = Path(tempfile.mkdtemp(prefix=ASIDE, dir=folder))
    try:
        _write(made, saved)
        (folder / SAVED[0]).unlink(missing_ok=True)
        for name in reversed(SAVED):
            os.replace(made / name, folder / name)
    except CheckpointError as error:
        if error.path is not None:
            error.path = folder / error.path.name  # where the caller looks for it
        raise
    except OSError as error:
        error.filename = str(folder / Path(error.filename or "").name)
        raise
    finally:
        shutil.rmtree(made, ignore_errors=True)
        if is_new and not any(folder.iterdir()):
            folder.rmdir()


def load(folder: Path, device: torch.device | str = "cpu") -> Model:
    """Read a model folder, saying exactly what is wrong with one that cannot be used.

    If the model is replaced meanwhile it is read again: the parts are always those of one model.
    """
    for _ in range(PATIENCE):
        before = _version(folder)
        try:
            loaded, problem = _load(folder, device), None
        except CheckpointError as error:
            loaded, problem = None, error
        if before == _version(folder) and (before is not None or not any(folder.glob(f"{ASIDE}*"))):
            break
        time.sleep(0.05)
    if loaded is None and _move_in(folder):
        return _load(folder, device)
    if loaded is not None:
        return loaded
    assert problem is not None
    raise problem


def _move_in(folder: Path) -> bool:
    """Whether a model was ready aside, whose save was ended by force while its files were moved in; now they are."""
    if _version(folder) is not None:
        return False
    for aside in folder.glob(f"{ASIDE}*"):
        if (aside / SAVED[0]).exists() and all((aside / name).exists() or (folder / name).exists() for name in SAVED):
            for name in reversed(SAVED):
                with suppress(OSError):
                    os.replace(aside / name, folder / name)
            shutil.rmtree(aside, ignore_errors=True)
            return True
    return False


def _version(folder: Path) -> tuple[int, int] | None:
    """Which `config.json` a folder has: another file after every save, and none in the middle of one."""
    try:
        found = (folder / SAVED[0]).stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def _load(folder: Path, device: torch.device | str) -> Model:
    settings = _read_settings(folder)
    vocab = _read_vocabulary(folder, settings)
    try:
        config = from_dict(Config, upgraded(settings["config"], is_trained=True))
    except ConfigError as error:
        parts = {name: getattr(error, name) for name in ("option", "found", "expected", "suggestions")}
        raise CheckpointError(error.problem, path=folder / "config.json", **parts) from error
    size = len(vocab.entities), len(vocab.relations)
    absent_then = SINCE_2 if settings["format"] < 2 else ()
    try:
        expected = sizes(config, *size)
    except RuntimeError as error:  # not even the number of bytes can be counted
        problem = f"sizes that no weights have ({error}); config.json and the weights do not belong together"
        raise CheckpointError(problem, path=folder / "config.json") from error
    check_sizes(expected, folder / "model.safetensors", absent_then)
    model = build(config, *size)
    tensors = with_todays_names(read_tensors(folder / "model.safetensors")[0])
    model.load_state_dict({name: torch.zeros_like(model.state_dict()[name]) for name in absent_then} | tensors)
    return Model(
        model=model.to(device).eval(),
        config=config,
        vocab=vocab,
        dataset=settings.get("dataset", ""),
        preset=settings.get("preset", ""),
        metrics=_read_metrics(folder / "metrics.json"),
    )


def _write(folder: Path, saved: Model) -> None:
    vocab = saved.vocab
    lists = dict(zip(KINDS, (vocab.entities, vocab.relations), strict=True))
    texts = {kind: "".join(f"{_escaped(name)}\n" for name in names) for kind, names in lists.items()}
    settings = {
        "format": FORMAT,
        "model": "hmem",
        "preset": saved.preset,
        "dataset": saved.dataset,
        "num_entities": len(vocab.entities),
        "num_relations": len(vocab.relations),
        "names": _checksum(texts),
        "config": to_dict(saved.config),
    }
    (folder / "config.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    weights = {name: value.detach().cpu().contiguous() for name, value in saved.model.state_dict().items()}
    write_tensors(folder / "model.safetensors", weights, {"format": "pt"})
    for kind, text in texts.items():
        (folder / f"{kind}.tsv").write_text(text, encoding="utf-8", newline="")
    (folder / "metrics.json").write_text(json.dumps(saved.metrics, indent=2) + "\n", encoding="utf-8")
    card = model_card(saved.preset, saved.dataset, saved.config, vocab, saved.metrics)
    (folder / "README.md").write_text(card, encoding="utf-8")


def _read_settings(folder: Path) -> dict[str, Any]:
    path = folder / "config.json"
    if not path.exists():
        if (folder / STATE).exists():
            going_on = Hint(
                text="go on with it",
                command=f"hmem train DATA --out {folder} --resume",
                call="hmem.fit(…, resume=True)",
            )
            raise CheckpointError("not a model folder yet: its training was interrupted", path=folder, hint=going_on)
        hint = Hint(text="make one", command="hmem train DATA --out DIR")
        raise CheckpointError("not a model folder (no config.json)", path=folder, hint=hint)
    try:
        settings: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        version = settings["format"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise CheckpointError(f"not the settings of a model ({error!r})", path=path) from error
    if isinstance(version, bool) or not isinstance(version, int) or not 1 <= version <= FORMAT:
        problem, hint = f"format {version}, this hmem reads up to {FORMAT}", Hint(text="upgrade hmem")
        raise CheckpointError(problem, path=path, found=version, expected=f"up to {FORMAT}", hint=hint)
    for name, kind in (("config", dict), ("num_entities", int), ("num_relations", int)):
        if name not in settings:
            raise CheckpointError(f"{name} is missing", path=path, option=name)
        if not isinstance(settings[name], kind):
            found, expected = settings[name], NOUNS[kind]
            problem = f"{name} is {found!r}, expected {expected}"
            raise CheckpointError(problem, path=path, option=name, found=found, expected=expected)
    return settings


def _read_metrics(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        metrics = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"not JSON ({error})", path=path, hint=WITHOUT_METRICS) from error
    if not isinstance(metrics, dict):
        raise CheckpointError("expected an object", path=path, hint=WITHOUT_METRICS)
    return metrics


def _read_vocabulary(folder: Path, settings: dict[str, Any]) -> Vocabulary:
    """The names of the ids, if they are those that were saved."""
    texts = {kind: _read_text(folder / f"{kind}.tsv") for kind in KINDS}
    names = {kind: [_unescaped(line) for line in text.split("\n")[:-1]] for kind, text in texts.items()}
    for kind, each in names.items():
        path, expected = folder / f"{kind}.tsv", settings[f"num_{kind}"]
        if len(each) != expected:
            problem = f"expected {expected:,} names, found {len(each):,}; is it from another model?"
            raise CheckpointError(problem, path=path, found=len(each))
        if len(set(each)) < len(each):
            raise CheckpointError("a name stands there twice", path=path)
    if settings.get("names", _checksum(texts)) != _checksum(texts):
        raise CheckpointError("entities.tsv and relations.tsv are not those that were saved with {path}", path=folder)
    return Vocabulary(names["entities"], names["relations"])


def _checksum(texts: dict[str, str]) -> str:
    return hashlib.sha256("\0".join(texts[kind] for kind in KINDS).encode()).hexdigest()


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise CheckpointError("no such file; without the names of its ids a model cannot be used", path=path) from error
    except UnicodeDecodeError as error:
        raise CheckpointError(f"not UTF-8 text ({error.reason} at byte {error.start})", path=path) from error


def _escaped(name: str) -> str:
    return "".join(ESCAPES.get(character, character) for character in name)


def _unescaped(line: str) -> str:
    codes = {code[1]: character for character, code in ESCAPES.items()}
    return re.sub(r"\\(.)", lambda found: codes.get(found[1], found[1]), line)
