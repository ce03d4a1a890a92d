"""What `ptexplore lsp` costs: the start, and hovers in a warm server, in processor time of the server.

Wall time of a request says little on a busy machine. Linux counts the nanoseconds of each thread (schedstat).
"""

from __future__ import annotations

import json
import random
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from lib.measure import Bench, Row

FILES = (
    "aten/src/ATen/native/BinaryOps.cpp", "aten/src/ATen/native/TensorShape.cpp", "c10/core/TensorImpl.cpp",
    "torch/csrc/autograd/engine.cpp", "aten/src/ATen/native/native_functions.yaml", "tools/autograd/derivatives.yaml",
    "torch/nn/functional.py", "aten/src/ATen/core/dispatch/Dispatcher.h",
    "aten/src/ATen/native/cpu/BinaryOpsKernel.cpp", "torch/csrc/autograd/FunctionsManual.cpp",
)  # fmt: skip
EACH, WARMING = 20, 4  # hovers in each file that count, and before them
START, HOVER = 1.0, 50.0  # budgets: seconds, milliseconds
_WORD = re.compile(r"[A-Za-z_]\w{2,}")


class Server:
    """A server and its messages."""

    def __init__(self, bench: Bench) -> None:
        self._process = subprocess.Popen(
            [bench.python, "-m", "ptexplore", "lsp"], cwd=bench.folder, env=bench.environment, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )  # fmt: skip
        self._number = 0

    def __enter__(self) -> Server:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()

    def send(self, method: str, parameters: object) -> None:
        """Send a notification."""
        self._write({"jsonrpc": "2.0", "method": method, "params": parameters})

    def ask(self, method: str, parameters: object) -> Any:
        """Returns the result of a request."""
        self._number += 1
        self._write({"jsonrpc": "2.0", "id": self._number, "method": method, "params": parameters})
        while True:
            message = self._read()
            if message.get("id") == self._number and "method" not in message:
                return message.get("result")

    def used(self) -> float:
        """Returns the seconds of processor that all threads used."""
        threads = Path(f"/proc/{self._process.pid}/task").glob("*/schedstat")
        return sum(int(thread.read_text(encoding="ascii").split()[0]) for thread in threads) / 1e9

    def _write(self, message: object) -> None:
        data = json.dumps(message).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self._process.stdin.flush()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        length = 0
        while (line := self._process.stdout.readline().strip()) or not length:
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        message: dict[str, Any] = json.loads(self._process.stdout.read(length))
        return message


def lsp_rows(bench: Bench, source: Path, runs: int, progress: Callable[[str], None]) -> list[Row]:
    """Returns the rows: the start (until the answer to `initialize`), and hovers at random names of ten files."""
    progress("lsp: fetching and indexing")
    bench.ptexplore("fetch", "--from", str(source))
    bench.ptexplore("index")
    starts = []
    for number in range(runs):
        progress(f"lsp: start {number + 1} of {runs}")
        with Server(bench) as server:
            server.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
            starts.append(server.used())
    with Server(bench) as server:
        server.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
        server.send("initialized", {})
        hovers = sorted(hover for path in FILES for hover in _hovers(server, source / path, progress))
    note = f"processor time; median {1000 * hovers[len(hovers) // 2]:.1f} ms; {len(hovers)} names in {len(FILES)} files"
    return [
        Row("lsp: start", sorted(starts)[len(starts) // 2], "s", START, "processor time, until initialize is answered"),
        Row("lsp: hover, p95", 1000 * hovers[int(0.95 * len(hovers))], "ms", HOVER, note),
    ]


def _hovers(server: Server, file: Path, progress: Callable[[str], None]) -> list[float]:
    """Returns the seconds of each hover in a file that is open."""
    progress(f"lsp: {file.name}")
    text = file.read_text(encoding="utf-8")
    document = {"uri": file.as_uri(), "languageId": "cpp", "version": 1, "text": text}
    server.send("textDocument/didOpen", {"textDocument": document})
    words = [(row, word.start()) for row, line in enumerate(text.split("\n")) for word in _WORD.finditer(line)]
    measured = []
    for row, column in random.Random(file.name).sample(words, EACH + WARMING):
        before = server.used()
        place = {"textDocument": {"uri": file.as_uri()}, "position": {"line": row, "character": column}}
        server.ask("textDocument/hover", place)
        measured.append(server.used() - before)
    server.send("textDocument/didClose", {"textDocument": {"uri": file.as_uri()}})
    return measured[WARMING:]
