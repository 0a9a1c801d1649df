"""No command replaces a knowledge base, a part of a model or what it reads, whatever it is told to write where.

All parameters of all commands are walked through: a new one is an output and tried here, or is said to be none.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from hmem.cli.main import app
from tests.cli.conftest import QUICK, Command, tabbed
from tests.conftest import TOY_TRAIN

# Every command with all it needs; OUT is a new name
LINES = {
    "train": f"facts.tsv --out OUT {' '.join(QUICK)}",
    "tune": "facts.tsv --out OUT --budget 1s --device cpu",
    "evaluate": "model facts.tsv",
    "predict": "zoo.kb dog.n.01 hypernym",
    "explain": "zoo.kb dog.n.01 hypernym canine.n.02",
    "missing": "zoo.kb dog.n.01",
    "audit": "zoo.kb",
    "similar": "zoo.kb dog.n.01",
    "sparql": "zoo.kb ASK{}",
    "duplicates": "zoo.kb",
    "index": "facts.tsv --out OUT",
    "merge": "zoo.kb dog.n.01 canine.n.02",
    "serve": "zoo.kb",
    "demo": "",
    "untrained": "facts.tsv",
    "pretrain": "facts.tsv --out OUT --steps 1",
    "reproduce": "degree --quick",
    "kb create": "OUT.kb --facts facts.tsv",
    "kb copy": "zoo.kb OUT.kb",
    "kb index": "zoo.kb",
    "kb info": "zoo.kb",
    "kb check": "zoo.kb",
    "kb compact": "zoo.kb",
    "kb use": "zoo.kb model",
    "kb drift": "zoo.kb",
    "facts add": "zoo.kb a hypernym b",
    "facts remove": "zoo.kb dog.n.01 hypernym canine.n.02",
    "facts revise": "zoo.kb dog.n.01 hypernym canine.n.02 --confidence 0.5",
    "facts withdraw": "zoo.kb",
    "facts list": "zoo.kb",
    "facts history": "zoo.kb",
    "facts import": "zoo.kb facts.tsv",
    "facts undo": "zoo.kb 1",
    "facts writes": "zoo.kb",
    "facts export": "zoo.kb OUT.tsv",
    "entities import": "zoo.kb names.tsv",
    "entities show": "zoo.kb dog.n.01",
    "entities describe": "zoo.kb dog.n.01 --label Dog",
    "entities kinds": "zoo.kb",
    "entities rename": "zoo.kb dog.n.01 hound.n.01",
    "entities remove": "zoo.kb dog.n.01",
    "entities set": "zoo.kb dog.n.01 legs 4",
    "values": "zoo.kb",
    "data list": "",
    "data show": "facts.tsv",
    "data fetch": "toy",
    "data gen": "facts.tsv --heldout 2 --out OUT",
    "data import": "facts.tsv --out OUT",
    "baseline": "rules facts.tsv",
    "figures capacity": "--quick --out OUT",
    "figures degree": "--model model --data facts.tsv --quick --out OUT",
    "figures growth": "--model model --data facts.tsv --quick --out OUT",
    "figures harmony": "--quick --out OUT",
    "figures traversal": "--data facts.tsv --quick --out OUT",
}
# Parameters that say where something is written; by name, or by command and name where others have the same name
FILES = {
    "json_path",
    "csv_path",
    "missing out",
    "audit out",
    "duplicates out",
    "facts export file",
    "kb copy target",
    "kb create kb",
    "reproduce results",
    "reproduce baselines",
}
FOLDERS = {"out", "reproduce models", "reproduce figures"}
# `plot` begins the name of two pictures, which end in .png and .svg
NO_OUTPUTS = """
    alias allow_writes and_later as_of assignments at baselines below binding breakdowns budget caption check columns
    combine commit confidence config_file data datatype delimiter description device direction draws dry_run entities
    entity entity_dim epochs everything fact facts file files fine_tune format_ from_kb from_scratch graph graphs
    group having head header heldout history host host_name in_parts inferred inverse k kb kept kind label language
    least limit log_level minutes model moment name names new old_tail other overwrite plot port preset processes
    property_ protocol query quick relation relation_dim resume retrain rows_folder rules sample seed seeds
    short_names source split steps store tail timeout unit until valid_from valid_until values values_ verify weights
    with_inferred workers
"""


def commands(found: Any, *path: str) -> Iterator[tuple[str, Any]]:
    """All commands below one, by name."""
    for name, each in getattr(found, "commands", {}).items():
        yield from commands(each, *path, name)
    if not getattr(found, "commands", {}):
        yield " ".join(path), found


def outputs() -> list[tuple[str, str, Any]]:
    """Every command with every parameter that says where it writes: command, kind, parameter."""
    found = []
    for name, command in commands(typer.main.get_command(app)):
        for parameter in command.params:
            known = {str(parameter.name), f"{name} {parameter.name}"}
            if known & (FILES | FOLDERS):
                found.append((name, "file" if known & FILES else "folder", parameter))
            else:
                assert str(parameter.name) in NO_OUTPUTS.split(), f"is {known} an output? Say so in this file"
    return found


def line(name: str, parameter: Any, target: str) -> list[str]:
    """The words of a command that writes to `target`."""
    words = [*name.split(), *LINES[name].split()]
    if parameter.param_type_name == "argument":
        place = next(place for place, word in enumerate(words) if word.startswith("OUT"))
        return [*words[:place], target, *words[place + 1 :], *(["--format", "tsv"] if name == "facts export" else [])]
    if parameter.opts[0] in words:
        place = words.index(parameter.opts[0])
        del words[place : place + 2]
    return [word.replace("OUT", "new") for word in words] + [parameter.opts[0], target]


def state(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Which files there are and what they hold, without those that SQLite keeps beside a base."""
    paths = [path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(("-wal", "-shm"))]
    return {str(path): (path.stat().st_ino, path.read_bytes()) for path in paths}


@pytest.fixture
def at_stake(zoo: str, tmp_path: Path) -> Path:
    (tmp_path / "facts.tsv").write_text(tabbed(TOY_TRAIN))
    os.symlink("zoo.kb", tmp_path / "link")
    os.link(tmp_path / "zoo.kb", tmp_path / "other.kb")
    return tmp_path


def test_every_command_is_tried() -> None:
    assert {name for name, _ in commands(typer.main.get_command(app))} == LINES.keys()
    kinds = [kind for _, kind, _ in outputs()]
    assert (kinds.count("file"), kinds.count("folder")) == (58, 13)


@pytest.mark.slow
def test_no_output_of_any_command_replaces_a_base_or_a_model(at_stake: Path, command: Command) -> None:
    before = state(at_stake)
    for name, kind, parameter in outputs():
        targets = ["zoo.kb", "link", "other.kb"]
        targets += ["model/config.json", "model/metrics.json"] if kind == "file" else ["facts.tsv"]
        targets += ["model"] if kind == "folder" and not name.startswith(("figures", "reproduce")) else []
        for target in targets:
            answer = command(*line(name, parameter, target))
            told = f"{name} {parameter.opts[0]} {target}: {answer}"
            assert answer.code in (1, 2), told
            assert "Traceback" not in answer.err, told
            assert answer.err.splitlines()[-1].startswith("hmem: "), told
            after = state(at_stake)
            assert {path: after.get(path) for path in before} == before, told


@pytest.mark.parametrize(
    "words",
    [
        "facts import zoo.kb facts.tsv --json facts.tsv",
        "kb create new.kb --facts facts.tsv --json facts.tsv",
        "data show facts.tsv --json facts.tsv",
        "data gen facts.tsv --heldout 5 --out new --json facts.tsv",
        "data import facts.tsv --out new --json facts.tsv",
        "untrained facts.tsv --json facts.tsv",
        "baseline rules facts.tsv --json ./toy/../facts.tsv",
        "evaluate model facts.tsv --json soft.tsv",
        f"train facts.tsv --out new {' '.join(QUICK)} --config settings.toml --json settings.toml",
        f"train read/entities.tsv --out read --overwrite {' '.join(QUICK)}",
    ],
)
def test_no_output_replaces_what_is_read(at_stake: Path, command: Command, words: str) -> None:
    os.symlink("facts.tsv", at_stake / "soft.tsv")
    (at_stake / "settings.toml").write_text("[training]\nepochs = 1\n")
    (at_stake / "read").mkdir()
    shutil.copy("facts.tsv", at_stake / "read" / "entities.tsv")
    before = state(at_stake)
    answer = command(*words.split())
    assert answer.code in (1, 2), answer
    assert "is what is read here, and is not overwritten" in answer.err.splitlines()[-1], answer
    after = state(at_stake)
    assert {path: after.get(path) for path in before} == before
