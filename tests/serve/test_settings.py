import pytest

from hmem.errors import ConfigError
from hmem.serve.settings import LOOPBACK_NAMES, Settings, is_loopback


@pytest.mark.parametrize(
    ("host", "only_here"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("localhost", True),
        ("::1", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.1.2", False),
        ("localhost.example", False),
        ("", False),
    ],
)
def test_which_addresses_only_this_machine_reaches(host: str, only_here: bool) -> None:
    assert is_loopback(host) is only_here


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "example.org"])
def test_writes_without_a_token_are_for_this_machine_only(host: str) -> None:
    with pytest.raises(ConfigError, match="HMEM_TOKEN"):
        Settings(host=host, allow_writes=True)
    assert Settings(host=host, allow_writes=True, token="long and random").writable
    assert not Settings(host=host).writable


def test_who_may_write() -> None:
    assert not Settings().writable
    assert Settings(allow_writes=True).writable
    assert Settings(token="long and random").writable


@pytest.mark.parametrize("token", ["", "  ", "gehe\N{LATIN SMALL LETTER I WITH DIAERESIS}m", "two\nlines"])
def test_a_token_must_fit_in_a_header(token: str) -> None:
    with pytest.raises(ConfigError, match="printable ASCII"):
        Settings(token=token)


def test_the_names_by_which_a_server_is_reached() -> None:
    assert Settings().hosts == frozenset({"127.0.0.1", "localhost", "::1"})
    assert Settings(host="127.0.0.2").hosts == frozenset({"127.0.0.1", "127.0.0.2", "localhost", "::1"})
    assert Settings(host="0.0.0.0").hosts is None
    assert Settings(host="0.0.0.0", host_names=frozenset({"a.example"})).hosts == LOOPBACK_NAMES | {"a.example"}
