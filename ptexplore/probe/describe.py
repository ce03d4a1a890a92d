"""Say where torch and torchgen of this interpreter are, without importing either (standard library only)."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import sys


def find(name: str) -> str | None:
    """Returns the folder of package `name`, or None if it has none."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    return os.path.abspath(next(iter(spec.submodule_search_locations)))


def main() -> None:
    """Write one message with the versions and folders to the channel."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--channel", type=int, required=True)
    channel = parser.parse_args().channel
    sys.path.pop(0)  # the folder of this script, where the user's packages are not looked for
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
