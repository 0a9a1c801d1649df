"""The public datasets: of each its size, checksums, license, citation, and where it comes from.

Only data, and nothing that takes time to import; `registry` finds the files and `download` fetches them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from hmem.graph.canonical import DATED


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """Public text files, one for each split: members of one archive, or each at an address of its own."""

    files: Mapping[str, str]  # split -> address, or the name of the archive's member
    archive: str | None = None  # address of a .tar.gz or .zip
    columns: str = "hrt"  # the order of head, relation and tail in them


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One dataset. Counts are of the published rows; a checksum is of a split's canonical text (see `canonical`)."""

    name: str
    folder: str  # below HMEM_DATA, below the cache, or within the package
    entities: int  # in any split, or listed as held out
    relations: int
    rows: Mapping[str, int]  # split -> lines
    sha256: Mapping[str, str]  # split -> checksum
    license: str
    citation: str
    origin: str  # where the files come from, for a reader
    source: Source | None = None  # where we can fetch them
    instead: str = ""  # what to do where we cannot
    bundled: bool = False
    columns: str = "hrt"  # of the files: head, relation, tail, and d for a date
    duplicates: int = 0  # rows of train that repeat an earlier one

    @property
    def splits(self) -> tuple[str, ...]:
        return tuple(self.rows)

    @property
    def heldout(self) -> int | None:
        return self.rows.get("heldout")


WORDNET = "WordNet 3.0 license"
ATTACK = "© 2025 The MITRE Corporation; royalty-free, see LICENSE.txt beside the files"
CUT = "cut out of WordNet 3.0 by tools/build_bundled.py"
FREEBASE = "CC BY 2.5 (Freebase)"
MANA = "https://github.com/mana-ysh/knowledge-graph-embeddings/raw/master/dat"
STARSPACE = "https://dl.fbaipublicfiles.com/starspace"  # as in PyTorch-BigGraph
CONVE = "https://github.com/TimDettmers/ConvE/raw/master"
VILLMOW = "https://raw.githubusercontent.com/villmow/datasets_knowledge_embedding/master/other/countries"
CODEX = "https://raw.githubusercontent.com/tsafavi/codex/master/data/triples"
GRAIL = "https://raw.githubusercontent.com/kkteru/grail/master/data"
LALISSE_REPOSITORY = "https://github.com/MatthiasRLalisse/HMemNetworks at commit 654ee244"

MILLER = "G. A. Miller. WordNet: A Lexical Database for English. Communications of the ACM 38(11), 1995."
STROM = (
    "B. E. Strom, A. Applebaum, D. P. Miller, K. C. Nickels, A. G. Pennington, C. B. Thomas. "
    "MITRE ATT&CK: Design and Philosophy. The MITRE Corporation, 2018, revised 2020."
)
BORDES = (
    "A. Bordes, N. Usunier, A. García-Durán, J. Weston, O. Yakhnenko. "
    "Translating Embeddings for Modeling Multi-relational Data. NeurIPS 2013."
)
DETTMERS = "T. Dettmers, P. Minervini, P. Stenetorp, S. Riedel. Convolutional 2D Knowledge Graph Embeddings. AAAI 2018."
TOUTANOVA = (
    "K. Toutanova, D. Chen. Observed versus Latent Features for Knowledge Base and Text Inference. "
    "Workshop on Continuous Vector Space Models and their Compositionality, 2015."
)
LALISSE = (
    "M. Lalisse, E. Rosen, P. Smolensky. Scalable knowledge base completion with superposition memories. arXiv, 2021."
)
KOK = "S. Kok, P. Domingos. Statistical Predicate Invention. ICML 2007."
KEMP = (
    "C. Kemp, J. B. Tenenbaum, T. L. Griffiths, T. Yamada, N. Ueda. "
    "Learning Systems of Concepts with an Infinite Relational Model. AAAI 2006."
)
BOUCHARD = (
    "G. Bouchard, S. Singh, T. Trouillon. On Approximate Reasoning Capabilities of Low-Rank Vector Spaces. "
    "AAAI Spring Symposium 2015."
)
SAFAVI = "T. Safavi, D. Koutra. CoDEx: A Comprehensive Knowledge Graph Completion Benchmark. EMNLP 2020."
TERU = "K. K. Teru, E. G. Denis, W. L. Hamilton. Inductive Relation Prediction by Subgraph Reasoning. ICML 2020."


def _sizes() -> dict[str, dict[str, Any]]:
    """The counts and checksums of each dataset, from catalog.txt."""
    text = resources.files("hmem.graph").joinpath("catalog.txt").read_text(encoding="utf-8")
    lines = text.splitlines()[1:]
    starts = [position for position, line in enumerate(lines) if not line.startswith(" ")]
    sizes = {}
    for start, stop in zip(starts, [*starts[1:], len(lines)], strict=True):
        name, entities, relations = lines[start].split()
        splits = [line.split() for line in lines[start + 1 : stop]]
        sizes[name] = {
            "entities": int(entities),
            "relations": int(relations),
            "rows": {split: int(rows) for split, rows, _ in splits},
            "sha256": {split: digest for split, _, digest in splits},
        }
    return sizes


_SIZES = _sizes()


def _entry(name: str, *, folder: str | None = None, **fields: Any) -> Entry:
    return Entry(name=name, folder=folder or name, **_SIZES[name], **fields)


def _in_archive(name: str, license: str, citation: str, address: str, member: str = "{}.txt") -> Entry:
    files = {split: member.format(split) for split in _SIZES[name]["rows"]}
    return _entry(name, license=license, citation=citation, origin=address, source=Source(archive=address, files=files))


def _as_files(name: str, license: str, citation: str, address: str, **fields: Any) -> Entry:
    source = Source(files={split: f"{address}/{split}.txt" for split in _SIZES[name]["rows"]})
    return _entry(name, license=license, citation=citation, origin=address, source=source, **fields)


def _by_hand(name: str, content: str, recipe: str) -> Entry:
    """The authors' own files, which are no longer public: there is nothing to fetch."""
    return _entry(
        name,
        license=f"none stated; content {content}",
        citation=LALISSE,
        origin=f"{LALISSE_REPOSITORY}, folder {name} (since removed)",
        instead=f"build one by the same recipe: {recipe}",
    )


def _with_hmem(name: str, license: str, citation: str, made: str, **fields: Any) -> Entry:
    origin, instead = f"comes with hmem; {made}", "install hmem anew: it brings them"
    return _entry(name, license=license, citation=citation, origin=origin, instead=instead, bundled=True, **fields)


def _grail(name: str) -> Entry:
    member = name.removeprefix("GraIL/")
    content = {"WN18RR": f"; content {WORDNET}", "fb237": f"; content {FREEBASE}"}.get(member.split("_")[0], "")
    return _as_files(name, f"none stated{content}", TERU, f"{GRAIL}/{member}")


_ENTRIES = [
    _with_hmem("attack", ATTACK, STROM, "made of ATT&CK 18.1 by tools/build_attack.py", columns=DATED),
    _with_hmem("wordnet-mini", WORDNET, MILLER, CUT),
    _with_hmem("wordnet-mini-gen", WORDNET, MILLER, CUT),
    _in_archive("WN18", WORDNET, BORDES, f"{MANA}/wordnet-mlj12.tar.gz", "wordnet-mlj12-{}.txt"),
    _in_archive("FB15K", FREEBASE, BORDES, f"{STARSPACE}/fb15k.tgz", "freebase_mtr100_mte100-{}.txt"),
    _in_archive("WN18RR", f"MIT; content {WORDNET}", DETTMERS, f"{CONVE}/WN18RR.tar.gz"),
    _in_archive("FB15K-237", f"MIT; content {FREEBASE}", TOUTANOVA, f"{CONVE}/FB15k-237.tar.gz"),
    _by_hand("WNGen", WORDNET, "hmem data gen WN18 --heldout 1500"),
    _by_hand("FBGen", FREEBASE, "hmem data gen FB15K --heldout 1000"),
    _in_archive("UMLS", "MIT", KOK, f"{CONVE}/umls.tar.gz"),
    _in_archive("Kinship", "MIT", KEMP, f"{CONVE}/kinship.tar.gz"),
    _in_archive("Nations", "MIT", KEMP, f"{CONVE}/nations.tar.gz"),
    # one row of each train file stands there twice, as published
    _as_files("Countries-S1", "MIT", BOUCHARD, f"{VILLMOW}/countries_S1", folder="Countries/S1", duplicates=1),
    _as_files("Countries-S2", "MIT", BOUCHARD, f"{VILLMOW}/countries_S2", folder="Countries/S2", duplicates=1),
    _as_files("Countries-S3", "MIT", BOUCHARD, f"{VILLMOW}/countries_S3", folder="Countries/S3", duplicates=1),
    _as_files("CoDEx-S", "MIT", SAFAVI, f"{CODEX}/codex-s"),
    _as_files("CoDEx-M", "MIT", SAFAVI, f"{CODEX}/codex-m"),
    *[_grail(name) for name in _SIZES if name.startswith("GraIL/")],
]

CATALOG: Mapping[str, Entry] = {entry.name: entry for entry in _ENTRIES}
