"""A dataset says what memories are built from, which answers are filtered, and which entities are candidates."""

import gzip
import inspect
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmem.errors import ConfigError, DataError
from hmem.graph.dataset import Dataset, GraphName, load_facts, load_folder, load_tables
from hmem.graph.names import Vocabulary
from hmem.graph.readers import text
from hmem.graph.triples import Triples, as_triples

Row = tuple[str, str, str]

TRAIN: list[Row] = [("a", "r", "b"), ("b", "r", "c"), ("c", "s", "a"), ("a", "s", "c")]
VALID: list[Row] = [("a", "r", "c")]
TEST: list[Row] = [("b", "s", "a"), ("d", "r", "a")]


def write(path: Path, rows: list[Row]) -> None:
    text = "".join("\t".join(row) + "\n" for row in rows)
    with gzip.open(path, "wt", encoding="utf-8") if path.suffix == ".gz" else open(path, "w", encoding="utf-8") as file:
        file.write(text)


def table_of(rows: list[Row]) -> pa.Table:
    return pa.table(dict(zip(("head", "relation", "tail"), map(list, zip(*rows, strict=True)), strict=True)))


def names_of(dataset: Dataset, triples: Triples) -> list[Row]:
    vocab = dataset.vocab
    return [(vocab.entities[h], vocab.relations[r], vocab.entities[t]) for h, r, t in triples.tolist()]


def error_of(load: Callable[[Path], Dataset], path: Path) -> str:
    with pytest.raises(DataError) as caught:
        load(path)
    return str(caught.value)


@pytest.mark.parametrize("train", ["train.tsv", "train.txt", "train.tsv.gz", "train"])
@pytest.mark.parametrize("valid", ["valid.tsv", "validation.txt", "val.tsv.gz", "dev.tsv"])
def test_a_folder_with_three_files(train: str, valid: str, tmp_path: Path) -> None:
    write(tmp_path / train, TRAIN)
    write(tmp_path / valid, VALID)
    write(tmp_path / "test.tsv", TEST)
    write(tmp_path / "training_notes.tsv", TEST)  # another name, so not looked at
    (tmp_path / "names.tsv").write_text("a\tAmy\n")
    dataset = load_folder(tmp_path)
    assert dataset.name == tmp_path.name
    assert [names_of(dataset, part) for part in (dataset.train, dataset.valid, dataset.test)] == [TRAIN, VALID, TEST]
    assert list(dataset.vocab.entities) == ["a", "b", "c", "d"]
    assert list(dataset.vocab.relations) == ["r", "s"]
    assert (dataset.num_entities, dataset.num_relations, dataset.num_roles) == (4, 2, 4)
    assert (dataset.observed, dataset.heldout, dataset.heldin()) == (None, None, None)
    assert (dataset.duplicates, dataset.notes) == (0, ())
    assert load_folder(tmp_path, "mine").name == "mine"


def test_openke_ids(tmp_path: Path) -> None:
    (tmp_path / "entity2id.txt").write_text("2\nx\t0\ny\t1\n")
    (tmp_path / "relation2id.txt").write_text("1\nr\t0\n")
    for split in ("train", "valid", "test"):
        (tmp_path / f"{split}2id.txt").write_text("1\n1 0 0\n")  # head, tail, relation
    dataset = load_folder(tmp_path)
    assert names_of(dataset, dataset.test) == [("y", "r", "x")]


def test_repeated_facts_are_dropped_and_counted_within_each_file() -> None:
    dataset = load_tables(
        "twice", {"train": table_of(TRAIN + TRAIN[:3]), "valid": table_of(VALID * 2), "test": table_of(TRAIN)}
    )
    assert names_of(dataset, dataset.train) == TRAIN
    assert names_of(dataset, dataset.test) == TRAIN
    assert dataset.duplicates == 4


def test_two_files_for_one_split(tmp_path: Path) -> None:
    write(tmp_path / "train.tsv", TRAIN)
    write(tmp_path / "train.txt.gz", TRAIN)
    assert error_of(load_folder, tmp_path) == f"{tmp_path}: train.tsv and train.txt.gz are both a train file; keep one"


def test_two_aliases_of_one_split(tmp_path: Path) -> None:
    write(tmp_path / "train.tsv", TRAIN)
    write(tmp_path / "valid.tsv", VALID)
    write(tmp_path / "dev.tsv", VALID)
    assert error_of(load_folder, tmp_path) == f"{tmp_path}: dev.tsv and valid.tsv are both a valid file; keep one"


def test_no_train_file(tmp_path: Path) -> None:
    wanted = f"{tmp_path}: expected a file named train.tsv, train.txt or similar; found "
    assert error_of(load_folder, tmp_path) == wanted + "nothing"
    write(tmp_path / "test.tsv", TEST)
    (tmp_path / "train").mkdir()  # a folder is no file
    assert error_of(load_folder, tmp_path) == wanted + "test.tsv, train"


def test_observed_facts_without_a_list_of_held_out_entities(tmp_path: Path) -> None:
    for split in ("train", "valid", "test", "observed"):
        write(tmp_path / f"{split}.tsv", TRAIN)
    assert error_of(load_folder, tmp_path) == (
        f"{tmp_path}: observed.tsv tells of held-out entities; expected heldout.tsv to list them"
    )


def test_a_bad_file_is_named(tmp_path: Path) -> None:
    write(tmp_path / "train.tsv", TRAIN)
    (tmp_path / "test.tsv").write_text("a\tr\tb\na\tr\n")
    assert error_of(load_folder, tmp_path).startswith(f"{tmp_path / 'test.tsv'}:2: ")


@pytest.fixture
def gen(tmp_path: Path) -> Dataset:
    write(tmp_path / "train.tsv", [("a", "r", "b"), ("b", "s", "a")])
    write(tmp_path / "observed.tsv.gz", [("new", "r", "a")])
    write(tmp_path / "valid.tsv", [("new", "s", "b")])
    write(tmp_path / "test.tsv", [("a", "s", "new"), ("newer", "r", "b")])
    (tmp_path / "heldout.tsv").write_text("new\r\n\nnewer\nnéver seen\n", encoding="utf-8")
    return load_folder(tmp_path, "gen")


def test_held_out_entities(gen: Dataset) -> None:
    assert gen.heldout is not None
    assert [gen.vocab.entities[entity] for entity in gen.heldout.tolist()] == ["new", "newer", "néver seen"]
    heldin = gen.heldin()
    assert heldin is not None
    assert [gen.vocab.entities[entity] for entity in heldin.tolist()] == ["a", "b"]
    assert gen.num_entities == 5
    assert gen.observed is not None
    assert names_of(gen, gen.observed) == [("new", "r", "a")]


def test_observed_facts_are_always_in_the_inference_graph(gen: Dataset) -> None:
    assert names_of(gen, gen.inference_triples("train")) == [("a", "r", "b"), ("b", "s", "a"), ("new", "r", "a")]
    assert names_of(gen, gen.inference_triples("train+valid"))[-1] == ("new", "s", "b")
    assert len(gen.inference_triples("train+valid")) == 4


def facts(triples: Triples) -> set[tuple[int, ...]]:
    return set(map(tuple, triples.tolist()))


@pytest.mark.parametrize("graph", ["train", "train+valid"])
def test_the_inference_graph_never_holds_test_facts(toy: Dataset, graph: GraphName) -> None:
    expected = facts(toy.train) | (facts(toy.valid) if graph == "train+valid" else set())
    assert facts(toy.inference_graph(graph).to_triples()) == expected
    assert not expected & facts(toy.test)


def test_what_is_filtered(toy: Dataset, gen: Dataset) -> None:
    assert facts(toy.filter_graph().to_triples()) == facts(toy.train) | facts(toy.valid) | facts(toy.test)
    assert facts(toy.everything()) == facts(toy.filter_graph().to_triples())
    assert len(gen.filter_graph().to_triples()) == len(gen.everything()) == 6
    assert toy.filter_graph().num_entities == toy.num_entities


def test_splits_by_name(toy: Dataset) -> None:
    assert [toy.split(name) is getattr(toy, name) for name in ("train", "valid", "test")] == [True] * 3


def test_a_graph_is_train_or_train_and_valid() -> None:
    empty = as_triples([])
    dataset = Dataset(name="none", vocab=Vocabulary(), train=empty, valid=empty, test=empty)
    with pytest.raises(ConfigError, match='graph is "train" or "train\\+valid", not "test"'):
        inspect.unwrap(Dataset.inference_triples)(dataset, "test")


def test_a_single_file_is_split_on_the_spot(tmp_path: Path) -> None:
    rows = [(f"e{head}", "r", f"e{tail}") for head in range(10) for tail in range(10)]
    write(tmp_path / "facts.tsv", rows)
    dataset = load_facts(tmp_path / "facts.tsv")
    assert dataset.name == "facts.tsv"
    assert (len(dataset.train), len(dataset.valid), len(dataset.test)) == (90, 5, 5)
    assert dataset.notes == (
        "no valid or test file: 5 for valid and 5 for test taken from train at random (the same each time)",
    )
    again = load_facts(tmp_path / "facts.tsv")
    assert all(np.array_equal(again.split(split), dataset.split(split)) for split in ("train", "valid", "test"))


def test_a_table_in_memory_is_split_like_a_file() -> None:
    rows = [(f"e{head}", "r", f"e{tail}") for head in range(10) for tail in range(10)]
    frame = pd.DataFrame(rows, columns=["from", "type", "to"])
    for dataset, name in ((load_facts(frame), "DataFrame"), (load_facts(rows), "list")):
        assert dataset.name == name
        assert (len(dataset.train), len(dataset.valid), len(dataset.test)) == (90, 5, 5)
        assert "5 for valid and 5 for test taken from train" in dataset.notes[0]


def test_a_dataset_shows_its_sizes_and_notes() -> None:
    rows = [(f"e{head}", "r", f"e{tail}") for head in range(10) for tail in range(10)]
    assert repr(load_facts(rows)) == (
        "Dataset('list': 10 entities, 1 relations, 90 train, 5 valid, 5 test; "
        "no valid or test file: 5 for valid and 5 for test taken from train at random (the same each time))"
    )


def test_a_path_may_be_a_string(tmp_path: Path) -> None:
    for split, rows in (("train", TRAIN), ("valid", VALID), ("test", TEST)):
        write(tmp_path / f"{split}.tsv", rows)
    assert load_folder(str(tmp_path)).name == tmp_path.name
    assert load_facts(str(tmp_path / "train.tsv")).name == "train.tsv"
    with pytest.raises(DataError, match="nowhere: no such file or folder"):
        load_folder(str(tmp_path / "nowhere"))
    with pytest.raises(DataError, match=r"train\.tsv: expected a folder, found a file"):
        load_folder(str(tmp_path / "train.tsv"))


def test_a_first_row_that_may_be_a_heading_is_noted(tmp_path: Path) -> None:
    rows = "".join(f"e{number},r,e{number + 1}\n" for number in range(30))
    (tmp_path / "facts.csv").write_text(f"Who,What,Whom\n{rows}")
    dataset = load_facts(tmp_path / "facts.csv")
    assert dataset.notes[0] == (
        "the first row of facts.csv was read as a fact (Who, What, Whom); "
        "if it is a heading, delete that row or give the option header"
    )
    assert ("Who", "What", "Whom") in names_of(dataset, dataset.everything())
    assert len(load_facts(tmp_path / "facts.csv", header=True).notes) == 1  # about the splits
    assert len(load_facts(tmp_path / "facts.csv", header=False).notes) == 1
    (tmp_path / "facts.csv").write_text(f"head_id,relation_type,tail_id\n{rows}")
    dataset = load_facts(tmp_path / "facts.csv")
    assert (len(dataset.everything()), len(dataset.notes)) == (30, 1)
    (tmp_path / "facts.csv").write_text(f"head,relation,tail\nWho,What,Whom\n{rows}")  # under a heading
    assert len(load_facts(tmp_path / "facts.csv").notes) == 1


@pytest.mark.parametrize("first", ["Who,r,Whom", "e29,What,Whom", "Who,What,e29"])
@pytest.mark.parametrize("block", [1 << 22, 64])
def test_a_first_row_that_shares_a_name_with_others_is_a_fact(
    first: str, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text, "_BLOCK", block)  # bytes; a small one makes a table of many chunks
    rows = "".join(f"e{number},r,e{number + 1}\n" for number in range(30))
    (tmp_path / "facts.csv").write_text(f"{first}\n{rows}")
    assert len(load_facts(tmp_path / "facts.csv").notes) == 1


def test_options_reach_the_reader(tmp_path: Path) -> None:
    (tmp_path / "facts.csv").write_text("kind;from;to\nr;a;b\n")
    dataset = load_facts(tmp_path / "facts.csv", delimiter=";", header=True, columns=("from", "kind", "to"))
    assert names_of(dataset, dataset.everything()) == [("a", "r", "b")]


def test_one_missing_split_is_taken_from_train(tmp_path: Path) -> None:
    write(tmp_path / "train.tsv", [(f"e{head}", "r", f"e{tail}") for head in range(10) for tail in range(10)])
    write(tmp_path / "test.tsv", [("e0", "r", "x")])
    dataset = load_folder(tmp_path)
    assert (len(dataset.train), len(dataset.valid), len(dataset.test)) == (95, 5, 1)
    assert dataset.notes == ("no valid file: 5 for valid taken from train at random (the same each time)",)


names = st.sampled_from("abcdef")


@given(st.lists(st.tuples(names, st.sampled_from("rst"), names), min_size=1, max_size=60), st.booleans())
def test_a_split_on_the_spot_keeps_all_names_in_train(rows: list[Row], has_valid: bool) -> None:
    tables = {"train": table_of(rows), **({"valid": table_of(VALID)} if has_valid else {})}
    dataset = load_tables("any", tables)
    kept, taken = names_of(dataset, dataset.train), names_of(dataset, dataset.test)
    if not has_valid:
        taken += names_of(dataset, dataset.valid)
        assert len(dataset.valid) == len(dataset.test)
    assert sorted(kept + taken) == sorted(set(rows))  # nothing is lost, and nothing is in two places
    assert {name for head, _, tail in kept for name in (head, tail)} == {
        name for head, _, tail in rows for name in (head, tail)
    }
    assert {relation for _, relation, _ in kept} == {relation for _, relation, _ in rows}
    told = f"{len(dataset.test)} for test taken from train" if len(dataset.test) else "too few facts to take any"
    assert told in dataset.notes[0]


def test_what_a_model_inferred_is_not_learned_from() -> None:
    table = pa.table({"head": ["a", "b"], "relation": ["r", "r"], "tail": ["b", "c"], "inferred_by": [None, "base"]})
    dataset = load_tables("mixed", {"train": table, "valid": table.slice(0, 0), "test": table.slice(0, 0)})
    assert dataset.vocab.entities.to_list() == ["a", "b"]
    with pytest.raises(DataError, match="found only such as a model inferred"):
        load_tables("inferred", {"train": table.slice(1)})
