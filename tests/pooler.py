"""A pooler before PostgreSQL that lends a session for one transaction, as PgBouncer does: the next has another one."""

import random
import select
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def pooled(port: int) -> Iterator[int]:
    """The port of a pooler before the server at another one."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        pooler = _Pooler(port)
        accepting = threading.Thread(target=pooler.accept, args=(listener,))
        accepting.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        accepting.join()
        pooler.close()


class _Pooler:
    def __init__(self, port: int) -> None:
        self._port = port
        self._free: list[socket.socket] = []
        self._lock = threading.Lock()
        self._chance = random.Random(0)
        self._all: list[socket.socket] = []
        self._threads: list[threading.Thread] = []

    def accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._threads.append(threading.Thread(target=self._serve, args=(client,)))
                self._threads[-1].start()

    def close(self) -> None:
        """Once all clients have gone."""
        for thread in self._threads:
            thread.join()
        for session in self._all:
            session.close()

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(EOFError, OSError):
            size = _read(client, 4)
            begin = size + _read(client, struct.unpack("!I", size)[0] - 4)
            session, greeting = self._session(begin)
            client.sendall(greeting)
            self._free.append(session)
            lent: socket.socket | None = None
            while True:
                for each in select.select([client] if lent is None else [client, lent], [], [])[0]:
                    message = _message(each)
                    if message[:1] == b"X":  # the client leaves
                        return
                    if each is client:
                        lent = lent or self._lend(begin)
                        lent.sendall(message)
                        continue
                    client.sendall(message)
                    if message[:1] == b"Z" and message[5:] == b"I" and lent is not None:  # no transaction is open
                        self._free.append(lent)
                        lent = None

    def _lend(self, begin: bytes) -> socket.socket:
        """Any session that is free."""
        with self._lock:
            if self._free:
                return self._free.pop(self._chance.randrange(len(self._free)))
        return self._session(begin)[0]

    def _session(self, begin: bytes) -> tuple[socket.socket, bytes]:
        session = socket.create_connection(("127.0.0.1", self._port))
        self._all.append(session)
        session.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        session.sendall(begin)
        greeting = b""
        while True:
            message = _message(session)
            greeting += message
            if message[:1] == b"Z":
                return session, greeting


def _read(end: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        some = end.recv(count - len(found))
        if not some:
            raise EOFError
        found += some
    return found


def _message(end: socket.socket) -> bytes:
    head = _read(end, 5)
    return head + _read(end, struct.unpack("!I", head[1:])[0] - 4)
