import shutil
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hmem.knowledge.base import KnowledgeBase
from hmem.knowledge.model_link import ModelLink
from hmem.knowledge.store.store import Store
from hmem.model.checkpoint import Model
from tests.knowledge.living import TOY_FACTS
from tests.serve.clients import DOG, client, code_of, error_of, fact, until
from tests.serve.conftest import Serve

if TYPE_CHECKING:
    from starlette.testclient import TestClient


def test_alive_and_ready(reader: "TestClient") -> None:
    assert reader.get("/health").json() == {"status": "ok"}
    assert reader.get("/ready").json() == {"status": "ready", "model": "toy", "moment": 1}


def test_a_base_without_a_model_of_its_own_is_ready(serve: Serve, tmp_path: Path) -> None:
    KnowledgeBase.create(tmp_path / "bare.kb", facts=TOY_FACTS).close()
    assert serve(tmp_path / "bare.kb").get("/ready").json() == {"status": "ready", "model": "any-graph", "moment": 1}


def test_not_ready_while_the_model_loads(zoo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go, load = threading.Event(), ModelLink.load

    def slow(self: ModelLink, store: Store, device: str) -> Model:
        go.wait(30)
        return load(self, store, device)

    monkeypatch.setattr(ModelLink, "load", slow)
    with client(zoo, wait=False) as api:
        answer = api.get("/ready")
        assert code_of(answer) == (503, "loading")
        assert answer.headers["retry-after"] == "1"
        assert api.get("/health").status_code == 200
        until(lambda: api.get("/graph").json()["model"] is not None)
        assert api.get("/graph").json()["model"]["status"] == "loading"
        assert len(api.get("/facts").json()["facts"]) == len(TOY_FACTS)
        go.set()
        until(lambda: api.get("/ready").status_code == 200)
        assert api.post("/predict", json=DOG).status_code == 200


def test_a_model_that_is_gone_is_told_and_found_again(
    tmp_path: Path, toy_model: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shutil.copytree(toy_model, tmp_path / "model")
    KnowledgeBase.create(tmp_path / "zoo.kb", model=tmp_path / "model", facts=TOY_FACTS).close()
    (tmp_path / "model").rename(tmp_path / "elsewhere")
    with client(tmp_path / "zoo.kb", wait=False) as api:
        until(lambda: code_of(api.get("/ready")) == (503, "store"))
        until(lambda: api.get("/graph").json()["model"]["status"] == "trouble")
        answer = api.post("/predict", json=DOG)
        assert code_of(answer) == (503, "store")
        assert "is not where it was" in error_of(answer)["message"]
        assert str(tmp_path) not in answer.text + api.get("/graph").text
        assert "the model cannot be used" in caplog.text
        assert len(api.get("/facts").json()["facts"]) == len(TOY_FACTS)
        (tmp_path / "elsewhere").rename(tmp_path / "model")
        until(lambda: api.get("/ready").status_code == 200)
        assert api.post("/predict", json=DOG).status_code == 200


def test_another_model_is_taken_up_while_serving(api: "TestClient", zoo: Path, toy_model: Path, tmp_path: Path) -> None:
    shutil.copytree(toy_model, tmp_path / "second")
    assert api.get("/model").json()["name"] == "toy"
    with KnowledgeBase.open(zoo) as kb:
        kb.use_model(tmp_path / "second")
    assert api.get("/model").json()["name"] == "second"
    until(lambda: api.get("/ready").json().get("model") == "second")


def test_metrics(api: "TestClient") -> None:
    api.post("/predict", json={"queries": [DOG, {**DOG, "direction": "head"}]})
    api.post("/predict", json={"entity": "dig.n.01", "relation": "hypernym"})
    api.post("/facts", json={"facts": [fact("a", "hypernym", "dog.n.01")]})
    for path in ("/nowhere", "/nor/here", "/static/nothing"):
        api.get(path)
    answer = api.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=1.0.0; charset=utf-8"
    lines = answer.text.splitlines()
    for line in (
        'hmem_requests_total{method="POST",route="/predict",status="200"} 1.0',
        'hmem_requests_total{method="POST",route="/predict",status="404"} 1.0',
        'hmem_requests_total{method="POST",route="/facts",status="201"} 1.0',
        'hmem_requests_total{method="GET",route="other",status="404"} 2.0',
        'hmem_requests_total{method="GET",route="/static",status="404"} 1.0',
        'hmem_request_seconds_count{route="/predict"} 2.0',
        'hmem_batch_questions_bucket{le="1.0"} 0.0',
        'hmem_batch_questions_bucket{le="2.0"} 1.0',
        "hmem_batch_questions_sum 2.0",
        f"hmem_facts {len(TOY_FACTS) + 1}.0",
        "hmem_moment 2.0",
        "hmem_listeners 0.0",
        "hmem_model_ready 1.0",
    ):
        assert line in lines
