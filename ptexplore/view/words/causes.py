"""Causes in words: why an error is raised, and how to fix it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from ptexplore.model.trace import Cause, CauseCase


class Explained(NamedTuple):
    """The reason and the remedy; or several cases, each with its sign and its remedy."""

    why: str
    remedy: str = ""
    cases: tuple[tuple[str, str], ...] = ()


ENGLISH: dict[str, Explained] = {
    "no-code-for-floating": Explained(
        "the named kernel has no code for this dtype: it is not in the list of dtypes that the kernel is compiled"
        " for (AT_DISPATCH_…)",
        "convert to a dtype that the kernel takes (x.long(), if it is for integers), or use another operator",
    ),
    "no-code-for-complex": Explained(
        "the named kernel has no code for this dtype: it is not in the list of dtypes that the kernel is compiled"
        " for (AT_DISPATCH_…)",
        "compute with real numbers (x.real, x.imag, x.abs(), torch.view_as_real(x)), or use another operator",
    ),
    "no-code-for-integers": Explained(
        "the named kernel has no code for this dtype: it is not in the list of dtypes that the kernel is compiled"
        " for (AT_DISPATCH_…)",
        "convert to a dtype that the kernel takes (x.float()), or use another operator",
    ),
    "no-code": Explained(
        "the named kernel has no code for this dtype: it is not in the list of dtypes that the kernel is compiled"
        " for (AT_DISPATCH_…)",
        "convert to a dtype that the kernel takes, or use another operator",
    ),
    "unused-in-graph": Explained(
        "no path through the graph leads from the outputs to this tensor: they were computed without it, or from"
        " another tensor with the same values",
        "",
        (
            (
                "it was made from the tensor that the outputs come from: a view (each x[0] is a new one), a copy",
                "compute the outputs from exactly this tensor, or ask for the gradient of the other one",
            ),
            (
                "detach(), .data, no_grad() or a new nn.Parameter is between it and the outputs",
                (
                    "ask for the gradient of the tensor that the outputs were computed from, or record the path"
                    " between them"
                ),
            ),
            (
                "the outputs do not depend on it",
                "allow_unused=True gives None for it instead of this error",
            ),
        ),
    ),
    "input-without-grad": Explained(
        "you asked for the gradient of a tensor that does not require grad: nothing was recorded for it",
        "call x.requires_grad_() before the outputs are computed from it, or leave it out of the inputs",
    ),
    "leaf-written": Explained(
        "the tensor that is written to is a leaf that requires grad: no operator recorded it. Its gradient would"
        " belong to a value that no longer exists",
        "write to a copy (x.clone()), or inside torch.no_grad(), where the write is not recorded",
    ),
    "view-of-leaf-written": Explained(
        "the tensor that is written to shares its memory with a leaf that requires grad",
        "write to a view of a copy (x.clone()[0]), or inside torch.no_grad()",
    ),
    "freed": Explained(
        "saved tensors were needed that an earlier backward had freed, usually because a second backward reached"
        " the same node. The message does not say why the graph still led there; ptexplore trace --script FILE"
        " does",
        "",
        (
            (
                "a tensor is kept from one round to the next (a hidden state, a list, a sum of losses)",
                "detach it between the rounds: h = h.detach()",
            ),
            (
                "a tensor with a graph is made once and used in each round (in __init__, before the loop)",
                "make a new one in each forward, or detach it",
            ),
            (
                "two losses use one result, as in a GAN",
                (
                    "detach the result for the loss that should not train the part that made it; otherwise pass"
                    " retain_graph=True to each backward except the last"
                ),
            ),
            (
                "two losses come from one forward, or one loss is used twice",
                "call backward once on their sum, or pass retain_graph=True to each backward except the last",
            ),
            (
                "the line that raised reads them itself (grad_fn.saved_tensors, grad_fn._saved_…)",
                "read them before that backward, or keep them with retain_graph=True",
            ),
        ),
    ),
    "no-formula": Explained(
        "derivatives.yaml has no formula for this input of the operator; it has an entry that raises instead",
        "compute it with other operators, or write a torch.autograd.Function with its own backward",
    ),
    "no-derivative": Explained(
        "the derivative of the operator is not defined: it recorded a node that raises",
        "compute it with other operators, or write a torch.autograd.Function with its own backward",
    ),
    "nothing-recorded": Explained(
        "no operator recorded the tensor: no input required grad, recording was off (no_grad, detach), or an earlier"
        " operator has no derivative (argmax, a comparison, operators with integer results)",
        "print requires_grad of each value on the way: an input needs requires_grad=True; if an operator loses it,"
        " use another operator",
    ),
    "backward-from-many": Explained(
        "backward from a tensor that does not have exactly one element needs a gradient to begin with",
        ".sum().backward(), or backward(torch.ones_like(x))",
    ),
    "saved-then-written": Explained(
        "a node saved this tensor for its formula, and the tensor was written to afterwards: the saved version is"
        " older than its present version",
        "write to a copy, or before the operator that saves it; torch.autograd.set_detect_anomaly(True) names the"
        " call of that operator",
    ),
    "inference-tensor": Explained(
        "a tensor made in inference mode has no version counter and no autograd keys",
        "make a normal tensor from it: x.clone() outside of inference mode",
    ),
    "vmap-needs-value": Explained(
        "vmap runs the operator once for all examples: it cannot give a number or a shape that depends on the"
        " values of one example",
        "compute it without that value (torch.where, a mask), or loop over the batch yourself",
    ),
    "no-batching-rule": Explained(
        "the operator has no batching rule, and vmap cannot loop over the batch instead",
        "torch.library.register_vmap adds a rule to a custom operator; otherwise loop over the batch yourself",
    ),
    "no-storage": Explained(
        "the code asked a tensor without memory (fake, meta or a wrapper) for its bytes",
    ),
    "meta-without-values": Explained(
        "a meta tensor has a shape but no values",
        "make the tensors on a real device: module.to_empty(device=…), and then fill in their values",
    ),
    "fake-without-values": Explained(
        "a fake tensor has no values, and the result of this operator depends on them: it needs a real tensor",
        "run it outside of FakeTensorMode, or without asking for the value",
    ),
    "fake-beside-real": Explained(
        "a fake tensor met a real one, and an operator takes only one of the two kinds",
        "make all of them inside the same FakeTensorMode, or use FakeTensorMode(allow_non_fake_inputs=True)",
    ),
    "out-not-differentiable": Explained(
        "autograd records no call with out=: a write into a given tensor has no derivative",
        "call it without out=, or inside torch.no_grad()",
    ),
    "built-without-cuda": Explained(
        "torch was built without CUDA, so it has no kernels for it",
        "use tensors on the CPU, or a CUDA build",
    ),
    "no-driver": Explained(
        "torch was built with CUDA; this machine has no NVIDIA driver, or a driver that is older than that CUDA",
        "use tensors on the CPU, a newer driver, or a torch built with an older CUDA (nvidia-smi names the newest"
        " CUDA that the driver runs)",
    ),
    "cuda-not-loaded": Explained(
        "the CUDA part of torch is not loaded: torch was built without it, or a C++ program does not link it",
        "use tensors on the CPU, or a CUDA build",
    ),
    "broadcast": Explained(
        "shapes are broadcast from the right: two sizes in the same position must be equal, or one of them must be 1",
        "print both shapes; unsqueeze inserts a size of 1, and transpose and reshape move sizes into the same position",
    ),
    "output-too-small": Explained(
        "the tensor that is written to keeps its shape, but the operands would broadcast to the other shape",
        "use the operator that makes a new result (add instead of add_), or call expand() and clone() first",
    ),
    "expanded": Explained(
        "expand repeats only dimensions of size 1, and matches shapes from the right; an assignment to x[…]"
        " expands the value in the same way",
        "print both shapes: each size that is not 1 must stay the same",
    ),
    "matrix-by-vector": Explained(
        "a matrix with n columns multiplies a vector of n elements",
        "print both shapes; for an nn.Linear without a batch, the vector is its input",
    ),
    "result-not-cast": Explained(
        "an in-place operator, or one with out=, does not convert its result from floating point to integers, from"
        " complex to real, or from numbers to bool; copy_ does",
        "convert the tensor that is written to first, or use the operator that makes a new result",
    ),
    "index-out-of-bounds": Explained(
        "a dimension of n elements has the indices 0 to n - 1; brackets also take -n to -1, which count from its end",
        "print min() and max() of the indices, and the shape; if tensors are the indices, the given number counts"
        " these tensors, a mask once for each of its dimensions",
    ),
    "inferred-size": Explained(
        "view and reshape keep the number of elements, and compute the size for -1 from the other sizes: the"
        " number of elements is not a multiple of their product",
        "use other sizes beside the -1, whose product divides the number of elements; x.flatten(1) keeps the batch"
        " and joins the rest",
    ),
    "size-of-view": Explained(
        "view and reshape keep the number of elements: the product of the requested sizes must equal it",
        "use -1 for one size, which is then computed; x.flatten(1) keeps the batch and joins the rest",
    ),
    "dimension-out-of-range": Explained(
        "a tensor of n dimensions has the dimensions 0 to n - 1, or -n to -1 from the right; operators that add a"
        " dimension (unsqueeze, stack) count the dimensions of the result",
        "print the shape of the tensor",
    ),
    "matrix-shapes": Explained(
        "mat1 must have as many columns as mat2 has rows. In an nn.Linear, mat1 is the input, and the rows of mat2"
        " are its in_features",
        "make in_features as large as the last dimension of the input, or flatten the input in another way",
    ),
    "transposed-channels": Explained(
        "the first size of the weight is the number of channels that a transposed convolution takes: its in_channels",
        "give the convolution as many in_channels as the input has, or an input with its channels in dimension 1"
        " (permute)",
    ),
    "channels": Explained(
        "the second size of the weight is the number of channels that one group takes: in_channels / groups of the"
        " convolution",
        "give the convolution as many in_channels as the input has, or an input with its channels in dimension 1"
        " (permute)",
    ),
    "indices-dtype": Explained(
        "an embedding looks up rows by number, so indices must be integers",
        "call .long() on the indices",
    ),
    "index-out-of-range": Explained(
        "an index is negative, or not smaller than the size of the dimension that it indexes (num_embeddings of an"
        " nn.Embedding)",
        "print min() and max() of the indices; an nn.Embedding needs num_embeddings of at least the largest index + 1",
    ),
    "target-out-of-bounds": Explained(
        "a target is a class number from 0 to C - 1, where C is the size of the input's class dimension. That is"
        " the dimension after the batch, or the first one if there is no batch",
        "use labels that begin at 0, or as many outputs of the last layer as there are classes",
    ),
    "target-dtype": Explained(
        "a target of class numbers must be int64 or uint8; a target of probabilities must have the shape of the input",
        "call .long() on the target",
    ),
    "long-expected": Explained(
        "a tensor must be int64 here: because it holds class numbers (a target), or because the"
        " tensor beside it is int64",
        "call .long() on that tensor, or convert the other one to its dtype; a target of probabilities has the"
        " shape of the input",
    ),
    "batch-sizes": Explained(
        "input and target must have the same first dimension, with one row for each sample",
        "look for an earlier view or flatten that moves samples into other dimensions: x.flatten(1) keeps the"
        " first dimension",
    ),
    "dtypes-differ": Explained(
        "the tensors have different dtypes, and this operator converts none; by default, numpy makes float64 and"
        " modules are float32",
        "call .float() on the data, or use one dtype for both: x.to(module.weight.dtype)",
    ),
    "scalar-types-differ": Explained(
        "a tensor has another dtype than this operator takes: the dtype of the tensor beside it, or the only dtype"
        " that it knows. By default, numpy makes float64 and modules are float32",
        "call .float() on the data, or use one dtype for both: x.to(module.weight.dtype)",
    ),
    "numpy-given": Explained(
        "the function takes tensors",
        "torch.from_numpy(x).float(), or torch.tensor(x)",
    ),
    "batch-norm-of-one": Explained(
        "in training, batch norm computes mean and variance of each channel over the batch. The variance of one"
        " value is 0, and the result would be the same for every value",
        "leave out a last batch of one sample (DataLoader(drop_last=True)), or call model.eval() if you do not train",
    ),
    "stacked-shapes": Explained(
        "stack takes tensors of one shape. In a DataLoader's default_collate they are the samples of one batch",
        "cut or pad the samples to one shape, or pass your own collate_fn (torch.nn.utils.rnn.pad_sequence)",
    ),
    "devices-differ": Explained(
        "an operator takes tensors of one device; a tensor of another device is allowed only if it is on the CPU"
        " and has no dimensions",
        "call model.to(device), and x = x.to(device) in each step: to() of a tensor returns another tensor",
    ),
    "device-assert": Explained(
        "a kernel on the GPU failed a check, for example of an index. The error may come later than the failure,"
        " in a call of another line",
        "set CUDA_LAUNCH_BLOCKING=1: each call then waits for its kernel, so the error names the right line; the"
        " same code on the CPU may say more",
    ),
    "cuda-memory": Explained(
        "torch could not get the requested memory: the GPU does not have enough free memory, or a limit that you"
        " set was reached (set_per_process_memory_fraction)",
        "use a smaller batch, torch.no_grad() where you do not train, and loss.item() where you add up losses,"
        " since a loss keeps its graph",
    ),
    "state-dict": Explained(
        "names or shapes of the tensors in the checkpoint differ from those in this module",
        "use the module as it was when it was saved; DataParallel puts the prefix `module.` before each name."
        " strict=False ignores names, but not shapes",
    ),
    "mean-of-integers": Explained(
        "a mean of integers or bools would not be an integer or a bool",
        "x.float().mean()",
    ),
    "grad-of-integers": Explained(
        "integer and bool tensors have no gradient",
        "dtype=torch.float32",
    ),
    "not-one-number": Explained(
        "only a tensor of one element can become a number",
        "use .tolist() for all numbers, or take one of them: .mean(), x[0]",
    ),
    "truth-of-many": Explained(
        "`if`, `and`, `not` and `==` of lists ask a tensor for one truth value",
        "use .any() or .all(), and & for `and`; for a loss, call nn.MSELoss()(x, y): the class itself takes options",
    ),
    "no-parameters": Explained(
        "the optimizer got no parameters. The list is empty, or the module has none or keeps them in a plain list or"
        " dict, or parameters() was read before, which works only once",
        "use nn.ModuleList, nn.ModuleDict or nn.ParameterList instead of list and dict",
    ),
    "recomputed-otherwise": Explained(
        "a checkpointed function runs again in backward. There the function saved tensors of another shape, dtype or"
        " device: it depends on something that has changed",
        'make the function do the same each time; checkpoint(…, determinism_check="none") only silences this check',
    ),
    "saved-another-number": Explained(
        "a checkpointed function runs again in backward. There the checkpoint got another number of saved tensors."
        " The function depends on something that has changed since, or other hooks on saved tensors took them (for"
        " example a context of context_fn)",
        "make the function do the same each time, with the same hooks around it",
    ),
    "static-graph": Explained(
        "DistributedDataParallel(static_graph=True) expects each step to use the same parameters, and some got no"
        " gradient in the last step",
        "set static_graph=False, or use the same parameters in the loss of each step",
    ),
    "unused-with-search": Explained(
        "some parameters got no gradient in the last step, although DistributedDataParallel looked for parameters"
        " that forward() does not use (find_unused_parameters=True)",
        "use every output of forward() in the loss",
    ),
    "unused-parameters": Explained(
        "some parameters got no gradient in the last step, and DistributedDataParallel waits for all of them",
        "set find_unused_parameters=True, or use every parameter in the loss",
    ),
    "view-of-strides": Explained(
        "view copies nothing. It joins two neighbouring dimensions only if the stride of the left one is the"
        " size times the stride of the right one. After transpose, permute, expand or a slice that is often"
        " not so",
        "x.reshape(…), which copies if it must, or x.contiguous().view(…)",
    ),
    "sizes-to-join": Explained(
        "cat joins tensors along one dimension: all their other sizes must be equal",
        "print the shapes and check dim=; torch.stack joins along a new dimension",
    ),
    "one-location-written": Explained(
        "several elements of the tensor that is written to are in one memory location, as expand and"
        " as_strided make them. The result would depend on the order of the writes",
        "write to a copy: x.clone()",
    ),
    "read-and-written": Explained(
        "the input and the tensor that is written to share a part of their memory: a write would change"
        " elements that are not read yet",
        "read from a copy: x.clone()",
    ),
    "one-of-several-views": Explained(
        "the tensor is one of several views that one call returned (unbind, split, chunk): autograd does not"
        " record a write to one of them",
        "write to a copy (x.clone()), or take the view by an index: base[0]",
    ),
    "view-without-grad": Explained(
        "autograd did not see how this view was made, so it cannot record the write for the tensor behind the view",
        "make the view and write to it inside one torch.no_grad(), or do both outside of it",
    ),
    "wrong-gradient": Explained(
        "the backward of this node returned a gradient with another shape, dtype or device than the input",
        "in a backward of your own, return a gradient like the input; sum over the dimensions that the"
        " forward broadcast",
    ),
    "nan-gradient": Explained(
        "anomaly mode found a nan in a gradient that this node computed. The warning above the error has the"
        " call that recorded the node",
        "look for 0 / 0, inf - inf, or sqrt and log at 0: keep the input of that operator away from there"
        " (clamp, or torch.where on its input)",
    ),
    "vmap-writes-unbatched": Explained(
        "the tensor that is written to has no batch of vmap, and the other one has: there is no room for the"
        " results of all examples",
        "use the operator that makes a new result, or make the tensor inside the function from a batched one"
        " (x.new_zeros(…))",
    ),
    "function-without-setup": Explained(
        "functorch runs the forward of a torch.autograd.Function without ctx; what it saves belongs into setup_context",
        "write forward(x) without ctx, and setup_context(ctx, inputs, output) with ctx.save_for_backward",
    ),
    "ready-twice": Explained(
        "DistributedDataParallel got the gradient of one parameter twice in one backward",
        "",
        (
            ("the module runs in several reentrant checkpoints", "checkpoint(…, use_reentrant=False)"),
            ("a parameter is used outside of the wrapped module's forward", "use it inside forward"),
            ("the graph is the same in each step", "static_graph=True"),
        ),
    ),
    "weights-only": Explained(
        "torch.load with weights_only=True, the default since 2.6, reads tensors, plain types and allowed"
        " classes only: the file has something else, or was not written by torch.save",
        "torch.serialization.add_safe_globals([…]) allows a class; weights_only=False reads everything and"
        " runs code of the file, so only for a file that you trust",
    ),
    "storage-not-resizable": Explained(
        "this storage cannot grow: its memory is from numpy, from a file, or shared between processes, as a"
        " DataLoader's worker makes it for a batch",
        "x.clone() makes a storage that can; in a DataLoader the samples of a batch often differ in shape:"
        " pass a collate_fn that pads them",
    ),
    "illegal-access": Explained(
        "a kernel on the GPU read or wrote outside of its memory, for example with an index that is out of"
        " range. The error may come later than the failure, in a call of another line",
        "set CUDA_LAUNCH_BLOCKING=1: each call then waits for its kernel, so the error names the right line;"
        " compute-sanitizer names the kernel",
    ),
    "no-kernel-image": Explained(
        "this build of torch, or of an extension, has no code for the compute capability of this GPU",
        "compare torch.cuda.get_device_capability() with torch.cuda.get_arch_list(); use a build that has it,"
        " or build the extension with TORCH_CUDA_ARCH_LIST",
    ),
    "cudnn-status": Explained(
        "a call of cuDNN failed. The cause can be a lack of memory, a kernel that failed before (errors come"
        " late), or a cuDNN that does not fit the driver",
        "try a smaller batch, then CUDA_LAUNCH_BLOCKING=1; torch.backends.cudnn.enabled = False shows whether"
        " cuDNN is the reason",
    ),
    "cublas-memory": Explained(
        "cuBLAS did not get the memory for its handle or its workspace: the GPU is full, also by memory that"
        " torch keeps for later",
        "use a smaller batch; torch.cuda.empty_cache() gives back memory that torch keeps",
    ),
    "saved-on-gpu": Explained(
        "torch.load puts each tensor on the device that it was saved from, and that device is not here",
        "torch.load(file, map_location='cpu')",
    ),
    "cuda-in-fork": Explained(
        "the process used CUDA before it forked; a child cannot use what the driver gave to its parent",
        "multiprocessing.set_start_method('spawn'), or use CUDA only in the children; a Dataset with workers"
        " should give tensors on the CPU",
    ),
    "worker-without-memory": Explained(
        "workers hand tensors on in shared memory, and it is full: /dev/shm of a Docker container has 64 MB"
        " unless you ask for more",
        "docker run --shm-size=8g or --ipc=host, fewer workers, or num_workers=0, which needs none",
    ),
    "worker-killed": Explained(
        "something ended a worker by SIGKILL: mostly the system, when memory ran out",
        "fewer workers, a smaller prefetch_factor; in the Dataset, arrays and tensors instead of long lists"
        " of Python objects, which each worker copies as it reads them",
    ),
    "numpy-of-grad": Explained(
        "autograd does not record operations of numpy",
        "x.detach().numpy()",
    ),
    "numpy-of-device": Explained(
        "an array of numpy uses memory of the CPU",
        "x.cpu().numpy(), and x.detach() first if x requires grad",
    ),
    "no-attention-backend": Explained(
        "each backend of scaled_dot_product_attention that is enabled refused these inputs: by dtype, device,"
        " head size or mask",
        "enable more of them: torch.nn.attention.sdpa_kernel([…, SDPBackend.MATH]); on CUDA"
        " torch.backends.cuda.can_use_flash_attention(params, debug=True) says why",
    ),
    "einsum-sizes": Explained(
        "a letter has one size: it must be equal, or 1, in each operand that has the letter",
        "print the shapes beside the equation",
    ),
    "not-positive-definite": Explained(
        "Cholesky takes a positive-definite matrix. Rounding can make a small eigenvalue negative",
        "add a small number to the diagonal (a + 1e-6 * torch.eye(n)), or compute in float64;"
        " torch.linalg.cholesky_ex returns info instead of raising",
    ),
    "singular": Explained(
        "the factorization has an exact 0 on its diagonal: the matrix has no inverse",
        "torch.linalg.pinv or lstsq; look for rows or columns that are equal, zero, or sums of others",
    ),
    "bad-probabilities": Explained(
        "multinomial takes finite weights that are not negative",
        "apply softmax to logits first; torch.isfinite(x).all() finds the step that made a nan or an inf",
    ),
    "copied-with-graph": Explained(
        "the tensor is the result of an operator that autograd recorded: a copy would need a copy of the graph",
        "x.detach().clone()",
    ),
    "flag-of-result": Explained(
        "an operator made this tensor, so its requires_grad follows from the operator's inputs",
        "x.detach() is a tensor without the graph; to freeze a module, set the flag of its parameters",
    ),
    "kernel-larger-than-input": Explained(
        "with its padding, the input is smaller than the kernel with its dilation. Earlier layers made it too"
        " small, or its dimensions are in another order than (N, C, H, W)",
        "print the shape before this layer; use a larger input, padding, or fewer strides",
    ),
    "pooled-to-nothing": Explained(
        "the window of the pooling is larger than its input",
        "use a larger input or a smaller kernel_size; nn.AdaptiveAvgPool2d takes any input",
    ),
    "dimensions-of-convolution": Explained(
        "a convolution takes channels and then as many dimensions as its name says, with or without a batch"
        " before them",
        "x.unsqueeze(0) adds a dimension of size 1 for a missing channel or batch",
    ),
    "matmul-of-number": Explained(
        "matmul takes vectors and matrices; a tensor without dimensions is a number",
        "use * for a product with a number",
    ),
    "batches-of-matrices": Explained(
        "bmm multiplies (b, n, m) by (b, m, p): the batches are equal, and the second one has as many rows as"
        " the first has columns",
        "transpose(1, 2) swaps rows and columns; torch.matmul also broadcasts the batch",
    ),
    "no-process-group": Explained(
        "a function about ranks or a collective was called before torch.distributed.init_process_group",
        "call init_process_group first; torch.distributed.is_initialized() says whether it was called",
    ),
    "killed": Explained(
        "a signal killed the process: it came while C or C++ was running, and no exception says why",
        "ptexplore trace --script FILE keeps the calls up to that point, and names the functions in which the"
        " signal came",
    ),
    "signal-to-itself": Explained(
        "it was in a call that sends signals: the process sent this signal to itself",
    ),
    "sigkill": Explained(
        "the system kills a process in this way when memory runs out, or a person did it; the last function that"
        " ran is not known",
    ),
    "pre-hook-without-dict": Explained(
        "the tensor should pass its hooks to autograd, but has no dict of hooks: C++ read a null pointer",
        "register the hook before an in-place write to the tensor, or to the tensor that it is a view of",
    ),
    "unused-beside": Explained(
        "{input} is a result of {node}, made beside the outputs: both come from one leaf, and the outputs do not"
        " come from it (each x[0] is a new tensor)",
        "compute the outputs from exactly this tensor, or ask for the gradient of the leaf and take this part of it."
        " allow_unused=True gives None for it instead of this error",
    ),
    "unused-detached": Explained(
        "{input} shares the memory of a leaf that the outputs come from, but is another tensor (.detach(), .data,"
        " a new nn.Parameter of it): the graph contains tensors, not memory",
        "ask for the gradient of the tensor that the outputs were computed from; allow_unused=True gives None for"
        " it instead of this error",
    ),
    "unused-elsewhere": Explained(
        "no path through the graph leads from the outputs to {input}: they come from {leaves}",
        "compute the outputs from it, with no detach() and no no_grad() in between; allow_unused=True gives None"
        " for it instead of this error",
    ),
    "freed-state": Explained(
        "a result of an earlier round went into this round, together with the graph of that round; the backward of"
        " that round had freed this graph",
        "detach {names} between the rounds (.detach()), after the backward. retain_graph=True is not a fix: each"
        " backward would go through all earlier rounds",
    ),
    "freed-once": Explained(
        "a result that was made once went into each round: an earlier backward freed the graph behind it",
        "make {names} again in each round, where the forward uses it; or detach it (.detach()), if no gradient"
        " should go through it. retain_graph=True in each backward except the last is right only if no weight is"
        " written to in between",
    ),
    "freed-uses": Explained(
        "two losses lead through one result, and each has its own backward: an earlier one freed the graph behind"
        " the result",
        "detach {names} (.detach()) for the loss that should not train the part that made it. If both losses"
        " should train it, pass retain_graph=True to each backward except the last, or call backward once on the"
        " sum. No weight may be written to (opt.step()) before the last backward through it",
    ),
    "freed-losses": Explained(
        "a second loss of the same forward: the backward of the first loss had freed the part of the graph that"
        " both share",
        "call backward once on the sum of the losses, or pass retain_graph=True to each backward except the last;"
        " call opt.step() after the last",
    ),
    "freed-same": Explained(
        "backward ran again from the same tensor, and the forward had not run again",
        "run the forward again before each backward; or pass retain_graph=True to each backward except the last,"
        " if the gradients should add up",
    ),
    "freed-read": Explained(
        "saved tensors of a node were read after a backward had freed them; no backward came to that node again",
        "read them before that backward, or keep them with retain_graph=True",
    ),
    "getter-raised": Explained(
        "{owner} has {name}: its getter raised an AttributeError. Python drops that error and calls __getattr__,"
        " which raised this one",
        "{owner}.{name}.{function}(self) shows the getter's own error",
    ),
}


def explained(cause: Cause) -> Explained:
    """Returns a cause in words. A saved trace without a code for the cause keeps the words that it has."""
    known = ENGLISH.get(cause.code)
    if known is None:
        return Explained(cause.why, cause.remedy, tuple((case.sign, case.remedy) for case in cause.cases))
    given = _spoken(cause.arguments)
    is_nameless = given.get("function") == ""  # a getter: it hides its own error
    return known._replace(why=known.why.format_map(given), remedy="" if is_nameless else known.remedy.format_map(given))


class _Given(dict[str, object]):
    """The arguments of a cause. An argument that a file lacks becomes an empty text."""

    def __missing__(self, name: str) -> str:
        return ""


def _spoken(arguments: Mapping[str, str | tuple[str, ...]]) -> _Given:
    """Returns the arguments of a cause in the form that its sentences use."""
    given = _Given(arguments)
    if "names" in given:
        given["names"] = " and ".join(arguments["names"]) or "that result"
    if "tensor" in given:
        which = f"input {given['input']}" if given["input"] else "the input"
        given["input"] = f"{which} ({given['tensor']})"
    leaves, further = arguments.get("leaves", ()), str(arguments.get("further", ""))
    if isinstance(leaves, tuple):
        count = len(leaves) + (int(further) if further.isdecimal() else 0)
        more = f" and {further} more" if further else ""
        several = f"{count} leaves: {', '.join(leaves)}{more}"
        given["leaves"] = several if len(leaves) > 1 else f"one leaf, {leaves[0]}" if leaves else "no leaf"
    return given


def worded_cause(cause: Cause) -> Cause:
    """Returns a cause with its words, for readers of JSON."""
    told = explained(cause)
    return replace(cause, why=told.why, remedy=told.remedy, cases=tuple(CauseCase(*case) for case in told.cases))
