"""What any engine may find wrong. What each alone complains of is translated in its own `errors`."""

from hmem.errors import Hint, Place, StoreError

BUSY_SECONDS = 60.0  # how long a write waits for that of another process, which may be an import of millions


class DamageError(Exception):
    """Rows that an engine reads without complaint, and that cannot have been written."""


def damaged(place: Place, error: Exception) -> StoreError:
    hint = hint_to_check("go back to a copy of it, or see what is wrong with", place)
    return StoreError(f'{{path}} is damaged ("{error}")', path=place, hint=hint)


def hint_to_check(text: str, place: Place) -> Hint:
    return Hint(text=text, command=f"hmem kb check {place}", call="store.check()")


def busy(place: Place) -> StoreError:
    problem = f"{{path}} is being written by another process; waited {BUSY_SECONDS:g} s for it"
    return StoreError(problem, path=place, hint="try again when it is done")


def exists_already(place: Place) -> StoreError:
    return StoreError("{path} exists already", path=place, hint=Hint(text="to begin anew", option="overwrite"))


def forked(place: Place) -> StoreError:
    return StoreError("{path} was opened by the process that this one was forked from", path=place)


def closed(place: Place) -> StoreError:
    return StoreError("{path} is closed; open it again", path=place)
