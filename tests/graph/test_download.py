"""Downloads against a real HTTP server on this machine, with everything that goes wrong on the way."""

import gzip
import hashlib
import io
import re
import socket
import subprocess
import sys
import tarfile
import threading
import time
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from hmem.errors import DownloadError
from hmem.graph import download
from hmem.graph.catalog import Entry, Source
from hmem.graph.download import fetch

pytestmark = pytest.mark.network

TEXTS = {
    "train": "".join(f"dog{number}\thypernym\tcanine{number % 7}\n" for number in range(20_000)).encode(),
    "valid": b"wolf\thypernym\tcanine1\n",
    "test": "füchse\thypernym\tcanine2\n".encode(),
}


class Server:
    """A web server whose manners a test can spoil."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.requests: list[tuple[str, str | None]] = []  # path and Range
        self.knows_ranges = True
        self.send_at_most: list[int] = []  # bytes of the body that the next requests get, under a full Content-Length
        self.statuses: list[int] = []  # answers to the next requests, in place of the file
        self.shift = 0  # how far off the ranges are that it sends
        self.stalls = False  # after the bytes of `send_at_most`, keep the connection open
        self.gone = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.answer(self)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        wanted = request.headers.get("Range")
        self.requests.append((request.path, wanted))
        body = self.files.get(request.path)
        status = self.statuses.pop(0) if self.statuses else 200 if body is not None else 404
        if status != 200 or body is None:
            request.send_error(status)
            return
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and self.knows_ranges else None
        if start is not None and start >= len(body):
            request.send_response(416)
            request.send_header("Content-Range", f"bytes */{len(body)}")
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        if start is not None:
            start += self.shift
            request.send_response(206)
            request.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        else:
            request.send_response(200)
        body = body[start:]
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body[: self.send_at_most.pop(0)] if self.send_at_most else body)
        request.wfile.flush()
        if self.stalls:
            self.gone.wait(20)

    def stop(self) -> None:
        self.gone.set()
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(download, "PAUSES", (0.0, 0.0))
    running = Server()
    yield running
    running.stop()


def tar(members: Mapping[str, bytes], links: Mapping[str, str] | None = None) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        for name, goal in (links or {}).items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, goal
            archive.addfile(info)
    return packed.getvalue()


def toy(source: Source | None) -> Entry:
    return Entry(
        name="Toy",
        folder="Toys/Toy",
        entities=20_009,
        relations=1,
        rows={split: text.count(b"\n") for split, text in TEXTS.items()},
        sha256={split: hashlib.sha256(text).hexdigest() for split, text in TEXTS.items()},
        license="none",
        citation="none",
        origin="here",
        source=source,
        instead="make one",
    )


@pytest.fixture
def archived(server: Server) -> Entry:
    """The toy dataset in one archive, whose members stand in a folder."""
    server.files["/toy.tar.gz"] = tar({"README": b"", **{f"toy/{split}.txt": text for split, text in TEXTS.items()}})
    members = {split: f"{split}.txt" for split in TEXTS}
    return toy(Source(archive=f"{server.url}/toy.tar.gz", files=members))


@pytest.fixture
def loose(server: Server) -> Entry:
    """The toy dataset as three text files."""
    server.files |= {f"/{split}.txt": text for split, text in TEXTS.items()}
    return toy(Source(files={split: f"{server.url}/{split}.txt" for split in TEXTS}))


def contents(root: Path) -> dict[str, bytes]:
    """Every file below `root`; those of a dataset folder decompressed."""
    found = {}
    for path in root.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            found[path.relative_to(root).as_posix()] = gzip.decompress(content) if path.suffix == ".gz" else content
    return found


COMPLETE = {f"Toys/Toy/{split}.tsv.gz": text for split, text in TEXTS.items()}


def test_an_archive_becomes_a_folder(server: Server, archived: Entry, tmp_path: Path) -> None:
    seen: list[tuple[str, int, int | None]] = []
    assert fetch(archived, tmp_path / "data", lambda *report: seen.append(report)) == tmp_path / "data" / "Toys" / "Toy"
    assert contents(tmp_path / "data") == COMPLETE
    assert sorted(path.name for path in (tmp_path / "data").rglob("*")) == sorted(
        ["Toys", "Toy", "train.tsv.gz", "valid.tsv.gz", "test.tsv.gz"]
    )
    size = len(server.files["/toy.tar.gz"])
    assert seen[0] == ("Toys-Toy-toy.tar.gz", 0, size)
    assert seen[-1] == ("Toys-Toy-toy.tar.gz", size, size)
    assert server.requests == [("/toy.tar.gz", None)]


def test_loose_files_become_a_folder(loose: Entry, tmp_path: Path) -> None:
    fetch(loose, tmp_path)
    assert contents(tmp_path) == COMPLETE


def test_a_zip_archive_becomes_a_folder(server: Server, archived: Entry, tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for split, text in TEXTS.items():
            archive.writestr(f"toy/{split}.txt", text)
    server.files["/toy.tar.gz"] = packed.getvalue()
    fetch(archived, tmp_path)
    assert contents(tmp_path) == COMPLETE


def test_other_columns_line_ends_and_marks_become_canonical(server: Server, loose: Entry, tmp_path: Path) -> None:
    assert loose.source is not None
    for split, text in TEXTS.items():
        rows = [line.split("\t") for line in text.decode().splitlines()]
        turned = "\r\n".join(f"{relation}\t{head} \t{tail}" for head, relation, tail in rows)
        server.files[f"/{split}.txt"] = b"\xef\xbb\xbf" + turned.encode() + b"\r\n\r\n"
    fetch(replace(loose, source=replace(loose.source, columns="rht")), tmp_path)
    assert contents(tmp_path) == COMPLETE


def test_a_partial_file_is_resumed(server: Server, archived: Entry, tmp_path: Path) -> None:
    (tmp_path / "Toys-Toy-toy.tar.gz.part").write_bytes(server.files["/toy.tar.gz"][:1000])
    fetch(archived, tmp_path)
    assert server.requests == [("/toy.tar.gz", "bytes=1000-")]
    assert contents(tmp_path) == COMPLETE


def test_a_complete_partial_file_is_not_sent_again(server: Server, archived: Entry, tmp_path: Path) -> None:
    whole = server.files["/toy.tar.gz"]
    (tmp_path / "Toys-Toy-toy.tar.gz.part").write_bytes(whole)
    fetch(archived, tmp_path)
    assert server.requests == [("/toy.tar.gz", f"bytes={len(whole)}-")]
    assert contents(tmp_path) == COMPLETE


def test_a_server_that_ignores_ranges_starts_anew(server: Server, archived: Entry, tmp_path: Path) -> None:
    server.knows_ranges = False
    (tmp_path / "Toys-Toy-toy.tar.gz.part").write_bytes(server.files["/toy.tar.gz"][:1000])
    fetch(archived, tmp_path)
    assert server.requests == [("/toy.tar.gz", "bytes=1000-")]
    assert contents(tmp_path) == COMPLETE


def test_a_partial_file_that_is_too_long_starts_anew(server: Server, archived: Entry, tmp_path: Path) -> None:
    whole = server.files["/toy.tar.gz"]
    (tmp_path / "Toys-Toy-toy.tar.gz.part").write_bytes(whole + b"more")
    fetch(archived, tmp_path)
    assert server.requests == [("/toy.tar.gz", f"bytes={len(whole) + 4}-"), ("/toy.tar.gz", None)]
    assert contents(tmp_path) == COMPLETE


def test_another_range_than_asked_for_starts_anew(server: Server, archived: Entry, tmp_path: Path) -> None:
    server.shift = 1
    (tmp_path / "Toys-Toy-toy.tar.gz.part").write_bytes(server.files["/toy.tar.gz"][:1000])
    fetch(archived, tmp_path)
    assert server.requests == [("/toy.tar.gz", "bytes=1000-"), ("/toy.tar.gz", None)]
    assert contents(tmp_path) == COMPLETE


def test_a_partial_file_of_something_else_starts_anew(server: Server, archived: Entry, tmp_path: Path) -> None:
    (tmp_path / "Toys-Toy-toy.tar.gz.part").write_bytes(b"x" * 1000)
    fetch(archived, tmp_path)
    assert server.requests == [("/toy.tar.gz", "bytes=1000-"), ("/toy.tar.gz", None)]
    assert contents(tmp_path) == COMPLETE


def test_a_truncated_body_is_completed(server: Server, archived: Entry, tmp_path: Path) -> None:
    server.send_at_most = [3000, 2000]
    fetch(archived, tmp_path)
    assert server.requests == [("/toy.tar.gz", None), ("/toy.tar.gz", "bytes=3000-"), ("/toy.tar.gz", "bytes=5000-")]
    assert contents(tmp_path) == COMPLETE


def test_a_body_that_stays_truncated_is_an_error(server: Server, archived: Entry, tmp_path: Path) -> None:
    server.knows_ranges = False
    server.send_at_most = [3000] * 3
    whole = server.files["/toy.tar.gz"]
    with pytest.raises(DownloadError, match=rf"ended after 3,000 of {len(whole):,} bytes; to do without"):
        fetch(archived, tmp_path)
    assert len(server.requests) == 3
    assert contents(tmp_path) == {"Toys-Toy-toy.tar.gz.part": whole[:3000]}  # for the next one to resume


def test_a_wrong_checksum_leaves_nothing(server: Server, archived: Entry, tmp_path: Path) -> None:
    changed = {**TEXTS, "valid": b"wolf\thypernym\tcanine2\n"}
    server.files["/toy.tar.gz"] = tar({f"{split}.txt": text for split, text in changed.items()})
    found = hashlib.sha256(changed["valid"]).hexdigest()
    expected = f"{archived.source and archived.source.archive}, member valid.txt: SHA-256 {found}, expected "
    with pytest.raises(DownloadError, match=re.escape(expected + archived.sha256["valid"])):
        fetch(archived, tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        (b"<html>log in first</html>", "not the file it should be"),
        (tar({"train.txt": TEXTS["train"]})[:-20], "not the file it should be"),
        (
            tar({"train.txt": TEXTS["train"], "test.txt": TEXTS["test"]}),
            "expected one valid.txt, found train.txt, test",
        ),
        (tar({**{f"{split}.txt": text for split, text in TEXTS.items()}, "old/train.txt": b""}), "expected one train"),
        (tar({"train.txt": b"a\tb\nc\td\n"}), "line 1: expected 3 fields, found 2"),
        (tar({"train.txt": b"\xff\xfe"}), "can't decode byte"),
        (tar({}, links={"train.txt": "/etc/hostname"}), "expected one train.txt, found nothing"),
        (b"", "not the file it should be"),
    ],
    ids=["html", "broken", "missing", "twice", "columns", "bytes", "link", "empty"],
)
def test_a_wrong_file_leaves_nothing(
    server: Server, archived: Entry, tmp_path: Path, body: bytes, complaint: str
) -> None:
    server.files["/toy.tar.gz"] = body
    with pytest.raises(DownloadError, match=complaint):
        fetch(archived, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_paths_in_an_archive_lead_nowhere(server: Server, archived: Entry, tmp_path: Path) -> None:
    members = {f"../../{split}.txt": text for split, text in TEXTS.items()}
    server.files["/toy.tar.gz"] = tar({**members, "../../evil.txt": b"evil", "/evil.txt": b"evil"})
    root = tmp_path / "a" / "b"
    fetch(archived, root)
    assert contents(tmp_path) == {f"a/b/{name}": text for name, text in COMPLETE.items()}


def test_an_enormous_member_is_refused(archived: Entry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "LARGEST_MEMBER", 1000)
    with pytest.raises(DownloadError, match=r"toy/train\.txt has [\d,]+ bytes"):
        fetch(archived, tmp_path)


def test_a_404_says_what_to_put_where(server: Server, loose: Entry, tmp_path: Path) -> None:
    del server.files["/valid.txt"]
    with pytest.raises(DownloadError) as caught:
        fetch(loose, tmp_path)
    assert str(caught.value) == (
        f"{server.url}/valid.txt: HTTP 404 Not Found; to do without the download, put train.tsv.gz, valid.tsv.gz and "
        f"test.tsv.gz (or plain .tsv; head, relation, tail, no header) into {tmp_path / 'Toys' / 'Toy'}"
    )
    assert [path for path, _ in server.requests] == ["/train.txt", "/valid.txt"]  # no use in trying again
    assert contents(tmp_path) == {"Toys-Toy-train.txt.part": TEXTS["train"]}


def test_a_server_in_trouble_is_asked_three_times(server: Server, archived: Entry, tmp_path: Path) -> None:
    server.statuses = [503, 429]
    fetch(archived, tmp_path)
    assert contents(tmp_path) == COMPLETE
    server.statuses = [503] * 3
    server.requests.clear()
    with pytest.raises(DownloadError, match="HTTP 503 Service Unavailable"):
        fetch(archived, tmp_path / "again")
    assert len(server.requests) == 3


def test_a_refused_connection_is_an_error(server: Server, archived: Entry, tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}/toy.tar.gz"
        assert archived.source is not None
        with pytest.raises(DownloadError, match=f"^{address}: Connection refused; to do without the download, put"):
            fetch(replace(archived, source=replace(archived.source, archive=address)), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_without_a_network_the_answer_comes_at_once(
    archived: Entry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def offline(*address: object, **_: object) -> None:
        calls.append(address)
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", offline)
    with pytest.raises(DownloadError, match="Temporary failure in name resolution; to do without the download, put"):
        fetch(archived, tmp_path)
    assert len(calls) == 1


def test_a_silent_server_is_given_up(
    server: Server, archived: Entry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "TIMEOUT", 0.1)
    server.stalls = True
    server.send_at_most = [1000, 1000, 1000]
    start = time.monotonic()
    with pytest.raises(DownloadError, match=r"no answer within 0\.1 seconds"):
        fetch(archived, tmp_path)
    assert time.monotonic() - start < 5
    assert server.requests == [("/toy.tar.gz", None), ("/toy.tar.gz", "bytes=1000-"), ("/toy.tar.gz", "bytes=2000-")]
    assert contents(tmp_path) == {"Toys-Toy-toy.tar.gz.part": server.files["/toy.tar.gz"][:3000]}


def test_a_killed_download_is_resumed_by_the_next(server: Server, archived: Entry, tmp_path: Path) -> None:
    server.stalls = True
    server.send_at_most = [2000]
    code = (
        "import sys; from pathlib import Path; from dataclasses import replace\n"
        "from hmem.graph.catalog import CATALOG, Source; from hmem.graph.download import fetch\n"
        "source = Source(archive=sys.argv[1], files={'train': 'train.txt'})\n"
        "fetch(replace(CATALOG['WN18'], folder='Toys/Toy', source=source), Path(sys.argv[2]))\n"
    )
    assert archived.source is not None
    assert archived.source.archive is not None
    part = tmp_path / "Toys-Toy-toy.tar.gz.part"
    with subprocess.Popen([sys.executable, "-c", code, archived.source.archive, str(tmp_path)]) as process:
        try:
            deadline = time.monotonic() + 20
            while not (part.exists() and part.stat().st_size == 2000):
                assert time.monotonic() < deadline
                assert process.poll() is None
                time.sleep(0.01)
        finally:
            process.kill()
    assert contents(tmp_path) == {part.name: server.files["/toy.tar.gz"][:2000]}

    server.stalls = False
    fetch(archived, tmp_path)
    assert server.requests == [("/toy.tar.gz", None), ("/toy.tar.gz", "bytes=2000-")]
    assert contents(tmp_path) == COMPLETE


def test_two_downloads_at_once_do_not_meet(server: Server, loose: Entry, tmp_path: Path) -> None:
    gate = threading.Barrier(2, timeout=20)
    failures: list[BaseException] = []

    def meet(file: str, have: int, total: int | None) -> None:
        if have == 0 and file.endswith("train.txt"):
            gate.wait()  # both are in the middle of the same file

    def run() -> None:
        try:
            fetch(loose, tmp_path, meet)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert contents(tmp_path) == COMPLETE
    assert [path for path, _ in server.requests].count("/train.txt") == 2


def test_without_a_public_source_the_error_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(DownloadError) as caught:
        fetch(toy(None), tmp_path)
    assert str(caught.value) == (
        "Toy has no public download; put train.tsv.gz, valid.tsv.gz and test.tsv.gz (or plain .tsv; head, relation, "
        f"tail, no header) into {tmp_path / 'Toys' / 'Toy'}, or make one"
    )


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (TimeoutError("timed out"), "no answer within"),
        (ConnectionResetError(104, "Connection reset by peer"), "Connection reset by peer"),
        (ValueError("what it says"), "what it says"),
        (EOFError(), "EOFError"),
    ],
)
def test_every_failure_is_worded(error: Exception, words: str) -> None:
    assert download._words(error).startswith(words)
