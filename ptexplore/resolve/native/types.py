"""Whether a demangled function is the one that a definition in source declares: parameter types in one spelling."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ptexplore.resolve.native.names import Name, split
from ptexplore.symbols import Symbol

# Type aliases of the standard library on x86-64 Linux, of c10 and of torch/csrc: the name in the source -> the type.
_ALIASES = {
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
# Types that are what they are called wherever they are written: no template has a parameter so named (in 2.6.0 but for
# Scalar in c10/cuda/CUDAAlgorithm.h, which only device code calls).
_PLAIN = {
    "bool", "char", "double", "float", "int", "long", "unsigned long", "unsigned int", "Tensor", "TensorBase", "Scalar",
    "vector<Tensor>", "vector<long>", "vector<vector<long>>", "vector<reference_wrapper<Tensor const>>",
    "ArrayRef<long>", "ArrayRef<Tensor>", "ArrayRef<SymInt>", "SymInt",
}  # fmt: skip
_VALUE = re.compile(r"^const |[&*]+$")
_ALIAS = re.compile(rf"\b(?:{'|'.join(_ALIASES)})\b")
_STRING = re.compile(r"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >")
_DEFAULTED = re.compile(
    r",\s*(?:(?:std::)?(?:allocator|default_delete|char_traits|less|hash|equal_to)"
    r"|c10::detail::intrusive_target_default_null_type)<"
)
_QUALIFIER = re.compile(r"(?:\b\w+|\(anonymous namespace\))?::(?=\w)")
_LAST_ARGUMENTS = re.compile(r"^[^<]*<([^<>]*)>[^<]*$")
_TEMPLATE = re.compile(r"(?:const )?(\w+)<")
_ARGUMENTS = re.compile(r"<[^<>]*>")
_NO_TYPE = re.compile(r"\b(?:noexcept(?:\([^()]*\))?|override|final|volatile)(?!\w)|->.*$")
_QUALIFIERS = re.compile(r"\)\s*((?:const)?\s*&{0,2})\s*$")
_WORDS = re.compile(r"\b(?:class|struct|typename|enum)\s")
_SIGNS = re.compile(r"\s*([&*<>,()])\s*")
_INNER_CONST = re.compile(r"(?<=[<(,])const (\w+(?: \w+)*)(?=[&*,>)])")  # a demangled type has it behind


def fits(name: Name, symbol: Symbol, *, kin: bool = True) -> int:
    """How well a definition fits a demangled name: 2 its very types, 1 as many of them, 0 it is another function.

    Of a template, whose demangled types are not those written, the types' own names count as its very types. Where the
    source is of another version (not `kin`), a function may have got other types since.
    """
    given, written = name.parameters, symbol.parameters
    if given is None or written is None or any("..." in one for one in written):
        return 1
    mine = [_plain(one) for one in given if one not in ("", "void")]
    theirs = [_plain(one) for one in written if one.strip() not in ("", "void")]
    if len(mine) != len(theirs):
        return 0
    if not name.is_template:
        return 2 if mine == theirs else 0 if kin and _differ(mine, theirs) else 1
    if kin and _differ(mine, theirs):
        return 0
    if any(
        _other_arguments(one, written, other) for one, written, other in zip(mine, _real(written), theirs, strict=True)
    ):
        return 0
    return 2 if [_shape(one) for one in mine] == [_shape(one) for one in theirs] else 1


def _differ(mine: Sequence[str], theirs: Sequence[str]) -> bool:
    """Whether a parameter has two types that no alias and no template parameter of the source's stands for."""
    pairs = [(_VALUE.sub("", one), _VALUE.sub("", other)) for one, other in zip(mine, theirs, strict=True)]
    return any(one != other and one in _PLAIN and other in _PLAIN for one, other in pairs)


def _real(written: Sequence[str]) -> list[str]:
    return [one for one in written if one.strip() not in ("", "void")]


def _other_arguments(mine: str, written: str, theirs: str) -> bool:
    """Whether a template's parameter is written with arguments of its own ("C<c10::SymInt>") that the type has not."""
    asked, given = _LAST_ARGUMENTS.search(theirs), _LAST_ARGUMENTS.search(mine)
    if asked is None or given is None or "::" not in written.partition("<")[2]:
        return False
    first = asked[1].split(",")
    return given[1].split(",")[: len(first)] != first


def takes(name: Name, symbol: Symbol) -> bool:
    """Whether a template has a parameter that could be each template the name was given as an argument.

    `f<c10::ArrayRef>` was made of an `f(Container<SymInt>)`, and not of an `f(Vec)`: a template is no type.
    """
    given, written = name.parameters, symbol.parameters
    arguments = [_plain(one) for one in split((name.parts[-1].arguments or "") if name.parts else "")]
    if given is None or written is None or not arguments:
        return True
    pairs = [
        (_TEMPLATE.match(_plain(one)), _TEMPLATE.match(_plain(other)))
        for one, other in zip(given, _real(written), strict=False)
    ]
    templates = {one[1] for one, _ in pairs if one is not None} & set(arguments)
    taken = {one[1] for one, other in pairs if one is not None and other is not None and one[1] != other[1]}
    return templates <= taken


def _shape(plain: str) -> str:
    """A type without its template arguments."""
    while (shorter := _ARGUMENTS.sub("", plain)) != plain:
        plain = shorter
    return plain


def qualifiers(text: str) -> str:
    """What follows a function's parameter list and belongs to its type: "const", "&", "const &&"."""
    found = _QUALIFIERS.search(_NO_TYPE.sub("", text))
    return " ".join(found[1].split()) if found else ""


def _plain(parameter: str) -> str:
    """A type without namespaces, default template arguments and needless spaces, aliases replaced."""
    text = _without_defaults(_STRING.sub("string", parameter))
    text = _WORDS.sub("", text)
    while (shorter := _QUALIFIER.sub("", text)) != text:
        text = shorter
    text = _ALIAS.sub(lambda found: _ALIASES[found[0]], text)
    text = _INNER_CONST.sub(r"\1 const", " ".join(_SIGNS.sub(r"\1", text).split()))
    if not text.endswith(("&", "*")):
        text = text.removeprefix("const ").removesuffix(" const")  # a const of a value is no part of the type
    return re.sub(r"^(.*?\S) ?const(&&?|\*)$", r"const \1\2", text)


def _without_defaults(text: str) -> str:
    """Template arguments that the source leaves to their defaults."""
    while found := _DEFAULTED.search(text):
        depth, end = 1, found.end()
        while end < len(text) and depth:
            depth += {"<": 1, ">": -1}.get(text[end], 0)
            end += 1
        text = text[: found.start()] + text[end:]
    return text
