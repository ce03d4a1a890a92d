"""Plain statements read into symbols: what tree.py makes of the parser's nodes, without a parser."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ptexplore.index.cpp.names import name_parts, one_line, parameter_types
from ptexplore.index.cpp.plain import Plain
from ptexplore.index.cpp.syntax import ROOT, Frame, join, placed
from ptexplore.index.cpp.tree import Reader


class PlainReader(Reader):
    """Reads what `plain.scan` found in one text."""

    def read_all(self, found: Sequence[Plain], marks: Sequence[int]) -> None:
        """Everything of a text that needs no parser; `marks` are in order."""
        stack = [ROOT]
        waiting = list(reversed(marks))
        for one in found:
            while waiting and waiting[-1] <= one.start:
                self._frame(stack, waiting.pop())
            while stack[-1].end <= one.start:
                stack.pop()
            if one.kind in _LEAVES:
                self.add(one, stack[-1])
            else:
                frame = self._namespace(one, stack[-1]) if one.kind == "namespace" else self._class(one, stack[-1])
                stack.append(frame._replace(end=one.end))
        while waiting:
            self._frame(stack, waiting.pop())

    def _frame(self, stack: list[Frame], mark: int) -> None:
        while stack[-1].end <= mark:
            stack.pop()
        self.framed[mark] = tuple(stack)

    def add(self, one: Plain, outer: Frame) -> None:
        """One statement that is no scope, declared in the scope `outer`."""
        _LEAVES[one.kind](self, one.match, one.start, one.end, outer)

    def _plain_function(self, match: re.Match[str], start: int, end: int, outer: Frame) -> None:
        written, listed, specifiers = match.group("name", "listed", "specifiers")
        parts = name_parts(written)
        at, opening = match.start("name"), match.start("listed")
        declared = match["body"] is None
        if len(parts) > 1 and not outer.qualified and not declared:
            parts = self.through_using(parts, at)
        static = outer.hidden or (outer.kind == "namespace" and "static" in specifiers.split())
        self._add(
            "function", outer, parts, at + max(written.rfind(parts[-1]), 0), start, end,
            "declaration" if declared else "definition", signature=one_line(self.shown(opening, match.end("after"))),
            parameters=parameter_types(listed), static=static,
        )  # fmt: skip

    def _plain_variable(self, match: re.Match[str], start: int, end: int, outer: Frame) -> None:
        parts = name_parts(match["name"])
        specifiers = match["specifiers"].split()
        declared = "extern" in specifiers and match["value"] is None
        self._add(
            "member" if outer.kind == "class" else "variable", outer, parts, match.end("name") - len(parts[-1]), start,
            end, "declaration" if declared else "definition",
            static=outer.hidden or (outer.kind != "class" and "static" in specifiers),
        )  # fmt: skip

    def _plain_alias(self, match: re.Match[str], start: int, end: int, outer: Frame) -> None:
        self._add("typedef", outer, (match["alias"],), match.start("alias"), start, end)

    def _plain_forward(self, match: re.Match[str], start: int, _: int, outer: Frame) -> None:
        kind: Any = match["class"]
        end = match.end("class_name")
        self._add(kind, outer, (match["class_name"],), match.start("class_name"), start, end, "declaration")

    def _namespace(self, one: Plain, outer: Frame) -> Frame:
        name = one.match["namespace"]
        return self.opened(outer, name, one.match.start("namespace"), one.start, one.end)

    def _class(self, one: Plain, outer: Frame) -> Frame:
        match = one.match
        kind: Any = match["class"]
        name, bases = match.group("class_name", "bases")
        qualified, scope = placed(outer, (name,))
        self._add(kind, outer, (name,), match.start("class_name"), one.start, one.end, static=outer.hidden)
        if bases is not None:
            self.inherited.append((self.whole(match.start("bases")), bases.rstrip()))
        return Frame(0, "class", qualified, join(scope, name), outer.hidden, name)


_LEAVES = {
    "function": PlainReader._plain_function, "variable": PlainReader._plain_variable,
    "alias": PlainReader._plain_alias, "forward": PlainReader._plain_forward,
}  # fmt: skip
