"""Small C++ texts read with the macros of a small header: what the tests of the extractor share."""

from __future__ import annotations

from ptexplore.cpp.macros import collect
from ptexplore.index.cpp.extract import extract
from ptexplore.model.symbols import Ref, Symbol

HEADER = """
#define MINI_API __attribute__((visibility("default")))
#define MINI_INLINE MINI_API inline
#define MINI_BOUNDS(x) __launch_bounds__((x), (1))
#define MINI_IMPL_FUNC(name) void structured_##name::impl
#define MINI_CAT_(a, b) a##b
#define MINI_CAT(a, b) MINI_CAT_(a, b)
#define MINI_BLOCK(ns, m) \\
  static void MINI_CAT(init_, ns)(Library&); \\
  void MINI_CAT(init_, ns)(Library& m)
#define MINI_FORALL(_) _(int, Int) _(float, Float)
#define MINI_ARG(T, name) \\
 public: \\
  auto name(const T& v) -> decltype(*this) { this->name##_ = v; return *this; } \\
 private: \\
  T name##_
#define MINI_CHECK(x, ...) if (!(x)) { fail(__VA_ARGS__); }
#define MINI_REGISTRY(Name, ...) Registry<int, ##__VA_ARGS__>* Name() { return nullptr; }
"""
MACROS = collect([("mini/macros.h", HEADER)])


def symbols(text: str, path: str = "mini/a.cpp") -> list[Symbol]:
    return extract(path, text, MACROS)[0]


def refs(text: str, kind: str) -> list[Ref]:
    path = "mini/a.cpp"
    by_key = extract(path, text, MACROS)[1]
    return [Ref(path, line, *key) for key, lines in by_key.items() for line in lines if key[2] == kind]


def functions(text: str, role: str = "definition") -> list[tuple[str, int]]:
    return [(one.qualified, one.line) for one in symbols(text) if one.kind == "function" and one.role == role]


def only(text: str) -> Symbol:
    found = [one for one in symbols(text) if one.kind == "function"]
    assert len(found) == 1, found
    return found[0]
