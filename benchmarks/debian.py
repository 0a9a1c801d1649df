"""How well are the facts of Debian's packages predicted by counting, and by a model?

Makes a graph of a list of Debian's packages, splits it, ranks its test facts with the baselines and, after training for
some minutes, with a model. The packages are those with at least seven tags; the relations are the facets of the tags,
and the fields below. A fact whose tail is named by fewer than three packages is left out. The same list gives the same
graph: bookworm's has 5,379 packages.

    python benchmarks/debian.py [LIST] [--graph FILE] [--minutes N] [--preset NAME] [--set ...] [--json PATH]

LIST is a file named Packages, plain or packed by gzip, xz or lz4. Left out, it is the largest that apt keeps.
"""

import gzip
import lzma
import re
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from common import arguments, keep

import hmem
from hmem.config import merge, parse_assignments, to_dict
from hmem.errors import DataError
from hmem.evaluation.baselines import BASELINES, make_baseline
from hmem.evaluation.metrics import MRR
from hmem.evaluation.report import Report
from hmem.graph.dataset import Dataset
from hmem.reproduction.results import line_of

APT_LISTS = Path("/var/lib/apt/lists")
LEAST_TAGS = 7
LEAST_USES = 3  # of a tail in a relation
PACKAGES = ("Depends", "Pre-Depends", "Recommends", "Suggests", "Enhances", "Provides")  # fields that list packages
Fact = tuple[str, str, str]


def facts_of(text: str) -> list[Fact]:
    """The graph of a list of packages, sorted."""
    facts = {fact for fields in records(text) for fact in about(fields)}
    uses = Counter(fact[1:] for fact in facts)
    return sorted(fact for fact in facts if uses[fact[1:]] >= LEAST_USES)


def records(text: str) -> Iterator[dict[str, str]]:
    """The fields of each package; a line that begins with a space goes on with the field before."""
    for block in re.sub(r"\n[ \t]+", " ", text).split("\n\n"):
        pairs = (line.partition(":")[::2] for line in block.splitlines())
        yield {name: value.strip() for name, value in pairs}


def about(fields: dict[str, str]) -> Iterator[Fact]:
    """What is said of one package; nothing if it has few tags."""
    tags = [tag.strip() for tag in fields.get("Tag", "").split(",") if tag.strip()]
    if len(tags) < LEAST_TAGS:
        return
    package = fields["Package"]
    for tag in tags:
        yield package, tag.partition("::")[0], tag
    for field in PACKAGES:
        for each in fields.get(field, "").split(","):
            name = re.match(r"[^\s(:|\[<]+", each.strip())  # the first of several alternatives, without its version
            if name is not None:
                yield package, field.lower(), name[0]
    yield package, "section", fields["Section"]
    yield package, "maintainer", re.sub(r"\s*<.*", "", fields["Maintainer"]).strip('"')


def read_list(path: Path) -> str:
    """A list of packages, unpacked."""
    if path.suffix == ".lz4":
        program = shutil.which("lz4cat") or "/usr/lib/apt/apt-helper"
        command = [program, str(path)] if program.endswith("lz4cat") else [program, "cat-file", str(path)]
        return subprocess.run(command, capture_output=True, check=True).stdout.decode()
    unpack = {".gz": gzip.open, ".xz": lzma.open}.get(path.suffix, open)
    with unpack(path, "rt", encoding="utf-8") as stream:
        return str(stream.read())


def apt_list() -> Path:
    """The largest list that apt keeps."""
    found = sorted(APT_LISTS.glob("*_binary-*_Packages*"), key=lambda path: path.stat().st_size)
    if not found:
        problem = "no list of packages; on Debian `apt-get update` fetches one, elsewhere name a file"
        raise DataError(problem, path=APT_LISTS)
    return found[-1]


def load(path: Path, keep: Path | None = None) -> Dataset:
    """The graph as a dataset, split as any single file of facts is; `keep` is where the facts are written to."""
    facts = facts_of(read_list(path))
    with tempfile.TemporaryDirectory() as folder:
        file = keep or Path(folder) / "debian.tsv"
        file.write_text("".join("\t".join(fact) + "\n" for fact in facts), encoding="utf-8")
        return hmem.load_dataset(file)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("list", nargs="?", type=Path)
    parser.add_argument("--graph", type=Path, help="write the facts to this file and keep it")
    parser.add_argument("--minutes", type=float, default=0.0, help="of training; with 0 only the baselines are ranked")
    parser.add_argument("--preset", default="recall")
    parser.add_argument("--set", dest="assignments", action="append", default=[])
    parser.add_argument("--device", default="auto")
    given = parser.parse_args()
    try:
        dataset = load(given.list or apt_list(), given.graph)
    except DataError as error:
        print(f"no packages: {error}")
        return
    print(dataset, flush=True)
    for name in BASELINES:
        started = time.perf_counter()
        made = hmem.evaluate(make_baseline(name, dataset, "train"), dataset, name=name)
        tell(made, time.perf_counter() - started, given.json)
    if given.minutes:
        settings = merge({"training": {"minutes": given.minutes}}, parse_assignments(given.assignments))
        model = hmem.fit(dataset, given.preset, settings=settings, device=given.device)
        made = hmem.evaluate(model, dataset)
        print({**model.metrics["training"], "settings": to_dict(model.config)})
        tell(made, model.metrics["training"]["training_seconds"] + made.seconds, given.json)


def tell(made: Report, seconds: float, json: Path | None) -> None:
    mrr = {protocol: round(values[MRR], 4) for protocol, values in made.protocols.items()}
    print(f"{made.label:14s} {mrr} {seconds:.1f} s", flush=True)
    keep(line_of(made), json)


if __name__ == "__main__":
    main()
