import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hmem.errors import CheckpointError
from hmem.evaluation.calibration import Calibration, calibration_of
from hmem.knowledge.base import KnowledgeBase
from tests.knowledge.conftest import MakeBase, ModelFolder
from tests.knowledge.living import NEWCOMERS, TOY_FACTS


def some_calibration() -> Calibration:
    log_p = np.linspace(-8, 0, 50)
    return calibration_of(log_p, log_p > -3, np.arange(50) % 5 == 4, np.arange(50) // 5)


@pytest.fixture(params=["recall", "tpr"])
def calibrated(request: pytest.FixtureRequest, tmp_path: Path, model_folder: ModelFolder) -> Path:
    folder = Path(shutil.copytree(model_folder(request.param), tmp_path / "calibrated"))
    (folder / "metrics.json").write_text(json.dumps({"calibration": some_calibration().to_dict()}))
    return folder


def test_probabilities_are_those_of_the_calibration(make_base: MakeBase, calibrated: Path) -> None:
    kb = make_base(None)
    kb.use_model(calibrated)
    kb.add(NEWCOMERS[0], "hypernym", "wolf.n.01")
    table = some_calibration()
    found = kb.predict("wolf.n.01", "hyponym", 100, new_only=False)
    with kb.session() as session:
        live = session.live
        asked = np.array([live.entity("wolf.n.01")] * len(found)), np.array([live.relation("hyponym") + 4] * len(found))
        judged = session.predictor.judge(*asked, np.array([live.entity(row.tail) for row in found]))
    assert [row.probability for row in found] == pytest.approx(table.probability(judged.log_p, judged.leads).tolist())
    assert any(row.known for row in found)
    for row in found[:5]:
        assert kb.explain(*row.names).probability == pytest.approx(row.probability)
        assert kb.score_many([row.names])[0].probability == pytest.approx(row.probability)
    missing = [row.probability or 0.0 for row in kb.missing("wolf.n.01", 50)]
    assert missing == sorted(missing, reverse=True)
    assert "%" in repr(found)


def test_who_has_outgrown_all_of_training_has_no_probability(make_base: MakeBase, calibrated: Path) -> None:
    made = replace(some_calibration(), most=np.array([2, 3, 1, 1, 2, 3, 1, 1]))
    (calibrated / "metrics.json").write_text(json.dumps({"calibration": made.to_dict()}))
    kb = make_base(None)
    kb.use_model(calibrated)
    pups = [(f"pup{number}", "hypernym", "dog.n.01") for number in range(30)]
    before = kb.predict("dog.n.01", "hyponym")
    kb.add_many(pups)
    assert kb.has_outgrown("dog.n.01")
    asked = ("dog.n.01", "hypernym", "cat.n.01")
    tables = kb.predict(*asked[:2]), kb.missing("dog.n.01"), kb.score_many([asked]), [kb.explain(*asked)]
    for table in tables:
        assert {row.probability for row in table} == {None}
    assert not kb.has_outgrown("pup0")
    both = kb.score_many([asked, ("pup0", "hypernym", "cat.n.01")])
    assert [row.probability is None for row in both] == [True, False]
    kb.remove_many(pups)
    assert kb.predict("dog.n.01", "hyponym").to_dicts() == before.to_dicts()
    assert all(row.probability is not None for row in before)


def test_a_calibration_that_cannot_be_read_is_told(tmp_path: Path, model_folder: ModelFolder) -> None:
    folder = Path(shutil.copytree(model_folder("recall"), tmp_path / "model"))
    (folder / "metrics.json").write_text('{"calibration": {"method": "tea leaves"}}')
    with (
        KnowledgeBase.create(tmp_path / "zoo.kb", model=folder, facts=TOY_FACTS) as kb,
        pytest.raises(CheckpointError, match=r"the calibration in metrics\.json cannot be used"),
    ):
        kb.predict("dog.n.01", "hypernym")
