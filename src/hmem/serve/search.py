"""Find a name as it is typed: by its beginning, by the beginning of a word in it, by any part, or by a word that begins
almost like that. What has several names is found by each, and after all others by the words of its description.

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
DESCRIBED = 50  # a description comes after all names
LAST = 200  # what is misspelt comes after all that is found as it was typed, the more alike the earlier
MISSPELT = 75  # percent of the letters that a misspelt beginning has in common with the right one
END, WORD, SPLIT = "\n", "\t", "\r"  # before each name, before each word, and between a name in one word and its words


class Search:
    """Names in the order of their numbers. Not safe for several threads at once."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._also: dict[int, list[str]] = {}  # the other names of those that have any
        self._about: dict[int, str] = {}  # the letters of descriptions, each word behind a mark
        self._blocks: list[_Block] = []
        self._stale: set[int] = set()  # blocks with names that have changed

    def __len__(self) -> int:
        return len(self._names)

    def extend(self, names: Iterable[str]) -> None:
        before = len(self._names)
        self._names.extend(names)
        if len(self._names) > before:
            del self._blocks[before // BLOCK :]  # the last one may have been incomplete
            self._build()

    def rename(self, number: int, names: Sequence[str], description: str = "") -> None:
        """Let something be found by other names than its first, and by the words of a description."""
        self._also[number] = [name for name in dict.fromkeys(names) if name and name != self._names[number]]
        self._about[number] = "".join(WORD + word for word in words(description))
        self._stale.add(number // BLOCK)

    def _build(self) -> None:
        """Make the text anew of blocks that are not there."""
        for start in range(len(self._blocks) * BLOCK, len(self._names), BLOCK):
            self._blocks.append(self._block(start))
        for place in self._stale:
            self._blocks[place] = self._block(place * BLOCK)
        self._stale.clear()

    def _block(self, start: int) -> "_Block":
        numbers = range(start, min(start + BLOCK, len(self._names)))
        return _Block(start, [[self._names[number], *self._also.get(number, ())] for number in numbers])

    def find(self, typed: str, weights: Sequence[int] | Int[np.ndarray, " n"], limit: int) -> list[int]:
        """The numbers of the best `limit` names for what was typed, of equally good ones the weightiest first."""
        typed = typed[:MOST_LETTERS]
        wanted = letters_without_accents(typed)
        self._build()
        kind_of: dict[int, float] = {}
        for kind, text in enumerate((f"{END}{WORD}{wanted}{SPLIT}", f"{END}{WORD}{wanted}", f"{WORD}{wanted}", wanted)):
            if wanted:
                found = (number for block in self._blocks for number in block.containing(text))
            else:  # what was typed has no letters or digits at all
                found = (number for number, name in enumerate(self._names) if typed and self._has(number, name, typed))
            for number in islice(found, MOST_OF_A_KIND):
                kind_of.setdefault(number, kind)
            if len(kind_of) >= limit:
                break
        if wanted and len(kind_of) < limit:
            asked = [WORD + word for word in words(typed)]
            described = (number for number, text in self._about.items() if all(word in text for word in asked))
            for number in islice(described, MOST_OF_A_KIND):
                kind_of.setdefault(number, DESCRIBED)
        if wanted and len(kind_of) < limit:
            for block in self._blocks:
                for number, alike in block.misspelt(wanted):
                    kind_of.setdefault(number, LAST - alike)
        return sorted(kind_of, key=lambda n: (kind_of[n], -weights[n], self._names[n]))[:limit]

    def why(self, number: int, typed: str) -> str | None:
        """Which name something was found by, if not its first: "" for its description, None for a misspelt one too."""
        wanted, own = letters_without_accents(typed[:MOST_LETTERS]), [self._names[number], *self._also.get(number, ())]
        for place, name in enumerate(own):
            if (wanted in letters_without_accents(name)) if wanted else (typed in name):
                return str(name) if place else None
        asked = [WORD + word for word in words(typed)]
        return "" if wanted and all(word in self._about.get(number, "") for word in asked) else None

    def _has(self, number: int, name: str, typed: str) -> bool:
        return any(typed in each for each in (name, *self._also.get(number, ())))


class _Block:
    """Some things, one after the other, each by all of its names."""

    def __init__(self, first: int, names: Sequence[Sequence[str]]) -> None:
        self.first = first
        texts = ["".join(map(_text, each)) for each in names]
        self._text = "".join(texts) + END
        self._starts: Int[np.ndarray, " n"] = np.cumsum([0, *map(len, texts)])  # of each thing, and the end

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


def _text(name: str) -> str:
    """All the letters of a name in one word, and then its words."""
    whole, *rest = letters_without_accents(name), *words(name)
    return END + SPLIT.join([WORD + whole, "".join(WORD + word for word in rest)])


def letters_without_accents(name: str) -> str:
    return "".join(words(name))


def words(name: str) -> list[str]:
    """The runs of letters and digits in a name, without case and accents."""
    plain = name.casefold()
    if not name.isascii():
        plain = "".join(each for each in unicodedata.normalize("NFKD", plain) if not unicodedata.combining(each))
    return "".join(character if character.isalnum() else " " for character in plain).split()
