"""What torch's usual errors mean, in plain words: rules as data, each with its message, its cause and what mends it.

Source of the messages: the TORCH_CHECKs of torch/csrc/autograd/VariableTypeUtils.h (check_inplace), engine.cpp,
saved_variable.cpp, functions/basic_ops.cpp, and of aten/src/ATen/functorch; torch/_subclasses/fake_tensor.py.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ptexplore.model.observed import FailedGetter, UnusedInput
from ptexplore.model.trace import Cause, CauseCase
from ptexplore.resolve.freed import CASES, MESSAGE


@dataclass(frozen=True, slots=True)
class CauseRule:
    """A cause, and the pattern of the message that it explains."""

    message: re.Pattern[str]
    cause: Cause


# What a shell says of a program that a signal ended, and what faulthandler does (faulthandler_handlers of its source).
_KILLED = re.compile(
    r"\b(?:Segmentation fault|Bus error|Aborted|Illegal instruction) +\(core dumped\)"
    r"|^(?:: )?(?:zsh: )?(?:[Ss]egmentation fault|[Bb]us error|Aborted)$"
    r"|^(?:: )?Fatal Python error: (?:Segmentation fault|Bus error|Aborted|Illegal instruction)$",
    re.MULTILINE,
)

ALLOW = "allow_unused=True gives None for it in place of this error"
# Of an input that the outputs were not computed from: by what it is, why, and the mend.
UNUSED = {
    "beside": Cause(
        "{input} is a result of {node}, made beside the outputs: both come from one leaf, and the outputs do not come"
        " from it (each x[0] is a new tensor)",
        f"compute the outputs from that very tensor, or ask for the leaf's gradient and take the part of it; {ALLOW}",
    ),
    "detached": Cause(
        "{input} has the memory of a leaf that the outputs come from, and is another tensor (.detach(), .data, a new"
        " nn.Parameter of it): the graph has tensors, not memory",
        f"ask for the gradient of the tensor that the outputs were computed from; {ALLOW}",
    ),
    "elsewhere": Cause(
        "no way through the graph leads from the outputs to {input}: they come from {leaves}",
        f"compute the outputs from it, with no detach() and no no_grad() on the way; {ALLOW}",
    ),
}

# AT_DISPATCH_SWITCH of ATen/Dispatch.h raises it, with the name of the ScalarType (c10/core/ScalarType.h).
NO_CODE = (
    "the kernel that is named has no code for this dtype: the list of dtypes that it is compiled for (AT_DISPATCH_…)"
    " does not have it"
)
# What has code instead, by the names of the dtypes that have none: a kernel for numbers of one kind is for no others.
OTHER_DTYPES = {
    r"(?:Float|Double)": "convert to a dtype that it takes (x.long(), if it is for integers), or another operator",
    r"Complex\w+": "compute with real numbers (x.real, x.imag, x.abs(), torch.view_as_real(x)), or another operator",
    r"(?:Bool|Byte|Char|U?Int\d*|Short|Long|Half|BFloat16|Float[48]\w+)": (
        "convert to a dtype that it takes (x.float()), or another operator"
    ),
    r"\w+": "convert to a dtype that it takes, or another operator",
}

RULES = (
    CauseRule(
        re.compile(r"differentiated Tensors? (?:at index \d+ )?appears to not have been used in the graph"),
        Cause(
            "no way through the graph leads from the outputs to this tensor: they were computed without it, or from"
            " another tensor of the same values",
            cases=(
                CauseCase(
                    "it was made of the tensor that the outputs come from: a view (each x[0] is a new one), a copy",
                    "compute the outputs from that very tensor, or ask for the other one's gradient",
                ),
                CauseCase(
                    "detach(), .data, no_grad() or a new nn.Parameter is between it and the outputs",
                    "ask for the gradient of the tensor that the outputs were computed from, or record the way",
                ),
                CauseCase("the outputs do not depend on it", ALLOW),
            ),
        ),
    ),
    CauseRule(
        re.compile(r"One of the differentiated Tensors does not require grad"),
        Cause(
            "a gradient is asked for of a tensor that does not require grad: nothing was recorded of it",
            "x.requires_grad_() before the outputs are computed from it, or leave it out of the inputs",
        ),
    ),
    CauseRule(
        re.compile(r"(?<!view of )a leaf Variable that requires grad is being used in an in-place operation"),
        Cause(
            "the tensor written to is a leaf: no operator recorded it, and it requires grad. Its gradient would be that"
            " of a value that is gone",
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
    CauseRule(MESSAGE, CASES),
    CauseRule(
        re.compile(r"[Dd]erivative for '.{1,300}' is not implemented"),
        Cause(
            "derivatives.yaml has no formula for this input of the operator: in its place stands one that raises",
            "compute it of other operators, or write a torch.autograd.Function with a backward of its own",
        ),
    ),
    CauseRule(
        re.compile(r"[Dd]erivative for .{1,300} is not implemented"),
        Cause(
            "nothing tells the operator's derivative: it recorded a node that raises",
            "compute it of other operators, or write a torch.autograd.Function with a backward of its own",
        ),
    ),
    CauseRule(
        re.compile(r"does not require grad and does not have a grad_fn"),
        Cause(
            "no operator recorded the tensor: no input required grad, recording was off (no_grad, detach), or an"
            " operator before it has no derivative (argmax, a comparison, whatever gives integers)",
            "print requires_grad of each value on the way: an input needs requires_grad=True; where it is lost, another"
            " operator",
        ),
    ),
    CauseRule(
        re.compile(r"grad can be implicitly created only for scalar outputs"),
        Cause(
            "backward from a tensor that has not just one element needs to be told the gradient to begin with",
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
        re.compile(
            r"[Bb]atching rule not implemented|vmap: .{0,300} not supported|fallback path .{0,300} doesn't work on"
        ),
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
    *(
        CauseRule(re.compile(rf""""[\w:<>]+" not implemented for '{named}'"""), Cause(NO_CODE, remedy))
        for named, remedy in OTHER_DTYPES.items()
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
        Cause("torch was built without CUDA: it has no kernels for it", "tensors on the CPU, or a CUDA build"),
    ),
    CauseRule(
        re.compile(r"Found no NVIDIA driver on your system|CUDA driver version is insufficient for CUDA runtime"),
        Cause(
            "torch was built with CUDA; this machine has no NVIDIA driver, or one that is older than that CUDA",
            "tensors on the CPU; a newer driver, or a torch built with an older CUDA (nvidia-smi names the newest that"
            " the driver runs)",
        ),
    ),
    CauseRule(
        re.compile(r"without ATen_cuda library|torch\.cuda\.\w+ requires CUDA support"),
        Cause(
            "the part of torch that knows CUDA is not loaded: torch was built without it, or a program of C++ does not"
            " link it",
            "tensors on the CPU, or a CUDA build",
        ),
    ),
    CauseRule(
        re.compile(r"size of tensor a \(\d+\) must match the size of tensor b \(\d+\)"),
        Cause(
            "shapes are broadcast from the right: of two sizes under one another one must be 1, or both equal",
            "print both shapes; unsqueeze puts a 1 in, transpose and reshape move sizes under one another",
        ),
    ),
    CauseRule(
        re.compile(r"output with shape \[[\d, ]*\] doesn't match the broadcast shape \[[\d, ]*\]"),
        Cause(
            "what is written to keeps its shape, and with the operands together it would be broadcast to the other one",
            "the operator that makes a new result (add in place of add_), or expand() and clone() before it",
        ),
    ),
    CauseRule(
        re.compile(r"expanded size of the tensor \(-?\d+\) must match the existing size \(\d+\)"),
        Cause(
            "expand repeats dimensions of size 1 alone, and shapes are laid on one another from the right; what is"
            " assigned by brackets is expanded so",
            "print both shapes: each size that is not 1 stays as it is",
        ),
    ),
    CauseRule(
        re.compile(r"size mismatch, got input \(\d+\), mat \(\d+x\d+\), vec \(\d+\)"),
        Cause(
            "a matrix of n columns multiplies a vector of n elements",
            "print both shapes; of an nn.Linear without a batch the vector is what comes in",
        ),
    ),
    CauseRule(
        re.compile(r"result type \w+ can't be cast to the desired output type \w+"),
        Cause(
            "an operator in place, or with out=, does not turn its result from floating point into integers, from"
            " complex into real, or from numbers into bool; copy_ does",
            "convert what is written to before, or use the operator that makes a new result",
        ),
    ),
    CauseRule(
        re.compile(r"index -?\d+ is out of bounds for dimension \d+ with size \d+"),
        Cause(
            "a dimension of n elements has the indices 0 to n - 1; brackets take -n to -1 too, from its end",
            "print the indices' min() and max(), and the shape; where tensors index, the number given counts these,"
            " a mask once for each of its dimensions",
        ),
    ),
    CauseRule(
        re.compile(r"shape '\[(?:\d+, )*-1(?:, \d+)*\]' is invalid for input of size \d+"),
        Cause(
            "view and reshape keep the number of elements, and -1 is counted from the other sizes: the number of"
            " elements is no multiple of what these multiply to",
            "other sizes beside the -1, whose product divides the number of elements; x.flatten(1) keeps the batch and"
            " joins the rest",
        ),
    ),
    CauseRule(
        re.compile(r"shape '\[[-\d, ]*\]' is invalid for input of size \d+"),
        Cause(
            "view and reshape keep the number of elements: the sizes asked for must multiply to it",
            "-1 for one size, which is then counted; x.flatten(1) keeps the batch and joins the rest",
        ),
    ),
    CauseRule(
        re.compile(r"Dimension out of range \(expected to be in range of"),
        Cause(
            "a tensor of n dimensions has the dimensions 0 to n - 1, or -n to -1 from the right; what puts a new one in"
            " (unsqueeze, stack) counts those of its result",
            "print the tensor's shape",
        ),
    ),
    CauseRule(
        re.compile(r"mat1 and mat2 shapes cannot be multiplied"),
        Cause(
            "the columns of mat1 must be as many as the rows of mat2; of an nn.Linear mat1 is what comes in, "
            "and the rows of mat2 are its in_features",
            "in_features as large as the last dimension of what comes in, or what comes in flattened in another"
            " way",
        ),
    ),
    CauseRule(
        re.compile(r"transposed=1, .{1,300}expected input\[[\d, ]{1,300}\] to have \d+ channels, but got \d+ channels"),
        Cause(
            "the weight's first size is the number of channels that a transposed convolution takes: its in_channels",
            "in_channels as many as the input has, or an input with its channels in dimension 1 (permute)",
        ),
    ),
    CauseRule(
        re.compile(r"expected input\[[\d, ]{1,300}\] to have \d+ channels, but got \d+ channels"),
        Cause(
            "the weight's second size is the number of channels that one group takes: a convolution's "
            "in_channels / groups",
            "in_channels as many as the input has, or an input with its channels in dimension 1 (permute)",
        ),
    ),
    CauseRule(
        re.compile(r"Expected tensor for argument #1 'indices' to have one of the following scalar types"),
        Cause(
            "an embedding looks rows up by number, so indices must be integers",
            ".long() on the indices",
        ),
    ),
    CauseRule(
        re.compile(r"index out of range in self"),
        Cause(
            "an index is negative, or not below the size of the dimension that it goes into: of an nn.Embedding"
            " its num_embeddings",
            "print the indices' min() and max(); of an nn.Embedding num_embeddings of at least the largest index + 1",
        ),
    ),
    CauseRule(
        re.compile(r"Target -?\d+ is out of bounds"),
        Cause(
            "a target is the number of a class: from 0 to C - 1, where C is the size of the input's dimension of"
            " classes: the one behind the batch, which is the first where there is no batch",
            "labels that begin at 0, or as many outputs of the last layer as there are classes",
        ),
    ),
    CauseRule(
        re.compile(r"expected target dtype to be Long or Byte"),
        Cause(
            "a target of class numbers must be int64 or uint8; of probabilities it must have the input's own shape",
            ".long() on the target",
        ),
    ),
    CauseRule(
        re.compile(r"expected scalar type Long but found"),
        Cause(
            "a tensor must be int64 here: as it numbers something (a target of classes), or as the one beside it is",
            ".long() on that tensor, or the other one in its dtype; a target of probabilities has the input's shape",
        ),
    ),
    CauseRule(
        re.compile(r"Expected input batch_size \(\d+\) to match target batch_size"),
        Cause(
            "input and target must have the same first dimension, one row a sample",
            "look for a view or flatten before it that moves samples into other dimensions: x.flatten(1) keeps "
            "the first",
        ),
    ),
    CauseRule(
        re.compile(
            r"mat1 and mat2 must have the same dtype|expected m1 and m2 to have the same dtype"
            r"|Input type \((torch\.(?:cuda\.)?)(\w+Tensor)\) and (?:weight|bias) type \(\1(?!\2)\w+Tensor\)"
            r"|Input type \(([a-z]\w+)\) and (?:weight|bias) type \((?!\3\))[a-z]\w+\)"
            r"|Found dtype \w+ but expected \w+"
        ),
        Cause(
            "the tensors have different dtypes, and this operator converts none; numpy makes "
            "float64 and modules are float32, if nobody says otherwise",
            ".float() on the data, or both in one dtype: x.to(module.weight.dtype)",
        ),
    ),
    CauseRule(
        re.compile(
            r"expected scalar type (?:Float|Double|Half|BFloat16) but found (?:Float|Double|Half|BFloat16)"
        ),
        Cause(
            "a tensor has another dtype than this operator takes: that of the tensor beside it, or the one that it"
            " knows; numpy makes float64 and modules are float32, if nobody says otherwise",
            ".float() on the data, or both in one dtype: x.to(module.weight.dtype)",
        ),
    ),
    CauseRule(
        re.compile(r"must be Tensor, not numpy\.ndarray"),
        Cause(
            "the function takes tensors",
            "torch.from_numpy(x).float(), or torch.tensor(x)",
        ),
    ),
    CauseRule(
        re.compile(r"Expected more than 1 value per channel when training"),
        Cause(
            "batch norm takes mean and variance of each channel over the batch while it trains: the variance of"
            " one value is 0, and the result would be the same for every value",
            "a last batch of one sample left out (DataLoader(drop_last=True)), or model.eval() where you do not"
            " train",
        ),
    ),
    CauseRule(
        re.compile(r"stack expects each tensor to be equal size"),
        Cause(
            "stack takes tensors of one shape. In a DataLoader's default_collate they are the samples of one "
            "batch",
            "samples cut or padded to one shape, or a collate_fn of your own (torch.nn.utils.rnn.pad_sequence)",
        ),
    ),
    CauseRule(
        re.compile(
            r"found at least two devices|is not on the expected device"
            r"|Input type \(torch\.cuda\.\w+\) and (?:weight|bias) type \(torch\.[A-Z]\w+\)"
            r"|Input type \(torch\.[A-Z]\w+\) and (?:weight|bias) type \(torch\.cuda\.\w+\)"
        ),
        Cause(
            "an operator takes tensors of one device; beside another one only a CPU tensor without dimensions",
            "model.to(device) and, in each step, x = x.to(device): a tensor's to() gives another tensor",
        ),
    ),
    CauseRule(
        re.compile(r"CUDA error: device-side assert triggered"),
        Cause(
            "a kernel on the GPU failed a check of its own, such as that of an index. It may be told later than it"
            " happened: by a call of another line",
            "CUDA_LAUNCH_BLOCKING=1 has each call wait for its kernel, so that the right line is told; the same on the"
            " CPU may say more",
        ),
    ),
    CauseRule(
        re.compile(r"CUDA out of memory"),
        Cause(
            "torch could not get as much memory as was asked for: the GPU has not as much free, or a limit that you"
            " set (set_per_process_memory_fraction) is reached",
            "a smaller batch; torch.no_grad() where you do not train; loss.item() where you add up losses, "
            "since a loss keeps its graph",
        ),
    ),
    CauseRule(
        re.compile(
            r"Error\(s\) in loading state_dict for \w+:\s{1,20}(?:Missing key|Unexpected key|size mismatch for)"
        ),
        Cause(
            "names or shapes of the checkpoint's tensors are not those of this module's",
            "the module as it was when it was saved; a prefix `module.` is what DataParallel puts before each name."
            " strict=False passes over names, not over shapes",
        ),
    ),
    CauseRule(
        re.compile(r"mean\(\): could not infer output dtype"),
        Cause(
            "a mean of integers or truth values would be none",
            "x.float().mean()",
        ),
    ),
    CauseRule(
        re.compile(r"Only Tensors of floating point and complex dtype can require gradients"),
        Cause(
            "there is no gradient of integers and truth values",
            "dtype=torch.float32",
        ),
    ),
    CauseRule(
        re.compile(r"with \d+ elements cannot be converted to Scalar"),
        Cause(
            "only a tensor of one element is a number",
            ".tolist() for all of them, or one number of them: .mean(), x[0]",
        ),
    ),
    CauseRule(
        re.compile(r"Boolean value of Tensor with more than one value is ambiguous"),
        Cause(
            "`if`, `and`, `not` and `==` of lists ask a tensor for one truth value",
            ".any() or .all(), and & for `and`; where a loss is meant, nn.MSELoss()(x, y): the class takes "
            "options",
        ),
    ),
    CauseRule(
        re.compile(r"optimizer got an empty parameter list"),
        Cause(
            "what was given holds no parameters: an empty list, those of a module that has none or has them in a"
            " plain list or dict, or parameters() that were gone through before, which is possible once",
            "nn.ModuleList, nn.ModuleDict or nn.ParameterList in place of list and dict",
        ),
    ),
    CauseRule(
        re.compile(r"Recomputed values for the following tensors have different metadata"),
        Cause(
            "a checkpointed function runs again in backward. It saved tensors of another shape, dtype or device then:"
            " it depends on something that has changed since",
            'a function that does the same each time; checkpoint(…, determinism_check="none") only silences this check',
        ),
    ),
    CauseRule(
        re.compile(
            r"A different number of tensors was saved during the original forward"
            r"|trying to save more tensors during recomputation than during the original forward"
        ),
        Cause(
            "a checkpointed function runs again in backward. The checkpoint was given another number of saved tensors"
            " then: the function depends on something that has changed since, or other hooks of saved tensors took them"
            " (a context of context_fn, say)",
            "a function that does the same each time, and the same hooks around it",
        ),
    ),
    CauseRule(
        re.compile(r"your training graph has changed in this iteration.{1,300}static_graph set to True"),
        Cause(
            "DistributedDataParallel(static_graph=True) expects each step to use the same parameters, and some got no"
            " gradient in the last one",
            "static_graph=False, or the same parameters in each step's loss",
        ),
    ),
    CauseRule(
        re.compile(r"that were not used in producing loss\. Since `find_unused_parameters=True` is enabled"),
        Cause(
            "some parameters got no gradient in the last step, though those that forward() does not use were looked for"
            " (find_unused_parameters=True)",
            "every output of forward() in the loss",
        ),
    ),
    CauseRule(
        re.compile(r"Expected to have finished reduction in the prior iteration"),
        Cause(
            "some parameters got no gradient in the last step, and DistributedDataParallel waits for all",
            "find_unused_parameters=True, or every parameter in the loss",
        ),
    ),
    CauseRule(
        _KILLED,
        Cause(
            "a signal killed the process: it came in C or C++, and no exception says why",
            "ptexplore trace --script FILE keeps what ran until then, and names the functions that the signal came in",
        ),
    ),
    CauseRule(
        re.compile(r"^SIGKILL: in \S+\(\)"),
        Cause("it was in a call that sends signals: the process sent itself this one", ""),
    ),
    CauseRule(
        re.compile(r"^SIGKILL: "),
        Cause("the system kills a process so when memory runs out, or somebody did; what ran last is not known", ""),
    ),
    CauseRule(
        re.compile(r"SIGSEGV: (torch::autograd::)?PyFunctionTensorPreHook::PyFunctionTensorPreHook"),
        Cause(
            "the tensor was to hand its hooks to autograd, and holds no dict of hooks: C++ read a null pointer",
            "register the hook before the tensor, or what it is a view of, is written to in place",
        ),
    ),
)  # fmt: skip


def cause_of_unused(seen: UnusedInput) -> Cause:
    """Why a tensor is not in the graph of the outputs, by what it is."""
    which = f"input {seen.index} of {seen.count}" if seen.count > 1 else "the input"
    more = f" and {seen.further} more" if seen.further else ""
    leaves = f"{len(seen.leaves) + seen.further} leaves: {', '.join(seen.leaves)}{more}"
    leaves = leaves if len(seen.leaves) > 1 else f"one leaf, {seen.leaves[0]}" if seen.leaves else "no leaf"
    cause = UNUSED[seen.situation]
    why = cause.why.format(input=f"{which} ({seen.tensor})", node=seen.node, leaves=leaves)
    return Cause(why, cause.remedy)


def cause_of_getter(seen: FailedGetter) -> Cause:
    """Why an attribute that a class has was not found."""
    why = (
        f"{seen.owner} has {seen.name}: its getter raised an AttributeError. Python drops that one and asks"
        " __getattr__, whose error this is"
    )
    called = f"{seen.owner}.{seen.name}.{seen.function}"
    return Cause(why, f"{called}(self) shows the getter's own error" if seen.function else "")


def cause_of(message: str, exception: str = "") -> Cause | None:
    """The cause that an error's class and message tell; None for what no rule knows. A traceback holds both."""
    text = f"{exception}: {message}"
    return next((rule.cause for rule in RULES if rule.message.search(text)), None)
