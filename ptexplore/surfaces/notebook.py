"""The IPython extension: `%load_ext ptexplore` adds `%ptexplore`, `%%ptexplore`, and completion of operators.

`%ptexplore EXPR` traces an expression with the variables of the notebook. If copies of them give the same, it runs in a
process of its own, stepped. Else it runs in the kernel, recorded. `%%ptexplore` records a cell in the kernel.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from types import FunctionType
from typing import TYPE_CHECKING, Any, NoReturn

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand
from IPython.display import display

from ptexplore.errors import USAGE, PtexploreError

if TYPE_CHECKING:
    from types import CodeType

    from IPython.core.interactiveshell import InteractiveShell

    from ptexplore.api.questions import PublicWorkspace
    from ptexplore.api.recording import PublicRecording
    from ptexplore.api.trace import PublicTrace

EXAMPLE = "%ptexplore --grad torch.add(a, b)"
MOST = 50  # completions.
_IN_A_CALL = re.compile(r"\b(?:op|show|find|refs)\(\s*[\"']([\w.:]*)$")
_VALUE = "_ptexplore_value"  # the value of a cell's last line, while the cell runs.


class _Options(argparse.ArgumentParser):
    """Reads the options before an expression. An error is a usage error of the magic."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"%ptexplore: {message}. {self.format_usage().strip()}")


def _options() -> _Options:
    parser = _Options(prog="ptexplore", add_help=False, allow_abbrev=False, usage=EXAMPLE.replace("%", "%%"))
    for flag in ("--grad", "--backward", "--no-native", "--kernel"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--timeout", type=float, default=60.0)
    return parser


@magics_class
class PtexploreMagics(Magics):
    """The magics."""

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        self._shell = shell
        self._opened: PublicWorkspace | None = None

    @property
    def workspace(self) -> PublicWorkspace:
        """The workspace of the notebook, opened at the first use."""
        if self._opened is None:
            from ptexplore.api.questions import PublicWorkspace

            self._opened = PublicWorkspace()
        return self._opened

    @no_var_expand  # braces and dollars in an expression are Python's.
    @line_cell_magic
    def ptexplore(self, line: str, cell: str | None = None) -> PublicTrace | None:
        """Trace an expression with the notebook's variables; as a cell magic, record the cell.

        --grad       tensors require grad (in their copies)
        --backward   also run backward from the result
        --no-native  do not step through the machine code
        --kernel     run in the kernel, recorded, even if the variables can be copied
        --timeout N  seconds for the process of its own
        """
        options, expression = _read(line)
        try:
            if cell is None:
                return self._trace(options, expression)
            self._record_cell(options, expression, cell)
        except PtexploreError as error:
            raise UsageError("\n".join(_three_parts(error))) from None
        return None

    def _trace(self, options: argparse.Namespace, expression: str) -> PublicTrace:
        from ptexplore.api.trace import PublicTrace
        from ptexplore.capture.own_values import copy_values
        from ptexplore.temporary import temporary_folder
        from ptexplore.view.words.notebook import ran_in_kernel, ran_on_copies, why_in_kernel

        names = self._names(expression)
        with temporary_folder("notebook") as folder:
            copied = copy_values({name: self._variables[name] for name in names}, folder, grad=options.grad)
            if not copied.not_copied and not options.kernel:
                trace = self.workspace.trace(
                    expression, setup=copied.setup, grad=options.grad, backward=options.backward,
                    native=not options.no_native, timeout=options.timeout,
                )  # fmt: skip
                _say(ran_on_copies(copied.copied))
                return trace
        if options.grad or options.backward:
            why = f"the expression runs in the kernel: {why_in_kernel(copied.not_copied) or '--kernel was given'}"
            hint = "write requires_grad_() or backward() in the expression"
            raise PtexploreError("--grad and --backward would change your variables", why, hint, USAGE)
        recording = self.workspace.record()
        with suppress(Exception):  # the trace has the error.
            self._call(recording, compile(expression, self._file(expression), "eval"), "expression")
        _say(ran_in_kernel(copied.not_copied))
        trace = recording.trace
        return PublicTrace(replace(trace.record, expression=expression), trace.session)

    def _record_cell(self, options: argparse.Namespace, expression: str, cell: str) -> None:
        if expression or options.grad or options.backward:
            raise PtexploreError("%%ptexplore takes no expression", "it records the cell", "%%ptexplore", USAGE)
        from ptexplore.view.words.notebook import ran_in_kernel

        text = self._shell.transform_cell(cell)  # type: ignore[no-untyped-call]
        file = self._file(text)
        tree = ast.parse(text, file)
        last = tree.body[-1] if tree.body else None
        if isinstance(last, ast.Expr):  # as in other cells, its value is shown.
            kept = ast.Assign([ast.Name(_VALUE, ast.Store())], last.value)
            tree.body[-1] = ast.fix_missing_locations(ast.copy_location(kept, last))
        recording = self.workspace.record()
        try:
            self._call(recording, compile(tree, file, "exec"), f"cell {self._shell.execution_count}")
        finally:
            value = self._variables.pop(_VALUE, None)
            if value is not None:
                display(value)  # type: ignore[no-untyped-call]
            _say(ran_in_kernel(()))
            display(recording.trace)  # type: ignore[no-untyped-call]

    def _call(self, recording: PublicRecording, code: CodeType, name: str) -> None:
        """Runs code in the notebook's variables as a function, so that the trace begins with the code's own lines."""
        function = FunctionType(code, self._variables, name)
        function.__qualname__ = name
        recording(function)()

    @property
    def _variables(self) -> dict[str, Any]:
        variables: dict[str, Any] = self._shell.user_ns
        return variables

    def _file(self, text: str) -> str:
        """Returns the name that IPython gives to code, under which a trace finds its lines."""
        name: str = self._shell.compile.cache(text)
        return name

    def _names(self, expression: str) -> list[str]:
        """Returns the notebook's variables in an expression. Raises PtexploreError if it is not one expression."""
        if not expression:
            raise PtexploreError("there is no expression", "the line has only options", EXAMPLE, USAGE)
        try:
            tree = ast.parse(expression, mode="eval")
        except SyntaxError as error:
            raise PtexploreError("this is not one expression", str(error.msg), EXAMPLE, USAGE) from None
        nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
        names = [node.id for node in sorted(nodes, key=lambda node: (node.lineno, node.col_offset))]
        return [name for name in dict.fromkeys(names) if name in self._variables]


def _read(line: str) -> tuple[argparse.Namespace, str]:
    """Returns the options at the beginning of a line, and the rest of it."""
    words = line.strip()
    given: list[str] = []
    while match := re.match(r"(--[a-z-]+(?:=\S+)?)(?:\s+|$)", words):
        given.append(match[1])
        words = words[match.end() :]
        if match[1] == "--timeout":
            value, _, words = words.partition(" ")
            given.append(value)
    if words.startswith("-- "):
        words = words[3:]
    return _options().parse_args(given), words.strip()


def _say(text: str) -> None:
    """Shows a line above the trace. A printed line might come after it."""
    from ptexplore.render.html.notebook import remark

    display({"text/plain": text, "text/html": remark(text)}, raw=True)  # type: ignore[no-untyped-call]


def _three_parts(error: PtexploreError) -> list[str]:
    parts = (("", error.message), ("why: ", error.why), ("try: ", error.hint))
    return [f"{label}{text}" for label, text in parts if text]


def complete_operators(text: str, line: str) -> Sequence[str]:
    """Returns operators that complete the text in the call of a question: `ptexplore.op("add.Te`."""
    match = _IN_A_CALL.search(line)
    if match is None:
        return []
    from ptexplore.workspace.completions import names

    typed = match[1]
    before = typed[: len(typed) - len(text)] if typed.endswith(text) else ""
    return [name[len(before) :] for name in names(("op",), typed, MOST) if name.startswith(before)]


def load(shell: InteractiveShell) -> None:
    """Adds the magics and the completion to a shell."""
    shell.register_magics(PtexploreMagics(shell))

    def complete(text: str) -> list[str]:
        return list(complete_operators(text, shell.Completer.text_until_cursor))

    shell.Completer.custom_matchers.append(complete)
