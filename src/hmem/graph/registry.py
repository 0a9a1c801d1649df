"""From a name or a path to a dataset.

A name is looked for in this order: in the package; in the folder that HMEM_DATA names; in the cache, HMEM_HOME; at its
public source, from where it goes into the cache. Files that are there are used as they are, and must have the
published counts; files that are downloaded must have the published checksums.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Literal

from hmem.errors import ConfigError, DataError, Hint, UnknownNameError
from hmem.graph.canonical import NAME, sha256_of_file
from hmem.graph.catalog import CATALOG, Entry
from hmem.graph.dataset import Dataset, load_facts, load_folder, load_splits
from hmem.graph.download import Progress, fetch, where_to_put
from hmem.graph.name_search import closest
from hmem.graph.readers.files import missing


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where the files of a dataset are."""

    kind: Literal["bundled", "HMEM_DATA", "cache"]
    folder: Path


def load_dataset(data: object, *, progress: Progress | None = None, **options: object) -> Dataset:
    """The dataset that `data` names: a folder with splits, a single file of facts, or an entry of the registry.

    What exists as a path is taken as a path. A table, a graph or triples in memory are read as they are. A single file
    and what is in memory have no splits: a tenth of their facts is taken out of train for validation and test, as the
    dataset's `notes` tell. Splits of your own are given as {"train": …, "valid": …, "test": …}, each any of these but
    the name of a dataset. `options` say how to read them, as in `read_table`.
    """
    if isinstance(data, Mapping):
        return load_splits(data, **options)
    if not isinstance(data, str | os.PathLike):
        return load_facts(data, **options)
    if not os.fspath(data):  # which Path would take for this folder
        raise ConfigError(expected="the name of a dataset, a folder or a file", found="an empty string")
    path = Path(data).expanduser()
    if path.is_file():
        return load_facts(path, **options)
    if options:
        raise ConfigError(f"{', '.join(options)}: only a single file of facts takes this, and {data} is not one")
    if path.is_dir():
        return load_folder(path)
    if not isinstance(data, str):
        raise missing(path)
    entry = find_entry(data)
    return load_entry(entry, resolve(entry, progress))


def load_entry(entry: Entry, place: Place) -> Dataset:
    """The files in `place`, if they can be those of `entry`."""
    dataset = load_folder(place.folder, entry.name)
    check_counts(entry, dataset, place.folder)
    return replace(dataset, entities=split_file(place.folder, "entities")) if entry.bundled else dataset


def find_entry(name: str) -> Entry:
    """The registered dataset of that name, in any case; `Countries/S1` is as good as `Countries-S1`."""
    for entry in CATALOG.values():
        if name.casefold() in (entry.name.casefold(), entry.folder.casefold()):
            return entry
    if _looks_like_a_path(name):
        raise missing(Path(name).expanduser())
    near = closest(name, CATALOG)
    all_names = Hint(text="see", command="hmem data list")
    raise UnknownNameError(f'no dataset "{name}"', suggestions=near, hint=None if near else all_names)


def resolve(entry: Entry, progress: Progress | None = None) -> Place:
    """Where `entry` is, after a download if it is nowhere yet."""
    return locate(entry) or Place(kind="cache", folder=fetch(entry, cache_folder(), progress))


def locate(entry: Entry) -> Place | None:
    """Where `entry` is on this machine. A folder that lacks a file is an error: it is not what its owner thinks."""
    for place in _places(entry):
        if not place.folder.is_dir() or not any(place.folder.iterdir()):
            continue
        absent = [split for split in entry.splits if split_file(place.folder, split) is None]
        if absent:
            problem = f"no {' or '.join(absent)} file for {entry.name}"
            raise DataError(problem, path=place.folder, hint=where_to_put(entry, place.folder))
        return place
    return None


def split_file(folder: Path, split: str) -> Path | None:
    """The file of `split`, whatever its format."""
    return next((child for child in sorted(folder.iterdir()) if child.name.split(".")[0] == split), None)


def cache_folder() -> Path:
    """Where downloaded datasets live: `data` in HMEM_HOME, or in this platform's cache folder."""
    return home() / "data"


def home() -> Path:
    """HMEM_HOME, or the folder of hmem in this platform's cache folder."""
    chosen = os.environ.get("HMEM_HOME")
    if chosen:
        return Path(chosen).expanduser().absolute()
    before = Path.home() / "Library" / "Caches" / "hmem"  # of hmem 0.1 on macOS, also where XDG_CACHE_HOME is set
    if sys.platform == "darwin" and before.is_dir():
        return before
    try:
        from platformdirs import user_cache_path
    except ImportError:
        return Path.home() / ".cache" / "hmem"
    return user_cache_path("hmem", appauthor=False)


def check_counts(entry: Entry, dataset: Dataset, folder: Path) -> None:
    """Refuse files that cannot be the published ones."""
    expected = {"entities": entry.entities, "relations": entry.relations, **entry.rows}
    expected["train"] -= entry.duplicates
    found = counts(dataset)
    wrong = [f"{found[what]:,} {what} (expected {count:,})" for what, count in expected.items() if found[what] != count]
    if wrong:
        problem = f"{{path}} is not {entry.name} as published: {', '.join(wrong)}"
        raise DataError(problem, path=folder, hint="move it away, or name the folder itself to use it as it is")


def counts(dataset: Dataset) -> dict[str, int]:
    """How many entities, relations, and facts in each split; held-out entities too where there are any."""
    found = {"entities": dataset.num_entities, "relations": dataset.num_relations, "train": len(dataset.train)}
    if dataset.observed is not None:
        found["observed"] = len(dataset.observed)
    found |= {"valid": len(dataset.valid), "test": len(dataset.test)}
    if dataset.heldout is not None:
        found["heldout"] = len(dataset.heldout)
    return found


def checksums(entry: Entry, folder: Path) -> dict[str, str]:
    """The SHA-256 of each split's canonical text, to be compared with `entry.sha256`."""
    sums = {}
    for split in entry.splits:
        file = split_file(folder, split)
        assert file is not None, "locate() has seen all files"
        sums[split] = sha256_of_file(file, NAME if split == "heldout" else entry.columns)
    return sums


def _places(entry: Entry) -> list[Place]:
    if entry.bundled:
        return [Place(kind="bundled", folder=Path(str(files("hmem"))) / "bundled" / entry.folder)]
    places = [Place(kind="cache", folder=cache_folder() / entry.folder)]
    chosen = os.environ.get("HMEM_DATA")
    if chosen:
        root = Path(chosen).expanduser().absolute()
        if not root.is_dir():
            raise ConfigError(f"HMEM_DATA={chosen} is not a folder; expected one with WN18/train.tsv.gz and the like")
        places.insert(0, Place(kind="HMEM_DATA", folder=root / entry.folder))
    return places


def _looks_like_a_path(name: str) -> bool:
    if name.casefold().startswith("grail/"):
        return False
    return "/" in name or os.sep in name or name.startswith((".", "~")) or Path(name).suffix != ""
