import json

import pytest

from hmem.errors import (
    CheckpointError,
    ConfigError,
    DataError,
    EmptyNeighborhoodError,
    Hint,
    HMemError,
    NonFiniteError,
    StiffnessError,
    StoreError,
    UnknownNameError,
    UntrainedRelationError,
    shown,
)
from hmem.graph.names import unknown_name
from hmem.serve.errors import CODES, ApiError, answer, code_of, worded


@pytest.mark.parametrize(
    ("error", "code", "status"),
    [
        (UnknownNameError("x"), "unknown_name", 404),
        (unknown_name("entity", "x"), "unknown_name", 404),
        (UntrainedRelationError("x"), "not_trained", 409),
        (EmptyNeighborhoodError("x"), "no_facts", 409),
        (ConfigError("x"), "invalid", 422),
        (DataError("x"), "invalid", 422),
        (StoreError("x"), "store", 503),
        (CheckpointError("x"), "store", 503),
        (StiffnessError("x"), "internal", 500),
        (NonFiniteError("x"), "internal", 500),
        (ApiError("busy", "x"), "busy", 503),
    ],
)
def test_every_error_of_the_library_has_a_code(error: HMemError, code: str, status: int) -> None:
    assert code_of(error) == code
    assert answer(code, "x").status_code == status


def test_errors_have_one_shape() -> None:
    for code, (status, _) in CODES.items():
        made = answer(code, "what happened", ["a name"])
        assert made.status_code == status
        assert made.media_type == "application/json"
        assert json.loads(bytes(made.body)) == {
            "error": {"code": code, "message": "what happened", "suggestion": ["a name"]}
        }


def test_a_message_is_short_and_always_text() -> None:
    told = json.loads(bytes(answer("invalid", "\ud800" + "x" * 1000).body))["error"]
    assert told["message"] == "?" + "x" * 499
    assert told["suggestion"] == []
    assert shown("x" * 100) == "x" * 77 + "..."


def test_a_message_says_neither_where_files_lie_nor_what_to_type() -> None:
    hint = Hint(text="bring it up to date", command="hmem kb use /srv/zoo.kb m", call="kb.use_model(folder)")
    assert worded(StoreError("{path} is old", path="/srv/zoo.kb", hint=hint)) == "zoo.kb is old; bring it up to date"
    assert worded(StoreError("is old", path="/srv/zoo.kb", hint=Hint(command="rm -r /"))) == "zoo.kb: is old"
