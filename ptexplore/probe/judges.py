"""The judges of exercises: random cases, and what the real PyTorch gives for each.

The cases are made before the solution runs, the answers after it: while a solution runs, no answer exists anywhere.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import inspect
import io
import random
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, List, Optional, Tuple  # noqa: UP035, the hints that infer_schema of every release knows

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.nn.modules import module as module_hooks
from torch.utils.data import default_collate

from . import torch_api as api
from .cached_blocks import by_rules, placed, rules_of
from .loader_clock import loaded

Case = dict[str, Any]  # the arguments of the solution's function, by name; plain JSON


class Judge:
    """One exercise: how cases are made, and what PyTorch gives for a case.

    `rules_of` returns the release whose rules, written in Python, gave the answers; "" if PyTorch itself did.
    """

    def __init__(
        self,
        make: Callable[[random.Random], Case],
        answer: Callable[[Case], Any],
        cases: int,
        rules_of: Callable[[], str] = str,
    ) -> None:
        self.make = make
        self.answer = answer
        self.cases = cases
        self.rules_of = rules_of


# --- view: strides of a new shape ---


def view_case(draw: random.Random) -> Case:
    """Returns sizes, strides and a new shape with as many elements. No size is 0."""
    sizes = [draw.choice((1, 2, 2, 3, 4, 6)) for _ in range(draw.choice((1, 2, 3, 3, 4)))]
    strides, step = [0] * len(sizes), 1
    order = list(range(len(sizes)))
    if draw.random() < 0.7:
        draw.shuffle(order)  # as after a permute
    for dimension in reversed(order):
        strides[dimension] = step
        step *= sizes[dimension] * draw.choice((1, 1, 1, 2))  # 2: as after a slice
    if draw.random() < 0.3:
        strides[draw.randrange(len(strides))] = draw.choice((0, 1, 5))  # as after an expand, or as_strided
    return {"sizes": sizes, "strides": strides, "shape": _shape(draw, sizes)}


def _shape(draw: random.Random, sizes: list[int]) -> list[int]:
    """Returns a shape with as many elements: neighbours are merged, sizes are split, ones are put in."""
    shape = list(sizes)
    for _ in range(draw.randint(0, 3)):
        at = draw.randrange(len(shape))
        way = draw.random()
        if way < 0.4 and at + 1 < len(shape):
            shape[at : at + 2] = [shape[at] * shape[at + 1]]
        elif way < 0.8:
            factors = [n for n in range(1, shape[at] + 1) if shape[at] % n == 0]
            first = draw.choice(factors)
            shape[at : at + 1] = [first, shape[at] // first]
        else:
            shape.insert(at, 1)
    if draw.random() < 0.3:
        draw.shuffle(shape)
    return shape


def view_answer(case: Case) -> list[int] | None:
    """Returns the strides of the view, or None if PyTorch refuses."""
    tensor = torch.empty_strided(case["sizes"], case["strides"], dtype=torch.uint8)
    try:
        return list(tensor.view(case["shape"]).stride())
    except RuntimeError:
        return None


# --- dispatch: which kernel is called ---

KERNELS = (
    "CPU", "Meta", "BackendSelect", "ADInplaceOrView", "AutogradCPU", "AutogradMeta", "Autograd", "AutocastCPU",
    "CompositeExplicitAutograd", "CompositeImplicitAutograd",
)  # fmt: skip
FALLING = ("BackendSelect", "ADInplaceOrView", "AutogradCPU", "AutogradMeta", "AutocastCPU")
EXCLUDED = ("AutogradCPU", "AutogradMeta", "ADInplaceOrView", "BackendSelect")
TENSORS = {"cpu": ("cpu",), "meta": ("meta",), "both": ("cpu", "meta")}


def dispatch_case(draw: random.Random) -> Case:
    """Returns an operator's registrations, and the key sets of a call: of each tensor, included and excluded."""
    registered = {key: "kernel" for key in KERNELS if draw.random() < 0.35}
    for key in FALLING:
        if draw.random() < 0.15:
            registered[key] = "fallthrough"
    excluded = [] if draw.random() < 0.4 else ["AutocastCPU"]
    excluded += [key for key in EXCLUDED if draw.random() < 0.15]
    devices = TENSORS[draw.choice(tuple(TENSORS))]
    tensors = [api.key_set(torch.empty(1, device=device))[1] for device in devices]
    return {
        "registered": registered, "tensors": tensors, "included": ["BackendSelect", "ADInplaceOrView"],
        "excluded": excluded,
    }  # fmt: skip


class CaseOperators:
    """Operators that were made for cases, one for each set of registrations. They live as long as this object."""

    def __init__(self) -> None:
        self._library = torch.library.Library("ptexplore_judge", "DEF")
        self._names: dict[tuple[tuple[str, str], ...], str] = {}
        self._ran: list[str] = []

    def answer(self, case: Case) -> str | None:
        """Returns the key of the first kernel of the operator that ran, or None if the dispatcher raised an error."""
        registered: Mapping[str, str] = case["registered"]
        name = self._operator(tuple(sorted(registered.items())))
        devices = ["meta" if "Meta" in keys else "cpu" for keys in case["tensors"]]
        values = [torch.empty(1, device=device) for device in devices]
        self._ran.clear()
        with api.excluding(case["excluded"], instead_of=("AutocastCPU",)):
            try:
                getattr(torch.ops.ptexplore_judge, name)(values)
            except (RuntimeError, NotImplementedError):
                return self._ran[0] if self._ran else None
        return self._ran[0] if self._ran else None

    def _operator(self, registered: tuple[tuple[str, str], ...]) -> str:
        if registered not in self._names:
            name = f"op{len(self._names)}"
            self._names[registered] = name
            self._library.define(f"{name}(Tensor[] x) -> Tensor")
            # torch.library refuses a kernel for Meta after one for CompositeImplicitAutograd.
            for key, kind in sorted(registered, key=lambda entry: entry[0] != "Meta"):
                kernel = torch.library.fallthrough_kernel if kind == "fallthrough" else self._kernel(key)
                self._library.impl(name, kernel, key)
        return self._names[registered]

    def _kernel(self, key: str) -> Callable[[list[torch.Tensor]], torch.Tensor]:
        def kernel(x: list[torch.Tensor]) -> torch.Tensor:
            self._ran.append(key)
            return x[0]

        return kernel


# --- engine: the order of nodes in backward ---


THREADS = 3
APART = 100_000  # nodes of one thread before the numbers of the next thread begin: no two numbers are equal


def engine_case(draw: random.Random) -> Case:
    """Returns a graph: for each node, in the order of the forward pass, where its one or two inputs come from.

    A number is an earlier node, a text ("a0") a leaf. Backward begins at the last node. `numbers` are in the order of
    the sequence numbers: several threads made the graph, so they do not always rise.
    """
    leaves = [f"a{number}" for number in range(draw.randint(1, 3))]
    nodes: list[list[int | str]] = []
    for number in range(draw.randint(1, 9)):
        sources: list[int | str] = [*leaves, *range(number), *range(max(0, number - 3), number)]
        nodes.append([draw.choice(sources) for _ in range(draw.choice((1, 2, 2)))])
    threads = draw.randint(1, THREADS)
    return {"nodes": nodes, "numbers": [draw.randrange(threads) * 100 + number for number in range(len(nodes))]}


class GraphThreads:
    """Threads that make the nodes of graphs. Each thread counts the sequence numbers of its nodes by itself."""

    def __init__(self) -> None:
        self._workers = [ThreadPoolExecutor(1) for _ in range(THREADS)]
        for number, worker in enumerate(self._workers):
            worker.submit(_spend, number * APART).result()

    def answer(self, case: Case) -> list[int | str]:
        """Returns the order in which the nodes and the leaves' accumulators run."""
        leaves: dict[str, torch.Tensor] = {}
        values: list[torch.Tensor] = []
        ran: list[int | str] = []
        accumulators = []
        for number, (sources, sequence) in enumerate(zip(case["nodes"], case["numbers"], strict=True)):
            inputs = [
                values[source]
                if isinstance(source, int)
                else leaves.setdefault(source, torch.ones(1, requires_grad=True))
                for source in sources
            ]
            make = torch.neg if len(inputs) == 1 else torch.add
            made = self._workers[sequence // 100].submit(make, *inputs).result()
            made.grad_fn.register_prehook(_noting(ran, number))
            for source, (node, _input) in zip(sources, made.grad_fn.next_functions, strict=True):
                if isinstance(source, str) and node not in accumulators:
                    node.register_prehook(_noting(ran, source))
                    accumulators.append(node)  # an accumulator lives as long as somebody holds it
            values.append(made)
        values[-1].backward()
        return ran


def _spend(count: int) -> None:
    """Makes nodes in this thread, so that its next node has a higher number."""
    leaf = torch.ones(1, requires_grad=True)
    for _ in range(count):
        torch.neg(leaf)


def _noting(ran: list[int | str], name: int | str) -> Callable[[Any], None]:
    def note(_gradients: Any) -> None:
        ran.append(name)

    return note


# --- saved: versions of saved tensors ---


def saved_case(draw: random.Random) -> Case:
    """Returns steps: tensors that alias each other, writes, and saved tensors that are used later."""
    steps: list[list[str]] = [["new", "t0"]]
    tensors, saved = ["t0"], 0
    for _ in range(draw.randint(3, 12)):
        step = draw.choice(("new", "view", "detach", "data", "clone", "write", "write", "save", "save", "use"))
        if step == "write":
            steps.append([step, draw.choice(tensors)])
        elif step == "save":
            steps.append([step, f"s{saved}", draw.choice(tensors)])
            saved += 1
        elif step == "use" and saved:
            steps.append([step, f"s{draw.randrange(saved)}"])
        elif step != "use":
            name = f"t{len(tensors)}"
            steps.append([step, name] if step == "new" else [step, name, draw.choice(tensors)])
            tensors.append(name)
    steps += [["use", f"s{number}"] for number in range(saved)]
    return {"steps": steps}


_VERSIONS = re.compile(r"is at version (\d+); expected version (\d+)")


def saved_answer(case: Case) -> list[list[int] | None]:
    """Returns, for each use, None if backward may read the tensor; else the version now, and the version saved."""
    weight = torch.ones(4, requires_grad=True)
    tensors: dict[str, torch.Tensor] = {}
    products: dict[str, torch.Tensor] = {}
    ways: Mapping[str, Callable[[torch.Tensor], torch.Tensor]] = {
        "view": lambda t: t.view(4), "detach": lambda t: t.detach(), "data": lambda t: t.data,
        "clone": lambda t: t.clone(),
    }  # fmt: skip
    answers: list[list[int] | None] = []
    for step, name, *source in case["steps"]:
        if step == "new":
            tensors[name] = torch.ones(4)
        elif step == "write":
            tensors[name].add_(1)
        elif step == "save":
            products[name] = (weight * tensors[source[0]]).sum()
        elif step == "use":
            answers.append(_versions(products[name]))
        else:
            tensors[name] = ways[step](tensors[source[0]])
    return answers


def _versions(product: torch.Tensor) -> list[int] | None:
    try:
        product.backward(retain_graph=True)
    except RuntimeError as error:
        versions = _VERSIONS.search(str(error))
        if versions is None:
            raise
        return [int(versions[1]), int(versions[2])]
    return None


# --- asked: whose __torch_function__ is called ---


def asked_case(draw: random.Random) -> Case:
    """Returns classes with their bases, which of them give an answer, and the arguments of a call by class."""
    classes: dict[str, str | None] = {}
    for name in "ABCDE"[: draw.randint(1, 5)]:
        classes[name] = draw.choice((None, *classes))
    arguments = [draw.choice((*classes, *classes, "Tensor")) for _ in range(draw.randint(1, 6))]
    return {"classes": classes, "answering": [n for n in classes if draw.random() < 0.15], "arguments": arguments}


def asked_answer(case: Case) -> list[str]:
    """Returns the names of the classes whose __torch_function__ was called, in order."""
    asked: list[str] = []

    def function(cls: type[Any], /, *_called: object, **_further: object) -> object:
        asked.append(cls.__name__)
        return 1 if cls.__name__ in case["answering"] else NotImplemented

    classes: dict[str, type] = {}
    for name, base in case["classes"].items():
        own: dict[str, object] = {"__torch_function__": classmethod(function)}
        classes[name] = type(name, (classes[base],) if base is not None else (), own)
    arguments = [torch.ones(1) if name == "Tensor" else classes[name]() for name in case["arguments"]]
    with contextlib.suppress(TypeError):  # nobody gave an answer
        torch.cat(arguments)
    return asked


# --- promote: the data type of a sum ---

DTYPES = ("bool", "int32", "int64", "float32", "float64", "complex64", "complex128")
NUMBERS = {"bool": True, "int": 2, "float": 2.5, "complex": 2j}


def promote_case(draw: random.Random) -> Case:
    """Returns the two terms of a sum: a tensor with its number of dimensions, and a tensor or a Python number."""
    left = [draw.choice(DTYPES), draw.choice((0, 1, 1))]
    right: list[str | int] = [draw.choice(tuple(NUMBERS)), "number"]
    if draw.random() < 0.6:
        right = [draw.choice(DTYPES), draw.choice((0, 1))]
    return {"left": left, "right": right}


def promote_answer(case: Case) -> str:
    """Returns the data type of the sum."""

    def value(kind: str, dims: int | str) -> Any:
        return NUMBERS[kind] if dims == "number" else torch.ones([1] * int(dims), dtype=getattr(torch, kind))

    return str(torch.add(value(*case["left"]), value(*case["right"])).dtype).removeprefix("torch.")


# --- broadcast: the sizes and strides of a sum ---


def broadcast_case(draw: random.Random) -> Case:
    """Returns the sizes and strides of two tensors, which mostly fit together. No size is 0."""
    shape = [draw.choice((1, 2, 3, 4)) for _ in range(draw.choice((1, 2, 3, 3)))]
    return {"left": _operand(draw, shape), "right": _operand(draw, shape)}


def _operand(draw: random.Random, shape: list[int]) -> list[list[int]]:
    """Returns sizes, with some dimensions of one element or of a wrong number, and strides."""
    sizes = list(shape)
    if draw.random() < 0.5:
        sizes = [draw.choice((1, 1, 1, 1, 1, 2)) if draw.random() < 0.3 else size for size in sizes]
        sizes = sizes[draw.choice((0, 0, 1)) :]
    strides, step = [0] * len(sizes), 1
    order = list(range(len(sizes)))
    if draw.random() < 0.7:
        draw.shuffle(order)  # as after a permute
    for dimension in reversed(order):
        strides[dimension] = step
        step *= sizes[dimension] * draw.choice((1, 1, 1, 1, 2))  # 2: as after a slice
    if sizes and draw.random() < 0.2:
        strides[draw.randrange(len(sizes))] = draw.choice((0, 1, 6))  # as after an expand, or as_strided
    return [sizes, strides]


def broadcast_answer(case: Case) -> list[list[int]] | None:
    """Returns the sizes and the strides of the sum, or None if PyTorch refuses."""
    left, right = (torch.empty_strided(*case[side], dtype=torch.uint8) for side in ("left", "right"))
    try:
        total = torch.add(left, right)
    except RuntimeError:
        return None
    return [list(total.shape), list(total.stride())]


# --- refused: the first complaint of an addition in place ---

STORED = 24  # elements of each storage
# What torch objects to, by words of its message. `facts/complaints.py` has the same table, with the files.
COMPLAINTS = {
    "single memory location. ": "overlap",
    " doesn't match the broadcast shape ": "shape",
    "The size of tensor a (": "shape",
    " can't be cast to the ": "type",
}


def refused_case(draw: random.Random) -> Case:
    """Returns two tensors for `out.add_(other)`: sizes, strides, offset and data type, and if they share a storage."""
    out, shared = _piece(draw), draw.random() < 0.6
    other = _piece(draw)
    if draw.random() < 0.6:
        other[0] = [1 if draw.random() < 0.1 else size for size in out[0]]
        other[1] = list(out[1]) if draw.random() < 0.6 else _strides(draw, other[0])
    if draw.random() < 0.3:
        other[2] = out[2]
    if shared:
        other[3] = out[3]
    return {"out": out, "other": other, "shared": shared}


def _piece(draw: random.Random) -> list[Any]:
    sizes = [draw.choice((1, 2, 2, 3)) for _ in range(draw.choice((1, 1, 2)))]
    return [sizes, _strides(draw, sizes), draw.randrange(8), draw.choice(("bool", *DTYPES))]


def _strides(draw: random.Random, sizes: list[int]) -> list[int]:
    strides, step = [0] * len(sizes), draw.choice((1, 1, 1, 2))
    for dimension in draw.sample(range(len(sizes)), len(sizes)):
        strides[dimension] = 0 if draw.random() < 0.1 else step
        step *= sizes[dimension]
    return strides


def refused_answer(case: Case) -> str | None:
    """Returns what PyTorch complains of first, or None if it adds."""

    def piece(storage: torch.Tensor, sizes: list[int], strides: list[int], offset: int, dtype: str) -> torch.Tensor:
        return storage.view(getattr(torch, dtype)).as_strided(sizes, strides, offset)

    bytes_of = [torch.zeros(STORED * 16, dtype=torch.uint8) for _ in range(2)]
    out = piece(bytes_of[0], *case["out"])
    other = piece(bytes_of[0 if case["shared"] else 1], *case["other"])
    try:
        out.add_(other)
    except RuntimeError as error:
        return next(name for words, name in COMPLAINTS.items() if words in str(error))
    return None


# --- saved-file: storages and tensors of a file of torch.save ---

SAVED_DTYPES = ("float32", "float64", "int32", "int64", "uint8")
WAYS: Mapping[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "alias": lambda t: t.detach(), "transposed": lambda t: t.t(), "row": lambda t: t[-1:],
    "columns": lambda t: t[:, 1:], "wide": lambda t: t[:1].expand(3, t.shape[1]),
    "flat": lambda t: t.reshape(-1)[::2], "element": lambda t: t[-1, -1], "clone": lambda t: t[:, 1:].clone(),
}  # fmt: skip


def saved_file_case(draw: random.Random) -> Case:
    """Returns a file of torch.save as base64 text: a dictionary of tensors, many of which share storages."""
    saved: dict[str, torch.Tensor] = {}
    for _ in range(draw.randint(1, 3)):
        sizes = (draw.randint(1, 4), draw.randint(2, 5))
        numbers = [draw.randint(0, 99) for _ in range(sizes[0] * sizes[1])]
        base = torch.tensor(numbers, dtype=getattr(torch, draw.choice(SAVED_DTYPES))).reshape(sizes)
        for way in draw.sample(tuple(WAYS), draw.randint(1, 3)):
            tensor = WAYS[way](base)
            if base.is_floating_point() and draw.random() < 0.3:
                tensor = torch.nn.Parameter(tensor)
            saved[f"{way}{len(saved)}"] = tensor
    names = list(saved)
    draw.shuffle(names)  # tensors over one storage are often apart
    file = io.BytesIO()
    torch.save({name: saved[name] for name in names}, file)
    return {"file": base64.b64encode(file.getvalue()).decode()}


def saved_file_answer(case: Case) -> Case:
    """Returns the bytes of each storage, and each tensor's type, sizes, strides, offset, storage and first element."""
    places: list[int] = []
    storages: list[int] = []
    tensors: dict[str, list[Any]] = {}
    for name, tensor in torch.load(io.BytesIO(base64.b64decode(case["file"])), weights_only=True).items():
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in places:
            places.append(storage.data_ptr())
            storages.append(storage.nbytes())
        dtype = str(tensor.dtype).removeprefix("torch.")
        number, first = places.index(storage.data_ptr()), tensor[(0,) * tensor.dim()].item()
        tensors[name] = [dtype, [*tensor.shape], [*tensor.stride()], tensor.storage_offset(), number, first]
    return {"storages": storages, "tensors": tensors}


# --- module-call: nested modules with hooks ---

Hook = list[Any]  # its name, a number to add or None, and whether it is always called


def module_call_case(draw: random.Random) -> Case:
    """Returns a module with children and hooks, the hooks of all modules, and the argument."""
    names = iter("ABCDEFGH")
    hooks = (f"h{number}" for number in range(100))
    module = _module(draw, names, hooks, depth=2)
    everywhere = {"pre": _hooks(draw, hooks, 0.3), "post": _hooks(draw, hooks, 0.3, always=0.4)}
    return {"module": module, "everywhere": everywhere, "x": draw.randrange(10)}


def _module(draw: random.Random, names: Iterator[str], hooks: Iterator[str], depth: int) -> Case:
    name = next(names)
    return {
        "name": name,
        "pre": _hooks(draw, hooks, 0.5),
        "post": _hooks(draw, hooks, 0.6, always=0.4),
        "children": [_module(draw, names, hooks, depth - 1) for _ in range(draw.randint(0, 2) if depth else 0)],
        "direct": draw.random() < 0.2,
        "fails": draw.random() < 0.12,
    }


def _hooks(draw: random.Random, names: Iterator[str], share: float, always: float = 0.0) -> list[Hook]:
    hooks: list[Hook] = []
    while draw.random() < share and len(hooks) < 3:
        number = None if draw.random() < 0.4 else draw.randrange(1, 9) * 10
        hooks.append([next(names), number, draw.random() < always])
    return hooks


def module_call_answer(case: Case) -> list[Any]:
    """Returns the result of the call (None after an error), and what ran, in order."""
    log: list[str] = []

    def module_of(data: Case) -> torch.nn.Module:
        children = [module_of(child) for child in data["children"]]
        made = _Nested(data, children, log)
        for hook in data["pre"]:
            made.register_forward_pre_hook(_pre_hook(hook, log))
        for hook in data["post"]:
            made.register_forward_hook(_post_hook(hook, log), always_call=hook[2])
        return made

    module = module_of(case["module"])
    everywhere = case["everywhere"]
    handles = [module_hooks.register_module_forward_pre_hook(_pre_hook(hook, log)) for hook in everywhere["pre"]]
    handles += [
        module_hooks.register_module_forward_hook(_post_hook(hook, log), always_call=hook[2])
        for hook in everywhere["post"]
    ]
    try:
        return [module(case["x"]), log]
    except ArithmeticError:
        return [None, log]
    finally:
        for handle in handles:
            handle.remove()


class _Nested(torch.nn.Module):  # type: ignore[misc]  # torch has no types here
    """A module of a case: it calls its children, or their forward, and adds 1."""

    def __init__(self, data: Case, children: list[torch.nn.Module], log: list[str]) -> None:
        super().__init__()
        self.inner = torch.nn.ModuleList(children)
        self.data, self.log = data, log

    def forward(self, x: int) -> int:
        self.log.append(f"{self.data['name']}.forward")
        for child, data in zip(self.inner, self.data["children"], strict=True):
            x = child.forward(x) if data["direct"] else child(x)
        if self.data["fails"]:
            raise ArithmeticError
        return x + 1


def _pre_hook(hook: Hook, log: list[str]) -> Callable[[torch.nn.Module, Any], Any]:
    name, number, _always = hook

    def run(module: torch.nn.Module, arguments: Any) -> Any:
        log.append(f"{name} {module.data['name']}")
        return None if number is None else (arguments[0] + number,)

    return run


def _post_hook(hook: Hook, log: list[str]) -> Callable[[torch.nn.Module, Any, Any], Any]:
    name, number, _always = hook

    def run(module: torch.nn.Module, _arguments: Any, result: Any) -> Any:
        log.append(f"{name} {module.data['name']}")
        return None if number is None or result is None else result + number

    return run


# --- sgd: the values of parameters after each step ---


def sgd_case(draw: random.Random) -> Case:
    """Returns the settings of SGD, the values of parameters, and their gradients in each step.

    All numbers are small multiples of powers of two, so every result is exact.
    """
    momentum = draw.choice((0.0, 0.5, 0.5, 0.25))
    dampening = draw.choice((0.0, 0.0, 0.5))
    settings = {
        "lr": draw.choice((0.25, 0.5, 1.0)),
        "momentum": momentum,
        "dampening": dampening,
        "weight_decay": draw.choice((0.0, 0.0, 0.5, 1.0)),
        "nesterov": momentum > 0 and dampening == 0 and draw.random() < 0.4,
        "maximize": draw.random() < 0.2,
    }
    count = draw.randint(1, 3)
    values = [float(draw.randint(-4, 4)) for _ in range(count)]
    gradients = [
        [None if draw.random() < 0.25 else draw.randint(-8, 8) / 2 for _ in range(count)]
        for _ in range(draw.randint(1, 5))
    ]
    return {"settings": settings, "values": values, "gradients": gradients}


def sgd_answer(case: Case) -> list[list[float]]:
    """Returns the values of the parameters after each step."""
    parameters = [torch.nn.Parameter(torch.tensor(value, dtype=torch.float64)) for value in case["values"]]
    optimizer = torch.optim.SGD(parameters, **case["settings"])
    steps: list[list[float]] = []
    for gradients in case["gradients"]:
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = None if gradient is None else torch.tensor(gradient, dtype=torch.float64)
        optimizer.step()
        steps.append([parameter.item() for parameter in parameters])
    return steps


# --- loader: batches of a DataLoader on a clock ---


def loader_case(draw: random.Random) -> Case:
    """Returns the number of workers, the prefetch factor, how long each batch takes, and how long a step takes."""
    usual = draw.randint(1, 6)
    times = [draw.choice((usual, usual, draw.randint(1, 20))) for _ in range(draw.randint(1, 14))]
    return {
        "workers": draw.choice((2, 2, 3, 4)), "prefetch": draw.choice((1, 2, 2, 3)), "times": times,
        "step": draw.choice((0, 1, 2, 5)),
    }  # fmt: skip


# --- collate: the samples of a batch, joined ---


def collate_case(draw: random.Random) -> Case:
    """Returns the samples of a batch, mostly alike."""
    kind = _sample_kind(draw, depth=2)
    samples = [_sample(draw, kind) for _ in range(draw.randint(1, 4))]
    if draw.random() < 0.15:
        samples[draw.randrange(len(samples))] = _sample(draw, _sample_kind(draw, depth=1))
    return {"samples": samples}


def _sample_kind(draw: random.Random, depth: int) -> Any:
    """Returns the form of samples: a type of values, or a list or a dictionary of forms."""
    way = draw.random()
    if depth and way < 0.3:
        return [_sample_kind(draw, depth - 1) for _ in range(draw.randint(1, 3))]
    if depth and way < 0.5:
        return {key: _sample_kind(draw, depth - 1) for key in "abc"[: draw.randint(1, 3)]}
    return draw.choice(("int", "int", "float", "bool", "str", "number"))


def _sample(draw: random.Random, kind: Any) -> Any:
    if isinstance(kind, list):
        parts = [_sample(draw, part) for part in kind]
        return parts[:-1] if draw.random() < 0.04 else parts
    if isinstance(kind, dict):
        # The keys come in another order now and then, and one may be missing or be too many.
        keys = draw.sample(list(kind), len(kind) - (draw.random() < 0.05))
        sample = {key: _sample(draw, kind[key]) for key in keys}
        return sample | {"z": 0} if draw.random() < 0.05 else sample
    if kind == "number":
        kind = draw.choice(("int", "float", "bool"))
    values = {"int": draw.randrange(9), "float": draw.randrange(9) / 2, "bool": draw.random() < 0.5, "str": "w"}
    return values[kind]


def collate_answer(case: Case) -> Any:
    """Returns the batch, with each tensor as its data type and its values; None if PyTorch raises an error."""
    try:
        return _written_out(default_collate(case["samples"]))
    except (TypeError, ValueError, RuntimeError, KeyError, AttributeError):
        return None


def _written_out(batch: Any) -> Any:
    if isinstance(batch, torch.Tensor):
        return {"dtype": str(batch.dtype).removeprefix("torch."), "values": batch.tolist()}
    if isinstance(batch, dict):
        return {key: _written_out(part) for key, part in batch.items()}
    if isinstance(batch, (list, tuple)):
        return [_written_out(part) for part in batch]
    return batch


# --- alive: the bytes of the storages that are alive ---


def alive_case(draw: random.Random) -> Case:
    """Returns statements about tensors: made, viewed, cloned, saved for backward, and let go."""
    steps: list[list[Any]] = [["new", "a", draw.randint(1, 9)]]
    names, nodes = ["a"], 0
    for _ in range(draw.randint(3, 14)):
        kind = draw.choice(("new", "view", "view", "detach", "clone", "add", "save", "del", "del", "release"))
        target = draw.choice("abcd")
        if kind == "new":
            steps.append([kind, target, draw.randint(1, 9)])
        elif kind == "release":
            if nodes:
                steps.append([kind, f"n{draw.randrange(nodes)}"])
            continue
        elif not names:
            continue
        elif kind == "del":
            steps.append([kind, names.pop(draw.randrange(len(names)))])
            continue
        elif kind == "save":
            steps.append([kind, f"n{nodes}", draw.choice(names)])
            nodes += 1
            continue
        else:
            steps.append([kind, target, draw.choice(names)])
        if target not in names:
            names.append(target)
    return {"steps": steps}


def alive_answer(case: Case) -> list[list[int]]:
    """Returns, for each statement, the bytes of the storages alive when its value was made, and after it."""
    weight = torch.ones(1, requires_grad=True)
    tensors: dict[str, torch.Tensor] = {}
    nodes: dict[str, Any] = {}
    storages: list[tuple[StorageWeakRef, int]] = []
    answers: list[list[int]] = []

    def total() -> int:
        return sum(size for storage, size in storages if not storage.expired())

    for kind, name, *source in case["steps"]:
        value: torch.Tensor | None = None
        if kind == "new":
            value = torch.ones(source[0])
        elif kind == "save":
            value = weight * tensors[source[0]]
        elif kind not in ("del", "release"):
            value = _MADE[kind](tensors[source[0]])
        if value is not None and kind in ("new", "clone", "save"):
            storages.append((StorageWeakRef(value.untyped_storage()), value.untyped_storage().nbytes()))
        most = total()
        if kind == "del":
            del tensors[name]
        elif kind == "release":
            nodes.pop(name, None)
        elif kind == "save":
            assert value is not None
            nodes[name] = value.grad_fn
        elif value is not None:
            tensors[name] = value
        del value
        answers.append([most, total()])
    return answers


_MADE: Mapping[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "view": lambda t: t.view(-1), "detach": lambda t: t.detach(), "clone": lambda t: t.clone(),
    "add": lambda t: t.add_(1),
}  # fmt: skip


# --- cache: blocks of the caching allocator ---


def cache_case(draw: random.Random) -> Case:
    """Returns allocations and frees. No choice among equal blocks of different segments: addresses would decide."""
    while True:
        steps: list[list[str | int]] = []
        names: list[str] = []
        for number in range(draw.randint(3, 14)):
            if names and draw.random() < 0.4:
                steps.append(["free", names.pop(draw.randrange(len(names)))])
            else:
                names.append(f"b{number}")
                steps.append(["alloc", names[-1], draw.choice(CACHE_SIZES)(draw)])
        if not by_rules(steps)[1]:
            return {"steps": steps}


_MIB = 1 << 20
CACHE_SIZES: tuple[Callable[[random.Random], int], ...] = (
    lambda draw: draw.randint(1, 5000),
    lambda draw: draw.randint(1, 5000),
    lambda draw: draw.randint(1, 2 * _MIB),
    lambda draw: draw.choice((512, _MIB, _MIB + 1, 10 * _MIB - 1, 10 * _MIB, 19 * _MIB, 20 * _MIB)),
    lambda draw: draw.randint(_MIB, 24 * _MIB),
)

# --- template: the gaps of torchgen's templates ---

TEMPLATE_WORDS = ("f(", "a", ", ", ")", ";", " = ", "x", "$ ", "$1", "{", "}", " ", "return ")
TEMPLATE_NAMES = ("args", "body", "more", "_t1", "one")


def template_case(draw: random.Random) -> Case:
    """Returns a template of some lines, and a value for each name: a text, a number or a list. No line is empty."""
    pattern = "\n".join(_template_line(draw) for _ in range(draw.randint(1, 4)))
    return {"pattern": pattern, "values": {name: _template_value(draw) for name in TEMPLATE_NAMES}}


def _template_line(draw: random.Random) -> str:
    line = draw.choice(("", "", "  ", "    ", "\t"))
    for _ in range(draw.randint(1, 4)):
        name = draw.choice(TEMPLATE_NAMES)
        gap = draw.choice((f"${name}", f"${{{name}}}", f"${{,{name}}}", f"${{{name},}}", f"${{,{name},}}"))
        piece = draw.choice((gap, draw.choice(TEMPLATE_WORDS)))
        line += " " + piece if line[-1:].isalnum() and piece[0].isalnum() else piece  # else a name grows longer
    return line


def _template_value(draw: random.Random) -> Any:
    """Values have no empty line and no space at an end: releases differ in what becomes of these."""
    texts = ("int a", "b", "c;\nd;", "if (x) {\n  y;\n}")
    values = [draw.choice((draw.choice(texts[:2]), draw.choice(texts), draw.randint(0, 9))) for _ in range(3)]
    return draw.choice((values[0], values[: draw.randint(0, 3)]))


def template_answer(case: Case) -> str:
    """Returns the text that torchgen makes."""
    from torchgen.code_template import CodeTemplate

    text: str = CodeTemplate(case["pattern"]).substitute(case["values"])
    return text


# --- spellings: the names that torchgen makes from a schema ---

BASES = (
    "add", "relu", "index_put", "_index_put_impl", "isnan", "i0", "__and__", "__iand__", "__lshift__", "__ilshift__",
    "__ior__", "native_batch_norm", "_native_batch_norm_legit_functional", "special_i1",
)  # fmt: skip
OVERLOADS = ("", "", "Tensor", "Scalar", "dim_IntList", "out", "Tensor_out", "x", "grad_input")


def spelled_case(draw: random.Random) -> Case:
    """Returns a schema as `native_functions.yaml` writes it: functional, in place, or with tensors to fill."""
    base, overload = draw.choice(BASES), draw.choice(OVERLOADS)
    is_dunder, way = base.startswith("__"), draw.choice(("functional", "in place", "out", "changes"))
    further = draw.choice(("", ", Tensor other", ", Scalar other=1", ", int[]? dim=None"))
    if base in ("__iand__", "__ilshift__", "__ior__"):
        way = "in place"
    elif is_dunder or base.endswith("_functional"):
        way = "functional"
    name = base + ("_" if way == "in place" and not is_dunder else "") + ("." if overload else "") + overload
    if way == "in place":
        return {"schema": f"{name}(Tensor(a!) self{further}) -> Tensor(a!)"}
    if way == "out":
        filled = draw.choice(("out", "grad_input"))
        return {"schema": f"{name}(Tensor self{further}, *, Tensor(a!) {filled}) -> Tensor(a!)"}
    if way == "changes":
        return {"schema": f"{name}(Tensor self, Tensor(a!) state{further}) -> Tensor"}
    return {"schema": f"{name}(Tensor self{further}) -> Tensor"}


def spelled_answer(case: Case) -> list[str]:
    """Returns the struct in at::_ops, the C++ function, the autograd kernel, and the header."""
    from torchgen.api import cpp, native
    from torchgen.model import FunctionSchema

    schema = FunctionSchema.parse(case["schema"])
    header = f"{schema.name.name.base}_ops.h"
    # type_wrapper_name of tools/autograd names the autograd kernel; native.name has the same rule.
    return [schema.name.unambiguous_name(), cpp.name(schema), native.name(schema), header]


# --- registrations: whose kernel runs while libraries come and go ---

# Without CompositeImplicitAutograd: 2.6.0 and 2.13.0 do not compute the rows of autograd anew when a kernel for
# CompositeExplicitAutograd comes after it, so the result depends on the order.
REGISTERED_KEYS = ("CPU", "CompositeExplicitAutograd")


def registrations_case(draw: random.Random) -> Case:
    """Returns a history: libraries register kernels for keys, and loaded libraries are unloaded."""
    steps: list[list[str]] = []
    loaded_now: list[str] = []
    for _ in range(draw.randint(1, 9)):
        if loaded_now and draw.random() < 0.35:
            steps.append(["unload", loaded_now.pop(draw.randrange(len(loaded_now)))])
            continue
        library = draw.choice("ABCD")
        steps.append(["register", library, draw.choice(REGISTERED_KEYS)])
        if library not in loaded_now:
            loaded_now.append(library)
    return {"steps": steps}


class RegisteringLibraries:
    """Makes real libraries for a history, and calls one operator after each step."""

    def __init__(self) -> None:
        self._definition = torch.library.Library("ptexplore_registrations", "DEF")
        self._definition.define("which(Tensor x) -> int")

    def answer(self, case: Case) -> list[str | None]:
        """Returns the library whose kernel ran after each step, or None."""
        libraries: dict[str, Any] = {}
        ran: list[str | None] = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # one kernel takes the place of another: the subject of the exercise
            for kind, name, *key in case["steps"]:
                if kind == "register":
                    if name not in libraries:
                        libraries[name] = api.bare_library("ptexplore_registrations")
                    libraries[name].impl("which", key[0], partial(_number, ord(name)))
                else:
                    libraries.pop(name).reset()
                ran.append(self._called())
            for library in libraries.values():
                library.reset()
        return ran

    @staticmethod
    def _called() -> str | None:
        try:
            return chr(torch.ops.ptexplore_registrations.which(torch.ones(1)))
        except NotImplementedError:
            return None


def _number(number: int, _x: torch.Tensor) -> int:
    return number


# --- schema: from type hints to a schema ---

HINTS: Mapping[str, Any] = {"Tensor": torch.Tensor, "int": int, "float": float, "bool": bool, "str": str}
DEFAULTS: Mapping[str, tuple[str, ...]] = {"int": ("2", "-1"), "float": ("0.5", "1.0"), "bool": ("True", "False")}
RETURNED = ("Tensor", "Tensor", "int", "float", "bool", "List[Tensor]")


def schema_case(draw: random.Random) -> Case:
    """Returns the parameters of a function with hints and defaults, what it returns, and what it writes to."""
    parameters: list[list[str]] = []
    with_defaults = False
    for name in "abcde"[: draw.randint(1, 5)]:
        plain = draw.choice(("Tensor", "Tensor", *HINTS))
        hint = draw.choice((plain, plain, f"Optional[{plain}]", f"List[{plain}]"))
        if draw.random() < 0.04:
            hint = ""
        default = draw.choice(DEFAULTS[hint]) if hint in DEFAULTS else "None" if hint.startswith("Optional") else ""
        if not default or (not with_defaults and draw.random() < 0.5):
            default = ""
            if with_defaults:  # Python wants defaults after the first one
                continue
        with_defaults = with_defaults or bool(default)
        parameters.append([name, hint, default])
    likely = [name for name, hint, _ in parameters if "Tensor" in hint or draw.random() < 0.05]
    return {
        "parameters": parameters, "keyword_only": draw.choice((0, 0, draw.randint(0, len(parameters)))),
        "returns": [draw.choice(RETURNED) for _ in range(draw.choice((0, 1, 1, 1, 2, 3)))],
        "mutates": [name for name in likely if draw.random() < 0.3],
    }  # fmt: skip


def schema_answer(case: Case) -> str | None:
    """Returns what torch.library.infer_schema gives for such a function, or None if it raises an error."""
    first_keyword = len(case["parameters"]) - case["keyword_only"]
    signature = inspect.Signature(
        [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY if number >= first_keyword else inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=ast.literal_eval(default) if default else inspect.Parameter.empty,
                annotation=_hint(hint) if hint else inspect.Parameter.empty,
            )
            for number, (name, hint, default) in enumerate(case["parameters"])
        ],
        return_annotation=_returned([_hint(hint) for hint in case["returns"]]),
    )

    def function() -> None: ...

    function.__signature__ = signature  # type: ignore[attr-defined]
    try:
        return str(torch.library.infer_schema(function, mutates_args=tuple(case["mutates"])))
    except ValueError:
        return None


def _hint(text: str) -> Any:
    if text.startswith("Optional["):
        return Optional[HINTS[text[9:-1]]]  # noqa: UP045, infer_schema of 2.6.0 knows no other spelling
    if text.startswith("List["):
        listed: Any = List  # noqa: UP006
        return listed[HINTS[text[5:-1]]]
    return HINTS[text]


def _returned(hints: list[Any]) -> Any:
    several: Any = Tuple  # noqa: UP006
    return several[tuple(hints)] if len(hints) > 1 else hints[0] if hints else None


JUDGES: Mapping[str, Callable[[], Judge]] = {
    "view": lambda: Judge(view_case, view_answer, 10_000),
    "dispatch": lambda: Judge(dispatch_case, CaseOperators().answer, 1_000),
    "engine": lambda: Judge(engine_case, GraphThreads().answer, 2_000),
    "saved": lambda: Judge(saved_case, saved_answer, 2_000),
    "asked": lambda: Judge(asked_case, asked_answer, 2_000),
    "promote": lambda: Judge(promote_case, promote_answer, 2_000),
    "refused": lambda: Judge(refused_case, refused_answer, 5_000),
    "broadcast": lambda: Judge(broadcast_case, broadcast_answer, 5_000),
    "saved-file": lambda: Judge(saved_file_case, saved_file_answer, 300),
    "module-call": lambda: Judge(module_call_case, module_call_answer, 2_000),
    "sgd": lambda: Judge(sgd_case, sgd_answer, 2_000),
    "loader": lambda: Judge(loader_case, lambda case: loaded(**case), 2_000),
    "collate": lambda: Judge(collate_case, collate_answer, 3_000),
    "alive": lambda: Judge(alive_case, alive_answer, 2_000),
    "cache": lambda: Judge(cache_case, lambda case: placed(case["steps"]), 1_000, rules_of),
    "template": lambda: Judge(template_case, template_answer, 5_000),
    "spellings": lambda: Judge(spelled_case, spelled_answer, 2_000),
    "registrations": lambda: Judge(registrations_case, RegisteringLibraries().answer, 1_000),
    "schema": lambda: Judge(schema_case, schema_answer, 3_000),
}
