"""Find a name as it is typed: by its beginning, by the beginning of a word in it, by any part, by a word that is one
slip of the finger away, or by likeness.

Case, accents and punctuation do not count. Names are kept as one long text of their letters and digits, so that looking
through a hundred thousand of them takes a few milliseconds without an index that would have to be kept current.
"""

import difflib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np
from jaxtyping import Float, Int

BLOCK = 4_096  # names whose text is made anew when one is added
MOST_LETTERS = 200  # of what was typed that are looked at
MOST_OF_A_KIND = 4_000  # matches that are put in order
SHORTLIST = 50  # names that are compared letter by letter
LEAST_ALIKE = 0.15  # of their groups of three letters
SHORTEST, LONGEST = 3, 20  # letters in which a slip is looked for
LAST = 9  # what is found by a slip comes after all that is found as it was typed
END, WORD = "\n", "\t"  # before each name, and before each word in it


class Search:
    """Names in the order of their numbers. Not safe for several threads at once."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._blocks: list[_Block] = []

    def __len__(self) -> int:
        return len(self._names)

    def extend(self, names: Iterable[str]) -> None:
        before = len(self._names)
        self._names.extend(names)
        if len(self._names) > before:
            del self._blocks[before // BLOCK :]  # the last one may have been incomplete
            for start in range(len(self._blocks) * BLOCK, len(self._names), BLOCK):
                self._blocks.append(_Block(start, self._names[start : start + BLOCK]))

    def find(self, typed: str, weights: Sequence[int] | Int[np.ndarray, " n"], limit: int) -> list[int]:
        """The numbers of the best `limit` names for what was typed, of equally good ones the weightiest first."""
        typed = typed[:MOST_LETTERS]
        wanted = letters(typed)
        kind_of: dict[int, int] = {}
        for kind, text in enumerate((f"{END}{WORD}{wanted}{END}", f"{END}{WORD}{wanted}", f"{WORD}{wanted}", wanted)):
            found = self._with(text) if wanted else self._as_typed(typed)
            for number in islice(found, MOST_OF_A_KIND):
                kind_of.setdefault(number, kind)
            if len(kind_of) >= limit:
                break
        if len(kind_of) < limit and (slipped := slips(wanted)) is not None:
            for number in islice(self._matching(slipped), MOST_OF_A_KIND):
                kind_of.setdefault(number, LAST)
        best = sorted(kind_of, key=lambda n: (kind_of[n], -weights[n], self._names[n]))[:limit]
        if len(best) < limit:
            best += [number for number in self.alike(typed, limit) if number not in kind_of][: limit - len(best)]
        return best

    def alike(self, typed: str, limit: int) -> list[int]:
        """The numbers of the names most like what was typed, by the groups of three letters they share."""
        wanted = letters(typed[:MOST_LETTERS])
        pieces = trigrams(wanted)
        if not pieces or not self._blocks:
            return []
        shares = np.concatenate([block.shares(pieces) for block in self._blocks])
        some = np.argsort(-shares, kind="stable")[:SHORTLIST]
        near = [int(number) for number in some if shares[number] > LEAST_ALIKE]
        alike = {n: difflib.SequenceMatcher(None, wanted, letters(self._names[n])).ratio() + shares[n] for n in near}
        return sorted(near, key=lambda number: (-alike[number], self._names[number]))[:limit]

    def _matching(self, pattern: re.Pattern[str]) -> Iterator[int]:
        for block in self._blocks:
            yield from block.matching(pattern)

    def _with(self, text: str) -> Iterator[int]:
        for block in self._blocks:
            yield from block.containing(text)

    def _as_typed(self, typed: str) -> Iterator[int]:
        """For what has no letters or digits at all."""
        return (number for number, name in enumerate(self._names) if typed and typed in name)


class _Block:
    """Some names, one after the other."""

    def __init__(self, first: int, names: Sequence[str]) -> None:
        self.first = first
        whole = [f"{END}{WORD}{letters(name)}" for name in names]  # \n\ttimberwolfn01
        split = [END + "".join(f"{WORD}{word}" for word in words(name)) for name in names]  # \n\ttimber\twolf\tn\t01
        self._texts = [("".join(texts) + END, _starts(texts)) for texts in (whole, split)]
        padded = [f" {letters(name)} " for name in names]  # a blank stands for either end, as in `trigrams`
        self._codes = np.frombuffer("".join(padded).encode("utf-32-le"), dtype=np.uint32)
        self._ends = np.cumsum([len(text) for text in padded])
        self._sizes = np.array([max(1, len(text) - 2) for text in padded])

    def containing(self, wanted: str) -> Iterator[int]:
        """The names with this text in one of their two forms; some of them twice."""
        for text, starts in self._texts:
            at = text.find(wanted)
            while at >= 0:
                number = int(np.searchsorted(starts, at, side="right")) - 1
                yield self.first + number
                at = text.find(wanted, int(starts[number + 1])) if number + 1 < len(starts) else -1

    def matching(self, pattern: re.Pattern[str]) -> Iterator[int]:
        """The names with a word that matches; some of them twice."""
        text, starts = self._texts[-1]
        for found in pattern.finditer(text):
            yield self.first + int(np.searchsorted(starts, found.start(), side="right")) - 1

    def shares(self, pieces: set[str]) -> Float[np.ndarray, " n"]:
        """Which part of its groups of three letters each name has in common with the wanted ones."""
        common, codes = np.zeros(len(self._ends)), self._codes
        for piece in pieces:
            first, second, third = (ord(letter) for letter in piece)
            at = np.flatnonzero((codes[:-2] == first) & (codes[1:-1] == second) & (codes[2:] == third))
            common[np.unique(np.searchsorted(self._ends, at, side="right"))] += 1
        shares: Float[np.ndarray, " n"] = common / (len(pieces) + self._sizes - common)
        return shares


def letters(name: str) -> str:
    return "".join(character for character in plain(name) if character.isalnum())


def words(name: str) -> list[str]:
    """The runs of letters and digits in a name."""
    return "".join(character if character.isalnum() else " " for character in plain(name)).split()


def plain(name: str) -> str:
    """A name without case and accents."""
    if name.isascii():
        return name.casefold()
    return "".join(each for each in unicodedata.normalize("NFKD", name.casefold()) if not unicodedata.combining(each))


def slips(wanted: str) -> re.Pattern[str] | None:
    """Words that begin as `wanted` does but for one letter left out, too many or wrong, or two in the wrong order.

    The first letter is taken for right, unless it was swapped with the second; None where too little was typed to tell.
    """
    if not SHORTEST <= len(wanted) <= LONGEST:
        return None
    first, rest, some = re.escape(wanted[0]), wanted[1:], f"[^{END}{WORD}]"
    forms = {f"{re.escape(rest[:at])}{some}{re.escape(rest[at:])}" for at in range(len(rest) + 1)}
    forms |= {f"{re.escape(rest[:at])}{some}{re.escape(rest[at + 1 :])}" for at in range(len(rest) - 1)}
    forms |= {re.escape(rest[:at] + rest[at + 1] + rest[at] + rest[at + 2 :]) for at in range(len(rest) - 1)}
    if len(wanted) > SHORTEST:
        forms |= {re.escape(rest[:at] + rest[at + 1 :]) for at in range(len(rest))}
    swapped = re.escape(wanted[1] + wanted[0] + wanted[2:])
    return re.compile(f"{WORD}(?:{first}(?:{'|'.join(sorted(forms))})|{swapped})")


def trigrams(text: str) -> set[str]:
    """Its groups of three letters, where a blank stands before the first and after the last."""
    padded = f" {text} " if text else ""
    return {padded[start : start + 3] for start in range(len(padded) - 2)}


def _starts(texts: Sequence[str]) -> Int[np.ndarray, " n"]:
    """Where each of several texts begins when they stand one after the other."""
    starts: Int[np.ndarray, " n"] = np.cumsum([0, *map(len, texts[:-1])])
    return starts
