"""Names for addresses, against what the dynamic linker says; jumps into calls, on made-up and on real rows."""

from __future__ import annotations

import ctypes
import json
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from ptexplore.capture.native.record import build
from ptexplore.capture.native.symbols import Elf, FunctionAddress, NotElf, Symbols, demangle, regions
from ptexplore.cpp.symbol_names import parse
from ptexplore.resolve.native.linkage import Linkage

torch = pytest.importorskip("torch")
LIBRARY = Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"
ADD = "_ZN2at4_ops10add_Tensor4callERKNS_6TensorES4_RKN3c106ScalarE"
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(not LIBRARY.exists(), reason="no libtorch_cpu.so")
def test_functions_lie_where_the_linker_says(tmp_path: Path) -> None:
    linked = ctypes.CDLL(str(LIBRARY))
    at = ctypes.cast(linked[ADD], ctypes.c_void_p).value or 0
    maps = Path("/proc/self/maps").read_text()
    for _ in range(2):  # read, then from the cache
        place = Symbols(maps, tmp_path).at(at + 3)
        assert (place.library, place.kind, place.start, place.mangled) == (LIBRARY.name, "function", at, ADD)
    assert sorted(one.suffixes for one in tmp_path.iterdir()) == [[".npy"], [".shared", ".npy"]]


@pytest.mark.skipif(not LIBRARY.exists() or shutil.which("nm") is None, reason="no libtorch_cpu.so, or no nm")
def test_all_names_of_an_address_are_known(tmp_path: Path) -> None:
    """As nm lists them: the linker keeps one copy of functions that are the same code."""
    library = LIBRARY.with_name("libc10.so")
    names: dict[int, set[str]] = {}
    for line in _text_symbols(library):
        start, _kind, name = line.split()
        names.setdefault(int(start, 16), set()).add(name)
    shared = {start: among for start, among in names.items() if len(among) > 1}
    assert len(shared) > 50
    for elf in (Elf(str(library), tmp_path), Elf(str(library), tmp_path)):
        for start, among in shared.items():
            function = elf.at(start)
            assert among <= {function.mangled, *function.others}, start


@pytest.mark.skipif(not LIBRARY.exists(), reason="no libtorch_cpu.so")
def test_a_damaged_cache_is_not_believed(tmp_path: Path) -> None:
    whole = Elf(str(LIBRARY), tmp_path)
    at = ctypes.cast(ctypes.CDLL(str(LIBRARY))[ADD], ctypes.c_void_p).value or 0
    region = next(one for one in regions(Path("/proc/self/maps").read_text()) if one.low <= at < one.high)
    address = whole.address_of(at - region.low + region.offset)
    for file in tmp_path.iterdir():
        file.write_bytes(file.read_bytes()[:1000])
    assert Elf(str(LIBRARY), tmp_path).at(address).mangled == ADD
    assert not whole.stripped


@pytest.mark.skipif(not LIBRARY.exists() or shutil.which("strip") is None, reason="no libtorch_cpu.so, or no strip")
def test_a_stripped_library_names_what_it_exports_and_nothing_else(tmp_path: Path) -> None:
    """No function gets the name of the exported one before it."""
    whole, copy = LIBRARY.with_name("libc10.so"), tmp_path / "libc10.so"
    subprocess.run(["strip", "-o", str(copy), str(whole)], check=True)
    plain, stripped = Elf(str(whole)), Elf(str(copy))
    assert (plain.stripped, stripped.stripped) == (False, True)
    starts = [int(line.split()[0], 16) for line in _text_symbols(whole)]
    found = [(start, stripped.at(start)) for start in starts]
    assert all(one.start == start for start, one in found if one.mangled)
    assert 100 < sum(bool(one.mangled) for _, one in found) < len(found) - 100
    assert all(plain.at(start).mangled for start in starts)


def _text_symbols(library: Path) -> list[str]:
    """What nm says: address, kind and name of every function that the library holds."""
    listed = subprocess.run(["nm", str(library)], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if line.split()[-2] in ("t", "T", "W") and not line.startswith(" ")]


# Two files with functions of one name that only each file sees, and others that a version script makes local.
FIRST = "namespace n { namespace { __attribute__((noinline)) int own(int a) { return a + 1; } }\n"
SECOND = "static __attribute__((noinline)) int still(int a) { return a * 3; }\n"
REST = "int VISIBLE(int a) { return own(a) + still(a); } int KEPT(int a) { return VISIBLE(a); } }\n"


@pytest.mark.skipif(shutil.which("g++") is None, reason="no compiler")
@pytest.mark.parametrize("linker", ["bfd", "gold"])
def test_a_local_symbol_is_of_the_file_whose_row_is_above_it(tmp_path: Path, linker: str) -> None:
    """But for what a version script made local: below whatever row that stands, it is of no file for certain."""
    if shutil.which(f"ld.{linker}") is None:
        pytest.skip(f"no {linker}")
    for number, unit in enumerate(("one.cpp", "two.cpp")):
        text = FIRST + SECOND + REST.replace("VISIBLE", f"visible{number}").replace("KEPT", f"kept{number}")
        (tmp_path / unit).write_text(text)
    (tmp_path / "script").write_text("{ global: *kept*; local: *; };")
    library = tmp_path / "made.so"
    flags = ["-O1", "-fPIC", "-shared", f"-fuse-ld={linker}", "-Wl,--version-script=script", "-o", str(library)]
    subprocess.run(["g++", *flags, "one.cpp", "two.cpp"], cwd=tmp_path, check=True)
    elf, units = Elf(str(library)), []
    for line in _text_symbols(library):
        function = elf.at(int(line.split()[0], 16))
        name = parse(demangle(function.mangled))
        unit = Linkage(function.mangled, function.unit, function.is_global).own_unit(name)
        if name.qualified.startswith("n::"):
            units.append((name.qualified, unit, function.is_global))
    assert sorted(units) == [
        ("n::kept0", "", True),
        ("n::kept1", "", True),
        ("n::own", "one.cpp", False),
        ("n::own", "two.cpp", False),
        ("n::still", "one.cpp", False),
        ("n::still", "two.cpp", False),
        ("n::visible0", "", False),
        ("n::visible1", "", False),
    ]


# Two pairs of functions of the same code, which GCC folds; a function that only calls another one, of another file.
FOLDED = """
struct S { char* data; int kept; };
extern "C" int puts(const char*);
#define BODY(at) { for (int n = 0; n < s->kept; n++) if (s->data[n] == at) puts(s->data + n); return puts(s->data); }
static int read_first(S* s, void*) BODY(1)
static int read_second(S* s, void*) BODY(1)
int seen_first(S* s, void*) BODY(2)
int seen_second(S* s, void*) BODY(2)
__attribute__((visibility("hidden"))) int far(S* s, void*);
static int only_calls(S* s, void* p) { return far(s, p); }
extern "C" { int (*table[])(S*, void*) = {read_first, read_second, only_calls, seen_first, seen_second}; }
"""
FAR = """
struct S { char* data; int kept; };
__attribute__((visibility("hidden"))) int far(S* s, void*) { return s->kept + 1; }
"""


@pytest.mark.skipif(shutil.which("g++") is None or shutil.which("objdump") is None, reason="no compiler, no objdump")
@pytest.mark.parametrize("flags", [(), ("-fcf-protection=full",)])
def test_what_only_jumps_to_a_function_is_known(tmp_path: Path, flags: tuple[str, ...]) -> None:
    """As objdump reads the code: the compiler folds functions that are the same code into one another."""
    (tmp_path / "one.cpp").write_text(FOLDED)
    (tmp_path / "two.cpp").write_text(FAR)
    library = tmp_path / "made.so"
    built = ["g++", "-O2", "-fno-inline", "-fPIC", "-shared", *flags, "-o", str(library), "one.cpp", "two.cpp"]
    subprocess.run(built, cwd=tmp_path, check=True)
    jumps = {target: name for name, target in _only_jumps(library).items()}
    if len(jumps) < 3:
        pytest.skip(f"this compiler folds nothing here: {jumps}")
    elf = Elf(str(library))
    starts = [int(line.split()[0], 16) for line in _text_symbols(library)]
    found = {function.mangled: function.jumpers for function in map(elf.at, starts) if function.jumpers}
    assert found == {target: (name,) for target, name in jumps.items()}


@pytest.mark.skipif(not LIBRARY.exists() or shutil.which("objdump") is None, reason="no torch, or no objdump")
def test_what_only_jumps_in_torchs_own_library_is_known() -> None:
    library = LIBRARY.with_name("libc10.so")
    elf, known = Elf(str(library)), set[str]()
    for line in _text_symbols(library):
        known |= set(elf.at(int(line.split()[0], 16)).jumpers)
    assert known == {name for name, target in _only_jumps(library).items() if not target.endswith("@plt")}


_PADDING = ("endbr64", "...", "nop", "nopw", "nopl", "xchg", "cs", "data16")


def _only_jumps(library: Path) -> dict[str, str]:
    """By function whose whole code is a jump to another one that function, as objdump says."""
    read = ["objdump", "-d", "--no-show-raw-insn", str(library)]
    listed = subprocess.run(read, capture_output=True, text=True, check=True).stdout
    found = {}
    for text in listed.split("\n\n"):
        head, *lines = text.strip().splitlines()
        code = [line.split("\t", 1)[1].split() for line in lines if "\t" in line]
        code = [words for words in code if words[0] not in _PADDING]
        name = head.partition("<")[2].rpartition(">")[0]
        if len(code) == 1 and code[0][0] == "jmp" and len(code[0]) == 3:
            found[name] = code[0][2].strip("<>")
    return {name: to for name, to in found.items() if "+" not in to and to != name and name != "frame_dummy"}


@pytest.mark.skipif(not LIBRARY.exists(), reason="no libtorch_cpu.so")
def test_a_variable_has_the_name_that_nm_says() -> None:
    listed = subprocess.run(["nm", "-D", str(LIBRARY)], capture_output=True, text=True, check=True).stdout
    stubs = [line.split() for line in listed.splitlines() if line.endswith(("9copy_stubE", "9fill_stubE"))]
    elf = Elf(str(LIBRARY))
    assert [elf.variable_at(int(address, 16)) for address, _, _ in stubs] == [name for _, _, name in stubs]
    assert {demangle(name) for _, _, name in stubs} >= {"at::native::fill_stub", "at::native::copy_stub"}
    assert elf.variable_at(int(stubs[0][0], 16) + 1) == "", "no variable begins there"


@pytest.mark.parametrize("content", [b"", b"hello", b"\x7fELF\x02\x01" + b"\xff" * 200])
def test_what_is_no_elf_file_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "x.so"
    file.write_bytes(content)
    with pytest.raises(NotElf):
        Elf(str(file))


def test_names_are_demangled() -> None:
    assert demangle("_ZN2at6native3addEv.cold") == "at::native::add()"
    assert demangle("PyObject_Call") == "PyObject_Call"
    assert demangle("_Znonsense!") == "_Znonsense!"


def test_only_what_can_run_is_a_region() -> None:
    maps = "1000-2000 r-xp 00000400 08:01 7 /a b.so\n2000-3000 rw-p 0 08:01 7 /a b.so\n5000-6000 r-xp 0 00:00 0\nbad\n"
    assert [(one.low, one.offset, one.path) for one in regions(maps)] == [(0x1000, 0x400, "/a b.so"), (0x5000, 0, "")]


class Made(Symbols):
    """Functions of 16 bytes each: f1 at 16, f2 at 32, …; the ninth is a slot that stands for what it jumps to."""

    def __init__(self) -> None:
        super().__init__("")

    def at(self, address: int) -> FunctionAddress:
        number = address // 16
        return FunctionAddress("made.so", "plt" if number == 9 else "function", number * 16, f"f{number}")


def rows(*made: tuple[int, int, int, int, int]) -> bytes:
    return b"".join(struct.pack("<8Q", *row, 7, 8, 9) for row in made)


def shape(data: bytes, total: int) -> str:
    def text_of(call: object) -> str:
        inner = ",".join(text_of(one) for one in call.calls)  # type: ignore[attr-defined]
        tail = "~" if call.tail else ""  # type: ignore[attr-defined]
        return f"{tail}{call.place.mangled}:{call.inclusive}/{call.own}" + (f"({inner})" if inner else "")  # type: ignore[attr-defined]

    return ",".join(text_of(one) for one in build(data, total, Made()).calls)


def test_calls_and_returns_nest() -> None:
    data = rows((16, 92, 4, 100, 1), (32, 84, 20, 92, 5), (22, 92, 40, 84, 9), (6, 100, 30, 92, 12))
    assert shape(data, 20) == "f1:11/7(f2:4/4)"


def test_what_a_call_returned_is_known_where_a_return_was_seen() -> None:
    """Of a return rax stands in the row (7 here); an exception and the end of the rows leave nothing."""
    data = rows((16, 92, 4, 100, 1), (32, 84, 20, 92, 5), (22, 92, 40, 84, 9), (6, 108, 30, 92, 12))
    (outer,) = build(data, 20, Made()).calls
    assert (outer.returned, outer.calls[0].returned) == (None, 7)


def test_a_jump_to_another_function_is_a_tail_call() -> None:
    data = rows((16, 92, 4, 100, 1), (32, 92, 20, 92, 5), (6, 100, 40, 92, 12))
    assert shape(data, 20) == "f1:11/4(~f2:7/7)"


def test_a_jump_inside_a_function_is_none() -> None:
    assert shape(rows((16, 92, 4, 100, 1), (28, 92, 17, 92, 5), (6, 100, 30, 92, 12)), 20) == "f1:11/11"


def test_a_slot_is_what_it_jumps_to() -> None:
    assert shape(rows((144, 92, 4, 100, 1), (32, 92, 145, 92, 2), (6, 100, 40, 92, 12)), 20) == "f2:11/11"


def test_an_exception_leaves_many_frames_at_once() -> None:
    data = rows(
        (16, 92, 4, 100, 1), (32, 84, 20, 92, 5), (48, 76, 36, 84, 7), (24, 92, 60, 76, 10), (6, 100, 30, 92, 12)
    )
    assert shape(data, 20) == "f1:11/6(f2:5/2(f3:3/3))"


def test_what_is_cut_ends_where_stepping_ended() -> None:
    assert shape(rows((16, 92, 4, 100, 1), (32, 84, 20, 92, 5)), 20) == "f1:19/4(f2:15/15)"


def test_the_landmarks_of_an_addition(tmp_path: Path) -> None:
    stepper = pytest.importorskip("ptexplore.probe.stepper")
    if stepper.why_not() is not None:
        pytest.skip(stepper.why_not())
    code = """
import base64, importlib, json, torch
S = importlib.import_module("ptexplore.probe.stepper")
torch.set_num_threads(1)
a, b = torch.randn(3, 3, requires_grad=True), torch.randn(3, 3)
for _ in range(3): torch.add(a, b)
_, steps = S.Stepper().step(torch.add, a, b)
print(json.dumps([base64.b64encode(steps.rows).decode(), steps.instructions, open("/proc/self/maps").read()]))
"""
    import base64

    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    packed, instructions, maps = json.loads(done.stdout)
    root = build(base64.b64decode(packed), instructions, Symbols(maps, tmp_path))
    names = [demangle(call.place.mangled) for _, call in root.walk()]
    landmarks = [
        "torch::autograd::THPVariable_add(",
        "at::_ops::add_Tensor::call(",
        "torch::autograd::VariableType::(anonymous namespace)::add_Tensor(",
        "at::_ops::add_Tensor::redispatch(",
        "at::(anonymous namespace)::wrapper_CPU_add_Tensor(",
        "at::meta::structured_add_Tensor::meta(",
        "at::TensorIteratorBase::build(",
        "at::native::structured_ufunc_add_CPU::impl(",
        "at::native::(anonymous namespace)::add_kernel(",
    ]
    found = [next(n for n, name in enumerate(names) if name.startswith(one)) for one in landmarks]
    assert found == sorted(found)
    assert all(call.own >= 0 for _, call in root.walk())
    assert root.inclusive == instructions
