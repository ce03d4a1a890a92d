"""The file of a saved trace: records as JSON text and back, within limits. The file is not trusted."""

from __future__ import annotations

import json
import re
import zlib
from dataclasses import dataclass
from typing import Any, TypeVar

from ptexplore.errors import MISSING, USAGE, PtexploreError
from ptexplore.model.codes import convert, decoded
from ptexplore.model.trace import TRACE_FORMAT
from ptexplore.safe_text import clean_json

MAX_BYTES = 512 * 1024 * 1024  # of a whole document, unpacked
MAX_RATIO = 250  # of a document to its packed form; for traces it is 10 to 60
LEAST_UNPACKED = 16 * 1024 * 1024  # bytes that any packed document may have
# lists and objects in a whole document: an empty one has three bytes of text, but takes 64 bytes of memory
MAX_LISTS = 4_000_000
# values in a whole document; a native trace with 300,000 hops has 2.8 million lists and 13.4 million values
MAX_VALUES = 20_000_000
# digits in a row: an address has 20, and 1e-4 / 3 is written with 4 zeros and 17 digits after the point
MAX_DIGITS = 21
_AS_ZEROS = bytes(48 if 48 <= byte <= 57 else 32 for byte in range(256))  # every digit becomes "0", all else a blank
_TOO_MANY = b"0" * (MAX_DIGITS + 1)
# bytes of one text: an expression is laid out, and a command line has at most half of this
MAX_TEXT = 256 * 1024
_TEXT = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_QUOTE = re.compile(
    rb'[^\\]"', re.DOTALL
)  # the beginning or end of a text; inside a text, a backslash precedes a quote
_TEXTS_AND_DIGITS = re.compile(rb'"(?:[^"\\]|\\.)*"|[0-9]{%d}' % (MAX_DIGITS + 1), re.DOTALL)
NESTS = "its records nest too deep"
MAX_DEPTH = 24  # nested lists and objects, in one observation, one reason, one reference
WRITE_ONE = 'ptexplore trace "torch.add(a, b)" --save FILE writes one'

Record = TypeVar("Record")


@dataclass(frozen=True, slots=True)
class _Head:
    """The beginning of every saved trace, whatever its format."""

    format: int


def to_json(record: Any) -> str:
    """Converts a record of model/trace.py to JSON text in ASCII. Invalid Unicode becomes question marks."""
    import msgspec

    try:
        text = msgspec.json.encode(record).decode()
    except UnicodeEncodeError:  # a file name that the system could not decode
        text = json.dumps(msgspec.to_builtins(record), ensure_ascii=False).encode("utf-8", "replace").decode()
    if text.isascii() and "\x7f" not in text:
        return text
    return re.sub(r"[^\x00-\x7e]+", lambda match: json.dumps(match[0])[1:-1].replace("\x7f", "\\u007f"), text)


def from_json(data: bytes, kind: type[Record], name: str) -> Record:
    """Converts JSON text to a record. Values are not coerced, and unknown keys are ignored.

    `name` is the file's, for messages. Raises PtexploreError (USAGE) for text that is not JSON, and if a value is
    missing or of the wrong kind.
    """
    import msgspec

    try:
        return msgspec.json.decode(data, type=kind, dec_hook=decoded)
    except msgspec.ValidationError as error:
        raise refused(name, str(error)[:200]) from error
    except RecursionError as error:
        raise refused(name, NESTS) from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise refused(name, f"not complete JSON: {str(error)[:100]}") from error


def from_document(document: Any, kind: type[Record], name: str) -> Record:
    """Converts plain JSON data to a record, like `from_json`."""
    import msgspec

    try:
        return convert(document, kind)
    except RecursionError as error:
        raise refused(name, NESTS) from error
    except msgspec.ValidationError as error:
        raise refused(name, str(error)[:200]) from error


def unpacked(data: bytes, name: str) -> bytes:
    """Returns the text of a saved trace, which may be packed (`survey` packs its traces), with safe strings.

    Raises PtexploreError if it is too long.
    """
    if data.startswith(b"\x1f\x8b"):
        most = min(MAX_BYTES, max(LEAST_UNPACKED, len(data) * MAX_RATIO))
        try:
            text = zlib.decompressobj(31).decompress(data, most + 1)
        except zlib.error as error:
            raise refused(name, f"it cannot be unpacked: {error}") from error
        if len(text) > most and most < MAX_BYTES:
            raise refused(name, f"it unpacks to more than {MAX_RATIO} times its size, unlike any trace")
        data = text
    if len(data) > MAX_BYTES:
        raise refused(name, f"it has more than {MAX_BYTES} bytes")
    cost = costs_too_much(data)
    if cost is not None:
        raise refused(name, cost)
    if _TOO_MANY in data.translate(_AS_ZEROS) and any(
        match[0][:1] != b'"' for match in _TEXTS_AND_DIGITS.finditer(data)
    ):
        raise refused(name, "it has a number with more digits than any real one")
    return clean_json(data)


def costs_too_much(data: bytes) -> str | None:
    """Returns why a document would take far more memory than its size, or None.

    It is counted before parsing, including the content of strings: so it is a bound, not an exact figure.
    """
    lists, values = data.count(b"{") + data.count(b"["), data.count(b",")
    if lists > MAX_LISTS:
        return f"it has {lists:,} lists and objects, but the limit is {MAX_LISTS:,}"
    if values > MAX_VALUES:
        return f"it has {values:,} values, but the limit is {MAX_VALUES:,}"
    # A longer text covers a whole window, so that the window has no quote that ends a text. A long list of numbers does
    # so, too: then everything is read.
    windows = range(0, len(data) - MAX_TEXT // 2 + 1, MAX_TEXT // 2)
    if any(_QUOTE.search(data, at, at + MAX_TEXT // 2) is None for at in windows) and any(
        match.end() - match.start() - 2 > MAX_TEXT for match in _TEXT.finditer(data)
    ):
        return f"it has a text of more than {MAX_TEXT:,} bytes"
    return None


def format_of(data: bytes, name: str) -> int:
    """Returns the format of a saved trace's text.

    Raises PtexploreError: exit code USAGE if it is not a format of ptexplore, MISSING if a newer ptexplore wrote it.
    """
    return known_format(from_json(data, _Head, name).format, name)


def known_format(number: int, name: str, newest: int = TRACE_FORMAT) -> int:
    """Returns the number of a format if this ptexplore can read it. Raises the errors of `format_of`.

    `newest` is the last format of this kind of file: by default of traces.
    """
    if number < 1:
        raise refused(name, "it has no format number")
    if number > newest:
        message = f"{name} has format {str(number)[:20]}, but this ptexplore knows formats only up to {newest}"
        hint = "pip install --upgrade ptexplore"
        raise PtexploreError(message, "it was saved by a newer ptexplore", hint, MISSING)
    return number


def refused(name: str, why: str) -> PtexploreError:
    """Returns the error for a file that is not a saved trace."""
    return PtexploreError(f"{name} is not a saved trace", why, WRITE_ONE, USAGE)
