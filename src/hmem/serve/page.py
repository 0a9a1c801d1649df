"""The page: files of the package, found by name among those that are there. No request ever makes a path."""

from pathlib import Path

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

STATIC = Path(__file__).parent / "static"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
}

router = APIRouter(include_in_schema=False)


def files() -> dict[str, Path]:
    """The files of the page by the name under which they are asked for."""
    found = (path for path in STATIC.rglob("*") if path.suffix in TYPES)
    return {path.relative_to(STATIC).as_posix(): path for path in found}


@router.get("/")
async def index(request: Request) -> Response:
    return _file(request, "index.html")


@router.get("/static/{name:path}")
async def static(request: Request, name: str) -> Response:
    return _file(request, name)


def _file(request: Request, name: str) -> Response:
    path: Path | None = request.app.state.files.get(name)
    if path is None:
        raise HTTPException(404)
    # They are small, few and on this machine's disk, and a browser asks for them once a visit.
    return Response(path.read_bytes(), media_type=TYPES[path.suffix], headers={"Cache-Control": "no-cache"})
