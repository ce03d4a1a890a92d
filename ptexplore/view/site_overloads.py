"""What a written name cannot mean: what is not ours, not seen there or hidden by a local; overloads without a body."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptexplore.view.site_names import Place

# What PyTorch puts there stands beside the library's own, which no index of ours has: most uses of std::log are not it.
_FOREIGN = "std::"
_NESTED = re.compile(r"<[^<>()]*>|\([^()<>]*\)|\{[^{}]*\}")

_PARAMETERS = re.compile(r"\b(?:def\s+\w+\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)|lambda\s+([^:()]*):)")
_PARAMETER = re.compile(r"(?:^|,)\s*\*{0,2}(\w+)")
_BOUND = re.compile(
    r"^[ \t]+(?:for\s+)?(\w+)(?:\s*,\s*\w+)*\s*(?::[^=\n()]+)?(?:=(?!=)|\bin\b)|\bas\s+(\w+)\s*:", re.MULTILINE
)

# Folders whose headers hardly anything else includes: of one device, of one processor, of tests.
_ALONE = frozenset({"mps", "metal", "vulkan", "glsl", "hip", "vsx", "zarch", "sve", "test", "tests"})


def of_another_kind(target: str, path: str) -> bool:
    """Whether a name written in `path` hardly means what stands in `target`, where no qualifier says that it does."""
    return bool(_ALONE.intersection(target.split("/")[:-1]).difference(path.split("/")))


def python_locals(text: str) -> set[str]:
    """The names that functions of a Python file bind themselves: parameters, and what is assigned further in."""
    found = {a or b for a, b in _BOUND.findall(text)}
    for one, other in _PARAMETERS.findall(text):
        found.update(_PARAMETER.findall(one or other))
    return found


def linkable(found: list[Place]) -> list[Place]:
    """Definitions alone where there are any, with the overloads that are only declared."""
    found = [one for one in found if not one.what.container.startswith(_FOREIGN)]
    defined = [one for one in found if not one.what.declared]
    if all(one.what.static for one in defined):
        return found
    return [*defined, *_bodiless(found, defined)]


def _bodiless(found: Sequence[Place], defined: Sequence[Place]) -> list[Place]:
    """Overloads without a body, as pure virtual ones are, beside the one that has one: which is meant is not known."""
    alone: dict[str, Place | None] = {}
    for one in defined:
        alone[one.what.container] = None if one.what.container in alone else one
    return [
        one
        for one in found
        if one.what.declared and one.what.kind == "function" and one.what.container
        and (other := alone.get(one.what.container)) is not None and other.what.kind == "function"
        and _apart(parameters(one.what.signature), parameters(other.what.signature))
    ]  # fmt: skip


def _apart(one: int | None, other: int | None) -> bool:
    return one is not None and other is not None and one != other


def parameters(signature: str) -> int | None:
    """How many parameters a signature has; None where it is not whole."""
    first, last = signature.find("("), signature.rfind(")")
    if first < 0 or last < first:
        return None
    inside = signature[first + 1 : last].strip()
    while (shorter := _NESTED.sub("", inside)) != inside:
        inside = shorter
    return 0 if inside in ("", "void") else inside.count(",") + 1


def seen_from(path: str, found: Sequence[Place]) -> list[Place]:
    """Without what only its own file sees, as what a file that is no header declares for itself."""
    return [
        one for one in found if not (one.what.static or one.what.declared) or one.path == path or _is_header(one.path)
    ]


def _is_header(path: str) -> bool:
    return path.endswith((".h", ".hpp", ".cuh", ".inl", ".inc"))
