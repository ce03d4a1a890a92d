"""A probe whose torch is imported already: what a test captures runs in a fork of it, by the same `main` as ever.

`import torch` takes most of the time of a short trace. A test of what the recorders see does without it; a test of how
a probe is started, spoken to and ended starts a real one.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO

from ptexplore.capture.probing import PROBE
from ptexplore.model.places import Runtime
from ptexplore.processes import Child, repeating


@dataclass(frozen=True)
class Forked:
    """A fork, as far as `Child` asks for its process: its pid, and when it is gone."""

    pid: int

    def wait(self) -> int:
        """Return 0 when nothing of it is left: its real parent reaps it."""
        while os.path.exists(f"/proc/{self.pid}"):
            time.sleep(0.005)
        return 0


@dataclass
class WarmProbe:
    """The process that forks, and the socket over which it is given each fork's descriptors.

    Torch reads some variables of the environment once: for those that a request adds there is another such process,
    from the first time on.
    """

    python: str
    control: socket.socket
    stack: contextlib.ExitStack
    modules: tuple[str, ...] = ()  # imported besides torch
    others: dict[tuple[tuple[str, str], ...], WarmProbe] = field(default_factory=dict)
    _one_at_a_time: threading.Lock = field(default_factory=threading.Lock)  # an answer is for who asked last

    def start(
        self,
        runtime: Runtime,
        given: IO[bytes],
        environment: Mapping[str, str] | None = None,
        *,
        repeatable: bool = False,  # a fork has the addresses of what it was forked from
        passed: tuple[int, ...] = (),
    ) -> Child:
        """Do what `probing._start` does, in a fork."""
        if environment:
            return self._with(environment).start(runtime, given, passed=passed)
        reader, writer = os.pipe()
        try:
            with self._one_at_a_time:
                numbers = " ".join(map(str, passed)) or "-"
                socket.send_fds(self.control, [numbers.encode()], [given.fileno(), writer, *passed])
                pid = int(self.control.recv(16))
        finally:
            os.close(writer)
        return Child(Forked(pid), reader)  # type: ignore[arg-type]

    def _with(self, environment: Mapping[str, str]) -> WarmProbe:
        key = tuple(sorted(environment.items()))
        if key not in self.others:
            self.others[key] = self.stack.enter_context(warm_probe(self.python, *self.modules, environment=environment))
        return self.others[key]


@contextlib.contextmanager
def warm_probe(python: str, *modules: str, environment: Mapping[str, str] | None = None) -> Iterator[WarmProbe]:
    """Start it with the torch of `python`, and `modules` imported besides; end it."""
    ours, theirs = socket.socketpair()
    with ours, theirs, contextlib.ExitStack() as stack:
        words = [python, "-B", "-c", SERVE, str(PROBE), *modules]
        with repeating(words, {**os.environ, **(environment or {})}) as variables:
            process = subprocess.Popen(
                words, cwd=PROBE.parent, env=variables,
                stdin=theirs, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        theirs.close()
        try:
            yield WarmProbe(python, ours, stack, modules)
        finally:
            process.kill()
            process.wait()


SERVE = """
import fcntl, importlib.util, os, signal, socket, sys
spec = importlib.util.spec_from_file_location("probe_main", sys.argv[1])
main = importlib.util.module_from_spec(spec)
spec.loader.exec_module(main)
main.load_siblings()
import torch
from _ptexplore_probe import trace
for name in sys.argv[2:]:
    importlib.import_module(name)
trace.dispatch.settle()
control = socket.socket(fileno=os.dup(0))
def reap(*_):
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
signal.signal(signal.SIGCHLD, reap)  # not ignored: the time that forks take then counts as ours
while True:
    numbers, (given, channel, *passed), _, _ = socket.recv_fds(control, 64, 8)
    process = os.fork()
    if process == 0:
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        control.close()
        os.dup2(given, 0)
        os.close(given)
        # out of the way of the numbers that the request has
        given = (channel, *passed)
        channel, *passed = (fcntl.fcntl(number, fcntl.F_DUPFD, 900) for number in given)
        for number in given:
            os.close(number)
        for wanted, number in zip(numbers.split() if passed else (), passed):
            os.dup2(number, int(wanted))
            os.close(number)
        sys.argv[1:] = ["--channel", str(channel)]
        try:
            main.main()
        finally:
            os._exit(0)
    for number in (given, channel, *passed):
        os.close(number)
    control.send(b"%d" % process)
"""
