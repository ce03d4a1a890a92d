"""The stepper: its machine code reads back as written, what it steps gives what it would, nothing stays set."""

from __future__ import annotations

import ctypes
import importlib
import mmap
import re
from pathlib import Path

import pytest

from tests.stepping import Forks

machine_code = importlib.import_module("ptexplore.probe.machine_code")
stepper = importlib.import_module("ptexplore.probe.stepper")
straight_code = importlib.import_module("ptexplore.probe.straight_code")
stepped = pytest.mark.skipif(stepper.why_not() is not None, reason=str(stepper.why_not()))


@pytest.mark.parametrize(
    "program",
    [
        machine_code.handler(0x7F12_3456_7890, 0x7F12_3456_0000),
        machine_code.handler(0x7F12_3456_7890, 0x7F12_3456_0000, alone=False),
        machine_code.runner(0x1234_5678_9ABC),
        machine_code.CLOCK,
        straight_code.MEASURE,
        machine_code.profile_function(0x1234_5678_9ABC),
        machine_code.error_note(0x7F12_3456_7890, 0x1234_5678_9ABC, 0x1234_5678_9ABC, counted_strings=False),
        machine_code.error_note(0x7F12_3456_7890, 0x1234_5678_9ABC, 0x1234_5678_9ABC, counted_strings=True),
        machine_code.raise_note(0x7F12_3456_7890, 3, 0x1234_5678_9ABC, 0x1234_5678_9ABC, has_words=True),
        machine_code.raise_note(0x7F12_3456_7890, 4, 0x1234_5678_9ABC, 0x1234_5678_9ABC, has_words=False),
    ],
    ids=[
        "handler",
        "handler that returns by the kernel",
        "runner",
        "clock",
        "length of an instruction",
        "profile function",
        "note of an error",
        "note with strings of the older ABI",
        "note of what raises with text",
        "note of what raises",
    ],
)
def test_machine_code_reads_back_as_written(program: str) -> None:
    capstone = pytest.importorskip("capstone")
    code, labels = machine_code.assemble(program)
    read = list(capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64).disasm(code, 0))
    lines = [line.partition(";")[0].strip() for line in program.splitlines()]
    written = [line for line in lines if line and not line.endswith(":")]
    assert [plain(f"{one.mnemonic} {one.op_str}", {}) for one in read] == [plain(text, labels) for text in written]
    assert sum(one.size for one in read) == len(code)


def plain(text: str, labels: dict[str, int]) -> str:
    """An instruction with its numbers as unsigned decimals and its label as a place; memory is of eight bytes."""
    name, _, operands = text.partition(" ")
    operands = str(labels.get(operands, operands)).replace("qword ptr ", "").removeprefix("ptr ")
    numbers = re.sub(r"-?\b(0x[0-9a-f]+|\d+)\b", lambda found: str(int(found[0], 0) % (1 << 64)), operands)
    return f"{name} {numbers.replace(' + 0]', ']')}".strip()


@pytest.mark.parametrize("program", ["jmp nowhere", "mov [rax], [rbx]", "nop", "add rax, somewhere"])
def test_what_is_no_instruction_or_label_is_an_error(program: str) -> None:
    with pytest.raises(KeyError):
        machine_code.assemble(program)


LIBRARIES = {  # offset and size of what is read of each
    "libtorch_cpu.so": [(0.2, 60_000), (0.4, 60_000), (0.6, 60_000), (0.8, 60_000), (0.9, 60_000)],
    "libtorch_python.so": [(0.4, 60_000), (0.6, 60_000), (0.8, 60_000)],
    "libc10.so": [(0.3, 60_000)],
}


def test_an_instruction_is_as_long_as_a_disassembler_says() -> None:
    """Of some hundred thousand of torch's own: else a breakpoint would stand inside of one."""
    capstone = pytest.importorskip("capstone")
    torch = pytest.importorskip("torch")
    libraries = Path(torch.__file__).parent / "lib"
    if stepper.why_not() is not None or not (libraries / "libtorch_cpu.so").is_file():
        pytest.skip("x86-64 Linux alone")
    program = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    program.write(machine_code.assemble(straight_code.MEASURE)[0])
    address = ctypes.addressof(ctypes.c_char.from_buffer(program))
    measure = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64)(address)
    tables = ctypes.create_string_buffer(straight_code.tables(), straight_code.LENGTH)
    reader = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    equal, ends = 0, set()
    for name, places in LIBRARIES.items():
        data = (libraries / name).read_bytes() if name == "libc10.so" else None
        with (libraries / name).open("rb") as file:
            size = file.seek(0, 2)
            for part, length in places:
                file.seek(int(part * size) & ~15)
                text = data[int(part * len(data)) & ~15 :][:length] if data is not None else file.read(length)
                buffer = ctypes.create_string_buffer(text, len(text) + 64)
                begin = ctypes.addressof(buffer)
                for number, (at, long, name_, operands) in enumerate(reader.disasm_lite(text, begin)):
                    measured = measure(at, ctypes.addressof(tables))
                    if number > 50 and measured:  # it may have begun inside of one
                        assert measured == long, (name, hex(at - begin), name_, operands)
                        equal += 1
                    elif number > 50:
                        ends.add(name_)
    assert equal > 40_000
    assert {"call", "ret", "jmp", "je"} <= ends
    assert not ends & {"mov", "lea", "push", "pop", "add", "test", "cmp", "vmovups", "movaps"}


WARM = """
a, b = torch.randn(3, 3), torch.randn(3, 3)
for _ in range(3): torch.add(a, b)
s = S.Stepper()
"""


@stepped
def test_a_stepped_call_gives_what_it_gives_at_full_speed(child: Forks) -> None:
    said = child(f"""{WARM}
result, steps = s.step(torch.add, a, b)
print(torch.equal(result, a + b), steps.cut)
print(1_000 < steps.instructions < 100_000, len(steps.rows) % 64, len(steps.rows) > 0)
""")
    assert said.split("\n") == ["True None", "True 0 True"]


@stepped
@pytest.mark.parametrize("features", ["", "shstk"], ids=["by itself", "by the kernel"])
def test_the_handler_goes_back_in_either_way(child: Forks, features: str) -> None:
    """With every register as it was, those of vectors too, and as many instructions stepped."""
    said = child(f"""
told = S.text_in
S.text_in = lambda file, name: b"{features}" if name == b"x86_Thread_features:" else told(file, name)
{WARM}
x = torch.randn(12, 12)
call = lambda: torch.softmax(torch.mm(x, x), 1).erf().to(torch.int8)
expected = call()
result, steps = s.step(call)
print(torch.equal(result, expected), 10_000 < steps.instructions < 1_000_000, steps.cut, s._alone)
""")
    assert said == f"True True None {not features}"


ADD = """
import ctypes, os
lib = ctypes.CDLL(os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so"))
at = ctypes.cast(lib["_ZN2at4_ops10add_Tensor4callERKNS_6TensorES4_RKN3c106ScalarE"], ctypes.c_void_p).value
with open("/proc/self/maps") as maps:
    mapped = [line.split() for line in maps]
torch_code = [[int(end, 16) for end in m[0].split("-")] for m in mapped if m[-1].rpartition("/")[2].startswith(
    ("libtorch_cpu.", "libtorch_python.", "libc10.")) and "x" in m[1]]
def way(steps):
    return [row[0] for row in S.rows_of(steps) if any(low <= row[0] < high for low, high in torch_code)]
"""


@stepped
def test_two_runs_take_the_same_jumps_inside_torch(child: Forks) -> None:
    """Warm, on one thread. In libc it may not be so: the allocator looks for another block where one is taken."""
    said = child(f"""{WARM}{ADD}
ways = []
for _ in range(2):
    _, steps = s.step_call([at], 2, lambda: [torch.add(a, b) for _ in range(3)])
    ways.append(way(steps))
print(ways[0] == ways[1], steps.counts, ways[0][0] == at, len(ways[0]) > 500)
""")
    assert said == "True (2,) True True"


@stepped
def test_the_call_that_is_stepped_is_the_one_asked_for_of_several_functions(child: Forks) -> None:
    """Breakpoints on two functions: they are met in turn, and the stepped call is no other's."""
    said = child(f"""{WARM}{ADD}
mul = ctypes.cast(lib["_ZN2at4_ops10mul_Tensor4callERKNS_6TensorES4_"], ctypes.c_void_p).value
for number in (0, 1, 2, 3, 4):
    result, steps = s.step_call([at, mul], number, lambda: torch.add(torch.mul(torch.add(a, b), b), b))
    print(steps.counts, steps.entry, torch.equal(result, (a + b) * b + b), bool(steps.rows), steps.cut)
""")
    assert said.split("\n") == [
        "(2, 1) None True False None",
        "(1, 0) 0 True True None",
        "(1, 1) 1 True True None",
        "(2, 1) 0 True True None",
        "(2, 1) None True False None",
    ]


@stepped
def test_several_calls_are_stepped_in_one_run_each_as_if_alone(child: Forks) -> None:
    """With the rows and counts of each alone, and the process is left as it was."""
    said = child(f"""{WARM}{ADD}
mul = ctypes.cast(lib["_ZN2at4_ops10mul_Tensor4callERKNS_6TensorES4_"], ctypes.c_void_p).value
run = lambda: torch.add(torch.mul(torch.add(a, b), b), b)
_, listed = s.list_calls([at, mul], run)
print(listed)
alone = {{number: way(s.step_call([at, mul], number, run)[1]) for number in (1, 2, 3)}}
result, each = s.step_calls([at, mul], [1, 2, 3], 1 << 30, 1 << 30, run)
print(sorted(each), [steps.entry for _, steps in sorted(each.items())], torch.equal(result, run()))
again = s.list_calls([at, mul], run)[1]
print([way(steps) == alone[number] for number, steps in sorted(each.items())], again == listed)
""")
    assert said.split("\n") == ["[0, 1, 0]", "[1, 2, 3] [0, 1, 0] True", "[True, True, True] True"]


@stepped
def test_a_call_that_is_cut_does_not_end_the_others(child: Forks) -> None:
    """Each ends at its own limit; the numbers of later calls count what ran inside an earlier one, stepped or not."""
    said = child(f"""{WARM}{ADD}
import importlib; N = importlib.import_module("ptexplore.probe.native")
names = N.entry_points(["matmul", "mm", "add.Tensor"])
places = [names[name] for name in ("matmul", "mm", "add.Tensor")]
run = lambda: torch.add(torch.matmul(torch.matmul(a, b), b), b)
print(s.list_calls(places, run)[1])
for most in (500, 1 << 30):
    _, each = s.step_calls(places, [1, 3, 5], most, 1 << 30, run)
    print([(number, steps.entry, steps.cut and steps.cut["code"]) for number, steps in sorted(each.items())])
s.most = 3_000
_, each = s.step_calls(places, [1, 3, 5], 1 << 30, 1 << 30, run)
print(len(each), sum(steps.instructions for steps in each.values()) < 3_100)
""")
    cut = "many-instructions"
    assert said.split("\n") == [
        "[0, 1, 0, 1, 2]",
        str([(1, 0, cut), (3, 0, cut), (5, 2, cut)]),
        str([(1, 0, None), (3, 0, None), (5, 2, None)]),
        "1 True",
    ]


@stepped
def test_what_the_call_raises_is_raised_and_the_process_goes_on(child: Forks) -> None:
    said = child(f"""{WARM}
for wrong in (lambda: torch.mm(a, b[:2]), lambda: [].pop()):
    try: s.step(wrong)
    except (RuntimeError, IndexError) as error: print(type(error).__name__)
print(torch.equal(s.step(torch.add, a, b)[0], a + b))
""")
    assert said.split("\n") == ["RuntimeError", "IndexError", "True"]


@stepped
@pytest.mark.parametrize(
    ("limits", "why"),
    [("rows=300", "log-full"), ("most=2000", "'most': 2000"), ("seconds=0.001", "'seconds': 0.001")],
)
def test_a_limit_ends_the_stepping_and_not_the_call(child: Forks, limits: str, why: str) -> None:
    said = child(f"{WARM}result, steps = S.Stepper({limits}).step(torch.add, a, b)\n"
                 "print(torch.equal(result, a + b), steps.cut)")  # fmt: skip
    assert said.startswith("True ")
    assert why in said


STATE = """
import ctypes, faulthandler, signal
faulthandler.enable()
class Stack(ctypes.Structure):
    _fields_ = (("sp", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t))
def state():
    libc, found = ctypes.CDLL(None), []
    for number in range(1, 65):
        action = S._Action()
        libc.sigaction(number, None, ctypes.byref(action))
        found.append((action.handler, bytes(action.mask)[:8], action.flags, action.restorer))
    libc.sigaltstack(None, ctypes.byref(stack := Stack()))
    found.append((stack.sp, stack.flags, stack.size))
    found.append((sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())), faulthandler.is_enabled()))
    with open("/proc/self/maps") as maps:
        parts = [line.split()[:2] for line in maps if line.rstrip().endswith("libtorch_cpu.so") and "x" in line]
    assert all(left[0].split("-")[1] == right[0].split("-")[0] for left, right in zip(parts, parts[1:]))
    found.append((parts[0][0].split("-")[0], parts[-1][0].split("-")[1], {kind for _, kind in parts}))
    found.append(ctypes.string_at(at, 16))
    return found
signal.signal(signal.SIGTRAP, lambda *_: None)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
"""


# Two ways in forks of one process, whose memory is alike: each row is the same, with the count of instructions in it.
BOTH_WAYS = """
import contextlib, ctypes, os, pickle, random, re
numbers = [random.random() for _ in range(100)]
calls = {
    "sorted": lambda: sorted(numbers), "repr": lambda: repr(1.2345e-77),
    "re": lambda: re.match(r"(a|b|ab)*c(?=d)", "ab" * 20 + "cd"), "join": lambda: "-".join(["ab"] * 200).split("b-"),
}
whole = S.Stepper._breakable
def steps(call, by_breakpoints):
    @contextlib.contextmanager
    def some(self):
        with whole(self) as ranges:
            ctypes.memset(ranges, 0, 0 if by_breakpoints else 8)
            yield ranges
    S.Stepper._breakable = some
    for _ in range(3): call()
    result, steps = S.Stepper().step(call)
    return repr(result), steps.instructions, steps.rows, steps.cut
def both(call):
    pipes = os.pipe(), os.pipe()
    for by_breakpoints, (_, writing) in enumerate(pipes):
        if os.fork() == 0:
            os.close(pipes[1 - by_breakpoints][1])
            with open(writing, "wb") as out: out.write(pickle.dumps(steps(call, by_breakpoints)))
            os._exit(0)
    told = []
    for reading, writing in pipes:
        os.close(writing)
        with open(reading, "rb") as come: told.append(pickle.loads(come.read()))
    return told
for name, call in calls.items():
    for _ in range(3):  # two runs in one way may differ, too
        told = both(call)
        if told[0] == told[1]: break
    print(name, told[0] == told[1], told[0][1] > 3000, len(told[0][2]) > 64 * 300, told[0][3])
"""


@stepped
def test_by_breakpoints_the_log_is_that_of_the_trap_flag(child: Forks) -> None:
    assert child(BOTH_WAYS).split("\n") == [f"{name} True True True None" for name in ("sorted", "repr", "re", "join")]


@stepped
def test_where_other_threads_are_no_breakpoint_is_set(child: Forks) -> None:
    """They would run into it."""
    said = child(f"""{WARM}
import os, threading, time
stop = threading.Event()
other = threading.Thread(target=stop.wait)
other.start()
with s._breakable() as ranges: print(list(ranges))
result, steps = s.step(torch.add, a, b)
stop.set()
other.join()
while len(os.listdir("/proc/self/task")) > 1: time.sleep(0.01)  # Python is done with it before the system is
with s._breakable() as ranges: print(len(ranges) > 20)
print(torch.equal(result, a + b), steps.cut)
""")
    assert said.split("\n") == ["[0, 0]", "True", "True None"]


@stepped
def test_signals_mask_handlers_and_code_are_as_they_were(child: Forks) -> None:
    """Whatever becomes of the call: a value, an exception of Python or of C++, a limit, a breakpoint never met."""
    said = child(f"""{WARM}{ADD}{STATE}
mm = ctypes.cast(lib["_ZN2at4_ops2mm4callERKNS_6TensorES4_"], ctypes.c_void_p).value
before = state()
small = S.Stepper(rows=300)
def calls():
    yield lambda: s.step(torch.add, a, b)
    yield lambda: s.step(lambda: [].pop())
    yield lambda: s.step(torch.mm, a, b[:2])
    yield lambda: small.step(torch.add, a, b)
    yield lambda: s.step_call([at], 1, lambda: torch.add(a, b))
    yield lambda: s.step_call([mm], 1, lambda: torch.mm(a, b[:2]))
    yield lambda: s.step_call([at], 2, lambda: torch.add(a, b))
    yield lambda: s.step_call([at], 1, lambda: [].pop())
    yield lambda: small.step_call([at], 1, lambda: torch.add(a, b))
for call in calls():
    try: call(); came = "a value"
    except (RuntimeError, IndexError) as error: came = type(error).__name__
    print(came, state() == before)
""")
    came = "a value,IndexError,RuntimeError,a value,a value,RuntimeError,a value,IndexError,a value"
    assert said.split("\n") == [f"{how} True" for how in came.split(",")]


@stepped
@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("t = threading.Thread(target=seen.append, args=(1,)); t.start(); t.join()", "blocks-trap"),
        ("(p := os.fork()) or os._exit(0); seen.append(os.waitpid(p, 0)[1] + 1)", "starts-another"),
        ("seen.append(os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0)[1] + 1)", "blocks-trap"),
        ("seen.append(os.waitstatus_to_exitcode(os.system('exit 1')))", "blocks-trap"),
        ("signal.pthread_sigmask(signal.SIG_BLOCK, {5}); seen.append(1)", "blocks-trap"),
        ("signal.signal(5, lambda *_: seen.append(1)); signal.raise_signal(5)", "handles-trap"),
        ("signal.signal(10, signal.SIG_IGN); seen.append(1)", None),
    ],
)
def test_stepping_stops_before_what_would_kill_it(child: Forks, code: str, why: str | None) -> None:
    """Threads, processes, other programs, SIGTRAP in other hands: the call ends as it would have."""
    said = child(f"""{WARM}
import os, signal, threading
seen = []
def call():
    result = torch.add(a, b)
    {code}
    return torch.add(result, b)
result, steps = s.step(call)
print(torch.equal(result, a + b + b), seen, steps.instructions > 5000)
print(steps.cut)
""")
    first, cut = said.split("\n")
    assert first == "True [1] True"
    assert (why in cut) if why else cut == "None"


@stepped
def test_signals_that_come_meanwhile_wait(child: Forks) -> None:
    """A timer of a millisecond fires faster than its handler can be stepped: it would never end."""
    said = child(f"""{WARM}
import signal
met = []
signal.signal(signal.SIGALRM, lambda *_: met.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
inside = []
result, steps = s.step(lambda: [(torch.add(a, b), inside.append(len(met))) for _ in range(3)][-1][0])
signal.setitimer(signal.ITIMER_REAL, 0)
print(len(met) > inside[0], len(set(inside)), torch.equal(result, a + b), steps.cut)
""")
    assert said == "True 1 True None"


@stepped
def test_where_the_signal_is_blocked_stepping_is_refused(child: Forks) -> None:
    said = child("""
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTRAP})
try: S.Stepper()
except S.Unavailable as error: print(error)
""")
    assert said == "trap-blocked"


# Python's calls on the same clock: what sys.settrace says of the same function, in the same order.
PYTHON = """
import sys
from ptexplore.probe import machine_code as M
def leaf(n): return n + 1
def generated():
    for n in range(2): yield leaf(n)
def failing(): raise KeyError
def work():
    total = sum(generated())
    try: failing()
    except KeyError: total += leaf(total)
    return sorted([2, 1], key=leaf), total
def traced():
    events = []
    def trace(frame, event, _):
        if event == "call": events.append((0, frame.f_code.co_name))
        def local(frame, event, _):
            if event == "return": events.append((3, frame.f_code.co_name))
            return local
        return local
    sys.settrace(trace)
    try: work()
    finally: sys.settrace(None)
    return events
def logged(steps):
    rows = [row for row in S.rows_of(steps) if row[0] == steps.python.mark and row[6] != M.PY_C_CALL]
    return [(row[6], steps.python.codes[row[5]].name) for row in rows]
work()
"""


@stepped
def test_pythons_calls_stand_in_the_log_as_settrace_sees_them(child: Forks) -> None:
    said = child(f"""{PYTHON}
s = S.Stepper()
result, steps = s.step(work)
print(result == work(), steps.python.lost, sys.getprofile())
print(logged(steps) == traced(), len(logged(steps)))
called = [steps.python.builtins[row[5]][0] for row in S.rows_of(steps)
          if row[0] == steps.python.mark and row[6] == M.PY_C_CALL]
print(called)
""")
    assert said.split("\n") == ["True False None", "True 20", "['sum', 'sorted']"]


@stepped
@pytest.mark.parametrize(
    "taking",
    ["sys.setprofile(None)", "sys.setprofile(lambda *_: None)", "sys.setprofile(sys.getprofile())"],
    ids=["none", "another", "its own back"],
)
def test_a_profile_function_that_was_taken_away_is_said(child: Forks, taking: str) -> None:
    said = child(f"""{PYTHON}
def takes():
    leaf(1)
    {taking}
    return leaf(2)
s = S.Stepper()
result, steps = s.step(takes)
sys.setprofile(None)
print(result, steps.python.lost, logged(steps)[:3])
""")
    assert said == "3 True [(0, 'takes'), (0, 'leaf'), (3, 'leaf')]"


@stepped
def test_python_below_one_operator_call_is_logged(child: Forks) -> None:
    said = child(f"""{PYTHON}
from ptexplore.probe import native as N
from torch.utils._python_dispatch import TorchDispatchMode
class Mode(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {{}}))
def run():
    with Mode(): return torch.mul(torch.ones(2), 2)
run()
s = S.Stepper()
result, steps = s.step_call(list(N.of_name("mul.Tensor").values()), 1, run)
names = [name for what, name in logged(steps) if what == 0]
print(result.tolist(), "__torch_dispatch__" in names, "run" in names, sys.getprofile())
""")
    assert said == "[2.0, 2.0] True False None"


@stepped
def test_without_a_profile_function_the_rest_is_stepped(child: Forks) -> None:
    said = child("""
from ptexplore.probe import python_calls
python_calls.program = lambda: ([], "this Python lacks PyFrame_GetCode")
_, steps = S.Stepper().step(torch.add, torch.ones(2), 1)
print(steps.python, "|", steps.unprofiled, "|", steps.instructions > 1000)
""")
    assert said == "None | this Python lacks PyFrame_GetCode | True"
