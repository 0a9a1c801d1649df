"""Which requests may write."""

import hmac
from typing import Annotated

from fastapi import Depends
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.requests import Request

from hmem.serve.errors import ApiError
from hmem.serve.settings import Settings

bearer = HTTPBearer(auto_error=False, description="The token in HMEM_TOKEN of the server.")
Shown = Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]


def check_write(request: Request, shown: Shown) -> None:
    """A dependency of the routes that change facts: no token, no write, unless the server allows it."""
    settings: Settings = request.app.state.settings
    if not settings.writable:
        raise ApiError(
            "writes_off",
            "this server does not accept writes; start it with HMEM_TOKEN set, or on this machine with --allow-writes",
        )
    if settings.token is not None and (shown is None or not is_same(shown.credentials, settings.token)):
        raise ApiError("unauthorized", "a write needs the token of this server, as `Authorization: Bearer TOKEN`")


def is_same(shown: str, token: str) -> bool:
    """Compared in a time that does not tell how much of it was right."""
    return hmac.compare_digest(shown.strip().encode("utf-8", "replace"), token.strip().encode())
