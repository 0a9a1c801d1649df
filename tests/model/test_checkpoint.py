import json
import re
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.torch import load_file, save_file

import hmem
from hmem.errors import CheckpointError
from hmem.graph.names import Vocabulary
from hmem.model import checkpoint
from hmem.model.build import build
from hmem.model.checkpoint import (
    BUNDLED,
    FORMAT,
    Model,
    load,
    model_folder,
    save,
)
from hmem.model.hmem import HMem
from hmem.model.presets import PRESETS
from hmem.sqlite_files import SAVED
from tests.laws import examples
from tests.model.problems import every_question, index_of, memory_of, random_facts, small

NASTY = ["", "a\tb", "a\nb", "a\r\nb", "\\", "\\t", "a\\", "\\\\n", '"q"', "'", "\u2028", "\x85", "\ufeff", "\0", "𝔼 é"]
names = st.lists(st.text(max_size=12), min_size=1, max_size=8, unique=True)


def saved_model(preset: str = "recall", entities: list[str] | None = None, relations: list[str] | None = None) -> Any:
    vocab = Vocabulary(entities or [f"e{i}" for i in range(9)], relations or ["r0", "r1", "r2"])
    torch.manual_seed(0)
    config = small(preset)
    model = build(config, len(vocab.entities), len(vocab.relations))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter))
    if isinstance(model, HMem):
        model.is_trained[0] = False
    return Model(model=model, config=config, vocab=vocab, dataset="toy", preset=preset, metrics={"note": 1})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save(tmp_path / "model", saved_model())
    return tmp_path / "model"


def weights(path: Path) -> dict[str, torch.Tensor]:
    tensors: dict[str, torch.Tensor] = load_file(path / "model.safetensors")
    return tensors


def everything_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def refusal(folder: Path) -> str:
    with pytest.raises(CheckpointError) as caught:
        load(folder)
    return str(caught.value)


# There and back


@pytest.mark.parametrize("preset", list(PRESETS))
def test_a_model_comes_back_bit_for_bit(preset: str, tmp_path: Path) -> None:
    saved = saved_model(preset)
    save(tmp_path / "deep" / "model", saved)
    back = load(tmp_path / "deep" / "model")
    for name, value in saved.model.state_dict().items():
        assert torch.equal(back.model.state_dict()[name], value), name
    assert (back.config, back.vocab, back.dataset, back.preset) == (saved.config, saved.vocab, "toy", preset)
    assert back.metrics == {"note": 1}
    assert not back.model.training
    query, graph = every_question(), index_of(random_facts(0))
    assert torch.equal(back.model(query, graph), saved.model.eval()(query, graph))


@given(entities=names, relations=names)
@examples(10)
def test_any_names_come_back(entities: list[str], relations: list[str], tmp_path_factory: Any) -> None:
    folder = tmp_path_factory.mktemp("names")
    save(folder, saved_model("tpr-inf", entities, relations))
    back = load(folder)
    assert back.vocab.entities.to_list() == entities
    assert back.vocab.relations.to_list() == relations


def test_nasty_names_come_back_and_are_one_line_each(tmp_path: Path) -> None:
    save(tmp_path, saved_model("eravg", NASTY, ["is\ta", "\\"]))
    assert (tmp_path / "entities.tsv").read_bytes().count(b"\n") == len(NASTY)
    assert b"\t" not in (tmp_path / "entities.tsv").read_bytes()
    back = load(tmp_path).vocab
    assert (back.entities.to_list(), back.relations.to_list()) == (NASTY, ["is\ta", "\\"])


def test_the_folder_holds_what_the_design_says(folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} == set(SAVED)
    settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert {key: settings[key] for key in settings if key not in ("config", "names")} == {
        "format": FORMAT,
        "model": "hmem",
        "preset": "recall",
        "dataset": "toy",
        "num_entities": 9,
        "num_relations": 3,
    }
    assert settings["config"]["memory"]["stiffness"] == "inf"
    assert (folder / "entities.tsv").read_text(encoding="utf-8").splitlines()[:2] == ["e0", "e1"]
    assert json.loads((folder / "metrics.json").read_text(encoding="utf-8")) == {"note": 1}
    with safe_open(folder / "model.safetensors", framework="pt") as file:
        assert file.metadata() == {"format": "pt"}


def test_others_may_read_it(folder: Path) -> None:
    for path in folder.iterdir():
        assert path.stat().st_mode & stat.S_IRGRP, path.name


def test_a_model_without_metrics_can_be_used(folder: Path) -> None:
    (folder / "metrics.json").unlink()
    assert load(folder).metrics == {}


# Replacing


def test_replacing_keeps_the_logs_and_nothing_of_the_old_model(folder: Path) -> None:
    (folder / "log.jsonl").write_text("{}\n")
    (folder / "notes").mkdir()
    (folder / "notes" / "mine.txt").write_text("keep")
    save(folder, saved_model("tpr", ["x", "y"], ["r"]))
    assert {path.name for path in folder.iterdir()} == {*SAVED, "log.jsonl", "notes"}
    assert (folder / "log.jsonl").read_text() == "{}\n"
    assert (folder / "notes" / "mine.txt").read_text() == "keep"
    assert load(folder).vocab.entities.to_list() == ["x", "y"]
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


def test_the_folder_may_be_the_one_we_are_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.txt").write_text("keep")
    monkeypatch.chdir(tmp_path)
    save(Path(), saved_model())
    assert (tmp_path / "mine.txt").read_text() == "keep"
    assert load(Path()).preset == "recall"
    assert {path.name for path in Path().iterdir()} == {*SAVED, "mine.txt"}


@pytest.mark.parametrize("exists", [True, False])
def test_nothing_is_left_behind_when_saving_fails(
    exists: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "model"
    if exists:
        save(folder, saved_model())
        (folder / "log.jsonl").write_text("{}\n")
    before = everything_in(tmp_path)

    def full(*_: object, **__: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "model_card", full)  # the last file to be written
    with pytest.raises(OSError, match="No space left"):
        save(folder, saved_model("tpr"))
    assert everything_in(tmp_path) == before
    assert folder.exists() is exists


def test_a_folder_that_is_half_replaced_is_no_model(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed between two files: not loaded, rather than loaded with another model's names."""
    moved: list[str] = []

    def replace(source: Path, target: Path) -> None:
        if len(moved) == 4:
            raise KeyboardInterrupt
        moved.append(target.name)
        shutil.move(source, target)

    monkeypatch.setattr(checkpoint, "write_tensors", lambda path, tensors, metadata: save_file(tensors, path, metadata))
    monkeypatch.setattr("os.replace", replace)
    with pytest.raises(KeyboardInterrupt):
        save(folder, saved_model("tpr", ["x", "y"], ["r"]))
    assert "entities.tsv" in moved
    assert "not a model folder" in refusal(folder)


def test_a_file_in_the_way_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "model").write_text("mine")
    with pytest.raises(FileExistsError):
        save(tmp_path / "model", saved_model())
    assert (tmp_path / "model").read_text() == "mine"


# Folders that cannot be used


def test_not_a_folder_or_none_of_ours(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "nowhere", tmp_path, tmp_path / "file"):
        assert refusal(path) == f"{path}: not a model folder (no config.json); make one: hmem train DATA --out DIR"
    (tmp_path / "training.safetensors").write_text("")
    assert refusal(tmp_path) == (
        f"{tmp_path}: not a model folder yet: its training was interrupted; go on with it: hmem.fit(…, resume=True)"
    )


@pytest.mark.parametrize("version", [FORMAT + 1, 99, "2", None])
def test_a_newer_format(folder: Path, version: object) -> None:
    edit(folder, format=version)
    assert refusal(folder) == (
        f"{folder / 'config.json'}: format {version}, this hmem reads up to {FORMAT}; upgrade hmem"
    )


@pytest.mark.parametrize("content", ["", "{", "[1, 2]", "3", '{"settings": 1}', "\udcff", "[" * 99_999], ids=range(7))
def test_garbage_for_settings(folder: Path, content: str) -> None:
    (folder / "config.json").write_bytes(content.encode("utf-8", "surrogateescape"))
    assert refusal(folder).startswith(f"{folder / 'config.json'}: not the settings of a model (")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"config": None}, "config is None, expected an object"),
        ({"config": []}, "config is [], expected an object"),
        ({"num_entities": "9"}, "num_entities is '9', expected a whole number"),
        ({"num_relations": 2.5}, "num_relations is 2.5, expected a whole number"),
        ({"config": {"memory": {"stifness": 2}}}, 'unknown setting "stifness" in [memory]; did you mean stiffness?'),
        ({"config": {"memory": {"entity_dim": "wide"}}}, "memory.entity_dim='wide': expected int"),
        ({"config": {"memory": {"stiffness": -1}}}, "memory.stiffness=-1.0 must be more than 0.25"),
        (
            {"config": {"memory": {"margin": 0.3}}},
            "memory.margin=0.3: it is 0.25 in every model now, and no setting any more",
        ),
        ({"config": {"memry": {}}}, 'unknown setting "memry"; did you mean memory?'),
    ],
)
def test_wrong_settings(folder: Path, changes: dict[str, object], message: str) -> None:
    edit(folder, **changes)
    assert refusal(folder) == f"{folder / 'config.json'}: {message}"


@pytest.mark.parametrize("name", ["config", "num_entities", "num_relations"])
def test_missing_settings(folder: Path, name: str) -> None:
    settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    del settings[name]
    (folder / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    assert refusal(folder) == f"{folder / 'config.json'}: {name} is missing"


@pytest.mark.parametrize("kept", [0.0, 0.001, 0.1, 0.3, 0.7, 0.999])
def test_a_truncated_file(folder: Path, kept: float) -> None:
    path = folder / "model.safetensors"
    whole = path.read_bytes()
    path.write_bytes(whole[: int(kept * len(whole))])
    assert refusal(folder).startswith(f"{path}: not a whole safetensors file (")


def test_no_weights_at_all(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    assert refusal(folder) == (
        f"{folder / 'model.safetensors'}: no such file; a model folder has config.json and model.safetensors"
    )


def test_something_else_in_place_of_the_weights(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"\x80\x04\x95pickled" * 20)
    assert "not a whole safetensors file" in refusal(folder)


@pytest.mark.parametrize(
    ("tamper", "message"),
    [
        (
            lambda tensors: {**tensors, "embeddings.entity": tensors["embeddings.entity"][:, :5].contiguous()},
            "embeddings.entity has shape (9, 5) of torch.float32, expected (9, 6) of torch.float32; "
            "config.json and the weights do not belong together",
        ),
        (
            lambda tensors: {**tensors, "exact.null": tensors["exact.null"].double()},
            "exact.null has shape (6,) of torch.float64, expected (6,) of torch.float32; "
            "config.json and the weights do not belong together",
        ),
        (
            lambda tensors: {name: tensors[name] for name in tensors if name != "exact.null"},
            "the tensor exact.null is missing",
        ),
        (lambda tensors: {**tensors, "zzz": torch.ones(1)}, "unexpected tensor zzz"),
    ],
)
def test_tampered_weights(
    folder: Path, tamper: Callable[[dict[str, torch.Tensor]], dict[str, torch.Tensor]], message: str
) -> None:
    path = folder / "model.safetensors"
    save_file(tamper(weights(folder)), path)
    assert refusal(folder) == f"{path}: {message}"


def test_a_model_from_before_there_were_kinds_can_be_read(folder: Path) -> None:
    before = weights(folder)
    save_file({name: before[name] for name in before if name != "kinds"}, folder / "model.safetensors")
    assert refusal(folder) == f"{folder / 'model.safetensors'}: the tensor kinds is missing"
    settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps(settings | {"format": 1}), encoding="utf-8")
    model = memory_of(load(folder).model)
    assert not model.kinds.any()
    assert torch.equal(model.embeddings.entity, before["embeddings.entity"])


def test_settings_of_another_model(folder: Path) -> None:
    settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    settings["config"]["memory"]["entity_dim"] = 7
    (folder / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    assert "config.json and the weights do not belong together" in refusal(folder)


@pytest.mark.parametrize("kind", ["entities", "relations"])
def test_missing_or_foreign_names(folder: Path, kind: str) -> None:
    path = folder / f"{kind}.tsv"
    count = {"entities": 9, "relations": 3}[kind]
    path.write_text("one\ntwo\n", encoding="utf-8")
    assert refusal(folder) == f"{path}: expected {count} names, found 2; is it from another model?"
    path.write_bytes(b"\xff\xfe\n")
    assert refusal(folder) == f"{path}: not UTF-8 text (invalid start byte at byte 0)"
    path.unlink()
    assert refusal(folder) == f"{path}: no such file; without the names of its ids a model cannot be used"


@pytest.mark.parametrize("content", ["{", "[]", "[" * 99_999], ids=range(3))
def test_garbage_for_metrics(folder: Path, content: str) -> None:
    (folder / "metrics.json").write_text(content)
    assert refusal(folder).startswith(f"{folder / 'metrics.json'}: ")
    assert refusal(folder).endswith("without the file the model can still be used")


def test_no_pickle_is_ever_read_or_written() -> None:
    """Nothing in the package could: not by name, and not through torch or numpy.

    But for the processes of one training, which hand each other what they share (docs/scale.md).
    """
    forbidden = re.compile(
        r"torch\.(load|save)\b|from torch import .*\b(load|save)\b|\b(pickle|cPickle|dill|joblib|shelve)\b(?! is)"
        r"|allow_pickle|weights_only|np\.load\b|torch\.jit\.load"
    )
    package = Path(hmem.__file__).parent
    sources = sorted(set(package.rglob("*.py")) - {package / "training" / "processes.py"})
    assert len(sources) > 40
    guilty = [
        f"{path}:{number}: {line.strip()}"
        for path in sources
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if forbidden.search(line)
    ]
    assert guilty == []
    assert forbidden.search("import pickle")
    assert forbidden.search("torch.load(path)")


def edit(folder: Path, **changes: object) -> None:
    path = folder / "config.json"
    settings = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**settings, **changes}), encoding="utf-8")


def test_base_is_the_bundled_model_unless_there_is_such_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert model_folder("base") == model_folder(Path("base")) == BUNDLED
    assert model_folder("models/base") == Path("models/base")
    (tmp_path / "base").mkdir()
    assert model_folder("base") == Path("base")
