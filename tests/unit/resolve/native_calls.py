"""Call trees for tests, written as indented names; the observation that capture would make of them."""

from __future__ import annotations

from typing import Any

from ptexplore.model.observed import SavedObservation, SteppedCalls
from ptexplore.model.operators import DispatchKey
from ptexplore.resolve.keyset import KeySets
from ptexplore.resolve.native import call_tree

DENSE, VIEW, AUTOGRAD = 1 << 4, 1 << 5, 1 << 6
KEYS = KeySets(
    {
        "CPU": DispatchKey("CPU", DENSE | 1, 0),
        "ADInplaceOrView": DispatchKey("ADInplaceOrView", VIEW, DENSE | 1),
        "AutogradCPU": DispatchKey("AutogradCPU", AUTOGRAD | 1, VIEW | DENSE | 1),
    },
    2,
)


def functor(kernel: str, returned: str = "at::Tensor") -> str:
    """The demangled name of the boundary in front of a kernel that was known when compiling."""
    kind = f"{returned} (at::Tensor const&)"
    wrapped = (
        f"c10::impl::detail::WrapFunctionIntoFunctor_<c10::CompileTimeFunctionPointer<{kind}, &{kernel}>, {kind} >"
    )
    name = f"c10::impl::wrap_kernel_functor_unboxed_<{wrapped}, {kind}>::call"
    return f"{name}(c10::OperatorKernel*, c10::DispatchKeySet, at::Tensor const&)"


def calls(text: str, **more: Any) -> dict[str, Any]:
    """The data of a "calls" observation: a line a call, one space a level; `name | rdi rsi rdx` gives it registers.

    A line that begins with "~" is a tail call, one with "@lib" is of that library, which is closed; "$file:line name"
    is a Python function, and what ends with " as name" was called by that name from Python.
    """
    data: dict[str, Any] = {"functions": [], "function": [], "depth": [], "begin": [], "end": [], "tail": []}
    registers: dict[str, list[int]] = {}
    codes: dict[str, Any] = {}
    builtins: dict[str, str] = {}
    lines = [line for line in text.splitlines() if line.strip()]
    depths = [len(line) - len(line.lstrip(" ")) for line in lines]
    for number, (line, depth) in enumerate(zip(lines, depths, strict=True)):
        name, _, given = line.strip().partition(" | ")
        name, _, builtin = name.partition(" as ")
        if builtin:
            builtins[str(number)] = builtin
        if name.startswith("~"):
            data["tail"].append(number)
        library, _, rest = name.lstrip("~").partition(" ") if "@" in name else ("libtorch_cpu.so", "", name.lstrip("~"))
        row = [library.removeprefix("@"), "function", f"_Z{rest}", rest]
        if name.startswith("$"):
            file, line_number, function = name[1:].replace(":", " ").split()
            row = ["", "python", "", name]
            code = {"file": file, "line": int(line_number), "name": function, "qualname": function}
        if row not in data["functions"]:
            data["functions"].append(row)
        if name.startswith("$"):
            codes[str(data["functions"].index(row))] = code
        after = next((n for n in range(number + 1, len(lines)) if depths[n] <= depth), len(lines))
        data["function"].append(data["functions"].index(row))
        data["depth"].append(depth)
        data["begin"].append(number * 10)
        data["end"].append(after * 10)
        if given:
            registers[str(number)] = [int(one, 16) for one in given.split()]
    closed = {row[0]: 1 for row in data["functions"] if row[0] not in ("", "libtorch_cpu.so")}
    data |= {"registers": registers, "closed": closed, "instructions": 10 * len(lines)}
    data |= {"codes": codes, "builtins": builtins, "ordered": bool(codes)}
    return {"part": "forward", "cut": None, **data, **more}


def part(observation: int, data: dict[str, Any]) -> call_tree.SteppedPart:
    """The tree of the calls that a "calls" observation holds."""
    calls = SavedObservation(observation, "native", "calls", data).as_seen().data
    assert isinstance(calls, SteppedCalls)
    return call_tree.part(calls)
