"""The words that ptexplore shows, each with its meaning in Markdown. docs/glossary.md and the site have them."""

from __future__ import annotations

GLOSSARY: dict[str, str] = {
    "operator": (
        "a function that PyTorch's dispatcher knows, for example `aten::add`. Each **overload** "
        "(`aten::add.Tensor`) has a **schema**: its arguments and its result"
    ),
    "binding": "the C function that Python calls. It converts the arguments and calls the operator",
    "dispatch key": (
        "a property of a call by which its kernel is chosen: a backend (`CPU`), a layout (`SparseCPU`), a "
        "functionality (autograd: `AutogradCPU`). A tensor has a **key set**, and the thread has two more: "
        "keys to include and keys to exclude"
    ),
    "kernel": "the function that runs for an operator and a dispatch key",
    "redispatch": "a kernel calls its operator again without its own key, so the next dispatch key is taken",
    "composite": "a kernel that calls other operators, so it can be used for many dispatch keys",
    "structured kernel": "a kernel in two parts: `meta` sets up the result, `impl` computes it",
    "stub": (
        "a table from device and processor to a kernel function. It chooses, for example, the AVX2 code of `add_kernel`"
    ),
    "node": (
        "a function of the autograd graph, for example `MulBackward0`. Forward records it, and the **engine** "
        "runs it in backward"
    ),
    "storage": "the block of bytes of a tensor. A **view** is another tensor on the same storage",
    "trace": (
        "the record of what ran. It can be saved in a file (any name, `.trace` or `.json`) and shown again. "
        "In Python it is a `Trace`"
    ),
    "row": (
        "a line of a view: a call, or several equal ones. **share**: its part of the instructions (of a "
        "program: of the time), including all calls inside. **self**: its part without the inner rows"
    ),
    "hop": "one step of a trace, with a number: `--explain N` shows the observations behind it",
    "stepped": "run instruction by instruction, so that every function is seen",
    "kind": "in a program: calls of one operator with the same argument types and the same operators inside",
    "graph": (
        "the operators of a function, or of a part of it, that `torch.compile` compiles together. **Dynamo** "
        "reads the Python code and makes the graph"
    ),
    "graph break": (
        "a line where a graph ends: Dynamo cannot go on, so Python runs this line. The code after it is a "
        "further **part**, with a graph of its own"
    ),
    "guard": (
        "a condition that a compiled function checks before it runs. If no compiled version fits, the "
        "function is compiled again: a **recompilation**"
    ),
    "place": (
        "a file and a line. Its **precision** says how sure it is: `~` is a line of another version, `?` is not known"
    ),
    "installed torch": (
        "the torch in your Python environment, as pip installed it (the wheel). `runtime` is its name in `--tree`"
    ),
    "checkout": "a source tree of PyTorch: downloaded by `ptexplore fetch`, or a folder that you gave to it",
    "atlas": "names and lines of PyTorch 2.6.0 that come with ptexplore, without text",
    "generated code": "C++ that PyTorch's build makes. ptexplore makes it again from the wheel",
    "tour": "a guided way through the source. A **stop** is one place of it, a **lab** a small experiment",
    "note": (
        "a text about a place in the source. Its **anchor** finds the place again in other versions, or says "
        "that it is lost"
    ),
}
