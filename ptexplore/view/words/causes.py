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
    "saved-leaf-written": Explained(
        "a node saved this tensor for its formula, and the tensor was written to afterwards. No operator made it: it"
        " is a parameter, a buffer or data",
        "",
        (
            (
                (
                    "it is a parameter, and optimizer.step() ran between the forward and this backward (two losses, a"
                    " GAN, retain_graph=True)"
                ),
                "call every backward before the step, or run the forward again after it",
            ),
            (
                "your code writes to it (+=, x[i] = …, a method with _ at its end) after an operator used it",
                (
                    "write to a copy, or before that operator; torch.autograd.set_detect_anomaly(True) names the call"
                    " of that operator"
                ),
            ),
            (
                (
                    "it is a buffer that each forward changes, as in a batch norm, and two forwards come before the"
                    " backward"
                ),
                "call backward after each forward; in DistributedDataParallel, broadcast_buffers=False",
            ),
        ),
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
        "the code asked a tensor for its bytes, and this one has no memory of its own. It is fake, meta, sparse,"
        " nested, or a wrapper of vmap or grad",
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
        "print both shapes: expand cannot change a size other than 1",
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
        "print min() and max() of the indices, and the shape. If you index by several tensors, the number in the"
        " message counts these tensors; a mask counts once for each of its dimensions",
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
    "matrix-sizes": Explained(
        "mat1 has {given} columns and mat2 has {size} rows, which must be equal. In an nn.Linear, mat1 is the input"
        " (its last dimension is {given}), and the rows of mat2 are in_features ({size})",
        "an nn.Linear: in_features={given}, or flatten the input in another way; else transpose one of the two, or"
        " print both shapes",
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
        " in a call of another line. The output above it has a line 'Assertion … failed' with the kernel's file",
        "set CUDA_LAUNCH_BLOCKING=1: each call then waits for its kernel, so the error names the right line; the"
        " same code on the CPU may say more",
    ),
    "cuda-memory": Explained(
        "torch could not get the requested memory: the GPU does not have enough free memory, or a limit that you"
        " set was reached (set_per_process_memory_fraction)",
        "use a smaller batch, torch.no_grad() where you do not train, and loss.item() where you add up losses,"
        " since a loss keeps its graph",
    ),
    "cuda-memory-full": Explained(
        "torch asked for {asked} more. Of the {total} of the GPU, {free} are free; tensors of this process take"
        " {allocated}, and torch keeps {unallocated} beside them for reuse. The rest belongs to other processes and to"
        " CUDA itself",
        "use a smaller batch, torch.no_grad() where you do not train, and loss.item() where you add up losses."
        " Checkpoints and bfloat16 save more; nvidia-smi lists other processes",
    ),
    "cuda-memory-split": Explained(
        "torch asked for {asked} more, and keeps {unallocated} for reuse beside the {allocated} of its tensors: that"
        " is enough, but in pieces of which none is large enough. {free} of {total} are free outside of it",
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True (set before torch is imported) avoids such pieces; sizes that"
        " change from step to step make them. Then a smaller batch",
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
        "the optimizer got no parameters. The list is empty, or the module has no parameters, or they are in a plain"
        " list or dict. Or parameters() was read before: it can be read only once",
        "use nn.ModuleList, nn.ModuleDict or nn.ParameterList instead of list and dict",
    ),
    "recomputed-otherwise": Explained(
        "a checkpointed function runs again in backward. The second time it saved tensors of another shape, dtype or"
        " device: the function depends on something that has changed",
        "make the function do the same each time: the same autocast, train() or eval(), random numbers and caches."
        " checkpoint(…, debug=True) lists the operators of both runs; determinism_check='none' only silences this"
        " check",
    ),
    "recomputed-empty": Explained(
        "a checkpointed function runs again in backward. There it saved tensors without elements: often a parameter"
        " whose memory was released in between, as DeepSpeed's ZeRO-3 and FSDP do with the parameters of other ranks",
        "checkpoint the modules that are wrapped, and with the checkpoint of that library (deepspeed.checkpointing,"
        " apply_activation_checkpointing); or checkpoint(…, use_reentrant=True)",
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
    "weights-only-class": Explained(
        "torch.load with weights_only=True, the default since 2.6, reads tensors, plain types and allowed"
        " classes only, and the file has {name}",
        "torch.serialization.add_safe_globals([{name}]) before the load allows it; weights_only=False reads everything"
        " and runs code of the file, so only for a file that you trust",
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
    "cudnn-not-supported": Explained(
        "cuDNN has nothing for these inputs: they are not contiguous, are empty or too large, or have a dtype or sizes"
        " that it does not take",
        "x.contiguous() before the call; then a smaller batch. torch.backends.cudnn.enabled = False uses torch's own"
        " kernels",
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
    "index-dtype": Explained(
        "brackets take tensors of integers, or masks of bools, as indices",
        "convert the index: .long() for positions, .bool() for a mask",
    ),
    "too-many-indices": Explained(
        "the brackets have more indices than the tensor or array has dimensions; a mask counts once for each dimension",
        "print the shape; x[None] adds a dimension",
    ),
    "mask-shape": Explained(
        "a mask must have the sizes of the dimensions that it selects from",
        "make the mask from the same tensor, or give it a shape that fits: mask.squeeze(), mask[:, 0]",
    ),
    "indices-not-broadcast": Explained(
        "several tensors as indices are broadcast to one shape: each position takes one index from each of them",
        "for a grid of rows and columns, use x[rows[:, None], columns]",
    ),
    "value-not-broadcast": Explained(
        "an assignment to x[…] needs a value that has the shape of the selection, or is broadcast to it",
        "print x[…].shape and the shape of the value",
    ),
    "number-indexed": Explained(
        "a tensor without dimensions is one number, and has no indices",
        "x.item() is the number; code of old releases wrote loss.data[0]",
    ),
    "index-not-int64": Explained("the index holds positions, so it must have an integer dtype", "index.long()"),
    "gather-sizes": Explained(
        "index may be larger than the other tensors only in the dimension dim; in each other"
        " dimension it must not exceed their size",
        "print the shapes; expand() or a slice makes the index fit",
    ),
    "permute-dimensions": Explained(
        "permute takes each dimension of the tensor exactly once",
        "print the shape; an input without a batch has one dimension less",
    ),
    "expand-fewer": Explained(
        "expand keeps all dimensions, and can only add new ones at the left",
        "squeeze, or take an index, to lose a dimension first",
    ),
    "repeat-fewer": Explained(
        "repeat takes one number for each dimension, and further ones for new dimensions at the left",
        "write a 1 for each dimension that stays as it is",
    ),
    "split-sum": Explained(
        "a list of sizes must cover the whole dimension; one number gives pieces of that size, the last one smaller",
        "make the sizes add up to the size of the dimension, or check dim=",
    ),
    "two-inferred": Explained(
        "view and reshape compute the size for one -1 from all others",
        "write the other size out: x.view(x.size(0), -1)",
    ),
    "empty-inferred": Explained(
        "the tensor is empty, so that any size would do for the -1",
        "find out why it is empty (a filter, a mask, the last batch), or write all sizes out",
    ),
    "slice-too-long": Explained("narrow does not cut at the end, as x[a:b] does", "use a slice, or a smaller length"),
    "selected-out-of-range": Explained(
        "a dimension of n elements has the indices 0 to n - 1, or -n to -1 from its end",
        "print the shape and the index",
    ),
    "k-too-large": Explained(
        "topk and kthvalue cannot select more elements than the dimension has", "k = min(k, x.size(dim)), or check dim="
    ),
    "nothing-to-join": Explained(
        "the list of tensors is empty",
        "find out why nothing was added to it: an empty loop, a filter, a last step that never ran",
    ),
    "joined-dimensions": Explained(
        "cat joins tensors with the same number of dimensions",
        "unsqueeze adds one; torch.stack joins along a new dimension",
    ),
    "t-of-many": Explained(
        "t() swaps the two dimensions of a matrix",
        "x.mT, or x.transpose(-2, -1), swaps the last two dimensions of a batch",
    ),
    "not-a-matrix": Explained(
        "mm and addmm multiply two matrices, without a batch", "torch.matmul (@) takes batches and vectors"
    ),
    "not-a-batch-of-matrices": Explained(
        "bmm multiplies two batches of matrices: three dimensions each",
        "torch.matmul (@) takes any number of dimensions; x.unsqueeze(0) adds a batch",
    ),
    "not-vectors": Explained(
        "dot multiplies two vectors", "torch.matmul (@) for matrices; (a * b).sum(-1) for the rows of a batch"
    ),
    "negative-size": Explained(
        "a computed size is negative: a kernel that is larger than its input, or a difference in the wrong order",
        "print the numbers that the size is computed from",
    ),
    "outside-of-storage": Explained(
        "the sizes and strides lead beyond the end of the tensor's memory",
        "as_strided and set_ count in elements from storage_offset; use view, unfold or a slice instead",
    ),
    "storage-released": Explained(
        "the memory of the tensor was released (its storage has size 0), as FSDP does with parameters between uses",
        "use the parameters inside the forward of the wrapped module, or in FSDP.summon_full_params(model)",
    ),
    "padding-too-large": Explained(
        "reflection needs an input that is larger than the padding on each side",
        "use less padding, another mode, or a larger input",
    ),
    "sizes-of-interpolation": Explained(
        "interpolate got, or would make, a tensor of size 0",
        "print the shape of the input; scale_factor may round a size down to 0",
    ),
    "iterated-number": Explained(
        "a tensor without dimensions is one number: it has no length and no elements",
        "x.item() is the number; x.reshape(1) is a list of it",
    ),
    "argument-class": Explained(
        "the function takes a tensor for {name}, and got {given}",
        "torch.tensor(…) makes one from numbers; if it is a tuple or a dict, take the tensor out"
        " of it (an nn.LSTM returns two values)",
    ),
    "wrong-arguments": Explained(
        "no overload of the function takes these arguments; the message lists the overloads, and"
        " below each the argument that does not fit it",
        "compare your call with the overload that you mean: the number, the names and the classes of its arguments",
    ),
    "list-of-others": Explained(
        "the list must hold tensors only", "torch.tensor(…) makes a tensor from a number or a list"
    ),
    "ragged": Explained(
        "the inner lists differ in length, and a tensor has one size for each dimension",
        "pad them to one length (torch.nn.utils.rnn.pad_sequence), or keep a list of tensors",
    ),
    "of-strings": Explained(
        "a tensor holds numbers, and the data has texts", "give each text a number first (a dict of names, a tokenizer)"
    ),
    "array-of-objects": Explained(
        "a tensor has no dtype for numpy's {dtype}. numpy.object_ is often an array of lists that"
        " differ in length, or of None",
        "convert the array first: x.astype(numpy.float32)",
    ),
    "numpy-strides": Explained(
        "the array is a view that goes backwards (x[::-1], numpy.flip); tensors have no negative strides",
        "torch.from_numpy(x.copy())",
    ),
    "no-numpy": Explained(
        "torch could not load numpy: it is not installed, or torch was built for numpy 1 and numpy 2 is installed",
        "pip install 'numpy<2', or a newer torch",
    ),
    "not-an-array": Explained("from_numpy takes an array, but got {given}", "torch.tensor(x), or torch.as_tensor(x)"),
    "bools-subtracted": Explained(
        "subtraction is not defined for bools", "a ^ b (exclusive or), ~a (not), or convert: a.int()"
    ),
    "bools-negated": Explained("a bool has no sign", "~x is the logical not; -x.int() is negative"),
    "number-overflows": Explained(
        "the number does not fit into the dtype of the tensor ({dtype})",
        "use a number that fits (torch.finfo, torch.iinfo), as -1e4 instead of -1e9 for float16; or a larger dtype",
    ),
    "put-dtypes": Explained(
        "an assignment with tensors as indices converts no dtypes; autocast often makes one side float16",
        "x[index] = value.to(x.dtype)",
    ),
    "scatter-dtypes": Explained(
        "scatter converts no dtypes; autocast often makes one side float16", "src.to(self.dtype)"
    ),
    "index-add-dtypes": Explained(
        "index_add and index_copy convert no dtypes; autocast often makes one side float16", "source.to(self.dtype)"
    ),
    "lerp-dtypes": Explained(
        "lerp takes tensors of one dtype. Adam calls it: its state has the dtype that the"
        " parameters had in the first step",
        "convert the module before the optimizer is made, and load the state of an optimizer for the same dtype",
    ),
    "several-as-number": Explained(
        "Python needs one number here, and the tensor has several elements or another dtype",
        "a list of such tensors: torch.stack(x) instead of torch.tensor(x); an index: x.item()",
    ),
    "rnn-input-size": Explained(
        "the last dimension of the input holds the features of one step: {given}, where the module was made for {size}",
        "use input_size={given}, or move the features into the last dimension (transpose)",
    ),
    "hidden-size": Explained(
        "the hidden state must be (layers × directions, batch, hidden_size), also with"
        " batch_first=True; without a batch, the middle one is missing",
        "make it from the input of this call (the last batch may be smaller), or pass none for zeros",
    ),
    "lengths-on-cpu": Explained(
        "the lengths of packed sequences are read on the CPU", "pack_padded_sequence(x, lengths.cpu(), …)"
    ),
    "lengths-sorted": Explained(
        "the sequences of the batch must begin with the longest one",
        "pack_padded_sequence(…, enforce_sorted=False) sorts them for you",
    ),
    "heads-divide": Explained(
        "each head gets embed_dim / num_heads numbers of a token", "use an embed_dim that is a multiple of num_heads"
    ),
    "embedding-dimension": Explained(
        "the last dimension of the query must be embed_dim of the module: {size}, and it is {given}",
        "nn.Transformer takes (length, batch, d_model), or (batch, length, d_model) with batch_first=True",
    ),
    "normalized-shape": Explained(
        "layer norm takes the mean over the last dimensions: they must equal normalized_shape",
        "move the features into the last dimension, or give the module their size",
    ),
    "groups-divide": Explained(
        "group norm splits the channels (dimension 1) into num_groups equal groups",
        "use a num_groups that divides the number of channels",
    ),
    "features-of-norm": Explained(
        "the input has {given} channels in dimension 1, and the norm was made for {size}",
        "use num_features={given}, or move the channels into dimension 1",
    ),
    "dimensions-of-norm": Explained(
        "this norm takes an input of {size}, and got {given} dimensions",
        "BatchNorm1d takes (N, C) or (N, C, L), BatchNorm2d (N, C, H, W); x.unsqueeze(0) adds a batch",
    ),
    "probabilities-of-bce": Explained(
        "binary_cross_entropy takes probabilities, for input and target; nan is no probability",
        "nn.BCEWithLogitsLoss takes the values before the sigmoid; look for nan with torch.isnan(x).any()",
    ),
    "target-size": Explained(
        "this loss compares element by element, so input and target need one shape",
        "target.unsqueeze(1), or input.squeeze(1), and .float() if the target has class numbers",
    ),
    "several-targets": Explained(
        "a target of class numbers has the shape of the input without its class dimension",
        "target.squeeze(1) or target.argmax(1) removes it; a target of probabilities (one-hot)"
        " must be of floating point",
    ),
    "one-hot-dtype": Explained("one_hot takes class numbers of dtype int64", "x.long()"),
    "one-hot-classes": Explained(
        "a class number is not in 0 to num_classes - 1",
        "print min() and max() of the classes; labels that begin at 1 need a - 1",
    ),
    "parameter-expected": Explained(
        "{name} is a parameter of the module, and can only be replaced by a parameter",
        "with torch.no_grad(): module.{name}.copy_(x); or module.{name} = nn.Parameter(x)",
    ),
    "module-not-begun": Explained(
        "nn.Module keeps its parameters and modules in tables that nn.Module.__init__ makes",
        "call super().__init__() first in your __init__",
    ),
    "no-forward": Explained(
        "the class has no method forward: it is misspelt or indented into another method, or a ModuleList was called",
        "def forward(self, x): at the level of __init__; call the modules of a ModuleList one by one",
    ),
    "module-attribute": Explained(
        "{owner} has no {name}: not as an attribute, and if it is a module not as a parameter, buffer or module",
        "dir(x) lists what it has; a wrapper such as DataParallel has the model in .module",
    ),
    "grad-output-shape": Explained(
        "the gradient that backward begins with must have the shape of its output",
        "torch.ones_like(output), or a scalar output without a gradient",
    ),
    "number-of-gradients": Explained(
        "backward of a torch.autograd.Function returns one value for each argument of forward"
        " (without ctx): {size}, and it returned {given}",
        "return None for arguments that need no gradient",
    ),
    "old-function": Explained(
        "a torch.autograd.Function has static methods, and is not made like an object",
        "write @staticmethod above forward(ctx, …) and backward(ctx, …), and call Name.apply(…)",
    ),
    "hook-without-grad": Explained(
        "no gradient is computed for this tensor, so a hook would never run",
        "call x.requires_grad_() before, or register the hook on another tensor",
    ),
    "grad-of-result": Explained(
        "backward keeps gradients only in leaves; this tensor is the result of an operator (also"
        " x.to(device) of a leaf)",
        "call x.retain_grad() before backward, or read the gradient of the leaf",
    ),
    "assigned-grad": Explained(
        ".grad must have the shape, dtype and device of its tensor",
        "x.grad = gradient.to(x.dtype).to(x.device).reshape(x.shape)",
    ),
    "fork-with-autograd": Explained(
        "the process had run a backward before it forked: the threads of autograd are not in the child",
        "multiprocessing.set_start_method('spawn'), or run no backward in the parent before the fork",
    ),
    "optimizes-result": Explained(
        "an optimizer changes leaves; this tensor is the result of an operator (also .to(device)"
        " or * 0.1 of a parameter)",
        "x = (…).detach().requires_grad_(), or nn.Parameter(…)",
    ),
    "parameter-twice": Explained(
        "the same tensor is in two groups: shared weights, or lists that overlap",
        "put each parameter into one group: compare id(p), not names",
    ),
    "optimizer-state": Explained(
        "the state was saved for an optimizer with other parameters or groups: a model that has"
        " changed, frozen parameters that were left out",
        "make the optimizer as it was when it was saved, or begin with a new state",
    ),
    "no-inf-checks": Explained(
        "scaler.step found no gradients in the parameters of this optimizer: no backward came to"
        " them, or they were set to None",
        "check that the optimizer has the parameters of the module that ran, and that zero_grad is"
        " not between backward and step",
    ),
    "unscaled-twice": Explained(
        "unscale_ divides the gradients once for each step",
        "call unscale_ once before step, and scaler.update() after the step",
    ),
    "half-gradients": Explained(
        "the parameters are float16. A GradScaler is for parameters in float32, with autocast around the forward",
        "do not call model.half(); train in float32 with torch.autocast, or in bfloat16 without a scaler",
    ),
    "unsafe-to-autocast": Explained(
        "a probability near 0 or 1 has no exact float16, and its logarithm would be wrong",
        "nn.BCEWithLogitsLoss on the values before the sigmoid",
    ),
    "scheduler-first": Explained(
        "the schedule goes on before the optimizer did its step, so the first learning rate is"
        " never used. A GradScaler that skips the first step causes the warning too",
        "call optimizer.step() first, then scheduler.step()",
    ),
    "reentrant-without-grad": Explained(
        "a reentrant checkpoint records a gradient only if one of its inputs requires grad",
        "checkpoint(…, use_reentrant=False)",
    ),
    "reentrant-inputs": Explained(
        "a reentrant checkpoint runs its own backward inside of backward, which cannot stop at chosen inputs",
        "checkpoint(…, use_reentrant=False)",
    ),
    "invalid-distribution": Explained(
        "an argument of the distribution is not allowed: most often nan, which a step before made,"
        " or a scale that is not positive",
        "look for the first nan (torch.isnan(x).any(), or"
        " torch.autograd.set_detect_anomaly(True)); use softplus or exp for a scale",
    ),
    "svd-not-converged": Explained(
        "the algorithm did not end: the matrix has nan or inf, or is ill-conditioned",
        "check torch.isfinite(x).all(); compute in float64, or add a small number to the diagonal",
    ),
    "nested-sizes": Explained(
        "a nested tensor of the layout strided has no single shape, and the operator asks for one",
        "torch.nested.nested_tensor(…, layout=torch.jagged), or x.to_padded_tensor(0.0); a TransformerEncoder with"
        " enable_nested_tensor=False makes none",
    ),
    "generator-device": Explained(
        "random numbers for {device} come from a generator on {device}, and this one is on {given}",
        "torch.Generator(device='{device}'); torch.set_default_device also changes what a"
        " DataLoader's sampler makes, so give it such a generator",
    ),
    "device-name": Explained(
        "torch does not know a device of this name", "'cpu', 'cuda', 'cuda:0', 'mps', 'xpu', 'meta'; there is no 'gpu'"
    ),
    "device-ordinal": Explained(
        "the process sees fewer GPUs than this number: they are counted from 0, and CUDA_VISIBLE_DEVICES hides others",
        "print torch.cuda.device_count(); with torchrun, use the LOCAL_RANK as the number",
    ),
    "index-device": Explained("the tensor that is indexed is on another device than the index", "index.to(x.device)"),
    "argument-device": Explained(
        "an operator takes tensors of one device",
        "call model.to(device), and x = x.to(device) in each step; tensors made in forward need device=x.device",
    ),
    "parallel-device": Explained(
        "DataParallel copies the module from the first of its devices, and found a part elsewhere",
        "model.to('cuda:0') first, or the first of device_ids",
    ),
    "assert-index": Explained(
        "a kernel on the GPU got an index that is negative or too large. For Indexing.cu that is"
        " often the input of an nn.Embedding",
        "print min() and max() of the indices before this line, or run it on the CPU, which names"
        " the index; after the error the process must begin anew",
    ),
    "assert-class": Explained(
        "a class number in the target of a loss is not in 0 to C - 1, where C is the number of outputs of the model",
        "print min() and max() of the target; set ignore_index for a label such as 255; after the"
        " error the process must begin anew",
    ),
    "assert-probability": Explained(
        "binary_cross_entropy got a value outside of 0 to 1, or nan",
        "nn.BCEWithLogitsLoss takes the values before the sigmoid",
    ),
    "assert-multinomial": Explained(
        "multinomial takes finite weights that are not negative",
        "look for the first nan or inf in the logits; float16 overflows above 65504",
    ),
    "cuda-misaligned": Explained(
        "a kernel read several numbers at once from an address that is not a multiple of their"
        " size: a defect of a kernel, often in an extension",
        "set CUDA_LAUNCH_BLOCKING=1 to find the call; give it contiguous tensors (x.contiguous()) that are not slices",
    ),
    "cuda-launch-failure": Explained(
        "a kernel ended in an error that CUDA does not name, as an access to wrong memory; a fault"
        " of the GPU or its driver looks the same",
        "set CUDA_LAUNCH_BLOCKING=1 to find the call; dmesg (Xid) says whether it was the GPU",
    ),
    "cuda-launch-size": Explained(
        "a kernel was asked for with a grid that CUDA does not allow: 0 blocks, or more than 65535"
        " in y or z; often an empty or very large batch",
        "set CUDA_LAUNCH_BLOCKING=1 to find the call, and split the batch there",
    ),
    "cuda-busy": Explained(
        "the GPU does not take another process: it is in exclusive mode, or another process holds it",
        "nvidia-smi lists its processes and its compute mode",
    ),
    "cuda-set-up": Explained(
        "the driver could not be started in this process. CUDA_VISIBLE_DEVICES was changed after"
        " CUDA began, the driver was updated or the machine slept since, or the process was forked"
        " later",
        "set CUDA_VISIBLE_DEVICES before torch is imported; nvidia-smi shows whether the driver works; then reboot",
    ),
    "driver-too-old": Explained(
        "the driver is older than the CUDA that torch was built with",
        "a newer driver, or a torch built with an older CUDA (nvidia-smi names the newest CUDA that the driver runs)",
    ),
    "gpu-not-in-build": Explained(
        "this build of torch has no code for GPUs of {given}",
        "torch.cuda.get_arch_list() shows the others; use a build that has it: newer for a new"
        " GPU, older for an old one",
    ),
    "stream-capturing": Explained(
        "while a CUDA graph is recorded, nothing may wait for the GPU or allocate memory in the"
        " usual way: .item(), .cpu(), print(x), torch.cuda.synchronize()",
        "move such calls out of the recorded code, and run it some times before",
    ),
    "cudnn-algorithm": Explained(
        "cuDNN has no way to compute this convolution: most often no memory is left for its"
        " workspace, else the dtype or the sizes",
        "use a smaller batch; torch.backends.cudnn.enabled = False shows whether cuDNN is the reason",
    ),
    "cudnn-version": Explained(
        "another cuDNN was loaded than the one that torch was built for, for example from LD_LIBRARY_PATH",
        "remove the other one from LD_LIBRARY_PATH; a wheel of torch brings its own",
    ),
    "cudnn-rnn-eval": Explained(
        "cuDNN keeps what a backward of an RNN needs only in training mode",
        "call model.train() before the forward; or with torch.backends.cudnn.flags(enabled=False)",
    ),
    "cublas-status": Explained(
        "a call of cuBLAS failed. Often an earlier kernel did (an index that is out of range;"
        " errors come late), or memory was missing, or two versions of cuBLAS are mixed",
        "set CUDA_LAUNCH_BLOCKING=1, or run the same code on the CPU; unset LD_LIBRARY_PATH",
    ),
    "cublas-handle": Explained(
        "cuBLAS could not be set up on this GPU. Most often its memory is full (also by other processes), or an"
        " earlier kernel failed (an index that is out of range; errors come late). Two versions of CUDA that are"
        " mixed do it too",
        "nvidia-smi shows the free memory: use a smaller batch; CUDA_LAUNCH_BLOCKING=1, or the same code on the CPU,"
        " shows an earlier failure",
    ),
    "flash-needs-ampere": Explained(
        "flash attention needs a GPU of compute capability 8.0",
        "sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION) or MATH; attn_implementation='sdpa' in transformers",
    ),
    "mps-memory": Explained(
        "torch would pass the limit of memory that it keeps to on this GPU, which shares the memory of the CPU",
        "use a smaller batch; torch.mps.empty_cache() gives back memory that torch keeps",
    ),
    "mps-float64": Explained(
        "the MPS device has no float64; Python's floats through numpy are float64",
        "x.float(), or dtype=torch.float32 where it is made",
    ),
    "mps-missing": Explained(
        "the operator has no kernel for MPS in this release",
        "PYTORCH_ENABLE_MPS_FALLBACK=1, set before torch is imported, runs it on the CPU",
    ),
    "mps-placeholder": Explained(
        "one tensor is on the CPU and the other ones are on MPS", "call model.to('mps'), and x = x.to('mps')"
    ),
    "cpu-memory": Explained(
        "the system gave no memory for a tensor on the CPU",
        "look at the number of bytes: if it is far too large, a size is wrong; else use smaller"
        " batches, or float32 instead of float64",
    ),
    "size-overflows": Explained(
        "the sizes multiply to more bytes than an integer holds: one of them is wrong",
        "print the values that the sizes come from",
    ),
    "worker-exited": Explained(
        "a worker ended without a Python error: it was killed (memory), crashed in C, or could not"
        " import the script. On Windows and macOS workers import it anew",
        "num_workers=0 shows the error itself; write if __name__ == '__main__': around the training",
    ),
    "worker-segfault": Explained(
        "C or C++ code crashed in a worker",
        "num_workers=0, and faulthandler.enable() in the Dataset, show where; cv2.setNumThreads(0)"
        " and 'spawn' help if a library does not survive a fork",
    ),
    "open-files": Explained(
        "workers hand tensors on as open files, and the process has no more of them",
        "torch.multiprocessing.set_sharing_strategy('file_system'), or ulimit -n with a larger"
        " number; do not keep batches in a list without a copy",
    ),
    "loader-timed-out": Explained(
        "no worker gave a batch in the time that timeout= allows: they are slow, or wait for a"
        " lock that was held at the fork",
        "a longer timeout, or num_workers=0 to see what they do",
    ),
    "collate-class": Explained(
        "the Dataset gives {given}, from which default_collate makes no batch",
        "return a tensor (ToTensor() for an image), or pass a collate_fn; for NoneType a path of"
        " __getitem__ returns nothing",
    ),
    "collate-lengths": Explained(
        "default_collate joins lists position by position, and these differ in length",
        "return tensors of one shape, or pass a collate_fn that pads",
    ),
    "no-samples": Explained(
        "the Dataset is empty: its __len__ is 0",
        "check the path and the pattern that it reads files by, and print len(dataset)",
    ),
    "shared-memory": Explained(
        "shared memory, or the file, could not be mapped: /dev/shm is full, the limit of mappings"
        " is reached, or the file is too short",
        "df -h /dev/shm; docker run --shm-size=8g or --ipc=host;"
        " torch.multiprocessing.set_sharing_strategy('file_system')",
    ),
    "start-of-process": Explained(
        "with the start method 'spawn', a child imports the script, and the script starts children again",
        "write if __name__ == '__main__': around the code that runs",
    ),
    "zip-broken": Explained(
        "torch.load opened the file as a zip archive, and it is incomplete or not one: a download"
        " or a save that was interrupted, or a pointer file of git-lfs",
        "compare its size with the original, and download it again; ranks should not write to one file",
    ),
    "file-broken": Explained(
        "the file was not written by torch.save, or is incomplete: an HTML page, a pointer file of"
        " git-lfs (it begins with 'version'), an interrupted download",
        "look at its first bytes (head -c 100 FILE), and download it again; a .safetensors file"
        " needs safetensors.torch.load_file",
    ),
    "nccl-timeout": Explained(
        "one rank waited for a collective that another rank did not call in time: it failed or"
        " hangs, is slower (saving, evaluating), or called other collectives",
        "look at the other ranks for the first error; py-spy dump shows where they are;"
        " init_process_group(timeout=…) for a long step",
    ),
    "nccl-duplicate": Explained(
        "two ranks use the same GPU",
        "torch.cuda.set_device(int(os.environ['LOCAL_RANK'])), before the first collective",
    ),
    "nccl-failed": Explained(
        "a call of NCCL failed. 'unhandled cuda error': CUDA did (memory, an earlier kernel, a"
        " wrong GPU); 'unhandled system error': the network or shared memory; 'remote process"
        " exited': another rank ended first",
        "look for the first rank that failed; NCCL_DEBUG=INFO says more; NCCL_SOCKET_IFNAME chooses the network",
    ),
    "nccl-aborted": Explained(
        "the communicator of this rank was stopped: another rank failed before, or a collective timed out",
        "look at the other ranks for the first error; the watchdog's line above says which collective waited",
    ),
    "child-signal": Explained(
        "a process that was started for you was ended by signal {name}{given}. 9 is SIGKILL (mostly memory ran out), 11"
        " SIGSEGV (C or C++ crashed), 6 SIGABRT (an uncaught C++ error, as of NCCL's watchdog). 7 is SIGBUS (/dev/shm"
        " is full), 15 SIGTERM (another process failed first)",
        "look for the output of the rank under 'Root Cause' above; faulthandler.enable() in the script shows where it"
        " was",
    ),
    "child-failed": Explained(
        "a process that torchrun started ended with an error. This summary does not have it: the error is above, or in"
        " the output of the rank under 'Root Cause'",
        "look for the first 'Traceback' above; @torch.distributed.elastic.multiprocessing.errors.record at your main"
        " function puts it into this summary",
    ),
    "address-in-use": Explained(
        "the port of MASTER_PORT is in use: by another job, or by an earlier run that did not end",
        "another --master-port, or torchrun --standalone, which takes a free one",
    ),
    "store-timeout": Explained(
        "a rank waited for rank 0 or for other ranks at the beginning, and they did not come. The"
        " address, the port or the world size differs, a firewall is between, or they failed before",
        "check MASTER_ADDR, MASTER_PORT and WORLD_SIZE on each machine, and the output of the other ranks",
    ),
    "no-rank-given": Explained(
        "init_process_group reads {name} from the environment, which a launcher sets",
        "start the script with torchrun --nproc-per-node=1 train.py, or set the variables",
    ),
    "group-twice": Explained(
        "init_process_group was called before: in a library, or in a cell that ran again",
        "if not torch.distributed.is_initialized(): …, or destroy_process_group() first",
    ),
    "no-nccl": Explained(
        "NCCL is for NVIDIA GPUs on Linux: this build or this machine has none", "init_process_group('gloo')"
    ),
    "nothing-parallel": Explained(
        "all parameters of the module are frozen, so that no gradients need an exchange",
        "do not wrap this module, or set requires_grad before it is wrapped",
    ),
    "backend-of-device": Explained(
        "a collective got a tensor on {device}, and the process group has no backend for it: NCCL"
        " takes CUDA tensors only",
        "move the tensor to the GPU, or init_process_group('cpu:gloo,cuda:nccl')",
    ),
    "collectives-differ": Explained(
        "two ranks called different collectives, or with other shapes",
        "look for branches that only some ranks take (rank == 0), and for batches of another size",
    ),
    "vmap-random": Explained(
        "vmap does not choose whether each example gets numbers of its own",
        "vmap(f, randomness='different'), or 'same'; model.eval() if it is dropout",
    ),
    "vmap-sizes": Explained(
        "vmap goes along one dimension of each input, and the sizes of these dimensions must be equal",
        "in_dims=(0, None) does not map the second input",
    ),
    "grad-of-many": Explained(
        "torch.func.grad takes a function that returns one number",
        "sum or average the result; jacrev is for several results",
    ),
    "requires-grad-in-transform": Explained(
        "functorch follows gradients by itself, for the arguments of the function",
        "remove requires_grad_(), and name the argument with argnums",
    ),
    "compile-branch": Explained(
        "the code branches on a tensor's value, which is not known while it is compiled",
        "torch.where, or torch.cond; without fullgraph=True the graph is split there",
    ),
    "compile-guard": Explained(
        "a size or number that comes from a tensor's value (.item(), nonzero, a mask) decides"
        " something, and is not known while the code is compiled",
        "torch._check(n > 0) and the like say what holds; torch.where instead of a mask",
    ),
    "export-constraints": Explained(
        "the code fixes a size that dynamic_shapes or mark_dynamic calls free, or needs a bound for it",
        "take over the fixes that the message suggests; or leave the dimension out of dynamic_shapes,"
        " or call maybe_mark_dynamic instead of mark_dynamic",
    ),
    "compile-backend": Explained(
        "torch.compile's backend {name} failed to compile the graph; the line after 'raised:' is its own error",
        "torch.compile(backend='eager'), then 'aot_eager', show which stage fails;"
        " TORCHDYNAMO_VERBOSE=1 shows the stack",
    ),
    "no-triton": Explained(
        "inductor writes the kernels for a GPU in Triton, which is not installed or too old",
        "pip install triton (Linux; triton-windows on Windows), in the version that torch asks for",
    ),
    "no-compiler": Explained(
        "inductor compiles its kernels, and found no C++ compiler",
        "install one (apt install g++; Build Tools on Windows), or name it with CXX",
    ),
    "cudagraph-overwritten": Explained(
        "with mode='reduce-overhead', each run writes its results into the memory of the run before",
        "clone a result that you keep, or torch.compiler.cudagraph_mark_step_begin() before each step",
    ),
    "compile-double-backward": Explained(
        "a compiled function has a compiled backward, which is not recorded again"
        " (create_graph=True, a gradient penalty)",
        "do not compile the part whose gradient is differentiated",
    ),
    "compile-python": Explained(
        "torch.compile reads the bytecode of Python and builds C++, and this release does not support your Python, or"
        " your system",
        "a newer torch, or an older Python; TORCHDYNAMO_DISABLE=1 runs everything without compiling",
    ),
    "traced-branch": Explained(
        "torch.fx runs the function once with placeholders, and a branch needs a value",
        "torch.fx.wrap the function with the branch, give concrete_args, or use torch.export",
    ),
    "script-builtin": Explained(
        "TorchScript has no operator {name}: it is a Python function, or of a library that is not loaded",
        "import the library that registers it (torchvision for torchvision::nms); @torch.jit.ignore for Python",
    ),
    "traced-output": Explained(
        "torch.jit.trace takes and returns tensors, and lists, tuples and dicts of them",
        "return a tuple (return_dict=False in transformers), or wrap the model",
    ),
    "onnx-operator": Explained(
        "the exporter has no translation of {name} for this opset",
        "a larger opset_version, the newer exporter (dynamo=True), or other operators",
    ),
    "onnx-export-step": Explained(
        "torch.onnx.export first runs torch.export, then translates the graph; the cause is the"
        " error above or below this message",
        "make torch.export.export(model, args) work first: its message names the line",
    ),
    "cuda-versions": Explained(
        "nvcc is of CUDA {given}, and torch was built with CUDA {size}: an extension needs the same major release",
        "a toolkit {size} (CUDA_HOME), or a torch for CUDA {given}",
    ),
    "no-cuda-home": Explained(
        "an extension with CUDA needs the compiler nvcc, which torch's wheel does not bring",
        "install the CUDA toolkit, and set CUDA_HOME to its folder",
    ),
    "no-ninja": Explained(
        "extensions that are compiled while the program runs are built by ninja", "pip install ninja"
    ),
    "extension-not-built": Explained(
        "the compiler failed; its own error is above this message",
        "look for the first line with 'error:'; TORCH_CUDA_ARCH_LIST, a compiler that nvcc does"
        " not know and missing headers are usual",
    ),
    "clients-missing": Explained(
        "rank 0 waited until {size} processes had joined, and {given} did. The others did not start, ended before,"
        " have another MASTER_ADDR or MASTER_PORT, or a firewall is between",
        "look at the output of the other processes and machines; the number of processes that you start must be"
        " WORLD_SIZE",
    ),
    "no-master": Explained(
        "nothing took the connection at that address and port: rank 0 is not running (yet) or has ended, the address"
        " is wrong, or a firewall is between",
        "look at rank 0 first; MASTER_ADDR must be a name or an address of its machine that the others can reach (nc"
        " -vz HOST PORT)",
    ),
    "store-barrier": Explained(
        "init_process_group or new_group waits for as many processes as the world size says, and another number came."
        " The message has both: world_size, and worker_count or num_workers_joined",
        "",
        (
            (
                "fewer came: some did not start, ended before, or call it under another condition",
                "look at the output of the other ranks; every rank must call new_group, whether it is a member or not",
            ),
            (
                "more came: processes of another run use the same store, or more were started than the world size says",
                "another port (or file) for the store; world_size must be the number of processes on all machines",
            ),
        ),
    ),
    "nccl-id": Explained(
        "this rank asked rank {given} for the id of their NCCL communicator, and got no answer: rank {given} had"
        " ended, or did not call this collective",
        "look at the output of rank {given} for its own error; each rank must use its own GPU (torch.cuda.set_device)"
        " and call the same collectives",
    ),
    "disk-full": Explained(
        "torch.save could not write all of the file: the disk or your quota is full, or the file system failed",
        "df -h and quota for that folder; torch.save to another disk. The file that was written is not complete",
    ),
    "vision-not-loaded": Explained(
        "the C++ library of torchvision was not loaded, because torchvision was built for another torch",
        "install the torchvision that belongs to this torch (pip install torch torchvision together, from the same"
        " index)",
    ),
    "operator-missing": Explained(
        "no operator of this name was registered: {name}{given}. The library that registers it is not loaded, was"
        " built for another torch, or has it under another name",
        "import the package with the library (torch.ops.load_library) before the call; install the release of it that"
        " belongs to this torch",
    ),
    "cuda-versions-mixed": Explained(
        "a library of CUDA of another release was loaded before the one that torch needs: {name}{given} is missing in"
        " it. Most often LD_LIBRARY_PATH leads to another CUDA, or a package of nvidia-… was changed",
        "unset LD_LIBRARY_PATH, or install torch again together with its nvidia-… packages in a new environment",
    ),
    "mkl-version": Explained(
        "the installed MKL is newer than this torch expects, and lacks a function of it",
        "install mkl below 2024.1 (conda install 'mkl<2024.1'), or a newer torch",
    ),
    "cuda-forward": Explained(
        "the user part of the driver (libcuda) is of another release than the part in the kernel. A container brought"
        " compatibility libraries (/usr/local/cuda/compat), or the driver was updated without a reboot",
        "remove the compat folder from LD_LIBRARY_PATH, or take an image for the CUDA of your driver (nvidia-smi);"
        " reboot after an update of the driver",
    ),
    "cuda-fabric": Explained(
        "the GPUs of this machine are joined by NVSwitch, and its service is not running or not of the driver's"
        " release",
        "sudo systemctl start nvidia-fabricmanager, in the version of the driver",
    ),
    "triton-resources": Explained(
        "a kernel of Triton needs {size} of {name}, and this GPU has {given}: its blocks are too large for it",
        "smaller blocks or a smaller num_stages in a kernel of your own; for torch.compile without"
        " mode='max-autotune', or a newer torch",
    ),
    "tensors-and-dtensors": Explained(
        "an operator got a DTensor, which is spread over ranks, and a plain tensor: it takes only one of the two kinds",
        "distribute_tensor(x, mesh, [Replicate()]) makes a DTensor of the plain tensor; x.full_tensor() or"
        " x.to_local() do the reverse. Make tensors of a module a buffer of it",
    ),
    "flattened-dtypes": Explained(
        "FSDP joins the parameters of a wrapped module in one tensor, so they need one dtype: here are {given} and"
        " {size}",
        "model.to(torch.bfloat16) before it is wrapped; or wrap the modules of the other dtype by themselves;"
        " fully_shard (FSDP2) has no such limit within a dtype group",
    ),
    "flattened-flags": Explained(
        "FSDP joins the parameters of a wrapped module in one tensor, and some of them are frozen",
        "use_orig_params=True, or wrap frozen and trained modules by themselves",
    ),
    "cuda-ecc": Explained(
        "the GPU found an error in its own memory or links that it could not correct: it is the hardware, not your"
        " code",
        "nvidia-smi -q -d ECC counts them; reset the GPU (nvidia-smi -r) or reboot; a GPU that does it again must be"
        " replaced",
    ),
    "cuda-launch-timeout": Explained(
        "a kernel ran longer than the system allows on a GPU with a display",
        "smaller batches; or a GPU without a display, or a longer limit (TdrDelay on Windows)",
    ),
    "cuda-resources": Explained(
        "a kernel was compiled to use more registers or shared memory for each block than this GPU has",
        "fewer threads in a block, in a kernel of your own (__launch_bounds__); else report it with the operator that"
        " CUDA_LAUNCH_BLOCKING=1 names",
    ),
    "windows-library": Explained(
        "Windows could not load a library of torch: the Visual C++ runtime (or libomp140) is missing, or another"
        " program's library of the same name came first",
        "install the Visual C++ Redistributable (vc_redist.x64.exe), then torch again in a new environment",
    ),
    "paging-file": Explained(
        "Windows has no more memory to promise: each process that imports torch with CUDA asks for several GB",
        "a larger paging file, or fewer workers (num_workers)",
    ),
    "cufft-failed": Explained(
        "a call of cuFFT failed: most often the GPU's memory is full, or the GPU is newer than this CUDA (11.7 on RTX"
        " 40)",
        "a smaller batch, torch.backends.cuda.cufft_plan_cache.clear(); a torch with a newer CUDA",
    ),
    "cusolver-failed": Explained(
        "a call of cuSOLVER failed: nan or inf in the matrix, a lack of memory, or an earlier kernel that failed",
        "check torch.isfinite(x).all(); torch.backends.cuda.preferred_linalg_library('magma') uses the other library",
    ),
    "pinned-memory": Explained(
        "memory can be pinned only on the CPU, and this tensor is elsewhere: the Dataset gives tensors on the GPU",
        "give tensors on the CPU and move the batch in the loop, or pin_memory=False",
    ),
    "sampler-and-shuffle": Explained(
        "a {name} chooses the order (or the batches) itself, so the DataLoader takes no shuffle or batch_size beside"
        " it",
        "leave out shuffle (for a batch_sampler batch_size and drop_last too); a RandomSampler or"
        " DistributedSampler(shuffle=True) shuffles",
    ),
    "prefetch-without-workers": Explained(
        "prefetch_factor, timeout and persistent_workers are about worker processes, and num_workers is 0",
        "num_workers=1 or more, or leave the option out",
    ),
    "state-dict-class": Explained(
        "load_state_dict takes the dict of tensors, and got {given}",
        "load_state_dict(torch.load(path)); a checkpoint may have the dict under a key (checkpoint['state_dict'],"
        " ['model'])",
    ),
    "script-arguments": Explained(
        "TorchScript needs to know the number of arguments: it has no *args, no **kwargs, and no keyword-only"
        " arguments with defaults",
        "write the arguments out (List[Tensor] for several), or @torch.jit.ignore / @torch.jit.unused",
    ),
    "traced-with-grad": Explained(
        "the traced code uses a tensor that requires grad and is neither an input nor a parameter of the traced module",
        "pass it as an input, make it a parameter of the module, or detach it",
    ),
    "exported-shape": Explained(
        "the program was exported for other inputs, and checks what the export assumed: {name}{given}",
        "torch.export.export(…, dynamic_shapes=…) with Dim.DYNAMIC leaves a size free; or call the program with"
        " inputs like the exported ones",
    ),
    "parallel-devices": Explained(
        "DistributedDataParallel copies all parameters in one way, and they are on several kinds of devices: {given}",
        "model.to(device) before it is wrapped; parameters on meta need to_empty() and values first",
    ),
    "not-square": Explained(
        "this function of linear algebra takes square matrices in the last two dimensions: they are {given} by {size}",
        "torch.linalg.lstsq or pinv for other matrices; print the shape: a batch comes before the two dimensions",
    ),
    "output-padding": Explained(
        "output_padding of a transposed convolution only chooses between the sizes that stride (or dilation) leaves"
        " open, so it must be smaller than one of them",
        "output_padding at most stride - 1; more size by padding the result (F.pad)",
    ),
    "no-offsets": Explained(
        "the input of the embedding bag is one long list of indices, so that it needs offsets: where each bag begins",
        "offsets=torch.tensor([0]) for one bag; or a 2D input (bags, indices), which needs none",
    ),
    "mapped-result": Explained(
        "a function under vmap returns tensors (also in tuples, lists and dicts), and it returned {given}",
        "torch.as_tensor(value) makes a tensor of a number; leave other values out of the result",
    ),
    "unpacked-twice": Explained(
        "a checkpoint without reentry recomputes its saved tensors once for each backward: they were read a second"
        " time in one backward",
        "run backward again for the second reading (it recomputes), or save what you need in the function yourself",
    ),
    "sparse-size": Explained(
        "the size of dimension {name} is {size}, so its indices are 0 to {size} - 1, and one is {given}",
        "give a larger size, or none: then it is the largest index + 1",
    ),
    "quantized-dtype": Explained("only float32 is quantized, and the tensor is {given}", "x.float()"),
    "backward-from-complex": Explained(
        "backward begins from a real number, and the result is {given}: a complex number has no largest or smallest",
        "a real loss: loss.abs(), loss.real, (z * z.conj()).real; or backward(gradient)",
    ),
    "not-deterministic": Explained(
        "torch.use_deterministic_algorithms(True) is set, and {name} adds in an order that changes from run to run",
        "use_deterministic_algorithms(True, warn_only=True) allows it with a warning; else compute it on the CPU or"
        " with other operators",
    ),
    "cublas-workspace": Explained(
        "torch.use_deterministic_algorithms(True) is set, and cuBLAS is deterministic only with a fixed workspace",
        "CUBLAS_WORKSPACE_CONFIG=:4096:8, set before the program starts",
    ),
    "no-onnxscript": Explained(
        "torch.onnx.export needs the package {name}, which torch does not install",
        "pip install onnx onnxscript; dynamo=False uses the older exporter, which needs only onnx",
    ),
    "recompiled-often": Explained(
        "torch.compile compiled this function again and again, because what it assumes of the inputs changed in each"
        " call: sizes, a number, an attribute. At the limit it gives up",
        "TORCH_LOGS=recompiles says what changed; dynamic=True or mark_dynamic for sizes, a tensor instead of a number",
    ),
    "torch-lacks": Explained(
        "the torch that was imported has no {owner}{size}.{name}{given}. It is older or newer than this code, or"
        " another file is imported in its place: a torch.py, or a folder torch of yours",
        "print(torch.__version__, torch.__file__); use the release that the code was written for, or rename your file",
    ),
    "torch-not-installed": Explained(
        "the Python that runs has no torch. torch was installed for another Python or environment, or the program"
        " runs inside of the source folder of PyTorch",
        "python -m pip install torch with exactly this python (python -c 'import sys; print(sys.executable)'); leave"
        " the source folder",
    ),
    "models-differ": Explained(
        "the ranks gave DistributedDataParallel modules with other parameters: another number, shape or order, as by"
        " a branch on the rank or on the data of a rank",
        "make the module from the same arguments on each rank (vocabulary, number of classes, frozen layers), and"
        " print its shapes on each",
    ),
    "child-exit-code": Explained(
        "a process of torch.multiprocessing.spawn ended with exit code {given} and gave no traceback: sys.exit, or a"
        " library ended it",
        "look at its own output above; 1 is an error of Python before the function began (an import, the main module)",
    ),
    "start-method-twice": Explained(
        "multiprocessing's start method was chosen before: by an earlier call, or by a library",
        "call set_start_method once, inside if __name__ == '__main__':, or with force=True",
    ),
    "cuda-function-missing": Explained(
        "the code of a kernel does not fit this GPU or this driver. torch or an extension was built for another"
        " compute capability, or with a newer CUDA than the driver knows",
        "compare torch.cuda.get_device_capability() with torch.cuda.get_arch_list(), and torch.version.cuda with"
        " nvidia-smi; build the extension again (TORCH_CUDA_ARCH_LIST)",
    ),
    "cuda-argument": Explained(
        "CUDA refused an argument of a call: a wrong pointer or size, most often from an extension, from memory that"
        " another process shares, or after an earlier kernel failed",
        "CUDA_LAUNCH_BLOCKING=1 names the call; an extension must be built for exactly this torch and CUDA",
    ),
    "nvml-missing": Explained(
        "the GPU is out of memory: torch wanted to write that, asked NVML for the numbers, and NVML does not work"
        " here (a container, WSL, a driver that was updated)",
        "use a smaller batch, as for any lack of memory; nvidia-smi shows whether NVML works, and a reboot mends a"
        " driver that was updated",
    ),
    "hip-no-code": Explained(
        "this build of torch has no code for this AMD GPU",
        "a build for it; HSA_OVERRIDE_GFX_VERSION (10.3.0, 11.0.0) lets a near relative of a supported GPU use the"
        " code of that one",
    ),
    "mps-pooling": Explained(
        "on MPS, adaptive pooling needs input sizes that are multiples of the output sizes",
        "x.cpu() around this layer, or other sizes of the input",
    ),
    "mps-buffer": Explained(
        "one tensor of {size} is more than Metal allows for a single buffer",
        "a smaller batch or sequence; an attention that does not keep the whole matrix (scaled_dot_product_attention)",
    ),
    "file-too-new": Explained(
        "the file was written by a newer torch than the one that reads it",
        "a newer torch; or save it there with torch.save(…, _use_new_zipfile_serialization=False)",
    ),
    "storage-size-unknown": Explained(
        "the file has another number of bytes for a storage than that storage needs: the file is incomplete or damaged,"
        " or several processes wrote to it at once",
        "download it again, or save it again from one process (rank 0)",
    ),
    "zip-in-old-torch": Explained(
        "torch.save writes zip archives since 1.6, and the torch that reads this one is older",
        "read it with torch 1.6 or newer; a newer torch writes the old format with"
        " torch.save(…, _use_new_zipfile_serialization=False)",
    ),
    "archive-without-version": Explained(
        "the zip archive lacks the record with the version of its format, which torch.save and torch.jit.save write:"
        " another program wrote or packed the archive",
        "get the original file; do not unpack and pack it again",
    ),
    "storage-size": Explained(
        "the file has {given} bytes for a storage that should have {size}: it is damaged, or was written by another"
        " program",
        "compare its size and checksum with the original, and download it again",
    ),
    "class-not-found": Explained(
        "the pickle has an object of {owner}.{name}, and the program that reads the pickle has no such class."
        " torch.save wrote a whole module, or a worker got a function of the main script",
        "",
        (
            (
                "torch.load read a module that another script saved whole",
                (
                    "import or define {name} in the same module before the load; better save model.state_dict(), and"
                    " load that into a new model"
                ),
            ),
            (
                "another process read it (a DataLoader's worker with spawn, a notebook)",
                "move {name} into a file that both import",
            ),
        ),
    ),
    "script-class": Explained(
        "TorchScript takes {size} for the argument {name}, and got {given}; an argument without an annotation is a"
        " Tensor",
        "annotate it in the scripted function ({name}: int, List[Tensor], Optional[Tensor]), or pass a {size}",
    ),
    "script-call": Explained(
        "TorchScript found no overload for this call; below each overload, the message says which argument does not"
        " fit",
        "annotate the values (x: int), and look at the classes: Tensor is the default for every argument without an"
        " annotation",
    ),
    "script-attribute": Explained(
        "TorchScript cannot use this attribute of the module: its class is none that TorchScript knows, or differs"
        " between elements",
        "annotate it in the class (name: Optional[Tensor]), or make it a buffer, a parameter or a constant"
        " (__constants__)",
    ),
    "trace-differs": Explained(
        "torch.jit.trace ran the function twice and recorded two different graphs: it depends on something that"
        " changes (random numbers, a counter, a branch)",
        "model.eval(); script the part with the branch; check_trace=False only silences this check",
    ),
    "trace-fixes-value": Explained(
        "torch.jit.trace records one run: a Python number, length or branch that came from a tensor becomes a"
        " constant, and other inputs may go wrong",
        "keep it a tensor (torch.where, x.size(0)), or torch.jit.script this part. If the value is the same for all"
        " inputs, nothing is wrong",
    ),
    "inductor-cpp": Explained(
        "the C++ compiler refused the code that inductor wrote; its own error is below",
        "a newer compiler (CXX=g++-12) is often enough, or the headers of Python (python3-dev);"
        " TORCH_LOGS=output_code shows the code",
    ),
    "compile-fake-call": Explained(
        "torch.compile ran this call on tensors without values to learn its shapes, and the call itself raised. The"
        " same error comes without compiling; or a custom operator has no rule for fake tensors",
        "read the inner error (got …), and try the call without torch.compile; torch.library.register_fake for an"
        " operator of your own",
    ),
    "traced-by-fx": Explained(
        "torch.fx (also under torch.onnx.export and quantization) traces a function that is compiled already",
        "trace the module that was not compiled (model._orig_mod), and compile later",
    ),
    "none-attribute": Explained(
        "the value before .{name} is None",
        "",
        (
            (
                "it is .grad",
                (
                    "no backward came to the tensor, or it is no leaf: check requires_grad, and x.retain_grad() before"
                    " backward"
                ),
            ),
            (
                "it is the result of a function of yours",
                "that function has a path without return",
            ),
            (
                "it is bias, or a layer that was left out",
                "the module was made without it (bias=False): test it with is not None",
            ),
        ),
    ),
    "one-spatial-value": Explained(
        "instance norm computes mean and variance over the places of one image, and here is only one place",
        "use a larger input or fewer strides before it, or another norm (GroupNorm, LayerNorm)",
    ),
    "target-shape": Explained(
        "a target of class numbers has the shape of the input without its class dimension, which is dimension 1:"
        " ({size}), and it is ({given})",
        "move the classes into dimension 1 (x.transpose(1, 2)), or join the rest: input.flatten(0, 1),"
        " target.flatten()",
    ),
    "class-weights": Explained(
        "weight of the loss has one number for each class: as many as dimension 1 of the input",
        "print the length of weight and the shape of the input",
    ),
    "mask-of-attention": Explained(
        "a mask of attention is (targets, sources), or with heads (batch × heads, targets, sources); key_padding_mask"
        " is (batch, sources)",
        "print the shapes of query, key and mask; with batch_first=False the length comes before the batch",
    ),
    "transformer-sizes": Explained(
        "src and tgt of nn.Transformer are (length, batch, d_model), or (batch, length, d_model) with"
        " batch_first=True; only the lengths may differ",
        "print both shapes; embed and project both to d_model, and check batch_first",
    ),
    "rnn-dimensions": Explained(
        "an RNN takes (length, features) without a batch and (length, batch, features) with one (batch first if"
        " asked), and its hidden state has a batch exactly if the input has",
        "x.flatten(2) joins further dimensions; hx.unsqueeze(1) adds the batch, or pass no hidden state",
    ),
    "empty-sequence": Explained(
        "a packed batch takes no sequence of length 0",
        "leave out empty samples, or lengths.clamp(min=1) if the padding may count as one step",
    ),
    "padding-index": Explained(
        "padding_idx is a row of the embedding, so it is smaller than num_embeddings",
        "num_embeddings of at least padding_idx + 1",
    ),
    "empty-reduction": Explained(
        "the tensor is empty, and a maximum or minimum of nothing does not exist",
        "test x.numel() first; find out why it is empty: a mask, a filter, the last batch",
    ),
    "quantile-too-large": Explained(
        "quantile takes at most 16 million elements along the dimension",
        "torch.kthvalue, numpy.quantile, or the quantile of a random part: x[torch.randint(len(x), (1_000_000,))]",
    ),
    "data-not-allocated": Explained(
        "the code asked a tensor for the address of its data, and the tensor has none. It is a fake tensor of"
        " torch.compile or export, a parameter that FSDP released, or a tensor of an extension",
        "keep a kernel of your own out of the traced code: make it a torch.library.custom_op; use parameters inside"
        " the wrapped module's forward",
    ),
    "no-storage-of": Explained(
        "a tensor of this class ({name}) has no memory of its own that numpy, pickle or as_strided could use: it is"
        " sparse, nested, batched by vmap or of MKL-DNN",
        "x.to_dense(), or leave the transform (vmap, grad) before",
    ),
    "data-of-another-class": Explained(
        "x.data = y cannot turn x into another kind of tensor: of another device, layout or subclass (a DTensor, a"
        " quantized tensor)",
        "module.to(device) before the optimizer is made;"
        " torch.__future__.set_overwrite_module_params_on_conversion(True) makes new parameters",
    ),
    "view-of-function": Explained(
        "a torch.autograd.Function returned a view or its input as it was, and the result is written to in place."
        " Backward hooks of a module are such a Function: a ReLU(inplace=True) behind a hooked module does this",
        "inplace=False, or write to a copy (x.clone()); in a Function of your own return a new tensor",
    ),
    "no-forward-mode": Explained(
        "{name} has no formula for forward mode (jvp, jacfwd, hessian)",
        "jacrev and vjp use backward instead; or other operators",
    ),
    "ctc-lengths": Explained(
        "ctc_loss takes log_probs of (time, batch, classes), and no length may exceed the time",
        "transpose(0, 1) if the batch comes first; the lengths count steps after the strides of the model",
    ),
    "internal-assert": Explained(
        "an internal check of PyTorch failed at {name}. The cause is a defect of torch, libraries of different"
        " releases, or a kernel that failed before",
        "search PyTorch's issues for this file and message; a newer torch, then fewer parts (no compile, no"
        " extension, on the CPU), shows which part it is",
    ),
    "view-of-dtype": Explained(
        "a view with another element size joins or splits neighbouring elements, so the last dimension must lie in"
        " one piece (stride 1) and begin at a whole element",
        "x.contiguous().view(dtype), or torch.view_as_complex(x.contiguous())",
    ),
    "no-dtype-for": Explained(
        "a tensor holds numbers, and the data has an object of the class {given}",
        "look for that object in the data (None from a function without return, an image, a list), and convert it"
        " to a number, an array or a tensor",
    ),
    "weight-dimensions": Explained(
        "a convolution got a weight with too few dimensions: no weight of a convolution, or a parameter that FSDP or"
        " DeepSpeed keeps flat between uses",
        "print the shape of the weight; call the wrapped module, not its inner module or the function with its weight",
    ),
    "bad-alloc": Explained(
        "C++ asked the system for memory and got none: the memory of the CPU is full, or a damaged file or a wrong"
        " number asked for far too much",
        "free -h while it runs; fewer workers and smaller batches; if a file was read, check that it is complete",
    ),
    "dynamo-internal": Explained(
        "torch.compile itself failed while it read your code: a defect of Dynamo, not of the code. The error behind"
        " the name is Dynamo's own",
        "torch.compiler.disable at the function that the message names, or a newer torch;"
        " torch._dynamo.config.suppress_errors = True runs that part without compiling",
    ),
    "peer-closed": Explained(
        "another rank closed the connection: it ended first, most often by an error of its own or by a kill",
        "look at the output of the other ranks for the first error; dmesg shows whether memory ran out",
    ),
    "torch-not-imported": Explained(
        "a compiled extension uses functions of libtorch_python, which was not loaded before it",
        "import torch before the extension",
    ),
    "python-library-of-another": Explained(
        "a library asks the Python interpreter for {name}, which this interpreter does not have: the library was built"
        " for another version of Python. LD_LIBRARY_PATH may lead to a libtorch beside the installed one",
        "unset LD_LIBRARY_PATH; else install torch or the extension for this version of Python",
    ),
    "undefined-symbol": Explained(
        "a compiled extension asks for a C++ function that no loaded library has. It was built for"
        " another torch (or with the other C++ ABI), or torch was not imported before it",
        "import torch first; then build or install the extension again, for exactly this torch (pip"
        " install --no-build-isolation for a source)",
    ),
    "sparse-contiguous": Explained(
        (
            "an operator for dense tensors (cat, stack, expand, collating a batch) asked whether a Sparse "
            "{given} tensor is contiguous. Such a tensor keeps indices and values, not one block of memory"
        ),
        ("convert it first: x.to_dense(), or x.to_sparse_coo() for torch.cat; join indices and values yourself"),
    ),
    "sparse-view": Explained(
        (
            "{name} makes a view of a dense tensor by its strides, and a {given} tensor has none. A product "
            "of a compressed tensor with a batch, or a broadcast, calls expand too"
        ),
        ("keep the product two-dimensional (torch.sparse.mm), loop over the batch, or convert with to_dense()"),
    ),
    "layout-pointwise": Explained(
        (
            "an elementwise operator (where, a comparison, arithmetic with a dense tensor) goes over one "
            "block of memory, and an argument has the layout {given}"
        ),
        "x.to_dense() before it, or compute on x.values() and keep the indices",
    ),
    "coo-expected": Explained(
        ("{name}() is for sparse tensors in coordinate format (COO), and this tensor has the layout {given}"),
        (
            "x.to_sparse() makes a COO tensor of a dense or CSR tensor; a CSR tensor has crow_indices() and "
            "col_indices(), a dense one none"
        ),
    ),
    "sparse-negative-index": Explained(
        "the indices of a sparse tensor count from 0, and dimension {name} has {given}",
        (
            "print indices.min(); -1 often stands for padding or for a missing node: remove these columns, "
            "with their values"
        ),
    ),
    "csr-result": Explained(
        (
            "an operator of a CSR tensor with another sparse layout writes its result as CSR, and the result "
            "was not CSR: the operands have different layouts"
        ),
        "bring both to one layout first: x.to_sparse_csr() or x.to_sparse()",
    ),
    "csr-of-two": Explained(
        "{given} stores rows and columns, so the COO tensor needs exactly two sparse dimensions",
        "x.to_sparse(2) of the dense tensor, or one compressed tensor for each element of the batch",
    ),
    "blocks-divide": Explained(
        ("a block layout cuts the matrix into blocks: the sizes ({size}) must be multiples of the block's ({given})"),
        "pad the matrix, or choose a block size that divides it",
    ),
    "sparse-to-numpy": Explained(
        "a numpy array is one block of memory, and a {given} tensor is not",
        "x.to_dense().numpy(); or take x.indices() and x.values() for scipy.sparse",
    ),
    "sparse-sizes": Explained(
        ("the sizes of a product do not fit: dimension {name} of the dense tensor must be {size}, and it is {given}"),
        "print the shapes: (n × m) of the sparse tensor needs (m × p) of the dense one",
    ),
    "nested-operator": Explained(
        "nested tensors with the layout jagged have no implementation of {name}",
        "x.to_padded_tensor(0.0) or a loop over x.unbind(); for elements alone, compute on x.values()",
    ),
    "nested-arguments": Explained(
        (
            "the implementation of {name} for nested tensors counts the arguments that reach it, and an "
            "argument that equals its default does not"
        ),
        "work on x.unbind(), and make a new nested tensor of the result",
    ),
    "nested-dimension": Explained(
        "{name}() of nested tensors goes only over dimensions that all components share, and not over this one"
        " ({size})",
        "work on x.unbind() and make a new nested tensor, or on x.to_padded_tensor(0.0)",
    ),
    "channels-last-rank": Explained(
        ("channels_last{name} is an order of the dimensions of a batch of images: it needs exactly {size} dimensions"),
        (
            "convert only tensors of that rank (NCHW for channels_last, NCDHW for channels_last_3d); "
            "x.unsqueeze(0) adds the batch"
        ),
    ),
    "quantized-no-empty": Explained(
        (
            "an operator that has no code for quantized tensors (arithmetic with a number, +) made its result"
            " as for dense tensors"
        ),
        (
            "x.dequantize() before it, or the quantized form: torch.ops.quantized.add, "
            "torch.ao.nn.quantized.FloatFunctional"
        ),
    ),
    "quantized-activation-dtype": Explained(
        (
            "the quantized operator takes activations of unsigned 8-bit integers (quint8), and its input has "
            "another dtype"
        ),
        (
            "quantize the input with torch.quint8; qint8 is for weights. With observers: "
            "activation=…with_args(dtype=torch.quint8)"
        ),
    ),
    "weight-observer-dtype": Explained(
        (
            "quantized linear and convolution layers keep weights as qint8, and the observer of weights in "
            "the qconfig makes {given}"
        ),
        "QConfig(activation=…, weight=default_weight_observer), or get_default_qconfig('x86')",
    ),
    "quantized-engine-name": Explained(
        "{given} is no engine for quantized operators",
        "one of torch.backends.quantized.supported_engines: onednn, x86 and fbgemm on x86, qnnpack on ARM",
    ),
    "fx-iterated": Explained(
        (
            "torch.fx runs the function once with placeholders, and a placeholder has no length: a loop, "
            "`in`, *args or unpacking asked for its elements"
        ),
        (
            "loop over a number that is known when it is traced (concrete_args), torch.fx.wrap the function, "
            "or use torch.export"
        ),
    ),
    "fx-as-number": Explained(
        (
            "torch.fx runs the function once with placeholders (Proxy): a size or an element of one is no "
            "number, so range(), int() and indices cannot use it"
        ),
        ("torch.fx.wrap the function around it, give concrete_args, or use torch.export, whose sizes are numbers"),
    ),
    "fx-module-not-inside": Explained(
        (
            "torch.fx names each module by its path from the traced module. A module that forward calls has "
            "no path: it is in a plain list or dict, was made in forward, or belongs to another object"
        ),
        "keep it as an attribute, in an nn.ModuleList or nn.ModuleDict of the traced module",
    ),
    "script-module-attribute": Explained(
        ("TorchScript knows the attributes that the module has when it is scripted, and {given} is not one of them"),
        (
            "set self.{given} in __init__ (a tensor: register_buffer); a function of Python is no attribute: "
            "call it by its own name"
        ),
    ),
    "script-nonexistent": Explained(
        (
            "the TorchScript of this torch knows no {given} of {name}. A package calls a method that this "
            "torch does not have yet, or an argument without an annotation is taken for a Tensor"
        ),
        "a torch and a package of matching releases; in your own code, annotate the argument",
    ),
    "script-type-unknown": Explained(
        (
            "an annotation names {given}, which TorchScript does not know. It knows types of torch and "
            "typing, and scripted classes"
        ),
        ("annotate with Tensor, int, List[…], Dict[…], Optional[…], or script the class with @torch.jit.script"),
    ),
    "script-return-type": Explained(
        "the annotation promises {size}, and the function returns {given}",
        ("correct the annotation: -> Tuple[Tensor, Tensor] for two tensors; one return of each function has one type"),
    ),
    "script-global": Explained(
        "TorchScript compiles the function alone: a {given} outside of it is no value in it",
        (
            "pass it as an argument, make it an attribute of the module (annotated, or in __constants__), or "
            "write a literal"
        ),
    ),
    "archive-of-save": Explained(
        "torch.jit.load opens an archive of torch.jit.save, and this one has no code: torch.save wrote it, or it is a"
        " checkpoint of weights",
        "torch.load(file); for a program without its Python, torch.jit.save(torch.jit.script(model), file)",
    ),
    "device-placeholder": Explained(
        "this build of torch has no code for the device that {name} belongs to (most often CUDA): the class is only a"
        " placeholder",
        "install the build for the device, or ask torch.cuda.is_available() before",
    ),
    "no-pinned-memory": Explained(
        "pinned memory is memory that a GPU may read by itself: this build of torch or this machine has no such device",
        "pin_memory=torch.cuda.is_available()",
    ),
    "subclasses-refuse": Explained(
        "the classes of the arguments have rules for torch's functions, and all of them gave NotImplemented for {name}."
        " They do not go together, or are of another release of their package",
        "make plain tensors of them before: x.as_subclass(torch.Tensor)",
    ),
    "submodule-missing": Explained(
        (
            "the installed package {given} has no module {name}. The code is for another release of it, or a "
            "file {given}.py of yours hides the package"
        ),
        (
            "the release of {given} that the code names in its requirements; print({given}.__version__, "
            "{given}.__file__)"
        ),
    ),
    "operator-argument": Explained(
        "the schema of {operator} has {size} for the argument {name}, and the call gave {given}",
        "pass a {size} (x.item() makes a number of a tensor with one element), or change the annotation of your own"
        " operator",
    ),
    "function-not-static": Explained(
        "{name} of a torch.autograd.Function is called without an object: it must be a static method",
        "put @staticmethod before forward and backward, with ctx as their first argument; call it by .apply()",
    ),
    "undefined-tensor": Explained(
        "C++ got a tensor that was never made, and asked it for {name}: None in the place of a tensor. In backward, it"
        " is the gradient of a result that the loss does not use, or a None that a backward returned",
        "torch.zeros_like(x) in the place of None; ctx.set_materialize_grads(True) gives zeros to a backward of yours",
    ),
    "optimizer-parameter": Explained(
        "the optimizer has no state for this parameter: the parameters were replaced after the state was made or"
        " loaded, as by model.cuda(), or by another model",
        "move and load the model first, then make the optimizer, then load its state",
    ),
    "triton-compilation": Explained(
        (
            "Triton could not compile a kernel. The message shows its source up to the line where it stopped;"
            " the reason is the error before it in the traceback, or the lines after the source"
        ),
        (
            "for a kernel that torch.compile generated: a newer torch, with its own triton; for a kernel of "
            "your own: look at the types and shapes in that line"
        ),
    ),
    "collective-tensor": Explained(
        "{name} of {backend} checks the tensors in its list, and one does not fit the others: {given}",
        (
            "give all of them one shape and one dtype: pad the shorter ones, or use send and recv for parts "
            "of other sizes"
        ),
    ),
    "mps-product-size": Explained(
        "a matrix product on MPS may not have more than 2**32 elements in its result",
        "a smaller batch, image or sequence; attention in slices, or scaled_dot_product_attention, which need not make"
        " the whole matrix",
    ),
    "script-argument-missing": Explained(
        "the compiled {name}() needs {given}, and the call does not pass it",
        "pass it, or give it a default in Python and script it again",
    ),
    "operator-aliases": Explained(
        (
            "a custom operator returned its own input, or a view of it. torch must know which results share "
            "memory, and a custom operator promises that none does"
        ),
        "return x.clone(); if the operator shall write to x, name x in mutates_args and return nothing",
    ),
    "fake-missing": Explained(
        (
            "the custom operator has no rule for the shape of its result: torch.compile, torch.export and "
            "fake tensors run it without values"
        ),
        (
            "@op.register_fake (torch.library.register_fake) with a function that returns "
            "torch.empty_like(x), or new_empty of the result's shape"
        ),
    ),
    "operator-annotation": Explained(
        (
            "custom_op reads the operator's schema from the annotations, and one of them is missing or no "
            "type of an operator"
        ),
        "annotate each argument and the result: def f(x: Tensor, n: int) -> Tensor; or pass schema=",
    ),
    "vmap-of-function": Explained(
        "{name} is a torch.autograd.Function, and vmap does not know how to run it on a batch",
        (
            "generate_vmap_rule = True in the class (only if all in it is an operator of torch), or a static "
            "method vmap(info, in_dims, …)"
        ),
    ),
    "vmap-mask": Explained(
        (
            "x[mask] with a boolean mask has another number of elements in each example, and vmap needs the "
            "same shape for all"
        ),
        "torch.where(mask, a, b) instead of x[mask] = a; x * mask for a sum",
    ),
    "vmap-dims-structure": Explained(
        (
            "{name} has another structure than what it describes: one entry for each argument of the function"
            " (or each result), in the same tuples and dicts"
        ),
        ("one number for all (in_dims=0), or a tuple as long as the arguments, with None for those without a batch"),
    ),
    "vmap-dim-range": Explained(
        "in_dims names dimension {given}, and that argument has only {size}",
        "count the dimensions from 0; None for an argument that is the same for all",
    ),
    "transform-of-value": Explained(
        "grad, vjp, jacrev and jvp differentiate tensors, and one of the named arguments is {given}",
        "torch.tensor(value), or leave it out of argnums",
    ),
    "grad-of-tuple": Explained(
        "torch.func.grad needs one number as a tensor, and the function returned {given}",
        "return only the loss; has_aux=True takes (loss, other results)",
    ),
    "dual-of-integers": Explained(
        "forward-mode gradients are for real and complex numbers, and this tensor is {given}",
        "x.float() before the transform (jvp, jacfwd, hessian)",
    ),
    "higher-order-captured": Explained(
        (
            "cond, while_loop, scan and the like trace their functions whole. Something in one of them is no "
            "operator of torch: print, a call of another library, a change of a Python object, an item()"
        ),
        ("leave only operators on tensors in the functions; the lines below the message name what could not be traced"),
    ),
    "dynamic-shape-names": Explained(
        "the keys of dynamic_shapes are names of forward's arguments: {size}, and here they are {given}",
        "use these names, or a tuple in the order of the arguments",
    ),
    "export-of-function": Explained(
        "torch.export.export takes a module, and it was given {given}",
        "put the function into the forward of an nn.Module",
    ),
    "exported-called": Explained(
        "an ExportedProgram is a description, not a module",
        "exported.module()(x)",
    ),
    "parametrized-pickled": Explained(
        (
            "the module has a parametrization (weight_norm, spectral_norm, orthogonal), whose class is made "
            "while the program runs: pickle and copy to a process cannot name it"
        ),
        ("torch.save(model.state_dict(), file); or torch.nn.utils.parametrize.remove_parametrizations before"),
    ),
    "worker-exit-code": Explained(
        (
            "a worker ended by itself with exit code {given}: an exception, sys.exit or a failed import in "
            "it, whose own message is above, or was lost"
        ),
        (
            "num_workers=0 shows the error itself; on Windows and macOS, write if __name__ == '__main__': "
            "around the training"
        ),
    ),
    "torch-libraries-mixed": Explained(
        (
            "torch's library {name} needs a function that the loaded CUDA libraries lack. An older CUDA comes"
            " first, by LD_LIBRARY_PATH, conda or another package"
        ),
        (
            "unset LD_LIBRARY_PATH and try again; then reinstall torch with the nvidia packages that belong "
            "to it, in a new environment"
        ),
    ),
    "torch-libraries-missing": Explained(
        (
            "torch needs {name}, and it is not beside torch. The nvidia packages of the wheel are missing "
            "(installed without dependencies, moved by Bazel or a bundler), or of another CUDA"
        ),
        (
            "reinstall torch with its dependencies (pip install --force-reinstall torch); or set "
            "LD_LIBRARY_PATH to the folder that has it"
        ),
    ),
    "torch-stack-executable": Explained(
        ("the system refuses a library that asks for an executable stack, and older wheels of torch have such a one"),
        "a newer torch; or clear the mark: patchelf --clear-execstack LIBRARY",
    ),
    "bare-check": Explained(
        "torch._check({given}) failed: the condition does not hold. The check has no message of its own",
        "read the function around that line: its names show the comparison",
    ),
    "torch-builds-mixed": Explained(
        (
            "{name} is a library of torch, and asks for a C++ function that the others lack. Files of two "
            "releases of torch are mixed (an update over an old one), or LD_LIBRARY_PATH names another "
            "libtorch"
        ),
        (
            "unset LD_LIBRARY_PATH; pip uninstall torch until it finds none, delete the folder torch that is "
            "left, and install it again"
        ),
    ),
    "library-missing": Explained(
        "{name} was not found where the loader looks: beside torch, among loaded libraries, in LD_LIBRARY_PATH",
        "",
        (
            (
                "import torch itself raised it",
                (
                    "reinstall torch with its dependencies (the nvidia packages), or set LD_LIBRARY_PATH to the folder"
                    " that has the library"
                ),
            ),
            (
                "another package raised it: built for another CUDA or torch, or torch was not imported before it",
                "import torch first; reinstall the package for torch.version.cuda",
            ),
        ),
    ),
    "quantized-engine": Explained(
        "no engine for quantized operators is chosen, or this build has none",
        "torch.backends.quantized.engine = 'fbgemm' (x86) or 'qnnpack' (ARM)",
    ),
    "quantized-operator": Explained(
        "the operator takes quantized tensors, and got a tensor of floats on {device}: the model is converted, and its"
        " input is not quantized",
        "put a QuantStub before the layer (and call it in forward) when the model is prepared, or"
        " torch.quantize_per_tensor(x, scale, zero_point, torch.quint8)",
    ),
    "quantized-tensor": Explained(
        "{name} got a quantized tensor, and has no kernel for one",
        "x.dequantize() before it: a DeQuantStub in the model; or the quantized form of the operator"
        " (torch.ao.nn.quantized, FloatFunctional for +)",
    ),
    "vision-without-cuda": Explained(
        "the installed torchvision has no kernels for CUDA: it is a build for the CPU, or for another torch",
        "install torch and torchvision together, both for the same CUDA (the same --index-url)",
    ),
    "stft-complex": Explained(
        "stft returns complex numbers, and asks that you say so for real inputs",
        "stft(…, return_complex=True); torch.view_as_real(x) gives the old form",
    ),
    "stepped-twice": Explained(
        "scaler.step() was called twice, and scaler.update() ends each step of a GradScaler",
        "call scaler.update() once after the steps of all optimizers, also if a step is left out",
    ),
    "capturable": Explained(
        "an optimizer with capturable=True keeps its step counts on the device of the parameters,"
        " and some are elsewhere. They were loaded from a checkpoint, or the module was moved later",
        "move the module before the optimizer is made; for group in opt.param_groups: group['capturable'] = False",
    ),
    "not-contiguous": Explained(
        "the function reads {name} as one block of memory, row by row. transpose, permute, expand and slices make"
        " tensors that are not so",
        "pass x.contiguous()",
    ),
    "index-of-numpy": Explained(
        "the message is from numpy: an axis of {size} elements has the indices 0 to {size} - 1, and {given} is none",
        "print the index and the shape of the array",
    ),
    "file-inside-archive": Explained(
        "the file is the part data.pkl of a checkpoint: a file of torch.save is a zip archive, which was unpacked here",
        "torch.load the archive itself; if it was unpacked, zip its folder again (zip -0 -r)",
    ),
    "compile-unsupported": Explained(
        "torch.compile could not trace this operation of Python: {what}. With fullgraph=True, or in torch.export, that"
        " is an error; otherwise the graph is split there",
        "fullgraph=False, or move the operation out of the compiled function; torch.compiler.disable runs a function as"
        " it is",
    ),
    "onnx-shape": Explained(
        "the exporter translates {name} only if it knows a shape or a value that is not constant in the graph",
        "export with fixed sizes (fewer dynamic_axes), the newer exporter (dynamo=True), or other operators",
    ),
    "traced-constant": Explained(
        "a result of the traced function does not depend on its inputs: the trace would return a constant. The value"
        " went through Python numbers or numpy, or was made inside",
        "compute it with tensors from the inputs, or do not return it",
    ),
    "pickle-broken": Explained(
        "Python's pickle got data that is incomplete, or no pickle",
        "",
        (
            (
                "torch.load read a file: it is incomplete, of another format, or of Python 2",
                "compare its size with the original, and download it again",
            ),
            (
                (
                    "a process was started by spawn (a DataLoader's worker on Windows): its parent failed while it sent"
                    " the data, or memory ran out"
                ),
                "look for the error of the parent above; num_workers=0 needs no other process",
            ),
        ),
    ),
    "not-picklable": Explained(
        "an object could not be sent to another process or written to a file. A lambda, a function"
        " inside of a function, a class of __main__, an open file or a lock has no pickle. With the"
        " start method 'spawn' (Windows, macOS) a DataLoader sends its Dataset, transforms and"
        " collate_fn to each worker",
        "define the function or class at the top of a module that can be imported; num_workers=0 sends nothing",
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
    "attention-dtypes": Explained(
        "attention multiplies query, key and value, so all three must have one dtype",
        "cast the others (key.to(query.dtype)), or compute all three under torch.autocast",
    ),
    "norm-dtypes": Explained(
        "on the CPU a normalization takes one dtype for the input and its parameters. The only exception is an input of"
        " bfloat16 or float16 with parameters of float32",
        "give both one dtype: module.to(x.dtype) or x.to(weight.dtype)",
    ),
    "quantile-dtype": Explained("quantile is computed in float32 or float64 only", "x.float().quantile(q)"),
    "size-called": Explained(
        "shape holds the sizes of a tensor; it is no method", "x.shape or x.size(), and x.shape[0] or x.size(0)"
    ),
    "complex-pairs": Explained(
        "view_as_complex reads the last dimension as pairs of a real and an imaginary part",
        "make the last dimension 2: x.reshape(*x.shape[:-1], -1, 2)",
    ),
    "pooled-input": Explained(
        "pooling takes the input with its channels, with or without a batch before them; only the batch may be empty",
        "print the shape: it may have been flattened already, or have lost its channels",
    ),
    "grid-batch": Explained(
        "grid_sample reads one grid for each input of the batch: the batch has {size} inputs and {given} grids",
        "grid.expand({size}, -1, -1, -1) uses one grid for all of them",
    ),
    "pixel-shuffle": Explained(
        "pixel_shuffle moves channels into the two last dimensions: the number of channels must be a multiple of"
        " {size}, the square of upscale_factor, and it is {given}",
        "let the convolution before it give out_channels × upscale_factor ** 2 channels",
    ),
    "fold-channels": Explained(
        "fold reads dimension 1 as channels × the elements of a kernel ({size}), and {given} is no multiple of them",
        "pass the kernel_size that unfold had; x.reshape(batch, channels × elements, blocks) has the order of fold",
    ),
    "distance-columns": Explained(
        "cdist compares rows, so both need equally many columns: {size} and {given}",
        "print both shapes; the last dimension holds the coordinates",
    ),
    "clamp-without-bounds": Explained("clamp got neither min nor max", "pass at least one: x.clamp(min=0)"),
    "mask-dtype": Explained(
        "a mask or a condition holds truth values, so its dtype must be torch.bool",
        "mask.bool() (or mask != 0); a comparison has this dtype already",
    ),
    "module-name": Explained(
        "the name of a submodule is a part of the keys of a state_dict, and a dot separates these parts",
        "another name, as name.replace('.', '_')",
    ),
    "module-name-taken": Explained(
        "the module has an attribute {name} that is no submodule, parameter or buffer of this kind (it may be a method"
        " of nn.Module)",
        "choose another name",
    ),
    "metadata-of-data": Explained(
        "a tensor from .data or .detach() shares its values with another tensor. Its sizes, strides and storage cannot"
        " be replaced, since the other tensor would not change with them",
        "call the method on the tensor itself, under torch.no_grad(); or on a clone()",
    ),
    "resize-with-grad": Explained(
        "resize_ records nothing for backward, so it refuses a tensor that requires grad",
        "reshape() or a slice makes a new tensor; x.detach().clone().resize_(...) works without gradients",
    ),
    "uncoalesced": Explained(
        "a sparse tensor may hold several values for one index. coalesce() adds them up, and only then each index"
        " stands for one element",
        "x.coalesce().indices(); x._indices() reads them as they are",
    ),
    "padding-dimensions": Explained(
        "modes other than constant pad exactly the last one, two or three dimensions. The list of paddings has 2"
        " numbers for a tensor of 2 or 3 dimensions, 4 for one of 3 or 4, and 6 for one of 4 or 5",
        "print the shape and the paddings; unsqueeze(0) adds a dimension, mode='constant' takes any number of them",
    ),
    "unfold-size": Explained(
        "unfold cuts windows of {given} elements, and dimension {dimension} has {size}",
        "a smaller window, or F.pad before",
    ),
    "not-close": Explained(
        "assert_close compared the two: some difference is greater than atol + rtol × abs(expected). The lines after"
        " the error say how many elements differ, and where most",
        "pass rtol and atol that fit the dtype and the way of computing; equal results need the same kernels and order",
    ),
    "contained-class": Explained(
        "`in` compares each element of a tensor with a tensor or a number, and got {given}",
        "use a list or a dict for other values",
    ),
    "window-gaps": Explained(
        "istft divides by the sum of the squared windows, and at some sample all windows are zero",
        "a smaller hop_length, the window that stft had, or center=True (the ends of a window are near zero)",
    ),
    "window-device": Explained(
        "the input is on {size} and the window on {given}", "window.to(x.device), or register it as a buffer"
    ),
    "storage-device": Explained(
        "a tensor on {size} was to take over a storage on {given}. In torch.load it means that new tensors get a CUDA"
        " default (set_default_tensor_type, set_default_device) and map_location names another device, or the reverse",
        "load without that default, or with map_location of the same device, and move the model after that",
    ),
    "resumed-without-rate": Explained(
        "a scheduler with last_epoch of 0 or more continues a run: each group of its optimizer must have initial_lr"
        " from that run, and one has none",
        "last_epoch=-1 for a new run. To continue one, load the optimizer's state_dict before the scheduler is made",
    ),
    "never-scaled": Explained(
        "the scaler gets its scale at the first scaler.scale(loss), which was not called before",
        "scaler.scale(loss).backward() before unscale_() and step()",
    ),
    "linalg-in-threads": Explained(
        "the linear algebra of CUDA is a library that is loaded at its first use, and two threads used it first at the"
        " same time (as nn.DataParallel does)",
        "use it once in the main thread before the others start: torch.linalg.inv(torch.eye(1, device='cuda'))",
    ),
    "nvrtc-architecture": Explained(
        "a kernel is compiled while the program runs, and the compiler of this torch's CUDA does not know the GPU."
        " Most often the GPU is newer",
        "install a torch for a newer CUDA; torch.version.cuda and torch.cuda.get_device_capability() name both",
    ),
    "event-device": Explained(
        "an event of one type of device was given to a stream of another type: tensors of both take part in one"
        " computation",
        "look for the tensor or module that was left on the other device",
    ),
    "shared-device": Explained(
        "memory is shared through a file only if it is the CPU's, and this storage is on another device",
        "x.cpu() before it is put into a queue or shared",
    ),
    "gathered-size": Explained(
        "all_gather_into_tensor writes the inputs of all ranks one after the other: the output must have world_size"
        " times the elements of the input",
        "allocate it from the input's size, and check that every rank passes the same size",
    ),
    "sampler-rank": Explained(
        "DistributedSampler got rank {given}; its ranks are 0 to {size} (num_replicas - 1)",
        "leave both arguments out, so that they come from the process group; else pass its rank and its world size",
    ),
    "key-without-backend": Explained(
        "the dispatch key {name} was to be converted to a backend, and the code that converted it knows no backend for"
        " it. Most often this code is of an extension that was built for another torch",
        "build or install the extension (torchvision, torch_scatter, …) for this torch",
    ),
    "file-mapping": Explained(
        "Windows could not map memory that processes share; its error code is {given}",
        "1455: the paging file is too small, so raise it or use fewer workers. 2: the process that made the memory has"
        " ended, so keep it alive until the tensor is read",
    ),
    "device-not-linked": Explained(
        "this build of torch has no code for {name} devices, and no imported package adds it",
        "install the build for {name}, or import the package that adds the device before the first tensor on it",
    ),
    "pin-thread-ended": Explained(
        "the thread that copies batches into pinned memory has ended. Most often an error ended it, which it printed"
        " before",
        "look for that error above (of CUDA, or of memory); pin_memory=False shows whether pinning is the reason",
    ),
    "rendezvous-closed": Explained(
        "the run with this id has ended or failed on another node, so no node can join it any longer",
        "look at the first node that failed; start again with another --rdzv-id",
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
        " and __getattr__ raised the error of this message",
        "{owner}.{name}.{function}(self) shows the getter's own error",
    ),
    "gather-dimensions": Explained(
        (
            "gather and scatter read one position of the index for each position of the result, so the index"
            " has as many dimensions as the tensor"
        ),
        (
            "index.unsqueeze(-1), and expand() to the positions that are wanted; take_along_dim broadcasts the"
            " index by itself"
        ),
    ),
    "unflatten-sizes": Explained(
        ("unflatten splits one dimension of {size} elements; the given sizes ({given}) must multiply to {size}"),
        ("use -1 for one of the sizes, which is then computed"),
    ),
    "number-joined": Explained(
        ("cat joins along a dimension that exists, and the tensor at position {given} has none: it is one number"),
        ("torch.stack makes a new dimension for numbers; or x.unsqueeze(0)"),
    ),
    "batch-counts": Explained(
        (
            "the product of two batches multiplies matrix by matrix: both need as many in dimension 0, and"
            " they have {given} and {size}. It does not broadcast"
        ),
        ("torch.matmul (@) broadcasts the dimensions before the last two; or expand the smaller one"),
    ),
    "vector-sizes": Explained(
        (
            "the product of two vectors adds the products of their elements in pairs; they have {given} and"
            " {size} elements"
        ),
        ("print both shapes; torch.outer multiplies all pairs"),
    ),
    "addmv-dimensions": Explained(
        (
            "mv and addmv take a matrix (2 dimensions) and a vector (1 dimension). The numbers of dimensions"
            " were {given}: first the added vector, then matrix and vector"
        ),
        ("torch.matmul (@) takes other numbers of dimensions"),
    ),
    "einsum-subscripts": Explained(
        (
            "each dimension of an operand needs one letter: operand {name} (from 0) has {size} dimensions, and"
            " {given} letters"
        ),
        ("print its shape; '...' stands for dimensions without a letter"),
    ),
    "linalg-dtype": Explained(
        ("torch.linalg computes in float32, float64 and complex numbers; this operator has no code for {given}"),
        ("x.float(), and convert the result; under autocast, with torch.autocast(device_type, enabled=False)"),
    ),
    "sampled-too-many": Explained(
        ("each class is drawn at most once, so there are no more draws than classes"),
        ("replacement=True, or fewer samples"),
    ),
    "nothing-to-sample": Explained(
        ("a row of the weights has no entry above 0, so nothing can be drawn from it"),
        (
            "look for rows that are all 0: (p.sum(-1) == 0).any(); a mask or a filter (top-k, top-p) may have"
            " removed everything"
        ),
    ),
    "probabilities-dimensions": Explained(
        ("multinomial takes one row of weights, or a matrix with a row for each draw"),
        ("p.reshape(-1, p.shape[-1]); in text generation logits[:, -1, :] leaves a matrix"),
    ),
    "negative-deviation": Explained(
        ("a standard deviation is negative"),
        ("a network that gives one needs softplus or exp on it; a variance needs sqrt"),
    ),
    "empty-range": Explained(
        ("random integers are drawn from {given} up to, and without, {size}: no number is in that range"),
        ("the upper bound is often a length that is 0 here (an empty list or data set); print it"),
    ),
    "step-sign": Explained(
        ("arange goes from start to end in steps, and the step leads away from the end"),
        ("a negative step if end is smaller than start; print the three numbers"),
    ),
    "truth-of-none": Explained(
        ("if, and, or and bool() ask an empty tensor whether it is true: it has no value"),
        ("ask one question: x.numel() > 0, x.any(), x is not None"),
    ),
    "dtype-of-numpy": Explained(
        ("numpy has no dtype for {dtype}"),
        ("x.float().numpy()"),
    ),
    "byte-order": Explained(
        (
            "the array was read from a file with the bytes of each number in the other order (dtype '>f4', as"
            " in FITS, HDF5 or TIFF files)"
        ),
        ("array.astype(array.dtype.newbyteorder('='))"),
    ),
    "shape-of-object": Explained(
        (
            "torch.tensor reads numbers, arrays, and sequences of them; an object of the class {given} says"
            " that it is a sequence, but its elements cannot be read by number"
        ),
        ("convert it first: for pandas torch.tensor(x.values) or x.to_numpy()"),
    ),
    "integer-overflows": Explained(
        ("an integer of Python does not fit into 64 bits"),
        (
            "print the number: a hash, an id or a seed may be larger; for a mask use float('-inf') or"
            " torch.finfo(dtype).min"
        ),
    ),
    "step-of-slice": Explained(
        ("a tensor's slice goes forwards only: its strides cannot be negative, as numpy's can"),
        ("x.flip(0) for x[::-1]"),
    ),
    "assigned-class": Explained(
        ("x[…] = value takes a number or a tensor, and the value is a {given}"),
        ("torch.as_tensor(value, dtype=x.dtype, device=x.device)"),
    ),
    "index-class": Explained(
        ("an index is a {given}, which does not count positions"),
        ("an integer: n // 2 in place of n / 2, int(x); a tensor of positions needs integers"),
    ),
    "padding-pairs": Explained(
        (
            "pad takes two numbers (before, after) for each dimension, from the last one to the first, and no"
            " more pairs than dimensions"
        ),
        ("print the shape; a dimension of the batch or of the channels may be missing"),
    ),
    "double-registration": Explained(
        (
            "a library of operators was loaded twice into one process: as two versions, as a wheel and a"
            " build, or by a notebook's cell that ran again"
        ),
        (
            "restart the process; find the copies with pip list and in sys.path; for one's own operators"
            " TORCH_LIBRARY_FRAGMENT, or torch.library.Library(name, 'FRAGMENT')"
        ),
    ),
    "current-device": Explained(
        ("the tensors must be on the GPU that is current in this thread; one of them is on the CPU or on another GPU"),
        (
            "move the index to the device of the weight (an nn.Embedding and its input);"
            " torch.cuda.set_device(n) chooses the current GPU"
        ),
    ),
    "fft-half-size": Explained(
        ("on the GPU a Fourier transform of half-precision numbers takes sizes that are powers of two"),
        ("x.float() before it (also under autocast), or pad to a power of two"),
    ),
    "detached-view": Explained(
        (
            "detach_() would cut the tensor out of the graph, but it shares its memory with another tensor"
            " that stays in it"
        ),
        ("x = x.detach(), which makes a new tensor"),
    ),
    "function-saved-class": Explained(
        ("save_for_backward keeps tensors; argument {size} is a {given}"),
        ("keep other objects as attributes: ctx.n = n"),
    ),
    "function-no-backward": Explained(
        (
            "a class of torch.autograd.Function needs exactly one of backward and vjp, as a static method; it"
            " has none or both"
        ),
        ("@staticmethod def backward(ctx, gradient) in that class; look at its spelling and its indentation"),
    ),
    "function-gave-class": Explained(
        ("a hook, or the backward of a torch.autograd.Function, returned an object that is no tensor"),
        ("return one tensor or None for each input of forward"),
    ),
    "gradient-not-numeric": Explained(
        (
            "gradcheck compares the gradient of backward with one from small differences of the inputs, and"
            " they are apart"
        ),
        (""),
        (
            ("the inputs are float32, whose differences are too coarse", "x.double()"),
            (
                "the function is not differentiable at this point, or is random (dropout)",
                "other inputs, a fixed seed, eval()",
            ),
            ("otherwise: the formula of backward is wrong there", "compare the two matrices in the message"),
        ),
    ),
    "compressed-layout": Explained(
        ("the operator has code for another sparse layout than {given}"),
        ("convert it: x.to_sparse_csr(), x.to_sparse(), x.to_dense()"),
    ),
    "sparse-rebuilt": Explained(
        (
            "a sparse tensor of the layout {given} was pickled (for another process, or a file), and this"
            " release cannot make it again from the pickle"
        ),
        ("send its parts (values and indices), or x.to_sparse() (COO)"),
    ),
    "sparse-dimensions": Explained(
        (
            "the indices have a row for each sparse dimension, and the values may have further dimensions; the"
            " given size needs as many numbers as both together"
        ),
        (
            "indices of the shape (sparse dimensions, number of values): transpose them (indices.t()) if each"
            " row is one position"
        ),
    ),
    "sparse-indices-shape": Explained(
        ("the indices of a sparse tensor are a matrix: a row for each dimension, a column for each value"),
        ("for one dimension indices.unsqueeze(0)"),
    ),
    "sparse-reshape": Explained(
        ("a sparse tensor keeps positions, and reshape would have to compute all of them anew"),
        ("x.to_dense().reshape(…), or compute the new indices and make a new sparse tensor"),
    ),
    "sparse-added-to": Explained(
        ("the first operand is sparse and the second one dense; the other order is implemented"),
        ("dense + sparse, or sparse.to_dense()"),
    ),
    "sparse-strides": Explained(
        (
            "a sparse tensor is three blocks of memory; something asked for its strides (a view, a layout"
            " check, an operator for dense tensors)"
        ),
        ("x.to_dense() before it, or the operator of torch.sparse"),
    ),
    "nested-pointwise": Explained(
        (
            "two nested tensors have another ragged dimension each (j1, j2): torch compares the tensors of"
            " offsets themselves, not their values. The shapes are {given} and {size}"
        ),
        (
            "make the second one with the offsets of the first: torch.nested.nested_tensor_from_jagged(values,"
            " offsets=x.offsets())"
        ),
    ),
    "nested-view": Explained(
        (
            "view of a nested tensor keeps the batch and the ragged dimension as they are, and splits or joins"
            " only the dimensions behind them"
        ),
        (
            "x.values() is one dense tensor of all rows: change its shape, and make a nested tensor from it"
            " with x.offsets()"
        ),
    ),
    "no-fuser": Explained(
        (
            "fuse_modules joins a few series only (convolution, batch norm, ReLU; linear, ReLU; …), and the"
            " given modules are none of them"
        ),
        (
            "name modules that follow each other in forward, in this order; a conv with an activation other"
            " than ReLU stays as it is"
        ),
    ),
    "fused-in-training": Explained(
        (
            "a batch norm is put into the weights of the layer before it with its running statistics, which"
            " eval() uses and train() does not"
        ),
        ("model.eval() before; for training, torch.ao.quantization.fuse_modules_qat"),
    ),
    "transforms-and-hooks": Explained(
        (
            "a transform of torch.func (grad, vjp, jacrev, hessian) meets hooks on saved tensors, which"
            " checkpoint with use_reentrant=False and save_on_cpu set"
        ),
        ("leave one of the two out: no checkpoint inside or around the transform"),
    ),
    "causal-without-mask": Explained(
        (
            "in nn.MultiheadAttention is_causal=True only says that the mask is the causal one: the mask"
            " itself must be given too"
        ),
        ("attn_mask=nn.Transformer.generate_square_subsequent_mask(n), or leave is_causal out"),
    ),
    "causal-and-mask": Explained(
        ("scaled_dot_product_attention got a mask and is_causal=True: the second one makes a mask of its own"),
        ("leave one out: put the causal part into the mask (tril), or drop the mask"),
    ),
    "attention-mask-dtype": Explained(
        (
            "a mask of attention is bool (True: this pair takes part), or has the dtype of the query and is"
            " added to the scores"
        ),
        ("mask.bool() for zeros and ones, mask.to(query.dtype) for scores"),
    ),
    "probabilities-expected": Explained(
        (
            "the target has the same shape as the input, so cross_entropy reads it as probabilities of the"
            " classes; those are floating-point numbers, and it is {given}"
        ),
        (
            "class numbers: leave the class dimension out (target.argmax(1), target.squeeze(1)); one-hot rows:"
            " target.float()"
        ),
    ),
    "target-pixels": Explained(
        (
            "the target holds one class for each place of the input: its shape is the input's without"
            " dimension 1, the classes"
        ),
        (
            "F.interpolate the output to the size of the target, or the target (mode='nearest') to the size of"
            " the output; squeeze a channel dimension of the target"
        ),
    ),
    "ctc-batch": Explained(
        ("ctc_loss takes one length for each sample; the batch is dimension 1 of log_probs (T, N, C)"),
        ("log_probs.transpose(0, 1) if the batch comes first"),
    ),
    "ctc-blank": Explained(
        ("blank is the number of a class, from 0 to C - 1, where C is the last dimension of log_probs (T, N, C)"),
        ("one output of the network more than there are letters, or blank=0"),
    ),
    "interpolated-dimensions": Explained(
        (
            "interpolate takes a batch, channels, and one to three further dimensions; each mode has its"
            " number of them (linear 1, bilinear and bicubic 2, trilinear 3)"
        ),
        ("x[None, None] adds the batch and the channels"),
    ),
    "interpolated-size": Explained(
        ("size and scale_factor have one number for each dimension behind the batch and the channels"),
        ("print the shape: a dimension of the batch or of the channels may be missing"),
    ),
    "interpolated-twice": Explained(
        ("interpolate takes exactly one of size and scale_factor; both are given, or none"),
        ("leave one out; None in place of a size comes often from a shape that is not known yet"),
    ),
    "channels-by-groups": Explained(
        ("the channels are split into equal groups"),
        (
            "choose a number of groups that divides in_channels and out_channels (in a GroupNorm,"
            " num_channels); groups=1 is no split"
        ),
    ),
    "embedding-weight": Explained(
        (
            "an embedding got a weight that is no matrix: most often a parameter that FSDP or DeepSpeed (ZeRO"
            " 3) keeps flat or empty between uses"
        ),
        (
            "call the wrapped module, not its inner part; to read a weight of DeepSpeed,"
            " deepspeed.zero.GatheredParameters, of FSDP summon_full_params"
        ),
    ),
    "fsdp-state": Explained(
        (
            "FSDP keeps a state for each module it wraps, and this one was used at a wrong moment. Its"
            " backward begins without its forward, or its parts are called by themselves"
        ),
        (
            "run each forward through the outermost FSDP module; call backward once for it; no second use of a"
            " wrapped module or of its weights outside of that forward"
        ),
    ),
    "fsdp-group-dtypes": Explained(
        ("the parameters of one FSDP group are gathered as one block, so they have one dtype; they have {given}"),
        ("model.to(dtype) before fully_shard, or fully_shard the modules of the other dtype by themselves"),
    ),
    "rendezvous-scheme": Explained(
        (
            "the processes find each other by an address, and this build of torch has no way for addresses of"
            " '{given}://'"
        ),
        ("init_method='env://' (with MASTER_ADDR and MASTER_PORT), 'tcp://host:port' or 'file:///path'"),
    ),
    "no-visible-gpu": Explained(
        ("torch has CUDA, and the driver shows no GPU to this process"),
        (
            "nvidia-smi must list one; look at CUDA_VISIBLE_DEVICES (empty, or a number that does not exist);"
            " a container needs --gpus all; in Colab choose a runtime with a GPU"
        ),
    ),
    "lazy-parameters": Explained(
        ("a lazy module (nn.LazyLinear, …) makes its parameters at its first forward, which did not run yet"),
        ("run one batch through the model before it is wrapped, counted, or given to the optimizer"),
    ),
    "agent-stopped": Explained(
        (
            "torchrun itself got signal {given}: from the system that started the job (a limit of time, a"
            " cancelled job), from a closed terminal (1), or from a person. Its workers end with it"
        ),
        ("look at the log of the job system; nohup, tmux or sbatch keep a run alive without the terminal"),
    ),
    "nccl-tensors": Explained(
        ("NCCL sends dense tensors of a GPU; the given tensor is on the CPU, or sparse"),
        ("x.to(device) before the call; or a group with gloo: init_process_group('cpu:gloo,cuda:nccl')"),
    ),
    "checkpoint-lacks": Explained(
        (
            "the checkpoint in the folder has no entry {name}: it was saved from a model with other names, or"
            " without this part (an optimizer, a new layer)"
        ),
        (
            "compare the names: FileSystemReader(path).read_metadata().state_dict_metadata.keys();"
            " DefaultLoadPlanner(allow_partial_load=True) leaves missing ones as they are"
        ),
    ),
    "mesh-too-large": Explained(
        ("the mesh has {size} places, and {given} processes run"),
        ("torchrun --nproc-per-node {size}, or a mesh whose sizes multiply to {given}"),
    ),
    "no-sharding-rule": Explained(
        ("a DTensor knows for each operator which shards its result has; for {name} nothing is registered"),
        ("x.full_tensor() or x.to_local() before it; another operator; a newer torch; register_sharding adds a rule"),
    ),
    "optimizer-class": Explained(
        ("an optimizer takes parameters, or dicts with a key 'params'; among them is a {given}"),
        (
            "model.parameters(); for several models list(a.parameters()) + list(b.parameters()); without"
            " named_ before torch 2.6"
        ),
    ),
    "scheduler-over": Explained(
        (
            "OneCycleLR was made for {size} steps, and this is step {given}: scheduler.step() runs more often"
            " than was planned"
        ),
        (
            "total_steps = epochs × len(loader) if it is called after each batch; a run that continues keeps"
            " the count of the old one"
        ),
    ),
    "scheduler-steps": Explained(
        ("{name} counts steps: it must be a positive integer of Python, and it is {given}"),
        ("int(…): a division gives a float; len(loader) is 0 for an empty data set"),
    ),
    "sparse-gradients": Explained(
        ("a gradient is sparse (from nn.Embedding(sparse=True)), and {name} updates dense ones only"),
        ("sparse=False; or SparseAdam for that parameter in an optimizer of its own; SGD takes both kinds"),
    ),
    "dense-gradients": Explained(
        (
            "SparseAdam takes parameters with sparse gradients only (nn.Embedding(sparse=True)), and one of"
            " them has a dense gradient"
        ),
        ("Adam for the other parameters, in an optimizer of their own"),
    ),
    "optimizer-value": Explained(
        (
            "the optimizer checks its settings: {name} is {given}. All must be at least 0, and betas also"
            " below 1; a text of a configuration file or nan is refused too"
        ),
        ("pass a number: float('1e-4') for a text"),
    ),
    "nesterov": Explained(
        ("nesterov=True computes with the momentum, which is 0 by default"),
        ("SGD(…, momentum=0.9, nesterov=True), and no dampening"),
    ),
    "fused-parameters": Explained(
        (
            "the fused optimizer is one kernel for real tensors of a few devices: a parameter is complex, or"
            " on another device (meta too)"
        ),
        ("fused=False, or move the model before the optimizer is made"),
    ),
    "autocast-device": Explained(
        ("torch.autocast takes the kind of device (cuda, cpu, …), and this build has none called '{given}'"),
        ("the kind without a number: device.type; a device of a plugin needs its package imported first"),
    ),
    "storage-tag": Explained(
        (
            "the file says on which device each tensor was, and this torch does not know that device: its"
            " plugin is not imported, or the name in map_location is wrong"
        ),
        ("torch.load(f, map_location='cpu')"),
    ),
    "folder-missing": Explained(
        ("torch.save does not make folders, and the folder of the given path is missing"),
        ("os.makedirs(folder, exist_ok=True); a relative path begins at the folder in which the program runs"),
    ),
    "pickle-protocol": Explained(
        (
            "torch.load with weights_only=True reads the few pickle instructions that torch.save writes; the"
            " file has another one ({given}). It was pickled by something else, or with a newer protocol"
        ),
        (
            "if you trust its origin, torch.load(f, weights_only=False) or pickle.load; then save it again"
            " with torch.save"
        ),
    ),
    "checkpoint-key": Explained(
        (
            "the dict has no key {name}. The program that saved a checkpoint chose its keys; it may be the"
            " state_dict itself, with the names of parameters as keys"
        ),
        ("print(checkpoint.keys()); if they are names of parameters, model.load_state_dict(checkpoint)"),
    ),
    "state-dict-as-module": Explained(
        ("a dict with parameters is used as a model: torch.load gave the state_dict that was saved"),
        ("make the model, then model.load_state_dict(torch.load(f))"),
    ),
    "iterable-options": Explained(
        ("an IterableDataset decides its own order, so the DataLoader takes no {name} for it"),
        ("shuffle inside of __iter__, or make it a Dataset with __getitem__ and __len__"),
    ),
    "split-lengths": Explained(
        ("the lengths of random_split must add up to len(dataset)"),
        (
            "[n, len(dataset) - n] in place of two rounded products; fractions that add up to 1 are split by"
            " torch: [0.8, 0.2]"
        ),
    ),
    "tensors-of-dataset": Explained(
        ("a TensorDataset takes row i of each tensor as sample i: all need the same first dimension"),
        ("print the shapes of all: features and labels come from different splits, or one is transposed"),
    ),
    "dataset-without-item": Explained(
        ("the class of the data set has no __getitem__"),
        (
            "look at its spelling (two underscores on each side) and its indentation: a function inside of"
            " another one is no method"
        ),
    ),
    "no-length": Explained(
        ("len() was asked of an object of the class {given}, which has no __len__"),
        (""),
        (
            (
                "it is an IterableDataset, a generator, or a DataLoader of one: its length is not known",
                "count in the loop, or write __len__; tqdm takes total=",
            ),
            (
                "it is one value where a list was expected (a number in place of a list of numbers, None)",
                "look where it is made",
            ),
        ),
    ),
    "argument-missing": Explained(
        ("Python called {name}() without {given}, which has no default"),
        (""),
        (
            (
                "it is forward(): the call of a module passes its arguments to it",
                "model(x, …) with each argument; an nn.Sequential passes exactly one",
            ),
            (
                "it is a method, and self is missing: the class was called, not an object of it",
                "make the object first: Net()(x)",
            ),
            (
                "it is step(): ReduceLROnPlateau needs the measured value, LBFGS a closure",
                "scheduler.step(loss), optimizer.step(closure)",
            ),
            (
                "a library calls it: the two were written for different releases",
                "compare the installed versions with its requirements",
            ),
        ),
    ),
    "arguments-too-many": Explained(
        ("{name}() takes {size} and got {given}; in a method the object itself (self) counts as one"),
        (
            "look for a missing self in its definition, a tuple that is passed with a star, and arguments that"
            " must be named"
        ),
    ),
    "argument-unexpected": Explained(
        ("{name}() does not take the argument {given} by name (or got it twice, also by position)"),
        (
            "look at the definition of {name}: the name may be another one. In code that is not yours, the"
            " release is older or newer than the code expects"
        ),
    ),
    "value-called": Explained(
        ("brackets call a value of the class {given}, which is no function"),
        (
            "look for a name that hides a function (sum = 0, len = …), for a missing comma or operator before"
            " the bracket, and for a property that is called (x.shape)"
        ),
    ),
    "value-indexed": Explained(
        ("square brackets read an element of a value of the class {given}, which has none"),
        (""),
        (
            ("it is a DataLoader", "loader.dataset[i], or next(iter(loader))"),
            (
                "it is NoneType: a function gave nothing back (a missing return, a method that works in place)",
                "look where the value is made",
            ),
            ("it is a function or a method: the brackets of the call are missing", "f()[0]"),
        ),
    ),
    "value-iterated": Explained(
        ("a loop, an unpacking or a star goes through a value of the class {given}, which cannot be gone through"),
        ("print its type: a DataLoader gives batches, a model does not; next() needs iter(x)"),
    ),
    "unpacked-number": Explained(
        ("the left side of the assignment (or of the loop) has another number of names than the right side has values"),
        (
            "print the value on the right: a shape with another number of dimensions, a data set that gives"
            " three values, a model with two results"
        ),
    ),
    "module-gone": Explained(
        (
            "the installed torch has no module torch.{name}. The code is for an older or a newer release"
            " (torch._six ended with 1.13), or a file torch.py of yours hides torch"
        ),
        ("a newer release of the library that imports it; print(torch.__version__, torch.__file__)"),
    ),
    "hub-hash": Explained(
        (
            "the downloaded file has another checksum than its name says: the download was cut or changed (a"
            " proxy), or the file was replaced"
        ),
        ("delete it (torch.hub.get_dir()) and load again, or download it by hand"),
    ),
    "hub-callable": Explained(
        ("hubconf.py of that repository has no function {name}"),
        ("torch.hub.list('owner/repository') lists them; force_reload=True fetches a newer copy"),
    ),
    "hub-branch": Explained(
        ("the repository on GitHub has no branch, tag or commit {name}"),
        (
            "hub.load('owner/repository:branch', …) with a name that exists, or skip_validation=True if GitHub"
            " refuses to answer"
        ),
    ),
    "github-limit": Explained(
        (
            "torch.hub asks GitHub about the repository, and GitHub answers a limited number of questions in"
            " an hour for one address"
        ),
        ("torch.hub.load(…, skip_validation=True), GITHUB_TOKEN in the environment, or wait"),
    ),
    "certificate": Explained(
        (
            "Python could not check the certificate of the server. It has no list of authorities (python.org's"
            " Python on macOS), the clock is wrong, or a proxy uses its own certificate"
        ),
        (
            "run Install Certificates.command on macOS; pip install -U certifi; add the proxy's authority to"
            " SSL_CERT_FILE"
        ),
    ),
    "image-class": Explained(
        (
            "a transform of torchvision got another kind of image than it takes: some take PIL images, some"
            " tensors, Normalize a tensor of floats"
        ),
        (
            "put ToTensor() (or v2.ToImage(), v2.ToDtype(torch.float32, scale=True)) at the place where the"
            " kind changes: before Normalize, after the transforms of PIL"
        ),
    ),
    "image-array": Explained(
        ("PIL makes images of arrays of height × width (× 3 or 4) in uint8, and the array has another shape or dtype"),
        (
            "(x.permute(1, 2, 0) * 255).byte().cpu().numpy() for a tensor of channels × height × width from 0"
            " to 1; torchvision.utils.save_image does that"
        ),
    ),
    "export-assigned": Explained(
        (
            "forward writes a tensor to an attribute of the module (a cache, a counter); an exported graph"
            " keeps such a state only in buffers"
        ),
        ("self.register_buffer(name, tensor) in __init__ and copy_ into it, or return the tensor instead"),
    ),
    "capture-random": Explained(
        (
            "random numbers are drawn (dropout) with the generator of a CUDA graph, and nothing is captured,"
            " or another graph is. An earlier capture failed, or two run at once"
        ),
        ("look for the first error above; capture once, in one thread; a new process after a failed capture"),
    ),
    "donated-buffers": Explained(
        (
            "the compiled backward writes into tensors that it saved, to save memory, so it runs once:"
            " retain_graph=True and create_graph=True are not possible with it"
        ),
        ("torch._functorch.config.donated_buffer = False before compiling, or leave retain_graph out"),
    ),
    "subclass-guessed": Explained(
        (
            "torch.compile compiles backward before it sees gradients, and guesses their kind: the gradient"
            " that came is another kind (another sharding of a DTensor, a plain tensor, another subclass)"
        ),
        (
            "let the compiled part end where the kind of its results is plain (to_local(), full_tensor()), or"
            " compile the loss with it"
        ),
    ),
    "triton-gpu-too-old": Explained(
        (
            "Inductor writes kernels in Triton, which needs a GPU of compute capability 7.0 (Volta) or newer;"
            " {name} is older"
        ),
        ("torch.compile(backend='cudagraphs' or 'aot_eager'), or no compile"),
    ),
    "inductor-failed": Explained(
        (
            "Inductor, the compiler behind torch.compile, failed while it translated an operator ('target:'"
            " names it). The error behind the name is Inductor's own: a defect there, or a kernel of yours that"
            " it cannot read"
        ),
        (
            "torch.compile(backend='aot_eager') shows whether it is Inductor; a newer torch;"
            " torch.compiler.disable for the function with that operator"
        ),
    ),
    "onnx-namespace": Explained(
        (
            "the exporter knows torch's operators; this one is of another library, or a"
            " torch.autograd.Function of Python"
        ),
        (
            "torch.onnx.register_custom_op_symbolic (TorchScript's exporter), custom_translation_table"
            " (dynamo=True), or a static method symbolic() of the Function; else other operators"
        ),
    ),
    "onnx-function-missing": Explained(
        ("the exporter has no translation to ONNX for this operator with these arguments"),
        ("a newer torch and onnxscript; custom_translation_table; other operators in the model"),
    ),
    "onnx-too-large": Explained(
        ("an .onnx file is one protobuf message, which holds at most 2 GiB; the weights are larger"),
        (
            "export to a path, not to a buffer, so that the weights go into files beside it"
            " (external_data=True); onnx.save_model(…, save_as_external_data=True)"
        ),
    ),
    "onnxruntime-shape": Explained(
        ("onnxruntime compares the input {name} with the shape in the file: the model was exported with fixed sizes"),
        (
            "export with dynamic_axes (or dynamic_shapes) for the dimensions that change, or pass inputs of"
            " the exported shape"
        ),
    ),
    "mps-empty": Explained(
        ("a kernel of Metal got a tensor without elements, which it does not take"),
        ("leave the call out for empty tensors (x.numel() == 0), or run it on the CPU"),
    ),
    "compiler-version": Explained(
        (
            "nvcc of CUDA {size} works with certain versions of {name}; the installed one ({given}) is {owner}"
            " than they are"
        ),
        (
            "install a compiler that it takes and name it: CC=gcc-11 CXX=g++-11, or in conda gxx_linux-64;"
            " else another CUDA"
        ),
    ),
    "nvcc-architecture": Explained(
        (
            "the extension is built for a kind of GPU that the installed nvcc (or this torch) does not know."
            " nvcc is older than the GPU, or it dropped that old kind"
        ),
        (
            "TORCH_CUDA_ARCH_LIST='8.6' with a kind that both know, or another CUDA toolkit: nvcc --version,"
            " and CUDA_HOME leads to the right one"
        ),
    ),
    "torch-headers-missing": Explained(
        (
            "the C++ compiler does not find the headers of torch. setup.py does not use"
            " torch.utils.cpp_extension, or its isolated environment has no torch"
        ),
        (
            "CppExtension and BuildExtension in setup.py, or include_paths() of torch.utils.cpp_extension; pip"
            " install --no-build-isolation"
        ),
    ),
    "extension-for-old-torch": Explained(
        ("the source is written for an old torch: the folder THC ended with 1.11, AT_CHECK earlier"),
        (
            "a newer release of the extension; in its source ATen/cuda/CUDAContext.h for THC/THC.h, and"
            " TORCH_CHECK for AT_CHECK"
        ),
    ),
    "cuda-headers-missing": Explained(
        (
            "the compiler does not find a header of the CUDA toolkit (or of cuDNN, NCCL): only its libraries"
            " are installed, or CUDA_HOME leads to another folder"
        ),
        ("install the whole toolkit of torch.version.cuda (in conda cuda-toolkit), and set CUDA_HOME"),
    ),
    "python-headers-missing": Explained(
        ("the compiler does not find the headers of Python"),
        ("install them: python3-dev (Debian, Ubuntu), python3-devel (Fedora), for the version that runs"),
    ),
    "windows-extension": Explained(
        (
            "Windows could not load the compiled module {name}, or a library that it needs: it was built for"
            " another torch, Python or CUDA, or the C++ runtime is missing"
        ),
        (
            "install that package again for this torch and Python; the Visual C++ redistributable; import"
            " torch before it"
        ),
    ),
    "extension-not-imported": Explained(
        (
            "a library tried to import its compiled part {name}, failed, and went on: the part was not built,"
            " or not for this torch"
        ),
        (
            "python -c 'from PACKAGE import {name}' shows its error; build the library again for this torch,"
            " with CUDA_HOME set"
        ),
    ),
    "library-too-old": Explained(
        ("a library was built on a newer system: it asks for {given}, which the {name} that was loaded does not have"),
        (
            "in conda: conda install -c conda-forge libstdcxx-ng, and LD_LIBRARY_PATH=$CONDA_PREFIX/lib; else"
            " a build for your system, or a newer system"
        ),
    ),
    "openmp-twice": Explained(
        (
            "two copies of the OpenMP library are in one process: two packages (torch, numpy, scikit-learn, …)"
            " brought their own"
        ),
        (
            "install all of them from one source (all by pip, or all by conda) in a new environment;"
            " KMP_DUPLICATE_LIB_OK=TRUE goes on, and can give wrong results"
        ),
    ),
    "mkl-threads": Explained(
        ("MKL should use Intel's threads, but {name} is loaded already, by a package that was imported before"),
        ("MKL_THREADING_LAYER=GNU, or import numpy first"),
    ),
    "mkl-parts-differ": Explained(
        (
            "MKL loads a part of itself for your processor, and that part is of another release or missing:"
            " two installations of MKL are mixed"
        ),
        ("install mkl again from one source (pip or conda) in a new environment; look at LD_LIBRARY_PATH"),
    ),
    "script-types": Explained(
        ("in TorchScript a variable has one type: a branch or a second assignment gives it another one"),
        ("another name for the second value; Optional[…] annotated at the first one; both branches with one type"),
    ),
    "script-statement": Explained(
        ("TorchScript reads a part of Python, and this form is not in it: {name}"),
        (
            "write it in another way, torch.jit.ignore on the function, or torch.jit.trace, torch.export in"
            " place of script"
        ),
    ),
    "script-python-value": Explained(
        (
            "TorchScript compiles only names that it can see. This name is a function of Python without a"
            " translation, a local of another scope, or a module that it cannot read"
        ),
        (
            "an operator of torch for it; a module attribute or an argument for a value; torch.jit.ignore on"
            " the function that uses it"
        ),
    ),
    "script-module-index": Explained(
        ("TorchScript knows the modules of a ModuleList one by one, so an index must be a number in the text"),
        ("for layer in self.layers (or enumerate) in place of self.layers[i]"),
    ),
    "script-no-attribute": Explained(
        (
            "TorchScript knows the type of each value; the type here has no {name}: an argument without an"
            " annotation is a Tensor for it"
        ),
        ("annotate the argument with its type (x: List[int]); an operator in place of a method of Python"),
    ),
    "pooling-padding": Explained(
        ("pooling pads with at most half of the kernel: else a window could hold padding only"),
        ("a smaller padding, or F.pad before the pooling"),
    ),
    "window-settings": Explained(
        ("a convolution or a pooling got a kernel, a stride or a dilation below 1, or a padding below 0"),
        ("print the settings: one that is computed from sizes, as size // n, is 0 for small inputs"),
    ),
    "bias-of-convolution": Explained(
        ("a convolution adds one number to each of its {size} output channels, and the bias has the shape ({given})"),
        ("a bias of {size} elements, or None"),
    ),
    "equation-shapes": Explained(
        (
            "in {name} = B the rows (or columns) of A and of B are the same equations; their shapes are"
            " {given} and {size}"
        ),
        ("b.unsqueeze(-1) if B is one vector for each of several matrices"),
    ),
    "floating-only": Explained(
        (
            "the operator computes with floating-point numbers, and the tensor holds integers (or another"
            " dtype that has no code)"
        ),
        ("x.float()"),
    ),
    "number-has-no-dimension": Explained(
        ("the tensor is one number: it has no dimension 0"),
        ("look where a dimension was lost ([0], squeeze(), a sum); x.reshape(1) or torch.atleast_1d(x)"),
    ),
    "stft-length": Explained(
        (
            "the window of the transform ({given} samples) is longer than the signal; {size} is its length"
            " with padding, and the last dimension of the input is time"
        ),
        ("a smaller n_fft, or pad the signal; print the shape: channels may stand in the last dimension"),
    ),
    "halved-odd": Explained(
        ("glu multiplies one half of a dimension with the sigmoid of the other: dimension {name} has {size} elements"),
        ("twice as many channels before the glu as are wanted after it; dim= chooses the dimension"),
    ),
    "dimension-twice": Explained(
        ("each dimension may be named once; a negative number is the same dimension as a positive one"),
        ("print the list of dimensions: -1 is the last one"),
    ),
    "random-bounds": Explained(
        ("a bound of the random integers does not fit into {dtype}"),
        ("dtype=torch.int64, or smaller bounds"),
    ),
    "argument-kind": Explained(
        ("the argument {name} of {owner} must be {size}, and it (or one of its elements) is {given}"),
        (
            "int(x) for a size or a dimension (n // 2 in place of n / 2, x.item() for a tensor of one"
            " element); for tensors of sizes x.tolist()"
        ),
    ),
    "operands": Explained(
        ("Python has no {name} for an object of {given} and one of {size}"),
        (
            "print both; a tensor goes with tensors and numbers: torch.as_tensor(x) for a list or an array;"
            " None comes from a function without return"
        ),
    ),
    "numpy-scalar": Explained(
        ("numpy should make one number of an array with several elements"),
        ("index it first, or keep it as an array (x.astype(float) in place of float(x))"),
    ),
    "numpy-ragged": Explained(
        (
            "numpy should make one array of rows with different lengths or shapes, or put a sequence in the"
            " place of one number"
        ),
        ("print the shapes of the elements; pad them to one length; a list of tensors needs torch.stack"),
    ),
    "numpy-two": Explained(
        (
            "numpy changed its binary form from 1 to 2, and two packages expect different ones (a file pickled"
            " with numpy 2 names numpy._core, which numpy 1 lacks)"
        ),
        (
            "pip install 'numpy<2', or newer releases of torch and of the package that complains; for a file"
            " read it with numpy 2"
        ),
    ),
    "numpy-lacks": Explained(
        ("the installed numpy has no {name}: numpy 1.24 removed bool, int, float, object, and numpy 2 further names"),
        (
            "bool, int, float in place of np.bool, np.int, np.float (np.float64 for float_); a newer release"
            " of the library that uses it, or an older numpy"
        ),
    ),
    "old-dtypes": Explained(
        ("two tensors of one operator have different dtypes or devices, as the message of an old torch says it"),
        ("convert one: x.float(), x.long(), x.to(other.dtype); x.to(device) if the backends differ"),
    ),
    "old-devices": Explained(
        ("the tensors of one operator are on different devices, as the message of an old torch says it"),
        ("move them to one device: x.to(device); in a module, register_buffer for tensors that are no parameters"),
    ),
    "index-of-module": Explained(
        ("an nn.Sequential or nn.ModuleList has no module with the number {given}"),
        ("print(len(modules)); the numbers begin at 0"),
    ),
    "attention-dimensions": Explained(
        (
            "nn.MultiheadAttention takes query, key and value of 3 dimensions (length, batch, features; batch"
            " first with batch_first=True), or of 2 without a batch, and masks that fit to them"
        ),
        ("print the three shapes; unsqueeze the one without a batch"),
    ),
    "key-and-value": Explained(
        ("attention reads one value for each key, and their shapes are {given} and {size}"),
        ("print both: they come most often from the same tensor; with batch_first=True the batch is dimension 0"),
    ),
    "dropout-probability": Explained(
        ("dropout takes a probability from 0 to 1, and got {given}"),
        ("a percentage / 100; the order of the arguments of the class"),
    ),
    "initialised-vector": Explained(
        (
            "xavier, kaiming and orthogonal read the numbers of inputs and outputs from a matrix; a bias or"
            " the weight of a norm is a vector"
        ),
        ("initialise only parameters with p.dim() > 1, the others with nn.init.zeros_ or ones_"),
    ),
    "sync-norm-device": Explained(
        ("SyncBatchNorm adds up statistics over GPUs, and its input is on the CPU"),
        ("on one machine without GPUs use BatchNorm (in a configuration: SyncBN to BN)"),
    ),
    "shared-with-grad": Explained(
        ("a tensor with a graph should go to another process, and a graph cannot go along"),
        ("x.detach() before it is put into a queue or returned by a data set"),
    ),
    "mode-and-options": Explained(
        ("a mode of torch.compile is a set of options, so only one of the two is taken"),
        ("pass one dict as options: torch._inductor.list_mode_options('max-autotune'), with your settings added"),
    ),
    "hub-dependencies": Explained(
        ("hubconf.py of that repository asks for packages that are not installed: {name}"),
        ("pip install {name}"),
    ),
    "hub-offline": Explained(
        ("torch.hub reached no network, and its folder has no copy of the repository"),
        ("load it once with a network, then copy torch.hub.get_dir(); or torch.hub.load(folder, …, source='local')"),
    ),
    "checkpoint-without-need": Explained(
        ("no result of the checkpointed part requires grad, so its backward has nothing to compute"),
        ("an input must require grad with use_reentrant=True (x.requires_grad_()), or use_reentrant=False"),
    ),
    "block-mask-size": Explained(
        ("the mask of flex_attention was made for other lengths ({size}) than query ({given}) and key ({name}) have"),
        ("create_block_mask(…, Q_LEN={given}, KV_LEN={name}) for each length, or block_mask._adjust(q_len, kv_len)"),
    ),
    "no-libuv": Explained(
        ("the store of distributed programs uses libuv by default since 2.4, and this build (for Windows) has none"),
        ("USE_LIBUV=0 in the environment, or init_method='tcp://…?use_libuv=0'"),
    ),
    "barrier-not-reached": Explained(
        (
            "a rank waited at a barrier, and another one did not come: it ended, or is somewhere else (a"
            " branch on the rank, fewer batches)"
        ),
        ("look at the output of the ranks that are named for the first error; py-spy dump shows where they wait"),
    ),
    "nccl-watchdog": Explained(
        (
            "the thread that watches NCCL did not answer for minutes. A call of CUDA or of NCCL hangs, or"
            " Python holds its lock (the GIL) during a long call of C++"
        ),
        ("look for the rank that printed an error or a timeout first; TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC waits longer"),
    ),
    "gloo-address": Explained(
        (
            "gloo found no network address by which the ranks reach each other: it takes the address that the"
            " name of the machine has, which may be wrong or missing"
        ),
        (
            "GLOO_SOCKET_IFNAME=eth0 (a name that ip addr lists; lo on one machine); the name of the machine"
            " in /etc/hosts"
        ),
    ),
    "lightning-unused": Explained(
        ("DistributedDataParallel waits for a gradient of every parameter, and this step used only some of them"),
        ("strategy='ddp_find_unused_parameters_true', or use (or freeze) those parameters"),
    ),
    "tensor-arguments-of-export": Explained(
        ("torch.export.export takes the example inputs as a tuple, and got {given}"),
        ("torch.export.export(model, (x,))"),
    ),
    "dynamic-shapes-structure": Explained(
        (
            "dynamic_shapes has one entry for each input, in the same structure: a tuple, or a dict by the"
            " names of forward's arguments. None stands for a fixed input"
        ),
        ("the names of forward's arguments as keys; None for inputs without dynamic sizes"),
    ),
    "cuda-unknown": Explained(
        (
            "the driver gave up without a reason: it was updated while the machine ran, the machine slept, or"
            " another process broke the GPU's state"
        ),
        ("restart the process, then the machine; nvidia-smi must work; dmesg shows the driver's own errors (Xid)"),
    ),
    "cuda-handle": Explained(
        (
            "a stream, an event or a handle was used by a process or on a GPU that did not make it: after a"
            " fork, or on another device"
        ),
        (
            "torch.cuda.set_device(n) before the first use, one device for an extension and its tensors; spawn"
            " in place of fork"
        ),
    ),
    "cuda-peer": Explained(
        (
            "one GPU should read the memory of another directly, and these two cannot (another bus, a virtual"
            " machine, consumer cards)"
        ),
        ("NCCL_P2P_DISABLE=1; copy by the CPU (x.cpu().to(device))"),
    ),
    "cuda-unsupported": Explained(
        (
            "this driver, GPU or virtual machine does not know the asked function of CUDA. The driver is older"
            " than the toolkit, or a virtual GPU lacks functions for memory (expandable_segments, pinned memory)"
        ),
        ("a newer driver; PYTORCH_CUDA_ALLOC_CONF without expandable_segments; no pin_memory"),
    ),
    "cuda-instruction": Explained(
        (
            "a kernel ran into code that the GPU cannot execute: a compiler's defect, a kernel built for"
            " another GPU, damaged memory, or a GPU that is overclocked or broken"
        ),
        ("CUDA_LAUNCH_BLOCKING=1 names the call; without torch.compile and extensions; another torch; another GPU"),
    ),
    "allocator-option": Explained(
        ("PYTORCH_CUDA_ALLOC_CONF has a setting that this release of torch does not know"),
        ("correct its spelling, or unset the variable; the settings stand in the notes on CUDA of this release"),
    ),
    "onednn-primitive": Explained(
        (
            "oneDNN, the library that computes convolutions and products on CPUs (and Intel GPUs), has no code"
            " for these sizes, layouts or dtypes on this processor, or got no memory"
        ),
        ("torch.backends.mkldnn.enabled = False shows whether it is that; x.float(); x.contiguous(); free memory"),
    ),
    "cudnn-library": Explained(
        (
            "a part of cuDNN was not found or is of another release: another cuDNN in LD_LIBRARY_PATH or in"
            " the system comes before the one that torch brings"
        ),
        ("unset LD_LIBRARY_PATH; pip install --force-reinstall the nvidia-cudnn package that this torch asks for"),
    ),
    "driver-library-missing": Explained(
        (
            "{name} belongs to the NVIDIA driver, not to torch: no driver is installed here, or the container"
            " does not see it"
        ),
        (
            "install the driver; docker run --gpus all with the NVIDIA container toolkit; in WSL"
            " /usr/lib/wsl/lib belongs in the path"
        ),
    ),
    "system-library-missing": Explained(
        ("the system has no library {name}, which a package asks for"),
        (
            "install it by the system's packages (libGL.so.1: libgl1; libgomp.so.1: libgomp1; libmpi: an MPI),"
            " or in conda"
        ),
    ),
    "gpu-not-usable": Explained(
        ("the program asked torch.cuda.is_available() and got False: a torch without CUDA, or no driver"),
        (
            'python -c "import torch; print(torch.version.cuda, torch.cuda.is_available())": None means a'
            " build for the CPU; else look at nvidia-smi"
        ),
    ),
    "no-wheel": Explained(
        (
            "pip found no build of that release for this Python, system and processor: each release has builds"
            " for a few versions of Python only"
        ),
        (
            "python --version, and choose a release that has it; the --index-url of pytorch.org has the builds"
            " for a CUDA; pip itself may be old (pip install -U pip)"
        ),
    ),
    "no-compiler-of-windows": Explained(
        ("an extension is built from source, and no C++ compiler of Visual Studio is found"),
        (
            "install the Build Tools for Visual Studio (C++ workload) and use its 'x64 Native Tools' prompt,"
            " or a wheel that is built already"
        ),
    ),
    "compiler-failed": Explained(
        ("the compiler stopped while an extension was built; its own first 'error:' stands further up in the output"),
        (
            "look for the first line with 'error:' (pip install -v shows all): headers, the version of the"
            " compiler, or memory (MAX_JOBS=2)"
        ),
    ),
    "compiler-killed": Explained(
        ("the system killed the compiler: memory ran out while several files were compiled at once"),
        ("MAX_JOBS=2 (or 1) in the environment"),
    ),
    "vision-module-gone": Explained(
        ("torchvision 0.17 removed functional_tensor, and a library (basicsr, most often) still imports it"),
        (
            "a newer release of that library; in its file: from torchvision.transforms.functional import"
            " rgb_to_grayscale"
        ),
    ),
    "module-missing": Explained(
        (
            "this Python finds no module {name}: its package is not installed here, or another Python runs."
            " While a pickle is read, the saved object belongs to a class of that module"
        ),
        (
            "python -m pip install with the Python that runs (the package may have another name); for a"
            " pickle, run in the folder of that module"
        ),
    ),
    "script-interpreter": Explained(
        ("TorchScript ran a function and an operator in it failed; its message stands below the lines of the source"),
        ("look at the last line of the message; PYTORCH_JIT=0 runs the same in Python"),
    ),
    "mps-no-operator-for-conv": Explained(
        ("the Metal backend has this operator only in newer releases of macOS or of torch"),
        (
            "a newer macOS or torch; PYTORCH_ENABLE_MPS_FALLBACK=1 computes missing operators on the CPU;"
            " model.to('cpu')"
        ),
    ),
    "pipe-broken": Explained(
        (
            "the process at the other end ended. On Windows a DataLoader's worker could not start (no if"
            " __name__ == '__main__'); else it crashed, or was killed"
        ),
        ("num_workers=0 shows the worker's own error"),
    ),
    "folder-given": Explained(
        (
            "{given} is a folder where a file was expected: a checkpoint of DeepSpeed, FSDP or transformers is"
            " a folder of several files"
        ),
        ("the file inside it; torch.distributed.checkpoint.load or from_pretrained for a folder"),
    ),
    "shape-of-inductor-dir": Explained(
        ("torch.compile writes its kernels to {given}, which belongs to another user (a container's root, most often)"),
        ("TORCHINDUCTOR_CACHE_DIR=/a/folder/of/yours"),
    ),
    "inference-untracked": Explained(
        (
            "a tensor made in inference mode counts no writes, and autograd, torch.compile or a checkpoint"
            " asked for their number"
        ),
        ("make it outside of inference mode, or take x.clone() there; torch.no_grad() in place of inference_mode"),
    ),
    "backward-of-object": Explained(
        ("{name} is a method of tensors, and this value is of the class {given}"),
        (
            "a number lost its graph (item(), float(), numpy): keep the tensor; a model or a loss that returns"
            " several values gives a tuple: take the right one"
        ),
    ),
    "loss-object": Explained(
        ("{given} is the loss module itself, not its result: only a tensor has backward()"),
        ("loss = criterion(output, target); loss.backward()"),
    ),
    "distribution-values": Explained(
        (
            "a value of {name} is outside of what the distribution takes: nan, a negative scale, or"
            " probabilities that do not add up to 1"
        ),
        (
            "print the tensor: nan came earlier (a learning rate, a division, log(0)); logits= in place of"
            " probs= avoids rounding"
        ),
    ),
    "fft-dtype": Explained(
        (
            "a Fourier transform takes other dtypes: on the CPU float32, float64 and their complex forms, and"
            " rfft and ihfft real numbers only"
        ),
        ("x.float(), also under autocast; fft in place of rfft for complex numbers, or x.real"),
    ),
    "bernoulli-probability": Explained(
        ("a probability is below 0, above 1, or nan"),
        ("print min() and max() of it; a sigmoid or clamp(0, 1) before"),
    ),
    "zero-point": Explained(
        ("the zero point, the integer that stands for 0, is outside of the range of the integers that were asked for"),
        (
            "an observer and its FakeQuantize need the same dtype and quant_min, quant_max (0 to 255 for"
            " quint8, -128 to 127 for qint8); look for nan in the observed values"
        ),
    ),
    "quantized-prepack": Explained(
        (
            "this build has no kernel for {device} that packs the weights of a quantized layer: an engine does"
            " that, on the CPU"
        ),
        (
            "model.cpu() before convert; torch.backends.quantized.supported_engines lists the engines of this"
            " build, and torch.backends.quantized.engine chooses one"
        ),
    ),
    "quantized-dynamic": Explained(
        ("a dynamically quantized layer computes on the CPU only, and its input is on the GPU"),
        ("model.cpu() and x.cpu(); on a GPU torchao quantizes in another way"),
    ),
    "collective-argument": Explained(
        ("the collective takes {name} as {size}"),
        (
            "a list of tensors for gather and scatter, one tensor for reduce and broadcast; for objects"
            " all_gather_object, broadcast_object_list"
        ),
    ),
    "pybind-arguments": Explained(
        (
            "a function of C++ (pybind11) got arguments of other classes than it takes: the message lists"
            " both, the expected ones first"
        ),
        (
            "compare the two lists, one by one: a None or a number may stand for a tensor. Else the extension"
            " is of another release than the Python code that calls it"
        ),
    ),
    "replica-failed": Explained(
        (
            "DataParallel ran the model in a thread for each GPU, and the thread of replica {given} raised"
            " {name}: its own message stands below the first line"
        ),
        ("look at the last line of the whole output; one GPU (without DataParallel) gives a shorter one"),
    ),
    "optimizer-state-key": Explained(
        (
            "optimizer.load_state_dict got a dict without param_groups: it is no state_dict of an optimizer,"
            " but of a model, or a dict around it"
        ),
        ("print its keys; checkpoint['optimizer'] (or the key that the saving program chose)"),
    ),
    "child-of-elastic": Explained(
        (
            "the worker with local rank {name} was ended by signal {given}. 9: the system, most often because"
            " memory ran out; 7: /dev/shm is full (SIGBUS); 11: a crash in C++; 6: an abort; 15 and 1: from outside"
        ),
        (
            "dmesg shows whether memory ran out; a smaller batch, fewer DataLoader workers; docker run --shm-size=8g"
            " for /dev/shm; ptexplore trace --script FILE names the function of a crash"
        ),
    ),
    "child-of-elastic-failed": Explained(
        ("the worker with local rank {name} ended with exit code {given}: by its own error, which it printed before"),
        (
            "look further up for the first traceback of a worker; @record of"
            " torch.distributed.elastic.multiprocessing.errors puts it into the summary; torchrun --tee 3"
        ),
    ),
    "elastic-signal": Explained(
        (
            "torchrun got signal {given} and ends its workers. 1: the terminal was closed; 15: the job system"
            " or a person; 2: Ctrl-C"
        ),
        ("tmux, screen or a batch job keep a run alive without the terminal (nohup alone does not)"),
    ),
    "launched-script": Explained(
        (
            "the launcher only reports that the program it started ended with an error (or by a signal); the"
            " reason was printed by that program, before this traceback"
        ),
        ("look for the first traceback above; torchrun in place of torch.distributed.launch"),
    ),
    "cuda-tensor-expected": Explained(
        ("a compiled extension has kernels for the GPU only, and one of its tensors is on the CPU"),
        (
            "move the model and all inputs: model.to('cuda'), x.to('cuda'); a tensor that forward makes needs"
            " device=x.device"
        ),
    ),
    "compile-internal": Explained(
        (
            "a check inside torch.compile failed: a defect of it, or an operator whose fake kernel"
            " (register_fake) predicts other sizes or strides than its real one gives"
        ),
        (
            "torch.compile(backend='aot_eager') and 'eager' show which part it is; torch.library.opcheck tests"
            " a custom operator; a newer torch"
        ),
    ),
    "mac-symbol": Explained(
        (
            "the loader of macOS found no {name} in any loaded library: the module was built for another"
            " release of Python (_Py…), of torch (__ZN…) or of macOS"
        ),
        ("install it again for the Python and the torch that run; otool -L FILE lists what it needs"),
    ),
    "symbol-of-another": Explained(
        (
            "the {size} that was loaded is of another release than torch was built with: it has no {name}."
            " LD_LIBRARY_PATH, or another package, brings its own"
        ),
        (
            "unset LD_LIBRARY_PATH; pip install --force-reinstall torch, or pip uninstall the nvidia-… package"
            " of the other release"
        ),
    ),
    "windows-module": Explained(
        (
            "Windows could not load a library. 126: a library is missing, perhaps one that the named one"
            " needs; 127: another release; 193: for another processor (32 and 64 bit); 1114: its start failed"
        ),
        ("install the Visual C++ redistributable, then torch again in a new environment"),
    ),
    "mps-dtype": Explained(
        (
            "Metal computes with other dtypes than {dtype} (it has no float64, and complex numbers only in"
            " newer releases)"
        ),
        ("x.float(), or x.cpu() for this part; a newer torch and macOS for complex numbers"),
    ),
    "edge-dialect": Explained(
        (
            "the verifier of an exported program (ExecuTorch's to_edge, most often) found an operator or a"
            " dtype that its dialect excludes"
        ),
        (
            "decompose the operator (run_decompositions), or use other operators;"
            " EdgeCompileConfig(_check_ir_validity=False) turns the check off"
        ),
    ),
    "uncaught-in-cpp": Explained(
        (
            "an error of C++ ({name}) left a thread without a handler, which ends the process. The line that"
            " begins with what() has its message; without that line nothing more is known"
        ),
        (
            "look at what() and at the first error above; a second error while the program ends (after CUDA"
            " failed, for one) hides the first"
        ),
    ),
    "assert-in-graph": Explained(
        ("an assert of your code, which torch.compile or torch.export kept in the graph, is false for these inputs"),
        (
            "run the function without compiling: the assert then names its line; torch._check(…, message)"
            " gives it a message"
        ),
    ),
    "check-without-message": Explained(
        (
            "a check in C++ without a message of its own failed: {name}. Most often it compares sizes, dtypes"
            " or devices of the arguments"
        ),
        (
            "print these properties of the arguments, and compare them with the names in the check; ptexplore"
            " find finds its line in the source"
        ),
    ),
    "not-the-same": Explained(
        ("the operator compares its arguments, and they differ in this: {name}"),
        ("print it for each of them, just before the call"),
    ),
    "dimensions-expected": Explained(
        (
            "an argument has another number of dimensions than the operator takes: it takes {size}, and the"
            " message counts {given}"
        ),
        ("print the shape; unsqueeze or [None] adds a dimension, flatten and squeeze remove one"),
    ),
    "only-supported": Explained(
        "{name}: its code is for {size} only, and this call, or this machine, asks for something else",
        "convert before the call (dtype, device, layout, number of dimensions), or use another function",
    ),
    "not-supported": Explained(
        "the code that raised this has no way to do it: {name}{size}",
        "another dtype, device, layout or option; another function; a newer release may have it",
    ),
    "value-range": Explained(
        ("a value is outside of what the function takes: {name} must be {size}"),
        ("print the value just before the call, and where it comes from"),
    ),
    "dimensions-at-least": Explained(
        ("the operator works along a dimension, and the tensor has fewer dimensions than it needs: a number has none"),
        (
            "look where a dimension was lost (item, [0], squeeze, a loss that is a mean); x.reshape(1) or"
            " torch.atleast_1d(x)"
        ),
    ),
    "list-index": Explained(
        (
            "a list of Python is shorter than the code expects: an empty result, a missing argument, or a list"
            " that is counted from 1"
        ),
        ("print its length just before the line"),
        (
            (
                "it was raised in torch/utils/cpp_extension.py: no GPU is visible, so no architecture is known",
                "TORCH_CUDA_ARCH_LIST='8.6' (the capability of your GPU) before the build",
            ),
            ("elsewhere", "print the length of the list just before the line"),
        ),
    ),
    "file-not-found": Explained(
        ("no file or folder has the path {given}; a relative path begins at the folder in which the program runs"),
        ("print(os.getcwd(), os.path.abspath(path)); a program that a configuration names may also be missing"),
    ),
    "attention-bias": Explained(
        (
            "the memory-efficient attention kernel takes a mask of four dimensions: batch, heads, "
            "query length, key length. The size of the {name} dimension is not the one of query and "
            "key"
        ),
        (
            "print the shapes; attn_mask.expand(batch, heads, query length, key length). Under vmap "
            "or grad transforms: sdpa_kernel(SDPBackend.MATH)"
        ),
    ),
    "attention-alignment": Explained(
        (
            "the memory-efficient attention kernel reads several elements at once: the address and "
            "the strides of {name} must be multiples of that number"
        ),
        (
            "make the last dimension a multiple of 8 (pad the mask, then cut the padded one: "
            "mask[..., :n]), or x.contiguous(); sdpa_kernel(SDPBackend.MATH) needs no alignment"
        ),
    ),
    "no-inf-checks-before-update": Explained(
        (
            "scaler.update() decides by the checks for infinite values that scaler.step() or "
            "scaler.unscale_() makes, and none was made since the last update"
        ),
        (
            "call scaler.step(optimizer) before each scaler.update(). With Accelerate or "
            "Lightning, leave the scaler to them"
        ),
    ),
    "mps-old-system": Explained(
        (
            "the mps device needs a newer macOS than this machine has. This build of torch says "
            "{name}; releases that say 12.3 also need 13.0"
        ),
        ("update macOS, install an older torch, or use device='cpu'"),
    ),
    "aoti-argument": Explained(
        (
            "a package of AOTInductor keeps the arguments of an operator that it calls, here {name}. "
            "This torch reads argument {given} as {size}, and {owner} was saved: by another release, "
            "or by a defect of the exporter"
        ),
        (
            "export and compile the package again with the torch that loads the package. If the "
            "error stays, report a defect, and give the operator that argument in another form"
        ),
    ),
    "script-arguments-count": Explained(
        (
            "{name} is a function of TorchScript or an operator with {size} arguments, as its "
            "declaration in the message says, and it got {given}"
        ),
        (
            "pass the arguments of the declaration; if a package makes the call, its release does "
            "not fit the package with {name}"
        ),
    ),
    "batch-mode-input": Explained(
        (
            "the operator takes an input of {size} in which only the size of the batch may be 0. "
            "The message ends with the shape that it got"
        ),
        (
            "print the shape before the call: a 0 in it comes from an empty file or signal; "
            "unsqueeze(0) adds a dimension"
        ),
    ),
    "script-object": Explained(
        (
            "torch.jit.script compiles a module, a function or a class. It got another object, "
            "which has no name (__name__) to compile it by"
        ),
        (
            "pass an instance of nn.Module, or a function; a method of an object of yours must "
            "become a function or a module"
        ),
    ),
    "triton-compiler": Explained(
        (
            "Triton builds a small C module for each kind of launch, and the C compiler that it "
            "called for this failed. What the compiler wrote stands above this error"
        ),
        (
            "read the compiler's lines above: no Python.h (install python3-dev, or the Include "
            "folder of an embedded Python), no cuda.h or libcuda; CC=gcc names another compiler"
        ),
    ),
    "kernel-image-invalid": Explained(
        (
            "the driver cannot load the machine code that Triton compiled: it is for another GPU, "
            "or Triton's ptxas is of a CUDA that is newer than the driver"
        ),
        (
            "nvidia-smi shows the CUDA of the driver: update the driver, or install a torch and a "
            "triton for an older CUDA; delete ~/.triton/cache"
        ),
    ),
    "ptxas-failed": Explained(
        (
            "Triton gave its code to ptxas, the assembler of CUDA, which failed. Most often it "
            "does not know the GPU (\"Value 'sm_…' is not defined\"), or it could not be started. "
            "Its own words are in the message"
        ),
        ("a newer triton and torch for a newer GPU; TRITON_PTXAS_PATH names the ptxas of another CUDA toolkit"),
    ),
    "same-padding-stride": Explained(
        ("padding='same' makes the result as large as the input, which a stride of more than 1 excludes"),
        ("padding=kernel_size // 2 with this stride, or stride=1"),
    ),
    "pooled-empty": Explained(
        (
            "a dimension of the input has no elements, and only the batch may be empty: an earlier "
            "layer, a crop or a mask left nothing"
        ),
        "print the shape before this layer, and find the layer that makes the 0",
    ),
    "ddp-devices": Explained(
        (
            "device_ids is for a module that is whole on one GPU. This one is on the CPU, or its "
            "parameters are on several devices"
        ),
        (
            "model.to(rank) before DistributedDataParallel(model, device_ids=[rank]); leave "
            "device_ids out for the CPU and for a module that is split over GPUs"
        ),
    ),
    "flash-dtype": Explained(
        ("the flash attention kernel computes in float16 or bfloat16 only, and query, key or value has another dtype"),
        (
            "load the model in torch.bfloat16, run it in torch.autocast('cuda', "
            "dtype=torch.bfloat16), or take another backend (attn_implementation='sdpa' in "
            "transformers)"
        ),
    ),
    "gpu-without-bfloat16": Explained(
        ("bfloat16 needs a GPU of capability 8.0 (Ampere) or newer, and this one is older"),
        ("dtype=torch.float16 with a GradScaler (fp16=True instead of bf16=True in a Trainer)"),
    ),
    "optimizer-steps-on-gpu": Explained(
        (
            "the step counts of the optimizer are on the GPU, where only capturable=True has them. A "
            "loaded state was moved there as a whole, or torch 1.12.0 did so itself"
        ),
        "torch 1.12.1 or newer; or capturable=True in each param_group after load_state_dict",
    ),
    "vision-operators": Explained(
        (
            "torchvision's library of C++ operators could not be loaded: it was built for another "
            "release of torch, or for another CUDA"
        ),
        (
            "install torch and torchvision in one command from one index; the table in "
            "torchvision's README says which releases belong together"
        ),
    ),
    "traced-type": Explained(
        (
            "torch.jit.trace and the older ONNX exporter take tensors, and lists, tuples and "
            "dictionaries of tensors. An input is of type {name}"
        ),
        ("pass tensors, and give other values to the module before (an attribute, a wrapper with a fixed value)"),
    ),
    "integer-power": Explained(
        ("a power with a negative exponent is a fraction, and both tensors are integers"),
        ("x.float() ** n"),
    ),
    "grad-without-inputs": Explained(
        (
            "torch.autograd.grad or backward(inputs=…) got an empty list of the tensors whose "
            "gradients are asked for: often a list of parameters that a filter left empty"
        ),
        (
            "print the list; check that some parameters require grad, and that model.parameters() "
            "was not used up by an earlier loop"
        ),
    ),
    "vmap-of-plain-value": Explained(
        "in_dims={size} maps over an argument that is no tensor but {name}",
        "in_dims=(0, None) leaves out the argument that gets None; torch.as_tensor makes a tensor of it",
    ),
    "comprehension-conditions": Explained(
        ("TorchScript compiles a list comprehension without conditions only"),
        ("write a loop with an if and append"),
    ),
    "onnx-package": Explained(
        ("the exporter needs the package {name}, which this Python does not have"),
        ("pip install {name}"),
    ),
    "copied-parameter": Explained(
        (
            "the shape of {name} fits, but the copy itself failed. Why, is at the end of the "
            "message: a meta tensor, an in-place write to a view or a leaf, a subclass without "
            "that operator"
        ),
        (
            "read the end of the message; load_state_dict(…, assign=True) puts the tensors of the "
            "file in place of the parameters"
        ),
    ),
    "split-by-list": Explained(
        (
            "offsets of an EmbeddingBag are the positions at which the bags begin in the input. The "
            "first is 0, and none is beyond the end; with include_last_offset=True the last is the "
            "length"
        ),
        "offsets = torch.cat([zeros(1), lengths.cumsum(0)[:-1]]).long()",
    ),
    "bag-index": Explained(
        ("an index into the table of an EmbeddingBag is negative or too large: {given}{index}"),
        ("print min() and max() of the input; num_embeddings must be at least the largest index + 1"),
    ),
    "alpha-of-integers": Explained(
        ("the tensors are integers, and {name} is a float: the result would not be an integer"),
        ("x.float() before it, or an integer for {name}"),
    ),
    "selected-from-number": Explained(
        ("the tensor is a single number without dimensions, so it has nothing to index or to select from"),
        ("look where the dimension was lost (a mean, item, squeeze, [0]); x.reshape(1), or use the number itself"),
    ),
    "loader-without-batches": Explained(
        (
            "batch_size=None means that the data set gives whole batches. Options for single samples "
            "(shuffle, sampler, drop_last) then have no meaning"
        ),
        "give a batch_size, or leave these options out",
    ),
    "learning-rate-tensor": Explained(
        (
            "the learning rate (or a beta) is a tensor. The foreach code of the optimizer takes "
            "one only with capturable=True, and it must have one element"
        ),
        ("pass a number (float(lr)); or capturable=True for CUDA graphs, or foreach=False"),
    ),
    "step-in-graph": Explained(
        ("a CUDA graph records {name}.step(), whose step counts are on the CPU, where a graph cannot change them"),
        ("capturable=True for the optimizer"),
    ),
    "sequence-of-plateau": Explained(
        ("ReduceLROnPlateau.step needs the metric, and a scheduler that calls others does not pass it on"),
        ("call scheduler.step(metric) of ReduceLROnPlateau on its own"),
    ),
    "lbfgs-groups": Explained(
        "LBFGS optimizes all parameters together, as one group",
        "pass one list of parameters",
    ),
    "int-max": Explained(
        ("a CUDA kernel counts the elements in 32 bits, and the tensor has more than 2,147,483,647 of them"),
        ("split the tensor and join the results; a newer torch has 64-bit code for some operators"),
    ),
    "daemon-children": Explained(
        (
            "a worker process (of a DataLoader, of multiprocessing.Pool) is a daemon, and Python "
            "lets a daemon start no processes of its own"
        ),
        (
            "num_workers=0 inside the worker; or processes that are not daemons "
            "(mp.Process(daemon=False), concurrent.futures)"
        ),
    ),
    "numpy-api-version": Explained(
        ("an extension module was built for another release of numpy than the one that is imported"),
        ("pip install --upgrade numpy (or numpy<2), then install the package of the module again"),
    ),
    "hip-memory": Explained(
        (
            "the accelerator has no room for one more block of this size. Tensors of this process, "
            "memory that torch keeps for reuse, and other processes fill the rest"
        ),
        (
            "a smaller batch or sequence, torch.no_grad() for evaluation, checkpointing; rocm-smi, "
            "xpu-smi or npu-smi shows other processes"
        ),
    ),
    "old-size-for-view": Explained(
        ("a view or reshape must keep the number of elements, and the product of the sizes is not {given}"),
        ("print x.shape; -1 for one size lets torch compute it"),
    ),
    "old-no-gpu": Explained(
        (
            "CUDA sees no GPU: none is there, CUDA_VISIBLE_DEVICES hides it, a container has no "
            "access, or the driver does not run"
        ),
        (
            "nvidia-smi in the same shell (or container: docker run --gpus all); "
            "print(os.environ.get('CUDA_VISIBLE_DEVICES'))"
        ),
    ),
    "mask-of-transformers": Explained(
        (
            "a model of transformers got an attention mask of shape ({given}) for a sequence that "
            "needs ({size}). Its length must count past keys, too"
        ),
        (
            "pass the mask that the tokenizer made for these inputs; with past_key_values, the "
            "mask covers the cached tokens and the new ones"
        ),
    ),
    "needs-a-cuda-device": Explained(
        ("a function of torch.{name} got the device {given}"),
        ("pass torch.device('{name}') or an index; call it only if the tensors are on that device"),
    ),
    "archive-of-script": Explained(
        (
            "torch::jit::load could not read the file as a TorchScript archive. The path may be "
            "wrong, the file cut, or of another kind (a state_dict of torch.save), or of a release "
            "that this one does not read"
        ),
        (
            "look at the path and the size of the file; save with torch.jit.save, and load with a "
            "libtorch of the same release"
        ),
    ),
    "no-tensor-arguments": Explained(
        (
            "the dispatcher chooses a kernel by the tensors in the arguments, and this call has "
            "none. Most often a list of tensors is empty"
        ),
        (
            "print the list before the call, and handle the empty one; an operator of yours "
            "without tensors needs a kernel for BackendSelect or CompositeExplicitAutograd"
        ),
    ),
    "symbolic-sizes-in-cpp": Explained(
        (
            "C++ code asked a tensor for {name}() as a plain number. While torch.compile or "
            "torch.export works with dynamic shapes, these are symbols"
        ),
        (
            "dynamic=False, or static sizes for this call; an operator of yours needs sym_sizes() "
            "or sym_numel(), and a fake implementation (torch.library.register_fake)"
        ),
    ),
    "triton-cpu-tensor": Explained(
        (
            "a Triton kernel got a tensor that is in the memory of the CPU. The number in brackets "
            "counts the kernel's arguments, from 0"
        ),
        (
            "look for the tensor that was left on the CPU: an index, a mask (create_block_mask(…, "
            "device='cuda')), a buffer; x.to('cuda')"
        ),
    ),
    "hip-access": Explained(
        "a kernel on an AMD GPU read or wrote at an address that it does not own, and the driver ended the process."
        " The line that was running may be a later one",
        "AMD_SERIALIZE_KERNEL=3 makes each call wait, so the last line is the right one. A run on the CPU checks"
        " indices; HSA_OVERRIDE_GFX_VERSION may name another GPU",
    ),
    "complex-number-given": Explained(
        (
            "the number is complex (its real and its imaginary part are in the message), and the "
            "tensor is of {name}. In Python, a negative number to a fractional power is complex"
        ),
        (
            "look where the number is computed: a learning rate like (1 - step / steps) ** 0.9 "
            "becomes complex when the steps are over; max(0, …)"
        ),
    ),
    "cudnn-attention": Explained(
        ("cuDNN's attention could not plan or run its kernel for these sizes, strides, dtypes or this GPU"),
        (
            "torch.backends.cuda.enable_cudnn_sdp(False) takes the other kernels of "
            "scaled_dot_product_attention; a newer torch brings a newer cuDNN"
        ),
    ),
    "number-of-object": Explained(
        ("{owner}() makes a number of a value, and it got one of the class {name}"),
        (
            "find where the value comes from: ReduceLROnPlateau.step() needs the metric, a "
            "function may lack a return; a tensor of one element has .item()"
        ),
    ),
    "math-domain": Explained(
        (
            "a function of the module math got a number that it is not defined for: the logarithm of "
            "0, the root or a fractional power of a negative number"
        ),
        ("print the number before the call; a schedule of a learning rate often runs beyond its last step"),
    ),
    "divided-by-zero": Explained(
        (
            "a number of Python was divided by 0. Tensors do not raise this; a length or a count "
            "is most often 0: an empty data set, no batch, no match"
        ),
        ("print the divisor; look at len(dataset) and len(loader) (drop_last=True leaves out the only batch)"),
    ),
    "name-undefined": Explained(
        ("no variable, function or import of the name {name} exists where the line runs"),
        ("import or define it before (in a notebook: run that cell); look for a typing error"),
    ),
    "name-unassigned": Explained(
        (
            "{name}{given} gets its value in a part of the function that did not run: a branch, a "
            "loop without a round, or behind the line"
        ),
        ("give it a value before the branch or the loop; an empty loader leaves the variables of its loop without one"),
    ),
    "key-missing": Explained(
        ("the dictionary has no key {name}"),
        ("print(x.keys()); a checkpoint or a configuration often has its parts one level further in"),
    ),
    "recursion": Explained(
        (
            "functions called each other without end, or more deeply than Python allows. For a "
            "module, __getattr__ that asks for an attribute of itself does so, or a module that "
            "contains itself"
        ),
        ("read the functions that the traceback repeats; sys.setrecursionlimit only if the depth is right"),
    ),
    "unhashable": Explained(
        ("a key of a dictionary or an element of a set must not change, and {name} can"),
        ("use a tuple, a string or a number of it: tuple(x), x.item()"),
    ),
    "index-of-list": Explained(
        (
            "a list is indexed by a number or a slice, and the brackets have a {name}. It is a "
            "list where the code expects a dictionary, an array or a tensor"
        ),
        (
            "x[0]['key'] if the list has dictionaries; torch.stack(x) or torch.as_tensor(x) makes "
            "a tensor that takes tensors as indices"
        ),
    ),
    "text-as-number": Explained(
        ("the text {name} is no number: a header of a file, an empty field, another decimal sign"),
        ("print the line of the data; skip the header or convert the column"),
    ),
    "numpy-broadcast": Explained(
        (
            "numpy compares shapes from the right: two sizes in the same place must be equal, or "
            "one of them 1. They are {name}"
        ),
        ("print both shapes; x[:, None] inserts a size of 1"),
    ),
    "no-permission": Explained(
        ("the system does not let this user read or write {name}"),
        (
            "choose another folder, or change its owner; a cache belongs to who made it first "
            "(TORCH_HOME, HF_HOME, TORCHINDUCTOR_CACHE_DIR name others)"
        ),
    ),
    "host-memory": Explained(
        ("the memory of the host, not of the GPU, does not hold one more block of this size"),
        (
            "free -h; load less at once (mmap, a smaller dtype), fewer workers of a DataLoader, "
            "which each have the data set"
        ),
    ),
    "text-decoded": Explained(
        (
            "bytes were read as text of {name}, which they are not: a binary file (a checkpoint, "
            "an image), or a text in another encoding"
        ),
        (
            "open(path, 'rb') for a binary file; encoding='latin1' for an old text; "
            "torch.load(path, encoding='latin1') for a pickle of Python 2"
        ),
    ),
    "name-not-importable": Explained(
        (
            "the installed {owner} has no {name}. It may be another release than the code was written for. Its part in "
            "C++ may not be built or loaded; then an earlier error says why. Or a file of yours hides it"
        ),
        (
            "pip show the package, and install the release that the code asks for; "
            "print(module.__file__) shows which file it is"
        ),
    ),
    "compared-classes": Explained(
        ("{name} compares values of one kind, and these are of the classes {size} and {given}"),
        ("convert one of them (int(x), float(x)); None here is most often a value that was never set"),
    ),
    "connection-refused": Explained(
        (
            "nothing listens at the address and port: the other process has not started or has "
            "ended, or the address is wrong"
        ),
        (
            "look at the process of rank 0 first; check MASTER_ADDR and MASTER_PORT, and that a "
            "firewall lets the port through"
        ),
    ),
    "image-not-read": Explained(
        (
            "Pillow could not read the file as an image: it is cut, of another kind (a page of "
            "HTML, a hidden file such as ._a.jpg), or empty"
        ),
        (
            "look at the file that the message or the worker's line names; "
            "Image.open(path).verify() over the data set finds all of them"
        ),
    ),
    "image-empty": Explained(
        (
            "OpenCV refused an argument. '!_src.empty()' means that the image is None: cv2.imread "
            "found no file at the path, or could not read it, and does not raise"
        ),
        (
            "print(path, image is None) after cv2.imread; for other conditions compare the shape "
            "and the dtype with the one in the message"
        ),
    ),
    "symbol-missing": Explained(
        (
            "a library asks for the function {name}, which no loaded library has: the two are of "
            "different releases. For torch's own libraries, two installations are mixed"
        ),
        (
            "install the package of that library again for this torch; for torch itself pip "
            "uninstall torch until none is left, then install it"
        ),
    ),
    "lightning-scheduler": Explained(
        ("this release of Lightning looks for the class _LRScheduler of torch, which is LRScheduler since torch 2.0"),
        ("a newer Lightning for torch 2, or override lr_scheduler_step in the LightningModule"),
    ),
    "old-type-missing": Explained(
        ("{name} has no code for tensors of {given}: sparse ones, half precision on the CPU, or integers"),
        ("x.to_dense() for a sparse tensor, x.float() for another dtype; a newer torch has more of them"),
    ),
    "cell-input-size": Explained(
        ("the cell was made for an input with {size} features in its last dimension, and got {given}"),
        ("input_size={given}, or bring the features to the last dimension"),
    ),
    "cell-batch": Explained(
        (
            "the input has a batch of {size} and the hidden state one of {given}. Often the last "
            "batch of an epoch is smaller"
        ),
        (
            "make the hidden state from the batch (x.new_zeros(x.size(0), hidden_size)), or "
            "drop_last=True in the DataLoader"
        ),
    ),
    "contracted-sizes": Explained(
        (
            "tensordot multiplies and sums pairs of dimensions, which must have one size: "
            "dimension {name} of the first has {size} elements, its partner {given}"
        ),
        (
            "dims=([…], […]) names the dimensions of each; dims=n takes the last n of the first "
            "and the first n of the second"
        ),
    ),
    "einsum-equation": Explained(
        (
            "the equation of einsum does not fit: each operand has its letters, between commas, "
            "and each letter behind -> is in some operand, once"
        ),
        ("count the operands and the letters; only a to z, A to Z and ... are allowed"),
    ),
    "norm-without-statistics": Explained(
        (
            "a batch norm in evaluation mode takes its running statistics, and this one has none "
            "(track_running_stats=False, or None in the functional form)"
        ),
        ("training=True uses the statistics of the batch; else a module with track_running_stats=True"),
    ),
    "pooled-volume": Explained(
        ("the window of the pooling (kT: {given}) is larger than its input (T: {size})"),
        ("use a smaller kernel_size, padding, or nn.AdaptiveAvgPool3d"),
    ),
    "kth-out-of-range": Explained(
        ("kthvalue counts from 1 up to the size of the dimension ({name}), and k is outside of that"),
        ("min(k, x.size(dim)); an empty tensor has no k-th value"),
    ),
    "quantile-of-nothing": Explained(
        ("the tensor has no elements, so it has no quantile: a mask or a filter before selected nothing"),
        ("test x.numel() first"),
    ),
    "reduce-name": Explained(
        ("reduce names how several values in one place become one: {size}, and it is {given}"),
        ("reduce='mean' for an average, 'amax' and 'amin' for extrema"),
    ),
    "fft-of-nothing": Explained(
        ("a Fourier transform needs at least one point in its dimension, and there are {given}"),
        ("print the shape: an empty signal, or another dimension than dim=-1; n=… sets the length"),
    ),
    "rnn-weight-dtype": Explained(
        (
            "the input of the RNN has another dtype than its weights or its hidden state. numpy "
            "makes float64, and modules are float32"
        ),
        ("x.float(), or rnn.to(x.dtype), and the hidden state in the same dtype"),
    ),
    "rnn-without-steps": Explained(
        ("the sequence has no steps. The length is the first dimension, with batch_first=True the second"),
        ("leave empty sequences out of the batch; check batch_first"),
    ),
    "inner-sizes": Explained(
        ("torch.inner sums over the last dimension of both, which differ in {name} and {given}"),
        ("x @ y for a matrix product, or transpose one of them"),
    ),
    "weight-by-groups": Explained(
        (
            "a convolution with {name} groups splits its output channels among them, so the first "
            "size of the weight must be a multiple of {name}"
        ),
        ("choose groups that divides in_channels and out_channels"),
    ),
    "group-norm-channels": Explained(
        (
            "the norm was made for another number of channels: its {name} has shape {given}, and "
            "the input {size} has the channels in dimension 1"
        ),
        ("num_channels as the second size of the input; permute if the channels come last"),
    ),
    "padding-mask-shape": Explained(
        ("key_padding_mask has the shape (batch, length of the keys), also if the other tensors have the length first"),
        ("mask.t(), or batch_first=True for the module"),
    ),
    "dims-in-order": Explained(
        (
            "flatten joins the dimensions from start_dim to end_dim, and start_dim is the later "
            "one. The tensor may have fewer dimensions than the code expects"
        ),
        ("print x.dim(); flatten(0, 1), or start_dim=1 for all behind the batch"),
    ),
    "indices-for-source": Explained(
        ("each index takes one slice of the source, and there are {given} indices for {size} slices"),
        ("print index.shape and source.shape; dim names the dimension of the source"),
    ),
    "cross-of-three": Explained(
        ("a cross product is of vectors with three elements. Dimension {name} has {given} and {size}"),
        ("dim=… names the dimension of the vectors"),
    ),
    "grid-last-size": Explained(
        (
            "the last dimension of the grid has the coordinates of a point (x, y): {size} for this "
            "input, and the grid is {given}"
        ),
        ("torch.stack((x, y), dim=-1), with values from -1 to 1"),
    ),
    "affine-theta": Explained(
        ("affine_grid takes one matrix for each image: theta of shape {size}, for sizes of {name} images"),
        ("theta.unsqueeze(0).expand(n, -1, -1) for one matrix and a batch"),
    ),
    "unpool-indices": Explained(
        (
            "unpooling puts each element where its index says, so both have one shape: the input "
            "is {name}, the indices {given}"
        ),
        (
            "take the indices of the pooling of the same size (return_indices=True), with no layer "
            "between that changes the size"
        ),
    ),
    "fold-blocks": Explained(
        ("with these sizes fold puts {size} blocks together, and the input has {given} in its dimension 2"),
        ("the output_size, kernel_size, stride, padding and dilation of the unfold that made the blocks"),
    ),
    "prelu-weight": Explained(
        (
            "PReLU has one weight for all channels, or one per channel. The input has {size} channels in"
            " dimension 1, and there are {given} weights"
        ),
        ("num_parameters={size}, or num_parameters=1"),
    ),
    "istft-of-real": Explained(
        (
            "istft takes the complex result of stft. Older code has the real and the imaginary "
            "part in a last dimension of 2"
        ),
        ("torch.view_as_complex(x.contiguous()) for the older form; stft(…, return_complex=True)"),
    ),
    "optimizer-of-tensor": Explained(
        ("an optimizer takes a list of tensors, and got a single {name}"),
        ("[x], or model.parameters()"),
    ),
    "scheduler-of-what": Explained(
        (
            "the first argument of a scheduler is a torch.optim.Optimizer, and this is of the "
            "class {name}: a wrapper of another library, or a list"
        ),
        ("pass the optimizer itself (wrapper.optimizer)"),
    ),
    "buffer-name": Explained(
        ("a dot separates modules in the names of a state_dict, so a buffer or parameter has none in its own name"),
        ("name.replace('.', '_')"),
    ),
    "log-prob-of-number": Explained(
        ("log_prob takes a tensor, and got another value"),
        ("torch.as_tensor(value)"),
    ),
    "event-size": Explained(
        (
            "the value does not have the shape of one sample: batch_shape + event_shape of the "
            "distribution, read from the right"
        ),
        ("print(d.batch_shape, d.event_shape, value.shape); unsqueeze(-1), or Independent(d, 1)"),
    ),
    "storage-of-dtype": Explained(
        ("set_ gives a tensor the memory of another one, which must have the same dtype: {name} and {given}"),
        ("x.data = y, or a new tensor (y.to(x.dtype))"),
    ),
    "unique-of-nothing": Explained(
        ("unique along a dimension compares slices, and these have no elements"),
        ("leave the empty tensor out: test x.numel() first"),
    ),
    "searched-shape": Explained(
        (
            "searchsorted looks into one sorted row for all values, or into one row for each row "
            "of values. The other dimensions then are equal"
        ),
        ("boundaries[0] for one row; expand the boundaries to the rows of the values"),
    ),
    "matrix-only": Explained(
        ("{name}{given}{size} is for matrices, and the tensor has another number of dimensions"),
        ("print the shape; torch.diagonal and torch.diag_embed take batches; x[None] adds a dimension"),
    ),
    "shifts-for-dims": Explained(
        ("roll takes one shift for each dimension: {given} shifts and {size} dimensions"),
        ("roll((1, 2), (0, 1)); without dims the tensor is rolled as one row"),
    ),
    "backend-unknown": Explained(
        ("torch.compile knows no backend of the name {name}"),
        ("torch._dynamo.list_backends(None) lists them; a backend of a package needs its package installed"),
    ),
    "script-file": Explained(
        (
            "torch.jit.load found no file at the path {name}; a relative path begins at the folder "
            "in which the program runs"
        ),
        ("print(os.path.abspath(path))"),
    ),
    "matrix-rows": Explained(
        ("least squares takes one row of the second matrix for each row of the first, and their numbers differ"),
        ("print both shapes; other.unsqueeze(-1) makes a vector to a column"),
    ),
    "forward-gradient-size": Explained(
        ("a tangent has the shape of its primal, and this one has another"),
        ("tangents = tuple(torch.ones_like(x) for x in primals)"),
    ),
}


def explained(cause: Cause) -> Explained:
    """Returns a cause in words. A saved trace without a code for the cause keeps the words that it has."""
    known = ENGLISH.get(cause.code)
    if known is None:
        return Explained(cause.why, cause.remedy, tuple((case.sign, case.remedy) for case in cause.cases))
    given = _spoken(cause.arguments)
    is_nameless = given.get("function") == ""  # a getter: it hides its own error
    return Explained(
        known.why.format_map(given),
        "" if is_nameless else known.remedy.format_map(given),
        tuple((sign.format_map(given), remedy.format_map(given)) for sign, remedy in known.cases),
    )


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
    means = explained(cause)
    return replace(cause, why=means.why, remedy=means.remedy, cases=tuple(CauseCase(*case) for case in means.cases))
