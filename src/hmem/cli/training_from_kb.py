"""The facts of a knowledge base as a dataset, and the model that is trained from them put in its place.

`zoo.kb` stands for the facts of now, `zoo.kb@17` for those after its 17th write: what a model was trained on can be
asked for again whatever has come since.
"""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from hmem.errors import CheckpointError, ConfigError, StoreError
from hmem.sqlite_files import is_database

if TYPE_CHECKING:
    from hmem.config import Config
    from hmem.graph.dataset import Dataset
    from hmem.model.checkpoint import SavedModel
    from hmem.training.state import State


def is_knowledge_base(data: str) -> bool:
    """Whether `data` names a file that only a knowledge base can be."""
    return is_database(split_moment(data)[0])


def split_moment(data: str) -> tuple[Path, int | None]:
    """`zoo.kb@17` is `zoo.kb` and 17; a file of that very name comes first."""
    whole = Path(data).expanduser()
    found = re.fullmatch(r"(.+)@(\d+)", data)
    if found is None or whole.exists():
        return whole, None
    return Path(found[1]).expanduser(), int(found[2])


def dataset_of(data: str) -> "Dataset":
    """The facts of a knowledge base, some of them kept out of training to validate with, as of any file of facts."""
    from hmem.graph.dataset import WHY_NONE, load_tables
    from hmem.knowledge.store.store import Store

    path, moment = split_moment(data)
    with Store.open(path, read_only=True) as store:
        table = store.table(moment)
    if table.num_rows == 0:
        raise StoreError(f"{path} holds no facts to learn from; add some with: hmem facts import {path} FILE")
    dataset = load_tables(path.name, {"train": table, "test": table.slice(0, 0)})
    kept = f"{len(dataset.valid):,} of the {table.num_rows:,} facts of {path} are kept out of training to validate with"
    if not len(dataset.valid):
        kept = f"no fact of {path} can be kept out of training to validate with: {WHY_NONE}"
    return replace(dataset, notes=(kept,))


@dataclass(frozen=True, kw_only=True)
class Growth:
    """What a training run takes from a knowledge base, and gives back to it."""

    path: Path
    moment: int  # the facts up to it are trained on
    before: "SavedModel | None"  # the model in use
    trouble: str = ""  # why there is none that could be read

    @property
    def data(self) -> str:
        return f"{self.path}@{self.moment}"

    def start(self, config: "Config", dataset: "Dataset") -> "State":
        """Where fine-tuning begins."""
        from hmem.training.warm_start import warm_start

        if self.before is None:
            reason = self.trouble or f"{self.path} has no model to start from"
            raise ConfigError(f"{reason}; leave --fine-tune out to train from nothing")
        if config.memory != self.before.config.memory:
            raise ConfigError("--fine-tune keeps the memory settings of the model in use; leave it out to change them")
        return warm_start(config, self.before.model, self.before.vocab, dataset.vocab, dataset.train)

    def swap(self, folder: Path) -> None:
        """Let the knowledge base use the model in `folder` from now on, in one step."""
        from hmem.knowledge.model_link import attach
        from hmem.knowledge.store.store import Store

        try:
            with Store.open(self.path) as store:
                attach(store, folder, trained_until=self.moment)
        except StoreError as error:
            raise StoreError(
                f"{error}. The model is ready, and is used after: hmem kb use {self.path} {folder}"
            ) from error


def begin(path: Path, out: Path, moment: int | None = None) -> Growth:
    """Look at a knowledge base before training on its facts of now, or as of a moment."""
    from hmem.knowledge.model_link import ModelLink
    from hmem.knowledge.store.store import Store

    with Store.open(path) as store:  # not read-only: better to fail now than when the model is ready
        moment = store.moment if moment is None else moment
        link = ModelLink.of(store)
        if link is None:
            return Growth(path=path, moment=moment, before=None)
        if out.resolve() == link.folder:
            raise ConfigError(
                f"{out} is the model that {path} uses; choose another folder, so that it stays until then"
            )
        try:
            return Growth(path=path, moment=moment, before=link.load(store, "cpu"))
        except (StoreError, CheckpointError) as error:  # no reason not to train a better one
            return Growth(path=path, moment=moment, before=None, trouble=str(error))
