"""A new name that may be an old one misspelt is pointed out."""

from pathlib import Path
from typing import Any

import pytest

from hmem.knowledge.store.records import Written
from hmem.knowledge.store.store import Store
from tests.cli.conftest import Command


@pytest.fixture
def kb(command: Command) -> str:
    with Store.create("zoo.kb") as store:
        store.add([("dog.n.01", "_hypernym", "canine.n.02"), ("dog.n.01", "_has_part", "flag.n.07"), ("!", "?", "☃")])
    return "zoo.kb"


def test_a_relation_that_may_be_misspelt_is_doubted(command: Command, kb: str) -> None:
    assert command("facts", "add", kb, "dog.n.01", "_hypernim", "canine.n.02").err == (
        "new relation: _hypernim; there is also _hypernym\n"
    )
    assert command("facts", "add", kb, "dog.n.01", "barks_at", "canine.n.02").err == "new relation: barks_at\n"


def test_so_it_is_among_many_facts(command: Command, kb: str) -> None:
    rows = "dog.n.01\t_has_prat\tflag.n.07\ndog.n.01\tbarks_at\tcanine.n.02\n"
    doubt = "new relation: _has_prat; there is also _has_part\n"
    assert command("facts", "add", kb, "-", given=rows).err == doubt
    Path("rows.tsv").write_text(rows.replace("_has_prat", "_hypernymm"))
    assert command("facts", "import", kb, "rows.tsv").err == "new relation: _hypernymm; there is also _hypernym\n"
    assert command("facts", "import", kb, "rows.tsv").err == ""


def test_names_without_letters_look_like_nothing_else(command: Command, kb: str) -> None:
    assert command("facts", "add", kb, "?!", "!!", "☂").err == "new entity: ?!\nnew entity: ☂\nnew relation: !!\n"


def test_names_of_another_process_are_not_told(command: Command, kb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as those of a large import that ends while a fact is added."""
    add = Store.add

    def and_another(store: Store, *arguments: Any, **options: Any) -> Written:
        with Store.open(kb) as other:
            add(other, [("theirs", "written", "too")])
        return add(store, *arguments, **options)

    monkeypatch.setattr(Store, "add", and_another)
    assert command("facts", "add", kb, "ours", "_hypernym", "dog.n.01").err == "new entity: ours\n"


def test_an_entity_that_may_be_misspelt_is_doubted(command: Command, kb: str) -> None:
    rows = "flag.n.7\t_hypernym\tdig.n.01\nflg.n.07\t_hypernym\tacnine.n.02\ndog.n.02\t_hypernym\tcanone.n.03\n"
    assert command("facts", "add", kb, "-", given=rows).err == (
        "new entity: dig.n.01; there is also dog.n.01\n"
        "new entity: flg.n.07; there is also flag.n.07\n"
        "new entity: acnine.n.02; there is also canine.n.02\n"
    )
    said = command("facts", "add", kb, "canine.n.2", "_hypernym", "canines.n.02").err
    assert said == "new entity: canine.n.2\nnew entity: canines.n.02; there is also canine.n.02\n"


def test_swapped_columns_are_doubted(command: Command, kb: str) -> None:
    Path("rows.tsv").write_text("_hypernym\tdog.n.01\tcanine.n.02\n")
    assert command("facts", "import", kb, "rows.tsv").err == (
        "new relation: dog.n.01; that is an entity, too: are the columns in order?\n"
        "new entity: _hypernym; that is a relation, too: are the columns in order?\n"
    )
