"""With how many examples a law is tried: few in `make test`, many with `pytest --slow`.

Each run tries others, except in continuous integration: there the same code always fares the same.
"""

import os
from typing import Any

from hypothesis import settings

MORE = 8  # times as many with --slow


def load(*, thorough: bool) -> None:
    """To be called before test modules are imported."""
    name, number = ("thorough", 400) if thorough else ("quick", 25)
    settings.register_profile(name, deadline=None, max_examples=number, derandomize="CI" in os.environ)
    settings.load_profile(name)


def examples(number: int, **options: Any) -> settings:
    """`@examples(5)` in place of `@settings(max_examples=5)`, where examples are dear."""
    is_thorough = settings.get_current_profile_name() == "thorough"
    return settings(max_examples=number * (MORE if is_thorough else 1), deadline=None, **options)
