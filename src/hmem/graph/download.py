"""Public datasets over HTTP: resumed where they broke off, checked before use, moved into place whole.

Files arrive as `NAME.part` beside the dataset folders. When all of a dataset are there they are turned into canonical
text, the checksums are compared, and a complete folder is moved into place; only then do the `.part` files go. A
download that is killed leaves nothing but `.part` files, and the next one goes on from them. (The library pooch begins
anew each time, and compares the bytes of whole files: the same facts packed anew would be refused.)
"""

import http.client
import os
import socket
import ssl
import sys
import tarfile
import tempfile
import time
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO

from hmem.errors import DownloadError
from hmem.graph.canonical import canonical_text, sha256, write_folder
from hmem.graph.catalog import Entry, Source

if sys.platform != "win32":
    import fcntl

Progress = Callable[[str, int, int | None], None]  # file, bytes so far, bytes in all where the server says

TIMEOUT = 30.0  # seconds of silence
PAUSES = (0.5, 2.0)  # seconds before the second and the third attempt
CHUNK = 1 << 16
LARGEST_MEMBER = 1 << 30  # bytes; the largest split we know has 42 million


class _FinalError(Exception):
    """There is no use in another attempt."""


class _PassingError(Exception):
    """Another attempt may succeed."""


def fetch(entry: Entry, root: str | os.PathLike[str], progress: Progress | None = None) -> Path:
    """Download `entry` into its folder below `root`, and return that folder."""
    root = Path(root)
    target = root / entry.folder
    if entry.source is None:
        instead = f"{where_to_put(entry, target)}, or {entry.instead}"
        raise DownloadError(f"{entry.name} has no public download", hint=instead)
    root.mkdir(parents=True, exist_ok=True)
    try:
        with _parts(entry, root) as parts:
            write_folder(target, _checked_texts(entry, entry.source, parts, progress or (lambda *_: None)))
            for _, part in parts.values():
                _restart(part)
    except _FinalError as failure:
        instead = f"to do without the download, {where_to_put(entry, target)}"
        raise DownloadError(str(failure), hint=instead) from failure
    return target


def where_to_put(entry: Entry, folder: Path) -> str:
    """What a user without a network is to do."""
    *most, last = [f"{split}.tsv.gz" for split in entry.splits]
    format = "or plain .tsv; head, relation, tail, no header"
    if entry.heldout:
        format += "; in heldout one entity a line"
    return f"put {', '.join(most)} and {last} ({format}) into {folder}"


@contextmanager
def _parts(entry: Entry, root: Path) -> Iterator[dict[str, tuple[str, IO[bytes]]]]:
    """For every address of `entry` what to call it and the file that it goes to; those left empty are removed."""
    assert entry.source is not None
    addresses = [entry.source.archive] if entry.source.archive else list(entry.source.files.values())
    with ExitStack() as stack:
        parts = {}
        for address in addresses:
            label = f"{entry.folder.replace('/', '-')}-{address.rsplit('/', 1)[-1]}"
            parts[address] = (label, stack.enter_context(_part(root / f"{label}.part")))
        yield parts


@contextmanager
def _part(path: Path) -> Iterator[IO[bytes]]:
    """The partial download at `path`, ours alone; a nameless file where another process is at work on it."""
    with open(path, "a+b") as file:
        if _lock(file):
            try:
                yield file
            finally:
                file.flush()
                if os.fstat(file.fileno()).st_size == 0:
                    path.unlink(missing_ok=True)
            return
    with tempfile.TemporaryFile(dir=path.parent) as file:
        yield file


def _restart(part: IO[bytes]) -> None:
    part.seek(0)
    part.truncate()


def _lock(file: IO[bytes]) -> bool:
    """Whether `file` is now locked by us. The lock goes when the file is closed, also by a kill."""
    if sys.platform == "win32":  # no advisory locks there: every download is private, and starts from nothing
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _checked_texts(
    entry: Entry, source: Source, parts: Mapping[str, tuple[str, IO[bytes]]], progress: Progress
) -> dict[str, bytes]:
    """The canonical text of each split, as published. A resumed file that is not gets a second, fresh start."""
    resumed = any(part.seek(0, os.SEEK_END) for _, part in parts.values())
    for last_attempt in [False, True] if resumed else [True]:
        for address, (label, part) in parts.items():
            _download(address, part, partial(progress, label))
        try:
            return _check(entry, _unpack(source, {address: part for address, (_, part) in parts.items()}))
        except _FinalError:
            for _, part in parts.values():
                _restart(part)
            if last_attempt:
                raise
    raise AssertionError("unreachable")


def _download(address: str, part: IO[bytes], report: Callable[[int, int | None], None]) -> None:
    """Bring `part` to the whole content of `address`, in up to three attempts."""
    for pause in (*PAUSES, None):
        try:
            _receive(address, part, report)
            return
        except _PassingError as interrupted:
            if pause is None:
                raise _FinalError(f"{address}: {interrupted}") from interrupted
            time.sleep(pause)


def _receive(address: str, part: IO[bytes], report: Callable[[int, int | None], None]) -> None:
    """One request, for what is missing in `part`."""
    have = part.seek(0, os.SEEK_END)
    headers = {"User-Agent": "hmem", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    with _open(urllib.request.Request(address, headers=headers)) as response:
        start, total = _span(response)
        if response.status == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            if total == have:
                return
            _restart(part)  # longer than the file there
            raise _PassingError("the partial file does not fit the one there")
        if start != have:  # the server does not know ranges, or gives another one
            _restart(part)
            if start != 0:
                raise _PassingError(f"asked for the bytes from {have} on, got those from {start} on")
            have = 0
        report(have, total)
        while have != total and (chunk := _read(response)):
            part.write(chunk)
            part.flush()  # so that a kill loses nothing
            have += len(chunk)
            report(have, total)
    if total is not None and have != total:
        raise _PassingError(f"the connection ended after {have:,} of {total:,} bytes")


@contextmanager
def _open(request: urllib.request.Request) -> Iterator[http.client.HTTPResponse | urllib.error.HTTPError]:
    """The response, also one that says that the range asked for is not there; other failures in our own words."""
    response: http.client.HTTPResponse | urllib.error.HTTPError
    try:
        response = urllib.request.urlopen(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code != http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            with error:
                kind = _PassingError if error.code >= 500 or error.code in (408, 429) else _FinalError
                prefix = "" if kind is _PassingError else f"{request.full_url}: "
                raise kind(f"{prefix}HTTP {error.code} {error.reason}") from error
        response = error
    except (OSError, http.client.HTTPException) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        if isinstance(reason, socket.gaierror | ssl.SSLCertVerificationError):  # offline, most often
            raise _FinalError(f"{request.full_url}: {_words(reason)}") from error
        raise _PassingError(_words(reason)) from error
    with response:
        yield response


def _read(response: http.client.HTTPResponse | urllib.error.HTTPError) -> bytes:
    """What has arrived, at once: bytes that wait for a full buffer would be lost with the connection."""
    assert isinstance(response, http.client.HTTPResponse), "an error has no content we want"
    try:
        return response.read1(CHUNK)
    except (OSError, http.client.HTTPException) as error:
        raise _PassingError(_words(error)) from error


def _words(error: object) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {TIMEOUT:g} seconds"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__


def _span(response: http.client.HTTPResponse | urllib.error.HTTPError) -> tuple[int, int | None]:
    """Where the body starts in the file, and how long the file is, as far as the server says."""
    if response.status == http.HTTPStatus.OK:
        length = response.headers.get("Content-Length", "")
        return 0, int(length) if length.isdecimal() else None
    span, _, total = response.headers.get("Content-Range", "").removeprefix("bytes ").partition("/")
    start = span.partition("-")[0]
    return int(start) if start.isdecimal() else -1, int(total) if total.isdecimal() else None


def _unpack(source: Source, parts: Mapping[str, IO[bytes]]) -> dict[str, tuple[str, bytes]]:
    """For each split where it comes from, and its canonical text."""
    texts = {}
    for split, file in source.files.items():
        where = f"{source.archive}, member {file}" if source.archive else file
        part = parts[source.archive or file]
        part.seek(0)
        try:
            raw = _member(part, file) if source.archive else part.read()
            texts[split] = where, canonical_text(raw, source.columns)
        except (ValueError, KeyError, EOFError, OSError, zlib.error, tarfile.TarError, zipfile.BadZipFile) as error:
            raise _FinalError(f"{where}: not the file it should be ({error})") from error
    return texts


def _member(archive: IO[bytes], name: str) -> bytes:
    """The file `name`, in whatever folder of a .tar.gz or .zip it stands.

    Nothing is ever written under a name from the archive, so it does not matter where its paths would lead.
    """
    wanted = PurePosixPath(name).parts
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as unzipped:
            sizes = {info.filename: info.file_size for info in unzipped.infolist() if not info.is_dir()}
            return unzipped.read(_only(name, wanted, sizes))
    archive.seek(0)
    with tarfile.open(fileobj=archive, mode="r:*") as untarred:
        sizes = {info.name: info.size for info in untarred if info.isreg()}  # neither links nor devices
        file = untarred.extractfile(_only(name, wanted, sizes))
        assert file is not None
        return file.read()


def _only(name: str, wanted: tuple[str, ...], sizes: Mapping[str, int]) -> str:
    found = [path for path in sizes if PurePosixPath(path).parts[-len(wanted) :] == wanted]
    if len(found) != 1:
        raise ValueError(f"expected one {name}, found {', '.join(found) or ', '.join(list(sizes)[:8]) or 'nothing'}")
    if sizes[found[0]] > LARGEST_MEMBER:
        raise ValueError(f"{found[0]} has {sizes[found[0]]:,} bytes")
    return found[0]


def _check(entry: Entry, texts: Mapping[str, tuple[str, bytes]]) -> dict[str, bytes]:
    for split, (where, text) in texts.items():
        found = sha256(text)
        if found != entry.sha256[split]:
            raise _FinalError(f"{where}: SHA-256 {found}, expected {entry.sha256[split]}; nothing of it was kept")
    return {split: text for split, (_, text) in texts.items()}
