"""`hmem data`: exact output, exit codes, and nothing but JSON where JSON is asked for."""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

import hmem
from hmem.cli.main import main
from hmem.graph import download, registry
from hmem.graph.catalog import CATALOG, Entry
from hmem.graph.registry import counts, load_dataset

BUNDLED = Path(hmem.__file__).parent / "bundled"

LIST = """

 dataset               entities   relations     train    valid     test   held out   where
 ────────────────────────────────────────────────────────────────────────────────────────────
 wordnet-mini             5,090          18    15,542      863      863          –   bundled
 wordnet-mini-gen         5,090          18    15,440      296      297        300   bundled
 WN18                    40,943          18   141,442    5,000    5,000          –   not here
 FB15K                   14,951       1,345   483,142   50,000   59,071          –   not here
 WN18RR                  40,943          11    86,835    3,034    3,134          –   not here
 FB15K-237               14,541         237   272,115   17,535   20,466          –   not here
 WNGen                   40,943          18   140,969    1,708    1,709      1,500   not here
 FBGen                   14,951       1,345   495,633   15,398   15,400      1,000   not here
 UMLS                       135          46     5,216      652      661          –   not here
 Kinship                    104          25     8,544    1,068    1,074          –   not here
 Nations                     14          55     1,592      199      201          –   not here
 Countries-S1               271           2     1,111       24       24          –   not here
 Countries-S2               271           2     1,063       24       24          –   not here
 Countries-S3               271           2       985       24       24          –   not here
 CoDEx-S                  2,034          42    32,888    1,827    1,828          –   not here
 GraIL/WN18RR_v1          2,746           9     5,410      630      638          –   not here
 GraIL/WN18RR_v1_ind        922           8     1,618      185      188          –   not here
 GraIL/WN18RR_v2          6,954          10    15,262    1,838    1,868          –   not here
 GraIL/WN18RR_v2_ind      2,757          10     4,011      411      441          –   not here
 GraIL/WN18RR_v3         12,078          11    25,901    3,097    3,152          –   not here
 GraIL/WN18RR_v3_ind      5,084          11     6,327      538      605          –   not here
 GraIL/WN18RR_v4          3,861           9     7,940      934      968          –   not here
 GraIL/WN18RR_v4_ind      7,084           9    12,334    1,394    1,429          –   not here
 GraIL/fb237_v1           1,594         180     4,245      489      492          –   not here
 GraIL/fb237_v1_ind       1,093         142     1,993      206      205          –   not here
 GraIL/fb237_v2           2,608         200     9,739    1,166    1,180          –   not here
 GraIL/fb237_v2_ind       1,660         172     4,145      469      478          –   not here
 GraIL/fb237_v3           3,668         215    17,986    2,194    2,214          –   not here
 GraIL/fb237_v3_ind       2,501         183     7,406      866      865          –   not here
 GraIL/fb237_v4           4,707         219    27,203    3,352    3,361          –   not here
 GraIL/fb237_v4_ind       3,051         200    11,714    1,416    1,424          –   not here
 GraIL/nell_v1            3,103          14     4,687      414      439          –   not here
 GraIL/nell_v1_ind          225          14       833      101      100          –   not here
 GraIL/nell_v2            2,564          88     8,219      922      968          –   not here
 GraIL/nell_v2_ind        2,086          79     4,586      459      476          –   not here
 GraIL/nell_v3            4,647         142    16,393    1,851    1,873          –   not here
 GraIL/nell_v3_ind        3,566         122     8,048      811      809          –   not here
 GraIL/nell_v4            2,092          76     7,546      876      867          –   not here
 GraIL/nell_v4_ind        2,795          61     7,073      716      731          –   not here

"""

SHOW = """
dataset     wordnet-mini
entities    5,090
relations   18
train       15,542
valid       863
test        863
duplicates  0
where       bundled
folder      BUNDLED/wordnet-mini
licence     WordNet 3.0 licence
citation    G. A. Miller. WordNet: A Lexical Database for English. Communications of the ACM 38(11), 1995.
source      comes with hmem; cut out of WordNet 3.0 by tools/build_bundled.py
degree      2 to 130 (plural.n.01), median 6, mean 6.8
checksums   as published

 largest 10 of 18 relations     facts
 ────────────────────────────────────
 _hypernym                      4,681
 _hyponym                       4,681
 _derivationally_related_form   2,182
 _has_part                      1,305
 _part_of                       1,305
 _member_holonym                  816
 _member_meronym                  816
 _synset_domain_topic_of          342
 _member_of_domain_topic          342
 _synset_domain_usage_of          125

"""

NOT_HERE = """
dataset    UMLS
entities   135
relations  46
train      5,216
valid      652
test       661
where      not here; to get it: hmem data fetch UMLS
licence    MIT
citation   S. Kok, P. Domingos. Statistical Predicate Invention. ICML 2007.
source     https://github.com/TimDettmers/ConvE/raw/master/umls.tar.gz
"""


class Answer(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Answer]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """`run("list")` is `hmem data list`, in an empty folder and with an empty cache."""
    monkeypatch.delenv("HMEM_DATA", raising=False)
    monkeypatch.setenv("HMEM_HOME", str(tmp_path / "home"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    def answer(*arguments: object) -> Answer:
        monkeypatch.setattr(sys, "argv", ["hmem", "data", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        out, err = capfd.readouterr()
        return Answer(int(left.value.code or 0), out, err)

    return answer


def test_list(run: Run) -> None:
    assert run("list") == (0, LIST[1:], "")


def test_list_says_where_each_dataset_is(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for root in (tmp_path / "home" / "data", tmp_path / "mine"):
        shutil.copytree(BUNDLED / "wordnet-mini", root / "UMLS")
    monkeypatch.setenv("HMEM_DATA", str(tmp_path / "mine"))
    (tmp_path / "mine" / "Nations").mkdir()
    shutil.copy(BUNDLED / "wordnet-mini" / "train.tsv.gz", tmp_path / "mine" / "Nations")
    shutil.copytree(BUNDLED / "wordnet-mini", tmp_path / "home" / "data" / "Countries" / "S1")
    where = {each["dataset"]: each["where"] for each in json.loads(run("list", "--json", "-").out)}
    assert {name: word for name, word in where.items() if word != "not here"} == {
        "wordnet-mini": "bundled",
        "wordnet-mini-gen": "bundled",
        "UMLS": "HMEM_DATA",
        "Countries-S1": "cache",
        "Nations": "incomplete",
    }
    assert run("show", "Nations").err.startswith(f"hmem: {tmp_path / 'mine' / 'Nations'}: no valid or test file")


def test_show(run: Run) -> None:
    assert run("show", "wordnet-mini", "--verify") == (0, SHOW[1:].replace("BUNDLED", str(BUNDLED)), "")


def test_show_what_is_not_here(run: Run) -> None:
    assert run("show", "umls") == (0, NOT_HERE[1:], "")


def test_show_as_json(run: Run, tmp_path: Path) -> None:
    code, out, err = run("show", "wordnet-mini-gen", "--verify", "--json", "-")
    assert (code, err) == (0, "")
    info = json.loads(out)
    entry = CATALOG["wordnet-mini-gen"]
    assert {split: info[split] for split in entry.rows} == dict(entry.rows)
    assert info["sha256"] == dict(entry.sha256)
    assert info["folder"] == str(BUNDLED / "wordnet-mini-gen")
    assert sum(info["largest_relations"].values()) <= sum(entry.rows.values()) - entry.rows["heldout"]
    assert info["degree"]["smallest"] == 0  # a held-out entity all of whose facts were with other held-out ones
    file = tmp_path / "info.json"
    answer = run("show", "wordnet-mini-gen", "--json", file)
    assert "held" in answer.out
    assert json.loads(file.read_text(encoding="utf-8")) == {
        key: value for key, value in info.items() if key != "sha256"
    }


def test_show_a_folder_and_a_file(run: Run, tmp_path: Path) -> None:
    folder = shutil.copytree(BUNDLED / "wordnet-mini", tmp_path / "my graph")
    info = json.loads(run("show", folder, "--json", "-").out)
    assert (info["dataset"], info["train"], info.get("licence")) == (
        "my graph",
        CATALOG["wordnet-mini"].rows["train"],
        None,
    )
    code, out, err = run("show", folder / "train.tsv.gz")
    assert (code, err) == (0, "")
    assert "taken from train at random (seed 0)" in out
    code, out, err = run("show", folder, "--verify")
    assert (code, out) == (2, "")
    assert err == f"hmem: --verify: only the datasets of `hmem data list` have checksums, and {folder} is a path\n"


def test_names_are_printed_as_they_are(run: Run, tmp_path: Path) -> None:
    long = "/a/relation/" + "x" * 200
    facts = "".join(f"[bold]n{number}[/bold]\t{long}\tn{number + 1}:smile:\n" for number in range(40))
    (tmp_path / "odd.tsv").write_text(facts + "a\t[red]r\tb\n", encoding="utf-8")
    out = run("show", tmp_path / "odd.tsv").out
    assert "[red]r" in out
    assert out.count("x") == 200  # folded, not cut
    assert "…" not in out


def test_verify_notices_a_changed_file(run: Run, shared: Callable[[str], Path], tmp_path: Path) -> None:
    folder = tmp_path / "home" / "data" / "Nations"
    shutil.copytree(shared("data/Nations"), folder)
    assert run("show", "Nations", "--verify").code == 0
    lines = gzip.decompress((folder / "test.tsv.gz").read_bytes()).splitlines(keepends=True)
    (folder / "test.tsv.gz").unlink()
    (folder / "test.tsv").write_bytes(b"".join(reversed(lines)))  # the same facts, in another order
    assert run("show", "Nations").code == 0
    code, out, err = run("show", "Nations", "--verify")
    assert (code, out) == (1, "")
    assert re.fullmatch(
        rf"hmem: {folder}: test has SHA-256 [0-9a-f]{{64}}, expected {CATALOG['Nations'].sha256['test']}\n", err
    )
    code, _, err = run("show", "UMLS", "--verify")
    assert code == 1
    assert err == "hmem: UMLS is not here, so there is nothing to verify; fetch it: hmem data fetch UMLS\n"


def test_fetch(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched = []

    def fetch(entry: Entry, root: Path, progress: Callable[[str, int, int | None], None]) -> Path:
        progress("file", 0, None)
        progress("file", 5, 10)
        fetched.append(entry.name)
        return root / entry.folder

    monkeypatch.setattr(registry, "fetch", fetch)
    data = Path(os.environ["HMEM_HOME"]) / "data"
    answer = run("fetch", "umls", "GraIL/nell_v1", "wordnet-mini")
    assert answer.out == (
        f"UMLS: {data / 'UMLS'}\n"
        f"GraIL/nell_v1: {data / 'GraIL' / 'nell_v1'}\n"
        f"wordnet-mini: {BUNDLED / 'wordnet-mini'}\n"
    )
    assert (answer.code, answer.err) == (0, "")
    assert fetched == ["UMLS", "GraIL/nell_v1"]
    code, out, err = run("fetch", "Nations", "Nation")
    assert (code, out) == (1, "")
    assert err.startswith('hmem: no dataset "Nation"; did you mean Nations')
    assert fetched == ["UMLS", "GraIL/nell_v1"]  # the misspelt one stopped it before anything was fetched


def test_fetch_without_a_network(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def offline(*_: object, **__: object) -> None:
        raise OSError(101, "Network is unreachable")

    monkeypatch.setattr(download, "PAUSES", ())
    monkeypatch.setattr("urllib.request.urlopen", offline)
    code, out, err = run("fetch", "WN18RR")
    folder = Path(os.environ["HMEM_HOME"]) / "data" / "WN18RR"
    assert (code, out) == (1, "")
    assert err == (
        "hmem: https://github.com/TimDettmers/ConvE/raw/master/WN18RR.tar.gz: Network is unreachable; to do without "
        "the download, put train.tsv.gz, valid.tsv.gz and test.tsv.gz (or plain .tsv; head, relation, tail, no "
        f"header) into {folder}\n"
    )


GEN = """
dataset    wordnet-mini
seed       0
folder     wordnet-mini-gen
entities   5,090
relations  18
train      {train:,}
observed   {observed:,}
valid      {valid:,}
test       {test:,}
heldout    200
dropped    {dropped:,}
"""


def test_gen(run: Run) -> None:
    code, out, err = run("gen", "wordnet-mini", "--heldout", 200)
    assert (code, err) == (0, "")
    made = load_dataset(Path("wordnet-mini-gen"))
    sizes = counts(made)
    source = load_dataset("wordnet-mini")
    dropped = len(source.everything()) - sum(sizes[part] for part in ("train", "observed", "valid", "test"))
    assert out == GEN[1:].format(**sizes, dropped=dropped)
    assert made.heldout is not None
    assert len(made.heldout) == 200
    facts = {tuple(made.vocab.entities[end] for end in (head, tail)) for head, _, tail in made.everything().tolist()}
    known = {
        tuple(source.vocab.entities[end] for end in (head, tail)) for head, _, tail in source.everything().tolist()
    }
    assert facts <= known


def test_gen_gives_the_same_bytes_for_the_same_seed(run: Run) -> None:
    info = json.loads(run("gen", "wordnet-mini", "--heldout", 200, "--out", "a", "--json", "-").out)
    assert (info["dataset"], info["seed"], info["folder"], info["heldout"]) == ("wordnet-mini", 0, "a", 200)
    run("gen", "wordnet-mini", "--heldout", 200, "--out", "b")
    run("gen", "wordnet-mini", "--heldout", 200, "--out", "c", "--seed", 1)
    files = {name: {path.name: path.read_bytes() for path in Path(name).iterdir()} for name in "abc"}
    assert sorted(files["a"]) == ["heldout.tsv.gz", "observed.tsv.gz", "test.tsv.gz", "train.tsv.gz", "valid.tsv.gz"]
    assert files["a"] == files["b"]
    assert files["a"] != files["c"]


def test_gen_takes_any_graph_and_each_fact_once(run: Run, tmp_path: Path) -> None:
    rows = [f"n{number % 40}\tr\tn{number * 7 % 41}\n" for number in range(200)]
    folder = tmp_path / "mine"
    folder.mkdir()
    for split in ("train", "valid", "test"):  # the same facts three times
        (folder / f"{split}.tsv").write_text("".join(rows))
    assert run("gen", folder, "--heldout", 10, "--out", "made").code == 0
    made = load_dataset(Path("made"))
    assert len(made.everything()) <= len(set(rows))
    assert len({tuple(row) for row in made.everything().tolist()}) == len(made.everything())


def test_gen_refuses_what_it_cannot_do(run: Run, tmp_path: Path) -> None:
    (tmp_path / "here" / "full").mkdir()
    (tmp_path / "here" / "full" / "file").write_text("")
    for arguments, message in [
        (["wordnet-mini", "--out", "full"], "full exists already; choose another folder with --out"),
        (["wordnet-mini", "--out", "full/file"], "full/file exists already; choose another folder with --out"),
        (
            ["wordnet-mini", "--heldout", "6000"],
            "--heldout 6000 must be at least 1 and less than the number of entities",
        ),
        (["wordnet-mini", "--seed", "-1"], "--seed -1 must not be negative"),
    ]:
        code, out, err = run("gen", *arguments)
        assert (code, out) == (2, "")
        assert err.startswith(f"hmem: {message}")
    assert [path.name for path in (tmp_path / "here").iterdir()] == ["full"]


def test_gen_refuses_names_that_tsv_cannot_hold(run: Run, tmp_path: Path) -> None:
    rows = "".join(f'"n\t{number % 40}",r,n{number * 7 % 41}\n' for number in range(200))
    (tmp_path / "odd.csv").write_text(rows)
    code, _, err = run("gen", tmp_path / "odd.csv", "--heldout", 10)
    assert code == 1
    assert "has a tab or a line end in it" in err
    assert list((tmp_path / "here").iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize(("name", "heldout", "published"), [("WN18", 1500, "WNGen"), ("FB15K", 1000, "FBGen")])
def test_gen_comes_near_the_published_sizes(
    run: Run, shared: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, name: str, heldout: int, published: str
) -> None:
    monkeypatch.setenv("HMEM_DATA", str(shared("data")))
    made = json.loads(run("gen", name, "--heldout", heldout, "--json", "-").out)
    for part, rows in CATALOG[published].rows.items():
        assert made[part] == pytest.approx(rows, rel=0.25), part  # FBGen holds out a hub with 7,500 facts of its own


def test_a_missing_path_or_name_is_one_line(run: Run) -> None:
    for data, line in [
        ("WN18R", 'no dataset "WN18R"; did you mean WN18RR, WN18 or GraIL/WN18RR_v1?'),
        ("no/such.tsv", "no/such.tsv: no such file or folder, and no folder no"),
    ]:
        assert run("show", data) == (1, "", f"hmem: {line}\n")


def test_help_and_mistakes_import_nothing_heavy() -> None:
    code = (
        "import sys\nfrom hmem.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit as left:\n"
        "    heavy = {'torch', 'numpy', 'pyarrow', 'hmem.graph'} & set(sys.modules)\n"
        "    print(left.code, sorted(heavy), file=sys.stderr)\n"
    )
    for arguments, expected in [(["data", "gen", "--help"], "0 []\n"), (["data", "show", "--verfy"], "2 []\n")]:
        answer = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)
        assert answer.stderr.endswith(expected)


def test_a_closed_pipe_is_no_error() -> None:
    code = "from hmem.cli.main import main; main()"
    command = f"set -o pipefail; '{sys.executable}' -c '{code}' data list | true"
    answer = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert (answer.returncode, answer.stderr) == (141, "")  # as of any program that wrote to a closed pipe


def test_import_maps_the_columns_of_any_file(run: Run, tmp_path: Path) -> None:
    facts = "".join(f"{n};likes;{n + 1};2020\n{n + 1};knows;{n};2021\n" for n in range(40))
    (tmp_path / "people.csv").write_text("who;what;whom;when\n" + facts, encoding="utf-8")
    made = tmp_path / "people"
    found = run("import", str(tmp_path / "people.csv"), "--out", str(made), "--columns", "whom,what,who")
    assert found.code == 0
    dataset = load_dataset(made)
    assert (dataset.num_entities, dataset.num_relations, len(dataset.everything())) == (41, 2, 80)
    names = dataset.vocab.entities
    pairs = {(names[h], names[t]) for h, r, t in dataset.everything().tolist() if dataset.vocab.relations[r] == "likes"}
    assert ("1", "0") in pairs


def test_import_refuses_a_folder_that_is_taken(run: Run, tmp_path: Path) -> None:
    (tmp_path / "facts.tsv").write_text("a\tr\tb\n", encoding="utf-8")
    found = run("import", str(tmp_path / "facts.tsv"), "--out", str(tmp_path))
    assert (found.code, found.err) == (2, f"hmem: {tmp_path} exists already; choose another folder with --out\n")
