"""Read demangled C++ names: the qualified name without parameters and template arguments, and what stood there.

The form is that of libstdc++'s `__cxa_demangle` (Itanium C++ ABI, section 5.1): templates begin with their return
type, a name inside a function has that function's parameters in its middle.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache

ANONYMOUS = "(anonymous namespace)"
# The namespaces that a kernel is compiled in once for each (aten/src/ATen/native/DispatchStub.h).
CAPABILITIES = ("DEFAULT", "AVX2", "AVX512", "VSX", "ZVECTOR", "SVE256")
_PREFIXES = ("non-virtual thunk to ", "virtual thunk to ", "covariant return thunk to ")
_SYMBOLS = (
    r"\(\)|\[\]|<=>|<<=|>>=|->\*|&&|\|\||\+\+|--|<<|>>|<=|>=|==|!=|\+=|-=|\*=|/=|%=|&=|\|=|\^=|->|,|"
    r"[-+*/%&|^~!=<>]"
)
_OPERATOR = rf"\boperator(?: (?:new|delete)(?:\[\])?|\"\" ?\w+|(?:{_SYMBOLS}))"
_CONVERSION = r"\boperator (?=[\w(:])"
_TOKEN = re.compile(rf"{_OPERATOR}|{_CONVERSION}|\(anonymous namespace\)|\[abi:\w+\]|::|[<>(){{}}\[\] ,]")
# What GCC adds to the name of a function that it made out of another: "[clone .isra.0]", ".constprop.0.cold".
_SUFFIX = re.compile(
    r"(?: ?\[clone [^\]]*\]| ?\((?:\.\w+)+\)|\.(?:cold|(?:isra|part|constprop|lto_priv|_omp_fn)\.\d+)(?:\.\d+)?)+$"
)
_QUALIFIER = re.compile(r" (?:const|volatile|&&?|noexcept)(?![\w&(])")
_LAMBDA = re.compile(r"\{lambda\((.*)\)(#\d+)\}", re.DOTALL)
_CLOSES = {")": "(", ">": "<", "}": "{", "]": "["}


@dataclass(frozen=True, slots=True)
class NamePart:
    """One part of a qualified name: "call", its template arguments, the parameters it was given. None: it has none.

    A lambda is called "{lambda#1}"; its `signature` is the parameters that it has.
    """

    name: str
    arguments: str | None = None
    parameters: str | None = None
    signature: str | None = None


@dataclass(frozen=True)
class Name:
    """A demangled name, taken apart. `parts` is empty where the text is of no form known here."""

    text: str
    parts: tuple[NamePart, ...]

    @cached_property
    def qualified(self) -> str:
        """The name without parameters, template arguments and anonymous namespaces; the text itself where unread."""
        return "::".join(part.name for part in self.parts if part.name != ANONYMOUS) or self.text

    @cached_property
    def plain(self) -> str:
        """As `qualified`, without the namespace of a CPU capability either: the name that the source has."""
        named = [part.name for part in self.parts if part.name != ANONYMOUS and part.name not in CAPABILITIES]
        return "::".join(named) or self.text

    @property
    def is_template(self) -> bool:
        """Whether a part of it has template arguments: the parameters are then not those written in the source."""
        return any(part.arguments is not None for part in self.parts)

    @property
    def is_anonymous(self) -> bool:
        """Whether it has internal linkage by an anonymous namespace."""
        return any(part.name == ANONYMOUS for part in self.parts)

    @cached_property
    def parameters(self) -> tuple[str, ...] | None:
        """The parameter types, None where the name has no parameter list."""
        last = self.parts[-1].parameters if self.parts else None
        return tuple(split(last)) if last is not None else None


@lru_cache(maxsize=1 << 16)
def parse(text: str) -> Name:
    """Take a demangled name apart. A C name is one part without parameters."""
    body = text
    for prefix in _PREFIXES:
        body = body.removeprefix(prefix)
    return Name(text, tuple(_Reader(body).parts()))


def split(arguments: str) -> list[str]:
    """The top-level pieces of a list with commas, each without spaces around it."""
    pieces, start, stack = [], 0, list[str]()
    for token in _TOKEN.finditer(arguments):
        _nest(stack, token[0])
        if token[0] == "," and not stack:
            pieces.append(arguments[start : token.start()])
            start = token.end()
    pieces.append(arguments[start:])
    return [piece.strip() for piece in pieces] if arguments.strip() else []


def _nest(stack: list[str], token: str) -> None:
    """Follow brackets. A `<` that is a less-than ends with the parentheses around it; so does a stray `>`."""
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
    """Reads one name from left to right; whatever turns out to be a return type is dropped."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.found: list[NamePart] = []
        self._clear(0)

    def _clear(self, start: int) -> None:
        self.start = start  # of the part being read
        self.name: str | None = None
        self.arguments: str | None = None
        self.parameters: str | None = None

    def _end(self, end: int) -> None:
        """The part being read ends here."""
        name = self.name if self.name is not None else self.text[self.start : end]
        match = _LAMBDA.fullmatch(name) if name.startswith("{") else None
        if match is not None:
            self.found.append(NamePart(f"{{lambda{match[2]}}}", self.arguments, self.parameters, match[1]))
        else:
            self.found.append(NamePart(name, self.arguments, self.parameters))

    def parts(self) -> list[NamePart]:
        """All parts; empty where brackets do not close or no name is left."""
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
        """A bracketed group at the top level: template arguments, parameters, or part of a name."""
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
        """An operator's name: where reading goes on. A conversion's name is the type, up to its parameters."""
        if not token[0].endswith("operator "):
            self.name = token[0]
            return token.end()
        end = self.text.rfind("()", token.end())
        end = end if end > 0 else len(self.text)
        self.name = self.text[token.start() : end]
        return end

    def _space(self, at: int) -> int:
        """A space at the top level: before a function's qualifiers, else after a return type."""
        if self.parameters is not None:
            end = at
            while qualifier := _QUALIFIER.match(self.text, end):
                end = qualifier.end()
            if end > at and (end == len(self.text) or self.text.startswith("::", end)):
                return end
        if self.text.startswith("operator<", self.start) and self.text.startswith("<", at + 1):
            return at + 1  # "operator< <int>": the space keeps two brackets apart
        self.found.clear()
        self._clear(at + 1)
        return at + 1


def arguments_of(text: str, template: str) -> list[str]:
    """The template arguments of the first `template<…>` in a demangled name; empty where there is none."""
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
    """The function that a template argument names by its address: `&f`, `&(f(int))`; None where it does not."""
    if not argument.startswith("&"):
        return None
    inner = argument[1:].strip()
    if inner.startswith("(") and not inner.startswith(ANONYMOUS) and inner.endswith(")"):
        inner = inner[1:-1]
    return parse(inner)


def without_suffix(symbol: str) -> str:
    """A symbol, mangled or not, without what the compiler says of a copy or a part of the function."""
    return _SUFFIX.sub("", symbol)


def pasted(text: str) -> str:
    """The qualified name in what people copy from a debugger or a profiler; any other text as it is."""
    symbol = without_suffix(text.strip())
    return parse(symbol).qualified if "::" in symbol and "(" in symbol else symbol
