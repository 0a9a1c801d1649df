"""What is known about each public dataset: its size, checksums, licence, citation, and where it comes from.

Only facts, and nothing that takes time to import; `registry` finds the files and `download` fetches them.
"""

from collections.abc import Mapping
from dataclasses import dataclass


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
    licence: str
    citation: str
    origin: str  # where the files come from, for a reader
    source: Source | None = None  # where we can fetch them
    instead: str = ""  # what to do where we cannot
    bundled: bool = False
    duplicates: int = 0  # rows of train that repeat an earlier one

    @property
    def splits(self) -> tuple[str, ...]:
        return tuple(self.rows)

    @property
    def heldout(self) -> int | None:
        return self.rows.get("heldout")


WORDNET = "WordNet 3.0 licence"
FREEBASE = "CC BY 2.5 (Freebase)"
MANA = "https://github.com/mana-ysh/knowledge-graph-embeddings/raw/master/dat"
STARSPACE = "https://dl.fbaipublicfiles.com/starspace"  # as in PyTorch-BigGraph
CONVE = "https://github.com/TimDettmers/ConvE/raw/master"
VILLMOW = "https://raw.githubusercontent.com/villmow/datasets_knowledge_embedding/master/other/countries"
CODEX = "https://raw.githubusercontent.com/tsafavi/codex/master/data/triples"
GRAIL = "https://raw.githubusercontent.com/kkteru/grail/master/data"
LALISSE_REPOSITORY = "https://github.com/MatthiasRLalisse/HMemNetworks at commit 654ee244"

MILLER = "G. A. Miller. WordNet: A Lexical Database for English. Communications of the ACM 38(11), 1995."
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

# name, entities, relations; then split, rows, SHA-256 of its canonical text
SIZES = """
wordnet-mini 5090 18
    train      15542 cd248e0e4555c12310f1095a78c8edd78d26dce46568a518f3242370380b8ff1
    valid        863 d8954adabe9f00f71bcf1b1bf9577d19eb758ae200461b7f2f6296eb1e048191
    test         863 79f0f1a444d42ae95e125df68853a2dc8b1897d429e464a7d78c1e96db65df02
wordnet-mini-gen 5090 18
    train      15440 a70e11cfee25b368c569476620ea1748b17c21984f835de7abcb49be3bad8dfe
    observed    1185 5edda185ed42f59c5114f7c1f4041280e8ab116df305e01b7671620a139f28b1
    valid        296 d660fac1b5ac7d0230361d289295f07ed8ac52f6aab9aa7aa746e4c69ed365cb
    test         297 f3fc06476eafa798cf072a3717c3a4e5605c575fce296d13b8b8c3f9f3eee151
    heldout      300 418ad5799f93ac9a3fc437d5ddb7553a342d35c95cf8421d0cdf0032a1c14ce8
WN18 40943 18
    train     141442 24c9b02dc57d3ae8ca8467ce355995edee7be8eddc3bd070ee34d3c6fc3c95eb
    valid       5000 13347bfb5e17d1cae003e0bfe29b4716d3ab748e8cfb6af997138d37da3a51dc
    test        5000 d22c19d176d4ba6a6f0d0c6bfce39ab3c16e3b20e1df6f9efe0d9ed86542fa10
FB15K 14951 1345
    train     483142 f9cdfd2685f6483bd3a499d433919b15d62f0715c6cf18b2ca30c2aa5c47a704
    valid      50000 471929cde9cf74b1caa8348c2b601c8010d6b2f2a56bae49b4ebfd14c9bce855
    test       59071 5b60b4de325482c3368e22d0b7452d465b09a610fea0ce3768d8b1e8b5a7e42a
WN18RR 40943 11
    train      86835 038612e783c215ee5f3ca9fbfca27b8d0739be1028fe4ee7c174aecf0b83d5df
    valid       3034 453ce7202afa58094a04d2b1560ee2b02660f1c260b32ce6651c8ccedd1028ab
    test        3134 0383bceaaa1096cf3c03ec021ed0048068e2355dbfc0239b292cefdac821cec5
FB15K-237 14541 237
    train     272115 61099230e4439f90885ca9767739e31e8e32f54736fa1c35952b27997bc7c08a
    valid      17535 749cbe9d923bac7b9354da5614ecfed2e0220256d442c3e04a6b303db1f273d9
    test       20466 e2e35e8e6113de220140b6f44dc71a5207b0fc6872d575e874aefe13259b655b
WNGen 40943 18
    train     140969 b17b3f70c5446e95dc3dd171a62e73476920e3735efd111baeab1ae477894ead
    observed    6832 7214578a54d16401df5c32f7baba2231727e14d7622110ad09d32983c4369f35
    valid       1708 91755cc2e216f0d6abbbac2a75adb73013bd81931186e82307bb06b3a8afbc05
    test        1709 db3c743926d7b6e8e0bef4cc2bff1bfe3c7d5925493a5fc1141b6eb2c43cd8b0
    heldout     1500 cabccf7007bd993f5d79aea64b773bc558c1b8d55eb9c11f05ac3625711fc65e
FBGen 14951 1345
    train     495633 62fac25b476b5ef28e9e8e5760d651b0f3abdb2b2f8fc6303a741e0180ff93f8
    observed   61595 6fbc52fc07f76fa5ff8845eeb1c4a201756f4f68c81923359ab49f783682731c
    valid      15398 1151290fae5fa7e2fda2faccf41b0d7b251059b82ff4fa5e76fa56fc322f816d
    test       15400 9f5994408710f8b91d898e24c4181a6a9cca498228c0bd226c95dec19d79bb3a
    heldout     1000 ece748b04325e03e295f9ae8a9bd8b0f71da9bcd75139329d340750a01b39edd
UMLS 135 46
    train       5216 873ef4925516b83e7f6f8cc02b4be51d848828710a7f65a956f0ac4a9e452f35
    valid        652 025c98f8a4891e2a6582ec5b40ee0d904031edad9c52554522f4b7904820c98e
    test         661 a7eb529a3d2810fcc96341ccc97c625a5e202f8389673aa6bd317eeebbb79014
Kinship 104 25
    train       8544 738612111a6acf0e39662bde24c7e72a4d1edf20931beea077da367dda689731
    valid       1068 c56f8630a583178b1e569f11a64aa535ae1ce0b0912d8b1e24716be2b37f04da
    test        1074 05e5733265761d55be9c05bfaff5a8d0808df46f9c1e9d66cc3f2fe114e43d88
Nations 14 55
    train       1592 0830fa9da8e5bba2ccdaa45b7bdc9130451ba66b09ff2708f35fccaf82473e57
    valid        199 2b337a62e51a2f45c283eac98a70d21b7e0e102136be1539b2a52c652a7b0530
    test         201 3971085165b47b6aeaec68058c6d8d98b3005e929db81268410b95ae4db770ab
Countries-S1 271 2
    train       1111 5256bf3fc4181d7e87d819571e3acfa5425fc5af365b9ebe5c113740534ca561
    valid         24 f4b27648148a44f87e627140ec3a02ca4c884c32d348591147ca72f1d6fff5b0
    test          24 262ca5ae5ed3aa1927026e0f258cc52b10830185b93465b93b9360727e719158
Countries-S2 271 2
    train       1063 84c8f310fa076f902760f0909716b13bc0853a105ab9e0145e4e5135d855f68a
    valid         24 f4b27648148a44f87e627140ec3a02ca4c884c32d348591147ca72f1d6fff5b0
    test          24 262ca5ae5ed3aa1927026e0f258cc52b10830185b93465b93b9360727e719158
Countries-S3 271 2
    train        985 80a8e3a26aff58b78fd5a453ec2a37591466bad621df8d05185f26763b663a0c
    valid         24 f4b27648148a44f87e627140ec3a02ca4c884c32d348591147ca72f1d6fff5b0
    test          24 262ca5ae5ed3aa1927026e0f258cc52b10830185b93465b93b9360727e719158
CoDEx-S 2034 42
    train      32888 64f93b7f314f3936a6f65739721429db3f6a7c8f5a1e1104ec3bb544f7434f59
    valid       1827 3831c0e57daef03c3a18cdd1a72e370b496f696c5218883d35c7d2ab8a6a772c
    test        1828 27127fcb34688c4778e88a39ef3c9b540807da846021e9d9685660ac1838aca1
GraIL/WN18RR_v1 2746 9
    train       5410 4cc72d4fdcc8206e208e1f59f3c778be5de4a68cfe76776d15245b0d2c08d396
    valid        630 5cebd29da8ada35ac73b6875329884cdf83943ddea454e9f70cc43b423ea479b
    test         638 f1cb44e999e2540a0a614f4bb710c7f82a9304432ff37ce282749b56c66d0d20
GraIL/WN18RR_v1_ind 922 8
    train       1618 7d1b73c5994e9aa816b34e33ee10707656803ba6b8a0f6066cae7ddc04f87553
    valid        185 cfa28b9d75dbab17ea82a9443a5bf8acb738e60267cc63f8a221b38967e1d238
    test         188 6df8c00a2e0cf1a4b484ac638c081198926fcbc411ce2e12ccc79d432eead269
GraIL/WN18RR_v2 6954 10
    train      15262 a14a902df92e32f4aeb65761560072a007ae915308bb8a7a03c58dc1e9c2a9ad
    valid       1838 2d3f6703d87fe1605f636736f0e848d9750b8e1593bd41101554ecbb41a1d836
    test        1868 04e03f270adf4970132ad51ab1a4022e46e790e9b662890ce4e13d31e6d096ad
GraIL/WN18RR_v2_ind 2757 10
    train       4011 8dc9bb459e6306737a083b15698ed1420ce8dc57e27f8a42ab7b90c26dfc5154
    valid        411 fc32db7cb56dba0ff05bf57efd8a2279f0825dc6ae763c9d32281a9a1373c09a
    test         441 3b3942ce7665f1a6667721f5eab946bde79a5929f1996c5af16e0b092a5084bb
GraIL/WN18RR_v3 12078 11
    train      25901 324a2b04b621bfe8d2dd98ad1c585fbc7efefb1548e92b5d10afc08733286aa7
    valid       3097 7f008df4879d36ef70a5c5eb58a7c87488c3f1fea606ab484e66a1aff89b0cbc
    test        3152 df6690cc2a454c14f79a62e879ba6d688bd666f2cf6168e1d6abffd7a7efc598
GraIL/WN18RR_v3_ind 5084 11
    train       6327 85b817c364d097793a4b0969fa49d20167345256bf812c978bff381ad3aef492
    valid        538 c0876dafce4cef4c6ef1aa53457fb9f4e40a31a8bf9edbaf05389bfe5ba26f43
    test         605 efad21a11c1cf26a1a4a5fcf7a64c585ccde3c4f8f71de3a00a995d9e8c9938d
GraIL/WN18RR_v4 3861 9
    train       7940 5eace2cdfdffb2b19c6d27c7527ae79b8f4b1b3fb712d9a5049243a13edb95ca
    valid        934 ca1568ca934bbf5ccfeabb3a67010968433c0e5bc1df9b0d3d48279023abd7bd
    test         968 7d4f3226400ea477a5559aa69034df73f0cd314c1a1916963ac000b2cac44e82
GraIL/WN18RR_v4_ind 7084 9
    train      12334 d5608132dab5873666e249c1de9412608c0e0b2cc0d154b0ffceff1ce067cc03
    valid       1394 0928c5cb528ebde49a3be13f3df4d863f95312c247854bea556c65008cc5b54c
    test        1429 10ccff353175e6eaaff0b3d7ef7931115845868653ddba0ba6fb5c8dfdab6364
GraIL/fb237_v1 1594 180
    train       4245 74ef3120fe38a22e5131064d23108b88a8d339496057fa8467d80dcda8f1cec1
    valid        489 d4c2698d7dc36c0dc39ffb3d810caeafe530d779bf9f6451fac2027f41c2ff6d
    test         492 130534f98bc3b9621bc866035098b132091e8bc749fbad327b5978f3d47f49f7
GraIL/fb237_v1_ind 1093 142
    train       1993 049829f7047ecf0e0bff0769efca31bc7f811f760c4ffcb20a5680f789b00c61
    valid        206 ac817123c4177ef46b08a3802380a355282b99d4283c43474c9dd91c082107dd
    test         205 c79d39372be30a3864cfe5094b3022f38b57d88c351dbbfa2d9e7f3368ac23aa
GraIL/fb237_v2 2608 200
    train       9739 542f81af46d6727979278643105ba7c236dd8b29ee5d9962e3c3fa295ab8869c
    valid       1166 59e07dcb883b28bb35585ba95576e4ebb2a71ddbc906119abcc4c87b28198d0c
    test        1180 95da050e60b94f285cdf18ea7899b34df9e0a4a1d638f5ec6ff99caef36a2beb
GraIL/fb237_v2_ind 1660 172
    train       4145 6756f8d4aa688bc1a18c1106117a7fde94e0469f223f5d00954846afce471e54
    valid        469 2c3b4430cac899b868c9dd22ece0eae830ca62c8a6c0bf8610c670bbeaf7d6d8
    test         478 17c16e008cb6dfdc67ef0f375aab0a8fee2b087c7d687a72f5217b789d0c4a10
GraIL/fb237_v3 3668 215
    train      17986 0f27b7f00d3e34964450c22445d17f7612d12d7c382caa3317f45bfe7465f299
    valid       2194 8b034e73fe64af9c7baf1e12704a94e7e9a9e6b9242feb498c69ebd65bccf269
    test        2214 f93ff5277296486e2ce5d035e46b81b24b89e55a7a8e41196636482aeb50a49b
GraIL/fb237_v3_ind 2501 183
    train       7406 2805f9237816f5bb5bb1ff1fbc3d37cc0beb99047bef3a6bd82cc1f6947e8525
    valid        866 76f7691aa597d43d704af047d01a5f4d266c02733c52a5c340c2bea4a85dd281
    test         865 7dbd4d74210ffd5029d95327639f83c3b46f8bd4ee3571e619812b367d0880da
GraIL/fb237_v4 4707 219
    train      27203 b9fa0f2650a1ab7687e21e0aec24bb51c0b0eacf0d88c8780c03c9b201b9148d
    valid       3352 d99dedcd13bc0cd338a299a895685b66f15e0b7ed42477d40f1ad1a65ce6d483
    test        3361 f1ecc866636b2704bd6f7cae53d2bbeea414fa88c1f2b4ab9f1924719bd505c8
GraIL/fb237_v4_ind 3051 200
    train      11714 ef55c03e05d5eeeec97fe2030e92bc36bd5ee9311b770ae0a3fd812982686e8d
    valid       1416 0a237c20719267449388e1d43995ccf67da5a3c82085ba5d2e3996c77dc73921
    test        1424 8e6e19adb9b154348897bf896b5305a76126bc4d79a21705ea47e4efce2d84f3
GraIL/nell_v1 3103 14
    train       4687 d2b5d535ace4d1e3a18e69176e84a3ada1ca62fb4a647a12c4222781b91615ba
    valid        414 d11d6de249ff1185e701536a7d63f0c997cf7cce2646f3d17c06ecc885835726
    test         439 45ec92b2c2b6cfdd1fe29001dcb1fa5b8fc3c5c4cf0778e67ddad9f6fcce5f53
GraIL/nell_v1_ind 225 14
    train        833 b0bfb66f65d70586a26703eb022926a75c1f234d1bcdeafe2e8d387be41291ee
    valid        101 297c1c82c944bd76255f6ad4cc22f5ecbb23c9daac366e8991b5770ca0dfb8fc
    test         100 66a497671114e73f450cf9e5eb79be5e5790121816228eb43e3ba3481e2bfa28
GraIL/nell_v2 2564 88
    train       8219 850a117e29126fd2e8d9d4ddb3430ee540c7ed2999142fb0fd9d7195204ce0a1
    valid        922 deb8b4c65548da49f3d8a1a171dbfa106de8b38d6747d38486ced4d324d3a600
    test         968 0fb5ac8305b8aab8b0df9b3b0bbd6962520011beae66b9f51470ab5d7d7b473c
GraIL/nell_v2_ind 2086 79
    train       4586 d92470e3e07f354e665ee9cc5c4e0fb99ff8e6414839f340607be32e7709aef4
    valid        459 efcd59a03cb9a345f35ce7139c4817bc632143325394b474278b75568fe0808f
    test         476 b479de23638f3d86d96094b0e3a18144433841f84e1cec7af192b44839c8e1cf
GraIL/nell_v3 4647 142
    train      16393 88507ad17277d91d1a6d55d5b6ad4661a4b00bb7087923794a8cac820944dd73
    valid       1851 23313dcf7951a8cfc12b7d0c4bc84e5119024b1342d5ca5c042f38bab6cf9d71
    test        1873 a4a8bdc40b4f94429446fbfd17474cee2656146dc7942a55b046afe0f846a786
GraIL/nell_v3_ind 3566 122
    train       8048 08f161d7a842bdfef4394222b00996fc657cf9d8c8fabf73cfaf42c41a44b20c
    valid        811 0be937cd2ed452b950b4eadd7f306960004a334fdd478f4f68172fec86596daa
    test         809 f24cd61c799edced7dac727a132bb57a8791092c4705f7f7bf5474f4160da67d
GraIL/nell_v4 2092 76
    train       7546 00302276571b80a910582d00a20041d4ac8026ca4bbe457de8143e8ecb339d23
    valid        876 f5dfc264c150172225a519f67a3a2821635ef7d19d4ab45a179572ac8749fa6a
    test         867 b0bc008c8e42e6c0e043c71c831e235dac514385dcef12a7ef47a42b1954b0d6
GraIL/nell_v4_ind 2795 61
    train       7073 30ccc157815e5176bb2fda0f625dd1d71ed5b2fdc3c30484d0b9593e18be2c66
    valid        716 3f1e61b8e446c684787bed333578c9c9af8d917e1e2277ae051d19d5710b727f
    test         731 040f15a24c22897b6a583e007044e1910523214a463491618d8aa635bf89dbdc
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Size:
    entities: int
    relations: int
    rows: dict[str, int]
    sha256: dict[str, str]


def _sizes() -> dict[str, _Size]:
    """The table above, dataset by dataset."""
    lines = SIZES.strip().splitlines()
    starts = [position for position, line in enumerate(lines) if not line.startswith(" ")]
    sizes = {}
    for start, stop in zip(starts, [*starts[1:], len(lines)], strict=True):
        name, entities, relations = lines[start].split()
        splits = [line.split() for line in lines[start + 1 : stop]]
        sizes[name] = _Size(
            entities=int(entities),
            relations=int(relations),
            rows={split: int(rows) for split, rows, _ in splits},
            sha256={split: digest for split, _, digest in splits},
        )
    return sizes


_SIZES = _sizes()


def _entry(
    name: str,
    *,
    licence: str,
    citation: str,
    origin: str,
    folder: str | None = None,
    source: Source | None = None,
    instead: str = "",
    bundled: bool = False,
    duplicates: int = 0,
) -> Entry:
    size = _SIZES[name]
    return Entry(
        name=name,
        folder=folder or name,
        entities=size.entities,
        relations=size.relations,
        rows=size.rows,
        sha256=size.sha256,
        licence=licence,
        citation=citation,
        origin=origin,
        source=source,
        instead=instead,
        bundled=bundled,
        duplicates=duplicates,
    )


def _in_archive(name: str, licence: str, citation: str, address: str, member: str = "{}.txt") -> Entry:
    files = {split: member.format(split) for split in _SIZES[name].rows}
    return _entry(name, licence=licence, citation=citation, origin=address, source=Source(archive=address, files=files))


def _as_files(
    name: str, licence: str, citation: str, address: str, folder: str | None = None, duplicates: int = 0
) -> Entry:
    files = {split: f"{address}/{split}.txt" for split in _SIZES[name].rows}
    return _entry(
        name,
        folder=folder,
        licence=licence,
        citation=citation,
        origin=address,
        source=Source(files=files),
        duplicates=duplicates,
    )


def _by_hand(name: str, content: str, recipe: str) -> Entry:
    """The authors' own files, which are no longer public: there is nothing to fetch."""
    return _entry(
        name,
        licence=f"none stated; content {content}",
        citation=LALISSE,
        origin=f"{LALISSE_REPOSITORY}, folder {name} (since removed)",
        instead=f"build one by the same recipe: {recipe}",
    )


def _with_hmem(name: str) -> Entry:
    origin = "comes with hmem; cut out of WordNet 3.0 by tools/build_bundled.py"
    return _entry(
        name, licence=WORDNET, citation=MILLER, origin=origin, instead="install hmem anew: it brings them", bundled=True
    )


def _grail(name: str) -> Entry:
    member = name.removeprefix("GraIL/")
    content = {"WN18RR": f"; content {WORDNET}", "fb237": f"; content {FREEBASE}"}.get(member.split("_")[0], "")
    return _as_files(name, f"none stated{content}", TERU, f"{GRAIL}/{member}")


_ENTRIES = [
    _with_hmem("wordnet-mini"),
    _with_hmem("wordnet-mini-gen"),
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
    _as_files("Countries-S1", "MIT", BOUCHARD, f"{VILLMOW}/countries_S1", "Countries/S1", duplicates=1),
    _as_files("Countries-S2", "MIT", BOUCHARD, f"{VILLMOW}/countries_S2", "Countries/S2", duplicates=1),
    _as_files("Countries-S3", "MIT", BOUCHARD, f"{VILLMOW}/countries_S3", "Countries/S3", duplicates=1),
    _as_files("CoDEx-S", "MIT", SAFAVI, f"{CODEX}/codex-s"),
    *[_grail(name) for name in _SIZES if name.startswith("GraIL/")],
]

CATALOG: Mapping[str, Entry] = {entry.name: entry for entry in _ENTRIES}
