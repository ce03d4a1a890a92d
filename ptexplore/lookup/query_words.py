"""The words by which queries are read: words that only ask, backends, and words that mean the same.

The tables are data. `view/site/shards.py` writes them into the site's search, so that a browser reads queries in the
same way.
"""

from __future__ import annotations

from typing import NamedTuple

from ptexplore.annotations.plain_words import STOP_WORDS


class Synonym(NamedTuple):
    """Words of a query (`phrase`), and other words that names in PyTorch have for the same thing (`meant`).

    `phrase` may have several words. Each word of `meant` counts for the whole phrase; two words of a name may be
    written as one ("dataparallel").
    """

    phrase: str
    meant: str
    why: str


SYNONYMS = (
    Synonym("gpu", "cuda", "kernels for GPUs are in folders called cuda"),
    Synonym("rocm", "hip miopen", "AMD's interfaces have these names"),
    Synonym("onednn", "mkldnn", "the library's earlier name is the folder's name"),
    Synonym("convolution", "conv", "short in names"),
    Synonym("conv", "convolution", "long in file names"),
    Synonym("normalization", "norm", "short in names"),
    Synonym("norm", "normalization", "long in file names"),
    Synonym("batchnorm", "batch_norm", "one word in questions, two in names"),
    Synonym("layernorm", "layer_norm", "one word in questions, two in names"),
    Synonym("groupnorm", "group_norm", "one word in questions, two in names"),
    Synonym("softmax", "soft_max", "two words in file names"),
    Synonym("dataloader", "data_loader", "one word in questions, two in names"),
    Synonym("allreduce", "all_reduce", "one word in C++, two in Python"),
    Synonym("allgather", "all_gather", "one word in C++, two in Python"),
    Synonym("matrix multiplication", "matmul mm gemm", "operators and BLAS have these names"),
    Synonym("multiplication", "mul", "short in names"),
    Synonym("division", "div", "short in names"),
    Synonym("subtraction", "sub", "short in names"),
    Synonym("addition", "add", "short in names"),
    Synonym("sum reduction", "sum", "a sum is a reduction"),
    Synonym("mean reduction", "mean", "a mean is a reduction"),
    Synonym("max reduction", "max", "a maximum is a reduction"),
    Synonym("reduction", "reduce", "the files of reductions are called Reduce"),
    Synonym("selection", "select", "choosers are called select"),
    Synonym("selected", "select", "choosers are called select"),
    Synonym("choice", "select choose", "choosers are called select"),
    Synonym("chosen", "select choose choice capability", "choosers are called select or choice"),
    Synonym("choose", "select choice", "choosers are called select or choice"),
    Synonym("pick", "select choose", "choosers are called select"),
    Synonym("algorithm", "backend", "a convolution's algorithm follows from its backend"),
    Synonym("attention", "sdp sdpa", "short for scaled dot product attention"),
    Synonym("scaled dot product attention", "sdp", "short in names"),
    Synonym("sdpa", "sdp attention", "short for scaled dot product attention"),
    Synonym("flash", "flashattention", "the kernels' files have both words"),
    Synonym(
        "avx2",
        "cpucapability dispatchstub vec256",
        "a CPUCapability is the level of the processor; vec256 has its vectors",
    ),
    Synonym(
        "avx512",
        "cpucapability dispatchstub vec512",
        "a CPUCapability is the level of the processor; vec512 has its vectors",
    ),
    Synonym("simd", "vec vectorized", "the vector types are in the folder vec"),
    Synonym("vectorization", "vec vectorized", "the vector types are in the folder vec"),
    Synonym("allocation", "alloc allocator", "memory comes from allocators"),
    Synonym("allocator", "alloc", "short in names"),
    Synonym("oom", "outofmemory", "the error's name"),
    Synonym("out memory", "outofmemory", "the error's name, without the words that say nothing"),
    Synonym("pinned", "pin host", "pinned memory is memory of the host"),
    Synonym("random", "rng distribution philox", "names of generators and of their kernels"),
    Synonym("broadcasting", "broadcast expand", "shapes are broadcast by expanding"),
    Synonym("type promotion", "promotetypes resulttype", "the functions that apply the rules"),
    Synonym("indexing", "index", "operators are called index"),
    Synonym("thread pool", "numthreads threadpool", "the pool's size is the number of threads"),
    Synonym("multithreading", "thread parallel", "loops over threads are called parallel"),
    Synonym("openmp", "parallelopenmp omp", "names of the parallel loops"),
    Synonym("checkpointing", "checkpoint", "short in names"),
    Synonym("codegen", "gen generate", "generators' files begin with gen"),
    Synonym("generates", "gen generate", "generators' files begin with gen"),
    Synonym("generated", "gen generate", "generators' files begin with gen"),
    Synonym("generator", "gen", "generators' files begin with gen"),
    Synonym("register", "registration library", "registrations are made through a library"),
    Synonym("operator", "op", "short in names"),
    Synonym("op", "operator", "long in titles"),
    Synonym("clipping", "clip", "short in names"),
    Synonym("gradient", "grad", "short in names"),
    Synonym("grad", "gradient", "long in titles"),
    Synonym("optimizer", "optim", "the package's name"),
    Synonym("learning rate", "lr", "short in names"),
    Synonym("ddp", "dataparallel reducer", "distributed data parallel, and the class that reduces its gradients"),
    Synonym("buckets", "reducer", "the reducer has the buckets of gradients"),
    Synonym("fsdp", "shardeddataparallel fullyshard", "fully sharded data parallel"),
    Synonym("amp", "autocast", "automatic mixed precision casts by autocast"),
    Synonym("mixed precision", "amp autocast", "automatic mixed precision casts by autocast"),
    Synonym("dynamo", "torchdynamo", "the longer name"),
    Synonym("pickle", "pickler unpickler serialization", "saved files are pickles"),
    Synonym("saving", "save serialization", "torch.save is in serialization"),
    Synonym("loading", "load serialization", "torch.load is in serialization"),
    Synonym("parsed", "parser", "a parser parses"),
    Synonym("parse", "parser", "a parser parses"),
    Synonym("arguments", "arg", "short in names"),
    Synonym("argument", "arg", "short in names"),
    Synonym("max pooling", "maxpool", "short in names"),
    Synonym("average pooling", "avgpool", "short in names"),
    Synonym("upsampling", "upsample interpolate", "names of the operators"),
    Synonym("interpolation", "upsample interpolate", "names of the operators"),
    Synonym("antialias", "aa", "short in names"),
    Synonym("antialiasing", "aa antialias", "short in names"),
    Synonym("lapack", "batchlinearalgebra", "calls of LAPACK are in the files of linear algebra"),
    Synonym("svd", "batchlinearalgebra linalgsvd", "the file of the decompositions"),
    Synonym("fft", "spectralops", "the files of Fourier transforms"),
    Synonym("cublas", "blas gemm", "names of the calls"),
    Synonym("gemm", "blas", "matrix products are in the files of BLAS"),
    Synonym("matmul", "mm gemm sparsemm", "short in names"),
    Synonym("lstm", "rnn", "recurrent layers share files"),
    Synonym("gru", "rnn", "recurrent layers share files"),
    Synonym("relu", "threshold", "its backward is threshold_backward"),
    Synonym("adam", "fusedadam", "one word in file names"),
    Synonym("csr", "sparsecsr", "the layout's name"),
    Synonym("quantized linear", "qlinear", "names of quantized kernels begin with q"),
    Synonym("quantized conv", "qconv", "names of quantized kernels begin with q"),
    Synonym("quantized convolution", "qconv", "names of quantized kernels begin with q"),
    Synonym("meta kernel", "metaregistrations", "_meta_registrations.py has those that are written in Python"),
    Synonym("stochastic weight averaging", "swa averagedmodel", "short in names; its class is AveragedModel"),
    Synonym("exponential moving average", "ema averagedmodel", "short in names; its class is AveragedModel"),
    Synonym("moving average", "ema averagedmodel", "short in names; its class is AveragedModel"),
    Synonym("distributed data parallel", "dataparallel reducer", "its class is in one word, and one reduces gradients"),
    Synonym("fully sharded data parallel", "fsdp fullyshard", "short in names"),
    Synonym("singular value decomposition", "svd batchlinearalgebra", "short in names"),
    Synonym("fourier transform", "fft spectralops", "short in names"),
    Synonym("remote procedure call", "rpc", "short in names"),
    Synonym("ahead time", "aot", "short in names: ahead of time"),
    Synonym("just time", "jit", "short in names: just in time"),
    Synonym("intermediate representation", "ir", "short in names"),
    Synonym("kl divergence", "kldiv", "short in names"),
    Synonym("visualizer", "viz", "short in names"),
    Synonym("visualize", "viz", "short in names"),
    Synonym("visualization", "viz", "short in names"),
    Synonym("device guard", "cudaguard deviceguard", "CUDA's is called CUDAGuard"),
    Synonym("constructor", "pynew ctor", "Python's types in C++ have a function pynew"),
    Synonym("custom op", "customop", "one word in names"),
    Synonym("custom operator", "customop library", "one word in names"),
    Synonym("processes", "multiprocessing", "the package's name"),
    Synonym("sharing", "shared share reductions", "names of what shares memory"),
    Synonym("in place", "inplace", "one word in names"),
    Synonym("copy", "clone", "a clone is a copy"),
    Synonym("folding", "fold shouldfold", "short in names"),
    Synonym("tensor printing", "tensorstr str", "_tensor_str.py makes the text of a tensor"),
    Synonym("print tensor", "tensorstr str", "_tensor_str.py makes the text of a tensor"),
    Synonym("named tensor inference", "namedinference propagatenames", "the namespace, and what it does"),
    Synonym("name inference", "namedinference propagatenames", "the namespace, and what it does"),
    Synonym("check", "assert verify", "functions that check have these names"),
    Synonym("convert", "to cast", "conversions are called to"),
    Synonym("override", "overrides", "the module's name"),
)

# Words that ask for a place, and names of the whole project. These words do not help to choose.
_ASKING = """
implement implements implemented implementation implementations defined define definition located location find
source code pytorch happen happening called call calls come comes use used uses difference vs versus inside
internals internally actually exactly which what where how logic rules file lives live
"""
ASKING = frozenset(_ASKING.split())

_EXPLAINING = """
how why what when which who
"""
EXPLAINING = frozenset(_EXPLAINING.split())  # a note explains more than a name

# Words with which names begin: "can fuse" is can_fuse. They say nothing elsewhere.
_MODALS = """
can has may must needs should
"""
MODALS = frozenset(_MODALS.split())

# The backend of a kernel, as paths and names have it. A thing of another backend is no answer.
_DEVICES = """
cpu cuda mps xpu hip vulkan metal mtia meta xla
"""
DEVICES = frozenset(_DEVICES.split())
# Things in folders with these words come later, unless the query has the word.
_SPECIAL = """
cuda mps xpu hip vulkan metal mtia xla quantized quantization sparse mkldnn nested miopen caffe2 onnx mobile
tensorexpr xnnpack ao nnapi fuser android ios benchmark benchmarks templates deprecated prims experimental
polyfills build generated functorch decomp refs lowering test tests testing
"""
SPECIAL = frozenset(_SPECIAL.split())
# Words that a path or an ending implies: a file of kernels, a file for a GPU, a file in Python.
IMPLIED = {
    "native": "kernel",
    "py": "python",
    "cu": "cuda kernel",
    "cuh": "cuda kernel",
    "mm": "mps",
    "metal": "mps kernel",
}
# The first parts of public names. A typing error in such a part hides everything.
_ROOTS = """
torch aten tensor functional torchgen caffe2
"""
ROOTS = frozenset(_ROOTS.split())

# "add cpu" asks for an operator on a backend. The card of the operator answers that; names like its kernel's come after
# the card.
QUERY_WORDS = {
    "stops": " ".join(sorted(STOP_WORDS)),  # Words that say nothing in a query.
    "backends": "cpu cuda mps xpu meta autograd sparse quantized mkldnn nested",
    "of_kernels": "kernel impl out structured ufunc",  # Words of a kernel's name, beside the operator and the backend.
    "for_kernels": "kernel kernels implementation impl",  # Words of a query that asks for a kernel.
    # The names of an operator's kernels for a backend, or how they begin.
    "kernel_names": "{operator}_kernel {operator}_out_{backend} {operator}_{backend} structured_{operator}_{backend}",
    "asking": " ".join(sorted(ASKING)),
    "explaining": " ".join(sorted(EXPLAINING)),
    "modals": " ".join(sorted(MODALS)),
    "devices": " ".join(sorted(DEVICES)),
    "special": " ".join(sorted(SPECIAL)),
    "roots": " ".join(sorted(ROOTS)),
    "implied": ";".join(f"{word}={words}" for word, words in IMPLIED.items()),
    "synonyms": ";".join(f"{synonym.phrase}={synonym.meant}" for synonym in SYNONYMS),
}
