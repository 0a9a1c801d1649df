"""Whether the quotes of a CSV file leave only one way to read it."""

import numpy as np

_QUOTE = ord('"')


class QuoteCheck:
    """Checks, block by block, that every quote opens a field, closes one, or is one of a doubled pair.

    Outside quotes and inside them alternate, so the first, third, fifth ... quote of the file opens: it must follow
    a delimiter, a line break or a quote. The others close: a delimiter, a line break or a quote must follow them.
    Where this holds, and the number of quotes is even, every RFC 4180 parser finds the same fields.
    """

    def __init__(self, delimiter: str) -> None:
        self._is_boundary = np.zeros(256, dtype=bool)
        self._is_boundary[list(b'\r\n"' + delimiter.encode())] = True
        self._last = b"\n"  # the byte before the next block; the file begins as a line does
        self._count = 0  # of the quotes before the next block
        self._plain = True

    def feed(self, block: bytes) -> None:
        data = np.frombuffer(self._last + block, dtype=np.uint8)
        quotes = np.flatnonzero(data == _QUOTE)
        if len(quotes):
            first = self._count - (quotes[0] == 0)  # the last byte has been counted already
            number = first + np.arange(len(quotes))
            opening, closing = quotes[number % 2 == 0], quotes[number % 2 == 1]
            before = data[opening[opening > 0] - 1]
            after = data[closing[closing < len(data) - 1] + 1]
            self._plain &= bool(self._is_boundary[before].all() and self._is_boundary[after].all())
            self._count = int(first) + len(quotes)
        self._last = bytes(data[-1:])

    def passes(self) -> bool:
        """The answer, once the last block is fed."""
        return self._plain and self._count % 2 == 0
