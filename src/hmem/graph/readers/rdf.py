"""RDF files, by the optional dependency pyoxigraph."""

import hashlib
import re
from array import array
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from hmem.errors import ConfigError, DataError
from hmem.graph.rdf_terms import import_pyoxigraph
from hmem.graph.readers import statements
from hmem.graph.readers.files import BUFFER
from hmem.graph.readers.lines import LONGEST, open_text
from hmem.graph.readers.rdf_names import TermNames
from hmem.graph.readers.table import table_of_ids, with_literals
from hmem.graph.readers.xml_limits import LimitedXml

# The name that pyoxigraph has for each format, by suffix.
RDF_FORMATS = {
    "nt": "N_TRIPLES",
    "nq": "N_QUADS",
    "ttl": "TURTLE",
    "trig": "TRIG",
    "rdf": "RDF_XML",
    "xml": "RDF_XML",
    "owl": "RDF_XML",
    "jsonld": "JSON_LD",
}
_PLACE = re.compile(r"^Parser error (at|between) .*?: ")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")  # which the parser repeats as they are
# The random number that pyoxigraph gives to a blank node without label: 128 bits, without leading zeros.
_MADE_UP = re.compile(r"[a-f][0-9a-f]{19,31}")


def read_rdf(path: Path, format: str, iris: str = "full") -> pa.Table:
    """The triples of an RDF file, in the names of `hmem.graph.readers.rdf_names`; names of graphs are ignored.

    Blank nodes without label are numbered in order of appearance, so that a file always reads alike. Those of two
    files differ, whatever their labels, unless the files have the same content.
    """
    if iris not in ("full", "short"):
        problem = f'iris is "full", for names that all files agree on, or "short"; not {iris!r}'
        raise ConfigError(problem, option="iris", found=iris, expected='"full" or "short"')
    oxigraph = import_pyoxigraph("RDF files need")
    kind = getattr(oxigraph.RdfFormat, RDF_FORMATS[format])
    ids: dict[Any, int] = {}  # of each term, in order of appearance
    heads, relations, tails = array("i"), array("i"), array("i")
    prefixes: dict[str, str] = {}
    quoted: set[Any] = set()  # nodes that reify a triple
    with open_text(path) as stream:
        try:
            parser = oxigraph.parse(LimitedXml(stream, path) if kind.name == "RDF/XML" else stream, format=kind)
            for quad in parser:
                for subject, predicate, tail in _reified(quad, oxigraph, quoted):
                    heads.append(ids.setdefault(subject, len(ids)))
                    relations.append(ids.setdefault(predicate, len(ids)))
                    tails.append(ids.setdefault(tail, len(ids)))
                if len(heads) == 1:  # RDF/XML forgets its prefixes at the end of their element
                    prefixes = dict(parser.prefixes)
            prefixes |= parser.prefixes
        except SyntaxError as error:
            said = _CONTROL.sub(lambda found: ascii(found[0])[1:-1], _PLACE.sub("", error.msg))
            problem = f"not valid {kind.name}: {said}"
            raise DataError(problem, path=path, line=error.lineno) from None
        except MemoryError:  # how pyoxigraph says that its buffer is full
            raise DataError(
                path=path, expected="literals of ordinary size", found=f"more than {LONGEST:,} bytes"
            ) from None
    rows = np.stack([np.frombuffer(column, dtype=np.int32) for column in (heads, relations, tails)], axis=1)
    terms = {term.value: number for term, number in ids.items() if isinstance(term, oxigraph.NamedNode)}
    rows, about = statements.told(rows, terms, {ids[each] for each in quoted}, path)
    if not len(rows):
        raise DataError(path=path, expected="triples", found="none")
    chosen = TermNames(prefixes if iris == "short" else None)
    names = pa.array(_name_all(list(ids), chosen, path, format), pa.string())
    table = table_of_ids([(column, names) for column in rows.T])
    texts = [term.value if isinstance(term, oxigraph.Literal) else None for term in ids] if about else []
    for name, column in about.items():
        table = table.append_column(
            name, pa.array([None if term is None else texts[term] for term in column], pa.string())
        )
    return with_literals(table)


def _reified(quad: Any, oxigraph: Any, quoted: set[Any]) -> Iterator[tuple[Any, Any, Any]]:
    """A triple; of one that reifies another by RDF 1.2 those that say the same in RDF 1.1."""
    if not isinstance(quad.object, oxigraph.Triple) or quad.predicate.value != statements.REIFIES:
        yield quad.subject, quad.predicate, quad.object
        return
    quoted.add(quad.subject)
    for part, term in zip(
        statements.PARTS, (quad.object.subject, quad.object.predicate, quad.object.object), strict=True
    ):
        yield quad.subject, oxigraph.NamedNode(part), term


def _name_all(terms: Sequence[Any], names: TermNames, path: Path, format: str) -> list[str]:
    """The names of all terms of a file."""
    oxigraph = import_pyoxigraph("RDF files need")
    all_labelled = format in ("nt", "nq")
    labels = {term.value for term in terms if isinstance(term, oxigraph.BlankNode)}
    numbered = (f"anon{number}" for number in count(1) if f"anon{number}" not in labels)
    scope = _digest(path) if labels else ""

    def name(term: Any) -> str:
        match term:
            case oxigraph.NamedNode():
                return names.iri(term.value)
            case oxigraph.BlankNode():
                labelled = all_labelled or not _MADE_UP.fullmatch(term.value)
                return f"_:{scope}-{term.value if labelled else next(numbered)}"
            case oxigraph.Literal():
                direction = getattr(term, "direction", None)  # new in RDF 1.2
                return names.literal(term.value, term.language, direction and str(direction), term.datatype.value)
            case _:
                found = f"the quoted triple {term}"
                raise DataError(path=path, expected="IRIs, literals and blank nodes", found=found)

    return [name(term) for term in terms]


def _digest(path: Path) -> str:
    """Eight digits that stand for the content of a file, compressed or not."""
    found = hashlib.sha256()
    with open_text(path) as stream:
        while data := stream.read(BUFFER):
            found.update(data)
    return found.hexdigest()[:8]
