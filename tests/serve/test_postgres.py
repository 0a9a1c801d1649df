"""Servers that share a base in PostgreSQL."""

from pathlib import Path

import httpx
import pytest

from hmem.knowledge.base import KnowledgeBase
from hmem.knowledge.copying import copy
from tests.knowledge.store.postgres.test_connection import on_the_side
from tests.postgres import postgres
from tests.serve.clients import NEW, fact, served
from tests.serve.test_events import FACT, listening

ASKED = {"entity": NEW, "relation": "hyponym", "direction": "head"}


@pytest.fixture
def address(zoo: Path) -> str:
    made = postgres().new_address()
    copy(zoo, made)
    return made


@pytest.mark.network
def test_servers_hear_of_each_other(zoo: Path, address: str) -> None:
    # They would ask once a minute: what they know earlier, the database has told them.
    with served(address, allow_writes=True, poll=60.0) as one, served(address, poll=60.0) as other:
        with listening(other) as listener:
            body = {"facts": [fact(*FACT)], "source": "me"}
            assert httpx.post(f"{one}/facts", json=body).json()["moment"] == 2
            told = listener.next()["data"]
            assert (told["moment"], told["added"], told["by"]) == (2, [list(FACT)], "me")
        answers = [httpx.post(f"{url}/predict", json=ASKED).json() for url in (one, other)]
    with KnowledgeBase.open(zoo) as kb:  # the same base in a file answers the same
        kb.add(*FACT, source="me")
    with served(zoo) as third:
        answers.append(httpx.post(f"{third}/predict", json=ASKED).json())
    assert answers[0] == answers[1] == answers[2]


@pytest.mark.network
def test_a_server_outlives_its_connections(address: str) -> None:
    with served(address, allow_writes=True) as url:
        for number in range(3):
            on_the_side(
                address,
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'hmem %'",
            )
            body = {"facts": [fact(NEW, "hypernym", f"animal {number}")]}
            assert httpx.post(f"{url}/facts", json=body).json()["moment"] == 2 + number
            assert httpx.post(f"{url}/predict", json=ASKED).status_code == 200
            assert httpx.get(f"{url}/graph").json()["moment"] == 2 + number
