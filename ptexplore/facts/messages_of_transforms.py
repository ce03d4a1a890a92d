"""Messages of what transforms code: torch.fx, TorchScript, vmap and functorch, custom operators, torch.export.

The class of a row is `facts/message.py::Message`.
"""

from __future__ import annotations

import re

from ptexplore.facts.message import Message
from ptexplore.facts.source import FactSource

_VMAP = "torch/_functorch/vmap.py"
_PARSER = "torch/csrc/jit/frontend/script_type_parser.cpp"
OF_TRANSFORMS = (
    Message(
        "fx-iterated",
        re.compile(r"Proxy object cannot be iterated"),
        (FactSource("torch/fx/proxy.py", "Proxy object cannot be iterated"),),
    ),
    Message(
        "fx-as-number",
        re.compile(
            r"'Proxy' object cannot be interpreted as an integer|(?:int|float)\(\) argument must be .{0,60}'Proxy'"
        ),
        (),
    ),
    Message(
        "fx-module-not-inside",
        re.compile(r"module is not installed as a submodule"),
        (FactSource("torch/fx/_symbolic_trace.py", "module is not installed as a submodule"),),
    ),
    Message(
        "script-module-attribute",
        re.compile(r"Module '(?P<name>[\w.]+)' has no attribute '(?P<given>\w+)'(?! \(This)"),
        (FactSource("torch/csrc/jit/python/python_sugared_value.cpp", " has no attribute '"),),
    ),
    Message(
        "script-nonexistent",
        re.compile(
            r"Tried to access nonexistent attribute or method '(?P<given>\w+)' of type '(?P<name>[^'\n]{1,80})'"
        ),
        (
            FactSource(
                "torch/csrc/jit/frontend/sugared_value.cpp",
                "Tried to access nonexistent attribute or method '",
                until="2.5",
            ),
        ),
    ),
    Message(
        "script-type-unknown",
        re.compile(r"Unknown type name '(?P<given>[^'\n]{1,80})'"),
        (FactSource(_PARSER, "Unknown type name '"),),
    ),
    Message(
        "script-return-type",
        re.compile(
            r"Return value was annotated as having type (?P<size>\S[^\n]{0,120}?) but is actually of type"
            r" (?P<given>\S[^\n]{0,120}?)(?=:?\s|$)"
        ),
        (FactSource("torch/csrc/jit/frontend/ir_emitter.cpp", "Return value was annotated as having type "),),
    ),
    Message(
        "script-global",
        re.compile(r"python value of type '(?P<given>[\w.]+)' cannot be used as a value"),
        (FactSource("torch/csrc/jit/python/python_sugared_value.h", "cannot be used as a value"),),
    ),
    Message(
        "script-argument-missing",
        re.compile(r"(?P<name>\w+)\(\) is missing value for argument '(?P<given>\w+)'"),
        (FactSource("aten/src/ATen/core/function_schema_inl.h", "() is missing value for argument '"),),
    ),
    Message(
        "operator-aliases",
        re.compile(r"The output of this custom operator \(1\) must not also be an input"),
        (FactSource("torch/_library/utils.py", "The output of this custom operator (1) must"),),
    ),
    Message(
        "operator-argument",
        re.compile(
            r"(?P<operator>\w+::[\w.]+)\(\) Expected a value of type '(?P<size>[^'\n]{1,100})' for argument"
            r" '(?P<name>\w+)' but instead found type '(?P<given>[^'\n]{1,100})'"
        ),
        (FactSource("torch/csrc/jit/python/pybind_utils.cpp", " but instead found type "),),
    ),
    Message(
        "function-not-static",
        re.compile(r"unbound method (?P<name>forward|backward)\(\) must be called with"),
        (),
    ),
    Message(
        "undefined-tensor",
        re.compile(r"(?P<name>\w+)\(\) called on (?:an )?undefined Tensor"),
        (FactSource("c10/core/UndefinedTensorImpl.cpp", "() called on an undefined Tensor"),),
    ),
    Message(
        "optimizer-parameter",
        re.compile(r"\AKeyError: Parameter containing:"),
        (),
    ),
    Message(
        "triton-compilation",
        re.compile(r"triton\.compiler\S{0,40}CompilationError: at \d+:\d+"),
        (),
    ),
    Message(
        "collective-tensor",
        re.compile(
            r"ProcessGroup(?P<backend>\w+)::(?P<name>\w+): (?P<given>invalid tensor (?:size|type) at index \d+"
            r" \(expected [^\n]{1,120}\))"
        ),
        (FactSource("torch/csrc/distributed/c10d/Utils.hpp", "invalid tensor size at index "),),
    ),
    Message(
        "mps-product-size",
        re.compile(
            r"Output size of the matrix multiplication is larger than currently supported by the MPS backend"
            r"|Output dim sizes larger than 2\*\*32 elements for matmul not supported on MPS"
            r"|Tiling of batch matmul for larger than 2\*\*32 entries only available"
        ),
        (
            FactSource(
                "aten/src/ATen/native/mps/operations/LinearAlgebra.mm",
                "Tiling of batch matmul for larger than 2**32 entries only available",
                system="Darwin",
            ),
        ),
    ),
    Message(
        "fake-missing",
        re.compile(
            r"There was no fake impl registered for (?:<CustomOpDef\()?(?P<name>[\w:.]+)"
            r"|UnsupportedOperatorException: (?P<given>[\w.]+)"
        ),
        (FactSource("torch/_library/custom_ops.py", "There was no fake impl registered for "),),
    ),
    Message(
        "operator-annotation",
        re.compile(r"infer_schema\(func\): (?:Parameter (?P<name>\w+)|[Pp]arameter|No return|Return)"),
        (FactSource("torch/_library/infer_schema.py", "infer_schema(func): "),),
    ),
    Message(
        "vmap-of-function",
        re.compile(r"You tried to vmap over (?P<name>\w+), but it does not have vmap support"),
        (FactSource("torch/_functorch/autograd_function.py", "You tried to vmap over "),),
    ),
    Message(
        "vmap-mask",
        re.compile(r"Attempting to batch over indexing with a boolean mask"),
        (
            FactSource(
                "aten/src/ATen/functorch/BatchRulesScatterOps.cpp",
                "Attempting to batch over indexing with a boolean mask",
            ),
        ),
    ),
    Message(
        "vmap-dims-structure",
        re.compile(r"(?P<name>in_dims|out_dims) is not compatible with the structure of"),
        (FactSource(_VMAP, "in_dims is not compatible with the structure of"),),
    ),
    Message(
        "vmap-dim-range",
        re.compile(
            r"Got in_dim=(?P<given>-?\d+) for some input, but that input is a Tensor of dimensionality (?P<size>\d+)"
        ),
        (FactSource(_VMAP, "for some input, but that input is a Tensor "),),
    ),
    Message(
        "transform-of-value",
        re.compile(r"Thing passed to transform API must be Tensor, got (?P<given><class '[\w.]+'>)"),
        (FactSource("torch/_functorch/eager_transforms.py", "Thing passed to transform API must be Tensor"),),
    ),
    Message(
        "grad-of-tuple",
        re.compile(r"Expected f\(\*args\) to return a Tensor, got (?P<given><class '[\w.]+'>)"),
        (FactSource("torch/_functorch/eager_transforms.py", "Expected f(*args) to return a "),),
    ),
    Message(
        "dual-of-integers",
        re.compile(r"Expected (?:primal|tangent) to be floating point or complex, but got: (?P<given>torch\.\w+)"),
        (FactSource("torch/autograd/forward_ad.py", "to be floating point or complex, but got: "),),
    ),
    Message(
        "higher-order-captured",
        re.compile(r"doesn't work unless it is captured completely with torch\.compile"),
        (FactSource("torch/_dynamo/variables/higher_order_ops.py", " it is captured completely with torch.compile"),),
    ),
    Message(
        "dynamic-shape-names",
        re.compile(
            r"`dynamic_shapes` is specified as a dict, its top-level keys must be the arg names"
            r" (?P<size>\[[^\]\n]{0,300}\]) of `inputs`, but here they are (?P<given>\[[^\]\n]{0,300}\])"
        ),
        (FactSource("torch/export/dynamic_shapes.py", "its top-level keys must be "),),
    ),
    Message(
        "export-of-function",
        re.compile(r"Expected `mod` to be an instance of `torch\.nn\.Module`, got (?P<given><class '[\w.]+'>)"),
        (FactSource("torch/export/__init__.py", "Expected `mod` to be an instance of `torch.nn.Module`, got"),),
    ),
    Message(
        "exported-called",
        re.compile(r"Unable to call ExportedProgram directly"),
        (FactSource("torch/export/exported_program.py", "Unable to call ExportedProgram directly"),),
    ),
    Message(
        "parametrized-pickled",
        re.compile(r"Serialization of parametrized modules is only supported through state_dict\(\)"),
        (FactSource("torch/nn/utils/parametrize.py", "Serialization of parametrized modules is only "),),
    ),
)
