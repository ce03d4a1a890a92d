"""`ptexplore explain-error [FILE|-]`: explains an error of PyTorch by its text only. torch is not imported."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import IO, Annotated

from typer import Argument, Option

from ptexplore.cli.options import Python, linking, open_console, open_workspace, print_json
from ptexplore.errors import USAGE, PtexploreError

MOST = 1 << 20  # bytes that are examined: a message with its traceback and C++ stack has a hundredth of that
LONGEST = 1 << 30  # bytes that are read: a longer input may be endless
CHUNK = 1 << 16
PASTE = "python train.py 2>&1 | ptexplore explain-error"


def explain_error(
    file: Annotated[
        str,
        Argument(
            metavar="[FILE|-]", help="a file with the message or the whole traceback; else standard input is read"
        ),
    ] = "-",
    as_json: Annotated[bool, Option("--json", help="as JSON (format 1)")] = False,
    python: Python = None,
) -> int:
    """Explain an error message of torch: its cause, the line that raised it, and what to do."""
    text = _read(file)
    with open_workspace(python) as workspace:
        message = workspace.explain_error(text)
        if as_json:
            from ptexplore.view.documents.error import error_document

            print_json(error_document(message))
        else:
            from ptexplore.render.terminal.error import print_error

            print_error(open_console(), message, linking(workspace.place_of))
    return 0


def _read(file: str) -> str:
    """Returns the text, or its last MOST bytes: an error is at the end of a program's output.

    Raises PtexploreError (USAGE) if there is none.
    """
    try:
        if file == "-":
            if sys.stdin.isatty():
                print("paste the message, then press Ctrl-D on an empty line", file=sys.stderr)
            data = _end(sys.stdin.buffer)
        else:
            with Path(file).open("rb") as opened:
                data = _end(opened)
    except OSError as error:
        raise PtexploreError(
            f"{file} cannot be read", error.strerror or "the system refused it", PASTE, USAGE
        ) from error
    text = data.decode("utf-8", "replace")
    if not text.strip():
        raise PtexploreError("no message to explain", f"{file} is empty", PASTE, USAGE)
    return text


def _end(stream: IO[bytes]) -> bytes:
    """Returns the last MOST bytes of a stream."""
    data, size = bytearray(), 0
    while size < LONGEST and (chunk := stream.read(CHUNK)):
        data += chunk
        size += len(chunk)
        if len(data) > 2 * MOST:
            del data[:-MOST]
    return bytes(data[-MOST:])
