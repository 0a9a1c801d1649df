"""What may be stored: any text that comes back byte for byte, and nothing that would not."""

from collections.abc import Iterable, Sequence

from hmem.errors import DataError, shown
from hmem.graph.triples import PARTS
from hmem.graph.values import Value
from hmem.knowledge.store.records import Names3

LONGEST_NAME = 10_000  # characters
LONGEST_VALUE = 1_000_000


def check_name(kind: str, name: object) -> str:
    """`name` as it is, or a DataError with the reason why it cannot be kept."""
    if name == "":
        raise DataError(f"expected a {kind}, received empty text")
    return _check_text(kind, name, LONGEST_NAME)


def check_note(kind: str, note: object) -> str:
    """What a base remembers about itself; it may be as long as a value."""
    return _check_text(kind, note, LONGEST_VALUE)


def check_value(value: Value) -> Value:
    """`value` as it is; its text may be long, and empty."""
    _check_text("value", value.text, LONGEST_VALUE)
    for kind in ("datatype", "language", "unit"):
        if (said := getattr(value, kind)) is not None:
            check_name(kind, said)
    return value


def _check_text(kind: str, name: object, longest: int) -> str:
    if not isinstance(name, str):
        raise DataError(f"expected text as {kind}, received {_shown(name)} ({type(name).__name__})")
    if len(name) > longest:
        raise DataError(f"the {kind} {_shown(name)} has {len(name):,} characters; at most {longest:,} can be stored")
    if not name.isascii() and any("\ud800" <= character <= "\udfff" for character in name):
        raise DataError(
            f"the {kind} {_shown(name)} holds half a surrogate pair, which is no Unicode text; "
            "it comes from a wrong decoding, so read the source again as UTF-8"
        )
    if "\0" in name:
        raise DataError(f"the {kind} {_shown(name)} holds a NUL character; take it out")
    return name


def check_source(source: str | None) -> str | None:
    return None if source is None else check_name("source", source)


def check_fact(fact: object) -> Names3:
    """The three names of a fact."""
    if isinstance(fact, str | bytes) or not isinstance(fact, Sequence) or len(fact) != 3:
        raise DataError(
            f"expected facts as (head, relation, tail), received {_shown(fact)}; a single one is given as [(h, r, t)]"
        )
    head, relation, tail = (check_name(kind, name) for kind, name in zip(PARTS, fact, strict=True))
    return head, relation, tail


def check_facts(facts: Iterable[object]) -> list[Names3]:
    return [check_fact(fact) for fact in facts]


def _shown(value: object) -> str:
    """Short, on one line and printable everywhere, whatever it is."""
    return shown(repr(value), 60)
