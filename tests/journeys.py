"""Which functions of hmem a call passes through, in the order in which it first enters them."""

import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

Hop = tuple[str, str]  # module and qualified name of a function


def journey(call: Callable[[], object], package: str = "hmem") -> list[Hop]:
    """The distinct functions of a package that `call` enters, in this thread and in those it starts.

    Comprehensions and lambdas count as part of the function that holds them; methods that a dataclass generates do not
    count. Threads that ran before are not seen, unless they were started inside `Watch`.
    """
    with Watch(package) as hops:
        call()
        return list(hops)


class Watch:
    """A while in which the functions of a package are noted down; `hops.clear()` starts anew."""

    def __init__(self, package: str = "hmem") -> None:
        self._prefix = f"{package}."
        self.hops: dict[Hop, None] = {}

    def __enter__(self) -> dict[Hop, None]:
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        return self.hops

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _note(self, frame: FrameType, event: str, argument: Any) -> None:
        module, code = frame.f_globals.get("__name__", ""), frame.f_code
        if event == "call" and module.startswith(self._prefix) and not code.co_filename.startswith("<"):
            name = code.co_qualname.partition(".<locals>.<")[0]
            if not name.startswith("<"):
                self.hops.setdefault((module, name))


def modules(hops: list[Hop]) -> list[str]:
    """The modules of a journey, in the order in which they are first entered."""
    return list(dict.fromkeys(module for module, _ in hops))
