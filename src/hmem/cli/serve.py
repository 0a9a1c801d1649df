"""`hmem serve`: a knowledge base over HTTP, with a page to look at it."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hmem.cli import options, output
from hmem.errors import ConfigError, Place

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from hmem.serve.settings import Settings
    from hmem.serve.supervisor import Job

EXTRA = ("fastapi", "prometheus_client", "pydantic", "starlette", "uvicorn")
MOST_WORKERS = 64


def serve(
    kb: options.KnowledgeBase,
    host: Annotated[str, typer.Option(help="The address to listen on; 0.0.0.0 for every one this machine has.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 for any that is free.")] = 8000,
    allow_writes: Annotated[
        bool,
        typer.Option(
            "--allow-writes", help="Let this machine add and remove facts without a token, if HMEM_TOKEN is not set."
        ),
    ] = False,
    host_name: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A name under which the server is reached, behind a proxy for instance; may be repeated.",
        ),
    ] = None,
    workers: Annotated[
        int, typer.Option(min=1, max=MOST_WORKERS, help="Processes that answer, at one port and from one base.")
    ] = 1,
    timeout: Annotated[
        float, typer.Option(min=0.1, max=options.MOST_SECONDS, help="Seconds that a request may take.")
    ] = 30.0,
    log_level: Annotated[Literal["error", "warning", "info", "debug"], typer.Option(help="What to log.")] = "warning",
    device: options.Device = "cpu",
) -> None:
    """Serve a knowledge base: an HTTP API, and a page to search, ask and add facts.

    Writes need the token in the environment variable HMEM_TOKEN. Without one they are off, except on this machine with
    --allow-writes.
    """
    from hmem.serve.settings import Settings
    from hmem.serve.supervisor import serve as serve_together

    settings = Settings(
        host=host,
        token=os.environ.get("HMEM_TOKEN") or None,
        allow_writes=allow_writes,
        host_names=frozenset(name.lower() for name in host_name or ()),
        device=device,
        timeout=timeout,
    )
    writes = "with a token" if settings.token else "by all on this machine" if allow_writes else "off"

    def ready(url: str) -> None:
        by = f" by {workers} processes" if workers > 1 else ""
        output.note(f"{kb} is served at {url}{by} (writes: {writes}). Stop with Ctrl-C.")

    with suppress(KeyboardInterrupt):  # which is how it is meant to end
        if workers > 1:
            serve_together(kb, settings, port, workers=workers, work=_work, log_level=log_level, ready=ready)
        else:
            _serve_alone(kb, settings, port, log_level, ready)


@contextmanager
def _extra_needed() -> Iterator[None]:
    """Imports of what not everybody has installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in EXTRA:
            raise
        raise ConfigError(f"hmem serve needs {error.name}: pip install 'hmem[serve]'") from None


def _serve_alone(kb: Place, settings: "Settings", port: int, log_level: str, ready: Callable[[str], None]) -> None:
    with _extra_needed():
        from hmem.serve.server import serve as run
    run(kb, settings, port, log_level=log_level, ready=ready)


def _work(job: "Job", started: Callable[[], None], pipe: "Connection") -> None:
    """What each of several processes does; the one that starts them imports nothing of it."""
    with _extra_needed():
        from hmem.serve.worker import work
    work(job, started, pipe)
