"""With how many examples a law is tried: few in `make test`, many with `pytest --slow`."""

from typing import Any

from hypothesis import settings

MORE = 8  # times as many with --slow


def load(*, thorough: bool) -> None:
    """To be called before test modules are imported."""
    settings.register_profile(
        "thorough" if thorough else "quick", deadline=None, max_examples=MORE * 50 if thorough else 50
    )
    settings.load_profile("thorough" if thorough else "quick")


def examples(number: int, **options: Any) -> settings:
    """`@examples(5)` in place of `@settings(max_examples=5)`, where examples are dear."""
    is_thorough = settings.get_current_profile_name() == "thorough"
    return settings(max_examples=number * (MORE if is_thorough else 1), deadline=None, **options)
