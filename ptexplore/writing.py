"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def write_whole(file: Path, content: str | bytes) -> None:
    """Write aside, in the folder of `file`, then rename into place: who reads meanwhile reads the old or the new.

    Text is written as UTF-8. Raises OSError and UnicodeError; what was there stays then, and nothing half-written.
    """
    aside = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        aside.write_bytes(content.encode() if isinstance(content, str) else content)
        os.replace(aside, file)
    finally:
        with contextlib.suppress(OSError):
            aside.unlink()
