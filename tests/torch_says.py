"""Ask torch itself, without us: code runs in a fork of a plain Python whose torch is imported already.

`import torch` takes most of the time of such a question, and torch's compiler, which transforms and subclasses import,
as much again. Each runs in a process of its own all the same, as it would with `python -c`.
"""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import threading
from typing import Any

from tests.harness import TARGET

_one_at_a_time = threading.Lock()  # an answer is for who asked last


def torch_says(code: str) -> Any:
    """Return what `code` prints as JSON where torch and json are imported. Raises AssertionError with its stderr."""
    with _one_at_a_time:
        server = _server()
        assert server.stdin
        assert server.stdout
        server.stdin.write(json.dumps(code) + "\n")
        server.stdin.flush()
        status, printed, errors = json.loads(server.stdout.readline())
    assert status == 0, errors
    return json.loads(printed)


@functools.cache
def keeps_columns() -> bool:
    """Whether the Python under test keeps the columns of an instruction, as it does from 3.11 on."""
    return bool(torch_says("import types; print(json.dumps(hasattr(types.CodeType, 'co_positions')))"))


@functools.cache
def _server() -> subprocess.Popen[str]:
    """The process that forks; it ends with us, when its stdin does."""
    return subprocess.Popen(
        [TARGET or sys.executable, "-I", "-W", "ignore", "-c", SERVE],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


SERVE = """
import gc, json, os, sys, tempfile, traceback
import torch, torch._dynamo
gc.freeze()
for line in sys.stdin:
    with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as errors:
        process = os.fork()
        if not process:
            os.dup2(printed.fileno(), 1)
            os.dup2(errors.fileno(), 2)
            failed = 1
            try:
                exec(compile(json.loads(line), "<asked>", "exec"), dict(__name__="__main__", torch=torch, json=json))
                failed = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(failed)
        status = os.waitpid(process, 0)[1]
        for file in (printed, errors):
            file.seek(0)
        print(json.dumps([status, printed.read().decode(), errors.read().decode()]), flush=True)
"""
