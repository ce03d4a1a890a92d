"""How well names and notes answer a query of several words; and that a browser's script says the same."""

from __future__ import annotations

import pytest

from ptexplore.annotations.topics import Topic
from ptexplore.lookup.answers import Answering
from ptexplore.lookup.entries import Entry, file_entry, operator_entry, row_code, symbol_entry
from ptexplore.lookup.query import read_query, with_root_spelled
from ptexplore.lookup.query_words import QUERY_WORDS, SYNONYMS
from tests.unit.lookup.test_ranking import LETTERS, in_node

NATIVE = "aten/src/ATen/native"


def symbol(qualified: str, path: str, kind: str = "function", uses: int = 0) -> Entry:
    container, _, name = qualified.rpartition("::") if "::" in qualified else qualified.rpartition(".")
    return symbol_entry(kind, name, container, path, declared=False, uses=uses)


ENTRIES = (
    symbol("at::native::softmax_kernel_impl", f"{NATIVE}/cpu/SoftMaxKernel.cpp"),
    symbol("at::native::host_softmax", f"{NATIVE}/cuda/SoftMax.cu"),
    symbol("at::native::LayerNormKernelImpl", f"{NATIVE}/cpu/layer_norm_kernel.cpp"),
    symbol("at::native::_select_conv_backend", f"{NATIVE}/Convolution.cpp", uses=3),
    symbol("at::set_num_threads", "aten/src/ATen/ParallelOpenMP.cpp", uses=6),
    symbol("c10::cuda::CUDACachingAllocator::DeviceCachingAllocator", "c10/cuda/CUDACachingAllocator.cpp", "class"),
    symbol("torch.fx.experimental.proxy_tensor.make_fx", "torch/fx/experimental/proxy_tensor.py", uses=7),
    symbol("torch.fx._symbolic_trace.is_fx_tracing", "torch/fx/_symbolic_trace.py"),
    symbol("c10::cuda::CUDACachingAllocator::Native::ExpandableSegment", "c10/cuda/CUDACachingAllocator.cpp", "struct"),
    symbol("c10::cuda::Allocator::getExpandableSegmentSizes", "c10/cuda/CUDACachingAllocator.h"),
    symbol("torch._inductor.scheduler.Scheduler.can_fuse", "torch/_inductor/scheduler.py"),
    symbol("torch._inductor.scheduler._fuse_epilogue", "torch/_inductor/scheduler.py"),
    symbol("torch._inductor.scheduler._prune_deps.should_prune", "torch/_inductor/scheduler.py"),
    symbol("torch.nn.utils.prune.is_pruned", "torch/nn/utils/prune.py"),
    symbol("torch._meta_registrations.register_meta", "torch/_meta_registrations.py"),
    symbol("torch::autograd::VariableHooks::_register_hook", "torch/csrc/autograd/variable.cpp"),
    symbol("torch._C._FunctionBase.register_hook", "torch/_C/__init__.pyi"),
    symbol("at::K::Softmax", "aten/src/ATen/K.h", "enumerator"),
    symbol("x::softmax", "test/cpp/x.cpp"),
    symbol("at::softmax", "build/aten/src/ATen/Functions.h", uses=5),
    file_entry(f"{NATIVE}/cpu/SoftMaxKernel.cpp", 0),
    file_entry(f"{NATIVE}/cuda/SoftMax.cu", 0),
    file_entry(f"{NATIVE}/quantized/cpu/qlinear.h", 2),
    file_entry("c10/cuda/CUDACachingAllocator.cpp", 0),
    file_entry("torch/_meta_registrations.py", 0),
    file_entry("torch/_inductor/codegen/cpp.py", 0),
    operator_entry("aten", "softmax.int", 4),
    operator_entry("quantized", "linear", 1),
)
TOPICS = (
    Topic("stop", ("autograd#threads",), "Threads", "", (), "thread devic each", "autograd engin", "run"),
    Topic("folder", (f"{NATIVE}/cuda",), "CUDA kernels", "", (), "nativ cuda kernel", "kernel gpu", "softmax"),
    Topic("concept", ("softmax",), "Exponents", "", (), "softmax expon", "", "kernel"),
)  # fmt: skip
QUERIES = """softmax kernel cpu|where is SoftMax implemented for the GPU|soft_max cuda|layernorm kernel|layer norm cpu
convolution backend selection|where is the thread pool size set|caching allocator|how does make_fx trace
quantized linear cpu|which thread does the autograd engine use|copy from cpu to gpu|the cpu|softmax|at::softmax x
native/cpu softmax|kernel of things|é x|expandable segments|inductor scheduler can fuse|python meta kernels
how does pruning work|where are hooks registered in c++|where are hooks registered in python?|hooks from cpp
c++ hooks|C++ codegen inductor"""


def best(query: str) -> list[str]:
    answering = Answering(read_query(query), TOPICS)
    scores = {(score, entry.name) for entry in ENTRIES if (score := answering.entry_score(entry)) is not None}
    return [name for _score, name in sorted(scores, reverse=True)]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("softmax kernel cpu", "SoftMaxKernel.cpp"),
        ("cuda softmax kernel", "SoftMax.cu"),
        ("where is SoftMax implemented for the GPU", "SoftMax.cu"),
        ("layernorm kernel", "LayerNormKernelImpl"),
        ("layer norm kernel", "LayerNormKernelImpl"),
        ("convolution backend selection", "_select_conv_backend"),
        ("where is the thread pool size set", "set_num_threads"),
        ("caching allocator", "CUDACachingAllocator.cpp"),
        ("how does make_fx trace", "make_fx"),
        ("quantized linear cpu", "linear"),
        ("expandable segments", "ExpandableSegment"),
        ("inductor scheduler can fuse", "can_fuse"),
        ("how does pruning work", "is_pruned"),  # and not a function inside a function
        ("python meta kernels", "_meta_registrations.py"),
        ("where are hooks registered in c++", "_register_hook"),
        ("c++ codegen inductor", "cpp.py"),
        ("where are hooks registered in python", "register_hook"),
    ],
)
def test_what_answers_best(query: str, first: str) -> None:
    assert best(query)[0] == first


def test_a_thing_of_another_backend_is_no_answer() -> None:
    assert not {"SoftMax.cu", "host_softmax"} & set(best("softmax kernel cpu"))
    assert "softmax_kernel_impl" not in best("softmax kernel cuda")


def test_a_question_about_one_language_has_answers_in_it_alone() -> None:
    asked = "where are hooks registered"
    assert best(f"{asked} in C++") == ["_register_hook"]
    assert best(f"{asked} in python?")[0] == "register_hook"
    assert "_register_hook" not in best(f"{asked} in python?")
    assert {*best(asked)} >= {"_register_hook", "register_hook"}


def test_a_note_that_has_the_words_scores_more_where_the_query_asks_how() -> None:
    scores = [
        Answering(read_query(query), TOPICS).topic_score(TOPICS[0])
        for query in ("which thread does the autograd engine use", "autograd engine thread")
    ]
    assert scores[0] is not None
    assert scores[1] is not None
    assert scores[0] > scores[1]


def test_names_and_paths_are_no_query_of_several_words() -> None:
    for text in ("softmax", "at::native::add", "native/cpu", "torch.nn.Linear"):
        assert not Answering(read_query(text), TOPICS).terms, text


def test_a_word_that_nothing_has_is_read_as_the_nearest_word_of_the_notes() -> None:
    answering = Answering(read_query("autogard thread"), TOPICS)
    topics = [*TOPICS, Topic("tour", ("autograd",), "Autograd", "", (), "autograd", "", "")]
    assert answering.respelled(lambda text: text == "thread", topics) == {"autogard": "autograd"}
    assert answering.respelled(lambda _text: True, topics) == {}


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("troch.nn.Linear", "torch.nn.Linear"), ("torhc.add", "torch.add"), ("torch.ad", "torch.ad"), ("x.y", "x.y")],
)
def test_the_first_part_of_a_name_is_spelled(typed: str, meant: str) -> None:
    assert with_root_spelled(read_query(typed)).text == meant


def test_each_synonym_says_why_and_is_no_word_for_itself() -> None:
    for synonym in SYNONYMS:
        assert synonym.why
        assert not set(synonym.phrase.split()) & set(synonym.meant.split()) or " " in synonym.phrase, synonym
    assert len({synonym.phrase for synonym in SYNONYMS}) == len(SYNONYMS)


def test_the_browsers_script_scores_alike() -> None:
    queries = [query for line in QUERIES.split("\n") for query in line.split("|")]
    rows = [
        {"name": e.name, "kind": LETTERS.get(e.kind, e.kind[0]), "context": e.context, "code": row_code(e)}
        | {"python": e.python, "path": e.path}
        for e in ENTRIES
    ]
    topics = [
        {"kind": LETTERS[t.kind], "names": t.names, "titled": t.titled.split(), "about": t.about.split()}
        | {"words": t.words.split()}
        for t in TOPICS
    ]
    script = """
    const r = ptx.ranking;
    r.readBy(given.by);
    const rows = given.rows.map(({ code, ...row }) => ({ ...row, low: r.lowered(row.name), uses: parseInt(code[1], 16),
      minor: Number(code[0]) % 2 === 1, area: Number(code[0]) >> 1, method: code[2] === "m",
      path: row.path || (row.context ? `${row.context}/${row.name}` : row.name) }));
    const topics = given.topics.map((one) => ({ ...one, held: new Set(one.words) }));
    console.log(JSON.stringify(given.queries.map((query) => {
      const answers = r.answering(r.read(query), topics), some = answers.terms.length > 0;
      return [answers.terms.map(({ word, spellings, others, weight }) => [word, spellings, others, weight]),
        some ? rows.map((row) => r.entryScore(answers, row)) : [],
        some ? topics.map((one) => r.topicScore(answers, one)) : []];
    })));
    """
    given = {"queries": queries, "rows": rows, "topics": topics, "by": QUERY_WORDS}
    for query, (terms, names, notes) in zip(queries, in_node(script, given), strict=True):
        answering = Answering(read_query(query), TOPICS)
        own = [[term.word, list(term.spellings), list(term.others), term.weight] for term in answering.terms]
        assert terms == own, query
        assert names == ([answering.entry_score(entry) for entry in ENTRIES] if own else []), query
        assert notes == ([answering.topic_score(topic) for topic in TOPICS] if own else []), query
