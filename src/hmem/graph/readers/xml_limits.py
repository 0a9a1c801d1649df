"""XML within limits: a small file can be written so that reading it takes any amount of memory or time."""

import io
import re
from pathlib import Path
from xml.parsers import expat

from hmem.errors import DataError
from hmem.graph.readers.lines import LONGEST

DEEPEST = 1_000  # elements inside each other; the time to read them grows with the square of it
LONGEST_ENTITY = 10_000  # characters, with the entities inside it; most stand for the beginning of an IRI
MOST_GROWTH = 20  # times as long a text may become by its entities
_ENTITY = re.compile(r"""<!ENTITY\s+(?:%\s*)?(\S+)\s+["']([^"']*)""")  # as pyoxigraph finds them: the last one counts


class LimitedXml:
    """A stream of XML for another parser, which is given nothing that goes beyond the limits."""

    def __init__(self, stream: io.BufferedReader, path: Path, kind: str = "RDF/XML") -> None:
        self._stream, self._path, self._kind = stream, path, kind
        self._depth = self._event_at = self._read = self._references = self._longest = 0
        self._doctype: list[str] = []
        self._parser = expat.ParserCreate("UTF-8")
        self._parser.StartDoctypeDeclHandler = self._doctype_begins
        self._parser.EndDoctypeDeclHandler = self._doctype_ends
        self._parser.StartElementHandler = self._opened
        self._parser.EndElementHandler = self._closed

    def read(self, size: int = -1) -> bytes:
        block = self._stream.read(size)
        self._read += len(block)
        try:
            self._parser.Parse(block, not block)
        except expat.ExpatError as error:
            problem = f"not valid {self._kind}: {expat.ErrorString(error.code)}"
            raise DataError(problem, path=self._path, line=error.lineno) from None
        if self._read - self._event_at > LONGEST + len(block):
            raise self._error(f"a text of more than {LONGEST:,} bytes")
        self._references += block.count(b"&")
        if self._references * self._longest > LONGEST + MOST_GROWTH * self._read:
            raise self._error(f"entities that make it more than {MOST_GROWTH} times as long")
        return block

    def _doctype_begins(self, *_: object) -> None:
        self._parser.DefaultHandlerExpand = self._doctype.append

    def _doctype_ends(self) -> None:
        self._parser.DefaultHandlerExpand = None
        sizes: dict[str, int] = {}
        for name, value in _ENTITY.findall("".join(self._doctype)):
            sizes[name] = len(value) + sum(sizes.get(inner, 0) for inner in re.findall("&([^;]+);", value))
            if sizes[name] > LONGEST_ENTITY:
                raise self._error(f'an entity "{name[:40]}" of more than {LONGEST_ENTITY:,} characters')
        self._longest = max(sizes.values(), default=0)

    def _opened(self, *_: object) -> None:
        self._depth += 1
        self._event_at = self._parser.CurrentByteIndex
        if self._depth > DEEPEST:
            raise self._error(f"more than {DEEPEST:,} elements inside each other")

    def _closed(self, _: str) -> None:
        self._depth -= 1
        self._event_at = self._parser.CurrentByteIndex

    def _error(self, found: str) -> DataError:
        line = self._parser.CurrentLineNumber
        return DataError(path=self._path, line=line, expected=f"{self._kind} of ordinary size", found=found)
