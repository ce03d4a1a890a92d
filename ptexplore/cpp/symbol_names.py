"""Reads demangled C++ names: the qualified name, and separately the parameters and template arguments.

The form is defined by `__cxa_demangle` of libstdc++ (Itanium C++ ABI, section 5.1). A template begins with its return
type. A name inside a function contains the parameters of that function.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache

ANONYMOUS = "(anonymous namespace)"
# The namespaces of CPU kernels: a kernel is compiled once in each (aten/src/ATen/native/DispatchStub.h).
CAPABILITIES = ("DEFAULT", "AVX2", "AVX512", "VSX", "ZVECTOR", "SVE256")
_PREFIXES = ("non-virtual thunk to ", "virtual thunk to ", "covariant return thunk to ")
_SYMBOLS = (
    r"\(\)|\[\]|<=>|<<=|>>=|->\*|&&|\|\||\+\+|--|<<|>>|<=|>=|==|!=|\+=|-=|\*=|/=|%=|&=|\|=|\^=|->|,|"
    r"[-+*/%&|^~!=<>]"
)
_OPERATOR = rf"\boperator(?: (?:new|delete)(?:\[\])?|\"\" ?\w+|(?:{_SYMBOLS}))"
_CONVERSION = r"\boperator (?=[\w(:])"
_TOKEN = re.compile(rf"{_OPERATOR}|{_CONVERSION}|\(anonymous namespace\)|\[abi:\w+\]|::|[<>(){{}}\[\] ,]")
# The suffix that GCC adds to the name of a function made from another: "[clone .isra.0]", ".constprop.0.cold".
_SUFFIX = re.compile(
    r"(?: ?\[clone [^\]]*\]| ?\((?:\.\w+)+\)|\.(?:cold|(?:isra|part|constprop|lto_priv|_omp_fn)\.\d+)(?:\.\d+)?)+$"
)
_QUALIFIER = re.compile(r" (?:const|volatile|&&?|noexcept)(?![\w&(])")
_LAMBDA = re.compile(r"\{lambda\((.*)\)(#\d+)\}", re.DOTALL)
_CLOSES = {")": "(", ">": "<", "}": "{", "]": "["}


@dataclass(frozen=True, slots=True)
class NamePart:
    """One part of a qualified name: "call", its template arguments and its parameters, each None if missing.

    The name of a lambda is "{lambda#1}"; `signature` has its parameters.
    """

    name: str
    arguments: str | None = None
    parameters: str | None = None
    signature: str | None = None


@dataclass(frozen=True)
class Name:
    """A demangled name, split into parts. `parts` is empty if the form is unknown."""

    text: str
    parts: tuple[NamePart, ...]

    @cached_property
    def qualified(self) -> str:
        """The name without parameters, template arguments and anonymous namespaces.

        If the form is unknown, the text itself.
        """
        return "::".join(part.name for part in self.parts if part.name != ANONYMOUS) or self.text

    @cached_property
    def plain(self) -> str:
        """The name as in the source: `qualified` without the namespace of a CPU capability."""
        named = [part.name for part in self.parts if part.name != ANONYMOUS and part.name not in CAPABILITIES]
        return "::".join(named) or self.text

    @property
    def is_template(self) -> bool:
        """Whether a part has template arguments: then the parameters differ from those in the source."""
        return any(part.arguments is not None for part in self.parts)

    @property
    def is_anonymous(self) -> bool:
        """Whether the name has internal linkage, because of an anonymous namespace."""
        return any(part.name == ANONYMOUS for part in self.parts)

    @cached_property
    def parameters(self) -> tuple[str, ...] | None:
        """The parameter types, or None if the name has no parameter list."""
        last = self.parts[-1].parameters if self.parts else None
        return tuple(split(last)) if last is not None else None


@lru_cache(maxsize=1 << 16)
def parse(text: str) -> Name:
    """Splits a demangled name into parts. A C name is one part without parameters."""
    body = text
    for prefix in _PREFIXES:
        body = body.removeprefix(prefix)
    return Name(text, tuple(_Reader(body).parts()))


def split(arguments: str) -> list[str]:
    """Splits a list at its outermost commas, and trims the pieces."""
    pieces, start, stack = [], 0, list[str]()
    for token in _TOKEN.finditer(arguments):
        _nest(stack, token[0])
        if token[0] == "," and not stack:
            pieces.append(arguments[start : token.start()])
            start = token.end()
    pieces.append(arguments[start:])
    return [piece.strip() for piece in pieces] if arguments.strip() else []


def _nest(stack: list[str], token: str) -> None:
    """Follows brackets. A `<` that is a less-than ends with the parentheses around it; so does a stray `>`."""
    if token in ("(", "<", "{", "["):
        stack.append(token)
    elif token in _CLOSES:
        opening = _CLOSES[token]
        if token == ">":
            if stack and stack[-1] == "<":
                stack.pop()
        elif opening in stack:
            while stack.pop() != opening:
                pass


class _Reader:
    """Reads one name from left to right, and drops the parts that turn out to be a return type."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.found: list[NamePart] = []
        self._clear(0)

    def _clear(self, start: int) -> None:
        self.start = start  # the start of the present part
        self.name: str | None = None
        self.arguments: str | None = None
        self.parameters: str | None = None

    def _end(self, end: int) -> None:
        """Ends the present part."""
        name = self.name if self.name is not None else self.text[self.start : end]
        match = _LAMBDA.fullmatch(name) if name.startswith("{") else None
        if match is not None:
            self.found.append(NamePart(f"{{lambda{match[2]}}}", self.arguments, self.parameters, match[1]))
        else:
            self.found.append(NamePart(name, self.arguments, self.parameters))

    def parts(self) -> list[NamePart]:
        """Returns all parts. Empty if brackets do not close or no name is left."""
        text, stack, opened, skip = self.text, list[str](), 0, 0
        for token in _TOKEN.finditer(text):
            at, sign = token.start(), token[0]
            if at < skip:
                continue
            if stack or sign in "(<{[":
                if not stack:
                    opened = at
                _nest(stack, sign)
                if not stack:
                    self._group(opened, at)
            elif sign.startswith("operator") and at == self.start:
                skip = self._operator(token)
            elif sign.startswith("[abi:"):
                self.name = self.name if self.name is not None else text[self.start : at]
            elif sign == ANONYMOUS and at == self.start:
                self.name = ANONYMOUS
            elif sign == "::":
                self._end(at)
                self._clear(token.end())
            elif sign == " ":
                skip = self._space(at)
        if stack or self.start >= len(text):
            return []
        self._end(len(text))
        return self.found if all(part.name for part in self.found) else []

    def _group(self, opened: int, closed: int) -> None:
        """Handles a bracketed group at the top level: template arguments, parameters, or part of a name."""
        inside = self.text[opened + 1 : closed]
        bracket = self.text[opened]
        if bracket in "{[":
            return
        if self.name is None:
            self.name = self.text[self.start : opened]
        if bracket == "<":
            self.arguments = inside
        else:
            self.parameters = inside

    def _operator(self, token: re.Match[str]) -> int:
        """Reads an operator's name and returns where to continue. For a conversion, the name includes the type."""
        if not token[0].endswith("operator "):
            self.name = token[0]
            return token.end()
        end = self.text.rfind("()", token.end())
        end = end if end > 0 else len(self.text)
        self.name = self.text[token.start() : end]
        return end

    def _space(self, at: int) -> int:
        """Handles a space at the top level: qualifiers of a function come next, or a return type has ended."""
        if self.parameters is not None:
            end = at
            while qualifier := _QUALIFIER.match(self.text, end):
                end = qualifier.end()
            if end > at and (end == len(self.text) or self.text.startswith("::", end)):
                return end
        if self.text.startswith("operator<", self.start) and self.text.startswith("<", at + 1):
            return at + 1  # "operator< <int>": the space separates two brackets
        self.found.clear()
        self._clear(at + 1)
        return at + 1


def arguments_of(text: str, template: str) -> list[str]:
    """Returns the template arguments of the first `template<…>` in a demangled name. Empty if there is none."""
    at = text.find(f"{template}<")
    if at < 0:
        return []
    start, stack = at + len(template), list[str]()
    for token in _TOKEN.finditer(text, start):
        _nest(stack, token[0])
        if not stack:
            return split(text[start + 1 : token.start()])
    return []


def pointed(argument: str) -> Name | None:
    """Returns the function whose address a template argument is: `&f`, `&(f(int))`. None for other arguments."""
    if not argument.startswith("&"):
        return None
    inner = argument[1:].strip()
    if inner.startswith("(") and not inner.startswith(ANONYMOUS) and inner.endswith(")"):
        inner = inner[1:-1]
    return parse(inner)


def without_suffix(symbol: str) -> str:
    """Removes the compiler's suffix for a copy or a part of a function from a symbol, mangled or not."""
    return _SUFFIX.sub("", symbol)


def pasted(text: str) -> str:
    """Returns the qualified name in a text copied from a debugger or a profiler. Other texts are returned unchanged."""
    symbol = without_suffix(text.strip())
    return parse(symbol).qualified if "::" in symbol and "(" in symbol else symbol
