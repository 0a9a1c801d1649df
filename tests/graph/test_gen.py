import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from hmem.errors import ConfigError, DataError
from hmem.graph.gen import GenSplit, split_heldout

SHARED = Path(__file__).resolve().parents[2] / "../shared"
PARTS = ("train", "observed", "valid", "test")


def random_triples(seed: int, num_entities: int, rows: int) -> np.ndarray:
    """Random facts whose relation is the row number, so that every row can be told apart."""
    rng = np.random.default_rng(seed)
    ends = rng.integers(num_entities, size=(rows, 2))
    return np.stack([ends[:, 0], np.arange(rows), ends[:, 1]], axis=1)


def rows_of(split: GenSplit) -> dict[str, list[int]]:
    return {part: getattr(split, part)[:, 1].tolist() for part in PARTS}


@st.composite
def problems(draw: st.DrawFn) -> tuple[np.ndarray, int, int, int]:
    num_entities = draw(st.integers(2, 40))
    triples = random_triples(draw(st.integers(0, 2**32 - 1)), num_entities, draw(st.integers(10, 200)))
    return triples, num_entities, draw(st.integers(1, max(1, num_entities // 2))), draw(st.integers(0, 2**64))


@given(problem=problems())
def test_every_fact_is_in_the_part_that_its_heldout_ends_name(problem: tuple[np.ndarray, int, int, int]) -> None:
    triples, num_entities, heldout, seed = problem
    try:
        split = split_heldout(triples, num_entities, heldout, seed)
    except ConfigError:
        reject()  # a part came out empty
    chosen = set(split.heldout.tolist())
    assert len(chosen) == len(split.heldout) == heldout
    assert chosen <= set(range(num_entities))

    new_ends = [(int(h) in chosen) + (int(t) in chosen) for h, _, t in triples]
    rows = rows_of(split)
    assert rows["train"] == [row for row, ends in enumerate(new_ends) if ends == 0]
    about_new = [row for row, ends in enumerate(new_ends) if ends == 1]
    assert sorted(rows["observed"] + rows["valid"] + rows["test"]) == about_new
    assert len(rows["observed"]) == len(about_new) * 2 // 3
    assert len(rows["valid"]) == len(about_new) // 6
    for part in PARTS:  # whole rows, in their original order
        assert rows[part] == sorted(rows[part])
        np.testing.assert_array_equal(getattr(split, part), triples[rows[part]])


@given(problem=problems())
def test_a_seed_decides_the_split(problem: tuple[np.ndarray, int, int, int]) -> None:
    try:
        first, second = (split_heldout(*problem) for _ in range(2))
    except ConfigError:
        reject()
    for part in ("heldout", *PARTS):
        np.testing.assert_array_equal(getattr(first, part), getattr(second, part))


def test_another_seed_is_another_split() -> None:
    triples = random_triples(0, 50, 300)
    splits = [split_heldout(triples, 50, 10, seed) for seed in range(20)]
    assert len({tuple(split.heldout) for split in splits}) == 20
    assert len({tuple(split.test[:, 1]) for split in splits}) == 20


def test_every_entity_is_held_out_equally_often() -> None:
    triples = random_triples(0, 20, 200)
    counts = np.bincount(np.concatenate([split_heldout(triples, 20, 5, seed).heldout for seed in range(2000)]))
    assert counts.shape == (20,)
    assert abs(counts - 500).max() < 100  # five standard deviations of a binomial


def test_a_seed_means_the_same_split_with_every_version_of_numpy() -> None:
    triples = np.array([(i, 0, (7 * i + 3) % 30) for i in range(30)])
    split = split_heldout(triples, 30, 6, seed=0)
    assert split.heldout.tolist() == [2, 3, 11, 13, 20, 21]
    assert split.test[:, 0].tolist() == [10, 20, 21]


def test_integer_types_are_kept() -> None:
    split = split_heldout(random_triples(0, 20, 100).astype(np.int32), 20, 4, seed=0)
    assert {getattr(split, part).dtype for part in PARTS} == {np.dtype(np.int32)}


@pytest.mark.parametrize("heldout", [-1, 0, 20, 21])
def test_the_number_held_out_must_leave_entities_on_both_sides(heldout: int) -> None:
    with pytest.raises(ConfigError, match=f"heldout={heldout} must be at least 1 and less than .*, 20$"):
        split_heldout(random_triples(0, 20, 100), 20, heldout, seed=0)


def test_an_empty_part_is_refused_by_name() -> None:
    star = np.array([(0, 0, leaf) for leaf in range(1, 20)])
    with pytest.raises(ConfigError, match=r"heldout=19 leaves no facts for train .*train 0"):
        split_heldout(star, 20, 19, seed=0)
    with pytest.raises(ConfigError, match=r"leaves no facts for observed and valid \(facts: train 18, .*test 1\)"):
        split_heldout(star, 20, 1, seed=next(s for s in range(99) if _heldout_of(s) != 0))
    with pytest.raises(ConfigError, match="no facts for train and observed and valid and test"):
        split_heldout(star[:0], 20, 1, seed=0)


def _heldout_of(seed: int) -> int:
    ring = np.array([(i, 0, (i + k) % 20) for i in range(20) for k in (1, 2, 3)])
    return int(split_heldout(ring, 20, 1, seed).heldout[0])


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(ConfigError, match="seed=-1 must not be negative"):
        split_heldout(random_triples(0, 20, 100), 20, 3, seed=-1)


@pytest.mark.parametrize(("entity", "message"), [(20, "from 0 to 19, found those from 0 to 20"), (-1, "from -1 to")])
def test_ids_out_of_range_are_refused(entity: int, message: str) -> None:
    triples = random_triples(0, 20, 100)
    triples[7, 2] = entity
    with pytest.raises(DataError, match=message):
        split_heldout(triples, 20, 3, seed=0)


@pytest.mark.parametrize(
    ("source", "name", "tolerance"),
    [
        ("WN18", "WNGen", 0.10),
        # a few hubs decide the size; the authors held out three of the ten largest, a quarter more facts than the mean
        ("FB15K", "FBGen", 0.30),
    ],
)
def test_sizes_are_near_the_published_ones(source: str, name: str, tolerance: float) -> None:
    folder = SHARED / "data" / source
    if not folder.is_dir():
        pytest.skip(f"needs {source} in ../shared/data")
    published = json.loads((SHARED / "paper" / "tables.json").read_text())["gen-sizes"][name]
    ids: dict[str, int] = {}
    ends = []
    for part in ("train", "valid", "test"):
        for line in gzip.decompress((folder / f"{part}.tsv.gz").read_bytes()).decode().splitlines():
            head, _, tail = line.split("\t")
            ends.append((ids.setdefault(head, len(ids)), 0, ids.setdefault(tail, len(ids))))
    splits = [split_heldout(np.array(ends), len(ids), published["heldout"], seed) for seed in range(5)]
    for part in PARTS:
        mean = np.mean([len(getattr(split, part)) for split in splits])
        assert mean == pytest.approx(published[part], rel=0.05 if part == "train" else tolerance)
