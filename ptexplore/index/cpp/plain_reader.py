"""Plain statements read into symbols: what tree.py makes of the parser's nodes, without a parser."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

from ptexplore.index.cpp.names import name_parts, one_line, parameter_types
from ptexplore.index.cpp.plain import ENUMERATOR, Plain
from ptexplore.index.cpp.syntax import ROOT, Frame, enumerators_frame, join, placed, through_using
from ptexplore.index.cpp.tree import Reader

_WORD = re.compile(r"\w+")
_ENUMERATOR = re.compile(rf"(?=(\w+)){ENUMERATOR}")


class PlainReader(Reader):
    """Reads what `plain.scan` found in one text."""

    def __init__(
        self, path: str, text: str, line: Callable[[int], int], guards: Callable[[int], tuple[str, ...]]
    ) -> None:
        super().__init__(path, text, line, guards)
        self._inside: dict[int, list[int]] = {}  # where a statement begins -> the marks inside of it

    def set_apart(self, statements: Sequence[Plain], marks: Sequence[int]) -> list[int]:
        """The marks outside of statements; of the others `add` notes the frame."""
        starts = [one.start for one in statements] if marks else []
        left = []
        for mark in marks:
            at = bisect_right(starts, mark) - 1
            if at >= 0 and starts[at] < mark < statements[at].end:
                self._inside.setdefault(starts[at], []).append(mark)
            else:
                left.append(mark)
        return left

    def read_all(self, found: Sequence[Plain], marks: Sequence[int] = (), base: tuple[Frame, ...] = (ROOT,)) -> None:
        """Everything of a text that needs no parser, inside the scopes of `base`; `marks` are in order."""
        stack = [frame._replace(end=ROOT.end) for frame in base]
        waiting = list(reversed(marks))
        for one in found:
            while waiting and waiting[-1] <= one.start:
                self._frame(stack, waiting.pop())
            while stack[-1].end <= one.start:
                stack.pop()
            if one.kind in _LEAVES:
                self.add(one, stack[-1])
            else:
                stack.append(_SCOPES[one.kind](self, one, stack[-1])._replace(end=one.end))
        while waiting:
            self._frame(stack, waiting.pop())

    def _frame(self, stack: list[Frame], mark: int) -> None:
        while stack[-1].end <= mark:
            stack.pop()
        self.framed[mark] = tuple(stack)

    def add(self, one: Plain, outer: Frame) -> None:
        """One statement that is no scope, declared in the scope `outer`."""
        _LEAVES[one.kind](self, one.match, one.start, one.end, outer)
        if one.start in self._inside:
            if one.kind == "enum":
                outer = self._enum_frame(one.match, outer)
            frame = self.code(self.symbols[-1], outer) if one.kind in _FUNCTIONS else outer
            self.framed.update((mark, (frame,)) for mark in self._inside.pop(one.start))

    def _plain_function(self, match: re.Match[str], start: int, end: int, outer: Frame) -> None:
        declared = match["body"] is None
        self._plain_head(match, start, end, outer, ("name", "listed", "after"), declared, match["specifiers"])

    def _plain_made(self, match: re.Match[str], start: int, end: int, outer: Frame) -> None:
        self._plain_head(match, start, end, outer, ("made", "made_of", "made_after"), match["unmade"] is not None, "")

    def _plain_head(
        self, match: re.Match[str], start: int, end: int, outer: Frame, groups: Sequence[str], declared: bool, said: str
    ) -> None:
        name, listed, after = groups
        written, opening = match[name], match.start(listed)
        parts = name_parts(written)
        last = parts[-1]
        if len(parts) > 1 and not outer.qualified and not declared:
            parts = through_using(parts, self.text, match.start(name), self.symbols)
        at = match.start(name) + max(written.rfind("operator" if last.startswith("operator") else last), 0)
        self._add(
            "function", outer, parts, at, start, end, "declaration" if declared else "definition",
            signature=one_line(self.shown(opening, match.end(after))), parameters=parameter_types(match[listed]),
            template=match["template"] is not None,
            static=outer.hidden or (outer.kind == "namespace" and "static" in said.split()),
        )  # fmt: skip

    def _plain_conversion(self, match: re.Match[str], start: int, end: int, outer: Frame) -> None:
        at, opening = match.start("conversion"), match.start("converted")
        self._add(
            "function", outer, name_parts(self.text[at:opening]), at, start, end,
            "declaration" if match["converts"] is None else "definition",
            signature=one_line(self.shown(opening, match.end("converted_after"))), parameters=(),
            template=match["template"] is not None, static=outer.hidden,
        )  # fmt: skip

    def _plain_variable(self, match: re.Match[str], start: int, end: int, outer: Frame) -> None:
        specifiers = match["specifiers"].split()
        names = [(name_parts(match["name"]), match.end("name"))]
        if match["further"] is not None:
            begin = match.start("further")
            names += [((one[0],), begin + one.end()) for one in _WORD.finditer(match["further"])]
        declared = "extern" in specifiers and match["value"] is None
        for parts, behind in names:
            self._add(
                "member" if outer.kind == "class" else "variable", outer, parts, behind - len(parts[-1]), start,
                end, "declaration" if declared else "definition", template=match["template"] is not None,
                static=outer.hidden or (outer.kind != "class" and "static" in specifiers),
            )  # fmt: skip

    def _plain_enum(self, match: re.Match[str], start: int, _: int, outer: Frame) -> None:
        name = match["enum_name"]
        if name is not None:
            self._add("enum", outer, (name,), match.start("enum_name"), start, match.end("enum_end"))
        frame = self._enum_frame(match, outer)
        for one in _ENUMERATOR.finditer(self.text, *match.span("enumerators")):
            end = one.start() + len(one[0].rstrip())
            self._add("enumerator", frame, (one[1],), one.start(), one.start(), end)

    @staticmethod
    def _enum_frame(match: re.Match[str], outer: Frame) -> Frame:
        """The scope of enumerators."""
        return enumerators_frame(outer, (match["enum_name"] or "",), scoped=match["scoped"] is not None)

    def _plain_typedef(self, match: re.Match[str], start: int, end: int, outer: Frame) -> None:
        group = "typedef" if match["alias"] is None else "alias"
        template = match["template"] is not None
        self._add("typedef", outer, (match[group],), match.start(group), start, end, template=template)

    def _plain_forward(self, match: re.Match[str], start: int, _: int, outer: Frame) -> None:
        kind: Any = match["class"]
        at, end = match.start("class_name"), match.end("class_name" if match["special"] is None else "special")
        template = match["template"] is not None
        self._add(kind, outer, (match["class_name"],), at, start, end, "declaration", template=template)

    def _namespace(self, one: Plain, outer: Frame) -> Frame:
        name = one.match["namespace"]
        inline = one.match["inline"] is not None
        return self.opened(outer, name, one.match.start("namespace"), one.start, one.end, inline=inline)

    def _linkage(self, _: Plain, outer: Frame) -> Frame:
        return outer

    def _class(self, one: Plain, outer: Frame) -> Frame:
        match = one.match
        kind: Any = match["class"]
        name, bases = match.group("class_name", "bases")
        qualified, scope = placed(outer, (name,))
        self._add(
            kind, outer, (name,), match.start("class_name"), one.start, one.end,
            template=match["template"] is not None, static=outer.hidden,
        )  # fmt: skip
        if bases is not None:
            self.inherited.append((self.whole(match.start("bases")), bases.rstrip()))
        return Frame(0, "class", qualified, join(scope, name), outer.hidden, name)


_LEAVES = {
    "function": PlainReader._plain_function, "made": PlainReader._plain_made, "variable": PlainReader._plain_variable,
    "typedef": PlainReader._plain_typedef, "forward": PlainReader._plain_forward, "enum": PlainReader._plain_enum,
    "conversion": PlainReader._plain_conversion,
}  # fmt: skip
_FUNCTIONS = ("function", "made", "conversion")
_SCOPES = {"namespace": PlainReader._namespace, "linkage": PlainReader._linkage, "class": PlainReader._class}
