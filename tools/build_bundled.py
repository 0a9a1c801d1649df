"""Cut hmem's bundled graphs out of WordNet 3.0.

    apt-get download wordnet-base && dpkg-deb -x wordnet-base_*.deb wordnet
    python tools/build_bundled.py wordnet/usr/share/wordnet src/hmem/bundled --seed 0

DICT_DIR holds WordNet's database files: data.*, index.* and cntlist.rev. Two folders of gzipped TSV files are written
under OUT_DIR: `wordnet-mini` (train, valid, test) and `wordnet-mini-gen` (the same facts with held-out entities, by
the paper's recipe). The same input and seed give the same bytes.

How the slice is cut:

1. Four trees: everything below the ROOTS, breadth-first, down to DEPTH levels.
2. Their known part: the synsets that occur in WordNet's sense-tagged texts, and those always KEPT; their direct kinds,
   named examples, parts and the groups they belong to; the hypernyms of all these, up to `entity.n.01`.
3. Bridges, in two rounds: synsets anywhere in WordNet with two neighbors in what we have, or with one if they are
   verbs, adjectives or adverbs that occur in the tagged texts.
4. A core: the synset that is worth least (few neighbors left, not in the tagged texts) is taken away, again and again,
   until each tree and each other part of speech is down to its size in SIZES; then the largest connected component.
"""

import argparse
import heapq
import re
import struct
import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hmem.errors import DataError, HMemError
from hmem.graph.gen import split_heldout

Triple = tuple[str, str, str]

# WordNet's pointer symbols and WN18's names for them; a pointer of A to B is the triple (A, relation, B). Substance
# parts, antonyms, attributes, entailments and causes are not in WN18, and not here.
RELATIONS = {
    "@": "_hypernym",
    "~": "_hyponym",
    "@i": "_instance_hypernym",
    "~i": "_instance_hyponym",
    "#m": "_member_holonym",
    "%m": "_member_meronym",
    "#p": "_part_of",
    "%p": "_has_part",
    "+": "_derivationally_related_form",
    "^": "_also_see",
    "$": "_verb_group",
    "&": "_similar_to",
    ";c": "_synset_domain_topic_of",
    "-c": "_member_of_domain_topic",
    ";r": "_synset_domain_region_of",
    "-r": "_member_of_domain_region",
    ";u": "_synset_domain_usage_of",
    "-u": "_member_of_domain_usage",
}
UP = {"_hypernym", "_instance_hypernym"}
DOWN = {"_hyponym", "_instance_hyponym"}
WHOLES = {"_has_part", "_part_of", "_member_holonym"}

# How many synsets to keep below each root, and of the other nouns, verbs, and adjectives with adverbs.
ROOTS = {"animal.n.01": 1150, "body_part.n.01": 450, "artifact.n.01": 2050, "biological_group.n.01": 300}
SIZES = {**ROOTS, "n": 500, "v": 450, "a": 200}
DEPTH = 9
COMMON = {"v": 10, "a": 1}  # occurrences in the tagged texts from which a word is a bridge with a single neighbor
HELDOUT = 300

# Always kept: what the documentation asks about, and animals and things that a reader looks for first but that the
# tagged texts (news and fiction of 1961) hardly mention.
KEPT = frozenset(
    f"{word}.n.{sense}"
    for sense, words in {
        "01": "wolf timber_wolf dog poodle feline cat lion tiger horse bird fish eagle robin giraffe hippopotamus "
        "koala kangaroo penguin crocodile dinosaur hamster gorilla chimpanzee bison goldfish flamingo pelican paw tail "
        "wing hoof canis car wheel car_wheel engine automobile_engine bicycle boat airplane screwdriver flute guitar",
        "02": "canine ostrich dolphin whale octopus squid wasp turtle",
        "03": "scorpion",
    }.items()
    for word in words.split()
)
# What one would not show to a class: words that the gloss itself calls obscene or offensive, and a few places.
OFFENSIVE = re.compile(
    r"\b(obscene|vulgar|offensive|disparaging|derogatory)\b[^;]*\b(term|name|word|slang|expression)|\(ethnic slur\)"
)
UNWANTED = {"bitch.n.04", "concentration_camp.n.01", "whorehouse.n.01"}

FILES = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
SENSE_TYPES = {"n": 1, "v": 2, "a": 3, "r": 4, "s": 5}
NAME = re.compile(r"[a-z][a-z0-9_.'-]*\.[nvasr]\.[0-9]{2}")


@dataclass(frozen=True, slots=True)
class Synset:
    name: str  # first_lemma.pos.sense, as NLTK writes it
    gloss: str
    tags: int  # occurrences of its words, in this sense, in the tagged texts
    links: frozenset[tuple[str, str]]  # (relation, name of the other synset)

    @property
    def neighbors(self) -> set[str]:
        return {name for _, name in self.links}

    def over(self, relations: set[str]) -> set[str]:
        return {name for relation, name in self.links if relation in relations}


# ---------------------------------------------------------------- reading WordNet


@dataclass(frozen=True, slots=True)
class _Row:
    """A data line: `offset lex_filenum ss_type w_cnt (word lex_id)… p_cnt (symbol offset pos words)… | gloss`."""

    offset: str
    lex_file: str
    kind: str  # n, v, a, r, or s for an adjective satellite
    words: list[tuple[str, int]]  # lemma and lex_id
    pointers: list[tuple[str, str, str]]  # symbol, part of speech, offset
    gloss: str

    @classmethod
    def parse(cls, line: str) -> "_Row":
        data, _, gloss = line.partition("|")
        fields = data.split()
        count = int(fields[3], 16)
        words = [
            (re.sub(r"\((a|p|ip)\)$", "", fields[i]).lower(), int(fields[i + 1], 16))
            for i in range(4, 4 + 2 * count, 2)
        ]
        start = 4 + 2 * count
        end = start + 1 + 4 * int(fields[start])
        pointers = [(fields[i], fields[i + 2], fields[i + 1]) for i in range(start + 1, end, 4)]
        return cls(fields[0], fields[1], fields[2], words, pointers, gloss.strip())


def read_wordnet(folder: Path) -> dict[str, Synset]:
    """Every synset of the database in `folder`, by name, with its links of WN18's kinds."""
    rows = {(pos, row.offset): row for pos in FILES for row in map(_Row.parse, _lines(folder / f"data.{FILES[pos]}"))}
    senses = {(pos, lemma): offsets for pos in FILES for lemma, offsets in _index(folder / f"index.{FILES[pos]}")}
    tags = {key: int(count) for key, _, count in map(str.split, _lines(folder / "cntlist.rev"))}
    names = {}
    for (pos, offset), row in rows.items():
        lemma = row.words[0][0]
        names[pos, offset] = f"{lemma}.{row.kind}.{senses[pos, lemma].index(offset) + 1:02d}"
    synsets = {}
    for key, row in rows.items():
        head = _head(row, rows)
        count = sum(tags.get(_sense_key(row, word, head), 0) for word in row.words)
        links = {
            (RELATIONS[symbol], names[_key(pos, offset)]) for symbol, pos, offset in row.pointers if symbol in RELATIONS
        }
        # a word may derive from another of its own synset; such loops tell a memory nothing
        links = {link for link in links if link[1] != names[key]}
        synsets[names[key]] = Synset(names[key], row.gloss, count, frozenset(links))
    return synsets


def _lines(path: Path) -> Iterator[str]:
    if not path.is_file():
        raise DataError(f"{path} not found; DICT_DIR must hold WordNet's data.*, index.* and cntlist.rev")
    with path.open(encoding="latin-1") as file:
        yield from (line for line in file if not line.startswith("  "))  # the license at the top is indented


def _index(path: Path) -> Iterator[tuple[str, list[str]]]:
    """`lemma pos synset_cnt p_cnt symbol… sense_cnt tagsense_cnt offset…`: the offsets are in order of sense number."""
    for fields in map(str.split, _lines(path)):
        yield fields[0], fields[6 + int(fields[3]) :]


def _key(pos: str, offset: str) -> tuple[str, str]:
    return ("a" if pos == "s" else pos, offset)


def _head(row: _Row, rows: dict[tuple[str, str], _Row]) -> str:
    """The end of a satellite's sense keys: the first word of the adjective it is similar to."""
    if row.kind != "s":
        return ":"
    word, lex_id = next(rows[_key(p, o)].words[0] for s, p, o in row.pointers if s == "&")
    return f"{word}:{lex_id:02d}"


def _sense_key(row: _Row, word: tuple[str, int], head: str) -> str:
    return f"{word[0]}%{SENSE_TYPES[row.kind]}:{row.lex_file}:{word[1]:02d}:{head}"


# ---------------------------------------------------------------- choosing the slice


def choose(
    wordnet: dict[str, Synset], *, kept: Set[str] = KEPT, sizes: Mapping[str, int] = SIZES, depth: int = DEPTH
) -> set[str]:
    """The names of the slice; the four steps are told at the top of this file."""
    missing = (kept | ROOTS.keys()) - wordnet.keys()
    if missing:
        raise DataError(f"not in this WordNet: {', '.join(sorted(missing))}; version 3.0 is expected")
    graph = {name: synset for name, synset in wordnet.items() if _is_wanted(synset)}
    neighbors = {name: synset.neighbors & graph.keys() for name, synset in graph.items()}

    known = {name for name in _closure(graph, ROOTS, DOWN, depth) if graph[name].tags > 0} | kept | ROOTS.keys()
    around = {other for name in known for other in graph[name].over(DOWN | WHOLES) if other in graph}
    chosen = _closure(graph, known | around, UP)
    for _ in range(2):
        links = Counter(other for name in chosen for other in neighbors[name] - chosen)
        chosen |= {name for name, count in links.items() if count >= 2 or _is_common(graph[name])}

    group = {name: _speech(name) for name in chosen}
    for root in ROOTS:
        group |= dict.fromkeys(_closure(graph, [root], DOWN) & chosen, root)
    worth = {name: min(graph[name].tags.bit_length(), 2) for name in chosen}  # 0, 1, or 2 for two or more occurrences
    core = _peel({name: neighbors[name] & chosen for name in chosen}, worth, group, kept, sizes)
    return _component(neighbors, core)


def _is_wanted(synset: Synset) -> bool:
    unwanted = OFFENSIVE.search(synset.gloss) or ({synset.name} | synset.over(UP)) & UNWANTED
    return NAME.fullmatch(synset.name) is not None and not unwanted


def _is_common(synset: Synset) -> bool:
    speech = _speech(synset.name)
    return speech in COMMON and synset.tags >= COMMON[speech]


def _speech(name: str) -> str:
    """n, v, or a for adjectives (their satellites, s, too) and adverbs."""
    pos = name.split(".")[-2]
    return pos if pos in "nv" else "a"


def _closure(graph: dict[str, Synset], start: Iterable[str], relations: set[str], depth: int | None = None) -> set[str]:
    """All that is reached from `start` over `relations` in at most `depth` steps, breadth-first."""
    reached = set(start)
    level = set(reached)
    while level and depth != 0:
        level = {other for name in level for other in graph[name].over(relations) if other in graph} - reached
        reached |= level
        depth = None if depth is None else depth - 1
    return reached


def _peel(
    neighbors: Mapping[str, set[str]],
    worth: Mapping[str, int],
    group: Mapping[str, str],
    kept: Set[str],
    sizes: Mapping[str, int],
) -> set[str]:
    """Take away the synset of least worth plus neighbors left while its group is too large; of equals, the longest."""
    left = set(neighbors)
    value = {name: worth[name] + len(neighbors[name]) for name in left}
    excess = Counter(group.values())
    excess.subtract(sizes)

    def entry(name: str) -> tuple[int, int, int, str]:
        return value[name], -name.count("_"), -len(name), name

    heap = sorted(entry(name) for name in left - kept)
    while heap:
        claimed, *_, name = heapq.heappop(heap)
        if name not in left or claimed != value[name] or excess[group[name]] <= 0:
            continue  # an old entry (the synset is gone, or has lost neighbors since), or a group of the right size
        left.remove(name)
        excess[group[name]] -= 1
        for other in neighbors[name] & left:
            value[other] -= 1
            if other not in kept:
                heapq.heappush(heap, entry(other))
    return left


def _component(neighbors: dict[str, set[str]], names: set[str]) -> set[str]:
    """The largest connected part of `names`."""
    rest, largest = set(names), set[str]()
    while len(rest) > len(largest):
        part = level = {min(rest)}
        while level:
            level = {other for name in level for other in neighbors[name] & rest} - part
            part = part | level
        rest -= part
        largest = max(largest, part, key=len)
    return largest


# ---------------------------------------------------------------- splitting and writing


def slice_triples(wordnet: Mapping[str, Synset], names: Set[str]) -> list[Triple]:
    """The sorted facts between `names`."""
    return sorted(
        (name, relation, other) for name in names for relation, other in wordnet[name].links if other in names
    )


def split_random(triples: list[Triple], seed: int) -> dict[str, list[Triple]]:
    """90 % train, 5 % valid, 5 % test at random; entities and relations of valid and test all stay in train."""
    held = len(triples) // 20
    left = Counter(label for triple in triples for label in triple)
    taken: list[int] = []
    for row in np.argsort(np.random.PCG64(seed).random_raw(len(triples)), kind="stable").tolist():
        if len(taken) < 2 * held and all(left[label] > 1 for label in triples[row]):
            left.subtract(triples[row])
            taken.append(row)
    half = len(taken) // 2
    train = sorted(set(range(len(triples))) - set(taken))
    parts = {"train": train, "valid": sorted(taken[:half]), "test": sorted(taken[half:])}
    return {name: [triples[row] for row in rows] for name, rows in parts.items()}


def split_gen(triples: list[Triple], heldout: int, seed: int) -> dict[str, list[tuple[str, ...]]]:
    """The paper's held-out-entity split of the same facts, and the list of the entities held out."""
    entities = sorted({end for head, _, tail in triples for end in (head, tail)})
    relations = sorted({relation for _, relation, _ in triples})
    entity_ids = {name: i for i, name in enumerate(entities)}
    relation_ids = {name: i for i, name in enumerate(relations)}
    ids = np.array([(entity_ids[h], relation_ids[r], entity_ids[t]) for h, r, t in triples], dtype=np.int64)
    split = split_heldout(ids, len(entities), heldout, seed)
    parts: dict[str, list[tuple[str, ...]]] = {"heldout": [(entities[i],) for i in split.heldout.tolist()]}
    for name in ("train", "observed", "valid", "test"):
        parts[name] = [(entities[h], relations[r], entities[t]) for h, r, t in getattr(split, name).tolist()]
    return parts


def gzip_bytes(text: str) -> bytes:
    """What `gzip -9n` stands for: no name, no time. The header is spelled out as Python's own differs by version."""
    data = text.encode()
    deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = deflate.compress(data) + deflate.flush()
    return b"\x1f\x8b\x08\0\0\0\0\0\x02\x03" + body + struct.pack("<II", zlib.crc32(data), len(data) % 2**32)


def write_parts(folder: Path, parts: Mapping[str, Sequence[tuple[str, ...]]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in parts.items():
        (folder / f"{name}.tsv.gz").write_bytes(gzip_bytes("".join("\t".join(row) + "\n" for row in rows)))
        print(f"{folder.name}/{name}.tsv.gz: {len(rows)} rows")


def build(
    dict_dir: Path,
    out_dir: Path,
    seed: int = 0,
    *,
    kept: Set[str] = KEPT,
    sizes: Mapping[str, int] = SIZES,
    heldout: int = HELDOUT,
) -> None:
    wordnet = read_wordnet(dict_dir)
    triples = slice_triples(wordnet, choose(wordnet, kept=kept, sizes=sizes))
    gen, mini = split_gen(triples, heldout, seed), split_random(triples, seed)
    write_parts(out_dir / "wordnet-mini", mini)
    write_parts(out_dir / "wordnet-mini-gen", gen)


def main() -> None:
    parser = argparse.ArgumentParser(description="Cut hmem's bundled graphs out of WordNet 3.0.")
    parser.add_argument("dict_dir", type=Path, help="folder with WordNet's data.*, index.* and cntlist.rev")
    parser.add_argument("out_dir", type=Path, help="folder for wordnet-mini and wordnet-mini-gen")
    parser.add_argument("--seed", type=int, default=0, help="seed of both splits (default 0)")
    args = parser.parse_args()
    build(args.dict_dir, args.out_dir, args.seed)


if __name__ == "__main__":
    try:
        main()
    except HMemError as error:
        sys.exit(f"build_bundled: {error}")
