"""nginx with deploy/nginx.conf, in a folder of its own."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from hmem.serve.sockets import bind
from tests.serve.clients import until

CONFIG = Path(__file__).resolve().parents[2] / "deploy" / "nginx.conf"
KINDS_OF_FILES = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


def program() -> str:
    found = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")
    if found is None:
        pytest.skip("there is no nginx here; on Debian: apt-get install nginx-light")
    return found


def configured(folder: Path, port: int, servers: Sequence[str]) -> Path:
    """The whole configuration, with other places and ports and nothing else changed in the file of `deploy`."""
    site = CONFIG.read_text(encoding="utf-8")
    names = re.findall(r"(?m)^    server (\S+) ", site)
    assert len(names) == len(servers)
    for name, server in zip(names, servers, strict=True):
        site = site.replace(f"server {name} ", f"server {server} ")
    site = site.replace("listen 80;", f"listen 127.0.0.1:{port};")
    (folder / "site.conf").write_text(site, encoding="utf-8")
    places = "\n".join(f"{kind}_temp_path {folder}/{kind};" for kind in KINDS_OF_FILES)
    made = folder / "nginx.conf"
    user = "user root;" if os.geteuid() == 0 else ""  # whose the folder is
    made.write_text(
        f"{user} daemon off; pid {folder}/pid; error_log {folder}/errors warn; worker_processes 1;\n"
        "events { worker_connections 512; }\n"
        f"http {{ access_log off; {places} include {folder}/site.conf; }}\n",
        encoding="utf-8",
    )
    return made


def check(folder: Path) -> None:
    """What nginx itself says of the configuration."""
    made = configured(folder, 8080, [f"127.0.0.1:{8001 + place}" for place in range(3)])
    done = subprocess.run([program(), "-t", "-c", made, "-e", folder / "errors"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@contextmanager
def proxied(folder: Path, servers: Sequence[str]) -> Iterator[str]:
    """The address of a proxy in front of servers."""
    with bind("127.0.0.1", 0) as free:
        port: int = free.getsockname()[1]
    made = configured(folder, port, servers)
    process = subprocess.Popen([program(), "-c", made, "-e", folder / "errors"], stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"

    def answers() -> bool:
        try:
            return httpx.get(f"{url}/health", timeout=30).status_code == 200
        except httpx.TransportError:
            assert process.poll() is None, (folder / "errors").read_text()
            return False

    try:
        until(answers)
        yield url
    finally:
        process.terminate()
        process.wait(30)
