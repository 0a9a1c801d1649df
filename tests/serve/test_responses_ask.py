import math

import pytest

from hmem.serve.responses_ask import AnswerOut


@pytest.mark.parametrize(("score", "told"), [(-0.5, -0.5), (-math.inf, None), (math.nan, None), (None, None)])
def test_a_score_is_a_number_or_nothing(score: float | None, told: float | None) -> None:
    row = {"rank": 1, "answer": "a", "score": score, "probability": None, "if_missing": None, "stored": True}
    assert AnswerOut.model_validate(row).model_dump()["score"] == told
