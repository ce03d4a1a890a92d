"""What recorders record about tensors: the inputs of operators, and the wrappers that function transforms add."""

# Annotations are no strings here: msgspec would evaluate each of them in every command that reads a trace.
from typing import Annotated, Any, TypeAlias

from msgspec import Meta, Struct

Count: TypeAlias = Annotated[int, Meta(ge=0)]


class RecordedTensor(Struct, frozen=True):
    """A tensor input of an operator, as the profiler records it."""

    impl: int = 0  # the address of its TensorImpl
    device: str = "cpu"  # `cpu`, `cuda:0`
    layout: str = "strided"  # `strided`, `sparse_coo`, …
    dtype: str = ""  # `float32`
    sizes: tuple[int, ...] = ()  # its shape
    strides: tuple[int, ...] | None = None  # its strides, if recorded
    memory: int = 0  # the address of its data, which views share


# A tensor, a list, a number or a short text; None for anything else. Deeper lists contain nothing that ptexplore reads.
RecordedItem: TypeAlias = RecordedTensor | tuple[Any, ...] | bool | int | float | str | None
RecordedInput: TypeAlias = RecordedTensor | tuple[RecordedItem, ...] | bool | int | float | str | None


class Transform(Struct, frozen=True):
    """An active function transform of torch.func."""

    level: int  # the nesting level; 1 is the outermost
    kind: str  # `Vmap`, `Grad`, `Jvp`, `Functionalize`


class TensorLayer(Struct, frozen=True):
    """A tensor, or a wrapper that a transform put around it."""

    impl: int  # the address of its TensorImpl
    raw: Count  # its key set as a number
    level: int | None = None  # for a wrapper: the level of its transform
    dim: int | None = None  # for a wrapper: the batch dimension that it hides
