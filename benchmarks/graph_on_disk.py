"""What does it cost to index a graph that does not fit into memory, and to read it from the disk?

    python benchmarks/graph_on_disk.py generate facts.tsv --facts 100000000 --entities 10000000 --relations 800
    python benchmarks/graph_on_disk.py index facts.tsv --out graph        # seconds, memory, disk
    python benchmarks/graph_on_disk.py engines facts.tsv                  # the same by DuckDB and Polars
    python benchmarks/graph_on_disk.py [odd]                              # and which of them read odd files
    python benchmarks/graph_on_disk.py read graph                         # microseconds per name and neighborhood
    python benchmarks/graph_on_disk.py access folder --facts 1000000000   # the same in files of that size

The facts are those of `large_graphs.py`, with planted rules. Times are CPU seconds, of all threads.
"""

import argparse
import json
import mmap
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

sys.path.insert(0, str(Path(__file__).parent))


def generate(path: Path, facts: int, entities: int, relations: int, asked: Path | None) -> None:
    """Write the facts, and beside them those that are to be asked for."""
    from large_graphs import planted_pieces

    rng = np.random.default_rng(1)
    with path.open("wb") as out, (asked or Path(os.devnull)).open("wb") as other:
        for some, is_held_out in planted_pieces(facts, relations, entities):
            some = some[order := rng.permutation(len(some))]
            is_held_out = is_held_out[order]
            out.write(lines(some[~is_held_out]))
            other.write(lines(some[is_held_out]))
    print(f"{path}: {path.stat().st_size:,} bytes")


def lines(facts: np.ndarray) -> bytes:
    """Facts as lines of text; names are as long as those of Wikidata."""
    if not len(facts):
        return b""
    head, relation, tail = (pa.array(part).cast(pa.string()) for part in facts.T)
    tails = pc.binary_join_element_wise("Q10", tail, "\n", "")
    columns = pc.binary_join_element_wise("Q10", head, ""), pc.binary_join_element_wise("P", relation, ""), tails
    rows = pc.binary_join_element_wise(*columns, "\t").cast(pa.large_string())
    _, bounds, data = rows.buffers()
    ends = np.frombuffer(bounds, dtype=np.int64)[: len(rows) + 1]
    return data.to_pybytes()[ends[0] : ends[-1]]


def by_hmem(path: Path, out: Path) -> None:
    from hmem.graph.disk.index import index_facts

    index_facts(path, out)


def by_duckdb(path: Path, out: Path) -> None:
    """The same arrays by SQL; numbers of names in the order of arrival, heads first."""
    import duckdb

    out.mkdir()
    db = duckdb.connect(str(out / "work.db"))
    db.execute("SET memory_limit='3GB'; SET threads=2; SET preserve_insertion_order=true")
    db.execute(f"SET temp_directory='{out / 'spill'}'")
    db.execute(
        f"""CREATE TABLE given AS SELECT row_number() OVER () AS place, * FROM read_csv('{path}', delim='\t', quote='',
        escape='', header=false, auto_detect=false, max_line_size=20000000,
        columns={{'head': 'VARCHAR', 'relation': 'VARCHAR', 'tail': 'VARCHAR'}})"""
    )
    db.execute("""CREATE TABLE entity AS SELECT name, row_number() OVER (ORDER BY first) - 1 AS id FROM
        (SELECT name, min(place) AS first FROM (SELECT head AS name, place FROM given UNION ALL
        SELECT tail, place + (SELECT max(place) FROM given) FROM given) GROUP BY name)""")
    db.execute("""CREATE TABLE relation AS SELECT relation AS name, row_number() OVER (ORDER BY min(place)) - 1 AS id
        FROM given GROUP BY relation""")
    db.execute("""CREATE TABLE fact AS SELECT h.id AS h, r.id AS r, t.id AS t FROM given
        JOIN entity h ON h.name = head JOIN relation r ON r.name = relation JOIN entity t ON t.name = tail""")
    db.execute("DROP TABLE given")
    (count,) = db.execute("SELECT count(*) FROM relation").fetchone()  # type: ignore[misc]
    db.execute(f"""COPY (SELECT DISTINCT owner, role, filler FROM (SELECT h AS owner, r + {count} AS role, t AS filler
        FROM fact UNION ALL SELECT t, r, h FROM fact) ORDER BY 1, 2, 3) TO '{out / "edges.parquet"}'""")
    db.execute(f"COPY (SELECT name FROM entity ORDER BY id) TO '{out / 'entities.parquet'}'")
    db.close()


def by_polars(path: Path, out: Path) -> None:
    """The same by Polars, with its streaming engine."""
    import polars as pl

    out.mkdir()
    read = {"separator": "\t", "quote_char": None, "has_header": False, "schema_overrides": [pl.String] * 3}
    given = pl.scan_csv(path, new_columns=["head", "relation", "tail"], **read).with_row_index("place")
    given.sink_parquet(out / "given.parquet", engine="streaming")
    given = pl.scan_parquet(out / "given.parquet")
    (rows,) = given.select(pl.len()).collect(engine="streaming").row(0)
    ends = [given.select(pl.col(end).alias("name"), (pl.col("place").cast(pl.Int64) + more).alias("place"))
            for end, more in (("head", 0), ("tail", rows))]  # fmt: skip
    entity = (
        pl.concat(ends)
        .group_by("name")
        .agg(pl.col("place").min())
        .sort("place")
        .with_row_index("id")
        .select("id", "name")
    )
    entity.sink_parquet(out / "entities.parquet", engine="streaming")
    entity = pl.scan_parquet(out / "entities.parquet")
    relation = (
        given.group_by(name="relation")
        .agg(pl.col("place").min())
        .sort("place")
        .with_row_index("id")
        .select("id", "name")
    )
    relations = relation.collect(engine="streaming")
    fact = given.join(entity.rename({"id": "h"}), left_on="head", right_on="name")
    fact = fact.join(relations.lazy().rename({"id": "r"}), left_on="relation", right_on="name")
    fact = fact.join(entity.rename({"id": "t"}), left_on="tail", right_on="name").select("h", "r", "t")
    fact.sink_parquet(out / "facts.parquet", engine="streaming")
    fact = pl.scan_parquet(out / "facts.parquet")
    there = fact.select(owner="h", role=pl.col("r") + len(relations), filler="t")
    back = fact.select(owner="t", role="r", filler="h")
    edges = pl.concat([there, back]).unique().sort("owner", "role", "filler")
    edges.sink_parquet(out / "edges.parquet", engine="streaming")


ENGINES = {"hmem": by_hmem, "duckdb": by_duckdb, "polars": by_polars}
HERE = [name for name in ENGINES if find_spec(name)]  # those that are installed


def measured(engine: str, path: Path, out: Path) -> dict[str, object]:
    """One engine in a process of its own: CPU seconds, the most memory, the most room on the disk."""
    shutil.rmtree(out, ignore_errors=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen([sys.executable, __file__, "one", engine, str(path), "--out", str(out)])
    most = 0
    while process.poll() is None:
        most = max(most, room(out.parent))
        time.sleep(0.5)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "engine": engine,
        "CPU seconds": round(seconds, 1),
        "exit": process.returncode,
        "most GB on disk": most / 1e9,
    }


def room(folder: Path) -> int:
    total = 0
    for base, _, files in os.walk(folder):
        for name in files:
            with suppress(OSError):
                total += os.stat(os.path.join(base, name)).st_blocks * 512
    return total


def one(engine: str, path: Path, out: Path) -> None:
    most = [0]

    def watch() -> None:  # of memory that is not a mapped file, which the system may take back at any time
        while True:
            with open("/proc/self/status") as file:
                told = {
                    line.split(":")[0]: line.split()[1] for line in file if line.startswith(("RssAnon", "RssShmem"))
                }
            most[0] = max(most[0], sum(map(int, told.values())))
            time.sleep(0.05)

    threading.Thread(target=watch, daemon=True).start()
    ENGINES[engine](path, out)
    whole = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{engine}: {most[0] / 1e6:.2f} GB of its own, {whole / 1e6:.2f} GB with mapped files", flush=True)


def read(folder: Path, count: int = 20_000) -> None:
    """How long it takes to open a graph, to look names up and to read neighborhoods that are not in memory yet."""
    from hmem.graph.disk.index import DiskGraph

    forget(folder)
    began = time.process_time()
    graph = DiskGraph.open(folder)
    vocab, edges = graph.vocab, graph.neighborhoods()
    print(f"opened in {1000 * (time.process_time() - began):.1f} ms")
    drawn = np.random.default_rng(0).integers(len(vocab.entities), size=count).tolist()
    for when in ("cold", "warm"):
        told = {}
        began = time.process_time(), time.perf_counter()
        names = [vocab.entities[entity] for entity in drawn]
        told["number to name"] = began
        began = time.process_time(), time.perf_counter()
        assert [vocab.entities.get(name) for name in names] == drawn
        told["name to number"] = began
        began = time.process_time(), time.perf_counter()
        for entity in drawn:
            edges.edges_of(entity)[1].sum()
        told["neighborhood"] = began
        ends = [*list(told.values())[1:], (time.process_time(), time.perf_counter())]
        for (what, (cpu, clock)), (cpu_then, clock_then) in zip(told.items(), ends, strict=True):
            each = 1e6 * (cpu_then - cpu) / count, 1e6 * (clock_then - clock) / count
            print(f"{what:15} {when}: {each[0]:6.1f} µs of CPU, {each[1]:7.1f} µs by the clock")


def forget(folder: Path) -> None:
    """Let the system drop what it keeps of some files in memory."""
    for path in folder.iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def access(folder: Path, facts: int, entities: int, count: int = 20_000) -> None:
    """Files as large as those of a graph of so many facts, and neighborhoods read from them at random.

    They are filled with one block of random numbers over and over, so that the disk has to read them.
    """
    from hmem.graph.disk.folder import map_file

    folder.mkdir()
    sizes = {"roles": 2 * 2 * facts, "fillers": 2 * 4 * facts, "offsets": 8 * entities}
    block = np.random.default_rng(0).bytes(1 << 26)
    for name, size in sizes.items():
        with (folder / name).open("wb") as file:
            for start in range(0, size, len(block)):
                file.write(block[: size - start])
    rng = np.random.default_rng(1)
    degrees = np.minimum(rng.pareto(1.3, count) * 5 + 1, 100_000).astype(np.int64)  # mean about 20, as in the graph
    for advice in ("NORMAL", "RANDOM"):  # whether the system reads ahead
        forget(folder)
        maps = [map_file(folder / name) for name in sizes]
        for each in maps:
            each.madvise(getattr(mmap, f"MADV_{advice}"))
        roles, fillers, offsets = (
            np.frombuffer(each, kind) for each, kind in zip(maps, ("<i2", "<i4", "<i8"), strict=True)
        )
        for when in ("cold", "warm"):
            places = np.random.default_rng(2).integers(2 * facts - 100_000, size=count)
            began = time.process_time(), time.perf_counter()
            for place, degree, entity in zip(
                places.tolist(), degrees.tolist(), (places % entities).tolist(), strict=True
            ):
                offsets[entity] + roles[place : place + degree].sum() + fillers[place : place + degree].sum()
            cpu, clock = (
                1e6 * spent / count for spent in (time.process_time() - began[0], time.perf_counter() - began[1])
            )
            print(f"{advice} {when}: {cpu:.1f} µs of CPU, {clock:.1f} µs by the clock per neighborhood", flush=True)
        del roles, fillers, offsets
    print(f"{sum(sizes.values()) / 1e9:.1f} GB on disk, {degrees.mean():.1f} edges each")
    shutil.rmtree(folder)


ODD = {  # what is in a file of three facts besides, and how many entities it has, or None if it is to be refused
    "quotes in names": (b'a"b\tr\t"c\n"d\tr\te"\nf\tr\tg\n', 6),
    "a line of 5 MB": (b"a\tr\t" + b"x" * 5_000_000 + b"\nb\tr\tc\nd\tr\te\n", 6),
    "blank lines": (b"a\tr\tb\n\n\nc\tr\td\ne\tr\tf\n", 6),
    "CR at the ends of lines": (b"a\tr\tb\rc\tr\td\re\tr\tf\r", 6),
    "spaces around names": (b" a\tr\ta \n a \tr\ta\nb\tr\tc\n", 6),
    "NULL, nan and 007": (b"NULL\tr\tnan\n007\tr\t7\nb\tr\tNA\n", 6),
    "a byte-order mark": (b"\xef\xbb\xbfa\tr\tb\nc\tr\ta\nd\tr\te\n", 5),
    "no line break at the end": (b"a\tr\tb\nc\tr\td\ne\tr\tf", 6),
    "NUL in a name": (b"a\tr\tb\nc\0\tr\td\ne\tr\tf\n", None),
    "no UTF-8": (b"a\tr\tb\nc\xff\tr\td\ne\tr\tf\n", None),
    "an empty name": (b"a\tr\tb\n\tr\td\ne\tr\tf\n", None),
    "two fields in a line": (b"a\tr\tb\nc\tr\ne\tr\tf\n", None),
    "four fields in a line": (b"a\tr\tb\nc\tr\td\tx\ne\tr\tf\n", None),
}


def odd(engine: str) -> None:
    """Which odd files an engine reads as they are meant."""
    import pyarrow.parquet as pq

    for what, (content, expected) in ODD.items():
        with tempfile.TemporaryDirectory() as folder:
            path, out = Path(folder) / "facts.tsv", Path(folder) / "out"
            path.write_bytes(content)
            try:
                ENGINES[engine](path, out)
            except Exception as error:
                found, said = None, f"{type(error).__name__}: {' '.join(str(error).split())}"[:90]
            else:
                header = out / "header.json"
                found = json.loads(header.read_text())["entities"] if header.exists() else None
                found = pq.read_metadata(out / "entities.parquet").num_rows if found is None else found
                said = f"{found} entities"
            print(f"{engine:7} {'as meant' if found == expected else 'WRONG   '}  {what}: {said}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", default="odd")
    parser.add_argument("rest", nargs="*")
    parser.add_argument("--facts", type=int, default=1_000_000)
    parser.add_argument("--entities", type=int)
    parser.add_argument("--relations", type=int, default=800)
    parser.add_argument("--asked", type=Path)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.what == "generate":
        generate(Path(given.rest[0]), given.facts, given.entities or given.facts // 4, given.relations, given.asked)
    elif given.what == "one":
        one(given.rest[0], Path(given.rest[1]), given.out)
    elif given.what == "read":
        read(Path(given.rest[0]))
    elif given.what == "access":
        access(Path(given.rest[0]), given.facts, given.entities or given.facts // 10)
    elif given.what == "index":
        print(json.dumps(measured("hmem", Path(given.rest[0]), given.out)))
    elif given.what == "odd":
        for engine in given.rest or HERE:
            odd(engine)
    elif given.what == "engines":
        for engine in given.rest[1:] or HERE:
            with tempfile.TemporaryDirectory(dir=Path(given.rest[0]).parent) as folder:
                print(json.dumps(measured(engine, Path(given.rest[0]), Path(folder) / "out")), flush=True)


if __name__ == "__main__":
    main()
