"""Tensors in memory: the record that the API returns for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from rich.console import Console

    from ptexplore.api.displayed import Bundle
    from ptexplore.model.tensor_layouts import ConcludedTensor, MemoryBlock, TensorAnswer, TensorLayouts


class AskedOfTensors(TypedDict, total=False):
    """The options of `tensor` for a text."""

    variables: Mapping[str, str] | None
    setup: Sequence[str]
    contexts: Sequence[str]
    timeout: float


class PublicTensors:  # `ptexplore.Tensors`
    """Tensors in memory: what they share, and what a view, a copy or a write would do. `ptexplore.tensor` returns it.

    >>> import ptexplore
    >>> tensors = ptexplore.tensor("x = torch.arange(6).view(2, 3); x.t()")
    >>> [len(block.tensors) for block in tensors.blocks]
    [2]
    """

    def __init__(self, record: TensorLayouts, expression: str) -> None:
        self.record = record
        self.expression = expression

    def __repr__(self) -> str:
        return f"<Tensors of {self.expression!r}: {len(self.tensors)}>"

    def __str__(self) -> str:
        """Returns the text that `ptexplore tensor` prints into a pipe."""
        return self.text()

    def _repr_mimebundle_(self, **_asked: object) -> Bundle:
        """Returns text and HTML, which notebooks show."""
        from ptexplore.api.displayed import WIDTH, bundle, drawn

        return bundle(self.text(WIDTH), drawn(self.expression, [("in memory", self._draw())]))

    @property
    def tensors(self) -> tuple[ConcludedTensor, ...]:
        """The tensors in order: sizes, strides and the rest as torch has them (`seen`), and facts about them.

        >>> import ptexplore
        >>> [tensor.seen.strides for tensor in ptexplore.tensor("x = torch.ones(2, 3); x.t()").tensors]
        [(3, 1), (1, 3)]
        """
        return self.record.tensors

    @property
    def blocks(self) -> tuple[MemoryBlock, ...]:
        """The memory that the tensors lie in: a storage, or several over the same bytes, with the place of each tensor.

        >>> import ptexplore
        >>> ptexplore.tensor("torch.ones(2, 3)").blocks[0].bytes
        24
        """
        return self.record.blocks

    @property
    def answers(self) -> tuple[TensorAnswer, ...]:
        """What calls would do: views with other sizes, copies, and writes that change other tensors.

        >>> import ptexplore
        >>> [answer.method for answer in ptexplore.tensor("x = torch.ones(2, 3).t()").answers]
        ['view(-1)', 'reshape(-1)', 'contiguous()']
        """
        return self.record.answers

    def text(self, width: int = 100) -> str:
        """Returns the text of `ptexplore tensor`, at most `width` columns wide if possible.

        >>> import ptexplore
        >>> print(ptexplore.tensor("torch.arange(3)").text().splitlines()[3])
        cell             0  1  2
        """
        from ptexplore.render.terminal.console import plain_text

        return plain_text(self._draw(), width)

    def svg(self) -> str:
        """Returns the picture as SVG text, which loads nothing.

        >>> import ptexplore
        >>> ptexplore.tensor("torch.arange(3)").svg()[:4]
        '<svg'
        """
        from ptexplore.render.terminal.console import picture

        return picture(self._draw(), self.expression)

    def _draw(self) -> Callable[[Console], None]:
        from ptexplore.render.terminal.tensor import print_tensors
        from ptexplore.view.tensor.page import tensor_page

        page = tensor_page(self.record, self.expression)
        return lambda console: print_tensors(console, page)

    def to_json(self) -> str:
        """Returns the document of `ptexplore tensor --json`, as docs/json.md describes it.

        >>> import json, ptexplore
        >>> json.loads(ptexplore.tensor("torch.arange(3)").to_json())["tensors"][0]["sizes"]
        [3]
        """
        from msgspec import json

        from ptexplore.view.documents.tensor import tensor_document

        return json.encode(tensor_document(self.record, self.expression)).decode()


def named_objects(given: Sequence[object], frame: FrameType) -> dict[str, object]:
    """Returns the objects by name: the caller's variable that has the object, else its number."""
    named: dict[str, object] = {}
    for number, item in enumerate(given):
        if isinstance(item, Mapping):
            named |= {str(key): value for key, value in item.items()}
            continue
        variables = {**frame.f_globals, **frame.f_locals}
        name = next((name for name, value in variables.items() if value is item and not name.startswith("_")), None)
        named[name if name is not None and name not in named else f"tensor_{number}"] = item
    return named
