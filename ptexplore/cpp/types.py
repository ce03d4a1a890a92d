"""C++ types as text: the types of a parameter list, and a common spelling for types from source and binary."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from ptexplore.cpp.brackets import closing_of, split
from ptexplore.cpp.names import TIGHT, one_line
from ptexplore.cpp.text import words

CONDITIONAL = "#if "
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(if|ifdef|ifndef|else|elif|endif)\b.*$", re.MULTILINE)
_OPENS, _CLOSES = "\x01", "\x02"
_BEFORE_WORD = re.compile(r"([>&*])(?=[A-Za-z_])")
_GLOBAL = re.compile(r"\b(const|volatile|typename|class|struct|enum|union)::")  # a name from the global scope
_INNER_NAME = re.compile(r"\(\s*((?:[\w:]+::)?[*&^]+)\s*(?:const\s*)?[A-Za-z_]\w*\s*((?:\[[^\]]*\])?)\s*\)")
_WORD_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
BUILTIN = words(
    """void bool char short int long float double signed unsigned wchar_t char16_t char32_t char8_t auto const volatile
    struct class enum union typename mutable register constexpr __int128"""
)
_QUALIFIERS = words("const volatile struct class enum union typename register mutable")
# Type aliases of the standard library on x86-64 Linux, of c10 and of torch/csrc: the name in the source -> the type.
ALIASES = {
    "int64_t": "long", "uint64_t": "unsigned long", "size_t": "unsigned long", "int32_t": "int", "int16_t": "short",
    "uint32_t": "unsigned int", "uint8_t": "unsigned char", "int8_t": "signed char", "DeviceIndex": "signed char",
    "Py_ssize_t": "long", "PyObject": "_object", "PyTypeObject": "_typeobject", "ssize_t": "long",
    "IntArrayRef": "ArrayRef<long>", "SymIntArrayRef": "ArrayRef<SymInt>", "TensorList": "ArrayRef<Tensor>",
    "ITensorListRef": "IListRef<Tensor>", "DimnameList": "ArrayRef<Dimname>", "DimVector": "SmallVector<long,5u>",
    "OptionalIntArrayRef": "OptionalArrayRef<long>", "OptionalSymIntArrayRef": "OptionalArrayRef<SymInt>",
    "SymDimVector": "SmallVector<SymInt,5u>", "SparseTensor": "Tensor", "SparseCsrTensor": "Tensor",
    "MaterializedITensorListRef": "vector<reference_wrapper<Tensor const>>",
    "Variable": "Tensor", "variable_list": "vector<Tensor>", "tensor_list": "vector<Tensor>",
    "edge_list": "vector<Edge>",
    "loop_t": "function_ref<void(char**,long const*,long)>",
    "loop2d_t": "function_ref<void(char**,long const*,long,long)>",
    "Stack": "vector<IValue>", "string_view": "basic_string_view<char>",
}  # fmt: skip
_ALIAS = re.compile(rf"\b(?:{'|'.join(ALIASES)})\b")
_SYMBOLIC = re.compile(r"\bSymInt\b")
_STRING = re.compile(r"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >")
_DEFAULTED = re.compile(
    r",\s*(?:(?:std::)?(?:allocator|default_delete|char_traits|less|hash|equal_to)"
    r"|c10::detail::intrusive_target_default_null_type)<"
)
_QUALIFIER = re.compile(r"(?:\b\w+|\(anonymous namespace\))?::(?=\w)")
_WRITTEN_QUALIFIER = re.compile(r"(?:[^\W\d]\w*)?::\s*")
_WORDS = re.compile(r"\b(?:class|struct|typename|enum)\s")
_SIGNS = re.compile(r"\s*([&*<>,()])\s*")
# a demangled type has the const behind the type
_INNER_CONST = re.compile(r"(?<=[<(,])const (\w+(?: \w+)*)(?=[&*,>)])")


@lru_cache(maxsize=65536)
def parameter_types(listed: str) -> tuple[str, ...]:
    """Returns the types of a parameter list, which is given with its brackets. () for (void).

    If an `#if` inside the list may omit a type, the type begins with CONDITIONAL.
    """
    inside = one_line(_DIRECTIVE.sub(_mark, listed) if "#" in listed else listed)[1:-1].strip()
    if not inside or inside == "void":
        return ()
    return tuple(_conditional_types(inside) if _OPENS in inside else (_type(p) for p in split(inside)))


def _mark(directive: re.Match[str]) -> str:
    """Returns a mark for a directive: the beginning or end of an arm of an `#if`, or both."""
    return {"endif": _CLOSES, "else": f"{_CLOSES},{_OPENS}", "elif": f"{_CLOSES},{_OPENS}"}.get(directive[1], _OPENS)


def _conditional_types(inside: str) -> Iterator[str]:
    """Yields the types of a list in which `#if`s are marked."""
    depth = 0
    for parameter in split(inside):
        written = parameter.lstrip(f" {_OPENS}{_CLOSES}")
        before, after = parameter[: len(parameter) - len(written)], written
        depth += before.count(_OPENS) - before.count(_CLOSES)
        plain = _type(written.replace(_OPENS, " ").replace(_CLOSES, " ").strip())
        if plain:
            yield f"{CONDITIONAL}{plain}" if depth else plain
        depth += after.count(_OPENS) - after.count(_CLOSES)


@lru_cache(maxsize=65536)
def _type(parameter: str) -> str:
    """Returns the type of one parameter, without default and name."""
    text = split(parameter, "=")[0].strip()
    array = ""
    while text.endswith("]") and "[" in text:
        text, _, size = text.rpartition("[")
        array, text = f"[{''.join(size.split())}" + array, text.rstrip()
    inner = _INNER_NAME.search(text) if "(" in text else None
    if inner:
        text = f"{text[: inner.start()]}({inner[1]}{inner[2]}){text[inner.end() :]}"
    else:
        rest = text.rstrip(_WORD_LETTERS)
        name = text[len(rest) :]
        if name and rest and name not in BUILTIN and not name[0].isdigit() and not _only_qualifiers(rest.rstrip()):
            text = rest
    return normal_type(text) + array


def _only_qualifiers(text: str) -> bool:
    return text.endswith("::") or all(
        word in _QUALIFIERS and word not in ("unsigned", "signed", "long") for word in text.split()
    )


@lru_cache(maxsize=65536)
def normal_type(text: str) -> str:
    """Returns a type with spaces only after commas and where words need them."""
    text = TIGHT.sub(r"\1", " ".join(text.split()))
    text = _GLOBAL.sub(r"\1 ::", _BEFORE_WORD.sub(r"\1 ", text))
    return text.replace(",", ", ")


def plain_types(parameters: Iterable[str]) -> tuple[str, ...]:
    """Returns the types of parameters, each in the spelling of `plain_type`. () for (void)."""
    return tuple(plain_type(parameter) for parameter in parameters if parameter.strip() not in ("", "void"))


def concrete_types(parameters: Iterable[str]) -> tuple[str, ...]:
    """Does the same as `plain_types`, with plain integers in place of symbolic ones.

    A wrapper by torchgen takes SymInt and converts it for a kernel that takes int64_t
    (torchgen/dest/register_dispatch_key.py). Kernels of either kind have names of their own.
    """
    return tuple(_SYMBOLIC.sub("long", plain) for plain in plain_types(parameters))


def unqualified_types(parameters: str) -> str:
    """Returns a parameter list without namespaces and blanks: `(at::Tensor, c10::Scalar)` is `(Tensor,Scalar)`.

    A notes.lock contains a digest of this text, so its form must not change.
    """
    return "".join(_WRITTEN_QUALIFIER.sub("", parameters).split())


@lru_cache(maxsize=65536)
def plain_type(parameter: str) -> str:
    """Returns one spelling of a type from source or binary: no namespaces, default template arguments and extra spaces.

    Aliases are replaced by their types on x86-64 Linux. A const of a value is dropped, since it is not part of the
    type.
    """
    text = _without_defaults(_STRING.sub("string", parameter))
    text = _WORDS.sub("", text)
    while (shorter := _QUALIFIER.sub("", text)) != text:
        text = shorter
    text = _ALIAS.sub(lambda match: ALIASES[match[0]], text)
    text = _INNER_CONST.sub(r"\1 const", " ".join(_SIGNS.sub(r"\1", text).split()))
    if not text.endswith(("&", "*")):
        text = text.removeprefix("const ").removesuffix(" const")  # a const of a value is not part of the type
    return re.sub(r"^(.*?\S) ?const(&&?|\*)$", r"const \1\2", text)


def _without_defaults(text: str) -> str:
    """Removes template arguments that have defaults in the source."""
    while match := _DEFAULTED.search(text):
        closing = closing_of(text, match.end() - 1)
        text = text[: match.start()] + (text[closing + 1 :] if closing >= 0 else "")
    return text
