"""Name the calls of Python: each code object and builtin is looked at once, and then has one label."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from types import CodeType, FrameType, FunctionType
from typing import Any

import torch

from . import last_words, unpatched, whose
from . import torch_api as api
from .cuts import CutList
from .frames import PROCESSES, spawns
from .paths import Label
from .stacks import Thread
from .taken import os, sys

# Functions of torch that have rows, by the folder or file inside torch/. `facts/timed_functions.py` has the same table.
TIMED = (
    ("optim/", ("step", "zero_grad", "__init__")),
    ("amp/grad_scaler.py", ("scale", "unscale_", "step", "update")),
    ("nn/utils/clip_grad.py", ("clip_grad_norm_", "clip_grad_value_")),
    ("nn/modules/module.py", ("zero_grad",)),
    ("utils/data/", ("__next__",)),
    ("_tensor.py", ("backward",)),
    ("autograd/__init__.py", ("backward", "grad")),
)
# Functions that compile: Dynamo's for one frame, and Inductor's, which a first backward may call later.
COMPILERS = (
    ("_dynamo/convert_frame.py", ("_compile",)),
    ("_inductor/compile_fx.py", ("bw_compiler",)),
)
# How the name of the global begins that holds a compiled graph. Dynamo's code for a function of yours calls it.
# Source: OutputGraph.compile_and_call_fx_graph of torch/_dynamo/output_graph.py.
_COMPILED_GRAPH = re.compile(r"__compiled_fn_\d").match
DECORATORS = 20  # wrappers around a forward that are looked through: wrappers may refer to each other in a circle.
INSIDE_A_MODULE = torch.nn.Module._call_impl.__code__  # not a row: the call of a module is one row, with its hooks


class Labels:
    """The labels of one recording. None: no path, as for Python's own code, other packages and ptexplore itself.

    `by_code` and `by_builtin` are read at each call. If they lack an entry, `of_code` or `builtin` makes it. `by_code`
    has labels by the id of a code object: a look-up by the object itself hashes its constants and compares its bytes.
    """

    __slots__ = ("_by_equal", "_by_method", "_by_module", "_by_table", "_cuts", "_user_files", "by_builtin", "by_code")

    def __init__(self, user_files: Iterable[str], cuts: CutList) -> None:
        self._user_files = frozenset(map(whose.real, user_files))
        self._cuts = cuts
        self.by_code: dict[int, Label | None] = {}
        # Keeps the code objects alive whose ids are known. Equal code objects of two files are different functions.
        self._by_equal: dict[tuple[CodeType, str], Label | None] = {}
        self.by_builtin: dict[Any, Label | None] = {}
        self._by_table: dict[tuple[str, str], Label] = {}  # builtins, by table and method
        self._by_method: dict[tuple[Label, type], Label] = {}  # methods, by label and class
        self._by_module: dict[tuple[str, type], Label] = {}

    def of_code(self, code: CodeType, frame: FrameType | None = None) -> Label | None:
        """Returns the label of a function that `by_code` may lack. `frame` is its first call.

        A program may compile the same text again and again. Of equal code objects only the first one is kept.
        """
        key = code, code.co_filename
        if key not in self._by_equal:
            self._by_equal[key] = self.by_code[id(code)] = self._classified(code, frame)
        return self._by_equal[key]

    def known(self, code: CodeType) -> Label | None:
        """Returns the label of a function that was called before; None also if it was not."""
        number = id(code)
        return self.by_code[number] if number in self.by_code else self._by_equal.get((code, code.co_filename))

    def _classified(self, code: CodeType, frame: FrameType | None) -> Label | None:
        """Returns the label of a function; None for Python's own, other packages', comprehensions and ptexplore's.

        `frame` is its first call. A function of an installed package has a label if your code calls it. If the
        `forward` of a package calls it, its module must use torch. Examples are the `fit` of a trainer and the `step`
        of an environment.
        """
        file, name = code.co_filename, code.co_name
        if code is api.MODULE_CALL:
            return Label("module", "")
        if code is INSIDE_A_MODULE or (name.startswith("<") and name not in ("<module>", "<lambda>")):
            return None
        if not code.co_flags & inspect.CO_NEWLOCALS and name != "<module>":
            return None  # the body of a class
        qualname = getattr(code, "co_qualname", name)  # new in Python 3.11
        if file.startswith(whose.OURS) or (file.startswith("<") and not file.startswith(whose.TYPED)):
            return None  # code that a program made: a dataclass's methods, a compiler's functions
        guards = api.may_guard(code)
        if file.startswith(api.TORCH_DIR + os.sep):
            compiles = _is_in(COMPILERS, file, name)
            is_timed = compiles or _is_in(TIMED, file, name)
            return Label("torch", qualname, file, code.co_firstlineno, timed=is_timed, compiles=compiles, guards=guards)
        is_package = whose.is_library(file) and whose.real(file) not in self._user_files
        if name != "forward" and is_package:
            return Label("library", qualname, file, code.co_firstlineno, guards=guards) if self._enters(frame) else None
        return Label(
            "user", qualname, file, code.co_firstlineno, guards=guards, code=code,
            package=is_package or _is_of_inductor(frame), compiled=any(map(_COMPILED_GRAPH, code.co_names)),
        )  # fmt: skip

    def _enters(self, frame: FrameType | None) -> bool:
        """Returns whether a call of a library's function leads from your code into the library."""
        back = frame.f_back if frame is not None else None
        label = self.known(back.f_code) if back is not None else None
        if frame is None or label is None or label.kind != "user":
            return False
        return frame.f_globals.get("torch") is torch or (
            not label.package and whose.is_installed(frame.f_code.co_filename)
        )

    def by_user(self, frame: FrameType) -> bool:
        """Returns whether a function of yours called this function."""
        back = frame.f_back
        label = self.known(back.f_code) if back is not None else None
        return label is not None and label.kind == "user"

    def builtin(self, builtin: Any) -> Label | None:
        """Returns the label of a builtin that the program is about to call, or None."""
        if builtin is last_words.EXIT:  # the first call is the only one: it does not return
            last_words.exits(sys._getframe(1))
        if spawns(builtin):
            self._cuts.add(PROCESSES)
        known = api.identify(builtin)
        if known is None:
            return None
        label = self._by_table.get(known)
        if label is None:
            table, method = known
            internal = api.is_internal(table)  # it gets a path without a name: it may change the thread-local sets
            name = "" if internal else api.public_name(table, method)
            label = self._by_table[known] = Label("builtin", name, table=table, method=method)
        return label

    def of_class(self, frame: FrameType, label: Label) -> Label:
        """Returns the label of a method together with the class of the object that it is called on."""
        owner = frame.f_locals.get("self")
        if owner is None:
            return label
        known = self._by_method.get((label, type(owner)))
        if known is None:
            with unpatched.ours():
                known = self._by_method[label, type(owner)] = replace(label, type=api.qualname_of(type(owner)))
        return known

    def module(self, thread: Thread, frame: FrameType) -> Label:
        """Returns the label of a module. The label has the name in the outermost running module, which itself is ""."""
        module = frame.f_locals.get("self")
        kind = type(module)
        place, outermost = thread.outermost
        if place >= len(thread.stack) or thread.stack[place] is not outermost:  # no module is open
            thread.names = {}
        held = thread.names.get(id(module))
        if held is None and not thread.names and isinstance(module, torch.nn.Module):
            thread.names = api.module_names(module)
            held = thread.names.get(id(module))
        name = held[1] if held is not None and held[0] is module else "?"
        known = self._by_module.get((name, kind))
        if known is None:
            forward = getattr(_without_decorators(getattr(kind, "forward", None)), "__code__", None)
            file, first = (forward.co_filename, forward.co_firstlineno) if forward is not None else (None, None)
            known = Label("module", name, file, first, type=api.qualname_of(kind))
            self._by_module[name, kind] = known
        return known


def _is_of_inductor(frame: FrameType | None) -> bool:
    """Returns whether Inductor generated this function. Its file is in a cache outside torch, its module inside."""
    name = frame.f_globals.get("__name__") if frame is not None else None
    return type(name) is str and name.startswith("torch._inductor.")


def _is_in(table: Iterable[tuple[str, tuple[str, ...]]], file: str, name: str) -> bool:
    """Returns whether a table has a function of torch."""
    inside = file.removeprefix(api.TORCH_DIR + os.sep).replace(os.sep, "/")
    return any(name in names and (inside.startswith(path) if path[-1] == "/" else inside == path)
               for path, names in table)  # fmt: skip


def _without_decorators(forward: Any) -> Any:
    """Returns the `forward` that decorators wrapped, so that its module is at the place of the `def`."""
    for _ in range(DECORATORS):
        if not isinstance(forward, FunctionType) or forward.__code__.co_name == "forward":
            break
        wrapped = forward.__dict__.get("__wrapped__") or _forward_in_closure(forward)
        if wrapped is None:
            break
        forward = wrapped
    return forward


def _forward_in_closure(wrapper: FunctionType) -> FunctionType | None:
    """Returns the only `forward` in a wrapper's closure. A decorator without functools.wraps leaves no other link."""
    held = []
    for cell in wrapper.__closure__ or ():
        with suppress(ValueError):  # the cell is empty
            held.append(cell.cell_contents)
    named = [each for each in held if isinstance(each, FunctionType) and each.__code__.co_name == "forward"]
    return named[0] if len(named) == 1 else None
