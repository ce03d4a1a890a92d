"""Which line of C++ threw, noted while the program runs: for code that runs only once, without changing what it does.

One constructor makes every error of torch's C++ that knows its line: c10::Error::Error(SourceLocation, string). Each
library calls this constructor through an entry of its jump table (ELF: DT_JMPREL). While the log is on, these entries
lead to a few instructions of ours first (probe/machine_code.py). They note the place, the text and the C++ stack. The
errors themselves do not change, and without an error none of these instructions run. x86-64 Linux with glibc.

The notes are in memory that forks share, so that a worker process of a DataLoader can add its own notes.
"""

from __future__ import annotations

import collections
import ctypes
import mmap
import os
import platform
import re
import struct
import sys
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from . import machine_code as code
from .reasons import Said, reason
from .unshared import shared_with_forks

if TYPE_CHECKING:
    from .messages import SentThrowData

RECORDER: Final = "thrown"
MAKES_ERRORS = "_ZN3c105ErrorC{}ENS_14SourceLocationE"  # C1 and C2 (for an object, for a base class) are one function
STRINGS = (
    "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
    "Ss",
)  # std::string in the ABI since GCC 5, and in the one before
STRTAB, SYMTAB, STRSZ, PLTRELSZ, JMPREL = 5, 6, 10, 2, 23  # tags of the dynamic section (elf.h)
RELOCATION, SYMBOL = 6, 6  # sizes in 32-bit words
WRITABLE = mmap.PROT_READ | mmap.PROT_WRITE
OWN_FRAMES = 1  # frames of the note itself
LENGTH = 4  # which word of a note is the length of its text
# Names of types differ in Python (processErrorMsg of torch/csrc/Exceptions.cpp).
_TYPES = rb"(Sparse)?(CUDA|CPU)(Byte|Char|Double|Float|Int|Long|Short|Half)Type"
TYPES = re.compile(rb"Variable\[%b\]|%b" % (_TYPES, _TYPES))
TEXT_LIMIT = 200_000  # characters of a stack
INTERPRETED = "The following operation failed in the TorchScript interpreter."  # the error's own text follows


class NoNotes(Exception):
    """Errors cannot be noted here; `reason` says why."""

    def __init__(self, reason: Said) -> None:
        super().__init__(reason["code"])
        self.reason = reason


class _Library(ctypes.Structure):
    """The beginning of glibc's struct link_map (link.h)."""


_Library._fields_ = (
    ("bias", ctypes.c_size_t),
    ("name", ctypes.c_char_p),
    ("dynamic", ctypes.c_void_p),
    ("next", ctypes.POINTER(_Library)),
)


class _Address(ctypes.Structure):
    """The result of dladdr1 for an address (dlfcn.h: Dl_info)."""

    _fields_ = (
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("at", ctypes.c_void_p),
    )


@dataclass(frozen=True)
class Note:
    """An error that C++ made: its text (if long, its beginning and the full length), its place, and the stack."""

    number: int
    process: int
    words: bytes
    length: int
    function: str
    file: str
    line: int
    stack: tuple[int, ...]
    time: int  # nanoseconds, by the system's clock

    @property
    def is_whole(self) -> bool:
        return self.length == len(self.words)

    @property
    def in_python(self) -> bytes:
        """Return the text as Python shows it."""
        return TYPES.sub(_python_type, self.words)

    def says(self, text: bytes) -> bool:
        """Return whether the whole text of an error is the text of this one."""
        words = self.in_python
        if self.is_whole:
            return text == words
        return len(text) >= len(words) and text.startswith(TYPES.sub(_python_type, self.words[:-LONGEST_TYPE]))


LONGEST_TYPE = 40  # bytes: a cut text may end within the name of a type


def _python_type(named: re.Match[bytes]) -> bytes:
    sparse, backend, kind = (part or b"" for part in (named.groups()[:3] if named[2] else named.groups()[3:]))
    return b"torch.%b%b%bTensor" % (b"cuda." if backend == b"CUDA" else b"", b"sparse." if sparse else b"", kind)


class JumpTables:
    """Entries in the jump tables of all libraries that lead to code of ours first, between `on` and `off`.

    `hooks` has the watched functions by their names in the tables, each with the address of our code for it.
    """

    skipped: tuple[bytes, ...] = ()  # libraries whose calls are not watched, by the beginning of the name

    def __init__(self) -> None:
        if sys.platform != "linux" or platform.machine() != "x86_64" or sys.maxsize < 1 << 32:
            raise NoNotes(reason("no-notes-on-machine", machine=platform.machine(), system=sys.platform))
        try:
            self._process = ctypes.CDLL(None, use_errno=True)
            backtrace, unwinder = self._process.backtrace, ctypes.CDLL("libgcc_s.so.1")
            self._register, self._deregister = unwinder["__register_frame"], unwinder["__deregister_frame"]
            self._dladdr1, self._mprotect = self._process.dladdr1, self._process.mprotect
            self._notes = shared_with_forks(code.NOTE * (code.NOTES + 1))
            self._code = mmap.mmap(-1, mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except (OSError, AttributeError, ValueError) as error:
            raise NoNotes(reason("notes-refused", error=str(error))) from error
        backtrace(ctypes.byref((ctypes.c_void_p * 1)()), 1)  # the first call loads libgcc
        self._begin = ctypes.addressof(ctypes.c_char.from_buffer(self._notes))
        # The changed entries, their earlier targets, and whether their pages are read-only.
        self._put: list[tuple[int, int, bool]] = []
        self._registered = False
        self._since = 0
        self._known: dict[tuple[bytes, int], list[tuple[int, bytes]]] = {}  # by library: its entries, with the names
        self._hooks: dict[bytes, int] = {}
        self._unwinding: list[int] = []
        placed: dict[str, int] = {}
        for name, program in self._programs(address_of(backtrace)).items():
            placed[program] = placed.get(program) or self._place(program)
            self._hooks[name] = placed[program]
        begin = ctypes.addressof(ctypes.c_char.from_buffer(self._code))
        if self._mprotect(ctypes.c_void_p(begin), mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_EXEC):
            raise NoNotes(reason("notes-unexecutable"))

    def _written(self) -> Iterator[tuple[int, tuple[int, ...], bytes, tuple[int, ...]]]:
        """Yield the notes since the log is on, in order: number, seven words, the text, and the places of the stack."""
        count = self._count()
        for number in range(max(self._since, count - code.NOTES), count):
            begin = code.NOTE * (1 + number % code.NOTES)
            data = self._notes[begin : begin + code.NOTE]
            done, *words, depth = struct.unpack_from("<9Q", data)
            if done == number + 1:
                stack = struct.unpack_from(f"<{min(depth & 0xFFFFFFFF, code.NOTED_DEPTH)}Q", data, code.N_STACK)
                text = data[code.N_WORDS : code.N_WORDS + min(words[LENGTH], code.NOTED_WORDS)]
                yield number, tuple(words), text, stack[OWN_FRAMES:]

    def _programs(self, backtrace: int) -> dict[bytes, str]:
        """Return the code that runs first, by function name. Raises NoNotes if this torch or Python lacks them."""
        raise NotImplementedError

    def on(self) -> None:
        """Note errors from here on."""
        self._since = self._count()
        if not self._registered:
            for unwinding in self._unwinding:
                self._register(ctypes.c_void_p(unwinding))
            self._registered = True
        try:
            writable = _writable_spans()
        except OSError as error:
            raise NoNotes(reason("notes-refused", error=str(error))) from error
        for entry, name in self._entries():
            before, hook = ctypes.c_uint64.from_address(entry).value, self._hooks[name]
            if before != hook:
                is_locked = bisect_right(writable, entry) % 2 == 0
                self._put.append((entry, before, is_locked))  # listed first: putting it back early does no harm
                if not self._set(entry, hook, is_locked=is_locked):
                    self._put.pop()

    def off(self) -> None:
        """Stop noting errors, and put back every entry."""
        while self._put:
            entry, before, is_locked = self._put[-1]
            self._set(entry, before, is_locked=is_locked)
            self._put.pop()
        if self._registered:
            self._registered = False
            for unwinding in self._unwinding:
                self._deregister(ctypes.c_void_p(unwinding))

    def _count(self) -> int:
        return int(ctypes.c_uint64.from_address(self._begin).value)

    def _frames_of(self, stack: Sequence[int]) -> Iterator[tuple[str, int]]:
        """Yield for each return address its library, and the address in the library of the byte before."""
        for address in stack:
            place, library = _Address(), ctypes.POINTER(_Library)()
            is_known = self._dladdr1(ctypes.c_void_p(address - 1), ctypes.byref(place), ctypes.byref(library), 2)
            if is_known and bool(library) and library.contents.name:
                yield os.fsdecode(library.contents.name), address - 1 - library.contents.bias

    # --- the jump tables ---

    def _libraries(self) -> Iterator[Any]:
        library = ctypes.cast(self._process._handle, ctypes.POINTER(_Library))
        while bool(library):
            yield library.contents
            library = library.contents.next

    def _entries(self) -> Iterator[tuple[int, bytes]]:
        """Yield the addresses of all jump table entries that lead to watched functions, each with its name."""
        for library in self._libraries():
            if os.path.basename(library.name or b"").startswith(self.skipped or (b"\0",)):
                continue
            key = library.name, library.bias
            if key not in self._known:
                self._known[key] = list(self._entries_of(library))
            yield from self._known[key]

    def _entries_of(self, library: Any) -> Iterator[tuple[int, bytes]]:
        table = dict(_dynamic(library))
        if JMPREL not in table or not table.keys() >= {STRTAB, SYMTAB, STRSZ, PLTRELSZ}:
            return
        names = _memory(table[STRTAB], table[STRSZ])
        pattern = re.compile(b"(" + b"|".join(map(re.escape, self._hooks)) + rb")\0")
        wanted = {name.start(): name[1] for name in pattern.finditer(names)}
        if not wanted:
            return
        words = _memory(table[JMPREL], table[PLTRELSZ]).cast("I")
        symbols = words[3::RELOCATION].tolist()
        known = _memory(table[SYMTAB], 4 * SYMBOL * (max(symbols, default=0) + 1))
        named = re.compile(b"(?=" + b"|".join(re.escape(struct.pack("<I", name)) for name in wanted) + b")")
        ours = {
            at.start() // (4 * SYMBOL): wanted[struct.unpack_from("<I", known, at.start())[0]]
            for at in named.finditer(known)
            if at.start() % (4 * SYMBOL) == 0
        }
        for number in (number for number, symbol in enumerate(symbols) if symbol in ours):
            low, high = words[number * RELOCATION], words[number * RELOCATION + 1]
            yield library.bias + (low | high << 32), ours[symbols[number]]

    def _set(self, entry: int, target: int, *, is_locked: bool) -> bool:
        """Change the target of an entry, even if its page is read-only; return whether that was possible."""
        page = entry & -mmap.PAGESIZE
        if is_locked and self._mprotect(ctypes.c_void_p(page), mmap.PAGESIZE, WRITABLE):
            return False
        ctypes.c_uint64.from_address(entry).value = target
        if is_locked:
            self._mprotect(ctypes.c_void_p(page), mmap.PAGESIZE, mmap.PROT_READ)
        return True

    def _place(self, program: str) -> int:
        """Put code and its unwind information into memory that becomes executable; return its address."""
        begin = ctypes.addressof(ctypes.c_char.from_buffer(self._code)) + self._code.tell()
        note = code.assemble(program)[0]
        try:
            self._code.write(note + bytes(-len(note) % 8))
            self._unwinding.append(begin + len(note) + -len(note) % 8)
            unwinding = code.unwinding(begin, len(note))
            self._code.write(unwinding + bytes(-len(unwinding) % 8))
        except ValueError as error:
            raise NoNotes(reason("notes-do-not-fit")) from error
        return begin


class ThrowLog(JumpTables):
    """The notes about c10::Error, made once in a process. `on` and `off` set and put back entries of jump tables."""

    _made: ThrowLog | None = None

    @classmethod
    def where_possible(cls) -> ThrowLog | None:
        """Return the log of this process; None if errors cannot be noted."""
        with suppress(NoNotes):
            return cls.of_this_process()
        return None

    def prepare(self) -> None:
        """Find the entries now, which takes a while: later forks then know them."""
        collections.deque(self._entries(), maxlen=0)

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Note errors inside this block, if that is possible."""
        try:
            with suppress(NoNotes):
                self.on()
            yield
        finally:
            self.off()

    @classmethod
    def of_this_process(cls) -> ThrowLog:
        """Return the log of this process. Raises NoNotes if errors cannot be noted."""
        if cls._made is None:
            cls._made = cls()
        return cls._made

    def _programs(self, backtrace: int) -> dict[bytes, str]:
        name, constructor, counted = self._constructor()
        note = code.error_note(self._begin, constructor, backtrace, counted_strings=counted)
        return {name.format(number).encode(): note for number in (1, 2)}

    def caught(self, ended: str | None) -> list[Note]:
        """Return the errors that this process made since the log is on, without the last one with the text `ended`.

        `ended` is the text of the error that ended the evaluation.
        """
        notes = [note for note in self._notes_made() if note.process == os.getpid()]
        encoded = ended.encode("utf-8", "surrogateescape") if ended is not None else None
        last = next((note for note in reversed(notes) if encoded is not None and note.says(encoded)), None)
        return [note for note in notes if note is not last]

    def data_of(self, text: str) -> SentThrowData | None:
        """Return where an error with this text was thrown, as data of an observation.

        The place is the place of the last error that C++ made with this text. Another process of the program may have
        thrown the error; torch's loader then passes it on in a longer text. Such an error has no stack, because it left
        functions of the other process. Returns None if no note fits.
        """
        encoded = text.encode("utf-8", "surrogateescape")
        notes, own = list(self._notes_made()), os.getpid()
        note = next((note for note in reversed(notes) if note.process == own and note.says(encoded)), None)
        if note is None and text.startswith(INTERPRETED):
            own_notes = (note for note in reversed(notes) if note.process == own and note.is_whole)
            note = next((note for note in own_notes if encoded.rstrip().endswith(b": " + note.in_python)), None)
        if note is None:
            others = (note for note in reversed(notes) if note.process != own and note.is_whole)
            note = next((note for note in others if b": %b\n" % note.in_python in encoded + b"\n"), None)
        if note is None:
            return None
        frames = enumerate(self._frames_of(note.stack) if note.process == own else ())
        stack = "".join(f"#{number} ?? from {library}:{address}\n" for number, (library, address) in frames)
        place = f"Exception raised from {note.function} at {note.file}:{note.line} (most recent call first):\n"
        return {"text": f"{text}\n{place}{stack}"[:TEXT_LIMIT], "elsewhere": note.process != own}

    def _constructor(self) -> tuple[str, int, bool]:
        """Return the constructor's symbol with a hole, its address, and whether strings are of the older ABI."""
        core = next(
            (lib.name for lib in self._libraries() if os.path.basename(lib.name).startswith(b"libc10.so")), None
        )
        opened = ctypes.CDLL(os.fsdecode(core)) if core is not None else None
        for counted, string in enumerate(STRINGS):
            function = getattr(opened, (MAKES_ERRORS + string).format(2), None)
            if function is not None:
                return MAKES_ERRORS + string, address_of(function), bool(counted)
        raise NoNotes(reason("errors-made-otherwise"))

    def _notes_made(self) -> Iterator[Note]:
        """Yield the notes since the log is on, in order."""
        for number, (function, file, line, process, length, *time), words, stack in self._written():
            place = _text_at(function), _text_at(file), line & 0xFFFFFFFF
            yield Note(number, process, words, length, *place, stack, time[0] * 10**9 + time[1])


def address_of(function: Any) -> int:
    """Return the address of a function that ctypes found."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _text_at(address: int) -> str:
    return ctypes.string_at(address).decode("utf-8", "replace")


def _dynamic(library: Any) -> Iterator[tuple[int, int]]:
    """Yield the entries of a library's dynamic section. An address is converted to an address in memory."""
    place = library.dynamic
    while place:
        tag, value = struct.unpack("<qQ", ctypes.string_at(place, 16))
        if tag == 0:
            return
        is_address = tag in (STRTAB, SYMTAB, JMPREL)
        yield tag, value + library.bias if is_address and value < library.bias else value
        place += 16


def _memory(address: int, size: int) -> memoryview:
    return memoryview((ctypes.c_char * size).from_address(address)).cast("B")


def _writable_spans() -> list[int]:
    """Return the writable spans of this process's memory: begins and ends in turn, in order."""
    spans: list[int] = []
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as lines:
        for line in lines:
            span, rights = line.split(None, 2)[:2]
            if "w" in rights:
                spans += (int(part, 16) for part in span.split("-"))
    return spans
