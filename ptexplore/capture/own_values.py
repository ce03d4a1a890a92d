"""Copies variables of this process into a file, and makes the statements that a probe reads them with.

The copies share memory as the originals do. A variable that a copy would change is left out: one that needs a class or
function of the main module, and a tensor with an autograd graph.
"""

from __future__ import annotations

import io
import pickle
import pickletools
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from msgspec import Struct

MOST = 1 << 30  # bytes of all copies.
NAME = "_values"  # the name of all values in the probe.
NotCopied = Literal["defined-here", "has-graph", "has-hooks", "no-copy", "too-large"]


class CopiedValues(Struct, frozen=True):
    """The statements that bind the copies, and the names that have none."""

    setup: tuple[str, ...] = ()
    copied: tuple[str, ...] = ()  # the names of the copies
    not_copied: tuple[tuple[str, NotCopied], ...] = ()  # each name with the reason


def copy_values(values: Mapping[str, object], folder: Path, *, grad: bool = False) -> CopiedValues:
    """Writes the values into a file in `folder`. If one of them cannot be copied, no file is written.

    `grad`: copies of floating-point tensors require grad.
    """
    torch = sys.modules.get("torch")
    modules = {name: value for name, value in values.items() if isinstance(value, ModuleType)}
    imports = [_import_of(name, value) for name, value in modules.items() if value is not torch or name != "torch"]
    data = {name: value for name, value in values.items() if name not in modules}
    refused = [(name, why) for name, value in data.items() if (why := _refused(torch, value)) is not None]
    if not data or refused:
        return CopiedValues(tuple(imports), not_copied=tuple(refused))
    written = io.BytesIO()
    if torch is not None:
        torch.save(data, written)
    else:
        pickle.dump(data, written)
    if written.tell() > MOST:
        return CopiedValues(not_copied=tuple((name, "too-large") for name in data))
    file = folder / "values"
    file.write_bytes(written.getbuffer())
    read = f"torch.load({str(file)!r}, weights_only=False)"
    if torch is None:
        read = f"__import__('pickle').load(open({str(file)!r}, 'rb'))"
    bound = [f"{name} = {NAME}[{name!r}]" for name in data]
    if grad and torch is not None:
        tensors = [name for name, value in data.items() if isinstance(value, torch.Tensor) and _can_require(value)]
        bound += [f"{name}.requires_grad_()" for name in tensors]
    return CopiedValues((*imports, f"{NAME} = {read}", *bound), tuple(data))


def _can_require(tensor: Any) -> bool:
    return bool(tensor.is_floating_point() or tensor.is_complex()) and not tensor.requires_grad


def _import_of(name: str, module: ModuleType) -> str:
    return f"import importlib; {name} = importlib.import_module({module.__name__!r})"


def _refused(torch: ModuleType | None, value: object) -> NotCopied | None:
    """Returns why a value cannot be copied as it is; None if it can."""
    written = io.BytesIO()
    pickler = _Pickler(torch, written)
    try:
        pickler.dump(value)
    except Exception:  # noqa: BLE001  (objects may raise anything when they are copied)
        is_here = getattr(value, "__module__", "") == "__main__"  # as of a lambda.
        return pickler.refused or ("defined-here" if is_here else "no-copy")
    return pickler.refused or ("defined-here" if _of_main(written.getvalue()) else None)


class _Pickler(pickle.Pickler):
    """Reads an object as a copy would, without the memory of its tensors."""

    def __init__(self, torch: ModuleType | None, file: io.BytesIO) -> None:
        super().__init__(file, protocol=4)
        self._torch = torch
        self.refused: NotCopied | None = None

    def persistent_id(self, value: object) -> object:
        """Returns an id for a tensor's memory, which is not looked at."""
        torch = self._torch
        if torch is None:
            return None
        if isinstance(value, torch.Tensor):
            if value.grad_fn is not None:
                self.refused = "has-graph"
            elif getattr(value, "_backward_hooks", None):
                self.refused = "has-hooks"
            return None if type(value) not in (torch.Tensor, torch.nn.Parameter) else ("tensor", id(value))
        return None


def _of_main(written: bytes) -> bool:
    """Whether a copy needs a class or function of the main module, which the probe does not have."""
    return any("__main__" in str(argument) for code, argument, _ in pickletools.genops(written) if argument is not None)
