"""Find a name as it is typed: by its beginning, by the beginning of a word in it, by any part, or by a word that begins
almost like that.

Case, accents and punctuation do not count. Names are kept as one long text of their letters and digits, so that looking
through a hundred thousand of them takes a few milliseconds without an index that would have to be kept current; a word
that is misspelt takes a tenth of a second. Names like a whole other one are found by `hmem.graph.names.Names.closest`.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise

import numpy as np
from jaxtyping import Int
from rapidfuzz import fuzz, process

BLOCK = 4_096  # names whose text is made anew when one is added
MOST_LETTERS = 200  # of what was typed that are looked at
MOST_OF_A_KIND = 4_000  # matches that are put in order
LAST = 200  # what is misspelt comes after all that is found as it was typed, the more alike the earlier
MISSPELT = 75  # percent of the letters that a misspelt beginning has in common with the right one
END, WORD, SPLIT = "\n", "\t", "\r"  # before each name, before each word, and between a name in one word and its words


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
        kind_of: dict[int, float] = {}
        for kind, text in enumerate((f"{END}{WORD}{wanted}{SPLIT}", f"{END}{WORD}{wanted}", f"{WORD}{wanted}", wanted)):
            if wanted:
                found = (number for block in self._blocks for number in block.containing(text))
            else:  # what was typed has no letters or digits at all
                found = (number for number, name in enumerate(self._names) if typed and typed in name)
            for number in islice(found, MOST_OF_A_KIND):
                kind_of.setdefault(number, kind)
            if len(kind_of) >= limit:
                break
        if wanted and len(kind_of) < limit:
            for block in self._blocks:
                for number, alike in block.misspelt(wanted):
                    kind_of.setdefault(number, LAST - alike)
        return sorted(kind_of, key=lambda n: (kind_of[n], -weights[n], self._names[n]))[:limit]


class _Block:
    """Some names, one after the other."""

    def __init__(self, first: int, names: Sequence[str]) -> None:
        self.first = first
        # Of each name all its letters in one word, and then its words.
        parts = [(letters(name), *words(name)) for name in names]
        texts = [END + SPLIT.join([WORD + whole, "".join(WORD + word for word in rest)]) for whole, *rest in parts]
        self._text = "".join(texts) + END
        self._starts: Int[np.ndarray, " n"] = np.cumsum([0, *map(len, texts)])  # of each name, and the end

    def containing(self, wanted: str) -> Iterator[int]:
        """The names with this text."""
        at = self._text.find(wanted)
        while at >= 0:
            number = int(np.searchsorted(self._starts, at, side="right")) - 1
            yield self.first + number
            at = self._text.find(wanted, int(self._starts[number + 1]))

    def misspelt(self, wanted: str) -> Iterator[tuple[int, float]]:
        """The names with a word that begins almost like this, and how much alike that is, in percent."""
        starts = self._starts.tolist()
        texts = [self._text[start:end] for start, end in pairwise(starts)]
        alike = process.extract(
            f"{WORD}{wanted}", texts, scorer=fuzz.partial_ratio, score_cutoff=MISSPELT, limit=MOST_OF_A_KIND
        )
        return ((self.first + place, score) for _, score, place in alike)


def letters(name: str) -> str:
    return "".join(words(name))


def words(name: str) -> list[str]:
    """The runs of letters and digits in a name, without case and accents."""
    plain = name.casefold()
    if not name.isascii():
        plain = "".join(each for each in unicodedata.normalize("NFKD", plain) if not unicodedata.combining(each))
    return "".join(character if character.isalnum() else " " for character in plain).split()
