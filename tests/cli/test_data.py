"""`hmem data`: output, exit codes, and nothing but JSON where JSON is asked for."""

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
from tests.conftest import Snapshot

BUNDLED = Path(hmem.__file__).parent / "bundled"


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


def test_list(run: Run, snapshot: Snapshot) -> None:
    code, out, err = run("list")
    assert (code, err) == (0, "")
    snapshot("data-list", out)


def test_list_says_where_each_dataset_is(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for root in (tmp_path / "home" / "data", tmp_path / "mine"):
        shutil.copytree(BUNDLED / "wordnet-mini", root / "UMLS")
    monkeypatch.setenv("HMEM_DATA", str(tmp_path / "mine"))
    (tmp_path / "mine" / "Nations").mkdir()
    shutil.copy(BUNDLED / "wordnet-mini" / "train.tsv.gz", tmp_path / "mine" / "Nations")
    shutil.copytree(BUNDLED / "wordnet-mini", tmp_path / "home" / "data" / "Countries" / "S1")
    where = {each["dataset"]: each["where"] for each in json.loads(run("list", "--json", "-").out)}
    assert {name: word for name, word in where.items() if word != "not here"} == {
        "attack": "bundled",
        "wordnet-mini": "bundled",
        "wordnet-mini-gen": "bundled",
        "UMLS": "HMEM_DATA",
        "Countries-S1": "cache",
        "Nations": "incomplete",
    }
    assert run("show", "Nations").err.startswith(f"hmem: {tmp_path / 'mine' / 'Nations'}: no valid or test file")


def test_show(run: Run, snapshot: Snapshot) -> None:
    code, out, err = run("show", "wordnet-mini", "--verify")
    assert (code, err) == (0, "")
    snapshot("data-show", out.replace(str(BUNDLED), "BUNDLED"))


def test_show_what_is_not_here(run: Run) -> None:
    code, out, err = run("show", "umls")
    assert (code, err) == (0, "")
    assert "where      not here; to get it: hmem data fetch UMLS\n" in out
    assert "source     https://github.com/TimDettmers/ConvE/raw/master/umls.tar.gz\n" in out
    assert "degree" not in out


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
    assert (info["dataset"], info["train"], info.get("license")) == (
        "my graph",
        CATALOG["wordnet-mini"].rows["train"],
        None,
    )
    code, out, err = run("show", folder / "train.tsv.gz")
    assert (code, err) == (0, "")
    assert "taken from train at random (the same each time)" in out
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
