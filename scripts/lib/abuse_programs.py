# ruff: noqa: E501  (each program is one row)
"""Programs that abuse their own process: each runs with and without a recording, and must do the same.

A program prints what it sees, its own hooks, handlers and limits among that, and ends as it likes. `R()` in its text is
`ptexplore.record()`, or a context that does nothing. `seen()` prints what the process has set. As a script, of which
ptexplore records all, each runs too: the profile function, which it can ask for, is left out of `seen()` then.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptexplore.model.places import Runtime
    from ptexplore.model.trace import Session

PATIENCE = 120  # seconds for one program
FOLDER = Path(tempfile.gettempdir()) / f"abuse-{os.getpid()}"

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

# The same for a script: it is recorded whole, or not at all. ptexplore reports its error; Python does not print it.
BEGIN_SCRIPT = """
import contextlib, os, signal, sys, threading
import torch
R = contextlib.nullcontext
LIMIT = sys.getrecursionlimit()
sys.excepthook = lambda *_: None
def work():
    return (torch.ones(3).cos() + 1).sum().item()
def seen():
    print(sys.gettrace(), sys.getrecursionlimit() == LIMIT, threading.enumerate() == [threading.main_thread()],
          signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGALRM), flush=True)
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
    "forks beside filters of warnings": "import warnings\nfilters = list(warnings.filters)\ndef forks():\n child = os.fork()\n if child == 0: os._exit(warnings.filters != filters)\n print(os.waitpid(child, 0)[1], warnings.filters == filters, flush=True)\ndef warns(): warnings.warn('once', DeprecationWarning)\nwith R():\n work(); warns(); forks(); warns(); forks()\n with warnings.catch_warnings():\n  warnings.simplefilter('error'); filters = list(warnings.filters); forks()\n filters = list(warnings.filters)\nforks(); seen()",
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
    "memory used up, none free in the heap": "import ctypes, resource\nC = ctypes.CDLL(None); C.malloc.restype = ctypes.c_void_p; C.free.argtypes = [ctypes.c_void_p]\nhard = resource.getrlimit(resource.RLIMIT_AS)[1]\ndef limit():\n used = int(open('/proc/self/statm').read().split()[0]) * 4096; resource.setrlimit(resource.RLIMIT_AS, (used, hard))\nwork(); room = C.malloc(100_000); limit()\nfor size in (1 << 16, 1 << 12, 1 << 8, 1 << 5):\n while C.malloc(size): pass\nC.free(room); resource.setrlimit(resource.RLIMIT_AS, (hard, hard))\nwith R():\n limit()\n for _ in range(20): x = work()\n resource.setrlimit(resource.RLIMIT_AS, (hard, hard))\nprint(x)",
    "memory used up before": "import resource\nwith R(): work()\nused = int(open('/proc/self/statm').read().split()[0]) * 4096\nresource.setrlimit(resource.RLIMIT_AS, (used, used))\nwith R(): print(work())",
    "the folder is deleted": "import shutil, tempfile\nd = tempfile.mkdtemp(); os.chdir(d)\nwith R(): shutil.rmtree(d); print(work())\nseen()",
    "relative file names": "import shutil, tempfile\nnames = {'torch': torch}; exec(compile('def f(): return torch.ones(3).cos().tolist()', 'relative.py', 'exec'), names)\nd = tempfile.mkdtemp(); os.chdir(d)\nwith R(): shutil.rmtree(d); print(names['f']())",
    "a NUL in a file name": "names = {'torch': torch}; exec(compile('def f(): return torch.ones(3).cos().tolist()', 'a\\0b.py', 'exec').replace(co_filename='a\\0b.py'), names)\nwith R(): print(names['f']())",
    "builtins replaced": "import builtins\nkept = {n: getattr(builtins, n) for n in ('len', 'isinstance', 'open', 'getattr', 'type', 'any', 'id', 'sorted')}\ndef no(*_, **__): raise SystemError('not yours')\nwith R():\n for n in ('len', 'open', 'any', 'sorted'): setattr(builtins, n, no)\n x = torch.ones(3); y = torch.neg(x)\n for n, f in kept.items(): setattr(builtins, n, f)\nprint(y.tolist()); seen()",
    "builtins left replaced": "import builtins\ndef no(*_, **__): raise SystemError('not yours')\nold = builtins.open\nwith R(): builtins.open = no; print(work())\nbuiltins.open = old; seen()",
    "mocks that count": "from unittest import mock\nimport builtins, time\nwith R():\n with mock.patch('builtins.len') as a, mock.patch('os.getpid') as b, mock.patch('time.perf_counter_ns') as c, mock.patch('time.thread_time_ns') as d:\n  x = torch.ones(3); [torch.neg(x) for _ in range(300)]\n  calls = a.call_count, b.call_count, c.call_count, d.call_count\nprint(calls)",
    "os, json and time emptied": "import json, time\nwith R():\n os.getpid = json.dumps = time.perf_counter_ns = time.thread_time_ns = os.path.realpath = None\n print(work())\nseen()",
    "near the limit of recursion": "def f(n):\n if n: return f(n - 1)\n try:\n  with R(): return 1\n except RecursionError: return 0\nfor n in range(900, 990): f(n)\nwith R(): print(work())\nseen()",
    "a low limit of recursion": "def f(n): return f(n - 1) if n else torch.ones(3).cos().sum().item()\ndef depth():\n frame, n = sys._getframe(), 0\n while frame: frame, n = frame.f_back, n + 1\n return n\nwith R():\n room = depth() + 60; sys.setrecursionlimit(room)\n told = []\n for n in range(20, 70):\n  try: told.append(f(n))\n  except RecursionError: told.append(None)\n sys.setrecursionlimit(LIMIT)\nprint(told.count(None), told.index(None)); seen()",
    "recursion without end": "def f(): return f()\nwith R():\n try: f()\n except RecursionError: print('too deep')\n print(work())\nseen()",
    "deep recursion": "sys.setrecursionlimit(20000)\ndef f(n):\n torch.ones(1)\n return f(n - 1) if n else work()\nwith R(): print(f(3000))\nseen()",
    "a failed import": "import traceback\nwith R():\n try: import nothing_of_that_name\n except ImportError: text = traceback.format_exc()\nprint(text)",
    "threads are counted": "with R(): work(); print(threading.enumerate(), threading.active_count())",
    "handlers set inside": "def mine(*_): pass\nwith R(): signal.signal(signal.SIGINT, mine); signal.signal(signal.SIGALRM, signal.SIG_IGN); work()\nprint(signal.getsignal(signal.SIGINT) is mine, signal.getsignal(signal.SIGALRM))",
    "siginterrupt": "import time\nsignal.signal(signal.SIGALRM, lambda *_: None); signal.siginterrupt(signal.SIGALRM, False)\nr, w = os.pipe()\nwith R(): work()\nsignal.signal(signal.SIGALRM, signal.SIG_DFL); seen()",
    "warnings are errors": "import warnings\nwarnings.simplefilter('error')\nwith R(): print(work())\nseen()",
    "standard functions counted": "import collections, types\nx, calls, kept = torch.ones(3), {}, []\ndef counting(name, f):\n def counted(*a, **k): calls[name] = calls.get(name, 0) + 1; return f(*a, **k)\n return counted\nwith R():\n for n, m in list(sys.modules.items()):\n  if n.partition('.')[0] in sys.stdlib_module_names and n not in ('sys', 'builtins') and type(m) is types.ModuleType:\n   kept += [(m, k, f) for k, f in vars(m).items() if type(f) in (types.FunctionType, types.BuiltinFunctionType)]\n for m, k, f in kept: setattr(m, k, counting(m.__name__ + '.' + k, f))\n for _ in range(2500): y = torch.neg(x)\n told = dict(calls)\n for m, k, f in kept: setattr(m, k, f)\nprint(told)",
    "standard functions replaced before": "import time, uuid\nwith R(): work()\nkept, no = [], lambda *_: 1 / 0\nfor m, k in ((os, 'getpid'), (os, 'stat'), (time, 'time'), (time, 'perf_counter_ns'), (uuid, 'uuid4'), (threading, 'get_ident')): kept.append((m, k, getattr(m, k))); setattr(m, k, no)\nwith R(): x = torch.ones(3); y = torch.neg(x)\nfor m, k, f in kept: setattr(m, k, f)\nprint(y.tolist()); seen()",
    "files, folder, mask and environment": "with R():\n open('written', 'w').write('x'); os.mkdir('made'); os.chdir('made'); old = os.umask(0o077); os.environ['MINE'] = '1'; work(); open('inner', 'w').write('y')\nprint(os.getcwd(), old, oct(os.umask(0)), os.environ['MINE'], sorted(os.listdir('..')))",
    "objects that tell when they go": "import gc, weakref\nclass C:\n def __init__(self, n): self.n = n\n def __del__(self): print('gone', self.n)\nwith R():\n a = C(1); del a; b = [C(2)]; b.clear(); t = torch.ones(3); r = weakref.ref(t); torch.neg(t); del t; print(r()); c = C(3); c.me = c; del c; gc.collect(); d = C(4)\nprint('end')",
    "a tensor is freed at once": "import weakref\ndef f():\n t = torch.ones(5); r = weakref.ref(t); u = t.cos(); return r\nimport gc; gc.disable()\nwith R(): print(f()()); print(sum(f()() is not None for _ in range(1500)))",
    "collector off, callbacks counted": "import gc\ngc.disable(); before = gc.get_threshold(), len(gc.callbacks)\nwith R(): work(); print(gc.isenabled())\nprint(gc.isenabled(), before == (gc.get_threshold(), len(gc.callbacks)))",
    "random numbers": "import random\ntorch.manual_seed(3); random.seed(3)\nwith R(): a = torch.rand(2).tolist(), random.random()\nprint(a, torch.rand(2).tolist(), random.random())",
    "hooks of exceptions": "def mine(*_): print('mine')\nsys.excepthook = mine; sys.unraisablehook = mine; threading.excepthook = mine\nwith R():\n class D:\n  def __del__(self): raise ValueError\n D(); t = threading.Thread(target=lambda: 1 / 0); t.start(); t.join(); work()\nprint(sys.excepthook is mine, sys.unraisablehook is mine)",
    "output replaced and closed": "import io\nold = sys.stdout\nwith R(): sys.stdout = io.StringIO(); work(); print('in'); text = sys.stdout.getvalue(); sys.stdout.close()\nsys.stdout = old; print(repr(text)); seen()",
    "a profiler in another thread": "def beside():\n with torch.autograd.profiler.profile() as p: torch.exp(torch.ones(2))\n print('aten::exp' in {e.name for e in p.function_events})\nwith torch.autograd.profiler.profile(): pass\nwith R():\n for _ in range(3):\n  t = threading.Thread(target=beside); t.start(); t.join(); work()\nseen()",
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


# Ways of programs that differ, and stay so, each with why.
KNOWN = {
    "left open by a stopped loop: in a function": "Python's collector takes the task or its coroutine first, and "
    "asyncio's words tell which; the frame of the open block is one object more for it",
    "objects that tell when they go: in a function": "before Python 3.13 (PEP 667) a function that has sys.setprofile's "
    "function called keeps what its variables held at that moment, whatever that function does",
}


if sys.version_info >= (3, 12):
    KNOWN["a low limit of recursion"] = (
        "the limit counts functions of Python alone from Python 3.12 on: the last one that fits may call a builtin, and "
        "the profile function, which is one of Python's, has no room there"
    )

# The same of all ways of a program that runs as a script.
KNOWN_OF_SCRIPTS = {
    "a low limit of recursion": "the limit is what the script sees around it and 60 more; some calls of C by which it is "
    "run here, and by which this program runs it alone, are on Python's count and not to be seen",
}


def known(what: str, name: str) -> str | None:
    """Why a program may do something else when it is recorded; None where it must not."""
    return KNOWN.get(name) or (KNOWN_OF_SCRIPTS.get(name.partition(VARIANT)[0]) if what == "scripts" else None)


@dataclass(frozen=True)
class Ended:
    """How a program ended, and what it left in its folder."""

    status: int
    output: str
    errors: str
    files: tuple[tuple[str, str], ...] = ()


def run(text: str, how: tuple[str, ...], folder: Path, *, together: bool = False) -> Ended:
    """Run a program as it is, with the words `how`, in a fork of this process, which has imported torch and no recorder.

    `together`: what it prints, and its errors, are one text.
    """
    file = folder / "program.py"
    file.write_text(text, encoding="utf-8")
    output, errors = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output[1], 1)
        os.dup2(output[1] if together else errors[1], 2)
        os.closerange(3, 256)
        os.chdir(folder)
        sys.argv = [str(file), *how]
        sys.path.insert(0, str(folder))
        raise Program(file)
    deadline = time.monotonic() + PATIENCE
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < deadline:
        time.sleep(0.005)
    if ended[0] == 0:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    status = -999 if ended[0] == 0 else os.waitstatus_to_exitcode(ended[1])
    return Ended(status, _read(*output), _read(*errors), _files(folder))


def _read(reader: int, writer: int) -> str:
    """What a program that is gone has written into a pipe."""
    os.close(writer)
    os.set_blocking(reader, False)  # a process that it left may still hold the pipe
    with os.fdopen(reader, "rb") as pipe:
        return _plain((pipe.read() or b"").decode(errors="replace"))


class Program(BaseException):
    """Leaves the generator in a fork, which then becomes this program."""

    def __init__(self, file: Path) -> None:
        self.file = file


def _plain(text: str) -> str:
    """A text without what differs from run to run: addresses, times, process numbers."""
    return re.sub(r"0x[0-9a-f]+|\d\d:\d\d:\d\d|\b\d+:\d+\b|\d{4,}", "N", text)


def _without_profilers_lines(text: str) -> str:
    """A text without libkineto's lines, which are taken out of what a script prints (NOISE of the probe)."""
    return re.sub(r"(?m)^USDT:.*\n", "", text)


def _files(folder: Path) -> tuple[tuple[str, str], ...]:
    """What lies in a folder: each file's name and text."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return tuple((str(path.relative_to(folder)), path.read_text("utf-8", "replace")) for path in files)


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    """A folder for one run of a program: each run has the same one, whose name a program may print."""
    folder = FOLDER / "own"
    folder.mkdir(parents=True)
    yield folder
    shutil.rmtree(FOLDER)


def _text(name: str) -> tuple[str, int]:
    """A program in one of its ways, and the instructions that may be stepped."""
    program, _, way = name.partition(VARIANT)
    return WAYS[way](PROGRAMS[program]) + "\n", BUDGET if way == "stepped" else 0


def differs(alone: Ended, recorded: Ended) -> str:
    """How a program's recorded run differs; "" if it does not."""
    differences = [f"{what}: {a!r} alone, {b!r} recorded" for what, a, b in (
        ("status", alone.status, recorded.status), ("output", alone.output, recorded.output),
        ("errors", alone.errors[-900:], recorded.errors[-900:]), ("files", alone.files, recorded.files),
    ) if a != b]  # fmt: skip
    return "; ".join(differences)


def recorded(name: str) -> str:
    """How a program that records itself differs from one that does not."""
    text, budget = _text(name)
    runs: list[Ended] = []
    for how in ("alone", "recorded"):
        with _folder() as folder:
            runs.append(run(BEGIN + text, (how, str(budget)), folder))
    return differs(*runs)


# --- as a script ---


def run_script(text: str, budget: int, folder: Path, runtime: Runtime) -> Ended:
    """Run a program as `ptexplore trace --script FILE` does."""
    from ptexplore.capture.probing import TraceRequest
    from ptexplore.capture.trace import capture
    from ptexplore.errors import PtexploreError
    from ptexplore.model.observed import Printed, records
    from ptexplore.view.words.errors import in_words
    from ptexplore.workspace.typed import typed

    file = folder / "program.py"
    file.write_text(text, encoding="utf-8")
    request = TraceRequest(script=str(file), native_most=budget, timeout=PATIENCE, cwd=str(folder))
    try:
        with in_words():
            session = capture(typed(request), runtime, raising=True)
    except PtexploreError as error:
        return Ended(-999, f"{error.message}: {error.why}", "")
    printed = "".join(seen.text for seen in records(session.observations, "output", Printed))
    return Ended(_status(session), _plain(printed), "", _files(folder))


def _status(session: Session) -> int:
    """The exit status that a script's process would have had, by how ptexplore says that it ended."""
    from ptexplore.model.observed import RaisedError, records

    ending = next(iter(records(session.observations, "raised", RaisedError)), None)
    if ending is None:
        return 0
    by, name, message = ending.by, ending.exception, ending.message
    if by == "signal":
        return -int(signal.Signals[name])
    if by == "exit":
        return int(message.removeprefix("status "))
    if name == "SystemExit" and message.isdecimal():
        return int(message)
    return -int(signal.SIGINT) if name == "KeyboardInterrupt" else 1


def scripts(wanted: list[str]) -> Iterator[tuple[str, str]]:
    """Each program's name, and how it differs as a script: first all run alone, then in forks of one warm probe."""
    alone: dict[str, Ended] = {}
    for name in wanted:
        with _folder() as folder:
            ended = run(BEGIN_SCRIPT + _text(name)[0], (), folder, together=True)
        alone[name] = replace(ended, output=_without_profilers_lines(ended.output))
    from ptexplore.capture import probing
    from ptexplore.source.runtime.describe import find_runtime
    from tests.warm_probe import warm_probe

    runtime = find_runtime(sys.executable)
    with warm_probe(runtime.python) as probe:
        probing._start = probe.start
        for name in wanted:
            text, budget = _text(name)
            with _folder() as folder:
                yield name, differs(alone[name], run_script(BEGIN_SCRIPT + text, budget, folder, runtime))


def names(part: str = "") -> list[str]:
    """The programs, each in every way, in whose name a pattern is found."""
    every = [name + VARIANT * bool(way) + way for way in WAYS for name in PROGRAMS]
    return [name for name in every if re.search(part, name)]


def main(what: str, wanted: list[str]) -> None:
    """Print, for each program, its name, how it differs, and why it may, as a line of JSON.

    `what`: "programs" or "scripts".
    """
    results = scripts(wanted) if what == "scripts" else ((name, recorded(name)) for name in wanted)
    for name, how in results:
        print(json.dumps([name, how, known(what, name)]), flush=True)


if __name__ == "__main__":
    program = None
    signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background is started without
    try:
        import torch

        torch.ones(1) + 1
        main(sys.argv[1], sys.argv[2:])
    except Program as asked:
        program = asked.file
    if program is not None:  # a fork: it ends as a program does, whose variables are its module's
        module = sys.modules["__main__"] = ModuleType("__main__")
        module.__file__ = str(program)
        exec(compile(program.read_text(encoding="utf-8"), str(program), "exec"), vars(module))
