"""Messages about modules, losses, optimizers, data sets, checkpoints, distributed modules and calls in Python.

The class of a row is `facts/message.py::Message`.
"""

from __future__ import annotations

import re

from ptexplore.facts.message import Message
from ptexplore.facts.source import FactSource

OF_MODULES = (
    Message(
        "transforms-and-hooks",
        re.compile(r"(?:torch\.func\S*( \S+){0,5}|transforms) don't yet support saved tensor hooks"),
        (FactSource("torch/_functorch/vmap.py", "don't yet support saved tensor hooks. "),),
    ),
    Message(
        "causal-without-mask",
        re.compile(r"Need attn_mask if specifying the is_causal hint"),
        (FactSource("torch/nn/functional.py", "Need attn_mask if specifying the is_causal hint. "),),
    ),
    Message(
        "causal-and-mask",
        re.compile(r"Explicit attn_mask should not be set when is_causal=True"),
        (
            FactSource(
                "aten/src/ATen/native/transformers/attention.cpp",
                "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True",
            ),
        ),
    ),
    Message(
        "attention-mask-dtype",
        re.compile(r"Expected attn_mask dtype to be bool or"),
        (
            FactSource(
                "aten/src/ATen/native/transformers/attention.cpp",
                "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: ",
            ),
        ),
    ),
    Message(
        "probabilities-expected",
        re.compile(r"Expected floating point type for target with class probabilities, got (?P<given>\w+)"),
        (
            FactSource(
                "aten/src/ATen/native/LossNLL.cpp",
                "Expected floating point type for target with class probabilities, got ",
            ),
        ),
    ),
    Message(
        "target-pixels",
        re.compile(
            r"input and target batch or spatial sizes don't match: target \[(?P<given>[\d, ]+)\],"
            r" input \[(?P<size>[\d, ]+)\]|size mismatch \(got input: \[(?P<name>[\d, ]+)\] ?, ta"
            r"rget: \[(?P<owner>[\d, ]+)\]"
        ),
        (
            FactSource(
                "aten/src/ATen/native/cuda/NLLLoss2d.cu", "input and target batch or spatial sizes don't match: target "
            ),
        ),
    ),
    Message(
        "ctc-batch",
        re.compile(r"(?:target|input)_lengths must be of size batch_size"),
        (FactSource("aten/src/ATen/native/LossCTC.cpp", "target_lengths must be of size batch_size"),),
    ),
    Message(
        "ctc-blank",
        re.compile(r"blank must be in label range"),
        (FactSource("aten/src/ATen/native/LossCTC.cpp", "blank must be in label range"),),
    ),
    Message(
        "interpolated-dimensions",
        re.compile(
            r"Input Error: Only 3D, 4D and 5D input Tensors supported \(got (?P<given>\d)D\)|Got "
            r"(?P<size>\d)D input, but (?P<name>\w+) mode needs (?P<owner>\d)D input"
        ),
        (FactSource("torch/nn/functional.py", "Input Error: Only 3D, 4D and 5D input Tensors supported"),),
    ),
    Message(
        "interpolated-size",
        re.compile(
            r"Input and output must have the same number of spatial dimensions|Input and scale_fa"
            r"ctor must have the same number of spatial dimensions"
        ),
        (
            FactSource(
                "torch/nn/functional.py", "Input and output must have the same number of spatial dimensions, but got "
            ),
        ),
    ),
    Message(
        "interpolated-twice",
        re.compile(
            r"only one of size or scale_factor should be defined|either size or scale_factor shou"
            r"ld be defined"
        ),
        (FactSource("torch/nn/functional.py", "only one of size or scale_factor should be defined"),),
    ),
    Message(
        "channels-by-groups",
        re.compile(
            r"(?:in|out)_channels must be divisible by groups|num_channels (?:\(\d+\) )?must be d"
            r"ivisible by num_groups"
        ),
        (FactSource("torch/nn/modules/conv.py", "in_channels must be divisible by groups"),),
    ),
    Message(
        "embedding-weight",
        re.compile(r"'weight' must be 2-D"),
        (FactSource("aten/src/ATen/native/Embedding.cpp", "'weight' must be 2-D"),),
    ),
    Message(
        "fsdp-state",
        re.compile(r"expected to be in states? .{1,200} but current state"),
        (FactSource("torch/distributed/fsdp/_common_utils.py", "expected to be in states "),),
    ),
    Message(
        "fsdp-group-dtypes",
        re.compile(r"FSDP expects uniform original parameter dtype but got (?P<given>\{[^}\n]{1,100}\})"),
        (
            FactSource(
                "torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py",
                "FSDP expects uniform original parameter dtype but got ",
            ),
        ),
    ),
    Message(
        "rendezvous-scheme",
        re.compile(r"No rendezvous handler for (?P<given>\w*)://"),
        (FactSource("torch/distributed/rendezvous.py", "No rendezvous handler for "),),
    ),
    Message(
        "no-visible-gpu",
        re.compile(r"No CUDA GPUs are available"),
        (FactSource("c10/cuda/CUDAFunctions.cpp", "No CUDA GPUs are available"),),
    ),
    Message(
        "lazy-parameters",
        re.compile(
            r"Modules with uninitialized parameters can't be used with|(?:Attempted|attempted) to"
            r" use an uninitialized parameter|Can't access the shape of an uninitialized paramete"
            r"r"
        ),
        (FactSource("torch/nn/parallel/distributed.py", "Modules with uninitialized parameters can't be used with "),),
    ),
    Message(
        "agent-stopped",
        re.compile(r"SignalException: Process \d+ got signal: (?P<given>\d+)"),
        (FactSource("torch/distributed/elastic/multiprocessing/api.py", " got signal: "),),
    ),
    Message(
        "nccl-tensors",
        re.compile(r"Tensors must be CUDA and dense"),
        (FactSource("torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp", "Tensors must be CUDA and dense"),),
    ),
    Message(
        "checkpoint-lacks",
        re.compile(r"Missing key in checkpoint state_dict: (?P<name>\S{1,200}?)\.?(?:\s|$)"),
        (FactSource("torch/distributed/checkpoint/default_planner.py", "Missing key in checkpoint state_dict: "),),
    ),
    Message(
        "mesh-too-large",
        re.compile(
            r"Mesh should not be bigger than default world size (?P<given>\d+), but found "
            r"(?P<size>\d+) ranks"
        ),
        (FactSource("torch/distributed/device_mesh.py", "Mesh should not be bigger than default world size "),),
    ),
    Message(
        "no-sharding-rule",
        re.compile(r"Operator (?P<name>[\w.]+) does not have a sharding strategy registered"),
        (FactSource("torch/distributed/tensor/_sharding_prop.py", " does not have a sharding strategy registered."),),
    ),
    Message(
        "optimizer-class",
        re.compile(r"optimizer can only optimize Tensors, but one of the params is (?P<given>[\w.]+)"),
        (FactSource("torch/optim/optimizer.py", "optimizer can only optimize Tensors, "),),
    ),
    Message(
        "scheduler-over",
        re.compile(
            r"Tried to step (?P<given>\d+) times\. The (?:specified|total) number of (?:total )?s"
            r"teps is (?P<size>\d+)"
        ),
        (FactSource("torch/optim/lr_scheduler.py", " times. The specified number of total steps is "),),
    ),
    Message(
        "scheduler-steps",
        re.compile(
            r"Expected (?:positive integer|non-negative integer|integer) (?P<name>T_0|total_steps"
            r"|epochs|steps_per_epoch|T_max), but got (?P<given>\S+)"
        ),
        (FactSource("torch/optim/lr_scheduler.py", "Expected positive integer total_steps, but got "),),
    ),
    Message(
        "sparse-gradients",
        re.compile(r"(?P<name>\w+) does not support sparse gradients"),
        (FactSource("torch/optim/adam.py", "Adam does not support sparse gradients"),),
    ),
    Message(
        "dense-gradients",
        re.compile(r"SparseAdam does not support dense gradients"),
        (
            FactSource(
                "torch/optim/sparse_adam.py",
                "SparseAdam does not support dense gradients, please consider Adam instead",
            ),
        ),
    ),
    Message(
        "optimizer-value",
        re.compile(
            r"Invalid (?P<name>learning rate|momentum value|weight_decay value|epsilon value|alph"
            r"a value|lr_decay value|beta parameter at index \d|rho value|dampening value): "
            r"(?P<given>\S{1,100})"
        ),
        (
            FactSource("torch/optim/adamw.py", "Invalid beta parameter at index 0: ", until="2.6"),
            FactSource("torch/optim/adam.py", "Invalid beta parameter at index 0: "),
        ),
    ),
    Message(
        "nesterov",
        re.compile(r"Nesterov momentum requires a momentum and zero dampening"),
        (FactSource("torch/optim/sgd.py", "Nesterov momentum requires a momentum and zero dampening"),),
    ),
    Message(
        "fused-parameters",
        re.compile(r"`fused=True` requires all the params to be floating point Tensors of"),
        (
            FactSource(
                "torch/optim/optimizer.py", "`fused=True` requires all the params to be floating point Tensors of "
            ),
        ),
    ),
    Message(
        "autocast-device",
        re.compile(r"User specified an unsupported autocast device_type '(?P<given>[^'\n]{1,60})'"),
        (FactSource("torch/amp/autocast_mode.py", "User specified an unsupported autocast device_type '"),),
    ),
    Message(
        "storage-tag",
        re.compile(
            r"don't know how to (?:restore data location of|determine data location of) (?P<name>"
            r"[\w.]+)(?: \(tagged with (?P<given>[\w:]+)\))?"
        ),
        (FactSource("torch/serialization.py", "don't know how to restore data location of "),),
    ),
    Message(
        "folder-missing",
        re.compile(r"Parent directory (?:of )?(?P<given>\S{0,200}) does not exist"),
        (FactSource("torch/csrc/jit/serialization/export_module.cpp", "Parent directory of "),),
    ),
    Message(
        "pickle-protocol",
        re.compile(r"Unsupported operand (?P<given>\d+)"),
        (FactSource("torch/_weights_only_unpickler.py", "Unsupported operand "),),
    ),
    Message(
        "checkpoint-key",
        re.compile(
            r"\AKeyError: '?(?P<name>(?:model_|optimizer_|optim_)?state_dict|model_state|optimize"
            r"r_state|state_dict_ema)'?\Z"
        ),
        (),
    ),
    Message(
        "state-dict-as-module",
        re.compile(
            r"'(?:collections\.)?OrderedDict' object (?:has no attribute '(?P<name>eval|train|to|"
            r"cuda|cpu|half|float|forward|parameters|named_parameters|state_dict|load_state_dict|"
            r"modules|children|requires_grad_|fc|layers|encoder)'|is not callable)"
        ),
        (),
    ),
    Message(
        "iterable-options",
        re.compile(r"DataLoader with IterableDataset: expected unspecified (?P<name>\w+) option"),
        (
            FactSource(
                "torch/utils/data/dataloader.py",
                "DataLoader with IterableDataset: expected unspecified shuffle option, but got shuffle=",
            ),
        ),
    ),
    Message(
        "split-lengths",
        re.compile(r"Sum of input lengths does not equal the length of the input dataset"),
        (
            FactSource(
                "torch/utils/data/dataset.py", "Sum of input lengths does not equal the length of the input dataset!"
            ),
        ),
    ),
    Message(
        "tensors-of-dataset",
        re.compile(r"Size mismatch between tensors"),
        (FactSource("torch/utils/data/dataset.py", "Size mismatch between tensors"),),
    ),
    Message(
        "dataset-without-item",
        re.compile(r"Subclasses of Dataset should implement __getitem__"),
        (FactSource("torch/utils/data/dataset.py", "Subclasses of Dataset should implement __getitem__."),),
    ),
    Message("no-length", re.compile(r"object of type '(?P<given>\w+)' has no len\(\)"), ()),
    Message(
        "argument-missing",
        re.compile(
            r"(?P<name>[\w.<>]{1,100})\(\) missing \d+ required (?:positional|keyword-only) argum"
            r"ents?: (?P<given>[^\n]{1,200})"
        ),
        (),
    ),
    Message(
        "arguments-too-many",
        re.compile(
            r"(?P<name>[\w.<>]{1,100})\(\) takes (?:from )?(?P<size>\d+(?: to \d+)?) positional a"
            r"rguments? but (?P<given>\d+) (?:was|were) given"
        ),
        (),
    ),
    Message(
        "argument-unexpected",
        re.compile(
            r"(?P<name>[\w.<>]{1,100})\(\) got (?:an unexpected keyword argument|multiple values "
            r"for argument) '(?P<given>\w{1,100})'"
        ),
        (),
    ),
    Message(
        "value-called",
        re.compile(
            r"'(?P<given>(?!torch\.Size|(?:collections\.)?OrderedDict)\w+(?:\.\w+)?)' object is n"
            r"ot callable"
        ),
        (),
    ),
    Message("value-indexed", re.compile(r"'(?P<given>\w+)' object is not subscriptable"), ()),
    Message("value-iterated", re.compile(r"'(?P<given>\w+)' object is not (?:iterable|an iterator)"), ()),
    Message(
        "unpacked-number",
        re.compile(
            r"too many values to unpack \(expected (?P<size>\d+)|not enough values to unpack \(ex"
            r"pected (?:at least )?(?P<name>\d+), got (?P<given>\d+)"
        ),
        (),
    ),
    Message("module-gone", re.compile(r"No module named 'torch\.(?P<name>(?!_C')[\w.]+)'"), ()),
    Message(
        "hub-hash",
        re.compile(r"invalid hash value \(expected \"(?P<size>\w+)\", got \"(?P<given>\w+)\"\)"),
        (FactSource("torch/hub.py", "invalid hash value (expected "),),
    ),
    Message(
        "hub-callable",
        re.compile(r"Cannot find callable (?P<name>\w+) in hubconf"),
        (FactSource("torch/hub.py", "Cannot find callable "),),
    ),
    Message(
        "hub-branch",
        re.compile(
            r"Cannot find (?P<name>\S{1,100}) in https://github\.com/\S{1,200} ?If it's a commit "
            r"from a forked repo"
        ),
        (
            FactSource(
                "torch/hub.py", "If it's a commit from a forked repo, please call hub.load() with forked repo directly."
            ),
        ),
    ),
    Message("github-limit", re.compile(r"HTTP Error 403: rate limit exceeded"), ()),
    Message("certificate", re.compile(r"CERTIFICATE_VERIFY_FAILED"), ()),
    Message(
        "image-class",
        re.compile(
            r"(?:pic|img) should be (?:PIL Image or ndarray|PIL Image|Tensor Image)\. Got "
            r"(?:<class ')?(?P<given>[\w.]+)|pic should be 2/3 dimensional\. Got (?P<size>\d) dim"
            r"ensions|(?:Input|img) (?:tensor )?should be a (?P<name>float tensor|tensor)\. Got"
        ),
        (),
    ),
    Message("image-array", re.compile(r"\(\((?:\d+, )+\d+\), '[<>|][a-z]\d+'\)|Cannot handle this data type"), ()),
    Message(
        "index-of-module",
        re.compile(r"index (?P<given>-?\d+) is out of range(?!\w)"),
        (FactSource("torch/nn/modules/container.py", " is out of range"),),
    ),
    Message(
        "attention-dimensions",
        re.compile(
            r"For (?:batched \(3-D\)|unbatched \(2-D\)) `query`, expected `(?P<name>\w+)`|query s"
            r"hould be unbatched 2D or batched 3D tensor"
        ),
        (FactSource("torch/nn/functional.py", "query should be unbatched 2D or batched 3D tensor but received "),),
    ),
    Message(
        "key-and-value",
        re.compile(
            r"key(?:'s sequence and batch dims| shape) (?P<given>torch\.Size\(\[[\d, ]*\]\)) do"
            r"(?:es)? not match value(?:'s| shape) (?P<size>torch\.Size\(\[[\d, ]*\]\))"
        ),
        (FactSource("torch/nn/functional.py", " does not match value shape "),),
    ),
    Message(
        "dropout-probability",
        re.compile(r"dropout probability has to be between 0 and 1, but got (?P<given>\S+)"),
        (FactSource("torch/nn/functional.py", "dropout probability has to be between 0 and 1, but got "),),
    ),
    Message(
        "initialised-vector",
        re.compile(
            r"Fan in and fan out can not be computed for tensor with fewer than 2 dimensions|Only"
            r" tensors with 2 or more dimensions are supported"
        ),
        (
            FactSource(
                "torch/nn/init.py", "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
            ),
        ),
    ),
    Message(
        "sync-norm-device",
        re.compile(r"SyncBatchNorm expected input tensor to be on GPU"),
        (FactSource("torch/nn/modules/batchnorm.py", "SyncBatchNorm expected input tensor to be on GPU or "),),
    ),
    Message(
        "shared-with-grad",
        re.compile(r"Cowardly refusing to serialize non-leaf tensor which requires_grad"),
        (
            FactSource(
                "torch/multiprocessing/reductions.py",
                "Cowardly refusing to serialize non-leaf tensor which requires_grad, ",
            ),
        ),
    ),
    Message(
        "mode-and-options",
        re.compile(r"Either mode or options can be specified, but both"),
        (
            FactSource(
                "torch/__init__.py",
                "Either mode or options can be specified, but both can't be specified at the same time.",
            ),
        ),
    ),
    Message(
        "hub-dependencies",
        re.compile(r"Missing dependencies: (?P<name>[\w, .-]{1,200})"),
        (FactSource("torch/hub.py", "Missing dependencies: "),),
    ),
    Message(
        "hub-offline",
        re.compile(r"there is no internet connection and the repo could not be found in the cache"),
        (FactSource("torch/hub.py", "It looks like there is no internet connection and the "),),
    ),
    Message(
        "checkpoint-without-need",
        re.compile(r"none of output has requires_grad=True"),
        (FactSource("torch/utils/checkpoint.py", "none of output has requires_grad=True,"),),
    ),
    Message(
        "block-mask-size",
        re.compile(
            r"block_mask was created for block_mask\.shape=(?P<size>\([^)]{0,60}\)) but got q_len"
            r"=(?P<given>\d+) and kv_len=(?P<name>\d+)"
        ),
        (FactSource("torch/nn/attention/flex_attention.py", "block_mask was created for block_mask.shape="),),
    ),
    Message(
        "no-libuv",
        re.compile(r"use_libuv was requested but PyTorch was buil[dt] without libuv support"),
        (
            FactSource(
                "torch/csrc/distributed/c10d/TCPStore.cpp",
                "use_libuv was requested but PyTorch was buil",
            ),
        ),
    ),
    Message(
        "barrier-not-reached",
        re.compile(
            r"successfully reached monitoredBarrier, but received errors while waiting|\[Rank \d+"
            r"\]: Ranks? (?P<given>[\d, ]+) failed to pass monitoredBarrier"
        ),
        (
            FactSource(
                "torch/csrc/distributed/c10d/ProcessGroupGloo.cpp",
                " successfully reached monitoredBarrier, but received errors while waiting",
            ),
        ),
    ),
    Message(
        "nccl-watchdog",
        re.compile(
            r"watchdog got stuck for|Could not acquire GIL within|heartbeat monitor.{0,80}"
            r"(?:stuck|terminat)"
        ),
        (FactSource("torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp", "ProcessGroupNCCL's watchdog got stuck for "),),
    ),
    Message(
        "gloo-address",
        re.compile(
            r"gloo/transport/tcp/(?:device|address|socket)\.cc|Unable to (?:find|resolve) "
            r"(?:address|hostname) (?:for|to)|unsupported gloo device|Gloo connectFullMesh failed"
        ),
        (
            FactSource(
                "torch/csrc/distributed/c10d/GlooDeviceFactory.cpp", "makeDeviceForHostname(): unsupported gloo device"
            ),
        ),
    ),
    Message(
        "lightning-unused",
        re.compile(r"has parameters that were not used in producing the loss returned by training_step"),
        (),
    ),
    Message(
        "tensor-arguments-of-export",
        re.compile(
            r"Expecting `args` to be a tuple of example positional inputs, got (?:<class ')?"
            r"(?P<given>[\w.]+)"
        ),
        (FactSource("torch/export/_trace.py", "Expecting `args` to be a tuple of example positional inputs, got "),),
    ),
    Message(
        "dynamic-shapes-structure",
        re.compile(r"Detected mismatch between the structure of `(?P<name>\w+)` and `dynamic_shapes`"),
        (FactSource("torch/export/dynamic_shapes.py", "Detected mismatch between the structure of `"),),
    ),
    Message(
        "collective-argument",
        re.compile(
            r"Invalid function argument\. Expected parameter `(?P<name>\w+)`(?: of type \S+)? to "
            r"be of type (?P<size>[\w.\[\]]+)"
        ),
        (FactSource("torch/distributed/distributed_c10d.py", "Invalid function argument. Expected parameter `"),),
    ),
    Message(
        "pybind-arguments",
        re.compile(
            r"incompatible (?:function|constructor) arguments\. The following argument types are "
            r"supported|Unable to cast Python instance(?: of type .{1,80}?)? to C\+\+ type"
        ),
        (),
    ),
    Message(
        "replica-failed",
        re.compile(
            r"Caught (?P<name>\w+) in replica (?P<given>\d+) on device \d+\b\.?(?!.{0,20000}\w+"
            r"(?:Error|Exception): )"
        ),
        (FactSource("torch/nn/parallel/parallel_apply.py", "in replica "),),
    ),
    Message("optimizer-state-key", re.compile(r"\AKeyError: 'param_groups'\Z"), ()),
    Message(
        "child-of-elastic",
        re.compile(r"\bfailed \(exitcode: -(?P<given>\d+)\) local_rank: (?P<name>\d+)"),
        (FactSource("torch/distributed/elastic/multiprocessing/api.py", "failed (exitcode: "),),
    ),
    Message(
        "child-of-elastic-failed",
        re.compile(r"\bfailed \(exitcode: (?P<given>\d+)\) local_rank: (?P<name>\d+)"),
        (FactSource("torch/distributed/elastic/multiprocessing/api.py", "failed (exitcode: "),),
    ),
    Message(
        "elastic-signal",
        re.compile(r"Received (?P<given>\d+) death signal, shutting down workers"),
        (FactSource("torch/distributed/elastic/agent/server/api.py", "death signal, shutting down workers"),),
    ),
    Message(
        "launched-script",
        re.compile(
            r"CalledProcessError: Command '\[[^\n]{0,400}\.py'[^\n]{0,2000}(?:returned non-zero e"
            r"xit status (?P<given>\d+)|died with <Signals\.(?P<name>\w+))"
        ),
        (),
    ),
    Message(
        "cuda-tensor-expected",
        re.compile(
            r"\b(?P<name>(?!state_steps)\w+) must be (?:a )?(?:CUDA|GPU|cuda) ?[Tt]ensors?\b|Expected (?:all )?inp"
            r"uts? to be (?:a )?(?:CUDA|GPU) tensors?|(?P<given>\w+) must be on (?:CUDA|the GPU|G"
            r"PU)\b"
        ),
        (),
    ),
)
