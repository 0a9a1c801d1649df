import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hmem.knowledge import self_calibration
from hmem.knowledge.store.store import Store
from hmem.serve import service as module
from hmem.serve.errors import ApiError
from hmem.serve.events import News
from hmem.serve.service import Service
from hmem.serve.settings import Settings
from tests.knowledge.living import TOY_FACTS
from tests.serve.clients import DOG, fact
from tests.serve.conftest import Serve


@pytest.fixture
def slow() -> Iterator[threading.Event]:
    """Set in the end, so that nothing waits for it for good."""
    made = threading.Event()
    yield made
    made.set()


def test_what_takes_too_long_is_given_up_but_a_write_is_done(zoo: Path, slow: threading.Event) -> None:
    service = Service(zoo, Settings(allow_writes=True, timeout=0.05))

    def write(store: Store) -> int:
        slow.wait(30)
        return store.add([("a", "hypernym", "b")]).moment

    async def ask() -> list[str]:
        works = [service.read(lambda: slow.wait(30)), service.ask(lambda session: slow.wait(30)), service.write(write)]
        raised = await asyncio.gather(*works, return_exceptions=True)
        return [error.code for error in raised if isinstance(error, ApiError)]

    assert asyncio.run(ask()) == ["timeout"] * 3
    assert service.model.saved is None
    slow.set()
    service.close()
    with Store.open(zoo, read_only=True) as store:
        assert store.count()["facts"] == len(TOY_FACTS) + 1


def test_too_many_reads_are_turned_away(zoo: Path, slow: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_READS", 2)
    service = Service(zoo, Settings())

    async def ask() -> None:
        waiting = [asyncio.create_task(service.read(lambda: slow.wait(30))) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(ApiError, match="2 requests are waiting") as refused:
            await service.read(lambda: None)
        assert refused.value.code == "busy"
        slow.set()
        await asyncio.gather(*waiting)
        assert await service.read(lambda: 7) == 7

    asyncio.run(ask())
    service.close()


def test_too_many_writes_are_turned_away(zoo: Path, slow: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_WRITES", 2)
    service = Service(zoo, Settings(allow_writes=True))

    async def ask() -> None:
        waiting = [asyncio.create_task(service.write(lambda store: slow.wait(30))) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(ApiError, match="2 writes are waiting"):
            await service.write(lambda store: None)
        slow.set()
        await asyncio.gather(*waiting)
        assert await service.write(lambda store: store.moment) == 1

    asyncio.run(ask())
    service.close()


def test_what_was_written_is_counted_at_once(zoo: Path) -> None:
    service = Service(zoo, Settings(allow_writes=True))
    asyncio.run(service.write(lambda store: store.add([("a", "hypernym", "b")])))
    assert f"hmem_facts {len(TOY_FACTS) + 1}.0" in service.metrics.text().splitlines()
    service.close()


def test_without_writes_the_file_is_only_read(zoo: Path) -> None:
    service = Service(zoo, Settings())
    assert service.writer is None
    with pytest.raises(ApiError, match="does not accept writes"):
        asyncio.run(service.write(lambda store: None))
    service.close()


def test_reads_do_not_wait_for_the_model_or_for_a_write(zoo: Path, slow: threading.Event) -> None:
    service = Service(zoo, Settings(allow_writes=True))

    async def ask() -> None:
        asked = asyncio.create_task(service.ask(lambda session: slow.wait(30)))
        written = asyncio.create_task(service.write(lambda store: slow.wait(30)))
        await asyncio.sleep(0)
        assert await service.read(lambda: next(service.store.listing()).names) == TOY_FACTS[0]
        assert not asked.done()
        assert not written.done()
        slow.set()
        await asyncio.gather(asked, written)

    asyncio.run(ask())
    service.close()


@pytest.mark.parametrize(
    ("method", "path", "body", "hops"),
    [
        ("GET", "/health", None, []),
        ("GET", "/metrics", None, []),
        ("GET", "/entities?search=wolf", None, ["read"]),
        ("GET", "/ready", None, ["read"]),
        ("POST", "/predict", DOG, ["predict"]),
        ("POST", "/similar", {"entity": "dog.n.01"}, ["ask"]),
        ("POST", "/facts", {"facts": [fact("a", "hypernym", "b")]}, ["write"]),
        ("DELETE", "/facts", {"facts": [fact(*TOY_FACTS[0])]}, ["write"]),
    ],
)
def test_a_request_waits_for_one_other_thread_at_most(
    serve: Serve, zoo: Path, monkeypatch: pytest.MonkeyPatch, method: str, path: str, body: object, hops: list[str]
) -> None:
    monkeypatch.setattr(News, "look", lambda news: None)
    api = serve(zoo, allow_writes=True, poll=60.0)
    made: list[str] = []

    def counted(name: str) -> Callable[..., object]:
        usual = getattr(Service, name)

        def call(self: Service, *given: object) -> object:
            made.append(name)
            return usual(self, *given)

        return call

    with monkeypatch.context() as patched:
        for name in ("read", "ask", "predict", "write"):
            patched.setattr(Service, name, counted(name))
        assert api.request(method, path, json=body).status_code < 300
    assert made == hops


@pytest.mark.parametrize("may_write", [True, False])
def test_what_was_counted_for_probabilities_is_kept_before_the_first_question(
    tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch, may_write: bool
) -> None:
    monkeypatch.setattr(self_calibration, "FEWEST", 20)
    path = tmp_path / "a.kb"
    Store.create(path).close()
    with Store.open(path) as store:
        store.add(TOY_FACTS)
    serve(path, allow_writes=may_write)  # it is ready
    with Store.open(path, read_only=True) as store:
        assert (self_calibration.KEY in store.metas()) == may_write
