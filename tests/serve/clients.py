"""Clients of a served knowledge base: in this process, and over a socket of this machine."""

import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from hmem.evaluation.calibration import Calibration
from hmem.evaluation.isotonic import Steps
from hmem.serve.app import create_app
from hmem.serve.server import Server
from hmem.serve.settings import Settings
from hmem.serve.sockets import bind, url_of

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it would rather have a successor of httpx, which nothing else needs yet
    from starlette.testclient import TestClient

HERE = "http://127.0.0.1"
DOG = {"entity": "dog.n.01", "relation": "hypernym"}
NEW = "dire_wolf.n.01"


def calibration() -> dict[str, Any]:
    """Of which the probabilities are known beforehand: 1/8 below log p = −1, 7/8 above."""
    import numpy as np

    steps = Steps(starts=np.array([-2.0, -1.0]), values=np.array([0.125, 0.875]))
    made = Calibration(steps=steps, questions=9, candidates=99, base_rate=0.1, error=0.02, top_error=0.03)
    return made.to_dict()


@contextmanager
def client(path: Path, *, wait: bool = True, **settings: Any) -> Iterator[TestClient]:
    """A client in this process; with `wait`, once the model is loaded."""
    app = create_app(path, Settings(**settings))
    with TestClient(app, base_url=HERE, raise_server_exceptions=False) as made:
        if wait:
            until(lambda: made.get("/ready").status_code == 200)
        yield made


@contextmanager
def served(path: Path | str, **settings: Any) -> Iterator[str]:
    """The address of a server in a thread of this process, on a free port."""
    chosen = Settings(**settings)
    with bind(chosen.host, 0) as bound:
        server = Server(create_app(path, chosen), patience=chosen.timeout)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        try:
            url = url_of(bound)
            until(lambda: httpx.get(f"{url}/ready").status_code == 200)
            yield url
        finally:
            server.stop()
            thread.join()


def until(happened: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait for something that happens soon; how soon does not matter."""
    for _ in range(round(50 * seconds)):
        if happened():
            return
        time.sleep(0.02)
    raise AssertionError("it never happened")


def fact(head: str, relation: str, tail: str, **more: object) -> dict[str, object]:
    return {"head": head, "relation": relation, "tail": tail, **more}


def error_of(answer: httpx.Response) -> dict[str, Any]:
    """The error in a response, which has the one shape that all have."""
    body = answer.json()
    assert set(body) == {"error"}
    assert set(body["error"]) == {"code", "message", "suggestion"}
    assert isinstance(body["error"]["message"], str)
    assert body["error"]["message"]
    assert all(isinstance(name, str) for name in body["error"]["suggestion"])
    assert "Traceback" not in answer.text
    error: dict[str, Any] = body["error"]
    return error


def code_of(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, error_of(answer)["code"]
