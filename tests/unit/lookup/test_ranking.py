"""The order of search results: how a name is like what was typed; and that a browser's script says the same."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
from typing import Any

import pytest

from ptexplore.annotations.plain_words import plain_words, stem
from ptexplore.annotations.topics import Topic
from ptexplore.lookup.entries import Entry, file_entry, folder_entry, operator_entry, row_code, symbol_entry
from ptexplore.lookup.fits import Fit, name_fit, slip_fit, topic_fit, word_weights
from ptexplore.lookup.query import read_query
from ptexplore.lookup.query_words import QUERY_WORDS
from ptexplore.lookup.ranking import Possible, entry_key, in_order, is_slip_likely, ranked, topic_key
from ptexplore.lookup.trees import Candidate
from tests.harness import REPOSITORY

HOME = {
    "class": "c10/core/X.h",
    "function": "aten/src/ATen/native/X.cpp",
    "member": "c10/core/X.h",
    "test": "test/cpp/x.cpp",
}


def symbol(qualified: str, kind: str = "function", path: str = "aten/src/ATen/native/X.cpp", uses: int = 0) -> Entry:
    container, _, name = qualified.rpartition("::") if "::" in qualified else qualified.rpartition(".")
    return symbol_entry(kind, name, container, path, declared=False, uses=uses)


def ordered(query: str, *entries: Entry) -> list[str]:
    asked = read_query(query)
    rated = [
        (key, entry.family, entry) for entry in entries if (key := entry_key(asked, entry, slips=False)) is not None
    ]
    return [f"{entry.kind} {entry.name}" for entry in in_order(rated)]


def test_what_is_called_so_comes_first_then_its_sort_then_where_it_stands() -> None:
    entries = (
        symbol("torch.testing.add_kernel", path="torch/testing/_internal/triton_utils.py"),
        symbol("x.Table.add_kernel", path="torch/_higher_order_ops/x.py"),
        symbol("at::native::add_kernel_more"),
        symbol("at::native::add_kernel"),
        symbol("at::native::ADD_KERNEL", "macro"),
    )
    assert ordered("add_kernel", *entries) == [
        "function add_kernel",
        "macro ADD_KERNEL",
        "function add_kernel",
        "method add_kernel",
        "function add_kernel_more",
    ]


def test_an_operator_and_a_backend_find_what_is_named_as_its_kernel_there() -> None:
    entries = (
        operator_entry("aten", "add.Tensor", 1),
        symbol("at::native::add_kernel", path="build/aten/src/ATen/UfuncCPUKernel_add.cpp"),
        symbol("at::native::add_kernel", path="build/aten/src/ATen/UfuncCUDA_add.cu"),
        symbol("at::native::structured_ufunc_add_CPU", "struct", "build/aten/src/ATen/UfuncCPU_add.cpp"),
        symbol("at::native::scatter_add_cpu_kernel", path="aten/src/ATen/native/cpu/ScatterGatherKernel.cpp"),
        symbol("at::native::_add_out", path="aten/src/ATen/native/quantized/cpu/BinaryOps.cpp"),
        symbol("at::cpu::add", path="build/aten/src/ATen/RegisterCPU_0.cpp"),
    )
    cpu = ["operator add.Tensor", "function add_kernel", "struct structured_ufunc_add_CPU"]
    assert ordered("add cpu", *entries)[:3] == cpu
    assert ordered("add cuda", *entries) == ["operator add.Tensor", "function add_kernel"]


def test_a_name_with_fewer_words_more_comes_first_then_what_is_used_more() -> None:
    names = ("TensorIteratorBase", "TensorIterator", "TensorIteration")
    entries = [symbol(f"at::{name}", "class", uses=2 if name == "TensorIterator" else 0) for name in names]
    assert ordered("TensorItera", *entries) == [
        "class TensorIterator",
        "class TensorIteration",
        "class TensorIteratorBase",
    ]


def test_operators_begin_with_the_one_that_returns_and_each_family_once() -> None:
    entries = [operator_entry("aten", name, 0) for name in ("add.out", "add_relu.Tensor", "add.Scalar", "add.Tensor")]
    entries.append(operator_entry("prims", "add", 0))
    assert ordered("add", *entries)[:2] == ["operator add.Tensor", "operator add"]
    assert ordered("torch.add", *entries)[0] == "operator add.Tensor"
    assert ordered("add.out", *entries)[0] == "operator add.out"


def test_an_operator_and_a_backend_lead_to_its_card() -> None:
    entries = [operator_entry("aten", name, 0) for name in ("add.out", "add.Tensor", "addmm", "mul.Tensor")]
    entries += [symbol("at::native::add_cpu"), symbol("at::native::cpu_add")]
    for query in ("add cpu", "add CPU", "where is add for the cpu"):
        assert ordered(query, *entries)[0] == "operator add.Tensor", query
    assert ordered("addmm cuda", *entries)[0] == "operator addmm"
    assert ordered("add kernel", *entries) == []


@pytest.mark.parametrize("query", ["softmax kernel cpu", "cpu kernel of softmax", "CPU softmax kernel", "softmax cpu"])
def test_a_folder_of_another_backend_is_not_where_its_kernel_is(query: str) -> None:
    folders = [Topic("folder", (f"native/{name}",), "Kernels", "", (), name, "kernel", "softmax") for name in _FOLDERS]
    asked = read_query(query)
    weights = word_weights(asked, folders)
    fitting = [topic.names[0] for topic in folders if topic_fit(asked, topic, weights) is not None]
    assert fitting == ["native/cpu", "native/quantized/cpu", "native/loops"]
    assert (asked.operator, asked.backend) == ("softmax", "cpu")


_FOLDERS = ("cuda", "cpu", "mps", "quantized/cpu", "loops", "sparse/cuda")


def test_an_operators_kernel_comes_before_its_card_where_the_kernel_is_asked_for() -> None:
    kernel = symbol("at::native::softmax_kernel_impl", path="aten/src/ATen/native/cpu/SoftMaxKernel.cpp")
    other = symbol("at::native::softmax_kernel_impl", path="aten/src/ATen/native/cuda/SoftMax.cu")
    card = operator_entry("aten", "softmax.int", 3)
    first = ordered("softmax kernel cpu", other, card, kernel)
    assert first[:2] == ["function softmax_kernel_impl", "operator softmax.int"]
    assert ordered("softmax cpu", other, card, kernel)[0] == "operator softmax.int"


def test_a_word_is_a_class_of_that_name_where_everybody_meets_it() -> None:
    near = symbol("at::Add", "class", "aten/src/ATen/Add.h")
    far = symbol("at::native::Add", "struct", "aten/src/ATen/native/cuda/SoftMax.cu")
    called = symbol("at::native::add")
    assert ordered("add", near, called)[0] == "class Add"
    assert ordered("add", far, called)[0] == "function add"


def test_a_path_leads_to_folders_and_files_by_their_end() -> None:
    entries = (
        folder_entry("aten/src/ATen/native/quantized/cpu", written=False),
        folder_entry("aten/src/ATen/native/cpu", written=True),
        file_entry("aten/src/ATen/native/cpu/Loops.h", 3),
        symbol("at::native::cpu"),
    )
    assert ordered("native/cpu", *entries) == ["folder cpu", "function cpu", "folder cpu", "file Loops.h"]


def test_a_member_with_its_class_comes_before_a_note_that_has_the_words() -> None:
    asked = read_query("Dispatcher::redispatch")
    member = entry_key(asked, symbol("c10::Dispatcher::redispatch", path="aten/src/ATen/core/D.h"), slips=False)
    said = ("dispatcher redispatch", "redispatch")
    topic = Topic("stop", ("dispatcher#redispatch", "redispatch"), "Again", "", said, "redispatch", "", "")  # type: ignore[arg-type]
    fit = topic_fit(asked, topic, word_weights(asked, [topic]))
    assert fit is not None
    assert member is not None
    assert member < topic_key(asked, fit, topic, 0)


def test_a_dotted_name_is_pythons() -> None:
    entries = (
        symbol("torch::optim::SGD", "class", "torch/csrc/api/include/torch/optim/sgd.h"),
        symbol("torch.optim.sgd.SGD", "class", "torch/optim/sgd.py"),
    )
    asked = read_query("torch.optim.SGD")
    keys = [entry_key(asked, entry, slips=False) for entry in entries]
    assert keys[1] is not None
    assert keys[0] is not None
    assert keys[1] < keys[0]


@pytest.mark.parametrize(
    ("typed", "words", "dropped"),
    [
        ("where does autograd start", ["autograd", "start"], ["where", "does"]),
        ("Where does autograd start?", ["autograd", "start"], ["where", "does"]),
        ("how are gradients shared", ["gradient", "shar"], ["how", "are"]),
        ("the", ["the"], []),
        ("copy on write", ["copy", "writ"], ["on"]),
    ],
)
def test_a_question_keeps_the_words_that_tell(typed: str, words: list[str], dropped: list[str]) -> None:
    asked = read_query(typed)
    assert list(asked.words) == words
    assert list(asked.dropped) == dropped
    assert asked.plain


def test_words_of_a_title_come_before_words_of_a_text_and_some_before_none() -> None:
    views = Topic(
        "stop", ("s#views", "views"), "A view is a record", (), ("view",), "view record", "storage", "share memory"
    )  # type: ignore[arg-type]
    share = Topic("stop", ("s#share", "share"), "Shared memory", (), ("shar",), "shar memory", "storage", "view")  # type: ignore[arg-type]
    other = Topic("stop", ("s#x", "x"), "Else", (), ("els",), "els", "", "nothing")  # type: ignore[arg-type]
    topics = [views, share, other]
    asked = read_query("how does memory get shared")
    fits = {topic.name: topic_fit(asked, topic, word_weights(asked, topics)) for topic in topics}
    assert fits["s#x"] is None
    ranked = sorted(
        (topic_key(asked, fit, topic, 0), topic.name) for topic in topics if (fit := fits[topic.name]) is not None
    )
    assert ranked[0][1] == "s#share"


# --- the script in the browser says the same ---

NAMES = """
TensorIterator TensorIteratorBase add_kernel _softmax softmax at DispatchKeySet __and__ conv2d THPVariable_Wrap
CUDACachingAllocator Dispatcher.h operator== ~Tensor x storage_get évident_name AT_DISPATCH_ALL_TYPES log_softmax
key_set KeySet a1B2c3 ___
"""
QUERIES = """TensIt|DKS|tenit|softmax|_softmax|SoftMax|add_k|kernel|key set|tensor iterator|storge|conv2|TensorIteratr
torch.add|nn.Conv2d|F.relu(x)|at::native::add|native/cpu|where does autograd start
add cpu|where is add for the CPU|sum meta|softmax kernel cpu|CPU kernel of softmax|sparse tensor|cuda add|kernel cpu
Dispatcher.h|what is TensorImpl?|operator()
Dispatcher.h:120|core/Dispatcher.h:120-130|at::Mixer:12|x.py:0|c10::Dispatcher::call
é|a b|AT_DISPATCH|the|how do views share|x.view(|Engine::evaluate_function|_|__|copies copied running speed classes"""


def in_node(script: str, given: object) -> Any:
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node")
    file = REPOSITORY / "ptexplore" / "render" / "html" / "assets" / "ranking.js"
    program = (
        f"require({json.dumps(str(file))}); const given = JSON.parse(require('fs').readFileSync(0, 'utf8')); {script}"
    )
    done = subprocess.run(
        [node, "-e", program], input=json.dumps(given), capture_output=True, text=True, check=True, timeout=60
    )
    return json.loads(done.stdout)


def as_row(fit: Fit | None) -> list[int] | None:
    return [fit.grade, fit.extra] if fit is not None else None


def test_the_browsers_script_reads_and_fits_as_this_module_does() -> None:
    chooser = random.Random(3)
    letters = "abTK_c2.:"
    terms = re.split(r"[|\n]", QUERIES)
    terms += ["".join(chooser.choice(letters) for _n in range(chooser.randint(1, 7))) for _trial in range(60)]
    names = [
        *NAMES,
        *("".join(chooser.choice(letters) for _n in range(chooser.randint(1, 12))) for _trial in range(60)),
    ]
    script = """
    const r = ptx.ranking, out = {};
    r.readBy(given.by);
    out.read = given.terms.map((one) => { const { term, low, ...rest } = r.read(one); return rest; });
    out.fits = given.terms.map((term) => given.names.map((name) => [r.nameFit(term, name), r.slipFit(term, name)]));
    out.stems = given.words.map(r.stem);
    console.log(JSON.stringify(out));
    """
    words = plain_words(QUERIES)
    answer = in_node(script, {"terms": terms, "names": names, "by": QUERY_WORDS, "words": words})
    for term, read, fits in zip(terms, answer["read"], answer["fits"], strict=True):
        asked = read_query(term)
        for name in (
            "text",
            "name",
            "last",
            "joined",
            "plain",
            "question",
            "dotted",
            "path",
            "call",
            "line",
            "qualified",
            "operator",
            "backend",
            "kernel",
        ):
            assert read[name] == getattr(asked, name), (term, name)
        for name in ("outer", "words", "dropped"):
            assert read[name] == list(getattr(asked, name)), (term, name)
        for name, pair in zip(names, fits, strict=True):
            assert pair == [as_row(name_fit(term, name)), as_row(slip_fit(term, name))], (term, name)
    assert answer["stems"] == [stem(word) for word in words]


LETTERS = {
    "function": "f",
    "method": "f",
    "struct": "c",
    "member": "v",
    "file": "p",
    "folder": "d",
    "tour": "g",
    "enumerator": "e",
    "stop": "n",
    "concept": "k",
}
SYMBOLS = """
class c10::Storage c10/core/Storage.h 5|function at::Tensor::storage aten/src/ATen/core/T.h 0
member at::storage c10/core/T.h 0
class c10::StorageImpl c10/core/StorageImpl.h 7|class torch.storage.Storage torch/storage.py 0
macro STORAGE c10/core/M.h 0
enumerator c10::K::Storage c10/core/K.h 0|function at::get_storage aten/src/ATen/X.cpp 0
function x::storage test/cpp/s.cpp 0
function at::storage_of_view aten/src/ATen/X.cpp 0|function at::native::view_storage_key aten/src/ATen/native/X.cpp 2
function at::native::storage_kernel build/aten/src/ATen/UfuncCPUKernel_storage.cpp 0
function at::native::storage_kernel aten/src/ATen/native/cuda/S.cu 0
struct at::native::structured_storage_CPU build/aten/src/ATen/S.h 0
function at::native::storage_out_cuda aten/src/ATen/native/X.cpp 0
function at::native::_storage_out aten/src/ATen/native/quantized/cpu/X.cpp 0
function at::native::view_storage_kernel aten/src/ATen/native/cpu/X.cpp 0
function at::cpu::storage build/aten/src/ATen/RegisterCPU.cpp 0
function at::native::storage_kernel test/cpu/s.cpp 0"""
ASKED = """storage|Storage|storag|how does a view share storage|torch.storage|torch/storage|storage view|StorgeImpl
view storage|at::storage|storge|nothing like it|view key|K::Storage|Tensor::storage
Storage.h:7|storage cpu|storage CUDA|where is storage for the CPU
storage kernel cpu|cuda storage kernel|kernel of storage on sparse"""


def test_the_browsers_script_puts_results_in_the_same_order() -> None:
    """Over rows as a site's shards have them, with notes between them."""
    rows_of_symbols = [row.split() for row in re.split(r"[|\n]", SYMBOLS.strip())]
    entries = [
        *(symbol(name, kind, path, int(uses)) for kind, name, path, uses in rows_of_symbols),
        *(operator_entry(space, name, 1) for space, name in (("aten", "storage.Tensor"), ("aten", "storage.out"))),
        operator_entry("prims", "storage", 0),
        file_entry("c10/core/Storage.h", 4),
        *(folder_entry(path, written=False) for path in ("torch/storage", "test/storage")),
    ]
    topics = [
        Topic("tour", ("storage",), "One block", "", ("storag", "block"), "storag block", "tensor share", "view"),
        Topic(
            "stop", ("storage#view", "view"), "A view", "", ("storag view", "view"), "view", "storag", "share storag"
        ),
        Topic(
            "concept", ("own-bytes",), "StorageImpl", "", ("own byt", "storageimpl"), "own byt storageimpl", "", "own"
        ),
        Topic("folder", ("native/cuda",), "Kernels", "", ("nativ cuda", "cuda"), "nativ cuda", "kernel", "storag"),
        Topic("folder", ("native/cpu",), "Kernels", "", ("nativ cpu", "cpu"), "nativ cpu", "kernel", "storag"),
        Topic("folder", ("torch/storage",), "Storages", "", ("torch storag", "storag"), "torch storag", "fil", "byt"),
    ]
    queries = re.split(r"[|\n]", ASKED)
    rows = [
        {"name": e.name, "kind": LETTERS.get(e.kind, e.kind[0]), "context": e.context, "code": row_code(e)}
        | {"python": e.python, "path": e.path}
        for e in entries
    ]
    written = [
        {"kind": LETTERS[t.kind], "names": t.names, "title": t.title, "titled": t.titled, "about": t.about}
        | {"words": t.words}
        for t in topics
    ]
    given = {"queries": queries, "rows": rows, "by": QUERY_WORDS, "topics": written}
    script = """
    const r = ptx.ranking, split = (text) => text.split(" ").filter(Boolean);
    r.readBy(given.by);
    const rows = given.rows.map(({ code, ...row }) => ({ ...row, low: r.lowered(row.name), uses: parseInt(code[1], 16),
      minor: Number(code[0]) % 2 === 1, area: Number(code[0]) >> 1, method: code[2] === "m",
      path: row.path || (row.context ? `${row.context}/${row.name}` : row.name) }));
    const topics = given.topics.map((one, number) => ({ ...one, number, titled: split(one.titled),
      about: split(one.about), words: split(one.words), held: new Set(split(one.words)) }));
    const named = (one) => (one.names ? one.names[0] : `${one.context} ${one.name}`);
    const answer = (query) => r.ranked(r.read(query), rows, topics).results.map(named);
    console.log(JSON.stringify(given.queries.map(answer)));
    """
    answers = in_node(script, given)
    for query, answer in zip(queries, answers, strict=True):
        assert answer == in_python(query, entries, topics), query


def in_python(query: str, entries: list[Entry], topics: list[Topic]) -> list[str]:
    """The order that `find` gives them."""
    asked = read_query(query)
    possible = [Possible("folder" if e.kind == "folder" else "symbol", e, never_drawn) for e in entries]
    possible += [
        Possible("folder" if topic.kind == "folder" else "note", topic, never_drawn, number=number)
        for number, topic in enumerate(topics)
    ]
    ranking = ranked(asked, possible, topics, slips=False)
    if is_slip_likely(asked, ranking):
        ranking = ranked(asked, possible, topics, slips=True)
    return [shown(row.possible.about) for row in ranking.rows]


def never_drawn() -> Candidate:
    raise AssertionError("an order needs no place")


def shown(about: Entry | Topic) -> str:
    return about.name if isinstance(about, Topic) else f"{about.context} {about.name}"
