"""A sound file has no problems, and each promise that is broken from outside is found."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hmem.graph.values import Value
from hmem.knowledge.store.store import Store
from tests.knowledge.stores import DOG, PAW, WOLF, file_of


@pytest.mark.parametrize(
    ("harm", "problem"),
    [
        ("DROP INDEX fact_by_tail", "the index fact_by_tail is missing"),
        ("UPDATE fact SET head = 99 WHERE id = 1", "fact 1 points to nothing in the table entity"),
        ("DELETE FROM entity WHERE name = 'dog'", "3 rows of entity are numbered 0 to 3; expected 0 to 2"),
        ("DELETE FROM fact WHERE id = 2", "2 rows of fact are numbered 1 to 3; expected 1 to 2"),
        ("UPDATE moment SET at = 7 WHERE id = 2", "moments at which time runs backwards: 1"),
        ("UPDATE fact SET added = 2 WHERE id = 1", "facts that stand after facts that came later: 1"),
        (
            "UPDATE fact SET removed = added WHERE id = 1",
            "facts with a confidence outside 0 to 1, or removed before they were added: 1",
        ),
        (
            "UPDATE fact SET confidence = 7 WHERE id = 1",
            "facts with a confidence outside 0 to 1, or removed before they were added: 1",
        ),
        (
            "DROP INDEX fact_once; INSERT INTO fact (head, relation, tail, added) VALUES (0, 0, 1, 2)",
            "facts that are stored twice: 1",
        ),
        ("UPDATE value SET property = 9 WHERE id = 1", "value 1 points to nothing in the table property"),
        ("DELETE FROM value WHERE id = 1", "1 rows of value are numbered 2 to 2; expected 1 to 1"),
        ("UPDATE value SET number = 'many' WHERE id = 1", "rows of value with values of a wrong kind: 1"),
        ("UPDATE value SET text = '5' WHERE id = 1", "values that are stored twice: 1"),
        ("UPDATE value SET removed = 1 WHERE id = 2", "values that were removed before they were added: 1"),
        ("UPDATE value SET added = 4 WHERE id = 1", "values that stand after values that came later: 1"),
        ("DROP INDEX value_of_entity", "the index value_of_entity is missing"),
        ("UPDATE moment SET at = at + 3000000000000000 WHERE id = 2", "writes that are dated later than now: 1; all"),
        ("PRAGMA application_id = 7", "the application id is 7, not that of hmem"),
        ("DROP TABLE relation", "could not look into numbering"),
    ],
)
def test_harm_is_found(tmp_path: Path, harm: str, problem: str) -> None:
    with Store.create(tmp_path / "zoo.kb") as store:
        store.add([WOLF, DOG])
        store.add([PAW])
        store.values.set("wolf", "legs", [Value.of(4), Value.of(5)])
        assert store.check() == []
        with closing(sqlite3.connect(file_of(store))) as other:
            other.execute("PRAGMA ignore_check_constraints = ON")
            other.executescript(harm)
        assert any(found.startswith(problem) for found in store.check()), store.check()
