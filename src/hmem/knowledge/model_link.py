"""Which model folder a knowledge base uses, and whether it is still the same one."""

import hashlib
import os
from bisect import bisect_left
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hmem.errors import CheckpointError, Hint, Place, StoreError
from hmem.graph.fact_keys import FactKeys, fact_keys
from hmem.graph.names import Vocabulary
from hmem.graph.triples import Triples
from hmem.knowledge.store.evidence import Evidence
from hmem.knowledge.store.places import split_moment
from hmem.knowledge.store.store import Store
from hmem.model.checkpoint import BUNDLED, Model, load
from hmem.runs.folder import read_facts, read_run
from hmem.sqlite_files import MODEL

KEYS = ("model", "model_checksum", "model_moment", "model_trained_until")
CHUNK = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelLink:
    """What a knowledge base has written down about its model."""

    folder: Path
    checksum: str
    moment: int  # at which it was attached
    trained_until: int  # the last moment whose facts it may have been trained with

    @classmethod
    def of(cls, store: Store) -> "ModelLink | None":
        notes = store.metas()  # all of one moment: another process may be attaching another model
        folder, checksum, moment, trained_until = (notes.get(key) for key in KEYS)
        if folder is None or checksum is None:
            return None
        return cls(
            folder=Path(os.path.normpath(_home(store) / folder)),
            checksum=checksum,
            moment=int(moment or 0),
            trained_until=int(trained_until or 0),
        )

    @classmethod
    def bundled(cls) -> "ModelLink":
        """The model that comes with hmem and answers where none is attached."""
        return cls(folder=BUNDLED, checksum=checksum_of(BUNDLED), moment=0, trained_until=0)

    @property
    def name(self) -> str:
        """What is written beside the facts that it inferred."""
        return "base" if self.folder == BUNDLED else f"{self.folder.name}@{self.checksum[:8]}"

    def keys_until(self, store: Store) -> FactKeys:
        """The keys of all facts that the model may have been trained with, by their time."""
        return _keys(store, store.triples(self.trained_until, evidence=Evidence()))

    def load(self, store: Store, device: str) -> Model:
        """The model, if it is still the one that was attached."""
        if not self.folder.is_dir():
            problem = f"the model of {store.path.name} is not where it was, {{path}}; all but prediction works without"
            hint = attach_hint("put it back, or attach it anew", store.path, "MODEL")
            raise StoreError(problem, path=self.folder, hint=hint)
        if checksum_of(self.folder) != self.checksum:
            problem = f"the model in {{path}} has changed since it was attached to {store.path.name}"
            hint = attach_hint("if that was meant, attach it again", store.path, str(self.folder))
            raise StoreError(problem, path=self.folder, hint=hint)
        return load(self.folder, device)


def _home(store: Store) -> Path:
    """From where the folder of a model is looked for: beside the file, or else as it was written down."""
    return store.path.resolve().parent if isinstance(store.path, Path) else Path("/")


def place_of_model(store: Store, folder: Path) -> str:
    """How the folder of a model is written down: as seen from the file, so that both can be moved together."""
    if isinstance(store.path, Path):
        with suppress(ValueError):  # another drive
            return os.path.relpath(folder.resolve(), _home(store))
    return str(folder.resolve())


def attach_hint(text: str, path: Place, model: str) -> Hint:
    return Hint(text=text, command=f"hmem kb use {path} {model}", call="kb.use_model(folder)")


def attach(store: Store, folder: Path, trained_until: int | None = None) -> None:
    """Write down which model answers from now on, in one step.

    `trained_until` is the last moment whose facts it was trained with. If it is not given, it is what the folder says
    if the model was trained from this base, or the moment of the last fact that the folder lists as trained on. Where
    it lists none, it is what it was if this very model is in use already, and else the present.
    The model that comes with hmem is not written down: it answers where nothing is, wherever hmem is installed.
    """
    if folder == BUNDLED:
        store.set_meta(**dict.fromkeys(KEYS))
        return
    folder = folder.resolve()
    moment, checksum = store.moment, checksum_of(folder)
    if trained_until is None:
        trained_until = _recorded_moment(store, folder, moment)
    if trained_until is None and (facts := read_facts(folder)) is not None:
        trained_until = _last_trained(store, facts.trained, moment)
    if trained_until is None:
        before = ModelLink.of(store)
        trained_until = moment if before is None or before.checksum != checksum else before.trained_until
    store.set_meta(
        **dict(zip(KEYS, (place_of_model(store, folder), checksum, str(moment), str(trained_until)), strict=True))
    )


def checksum_of(folder: Path) -> str:
    """SHA-256 over the files of a model folder that decide its answers; a missing one counts as empty."""
    digest = hashlib.sha256()
    for name in MODEL:
        path = folder / name
        digest.update(f"{name} {path.stat().st_size if path.exists() else 0}\n".encode())
        if path.exists():
            with path.open("rb") as file:
                while chunk := file.read(CHUNK):
                    digest.update(chunk)
    return digest.hexdigest()


def trained_from(folder: Path) -> tuple[Place, int | None]:
    """The data that the run in a folder was started with, and the moment if they are those of a knowledge base."""
    try:
        return split_moment(str(read_run(folder)["data"]))
    except (OSError, CheckpointError, KeyError):  # no run, or not a whole one
        return folder, None


def _recorded_moment(store: Store, folder: Path, present: int) -> int | None:
    """The moment of this base that a model folder says it was trained from, such as 6 for `zoo.kb@6`.

    Training writes down the path as it was given, and base and model may have been moved together since. So a file of
    the same name is taken for the same base, unless another one is found at that path.
    """
    path, moment = trained_from(folder)
    if moment is None:
        return None
    if isinstance(path, Path) and isinstance(store.path, Path):
        is_this = path.samefile(store.path) if path.exists() else path.name == store.path.name
    else:
        is_this = str(path) == str(store.path)
    return moment if is_this and moment <= present else None


def _last_trained(store: Store, trained: FactKeys, present: int) -> int:
    """The last moment that added a fact which is among those trained on."""

    def has_none_after(moment: int) -> bool:
        return not np.isin(_keys(store, store.changes_since(moment, 0, 0).added), trained).any()

    return bisect_left(range(present), True, key=has_none_after)


def _keys(store: Store, facts: Triples) -> FactKeys:
    return fact_keys(facts, Vocabulary(store.entity_names(), store.relation_names()))
