"""Names that may have been meant by one that does not exist.

Case and punctuation do not count. Likeness is `rapidfuzz.fuzz.ratio`: twice the letters that two names have in common,
in the same order, as a share of the letters of both. Without rapidfuzz, difflib compares a moderate number of names.
200,000 names take about 0.1 s, names that are not ASCII twice that.
"""

import difflib
import heapq
from collections.abc import Iterable, Iterator, Sequence

LONGEST = 200  # characters; nothing is looked for that is like a longer name
ALIKE = 0.55  # from which likeness on a name is suggested
MISSPELT = 0.75  # from which likeness on two names may be the same, one of them misspelt
FEW = 20_000  # names that difflib compares in a few seconds
BLOCK = 100  # names whose letters are found together


def closest(typed: str, names: Iterable[str], limit: int = 3) -> list[str]:
    """The `names` most like `typed`: with the same letters, then beginning with them, then otherwise alike.

    Nothing is like a name without letters and digits.
    """
    wanted = letters(typed)
    if not wanted or len(typed) > LONGEST:
        return []
    names = list(names)
    folded = _letters_of_all(names)
    begin = [position for position, each in enumerate(folded) if each.startswith(wanted)]
    found = heapq.nsmallest(limit, begin, key=lambda position: (len(folded[position]), names[position]))
    if len(found) < limit:
        found += [position for position in _alike(wanted, folded, limit, ALIKE) if position not in found]
    return [names[position] for position in found[:limit]]


def misspelt(name: str, others: Iterable[str], limit: int = 3) -> list[str]:
    """Those of `others` that `name` may be a misspelling of: with the same letters, or else very much alike."""
    others = [other for other in others if other != name]
    wanted = letters(name)
    if not wanted or len(name) > LONGEST:
        return []
    alike = [others[position] for position in _alike(wanted, _letters_of_all(others), limit, MISSPELT)]
    return [other for other in alike if letters(other) == wanted] or alike


def same_letters(name: str, others: Iterable[str]) -> list[str]:
    """Those of `others` that differ from `name` in case and punctuation only."""
    others, wanted = list(others), letters(name)
    pairs = zip(others, _letters_of_all(others), strict=True)
    return [other for other, folded in pairs if wanted and folded == wanted and other != name]


def letters(name: str) -> str:
    """The letters and digits of a name, without case."""
    return name.casefold().translate(_KEPT).replace("\n", "")


class _Kept(dict[int, int | None]):
    """What `str.translate` makes of each character: letters, digits and line breaks stay, others go."""

    def __missing__(self, code: int) -> int | None:
        character = chr(code)
        return self.setdefault(code, code if character.isalnum() or character == "\n" else None)


_KEPT = _Kept()


def _letters_of_all(names: Sequence[str]) -> list[str]:
    """`letters` of many names. One translation of a long text is much faster than many of short ones."""
    found: list[str] = []
    for start in range(0, len(names), BLOCK):
        block = names[start : start + BLOCK]
        together = "\n".join(block).casefold().translate(_KEPT).split("\n")
        found += together if len(together) == len(block) else map(letters, block)  # a name may have a line break
    return found


def _alike(wanted: str, folded: Sequence[str], limit: int, least: float) -> Iterator[int]:
    """Positions of what is most like `wanted`, the best first."""
    try:
        from rapidfuzz import fuzz, process
    except ImportError:
        if len(folded) <= FEW:
            near = difflib.get_close_matches(wanted, set(folded), limit, least)
            yield from (position for each in near for position, other in enumerate(folded) if other == each)
        return
    for _, _, position in process.extract(wanted, folded, scorer=fuzz.ratio, limit=limit, score_cutoff=100 * least):
        yield position
