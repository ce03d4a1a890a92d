"""Read what stands before a brace or a semicolon in C++: a namespace, a class, a function, and its name.

Every offset returned is an offset into the text given: what is ignored is blanked to spaces, never cut out.
"""

from __future__ import annotations

import re

_NAMESPACE = re.compile(r"\b(?:inline\s+)?namespace\b\s*((?:\w+(?:::(?:inline\s+)?\w+)*)?)\s*$")
_CLASS = re.compile(
    r"\b(?:struct|class|union)\s+(?:(?:[A-Z][A-Z0-9_]*|alignas\([^)]*\))\s+)*(?!final\b)(\w+)\s*(?:final\s*)?(?::(?!:).*)?$",
    re.DOTALL,
)
_ENUM = re.compile(r"\benum\b")
_ARRAY = re.compile(r"\b(\w+)\s*\[\s*\w*\s*\]\s*=\s*$")
_BLOCK = re.compile(r"(?:^|\s)(TORCH_LIBRARY(?:_IMPL|_FRAGMENT)?)\s*\(([^()]*)\)\s*$")
_LONE_MACRO = re.compile(r"^[ \t]*[A-Z][A-Z0-9_]*\([^()\n]*\)[ \t]*\n(?=\s*\S)", re.MULTILINE)
_MACRO_FUNCTION = re.compile(r"(?:^|\s)(TORCH_IMPL_FUNC|TORCH_META_FUNC2?|TORCH_PRECOMPUTE_META_FUNC2?)\s*\(([^()]*)\)")
_NAME_BEFORE_PAREN = re.compile(
    r"((?:~?\w+\s*(?:<[^<>]*>)?\s*::\s*)*(?:operator\s*[^\s\w(]{1,3}|operator\s*\(\s*\)|~?\w+))\s*\("
)
_MEMBER_INITIALIZER = re.compile(r"\)\s*:(?!:)(?:.*,)?\s*\w+$", re.DOTALL)
_ATTRIBUTE = re.compile(r"\[\[[^\]]*\]\]")
_NOISE = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/|^[ \t]*#(?:\\\n|[^\n])*', re.DOTALL | re.MULTILINE)
_NOT_A_NAME = frozenset(
    {"if", "for", "while", "switch", "catch", "return", "decltype", "noexcept", "alignas", "sizeof", "static_assert"}
)


Named = tuple[str, int]  # a name, and its offset in the head


def namespace(head: str) -> str | None:
    """The namespace that `head` opens: "a::b", "" for an anonymous one and for extern "C"; None where it opens none."""
    match = _NAMESPACE.search(head) if "namespace" in head else None
    if match:
        return re.sub(r"::inline\s+", "::", match[1])
    return "" if 'extern "C"' in head and "(" not in head else None


def block(head: str) -> Named | None:
    """The registration macro that opens a block, with its arguments."""
    match = _BLOCK.search(head) if "TORCH_LIBRARY" in head else None
    return (f"{match[1]}({match[2]})", match.start(1)) if match else None


def array(head: str) -> Named | None:
    """The array that is initialized."""
    match = _ARRAY.search(head) if head.endswith("=") else None
    return (match[1], match.start(1)) if match else None


def macro_function(head: str) -> Named | None:
    """The function that one of ATen/TensorMeta.h's macros defines; the offset is that of its argument."""
    match = _MACRO_FUNCTION.search(head) if "TORCH_" in head else None
    return (f"{match[1]}({match[2]})", match.start(2)) if match else None


def goes_on(head: str) -> bool:
    """Whether the brace after `head` opens a default argument or a member's initial value: the declarator goes on."""
    if "(" not in head:
        return False
    unclosed = head.count("(") > head.count(")")
    return unclosed or (head[-1].isidentifier() and bool(_MEMBER_INITIALIZER.search(head)))


def klass(head: str) -> Named | None:
    """The class, struct or union that is defined."""
    match = None if _ENUM.search(head) else _CLASS.search(head)
    return (match[1], match.start(1)) if match else None


def function(head: str) -> Named | None:
    """The function in `head`: the name before the first parenthesis outside < >, without spaces."""
    if "(" not in head or head.endswith("="):
        return None
    depth = 0
    for match in re.finditer(r"[<>(]", head):
        character, at = match[0], match.start()
        if character == "<":
            depth += 1
        elif character == ">":
            if at and head[at - 1] != "-":
                depth = max(0, depth - 1)
        elif depth == 0:
            return _name_before(head, at)
    return None


def one_line(text: str) -> str:
    """A directive on one line."""
    return re.sub(r"\s+", " ", text.replace("\\\n", " ")).strip()


def without_noise(head: str) -> str:
    """`head` with comments and directives blanked to spaces of equal length, so that offsets stay."""
    if "/" not in head and "#" not in head:
        return head
    return _NOISE.sub(lambda match: match[0] if match[0][0] == '"' else re.sub(r"[^\n]", " ", match[0]), head)


def _blank(pattern: re.Pattern[str], text: str) -> str:
    """`text` with what `pattern` matches turned to spaces of equal length."""
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def plain(head: str) -> str:
    """`head` without `template <…>`, attributes and macro calls on lines of their own, blanked likewise."""
    if "\n" in head:
        head = _blank(_LONE_MACRO, head)
    if "template" not in head and "[[" not in head:
        return head
    head = _blank(_ATTRIBUTE, head)
    match = re.search(r"\btemplate\s*<", head)
    while match:
        depth, position = 1, match.end()
        while depth and position < len(head):
            depth += {"<": 1, ">": -1}.get(head[position], 0)
            position += 1
        head = head[: match.start()] + re.sub(r"[^\n]", " ", head[match.start() : position]) + head[position:]
        match = re.search(r"\btemplate\s*<", head)
    return head


def _name_before(head: str, parenthesis: int) -> tuple[str, int] | None:
    """The name that ends at `parenthesis`, and its offset."""
    start = parenthesis
    while start and (head[start - 1].isalnum() or head[start - 1] in "_:"):
        start -= 1
    name = head[start:parenthesis]
    if not name.isidentifier() or (start and head[start - 1] in ">~"):
        # qualified, an operator, a destructor, or spaces before the parenthesis: the slow way
        names = list(_NAME_BEFORE_PAREN.finditer(head, 0, parenthesis + 1))
        if not names or names[-1].end() != parenthesis + 1:
            return None
        name, start = names[-1][1], names[-1].start(1)
    return None if name in _NOT_A_NAME else (re.sub(r"\s+", "", name), start)
