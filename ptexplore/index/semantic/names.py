"""Qualified names of libclang's declarations, as `Symbol.qualified` has them."""

from __future__ import annotations

from ptexplore.index.semantic.clang import NAMESPACE, TRANSLATION_UNIT, Clang, Cursor

_CAPABILITIES = frozenset(("CPU_CAPABILITY", "DEFAULT"))  # what the namespace is called, undefined or in our parse


class UnitNames:
    """Names of one unit's declarations, each asked for once."""

    def __init__(self, clang: Clang) -> None:
        self._clang = clang
        self._known: dict[int, tuple[str, str]] = {}
        self._signed: dict[int, tuple[str, str]] = {}

    def of(self, cursor: Cursor) -> tuple[str, str]:
        """(last part, qualified name); anonymous and inline namespaces and CPU_CAPABILITY are looked through."""
        key = cursor.data[0] or 0
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._make(cursor)
        return known

    def signed(self, function: Cursor) -> tuple[str, str]:
        """As `of`, the qualified name with the parameters' types: "at::add(const Tensor &, int)"."""
        key = function.data[0] or 0
        known = self._signed.get(key)
        if known is None:
            name, qualified = self.of(function)
            lib = self._clang.lib
            spelled = self._clang.text(lib.clang_getCursorSpelling(function))
            shown = self._clang.text(lib.clang_getCursorDisplayName(function))
            rest = shown[len(spelled) :] if shown.startswith(spelled) else ""
            known = self._signed[key] = name, qualified + rest[rest.find("(") :] if "(" in rest else qualified
        return known

    def _make(self, cursor: Cursor) -> tuple[str, str]:
        name = self._clang.text(self._clang.lib.clang_getCursorSpelling(cursor))
        if not name.startswith(("operator", "(")):  # a template's constructor is spelled with parameters: "Foo<T>"
            name = name.partition("<")[0]
        outer = self._outer(cursor)
        return name, f"{outer}::{name}" if outer else name

    def _outer(self, cursor: Cursor) -> str:
        """The qualified name of what a declaration is in; "" at the top."""
        lib = self._clang.lib
        parent = lib.clang_getCursorSemanticParent(cursor)
        if parent.kind == TRANSLATION_UNIT or 70 <= parent.kind <= 73:
            return ""
        name, qualified = self.of(parent)
        if parent.kind == NAMESPACE and (
            not name
            or name.startswith("(")
            or name in _CAPABILITIES
            or lib.clang_Cursor_isInlineNamespace(parent)
            or lib.clang_Cursor_isAnonymous(parent)
        ):
            return self._outer(parent)
        return qualified
