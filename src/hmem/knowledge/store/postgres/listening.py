"""Hearing of the writes of others: PostgreSQL tells who listens."""

import threading
from collections.abc import Callable

from hmem.errors import StoreError
from hmem.knowledge.store.postgres.server import Server

TURN = 1.0  # seconds after which the thread looks whether it should end
AGAIN_AFTER = 2.0  # seconds without a connection


def listen(server: Server, base: str, tell: Callable[[], object]) -> Callable[[], None]:
    """Call `tell` in a thread of its own whenever the base was written, until what is returned is called.

    It is also called when a connection was made anew, since something may have been missed. Behind a pooler that lends
    connections for a transaction each, nothing is heard.
    """
    ended = threading.Event()

    def hear() -> None:
        while not ended.is_set():
            try:
                with server.connected() as raw:
                    raw.execute("LISTEN hmem")
                    tell()
                    while not ended.is_set():
                        if base in [notice.payload for notice in raw.notifies(timeout=TURN, stop_after=1)]:
                            tell()
            except (StoreError, server.psycopg.Error):
                ended.wait(AGAIN_AFTER)

    threading.Thread(target=hear, name="hmem-listen", daemon=True).start()
    return ended.set
