"""`hmem demo` on the part of ATT&CK that is about phones: the story it tells, not how well it ends."""

import pytest
from typer.testing import CliRunner

from hmem.cli import demo
from hmem.cli.main import app
from hmem.errors import ConfigError
from hmem.graph import dated
from hmem.knowledge import newcomers, self_calibration
from hmem.knowledge.explanation import Reason, Reasons


@pytest.fixture(scope="module")
def told() -> str:
    facts = dated.dated_facts()
    mobile = {fact.head for fact in facts if fact.tail == "mobile-attack"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dated, "dated_facts", lambda: [fact for fact in facts if fact.head in mobile])
        patch.setattr(demo, "SHOWN", ("SpyC23",))
        patch.setattr(self_calibration, "MOST", self_calibration.LEAST)
        patch.setattr(newcomers, "MOST", newcomers.LEAST)
        answer = CliRunner().invoke(app, ["demo", "--until", "2024-03"])
    assert answer.exit_code == 0, answer.exception
    return answer.stdout


def test_a_newcomer_is_answered_about_with_a_reason_and_what_became_of_it(told: str) -> None:
    about = told.split("March 2024: SpyC23, a new malware. A report says that it uses")[1].split("\n\n")[0]
    lines = about.split("Look for\n")[1].splitlines()
    assert "because " in lines[1]
    answers = [lines[0], *lines[2:]]
    assert len(answers) == 5
    assert all("%" in line and ("right, reported in" in line or "not reported so far" in line) for line in answers)
    assert any("right, reported in March 2024" in line for line in answers)
    given = [line.strip() for line in about.split("Look for")[0].splitlines() if line.strip()]
    assert len(given) == 3
    assert not any(name in line for name in given for line in answers)


def test_it_ends_with_a_summary_and_what_to_type_next(told: str) -> None:
    number = int(told.split("All ")[1].split()[0])
    for row in ("hmem, from three facts", "what most others use"):
        assert row in told
        assert f" {5 * number} " in told.split(row)[1].split("\n")[0]
    assert "hmem predict attack.kb" in told


def test_names_without_their_ids() -> None:
    assert demo.plain("Native API (T1106)") == "Native API"
    assert demo.plain("Virtual Private Network (VPN) Server") == "Virtual Private Network (VPN) Server"
    assert demo.listed(["a"]) == "a"
    assert demo.listed(["a", "b", "c"]) == "a, b and c"


def test_a_reason_that_is_no_example_is_told_as_it_is() -> None:
    reason = Reason(kind="fact", facts=(("spy", "uses", "tool (S1)"),), contribution=1.0)
    about = {"fact": ("spy", "uses", "x"), "score": 0.0, "total": None, "probability": None, "stored": False}
    assert demo.why(Reasons([reason], **about)) == "because spy uses tool"  # type: ignore[arg-type]
    assert demo.why(Reasons([], **about)) == "though no single fact decides it"  # type: ignore[arg-type]


@pytest.mark.parametrize("month", ["never", "2020-01", "2024-13"])
def test_only_months_that_are_there_can_be_asked_for(month: str) -> None:
    answer = CliRunner().invoke(app, ["demo", "--until", month])
    assert isinstance(answer.exception, ConfigError)
    assert str(answer.exception) == f'"{month}": expected a month from 2024-01 to 2025-12'
