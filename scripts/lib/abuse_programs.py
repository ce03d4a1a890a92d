# ruff: noqa: E501  (each program is one row)
"""Programs that abuse their own process: each runs with and without a recording, and must do the same.

A program prints what it sees, its own hooks, handlers and limits among that, and ends as it likes. `R()` in its text is
`ptexplore.record()`, or a context that does nothing. `seen()` prints what the process has set.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 120  # seconds for one program

BEGIN = """
import contextlib, functools, importlib, os, signal, sys, threading
import torch
if sys.argv[1] == "recorded":
    import ptexplore
    R = functools.partial(ptexplore.record, native_budget=int(sys.argv[2]))
else:
    R = contextlib.nullcontext
LIMIT = sys.getrecursionlimit()
def work():
    return (torch.ones(3).cos() + 1).sum().item()
def seen():
    print(sys.getprofile(), threading.getprofile(), sys.gettrace(), sys.getrecursionlimit() == LIMIT, threading.enumerate() == [threading.main_thread()],
          signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGALRM), importlib._bootstrap._find_and_load.__module__, flush=True)
"""

# Of each kind a program. What is after `with R()` runs recorded.
PROGRAMS: dict[str, str] = {
    "left open": "r = R(); r.__enter__(); print(work())",
    "left open in a generator": "def g():\n with R(): yield work()\nkept = g(); print(next(kept))",
    "left open in an ExitStack": "stack = contextlib.ExitStack(); stack.enter_context(R()); print(work())",
    "left open by a stopped loop": "import asyncio\nasync def main():\n with R():\n  print(work()); loop.stop(); await asyncio.sleep(9)\nloop = asyncio.new_event_loop(); task = loop.create_task(main()); loop.run_forever()",
    "left open, and exits": "r = R(); r.__enter__(); print(work()); sys.exit(7)",
    "left open, and raises": "r = R(); r.__enter__(); print(work()); raise ValueError('left')",
    "left open, a thread goes on": "r = R(); r.__enter__()\nimport time\ndef later():\n time.sleep(0.5); print(work())\nthreading.Thread(target=later).start()",
    "left open, with functions at exit": "import atexit; atexit.register(lambda: print(work())); r = R(); r.__enter__(); atexit.register(lambda: print(work() + 1))",
    "ends at once": "with R():\n print(work(), flush=True); os._exit(3)",
    "killed by a signal": "with R():\n print(work(), flush=True); os.kill(os.getpid(), signal.SIGTERM)",
    "exits inside": "with R():\n print(work()); sys.exit(5)",
    "raises inside": "with R():\n work(); torch.ones(2) @ torch.ones(3)",
    "an interrupt inside": "try:\n with R():\n  work(); os.kill(os.getpid(), signal.SIGINT); work()\nexcept KeyboardInterrupt: print('caught')\nseen()",
    "an alarm that raises": "def late(*_): raise TimeoutError('late')\nsignal.signal(signal.SIGALRM, late)\ntry:\n with R():\n  signal.setitimer(signal.ITIMER_REAL, 0.2)\n  while True: work()\nexcept TimeoutError as e: print(e)\nsignal.signal(signal.SIGALRM, signal.SIG_DFL); seen()",
    "an alarm that counts": "n = [0]\ndef tick(*_): n[0] += 1\nsignal.signal(signal.SIGALRM, tick); signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)\nwith R():\n while n[0] < 30: work()\nsignal.setitimer(signal.ITIMER_REAL, 0); signal.signal(signal.SIGALRM, signal.SIG_DFL); print(n[0] >= 30); seen()",
    "ended in another thread": "r = R(); r.__enter__(); print(work())\nt = threading.Thread(target=r.__exit__, args=(None, None, None)); t.start(); t.join(); seen()",
    "a fork leaves the block": "with R():\n work(); child = os.fork()\n if child == 0: sys.exit(4)\n print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\nseen()",
    "a fork falls out of the block": "with R():\n work(); child = os.fork()\nif child == 0: print(work(), flush=True); seen(); sys.exit(0)\nprint(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))",
    "a fork falls off the end": "with R():\n work(); child = os.fork()\n if child: print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))",
    "a fork raises": "with R():\n work(); child = os.fork()\n if child == 0: sys.stderr = open(os.devnull, 'w'); raise ValueError\n print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))",
    "a fork becomes another program": "with R():\n work(); child = os.fork()\n if child == 0: os.execv('/bin/echo', ['echo', 'other'])\n print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))",
    "a fork after the block": "with R(): work()\nchild = os.fork()\nif child == 0: print(work(), flush=True); sys.exit(6)\nprint(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))",
    "a fork records again": "with R():\n work(); child = os.fork()\nif child == 0:\n with R(): print(work(), flush=True)\n sys.exit(0)\nprint(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))",
    "another program is started": "import subprocess\nwith R(): print(subprocess.run(['echo', 'x'], capture_output=True).stdout)\nseen()",
    "a pool of processes": "import multiprocessing\nwith R(), multiprocessing.get_context('fork').Pool(2) as pool: print(pool.map(abs, [-1, 2]))\nseen()",
    "a profile function set inside": "def mine(*_): pass\nwith R(): work(); sys.setprofile(mine)\nprint(sys.getprofile() is mine)",
    "a profile function set and taken": "with R():\n sys.setprofile(lambda *_: None); work(); sys.setprofile(None); work()\nseen()",
    "a profile function of threads": "def mine(*_): pass\nwith R(): threading.setprofile(mine); work()\nprint(threading.getprofile() is mine)",
    "cProfile inside": "import cProfile\nwith R():\n p = cProfile.Profile(); p.enable(); work(); p.disable(); work()\nprint(len(p.getstats()) > 0); seen()",
    "cProfile left on": "import cProfile\nwith R():\n p = cProfile.Profile(); p.enable(); work()\nprint(sys.getprofile() is p or sys.getprofile() is None); p.disable(); seen()",
    "a trace function before": "lines = []\ndef t(frame, event, _):\n if frame.f_code.co_name == 'work': lines.append(event)\n return t\nsys.settrace(t)\nwith R(): work()\nprint(lines, sys.gettrace() is t)",
    "a trace function inside": "def t(*_): return t\nwith R(): sys.settrace(t); work()\nprint(sys.gettrace() is t)",
    "a debugger": "import bdb\nclass D(bdb.Bdb):\n def user_line(self, frame): self.set_step()\nwith R(): D().run('x = 1 + 1')\nseen()",
    "descriptors closed": "with R(): os.closerange(3, 1000); print(work())\nseen()",
    "no descriptor left": "import resource\nwith R(): resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4)); print(work())\nprint(resource.getrlimit(resource.RLIMIT_NOFILE))",
    "no file may grow": "import resource\nwith R(): resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)); x = work()\nprint(resource.getrlimit(resource.RLIMIT_FSIZE))",
    "memory used up": "import resource\nwith R():\n used = int(open('/proc/self/statm').read().split()[0]) * 4096\n resource.setrlimit(resource.RLIMIT_AS, (used, used))\n try: bytearray(1 << 30)\n except MemoryError: print('none')\n print(work())",
    "memory used up before": "import resource\nwith R(): work()\nused = int(open('/proc/self/statm').read().split()[0]) * 4096\nresource.setrlimit(resource.RLIMIT_AS, (used, used))\nwith R(): print(work())",
    "the folder is deleted": "import shutil, tempfile\nd = tempfile.mkdtemp(); os.chdir(d)\nwith R(): shutil.rmtree(d); print(work())\nseen()",
    "relative file names": "import shutil, tempfile\nnames = {'torch': torch}; exec(compile('def f(): return torch.ones(3).cos().tolist()', 'relative.py', 'exec'), names)\nd = tempfile.mkdtemp(); os.chdir(d)\nwith R(): shutil.rmtree(d); print(names['f']())",
    "a NUL in a file name": "names = {'torch': torch}; exec(compile('def f(): return torch.ones(3).cos().tolist()', 'a\\0b.py', 'exec').replace(co_filename='a\\0b.py'), names)\nwith R(): print(names['f']())",
    "builtins replaced": "import builtins\nkept = {n: getattr(builtins, n) for n in ('len', 'isinstance', 'open', 'getattr', 'type', 'any', 'id', 'sorted')}\ndef no(*_, **__): raise SystemError('not yours')\nwith R():\n for n in ('len', 'open', 'any', 'sorted'): setattr(builtins, n, no)\n x = torch.ones(3); y = torch.neg(x)\n for n, f in kept.items(): setattr(builtins, n, f)\nprint(y.tolist()); seen()",
    "builtins left replaced": "import builtins\ndef no(*_, **__): raise SystemError('not yours')\nold = builtins.open\nwith R(): builtins.open = no; print(work())\nbuiltins.open = old; seen()",
    "mocks that count": "from unittest import mock\nimport builtins, time\nwith R():\n with mock.patch('builtins.len') as a, mock.patch('os.getpid') as b, mock.patch('time.perf_counter_ns') as c, mock.patch('time.thread_time_ns') as d:\n  x = torch.ones(3); [torch.neg(x) for _ in range(300)]\n  calls = a.call_count, b.call_count, c.call_count, d.call_count\nprint(calls)",
    "os, json and time emptied": "import json, time\nwith R():\n os.getpid = json.dumps = time.perf_counter_ns = time.thread_time_ns = os.path.realpath = None\n print(work())\nseen()",
    "near the limit of recursion": "def f(n):\n if n: return f(n - 1)\n try:\n  with R(): return 1\n except RecursionError: return 0\nfor n in range(900, 990): f(n)\nwith R(): print(work())\nseen()",
    "recursion without end": "def f(): return f()\nwith R():\n try: f()\n except RecursionError: print('too deep')\n print(work())\nseen()",
    "deep recursion": "sys.setrecursionlimit(20000)\ndef f(n):\n torch.ones(1)\n return f(n - 1) if n else work()\nwith R(): print(f(3000))\nseen()",
    "a failed import": "import traceback\nwith R():\n try: import nothing_of_that_name\n except ImportError: text = traceback.format_exc()\nprint(text)",
    "threads are counted": "with R(): work(); print(threading.enumerate(), threading.active_count())",
    "handlers set inside": "def mine(*_): pass\nwith R(): signal.signal(signal.SIGINT, mine); signal.signal(signal.SIGALRM, signal.SIG_IGN); work()\nprint(signal.getsignal(signal.SIGINT) is mine, signal.getsignal(signal.SIGALRM))",
    "siginterrupt": "import time\nsignal.signal(signal.SIGALRM, lambda *_: None); signal.siginterrupt(signal.SIGALRM, False)\nr, w = os.pipe()\nwith R(): work()\nsignal.signal(signal.SIGALRM, signal.SIG_DFL); seen()",
    "warnings are errors": "import warnings\nwarnings.simplefilter('error')\nwith R(): print(work())\nseen()",
    "a metaclass that raises": "class M(type):\n def __getattribute__(cls, name): raise RuntimeError('mine')\nclass C(metaclass=M): pass\ndef f(x, self): return work()\nwith R(): print(f(1, C))",
    "an object that raises at everything": "class C:\n def __getattribute__(self, name): raise RuntimeError('mine')\n def __eq__(self, other): raise RuntimeError\n def __hash__(self): raise RuntimeError\ndef f(self): return work()\nwith R(): print(f(C()))",
    "modules replaced": "import types\nwith R():\n kept = dict(sys.modules); sys.modules['os'] = types.ModuleType('os'); sys.modules['json'] = None\n print(work()); sys.modules.update(kept)\nseen()",
    "an error while another is handled": "try:\n with R():\n  try: raise KeyError(1)\n  except KeyError: torch.ones(2) @ torch.ones(3)\nexcept RuntimeError as e: print(repr(e.__context__), e.__traceback__.tb_next is None)",
    "the environment": "with R(): work()\nprint([k for k in os.environ if 'KINETO' in k])",
    "torch's profiler inside": "with R():\n with torch.autograd.profiler.profile() as p: work()\nprint(len(p.function_events) > 2); seen()",
    "signals blocked": "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])\nwith R(): work()\nprint(signal.pthread_sigmask(signal.SIG_BLOCK, []))",
}  # fmt: skip

VARIANT = ": "  # between a program's name and the way it runs
BUDGET = 3_000_000  # instructions that may be stepped


def _indented(text: str) -> str:
    return "".join(f" {line}\n" for line in text.splitlines())


# The ways each program runs: what its text becomes.
WAYS: dict[str, Callable[[str], str]] = {
    "": lambda text: text,
    "stepped": lambda text: text,
    "after another recording": lambda text: f"with R(): work()\n{text}",
    "in a function": lambda text: f"def main():\n{_indented(text)}main()",
    "while an exception is handled": lambda text: f"try: raise LookupError\nexcept LookupError:\n{_indented(text)}",
    "in a fork": lambda text: (
        "child = os.fork()\nif child: os._exit(abs(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])))\n" + text
    ),
}


@dataclass(frozen=True)
class Ended:
    """How a program ended."""

    status: int
    output: str
    errors: str


def run(text: str, how: str, budget: int, folder: Path) -> Ended:
    """Run a program "alone" or "recorded", stepped within a budget, in a fork of this process, which has imported torch and no recorder."""
    file, written = folder / "program.py", [folder / "output", folder / "errors"]
    file.write_text(BEGIN + text + "\n", encoding="utf-8")
    child = os.fork()
    if child == 0:
        for number, path in enumerate(written, 1):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        os.closerange(3, 256)
        os.chdir(folder)
        sys.argv = [str(file), how, str(budget)]
        raise Program(file)
    deadline = time.monotonic() + PATIENCE
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < deadline:
        time.sleep(0.005)
    if ended[0] == 0:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    output, errors = (_plain(path.read_text(encoding="utf-8", errors="replace")) for path in written)
    return Ended(-999 if ended[0] == 0 else os.waitstatus_to_exitcode(ended[1]), output, errors)


class Program(BaseException):
    """Leaves the generator in a fork, which then becomes this program."""

    def __init__(self, file: Path) -> None:
        self.file = file


def _plain(text: str) -> str:
    """A text without what differs from run to run: addresses, times, process numbers."""
    return re.sub(r"0x[0-9a-f]+|\d\d:\d\d:\d\d|\d{4,}", "N", text)


def differs(name: str) -> str:
    """How a program's run differs where it is recorded; "" if it does not."""
    folder = tempfile.mkdtemp(prefix="abuse-")
    program, _, way = name.partition(VARIANT)
    text, budget = WAYS[way](PROGRAMS[program]), BUDGET if way == "stepped" else 0
    alone, recorded = (run(text, how, budget, Path(folder)) for how in ("alone", "recorded"))
    shutil.rmtree(folder, ignore_errors=True)
    told = [f"{what}: {a!r} alone, {b!r} recorded" for what, a, b in (
        ("status", alone.status, recorded.status), ("output", alone.output, recorded.output),
        ("errors", alone.errors[-900:], recorded.errors[-900:]),
    ) if a != b]  # fmt: skip
    return "; ".join(told)


def names(part: str = "") -> list[str]:
    """The programs whose name has a part, each in every way."""
    every = [name + VARIANT * bool(way) + way for way in WAYS for name in PROGRAMS]
    return [name for name in every if part in name]


def main(wanted: list[str]) -> None:
    """Print, for each program, its name and how it differs, as a line of JSON."""
    for name in wanted or names():
        print(json.dumps([name, differs(name)]), flush=True)


if __name__ == "__main__":
    program = None
    try:
        import torch

        torch.ones(1) + 1
        main(sys.argv[1:])
    except Program as asked:
        program = asked.file
    if program is not None:  # a fork: it ends as a program does
        exec(compile(program.read_text(encoding="utf-8"), str(program), "exec"), {"__name__": "__main__"})
