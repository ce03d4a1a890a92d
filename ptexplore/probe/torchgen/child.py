"""One generator child: loads the target's torchgen and runs the work it is asked for, reporting on the channel.

Runs under ptexplore's own interpreter, which has pyyaml, so that the target needs torch alone; the target's
site-packages never join sys.path.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import importlib.util
import json
import os
import sys
import traceback
from typing import Any

PACKAGE = "_ptexplore_torchgen"


def load_siblings() -> None:
    """Make our folder a package of a name of its own, and take it off sys.path: torchgen must not import from it."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
    spec = importlib.util.spec_from_file_location(
        PACKAGE, os.path.join(here, "__init__.py"), submodule_search_locations=[here]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = module
    spec.loader.exec_module(module)


def main() -> None:
    """Run the work named by `--work`; report success or what went wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--channel", required=True, type=int)
    parser.add_argument("--work", required=True, choices=("aten", "autograd"))
    for name in ("--torchgen", "--packaged", "--out"):
        parser.add_argument(name, required=True)
    parser.add_argument("--flag", action="append", default=[])
    arguments = parser.parse_args()
    gc.disable()  # the generators build and keep; collecting costs them half a second and frees nothing
    with os.fdopen(arguments.channel, "w", buffering=1) as out:

        def report(message: dict[str, Any]) -> None:
            out.write(json.dumps(message) + "\n")

        try:
            load_siblings()
            tools = importlib.import_module(f"{PACKAGE}.tools")
            tools.load_torchgen(arguments.torchgen)
            tools.hasten()
            importlib.import_module(f"{PACKAGE}.{arguments.work}").generate(arguments, report)
            tools.assert_origin(arguments.torchgen)
        except OSError as error:
            report(
                {
                    "errno": error.errno,
                    "strerror": error.strerror or str(error),
                    "filename": error.filename and str(error.filename),
                }
            )
            sys.exit(1)
        except Exception as error:
            report({"error": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()})
            sys.exit(1)
        report({"finished": True})


if __name__ == "__main__":
    main()
