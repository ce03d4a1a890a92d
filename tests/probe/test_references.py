"""Planted leaks: the chain of references to each is true by `gc.get_referrers`, and as Python code gives the object."""

from __future__ import annotations

import atexit
import collections
import contextvars
import functools
import gc
import importlib
import itertools
import logging
import logging.handlers
import queue
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
references = importlib.import_module("ptexplore.probe.references")
collected = importlib.import_module("ptexplore.probe.garbage")
api = importlib.import_module("ptexplore.probe.torch_api")
nn = torch.nn
HOLD: dict[str, Any] = {}
LOSSES: list[Any] = []
OTHERS: list[Any] = []
LOCAL = threading.local()
CONTEXT: contextvars.ContextVar[Any] = contextvars.ContextVar("CONTEXT")


class Trainer:
    seen: list[Any] = []  # noqa: RUF012  (a class attribute is one of the leaks)

    def __init__(self) -> None:
        self.history: dict[str, Any] = {}

    def method(self) -> None:
        pass


class Slotted:
    __slots__ = ("held",)
    held: Any


@dataclass
class Record:
    value: Any


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(2, 2)
        self.outputs: list[Any] = []


@functools.cache
def cached(key: int, tensor: Any = None) -> Any:
    return HOLD.pop("next")


def with_default(seen: list[Any] = []) -> list[Any]:  # noqa: B006  (one of the leaks)
    return seen


def closing(tensor: Any) -> Callable[[], Any]:
    return lambda: tensor


def generating(tensor: Any) -> Iterator[Any]:
    yield 1
    yield tensor


async def waiting(tensor: Any) -> Any:
    await _Pause()
    return tensor


class _Pause:
    def __await__(self) -> Iterator[None]:
        yield


def raising(tensor: Any) -> BaseException:
    def inner(value: Any) -> None:
        raise ValueError(value.numel())

    try:
        inner(tensor)
    except ValueError as error:
        return error
    raise AssertionError


def started(item: Any) -> Any:
    next(item)
    return item


def sent(item: Any) -> Any:
    item.send(None)
    return item


class Thread(threading.Thread):
    def __init__(self, tensor: Any) -> None:
        super().__init__(daemon=True)
        self.begun, self.stop = threading.Event(), threading.Event()
        HOLD["given"] = tensor
        self.start()
        self.begun.wait()

    def run(self) -> None:
        held = HOLD.pop("given")
        self.begun.set()
        self.stop.wait()
        del held


def optimizer_of_a_removed_parameter(tensor: Any) -> Any:
    optimizer = torch.optim.SGD([nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))], momentum=0.9)
    removed = optimizer.param_groups[0]["params"].pop()
    optimizer.state[removed]["momentum_buffer"] = tensor
    return optimizer


def hooked_parameter(tensor: Any) -> Any:
    parameter = nn.Parameter(torch.ones(2))
    parameter.register_hook(lambda gradient: gradient + tensor.sum())
    return parameter


def hooked_module(tensor: Any) -> Any:
    module = Module()
    module.register_forward_hook(lambda *_: tensor)
    return module


def with_buffer(tensor: Any) -> Any:
    module = Module()
    module.register_buffer("old_0", tensor)
    return module


def context_holding(tensor: Any) -> Any:
    context = contextvars.copy_context()
    context.run(CONTEXT.set, tensor)
    return context


def logged(tensor: Any) -> Any:
    logger = logging.getLogger("ptexplore.planted")
    handler = logging.handlers.MemoryHandler(100)
    logger.handlers[:] = [handler]
    logger.propagate = False
    logger.warning("%s", tensor)
    return handler


def future_of(tensor: Any) -> Any:
    future: Future[Any] = Future()
    future.set_result(tensor)
    return future


def in_queue(tensor: Any) -> Any:
    made: queue.Queue[Any] = queue.Queue()
    made.put(tensor)
    return made


def slotted(tensor: Any) -> Any:
    made = Slotted()
    made.held = tensor
    return made


def trainer(tensor: Any) -> Any:
    made = Trainer()
    made.history["last"] = [(tensor, 1)]
    return made


def module_list(tensor: Any) -> Any:
    module = Module()
    module.outputs.append(tensor)
    return module


def in_lru_cache(tensor: Any) -> None:
    HOLD["next"] = tensor
    cached(len(HOLD))


def graded(tensor: Any) -> Any:
    made = torch.ones_like(tensor, requires_grad=True)
    made.grad = tensor
    return made


def noted(tensor: Any) -> Any:
    made = torch.ones(2)
    made.note = {"of": tensor}
    return made


def finalizer(tensor: Any) -> Any:
    item = Trainer()
    weakref.finalize(item, print, tensor)
    return item


def node_holding(tensor: Any) -> Any:
    class Keep(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.note = tensor
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient

    return Keep.apply(torch.ones(2, requires_grad=True)).exp()


# By name: how a tensor is kept, and whether the chain is Python code that gives the tensor.
LEAKS: dict[str, tuple[Callable[[Any], Any], bool]] = {
    "list of losses": (LOSSES.append, True),
    "global cache": (lambda t: HOLD.__setitem__("cache", {("x", 3): t}), True),
    "closure": (closing, True),
    "hook of a parameter": (hooked_parameter, True),
    "hook of a module": (hooked_module, True),
    "generator": (lambda t: started(generating(t)), True),
    "coroutine": (lambda t: sent(waiting(t)), True),
    "thread-local": (lambda t: setattr(LOCAL, "kept", [t]), True),
    "traceback of an exception": (raising, True),
    "exception's arguments": (lambda t: ValueError("bad", t), True),
    "default argument": (lambda t: with_default().append(t), True),
    "class attribute": (Trainer.seen.append, True),
    "lru_cache": (in_lru_cache, False),
    "list of a module": (module_list, True),
    "buffer of a module": (with_buffer, True),
    "state of a removed parameter": (optimizer_of_a_removed_parameter, False),
    "attribute": (trainer, True),
    "slot": (slotted, True),
    "dataclass": (lambda t: Record((t,)), True),
    "partial": (lambda t: functools.partial(print, t), True),
    "keyword of a partial": (lambda t: functools.partial(print, end=t), True),
    "bound method": (lambda t: trainer(t).method, True),
    "deque": (lambda t: collections.deque([t], maxlen=3), True),
    "set": (lambda t: {1, t}, False),
    "default dict": (lambda t: collections.defaultdict(list, {"a": [t]}), True),
    "key of a dict": (lambda t: {t: 1}, False),
    "context variable": (context_holding, False),
    "log records": (logged, True),
    "future": (future_of, True),
    "queue": (in_queue, True),
    "iterator": (lambda t: iter([t]), False),
    "tee": (lambda t: itertools.tee(iter([t]))[0], False),
    "gradient": (graded, True),
    "attribute of a tensor": (noted, True),
    "namespace": (lambda t: SimpleNamespace(a=SimpleNamespace(b=t)), True),
    "weakref.finalize": (finalizer, False),
    "context of a Function in a graph": (node_holding, True),
}


@pytest.fixture(scope="module", autouse=True)
def seen_by_the_collector() -> Iterator[None]:
    """The test run freezes the objects of imports: the collector does not see them, and so no reference of theirs."""
    gc.unfreeze()
    yield
    gc.freeze()


@pytest.fixture(scope="module")
def planted(seen_by_the_collector: None) -> Iterator[dict[str, tuple[Any, Any]]]:
    """All leaks at once: each tensor with its chain. One search finds all."""
    tensors = {}
    for number, (name, (keep, _)) in enumerate(LEAKS.items()):
        tensor = tensors[name] = torch.zeros(number + 1)
        held = keep(tensor)
        if held is not None:
            HOLD[name] = held
    del held, tensor
    chains = references.Chains(list(tensors.values()), {}, [tensors, sys._getframe()])
    yield {name: (tensor, chains.of(tensor)) for name, tensor in tensors.items()}
    HOLD.clear()
    LOSSES.clear()
    Trainer.seen.clear()
    with_default().clear()
    cached.cache_clear()
    LOCAL.__dict__.clear()
    logging.getLogger("ptexplore.planted").handlers.clear()


def refers(holder: Any, item: Any) -> bool:
    """Whether a holder refers to an item, asked of the collector the other way round; through C++ by the node."""
    own = getattr(holder, "__dict__", None)  # an object may hold its attributes itself, or in a dict
    if any(held is holder or (held is own and own is not None) for held in gc.get_referrers(item)):
        return True
    if api.is_node(item):  # C++ holds nodes: read here without the code that is tested
        held = holder.grad_fn if isinstance(holder, torch.Tensor) else None
        following = [node for node, _ in getattr(holder, "next_functions", ())]
        return held is item or any(node is item for node in following)
    hooks = (getattr(holder, "_backward_hooks", None), getattr(holder, "grad", None))
    return any(held is item for held in hooks)


@pytest.mark.parametrize("name", LEAKS)
def test_a_planted_leak_has_a_true_chain(planted: dict[str, tuple[Any, Any]], name: str) -> None:
    tensor, chain = planted[name]
    is_code = LEAKS[name][1]
    assert chain is not None
    assert chain.has_root, chain.text()
    assert chain.objects[-1] is tensor
    for holder, item in itertools.pairwise(chain.objects):
        assert refers(holder, item), chain.text()
    text = chain.text()
    if is_code:
        assert eval(text.removeprefix(f"{__name__}."), {**globals(), **sys.modules}) is tensor, text
    else:
        assert "→" in text or "<" in text, text


def test_several_kinds_at_once_have_chains_of_their_own() -> None:
    tensors = [torch.zeros(number + 1) for number in range(70)]  # more than those that C compares one by one
    OTHERS.extend(tensors)
    HOLD["leak"] = closing(tensors[0])
    chains = references.Chains(tensors, {}, [tensors, sys._getframe()])
    texts = [chains.of(tensor).text() for tensor in tensors]
    OTHERS.clear()
    del HOLD["leak"]
    assert texts == [f"{__name__}.OTHERS[{number}]" for number in range(70)]


def test_a_thread_that_waits_is_named() -> None:
    tensor = torch.zeros(3)
    thread = Thread(tensor)
    names = {id(value): name for name, value in references.running_variables()}
    chain = references.Chains([tensor], {k: v for k, v in names.items() if "held" in v}, [sys._getframe()]).of(tensor)
    thread.stop.set()
    thread.join()
    assert chain.text() == "run: held"


def test_a_cycle_through_grad_fn_is_one() -> None:
    class Keep(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient

    first = Keep.apply(torch.ones(3, requires_grad=True))
    node = first.grad_fn
    node.kept = first.exp()
    gone = weakref.ref(node.kept)
    del first, node
    gc.collect()
    tensor = gone()
    assert tensor is not None, "no collection frees it"
    chain = references.Chains([tensor], {}, [sys._getframe()]).of(tensor)
    assert chain is not None
    assert (chain.has_root, chain.is_cycle) == (False, True)
    tensor.grad_fn.next_functions[0][0].kept = None


def test_what_only_c_holds_has_no_root() -> None:
    tensor = torch.zeros(3)
    atexit.register(print, tensor)
    chain = references.Chains([tensor], {}, [sys._getframe()]).of(tensor)
    atexit.unregister(print)
    assert chain is None or not chain.has_root


def test_garbage_is_what_the_collector_would_free() -> None:
    """In a process of its own: objects of other tests must not become garbage between the two looks."""
    code = "from tests.probe.test_references import compare_garbage; compare_garbage()"
    repository = Path(__file__).resolve().parents[2]
    ended = subprocess.run([sys.executable, "-c", code], cwd=repository, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


def compare_garbage() -> None:
    """Plant garbage, and compare it with what the collector frees."""
    gc.collect()
    gc.disable()
    try:
        for item in (Trainer(), nn.Linear(2, 2), torch.ones(3), [1]):
            if isinstance(item, list):
                item.append(item)
            else:
                item.me = (item, torch.ones(2))
        kept = Trainer()
        kept.me, kept.tensor = kept, torch.ones(3, requires_grad=True).exp()  # type: ignore[attr-defined]
        del item
        found = _garbage()
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        real = {id(item) for item in gc.garbage}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert len(found) > 4
    assert found == real


def _garbage() -> set[int]:
    objects = gc.get_objects()
    return set(collected.garbage(objects))
