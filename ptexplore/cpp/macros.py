"""The macros of a source tree: their definitions, which of them are attributes, and which have changed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import lru_cache
from typing import NamedTuple

from ptexplore.cpp.text import LITERAL, Directive, Text, words
from ptexplore.lazy import lazy

LARGEST_HEADER = 5_000_000  # characters; the largest header of PyTorch has 2 MB
_DEEPEST = 50  # nested brackets in the body of a macro
HEADERS = (".h", ".hpp", ".hh", ".cuh", ".inl", ".inc", ".hxx")
_DEFINE = re.compile(r"[ \t]*([A-Za-z_]\w*)(?:\(([^()]*)\))?")
_WORD = re.compile(r"[A-Za-z_]\w*")
_BLANKS_OR_LITERAL = re.compile(rf"({LITERAL})|\s+")
# Macros of compilers and of CUDA, and words that may be part of an attribute.
_ATTRIBUTE_WORDS = words(
    """__attribute__ __declspec __device__ __host__ __global__ __forceinline__ __noinline__ __forceinline __inline__
    __inline inline static extern const constexpr virtual __restrict__ __restrict __launch_bounds__ __shared__
    __constant__ __cdecl __stdcall _Pragma __pragma alignas noexcept __extension__ _Noreturn __volatile__ __managed__"""
)
_FIXED = words(
    """__device__ __host__ __global__ __forceinline__ __noinline__ __inline__ __inline __restrict__ __restrict
    __shared__ __constant__ __extension__ __cdecl __stdcall __ubsan_ignore_undefined__ __managed__ XNN_RESTRICT RESTRICT
    __attribute__ __declspec __launch_bounds__ _Pragma __pragma alignas PYBIND11_EXPORT PYBIND11_NOINLINE
    PYBIND11_DEPRECATED GTEST_API_ PyObject_HEAD PyObject_VAR_HEAD Py_BEGIN_ALLOW_THREADS Py_END_ALLOW_THREADS
    PRIu8 PRIi8 PRId8 PRIu16 PRId16 PRIu32 PRId32 PRIu64 PRId64 PRIx32 PRIx64 PRIX64 PRIuPTR PRIxPTR
    CUTLASS_DEVICE CUTLASS_HOST_DEVICE CUTLASS_GLOBAL CUTLASS_HOST CUTE_DEVICE CUTE_HOST_DEVICE CUTE_HOST
    NS_ASSUME_NONNULL_BEGIN NS_ASSUME_NONNULL_END API_AVAILABLE __align__ CUDAAPI VKAPI_ATTR VKAPI_CALL
    SYCL_EXTERNAL C10_HIP_API FLATBUFFERS_FINAL_CLASS"""
)
_UNLIKELY = re.compile(
    r"(?<![!\w])(?<!!\()defined\(\s*(?:_MSC_VER|_WIN32|_WIN64|__APPLE__|__ANDROID__|__HIP\w*|USE_ROCM|__CUDA_ARCH__|__SYCL\w*|"
    r"C10_USE_GFLAGS|C10_USE_GLOG|__CUDACC__|__HIPCC__|C10_MOBILE|BUILD_LITE_INTERPRETER|__OBJC__|DOXYGEN\w*|__clang_analyzer__)\s*\)(?!\s*\|\|)"
    r"|!\(?defined\(\s*(?:__GNUC__|__GNUG__|__linux__|__x86_64__)\s*\)|(?<![!\w])_MSC_VER"
)

_MAY_DEFINE = re.compile(r"define(?<=[#/ \t]define)(?![a-z_])")  # most headers only test whether a macro is defined


class Define(NamedTuple):
    """One `#define`. `parameters` is None for an object-like macro; `body` is on one line, without comments.

    `offset` is the offset of the name in the file. `likely` is False if the `#if`s around it ask for another platform
    than Linux on x86-64. Among several definitions of one name, a likely one is expanded first.
    """

    name: str
    parameters: tuple[str, ...] | None
    body: str
    offset: int
    likely: bool = True


def defines(text: Text) -> list[Define]:
    """Returns every `#define` of one file, in order."""
    made = []
    for directive in text.directives:
        if directive.word != "define":
            continue
        start = directive.end - len(directive.rest)
        match = _DEFINE.match(text.raw, start, directive.end)
        if match is None:
            continue
        given = match[2]
        parameters = None if given is None else tuple(parameter for parameter in _split(given) if parameter)
        body = _one_line(text.code_between(match.end(), directive.end))
        made.append(Define(match[1], parameters, body, match.start(1), _is_likely(text, directive)))
    return made


def _one_line(body: str) -> str:
    """Joins the continued lines of a body, with single blanks outside literals."""
    body = body.replace("\\\n", "")
    if '"' not in body and "'" not in body:
        return " ".join(body.split())
    return _BLANKS_OR_LITERAL.sub(lambda match: match[1] or " ", body).strip()


def _is_likely(text: Text, directive: Directive) -> bool:
    """Whether the `#if`s around a directive can be true in a Linux build for x86-64."""
    return not any(map(_asks_for_another, text.guards(text.line(directive.start))))


@lru_cache(1 << 14)
def _asks_for_another(guard: str) -> bool:
    """Whether a condition asks for another platform. It is called for each definition inside the condition."""
    return _UNLIKELY.search(guard) is not None


def _split(given: str) -> list[str]:
    return [" ".join(parameter.replace("\\\n", " ").split()) for parameter in given.split(",")]


class FileMacros:
    """The macros of one file: its own `#define` and `#undef` lines come first, then the headers."""

    def __init__(self, text: Text, table: MacroTable | None = None) -> None:
        self.text = text
        self.table = table if table is not None else MacroTable({})

    @lazy
    def own(self) -> dict[str, list[Define]]:
        """The definitions of the file itself, by name."""
        by_name: dict[str, list[Define]] = {}
        for define in defines(self.text):
            by_name.setdefault(define.name, []).append(define)
        return by_name

    @lazy
    def _undefined(self) -> dict[str, list[int]]:
        """The offsets where the file undefines a macro, unless that is for another platform."""
        by_name: dict[str, list[int]] = {}
        for directive in self.text.directives:
            if directive.word == "undef" and _is_likely(self.text, directive):
                by_name.setdefault(directive.rest.strip(), []).append(directive.start)
        return by_name

    @property
    def known(self) -> tuple[Set[str], Set[str]]:
        """The names that may be macros in this file: names from the headers, and its own."""
        return self.table.names, self.own.keys()

    def definitions(self, name: str, at: int) -> Sequence[Define]:
        """Returns the definitions of a name in force at an offset: one for each arm of an `#if`.

        They are in the order of MacroTable.get. Empty if the name is no macro there.
        """
        own, undefined = self.own.get(name, ()), self._undefined.get(name, ())
        if not own and not undefined:
            return self.table.get(name)
        taken_back = max((offset for offset in undefined if offset < at), default=-1)
        before = [define for define in own if taken_back < define.offset < at]
        if before:
            return sorted(before, key=_rank)
        return () if taken_back >= 0 else self.table.get(name)

    def definition(self, name: str, at: int) -> Define | None:
        """Returns the definition to expand a name with at an offset: the first of `definitions`."""
        return next(iter(self.definitions(name, at)), None)


def _rank(define: Define) -> tuple[bool, bool]:
    """Sorts definitions of one name: the likely ones first, and among these the ones with a body first."""
    return not define.likely, not define.body


# The macros of GoogleTest, whose headers are in no tree.
_ELSEWHERE = {
    name: (Define(name, ("suite", "name"), "void suite##_##name##_Test::TestBody()", 0),)
    for name in ("TEST", "TEST_F", "TEST_P", "TYPED_TEST", "TYPED_TEST_P")
}


class MacroTable:
    """The macros that headers define, by name. If a name has several definitions (in `#if` arms), all are kept.

    It can be pickled; an index stores the result of `as_text`.
    """

    def __init__(self, by_name: dict[str, tuple[Define, ...]]) -> None:
        self.by_name = by_name

    @classmethod
    def from_text(cls, text: str) -> MacroTable:
        """Reads the table that `as_text` wrote."""
        return cls(
            {
                name: tuple(
                    Define(name, None if given is None else tuple(given), *rest) for given, *rest in definitions
                )
                for name, definitions in json.loads(text).items()
            }
        )

    def as_text(self) -> str:
        """Returns the table as JSON."""
        return json.dumps({name: [define[1:] for define in definitions] for name, definitions in self.by_name.items()})

    def changed_since(self, before: MacroTable) -> set[str]:
        """Returns the macros whose meaning changed, by their own definitions or through macros that these name."""
        names = {
            name
            for name in before.by_name.keys() | self.by_name.keys()
            if [*map(_meaning, before.get(name))] != [*map(_meaning, self.get(name))]
        }
        users: dict[str, set[str]] = {}
        for name, definitions in self.by_name.items() if names else ():
            for word in {word for define in definitions for word in _WORD.findall(define.body)}:
                users.setdefault(word, set()).add(name)
        waiting = list(names)
        while waiting:
            more = users.get(waiting.pop(), set()) - names
            names |= more
            waiting += more
        return names

    def get(self, name: str) -> tuple[Define, ...]:
        """Returns the definitions of a name in the order of `_rank`. Empty if no header defines it."""
        return self.by_name.get(name) or _ELSEWHERE.get(name) or ()

    @lazy
    def names(self) -> frozenset[str]:
        """All macros of the table, and the attributes of compilers."""
        return self.attributes | self.by_name.keys() | _ELSEWHERE.keys()

    @lazy
    def encoded(self) -> frozenset[bytes]:
        """`names` as bytes."""
        return frozenset(name.encode("ascii", "replace") for name in self.names)

    @lazy
    def attributes(self) -> frozenset[str]:
        """The macros that are only attributes, specifiers or pragmas, and those of compilers."""
        return attributes(self.by_name, _FIXED)


def attributes(by_name: Mapping[str, Sequence[Define]], known: frozenset[str]) -> frozenset[str]:
    """Returns `known`, and the macros of `by_name` whose definitions are all empty or made of attributes."""
    learnt = set(known)
    # the words that a macro depends on: it is an attribute when none of these is left
    lacking: dict[str, set[str]] = {}
    users: dict[str, list[str]] = {}
    for name, definitions in by_name.items():
        asked = [_hangs_on(define) for define in definitions] if name not in learnt else [None]
        if None not in asked:
            lacking[name] = set[str]().union(*filter(None, asked)) - learnt
            for word in lacking[name]:
                users.setdefault(word, []).append(name)
    ready = [name for name, words in lacking.items() if not words]
    while ready:
        name = ready.pop()
        learnt.add(name)
        for user in users.get(name, ()):
            lacking[user].discard(name)
            if not lacking[user]:
                ready.append(user)
    return frozenset(learnt)


def _hangs_on(define: Define) -> set[str] | None:
    """Returns the words that must be attributes for this macro to be one.

    These are the words outside brackets that are not attributes by themselves. None if the macro cannot be an
    attribute.
    """
    if not define.body:
        return set()
    body = re.sub(r"\[\[[^\[\]]*\]\]", " inline ", define.body)
    for _ in range(_DEEPEST):
        before, body = body, re.sub(r"\([^()]*\)", " ", body)
        if body == before:
            words = set(body.split())
            return words - _ATTRIBUTE_WORDS if words else None
    return None


def collect(files: Iterable[tuple[str, str]]) -> MacroTable:
    """Makes the table of a tree from (canonical path, raw text) of its C++ files.

    Only macros of headers are included.
    """
    return table_of(by_header(files).values())


def by_header(files: Iterable[tuple[str, str]]) -> dict[str, list[Define]]:
    """Returns the definitions of each header among (canonical path, raw text), by path.

    Headers without definitions, and those longer than LARGEST_HEADER characters, are left out.
    """
    return {
        path: defines(Text(path, raw))
        for path, raw in files
        if path.endswith(HEADERS) and len(raw) <= LARGEST_HEADER and _MAY_DEFINE.search(raw)
    }


def table_of(headers: Iterable[Sequence[Define]]) -> MacroTable:
    """Makes the table of a tree from the definitions of its headers, in the order of their paths."""
    by_name: dict[str, list[Define]] = {}
    seen: set[tuple[str, tuple[str, ...] | None, str]] = set()
    for definitions in headers:
        for define in definitions:
            if define[:3] not in seen:
                seen.add(define[:3])
                by_name.setdefault(define.name, []).append(define)
    # An include guard has an empty body and is used only in directives, so it only takes space.
    return MacroTable(
        {
            name: tuple(sorted(known, key=_rank))
            for name, known in sorted(by_name.items())
            if not (
                name.lower().endswith(("_h", "_h_", "_hpp", "_inc", "_once"))
                and not any(before.body for before in known)
            )
        }
    )


def _meaning(define: Define) -> tuple[object, ...]:
    """Returns a definition without its offset."""
    return define._replace(offset=0)
