"""`hmem untrained` on the bundled graph."""

import json

from typer.testing import CliRunner

from hmem.cli.main import app


def test_it_prints_recall_by_degree() -> None:
    answer = CliRunner().invoke(app, ["untrained", "wordnet-mini", "--sample", "200", "--entity-dim", "64"])
    assert answer.exit_code == 0
    assert "200 stored links from untrained tpr memories" in answer.stdout
    assert "64+" in answer.stdout


def test_json_on_standard_output_is_all_there_is() -> None:
    arguments = [
        "untrained",
        "wordnet-mini",
        "--sample",
        "200",
        "--binding",
        "cconv",
        "--entity-dim",
        "32",
        "--json",
        "-",
    ]
    answer = CliRunner().invoke(app, arguments)
    found = json.loads(answer.stdout)
    assert found["settings"] == {"binding": "cconv", "entity_dim": 32, "relation_dim": 32}
    assert sum(part["count"] for part in found["recall"].values()) == 200


def test_a_relation_size_that_does_not_fit_is_refused() -> None:
    answer = CliRunner().invoke(app, ["untrained", "wordnet-mini", "--binding", "cconv", "--relation-dim", "3"])
    assert "relation_dim=3 must equal entity_dim=100" in str(answer.exception)
