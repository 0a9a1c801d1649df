"""`hmem data`: the registered datasets, and new ones made from any graph."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hmem.cli import options, output
from hmem.cli.progress import download_progress
from hmem.errors import ConfigError, DataError, Hint
from hmem.knowledge.store.places import shown_place

if TYPE_CHECKING:
    from hmem.graph.catalog import Entry
    from hmem.graph.dataset import Dataset
    from hmem.graph.names import Vocabulary
    from hmem.graph.registry import Place
    from hmem.graph.triples import Triples

app = typer.Typer(help="List, inspect, download and make datasets.", no_args_is_help=True)

LARGEST = 10  # relations shown


@app.command("list")
def list_datasets(json_path: options.Json = None) -> None:
    """Every dataset that has a name in hmem, and where it is now."""
    from hmem.graph.catalog import CATALOG

    listed = [_registered(entry, *_where(entry)) for entry in CATALOG.values()]
    if output.write_json(json_path, listed):
        return
    table = output.table(["dataset"], ["entities", "relations", "train", "valid", "test", "held out"])
    table.add_column("where")
    for info in listed:
        sizes = [info.get(key) for key in ("entities", "relations", "train", "valid", "test", "heldout")]
        table.add_row(info["dataset"], *[output.count(size) for size in sizes], info["where"])
    output.show(table)


@app.command()
def show(
    data: options.Data,
    verify: Annotated[bool, typer.Option("--verify", help="Compare the files with the published checksums.")] = False,
    json_path: options.Json = None,
) -> None:
    """Counts, license, citation and source of a dataset, its largest relations and its degrees.

    Nothing is downloaded: of a dataset that is not here, only what the registry says is shown.
    """
    from hmem.graph.registry import find_entry, load_entry, locate
    from hmem.knowledge.store.as_dataset import is_knowledge_base

    if is_knowledge_base(data) or Path(data).expanduser().exists():
        if verify:
            raise ConfigError(
                f"--verify: only the datasets of `hmem data list` have checksums, and {shown_place(data)} is a path"
            )
        info = _measured(output.load(data))
    else:
        entry = find_entry(data)
        place = locate(entry)
        info = _registered(entry, "not here", None)
        if place is not None:
            info |= {"where": place.kind, "folder": place.folder}
            info |= _measured(load_entry(entry, place))
        if verify:
            info["sha256"] = _verified(entry, place)
    if not output.write_json(json_path, info):
        _print(info)


@app.command()
def fetch(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Names, as in `hmem data list`.")],
) -> None:
    """Download datasets into the cache, HMEM_HOME."""
    from hmem.graph.registry import find_entry, resolve

    for entry in [find_entry(name) for name in names]:  # a misspelt name costs no download
        with download_progress() as progress:
            place = resolve(entry, progress)
        print(f"{entry.name}: {place.folder}")


@app.command()
def gen(
    data: options.Data,
    heldout: Annotated[int, typer.Option(help="How many entities training never sees.")] = 1500,
    seed: Annotated[int, typer.Option(help="Another seed, other entities.")] = 0,
    out: Annotated[Path | None, typer.Option(help="The folder to make; NAME-gen by default.")] = None,
    json_path: options.Json = None,
) -> None:
    """Make a dataset with held-out entities from all facts of a graph, by the paper's recipe.

    Of the facts with one held-out entity, two thirds are observed at inference and the rest is validation and test.
    """
    from hmem.graph.canonical import write_folder
    from hmem.graph.gen import split_heldout
    from hmem.graph.registry import counts, load_dataset
    from hmem.graph.triples import first_occurrences

    dataset = output.load(data)
    target = _free(Path(f"{Path(dataset.name).name}-gen") if out is None else out.expanduser())
    triples = dataset.everything()
    triples = triples[first_occurrences(triples)]  # a fact in two splits must not be observed and asked at once
    split = split_heldout(triples, dataset.num_entities, heldout, seed)
    parts = {part: getattr(split, part) for part in ("train", "observed", "valid", "test")}
    write_folder(target, _texts(dataset.vocab, parts, split.heldout.tolist()))

    made = counts(load_dataset(target))
    kept = sum(made[part] for part in ("train", "observed", "valid", "test"))
    info = {"dataset": dataset.name, "seed": seed, "folder": target, **made, "dropped": len(triples) - kept}
    if not output.write_json(json_path, info):
        output.show(output.facts({label: _words(value) for label, value in info.items()}))


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Facts in any format that can be read.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The dataset folder to make.")],
    columns: options.Columns = None,
    delimiter: options.Delimiter = None,
    header: options.Header = None,
    format_: options.Format = None,
    short_names: options.ShortNames = False,
    json_path: options.Json = None,
) -> None:
    """Make a dataset folder from a file of facts whose columns or format need explaining.

    Facts are split at random, the same way each time, so that every entity and relation stays in train.
    """
    from hmem.graph.canonical import write_folder
    from hmem.graph.registry import counts

    target = _free(out.expanduser())
    dataset = output.load(str(file), **options.reading(columns, delimiter, header, format_, short_names))
    write_folder(target, _texts(dataset.vocab, {part: getattr(dataset, part) for part in ("train", "valid", "test")}))
    info = {"dataset": dataset.name, "folder": target, **counts(dataset), "duplicates": dataset.duplicates}
    if not output.write_json(json_path, info):
        output.show(output.facts({label: _words(value) for label, value in info.items() if value is not None}))


def _free(target: Path) -> Path:
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ConfigError(f"{target} exists already; choose another folder with --out")
    return target


def _texts(vocab: "Vocabulary", parts: "dict[str, Triples]", heldout: "Sequence[int]" = ()) -> dict[str, bytes]:
    """The files of a dataset folder."""
    from hmem.graph.readers.table import table_of_triples
    from hmem.knowledge.export import refuse_tabs, tsv_lines

    entities, relations = vocab.entities.to_arrow(), vocab.relations.to_arrow()
    texts = {"heldout": "".join(f"{vocab.entities[entity]}\n" for entity in heldout).encode()} if heldout else {}
    for part, triples in parts.items():
        table = table_of_triples(triples, entities, relations)
        refuse_tabs(table)
        texts[part] = b"".join(tsv_lines(table))
    return texts


def _where(entry: "Entry") -> tuple[str, Path | None]:
    """Where a dataset is, in a word, and its folder."""
    from hmem.graph.registry import locate

    try:
        place = locate(entry)
    except DataError:  # `show` says what is missing
        return "incomplete", None
    return ("not here", None) if place is None else (place.kind, place.folder)


def _registered(entry: "Entry", where: str, folder: Path | None) -> dict[str, Any]:
    """What the registry says about a dataset, under the keys of `--json`."""
    return {
        "dataset": entry.name,
        "entities": entry.entities,
        "relations": entry.relations,
        **entry.rows,
        "where": where,
        "folder": folder,
        "license": entry.license,
        "citation": entry.citation,
        "source": entry.origin,
    }


def _measured(dataset: "Dataset") -> dict[str, Any]:
    """What the facts themselves say, all splits together."""
    import numpy as np

    from hmem.graph.registry import counts

    triples = dataset.everything()
    uses = np.bincount(triples[:, 1], minlength=dataset.num_relations)
    order = np.argsort(-uses, kind="stable")[:LARGEST].tolist()
    degrees = np.bincount(triples[:, [0, 2]].ravel(), minlength=dataset.num_entities)
    return {
        "dataset": dataset.name,
        **counts(dataset),
        "duplicates": dataset.duplicates,
        "largest_relations": {dataset.vocab.relations[relation]: int(uses[relation]) for relation in order},
        "degree": {
            "smallest": int(degrees.min()),
            "median": float(np.median(degrees)),
            "mean": float(degrees.mean()),
            "largest": int(degrees.max()),
            "largest_entity": dataset.vocab.entities[int(degrees.argmax())],
        },
        "notes": list(dataset.notes),
    }


def _verified(entry: "Entry", place: "Place | None") -> dict[str, str]:
    """The checksums of the files, all as published; anything else is an error."""
    from hmem.graph.registry import checksums

    if place is None:
        hint = Hint(text="fetch it", command=f"hmem data fetch {entry.name}")
        raise DataError(f"{entry.name} is not here, so there is nothing to verify", hint=hint)
    found = checksums(entry, place.folder)
    for split, digest in found.items():
        if digest != entry.sha256[split]:
            raise DataError(f"{split} has SHA-256 {digest}, expected {entry.sha256[split]}", path=place.folder)
    return found


def _print(info: dict[str, Any]) -> None:
    """What `show` found, as tables."""
    labels = ["dataset", "entities", "relations", "train", "observed", "valid", "test", "heldout", "duplicates"]
    labels += ["where", "folder", "license", "citation", "source"]
    rows = {label: _words(info[label]) for label in labels if info.get(label) is not None}
    if info.get("where") == "not here":
        rows["where"] = f"not here; to get it: hmem data fetch {info['dataset']}"
    if "degree" in info:
        degree = info["degree"]
        rows["degree"] = (
            f"{degree['smallest']:,} to {degree['largest']:,} ({degree['largest_entity']}), "
            f"median {degree['median']:,g}, mean {degree['mean']:,.1f}"
        )
    if "sha256" in info:
        rows["checksums"] = "as published"
    for number, text in enumerate(info.get("notes", [])):
        rows["note" if number == 0 else f"note {number + 1}"] = text
    output.show(output.facts(rows))
    if "largest_relations" in info:
        shown = len(info["largest_relations"])
        heading = "relation" if shown == info["relations"] else f"largest {shown} of {info['relations']:,} relations"
        table = output.table([heading], ["facts"])
        for relation, uses in info["largest_relations"].items():
            table.add_row(output.one_line(relation), output.count(uses))
        output.show(table)


def _words(value: object) -> str:
    return output.count(value) if isinstance(value, int) else str(value)
