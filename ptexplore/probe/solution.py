"""Runs the solution of an exercise in a process of its own, without torch. It knows the cases and no answer.

It is started as a file, by a Python without the folders of installed packages. Standard input has one line of JSON: the
text of the solution, the name of its function, the cases, and limits. The results go to the given descriptor.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import sys
import traceback
import zipfile  # noqa: F401  (a package since Python 3.12, whose folder could not be listed later)

FILE = "<solution>"
MEMORY = 1 << 30  # bytes
PRINTED = 4000  # characters

_MODULES = (
    "torch", "torchgen", "numpy", "ptexplore", "ctypes", "_ctypes", "subprocess", "_posixsubprocess", "socket",
    "_socket", "multiprocessing", "mmap", "site",
)  # fmt: skip
_REFUSED = frozenset((
    "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "os.kill", "os.killpg", "subprocess.Popen",
    "socket.connect", "socket.bind", "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink",
    "os.truncate", "os.chmod", "os.listdir", "os.scandir",
))  # fmt: skip


def guard() -> None:
    """Refuses what a solution does not need: torch and other packages, files, programs, connections.

    This keeps a solution from asking PyTorch. It stops mistakes, not attackers: the solution is your own code.
    """
    library = os.path.dirname(os.path.realpath(os.__file__))

    def check(event: str, arguments: tuple[object, ...]) -> None:
        if event in _REFUSED:
            raise PermissionError(f"a solution may not do this: {event}")
        if event == "import" and str(arguments[0]).partition(".")[0] in _MODULES:
            raise ImportError(f"a solution has no {str(arguments[0])[:80]}: write it in Python")
        if event == "open" and not isinstance(arguments[0], int):
            path = os.path.realpath(os.fsdecode(arguments[0]))  # type: ignore[arg-type]
            mode = arguments[2] if isinstance(arguments[2], int) else 0
            if not path.startswith(f"{library}/") or mode & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                raise PermissionError(f"a solution may not open files: {path[:80]}")

    sys.addaudithook(check)


def limit(seconds: int) -> None:
    """Limits memory, processor time and the size of files."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> None:
    """Reads the request, runs the solution on each case, and writes the results, or why there are none."""
    results = os.fdopen(int(sys.argv[1]), "w", encoding="utf-8")
    request = json.loads(sys.stdin.readline())
    sys.stdin.close()
    dumps, write = json.dumps, results.write
    printed = io.StringIO()
    limit(int(request["seconds"]))
    given, raised, number = [], "", -1
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            code = compile(request["text"], FILE, "exec")
            names: dict[str, object] = {"__name__": "solution"}
            guard()
            exec(code, names)
            function = names.get(request["function"])
            if not callable(function):
                raise NameError(f"the file has no function {request['function']}")
            for case in request["cases"]:
                number += 1
                given.append(dumps(function(**json.loads(dumps(case)))))
        except BaseException as error:
            raised = _where(error, request["text"])
    write(dumps({"given": given, "raised": raised, "number": number, "printed": printed.getvalue()[:PRINTED]}))
    results.flush()
    os._exit(0)


def _where(error: BaseException, text: str) -> str:
    """Returns the error with the last line of the solution that it passed through."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == FILE]
    message = f"{type(error).__name__}: {error}"[:500]
    if isinstance(error, SyntaxError) and error.lineno:
        message = f"SyntaxError: {error.msg} (line {error.lineno})"
    if not frames:
        return message
    line = frames[-1].lineno or 1
    shown = text.split("\n")[line - 1 : line]
    return f"{message} (line {line}: {''.join(shown).strip()[:80]})"


if __name__ == "__main__":
    main()
