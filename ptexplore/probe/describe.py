"""Say where this interpreter's torch and torchgen lie, without importing either (standard library only)."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import sys


def find(name: str) -> str | None:
    """The folder of package `name`, or None."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    return os.path.abspath(next(iter(spec.submodule_search_locations)))


def main() -> None:
    """Write the one message."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--channel", type=int, required=True)
    channel = parser.parse_args().channel
    sys.path.pop(0)  # this script's own folder, which is no place of the user's
    message = {
        "python_version": platform.python_version(),
        "executable": sys.executable,
        "torch_dir": find("torch"),
        "torchgen_dir": find("torchgen"),
    }
    with os.fdopen(channel, "w") as out:
        out.write(json.dumps(message) + "\n")


if __name__ == "__main__":
    main()
