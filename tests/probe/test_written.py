"""Who wrote to a saved tensor, of a block that ran once: held against comments at the lines that write and that save.

`# writes` stands behind each line that writes to the saved tensor after it was saved, `# saves` behind the one that
saved it. Where no line can be told the function alone is: `# writes, somewhere`.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional

from ptexplore.capture.own_process import BlockRecorder

pytestmark = pytest.mark.skipif(
    not hasattr(torch._C._autograd.SavedTensor, "data"), reason="this torch gives no saved tensor out unchecked"
)


def leaf(*sizes: int) -> Any:
    return torch.ones(*(sizes or (3,)), requires_grad=True)


def by_method() -> None:
    y = leaf().exp()  # saves
    y.mul_(2)  # writes
    y.sum().backward()


def by_function_of_torch() -> None:
    y = leaf().sigmoid()  # saves
    functional.relu_(y)  # writes
    y.sum().backward()


def by_module() -> None:
    y = leaf().tanh()  # saves
    torch.nn.ReLU(inplace=True)(y)  # writes
    y.sum().backward()


def by_operator_syntax() -> None:
    y = leaf().exp()  # saves
    y *= 3  # writes
    z = y.sum()
    z.backward()


def by_subscript() -> None:
    y = leaf().exp()  # saves
    z = y.sum()
    y[1] = 7  # writes
    z.backward()


def through_a_view() -> None:
    y = leaf(3, 3).exp()  # saves
    z = y.sum()
    y.t()[0].zero_()  # writes
    z.backward()


def helper(t: Any) -> None:
    t += 1


def in_a_function_of_its_own() -> None:
    y = leaf().exp()  # saves
    helper(y)  # writes, by helper
    y.sum().backward()


def in_a_loop() -> None:
    y = leaf().exp()  # saves
    for _ in range(3):
        y.add_(1)  # writes
    y.sum().backward()


def by_out() -> None:
    y = leaf().exp()  # saves
    z = y.sum()
    with torch.no_grad():
        torch.add(torch.ones(3), 1, out=y)  # writes
    z.backward()


def by_an_optimizer() -> None:
    w = leaf()
    opt = torch.optim.SGD([w], lr=0.1)
    y = (w * w).sum()  # saves, by syntax
    w.grad = torch.ones(3)
    opt.step()  # writes
    y.backward()


def by_two_statements_of_one_kind() -> None:
    y = leaf().exp()  # saves
    other = torch.ones(3)
    other += 1
    y += 1  # writes, somewhere
    y.sum().backward()


def through_data_as_well() -> None:
    """What goes through `.data` is not counted: nothing is said to be certain."""
    y = leaf().exp()  # saves
    y.data.zero_()
    y.add_(1)  # writes
    y.sum().backward()


def of_memory_that_another_had() -> None:
    """A tensor that is gone by then had the same memory, maybe: what was before the saving does not count."""
    for _ in range(20):
        gone = torch.ones(3)
        gone.add_(1)
        del gone
    y = leaf().exp()  # saves
    y.mul_(2)  # writes
    y.sum().backward()


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 2 * x * grad


def saved_by_a_function_of_yours() -> None:
    w = leaf()
    z = Square.apply(w)  # saves
    with torch.no_grad():
        w.mul_(2)  # writes
    z.sum().backward()


BLOCKS: tuple[Callable[[], None], ...] = (
    by_method, by_function_of_torch, by_module, by_operator_syntax, by_subscript, through_a_view,
    in_a_function_of_its_own, in_a_loop, by_out, by_an_optimizer, by_two_statements_of_one_kind, through_data_as_well,
    of_memory_that_another_had, saved_by_a_function_of_yours,
)  # fmt: skip


def saved_data_of(block: Callable[[], None]) -> dict[str, Any] | None:
    recorder = BlockRecorder()
    recorder.begin(function=block)
    error: BaseException | None = None
    try:
        block()
    except RuntimeError as raised:
        error = raised
    recorder.end(error)
    assert recorder.recorded is not None
    message = json.loads(recorder.recorded.message)
    assert "modified by an inplace operation" in str(error)
    return next((seen["data"] for seen in message["observations"] if seen["kind"] == "saved"), None)


def marked(block: Callable[[], None], comment: str) -> list[int]:
    lines, first = inspect.getsourcelines(block)
    return [first + number for number, line in enumerate(lines) if f"# {comment}" in line]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.__name__)
def test_every_line_that_is_named_is_one_that_writes_or_saves(block: Callable[[], None]) -> None:
    data = saved_data_of(block)
    assert data is not None
    assert data["version"] > data["expected"]
    places = [write["at"] for write in data["writes"]]
    expected = set(marked(block, "writes"))
    if block is in_a_function_of_its_own:
        expected = {inspect.getsourcelines(helper)[1] + 1}
    if block is by_two_statements_of_one_kind:
        assert [(place["function"], place["exact"]) for place in places] == [(block.__name__, False)]
        expected = {inspect.getsourcelines(block)[1]}
    named = {place["line"] for place in places}
    if block is through_data_as_well:
        assert not data["certain"]
        assert expected < named
    else:
        assert data["certain"], data
        assert named == expected
    saved = data["saved"]
    if block is by_an_optimizer:  # by syntax: the function alone is known
        assert (saved["function"], saved["exact"]) == (block.__name__, False)
    else:
        assert [saved["line"]] == marked(block, "saves")
