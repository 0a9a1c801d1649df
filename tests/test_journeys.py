"""What `tests/journeys.py` sees, and that an answer over HTTP takes the way that it takes in Python."""

import threading
from pathlib import Path

from hmem.errors import Hint, HMemError, hint_for_python
from hmem.knowledge.base import KnowledgeBase
from tests.journeys import Watch, journey, modules
from tests.serve.clients import DOG, client
from tests.serve.conftest import made_zoo, toy_model, zoo

__all__ = ["made_zoo", "toy_model", "zoo"]


def test_functions_are_listed_once_in_the_order_in_which_they_are_entered() -> None:
    def call() -> None:
        str(HMemError("a", hint=Hint(text="b")))
        str(HMemError("c"))

    hops = journey(call)
    entered = ["HMemError.__init__", "HMemError.__str__", "word", "_worded", "hint_for_python", "Hint.with_action"]
    assert [name for _, name in hops] == entered
    assert modules(hops) == ["hmem.errors"]
    assert journey(lambda: None) == []


def test_threads_that_are_started_meanwhile_are_seen() -> None:
    thread = threading.Thread(target=hint_for_python, args=[Hint(text="a")])
    with Watch() as hops:
        thread.start()
        thread.join()
    hint_for_python(Hint(text="b"))
    assert list(hops) == [("hmem.errors", "hint_for_python"), ("hmem.errors", "Hint.with_action")]


def test_an_answer_over_http_takes_the_way_that_it_takes_in_python(zoo: Path) -> None:
    with KnowledgeBase.open(zoo) as kb:
        kb.predict(DOG["entity"], DOG["relation"])
        in_python = journey(lambda: kb.predict(DOG["entity"], DOG["relation"]))
    with Watch() as hops, client(zoo, poll=60.0) as api:
        api.post("/predict", json={**DOG, "k": 9})  # another question, since answers are remembered
        hops.clear()
        assert api.post("/predict", json=DOG).status_code == 200
        over_http = list(hops)
    assert in_python[0] == ("hmem.knowledge.base", "KnowledgeBase.predict")
    assert ("hmem.serve.security", "Guard.__call__") in over_http
    answering = in_python.index(("hmem.knowledge.base", "KnowledgeBase.session"))
    beside = set(in_python[answering:]) - set(over_http)
    assert {module for module, _ in beside} <= {"hmem.knowledge.results"}
