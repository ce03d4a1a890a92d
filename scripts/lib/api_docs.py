"""docs/api.md, made from the docstrings of the public names of ptexplore."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import ptexplore

HEAD = """\
# The Python API

Made from the docstrings by `scripts/api-docs`; every example runs in the tests.

`import ptexplore` does not import torch; each name is loaded when you use it. The questions are functions; a
`Workspace` has the same questions as methods, for several questions at once. Long work, and work that writes files, are
methods of its `inner`: `index`, `fetch`, `survey`, `health`, `guide` (tours), `check_notes`, `plan_pins`, `new_note`.
`ptexplore.render.html.build.build_site` writes the site of an `inner`. The answers are frozen records. A wrong input
raises `PtexploreError`.
"""


def document() -> str:
    """The whole text."""
    return "\n".join([HEAD, *(part for name in sorted(ptexplore.__all__, key=str.lower) for part in _entry(name))])


def _entry(name: str) -> Iterator[str]:
    thing: Any = getattr(ptexplore, name)
    yield f"## `{name}{_signature(thing)}`\n"
    yield _text(thing)
    if inspect.isclass(thing) and not issubclass(thing, Exception):
        for member, value in vars(thing).items():
            if not member.startswith("_"):
                yield f"### `{name}.{member}{'' if isinstance(value, property) else _signature(value)}`\n"
                yield _text(value)


class _Name(str):
    """An annotation as it was written, without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


def _signature(thing: Any) -> str:
    signature = inspect.signature(thing)
    parameters = [
        parameter.replace(annotation=_Name(str(parameter.annotation).strip("'").replace("Public", "")))
        if parameter.annotation is not inspect.Parameter.empty
        else parameter
        for name, parameter in signature.parameters.items()
        if name != "self"
    ]
    text = str(signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty))
    has_result = not inspect.isclass(thing) and signature.return_annotation is not inspect.Signature.empty
    has_result = not inspect.isclass(thing) and signature.return_annotation is not inspect.Signature.empty
    result = str(signature.return_annotation).replace("Public", "")
    return f"{text} -> {result}" if has_result else text


def _text(thing: Any) -> str:
    prose: list[str] = []
    example: list[str] = []
    for line in (inspect.getdoc(thing) or "").splitlines():
        (example if line.startswith(">>>") or example else prose).append(line)
    shown = ["```python", *example, "```", ""] if example else []
    return "\n".join(["\n".join(prose).strip(), "", *shown])
