"""Names resolve in a fixed order, and what they resolve to is what was published."""

import gzip
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from platformdirs import user_cache_path

from hmem.errors import ConfigError, DataError, DownloadError, UnknownNameError
from hmem.graph import registry
from hmem.graph.canonical import canonical_text, sha256
from hmem.graph.catalog import CATALOG, Entry
from hmem.graph.registry import checksums, counts, find_entry, home, load_dataset, locate, resolve

LARGE = 50_000  # rows; above, a test takes seconds
SETS = [
    pytest.param(name, marks=pytest.mark.slow) if sum(entry.rows.values()) > LARGE else name
    for name, entry in CATALOG.items()
]


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test sees the user's own data."""
    monkeypatch.delenv("HMEM_DATA", raising=False)
    monkeypatch.setenv("HMEM_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "data"


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(entry: Entry, *_: object) -> Path:
        raise DownloadError(f"would download {entry.name}")

    monkeypatch.setattr(registry, "fetch", refuse)


def write(folder: Path, **splits: str) -> Path:
    folder.mkdir(parents=True)
    for split, text in splits.items():
        (folder / f"{split}.tsv").write_text(text.replace(" ", "\t"), encoding="utf-8")
    return folder


TRAIN, VALID, TEST = "a r b\nb r c\nc s a\n", "a s c\n", "b s a\n"


@pytest.fixture
def toy_entry(monkeypatch: pytest.MonkeyPatch) -> Entry:
    """A registered dataset of three entities and two relations."""
    texts = {"train": TRAIN, "valid": VALID, "test": TEST}
    entry = replace(
        CATALOG["WN18"],
        name="Toy",
        folder="Toy",
        entities=3,
        relations=2,
        rows={split: text.count("\n") for split, text in texts.items()},
        sha256={split: sha256(canonical_text(text.encode())) for split, text in texts.items()},
    )
    monkeypatch.setitem(CATALOG, "Toy", entry)
    return entry


@pytest.mark.parametrize("name", SETS)
def test_every_dataset_is_as_published(
    name: str, shared: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, no_network: None
) -> None:
    entry = CATALOG[name]
    if not entry.bundled:
        monkeypatch.setenv("HMEM_DATA", str(shared("data")))
    dataset = load_dataset(name)
    assert dataset.name == name
    found = counts(dataset)
    assert dataset.duplicates == entry.duplicates
    found["train"] += entry.duplicates
    assert found == {"entities": entry.entities, "relations": entry.relations, **entry.rows}
    place = locate(entry)
    assert place is not None
    assert place.kind == ("bundled" if entry.bundled else "HMEM_DATA")
    assert checksums(entry, place.folder) == entry.sha256


def test_the_registry_is_complete() -> None:
    plain = (
        "WN18 FB15K WN18RR FB15K-237 WNGen FBGen UMLS Kinship Nations Countries-S1 Countries-S2 Countries-S3 CoDEx-S"
        " CoDEx-M"
    )
    families = [f"GraIL/{family}_v{version}" for family in ("WN18RR", "fb237", "nell") for version in range(1, 5)]
    names = [
        *plain.split(),
        *families,
        *[f"{name}_ind" for name in families],
        "attack",
        "wordnet-mini",
        "wordnet-mini-gen",
    ]
    assert sorted(CATALOG) == sorted(names)


@pytest.mark.parametrize("entry", CATALOG.values(), ids=lambda entry: entry.name)
def test_every_entry_is_filled_in(entry: Entry) -> None:
    assert entry.license
    assert entry.origin
    assert any(str(year) in entry.citation for year in range(1990, 2030))
    assert list(entry.rows) == list(entry.sha256)
    assert {"train", "valid", "test"} <= set(entry.rows)
    assert ("heldout" in entry.rows) == ("observed" in entry.rows)
    assert len(set(entry.sha256.values())) == len(entry.rows)
    assert all(len(digest) == 64 for digest in entry.sha256.values())
    if entry.source is None:
        assert entry.instead
    else:
        assert list(entry.source.files) == list(entry.rows)
        addresses = [entry.source.archive] if entry.source.archive else entry.source.files.values()
        assert all(address.startswith("https://") for address in addresses)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("wn18", "WN18"),
        ("fb15k-237", "FB15K-237"),
        ("GRAIL/wn18rr_V1_ind", "GraIL/WN18RR_v1_ind"),
        ("countries/s2", "Countries-S2"),
        ("CODEX-s", "CoDEx-S"),
    ],
)
def test_names_are_found_in_any_case(name: str, found: str) -> None:
    assert find_entry(name).name == found


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("WN18R", 'no dataset "WN18R"; did you mean WN18RR, WN18 or GraIL/WN18RR_v1'),
        ("fb15k237", 'no dataset "fb15k237"; did you mean FB15K-237 or FB15K?'),
        ("GraIL/nell_v9", 'no dataset "GraIL/nell_v9"; did you mean GraIL/nell_v1, GraIL/nell_v2 or GraIL/nell_v3'),
        ("§", 'no dataset "§"; see: hmem data list'),
    ],
)
def test_unknown_names_get_the_closest(name: str, message: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        load_dataset(name)
    assert str(caught.value).startswith(message)


def test_a_missing_path_is_not_taken_for_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fcats.tsv").write_text("a\tr\tb\n")
    cases: list[tuple[str | Path, str]] = [
        ("facts.tsv", "facts.tsv: no such file or folder; did you mean fcats.tsv?"),
        ("./WN18", "WN18: no such file or folder"),
        (str(tmp_path / "graphs" / "mine"), f"no such file or folder, and no folder {tmp_path / 'graphs'}"),
        (Path("WN18"), "WN18: no such file or folder"),
    ]
    for given, message in cases:
        with pytest.raises(DataError) as caught:
            load_dataset(given)
        assert message in str(caught.value)
    with pytest.raises(ConfigError, match="empty string"):
        load_dataset("")


def test_folders_and_files_are_loaded_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = write(tmp_path / "WN18", train=TRAIN, valid=VALID, test=TEST)
    for given in ("WN18", "./WN18", folder, str(folder)):  # an existing path wins over the name
        assert counts(load_dataset(given)) == {"entities": 3, "relations": 2, "train": 3, "valid": 1, "test": 1}
    (tmp_path / "facts.csv").write_text("x;y;z\n" + "".join(f"n{i};r;n{i + 1}\n" for i in range(40)))
    assert load_dataset("facts.csv", delimiter=";", header=True).num_relations == 1
    with pytest.raises(ConfigError, match="delimiter: only a single file"):
        load_dataset("WN18", delimiter=";")


def test_what_is_in_memory_is_read_as_it_is() -> None:
    rows = [("a", "r", "b"), ("b", "r", "c"), ("c", "r", "a"), ("a", "r", "c")]
    frame = pd.DataFrame(rows, columns=["one", "two", "three"])
    for given in (frame, rows, iter(rows)):
        assert load_dataset(given).num_entities == 3
    assert load_dataset(frame, columns=("three", "two", "one")).num_entities == 3
    with pytest.raises(DataError, match="expected a path, a table, a graph or triples, found a int"):
        load_dataset(3)
    with pytest.raises(DataError, match="expected a path, a table, a graph or triples, found a bytes"):
        load_dataset(b"WN18")


def test_splits_of_your_own(tmp_path: Path) -> None:
    valid = tmp_path / "valid.csv"
    valid.write_text("x,y,z\n", encoding="utf-8")
    found = load_dataset({"train": [("a", "r", "b"), ("x", "y", "z")], "valid": valid, "test": [("b", "r", "a")]})
    assert (found.name, len(found.train), len(found.valid), len(found.test)) == ("splits", 2, 1, 1)
    for splits in ({"valid": valid}, {"train": valid, "tests": valid}, {}):
        with pytest.raises(DataError, match="expected splits called train, valid, test, observed, of which train has"):
            load_dataset(splits)


@pytest.mark.usefixtures("no_network")
def test_a_name_is_looked_for_in_order(
    toy_entry: Entry, tmp_path: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DownloadError, match="would download Toy"):
        load_dataset("toy")
    cached = write(empty_cache / "Toy", train=TRAIN, valid=VALID, test=TEST)
    assert locate(toy_entry) == registry.Place(kind="cache", folder=cached)
    assert load_dataset("toy").name == "Toy"
    monkeypatch.setenv("HMEM_DATA", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    assert resolve(toy_entry).kind == "cache"
    chosen = write(tmp_path / "data" / "Toy", train=TRAIN, valid=VALID, test=TEST)
    assert resolve(toy_entry) == registry.Place(kind="HMEM_DATA", folder=chosen)
    monkeypatch.setenv("HMEM_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(ConfigError, match=r"HMEM_DATA=.*nowhere is not a folder"):
        load_dataset("toy")
    assert locate(CATALOG["wordnet-mini"]) is not None  # which needs neither


def test_a_download_goes_into_the_cache(toy_entry: Entry, empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def fetch(entry: Entry, root: Path, progress: object) -> Path:
        calls.append(root)
        return write(root / entry.folder, train=TRAIN, valid=VALID, test=TEST)

    monkeypatch.setattr(registry, "fetch", fetch)
    assert load_dataset("Toy").num_entities == 3
    assert load_dataset("Toy").num_entities == 3
    assert calls == [empty_cache]


def test_files_with_other_counts_are_refused(toy_entry: Entry, empty_cache: Path) -> None:
    folder = write(empty_cache / "Toy", train=TRAIN + "d r a\n", valid=VALID, test=TEST)
    with pytest.raises(DataError) as caught:
        load_dataset("Toy")
    assert str(caught.value) == (
        f"{folder} is not Toy as published: 4 entities (expected 3), 4 train (expected 3); "
        "move it away, or name the folder itself to use it as it is"
    )
    assert load_dataset(folder).num_entities == 4


def test_an_incomplete_folder_is_an_error(toy_entry: Entry, empty_cache: Path) -> None:
    folder = write(empty_cache / "Toy", train=TRAIN)
    with pytest.raises(DataError, match=f"{folder}: no valid or test file for Toy; put train.tsv.gz, valid.tsv.gz and"):
        load_dataset("Toy")


@pytest.mark.usefixtures("no_network")
def test_an_empty_folder_is_no_dataset(toy_entry: Entry, empty_cache: Path) -> None:
    (empty_cache / "Toy").mkdir(parents=True)
    assert locate(toy_entry) is None


def test_checksums_are_of_the_text_not_the_file(toy_entry: Entry, tmp_path: Path) -> None:
    folder = write(tmp_path / "Toy", train=TRAIN, valid=VALID, test=TEST)
    assert checksums(toy_entry, folder) == toy_entry.sha256
    (folder / "train.tsv").unlink()
    (folder / "train.txt.gz").write_bytes(gzip.compress(TRAIN.replace(" ", "\t").replace("\n", "\r\n").encode(), 1))
    assert checksums(toy_entry, folder) == toy_entry.sha256
    (folder / "valid.tsv").write_text("a\ts\tb\n")
    assert checksums(toy_entry, folder)["valid"] != toy_entry.sha256["valid"]


def test_the_authors_files_are_asked_for_where_they_belong(empty_cache: Path) -> None:
    with pytest.raises(DownloadError) as caught:
        load_dataset("WNGen")
    assert str(caught.value) == (
        "WNGen has no public download; put train.tsv.gz, observed.tsv.gz, valid.tsv.gz, test.tsv.gz and heldout.tsv.gz "
        "(or plain .tsv; head, relation, tail, no header; in heldout one entity a line) into "
        f"{empty_cache / 'WNGen'}, or build one by the same recipe: hmem data gen WN18 --heldout 1500"
    )


def test_hand_placed_files_do_what_the_error_says(
    shared: Callable[[str], Path], empty_cache: Path, no_network: None
) -> None:
    shutil.copytree(shared("data/Countries/S1"), empty_cache / "Countries" / "S1")
    assert load_dataset("Countries-S1").duplicates == 1


def test_the_cache_is_where_the_platform_keeps_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert home() == tmp_path / "home"
    monkeypatch.delenv("HMEM_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert home() == tmp_path / "xdg" / "hmem" == user_cache_path("hmem", appauthor=False)
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert home() == tmp_path / ".cache" / "hmem"
    monkeypatch.setitem(sys.modules, "platformdirs", None)  # as on a machine that does not have it
    assert home() == tmp_path / ".cache" / "hmem"


def test_a_cache_of_before_is_still_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HMEM_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setattr(sys, "platform", "darwin")
    assert home() == tmp_path / "xdg" / "hmem"
    (tmp_path / "Library" / "Caches" / "hmem").mkdir(parents=True)
    assert home() == tmp_path / "Library" / "Caches" / "hmem"
