"""What torch's usual errors mean, in plain words: rules as data, each with its message, its cause and what mends it.

Source of the messages: the TORCH_CHECKs of torch/csrc/autograd/VariableTypeUtils.h (check_inplace), engine.cpp,
saved_variable.cpp, functions/basic_ops.cpp, and of aten/src/ATen/functorch; torch/_subclasses/fake_tensor.py.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ptexplore.model.trace import Cause


@dataclass(frozen=True, slots=True)
class CauseRule:
    """A cause, and the pattern of the message that it explains."""

    message: re.Pattern[str]
    cause: Cause


RULES = (
    CauseRule(
        re.compile(r"a leaf Variable that requires grad is being used in an in-place operation"),
        Cause(
            "the tensor written to is a leaf: you made it and it requires grad. Its gradient would be that of a value"
            " that is gone",
            "write to a copy (x.clone()), or inside torch.no_grad(), where it is not recorded",
        ),
    ),
    CauseRule(
        re.compile(r"a view of a leaf Variable that requires grad is being used in an in-place operation"),
        Cause(
            "the tensor written to shares its memory with a leaf that requires grad",
            "write to a view of a copy (x.clone()[0]), or inside torch.no_grad()",
        ),
    ),
    CauseRule(
        re.compile(r"Trying to backward through the graph a second time|after they have already been freed"),
        Cause(
            "the first backward freed the tensors that the nodes had saved",
            "retain_graph=True in the first backward keeps them; or run the forward again",
        ),
    ),
    CauseRule(
        re.compile(r"[Dd]erivative for .+ is not implemented|the derivative for .+ is not implemented"),
        Cause(
            "derivatives.yaml has no formula for this input of the operator: in its place stands one that raises",
            "compute it of other operators, or write a torch.autograd.Function with a backward of its own",
        ),
    ),
    CauseRule(
        re.compile(r"does not require grad and does not have a grad_fn"),
        Cause(
            "nothing recorded the tensor: no input required grad, or recording was off (no_grad, detach)",
            "give an input requires_grad=True before the forward",
        ),
    ),
    CauseRule(
        re.compile(r"grad can be implicitly created only for scalar outputs"),
        Cause(
            "backward() of a tensor of several elements needs to be told the gradient to begin with",
            ".sum().backward(), or backward(torch.ones_like(x))",
        ),
    ),
    CauseRule(
        re.compile(r"has been modified by an inplace operation"),
        Cause(
            "a node saved this tensor for its formula, and it was written to afterwards: the saved version is older"
            " than the tensor's",
            "write to a copy, or before the operator that saves it; torch.autograd.set_detect_anomaly(True) names that"
            " operator's call",
        ),
    ),
    CauseRule(
        re.compile(r"Inference tensors cannot be saved for backward|Inplace update to inference tensor outside"),
        Cause(
            "a tensor made in inference mode has no version counter and no autograd keys",
            "make a normal tensor of it: x.clone() outside of inference mode",
        ),
    ),
    CauseRule(
        re.compile(
            r"vmap: It looks like you're (?:calling \.item\(\)|attempting to use a Tensor in some)"
            r"|vmap: We do not support batching operators that can output dynamic shape"
        ),
        Cause(
            "vmap runs the operator once for all examples: a number or a shape that depends on one example's values"
            " cannot be had there",
            "compute it without that value (torch.where, a mask), or loop over the batch yourself",
        ),
    ),
    CauseRule(
        re.compile(r"[Bb]atching rule not implemented|vmap: .* not supported|fallback path .* doesn't work on"),
        Cause(
            "the operator has no batching rule, and vmap's loop over the batch cannot stand in for it",
            "torch.library.register_vmap adds a rule to a custom operator; else loop over the batch yourself",
        ),
    ),
    CauseRule(
        re.compile(r"Cannot access data pointer of Tensor that doesn't have storage"),
        Cause("a tensor without memory (fake, meta or a wrapper) was asked for its bytes"),
    ),
    CauseRule(
        re.compile(r"Cannot copy out of meta tensor"),
        Cause(
            "a meta tensor has a shape and no values",
            "make the tensors on a real device: module.to_empty(device=…) and then their values",
        ),
    ),
    CauseRule(
        re.compile(r"DataDependentOutputException|DynamicOutputShapeException"),
        Cause(
            "a fake tensor has no values, and this operator's result depends on them: it must be a real one",
            "outside of FakeTensorMode, or without asking for the value",
        ),
    ),
    CauseRule(
        re.compile(r"Please convert all Tensors to FakeTensors first"),
        Cause(
            "a fake tensor met a real one, and one operator takes only one kind",
            "make all of them inside the same FakeTensorMode, or FakeTensorMode(allow_non_fake_inputs=True)",
        ),
    ),
    CauseRule(
        re.compile(r"functions with out=\.\.\. arguments don't support automatic differentiation"),
        Cause(
            "autograd records no call with out=: there is no derivative of writing into a tensor that was given",
            "call it without out=, or inside torch.no_grad()",
        ),
    ),
    CauseRule(
        re.compile(r"Torch not compiled with CUDA enabled|PyTorch is not linked with support for cuda devices"),
        Cause("this torch is a CPU build: it has no kernels for cuda", "tensors on the CPU, or a CUDA build"),
    ),
)  # fmt: skip


def cause_of(message: str, exception: str = "") -> Cause | None:
    """The cause that an error's class and message tell; None for what no rule knows. A traceback holds both."""
    text = f"{exception}: {message}"
    return next((rule.cause for rule in RULES if rule.message.search(text)), None)
