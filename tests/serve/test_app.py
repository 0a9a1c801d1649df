from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hmem.errors import StoreError
from hmem.serve import page
from hmem.serve.app import create_app
from tests.serve.clients import code_of, error_of

if TYPE_CHECKING:
    from starlette.testclient import TestClient


def test_the_page_is_made_of_files_of_the_package(reader: "TestClient") -> None:
    answer = reader.get("/")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert answer.content == (page.STATIC / "index.html").read_bytes()
    names = page.files()
    assert "index.html" in names
    for name, path in names.items():
        answer = reader.get(f"/static/{name}")
        assert answer.status_code == 200
        assert answer.content == path.read_bytes()
        assert answer.headers["content-type"] == page.TYPES[path.suffix]
        assert answer.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize(
    "path",
    [
        "/static/",
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/static/index.html%00",
        "/static/" + "x" * 5000,
        "/docs",
        "/redoc",
        "/graph/",
        "/favicon.ico",
    ],
)
def test_nothing_else_is_there(reader: "TestClient", path: str) -> None:
    assert code_of(reader.get(path)) == (404, "not_found")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/facts", "DELETE, GET, POST"),
        ("GET", "/predict", "POST"),
        ("POST", "/graph", "GET"),
        ("POST", "/", "GET"),
        ("DELETE", "/static/index.html", "GET"),
        ("PATCH", "/openapi.json", "GET"),
        ("OPTIONS", "/facts", "DELETE, GET, POST"),
    ],
)
def test_a_method_that_an_address_does_not_take(reader: "TestClient", method: str, path: str, allowed: str) -> None:
    answer = reader.request(method, path)
    assert code_of(answer) == (405, "method_not_allowed")
    assert set(answer.headers["allow"].split(", ")) == set(allowed.split(", "))
    assert method in error_of(answer)["message"]


def test_a_file_that_is_no_base_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no knowledge base"):
        create_app(tmp_path / "none.kb")


def test_the_document_is_served(reader: "TestClient") -> None:
    document = reader.get("/openapi.json").json()
    assert document["info"]["title"] == "hmem"
    assert "/static/{name}" not in document["paths"]
