"""What an expression raised: the step that it left, what was not come to, the kernel that is missing, the writes.

The expected answers follow from C++'s rules and from the texts of PyTorch's own messages, written here by hand.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec import structs

from ptexplore.model import reasons
from ptexplore.model.observed import CppFunction, LeftFrame, ThrownError, UserCall, records
from ptexplore.model.place_reasons import NoTextOf, RecordUnconfirmed
from ptexplore.model.places import Checkout, SourceRef
from ptexplore.model.trace import ModifiedTensor, OperatorRef
from ptexplore.resolve.claims import Claim
from ptexplore.resolve.error_message import (
    _as_example,
    handed_on,
    missing_kernel,
    modified_tensor,
    raised_by,
    read_message,
    throws,
    with_writes,
)
from ptexplore.resolve.raising import cut, innermost, reach
from ptexplore.resolve.trace import end_of_run
from ptexplore.source.tree import checkout_tree
from ptexplore.view.error import error_lines
from ptexplore.view.trace.ending import first_words, hints
from tests.hanging import ends
from tests.unit.resolve.making import (
    Rows,
    Small,
    call,
    claim,
    entry,
    op,
    operator,
    registration,
    session,
    shape,
    user_call,
    walk,
)

SCHEMA = "aten::blend.Pair(Tensor self, Tensor other) -> Tensor"
ENTRY = "at::_ops::blend_Pair::call"
STACK = (  # innermost first, as the error tells it
    "torch::autograd::check_inplace(at::Tensor const&, bool)",
    "torch::autograd::VariableType::(anonymous namespace)::blend_Pair(c10::DispatchKeySet, at::Tensor const&)",
    f"{ENTRY}(at::Tensor const&, at::Tensor const&)",
    "torch::autograd::THPVariable_blend(_object*, _object*, _object*)",
)


def stack(*names: str) -> tuple[CppFunction, ...]:
    return tuple(CppFunction("libtorch_cpu.so", name) for name in names)


def an_op(*children: Claim, event: int = 7, name: str = "aten::blend.Pair", entry: str = ENTRY) -> Claim:
    data = {"type": "op", "name": "aten::blend", "event": event}
    return claim("op", name, *children, event=data, op=name, operator=OperatorRef(SCHEMA, entry=entry))


def step(key: str, kernel: str, *children: Claim, status: str = "predicted") -> Claim:
    return claim("key", key, claim("kernel", kernel, *children, status=status), status=status)


# --- the step that was left ---


def test_the_last_call_of_the_innermost_function_was_left() -> None:
    first, last = an_op(event=1), an_op(event=2)
    claims = (claim("binding", "torch::autograd::THPVariable_blend", first), claim("python", "f", last))
    assert innermost(claims, stack(*STACK[2:]), ()) is first, "the binding is left too, and holds the first one alone"
    assert innermost((claim("python", "g", first, last),), stack(STACK[2]), ()) is last


def test_a_node_of_python_and_a_call_of_an_unknown_overload_are_left() -> None:
    # As torch's own backtrace has them (TORCH_SHOW_CPP_STACKTRACES=1): PyNode::apply has no name of the node.
    generated = claim("node", "torch::autograd::generated::SumBackward0::apply")
    own = claim("node", "BadBackward::apply")
    run = "torch::autograd::PyNode::apply(std::vector<at::Tensor>&&)"
    assert innermost((claim("binding", "run_backward", own, generated),), stack(run), ()) is own
    vague = claim("op", "aten::blend", event={"type": "op", "name": "aten::blend", "event": 7})
    assert innermost((vague,), stack(STACK[2]), (), lambda _: frozenset([ENTRY])) is vague
    assert innermost((vague,), stack(STACK[2]), (), lambda _: frozenset()) is None


def test_a_node_whose_apply_is_that_of_a_base_class_is_left() -> None:
    # As for (x // 2).sum() with backward on 2.13.0, by torch's own backtrace.
    ran = claim("node", "torch::autograd::generated::SumBackward0::apply", event={"type": "node", "name": "n"})
    inherits = claim("node", "torch::autograd::NotImplemented::apply", event={"type": "node", "name": "n"})
    run = claim("binding", "run_backward", ran, inherits)
    apply = "torch::autograd::Error::apply(std::vector<at::Tensor>&&)"
    names = (f"{apply} const", apply, "torch::autograd::Node::operator()(std::vector<at::Tensor>&&)")
    assert innermost((run,), stack(*names), ()) is inherits
    assert innermost((run,), stack(*names[:2]), ()) is None, "another class may have a function of that name"


def test_a_function_that_a_nodes_formula_names_is_left_and_was_seen(small: Small) -> None:
    # As for torch.special.zeta(x, 2) with backward: the innermost function that the stack holds throws.
    scope = "torch::autograd::generated"
    formula = claim("impl", f"{scope}::details::not_implemented", status="predicted")
    node = claim("node", f"{scope}::SpecialZetaBackward2::apply", formula)
    names = (
        f"{formula.hop.name}(char const*, char const*)",
        f"{node.hop.name}(std::vector<at::Tensor>&&)",
    )
    context, claims = raising(small, (node,), *names)
    (reached,) = reach(context, claims)
    assert reached.children[0].hop.status == "observed"
    assert innermost((reached,), context_stack(context), ()) is reached.children[0]


def test_what_no_claim_is_of_is_passed_over() -> None:
    only = an_op()
    assert innermost((only,), stack("at::native::somewhere(int)", *STACK), ()) is only
    assert innermost((only,), stack("at::native::somewhere(int)"), ()) is None


def test_a_function_of_another_call_is_not_left() -> None:
    """A frame of the same name that ran before, outside of what was left, is none of the error's."""
    lookup = claim("native", "c10::impl::OperatorEntry::lookup")
    before, left = an_op(lookup, event=1, entry="at::_ops::other::call"), an_op(event=2)
    assert (
        innermost((before, left), stack("c10::impl::OperatorEntry::lookup(c10::DispatchKeySet) const", *STACK), ())
        is left
    )


def test_pythons_functions_are_left_around_those_of_cpp() -> None:
    def frame(function: str, *inside: Claim) -> Claim:
        return claim(
            "python", function, *inside, event={"type": "frame", "file": "/t/m.py", "line": 3, "function": function}
        )

    inner = an_op()
    claims = (an_op(event=1), frame("forward", inner))
    frames = (LeftFrame("/t/m.py", 3, "forward", 4),)
    assert innermost(claims, stack(STACK[2]), frames) is inner
    assert innermost(claims, (), frames) is claims[1]


@pytest.mark.parametrize(("raised", "raises", "left"), [(True, False, "zero_"), (False, False, "f"), (True, True, "f")])
def test_where_the_stack_is_not_told_whole_what_python_called_last_was_left(
    raised: bool, raises: bool, left: str
) -> None:
    """As for x[0].zero_() of a leaf in a function: of torch 2.6's stack the innermost function alone can be read."""
    read = {"tls_include": 0, "tls_exclude": 0}
    builtin = {"type": "builtin", "table": "Tensor", "method": "zero_", "raised": raised, "left": raised, **read}
    called = claim("binding", "zero_", an_op(), event=builtin)
    caller = claim(
        "python", "f", an_op(event=1), called, event={"type": "frame", "file": "f.py", "line": 3, "function": "f"}
    )
    frames = (LeftFrame("f.py", 3, "f", 4, raises=raises),)
    step_left = innermost((caller,), stack("torch::autograd::check_inplace(at::Tensor const&, bool)"), frames)
    assert step_left is not None
    assert step_left.hop.name == left


def test_of_a_long_message_the_beginning_tells_that_it_is_the_same(small: Small) -> None:
    """One recorder cuts it, the other keeps C++'s stack behind it."""
    context, _ = raising(small, (an_op(),), *STACK, message="x" * 17_000)
    raised, *others = context.session.observations
    raised = structs.replace(raised, data=structs.replace(raised.data, message=raised.data.message[:16_000]))
    context = replace(context, session=replace(context.session, observations=(raised, *others)))
    ending = end_of_run(context, (an_op(),), {})
    assert ending is not None
    assert ending.function == "check"


# --- what only C++'s stack tells of ---

FUNCTOR = (
    "c10::impl::wrap_kernel_functor_unboxed_<c10::impl::detail::WrapFunctionIntoFunctor_<"
    "c10::CompileTimeFunctionPointer<at::Tensor (at::Tensor const&), &at::(anonymous namespace)::wrapper_CPU_blend>, "
    "at::Tensor, c10::guts::typelist::typelist<at::Tensor const&> >, at::Tensor (at::Tensor const&)>"
    "::call(c10::OperatorKernel*, c10::DispatchKeySet, at::Tensor const&)"
)


def test_functions_on_the_stack_are_put_below_what_is_known(small: Small) -> None:
    known = an_op(step("AutogradCPU", "torch::autograd::VariableType::blend_Pair"))
    context, claims = raising(small, (known,), "at::native::blend(at::Tensor const&)", FUNCTOR, *STACK[1:])
    kernel, *_ = [held for held in walk(reach(context, claims)) if held.hop.kind == "kernel"]
    [seen] = kernel.children
    assert (seen.hop.kind, seen.hop.name, seen.hop.status) == ("native", "at::wrapper_CPU_blend", "observed")
    assert [inner.hop.name for inner in seen.children] == ["at::native::blend"]
    step_left = innermost((replace(known, children=(kernel,)),), context_stack(context), ())
    assert step_left is not None
    assert step_left.hop.name == "at::native::blend"


def test_what_the_stack_held_of_a_boxed_call_runs_in_its_first_kernel(small: Small) -> None:
    """As an operator of an extension that raises below autograd's fallback, which jumps on and leaves no frame."""
    boxed = "c10::KernelFunction::make_boxed_function<&f>(c10::OperatorKernel*)"
    context, claims = raising(small, (chain(),), "twice_cpu(at::Tensor const&)", boxed, *STACK[2:])
    [call] = reach(context, claims)
    assert shape((call,)) == "aten::blend.Pair(AutogradCPU(VariableType::blend(aten::seen f(twice_cpu))))", (
        "beside it nothing: which keys of those predicted were come to is not known"
    )
    kernel = call.children[0].children[0]
    assert [type(reason) for reason in kernel.hop.why] == [reasons.KeyNotKnown]


def test_of_functions_that_are_one_code_none_is_named_alone(small: Small) -> None:
    known = an_op(step("AutogradCPU", "VariableType::blend"))
    context, claims = raising(small, (known,), FUNCTOR, *STACK[1:])
    raised, thrown = context.session.observations
    functor, *around = thrown.data.stack
    other = "torch::autograd::VariableHooks::fallback() const"
    for shared, name, alike in (((), "at::wrapper_CPU_blend", ()), ((other,), None, (other,))):
        stack = (structs.replace(functor, shared=shared), *around)
        told = structs.replace(thrown, data=structs.replace(thrown.data, stack=stack))
        seen = replace(context, session=replace(context.session, observations=(raised, told)))
        held = next(one.hop for one in walk(reach(seen, claims)) if one.hop.native and one.hop.native.symbol == FUNCTOR)
        assert held.native is not None
        assert held.native.alike == alike
        assert (held.name == "at::wrapper_CPU_blend") == (name is not None), "only one that is known names its kernel"


def test_what_a_kernel_calls_beside_the_operator_that_was_left_was_on_the_stack_too(small: Small) -> None:
    """As at::native::convolution, which calls _convolution: the text tells of it, and it holds no operator yet."""
    body = claim("impl", "at::native::blend", status="derived")
    inner = an_op(event=8, name="aten::mirror", entry="at::_ops::mirror::call")
    known = an_op(step("CPU", "at::wrapper_CPU_blend", body, inner, status="derived"))
    names = ("at::_ops::mirror::call(at::Tensor const&)", "at::native::blend(at::Tensor const&)", FUNCTOR, *STACK[2:])
    context, claims = raising(small, (known,), *names)
    seen = {one.hop.name: one.hop.status for one in walk(reach(context, claims)) if one.hop.kind in ("kernel", "impl")}
    assert seen == {"at::wrapper_CPU_blend": "observed", "at::native::blend": "observed"}


def test_what_the_stack_held_is_put_into_a_node_and_into_the_function_of_python_that_called_it(small: Small) -> None:
    """As for a second backward, and for a backward of what requires no grad."""
    node = claim(
        "node", "torch::autograd::generated::ExpBackward0::apply", an_op(), event={"type": "node", "name": "n"}
    )
    unpack = "torch::autograd::SavedVariable::unpack(std::shared_ptr<torch::autograd::Node>) const"
    names = (unpack, f"{node.hop.name}(std::vector<at::Tensor>&&)", "THPEngine_run_backward(_object*, _object*)")
    context, claims = raising(small, (node,), *names)
    [reached] = reach(context, claims)
    assert [held.hop.name for held in reached.children] == [
        "aten::blend.Pair",
        "torch::autograd::SavedVariable::unpack",
    ]
    at = {"file": "/t/m.py", "function": "backward"}
    caller = claim("python", "backward", event={"type": "frame", "line": 3, **at})
    context, claims = raising(small, (caller,), names[-1], "THPOuter(_object*)", frames=[{"first": 3, "line": 4, **at}])
    [reached] = reach(context, claims)
    assert [held.hop.name for held in walk((reached,))] == ["backward", "THPEngine_run_backward"]


def test_a_kernel_that_its_functor_names_was_come_to(small: Small) -> None:
    """Its redispatch left no frame of its own."""
    known = an_op(
        step("AutogradCPU", "torch::autograd::VariableType::blend_Pair", step("CPU", "at::wrapper_CPU_blend"))
    )
    assert raising(small, (known,), *STACK)[1] != (known,), "without it on the stack it was not come to"
    context, claims = raising(small, (known,), FUNCTOR, *STACK[1:])
    assert claims == (known,)
    reached = [(held.hop.name, held.hop.status) for held in walk(reach(context, claims)) if held.hop.kind == "kernel"]
    assert [name for name, _ in reached] == [held.hop.name for held in walk((known,)) if held.hop.kind == "kernel"]
    assert [status for _, status in reached] == ["observed", "observed"], "the stack held both"


def context_stack(context: Any) -> tuple[CppFunction, ...]:
    [thrown] = records(context.session.observations, "thrown", ThrownError)
    return thrown.stack


# --- what was not come to ---


def raising(small: Small, claims: tuple[Claim, ...], *names: str, message: str = "no", **more: Any) -> tuple[Any, Any]:
    raised = {"stage": "expression", "exception": "RuntimeError", "message": message, **more}
    functions = [{"library": "libtorch_cpu.so", "name": name, "entered": name.startswith("THP")} for name in names]
    thrown = {
        "message": message,
        "function": "check",
        "file": "/pytorch/aten/src/ATen/x.cpp",
        "line": 3,
        "stack": functions,
    }
    seen = session(more=[("ops", "raised", raised), ("thrown", "thrown", thrown)])
    context = small.context(seen)
    return context, cut(context, claims)


def chain() -> Claim:
    last = claim("impl", "at::native::blend", claim("stub", "blend_stub", status="predicted"), status="predicted")
    inner = an_op(event=9, name="aten::seen", entry="at::_ops::seen::call")
    return an_op(step("AutogradCPU", "VariableType::blend", step("CPU", "wrapper_CPU_blend", last, inner)))


def test_a_call_that_went_no_further_has_no_further_step(small: Small) -> None:
    _, claims = raising(small, (chain(),), *STACK)
    assert shape(claims) == "aten::blend.Pair(AutogradCPU(VariableType::blend(aten::seen)))"


def test_each_redispatch_on_the_stack_was_a_step(small: Small) -> None:
    names = ("at::native::blend(at::Tensor)", "at::_ops::blend_Pair::redispatch(c10::DispatchKeySet)", *STACK[1:])
    _, claims = raising(small, (chain(),), *names)
    inside = "wrapper_CPU_blend(at::native::blend aten::seen)"
    assert shape(claims) == f"aten::blend.Pair(AutogradCPU(VariableType::blend(CPU({inside}))))", (
        "its stub was not called"
    )


def test_where_the_lookup_threw_its_kernel_was_not_come_to(small: Small) -> None:
    lookup = "c10::impl::OperatorEntry::lookup(c10::DispatchKeySet) const"
    _, claims = raising(small, (chain(),), lookup, "at::_ops::blend_Pair::redispatch(c10::DispatchKeySet)", *STACK[1:])
    assert shape(claims) == "aten::blend.Pair(AutogradCPU(VariableType::blend(aten::seen)))"


def test_a_call_that_goes_on_boxed_is_left_as_it_is(small: Small) -> None:
    boxed = "c10::KernelFunction::make_boxed_function<&f>(c10::OperatorKernel*)"
    whole = (chain(),)
    assert raising(small, whole, boxed, *STACK[2:])[1] == whole
    last = "wrapper_CPU_blend(at::Tensor const&)"
    _, claims = raising(small, whole, last, boxed, *STACK[2:])
    assert shape(claims) == "aten::blend.Pair(AutogradCPU(VariableType::blend(CPU(wrapper_CPU_blend(aten::seen)))))", (
        "but of its last kernel, which the stack held, what had not run"
    )


def test_what_torchscript_says_is_of_the_error_in_it(small: Small) -> None:
    """Its message ends with the words that were thrown, and where the stack is asked for they follow once more."""
    told = "The following operation failed in the TorchScript interpreter.\nRuntimeError: no\n"
    context, claims = raising(small, (an_op(),), *STACK, message=told)
    raised, thrown = context.session.observations
    for words, is_told in (("no", True), ("other", False)):
        thrown = structs.replace(thrown, data=structs.replace(thrown.data, message=f"{told}{words}"))
        ending = end_of_run(
            replace(context, session=replace(context.session, observations=(raised, thrown))), claims, {}
        )
        assert ending is not None
        assert (ending.function == "check") == is_told


def test_without_cpps_stack_nothing_is_taken_out(small: Small) -> None:
    raised = {"stage": "expression", "exception": "RuntimeError", "message": "no"}
    context = small.context(session(more=[("ops", "raised", raised)]))
    whole = (chain(),)
    assert cut(context, whole) == whole
    assert cut(small.context(), whole) == whole


def test_an_ending_says_where_and_in_which_step(small: Small) -> None:
    whole = (chain(),)
    context, claims = raising(small, whole, *STACK)
    numbers = {one.identity: number for number, one in enumerate(walk(claims), 1)}
    ending = end_of_run(context, claims, numbers)
    assert ending is not None
    kernel = [one for one in walk(claims) if one.hop.kind == "op"][0]
    assert ending.hop == numbers[kernel.identity]
    assert (ending.source.path, ending.source.line, ending.source.precision) == ("aten/src/ATen/x.cpp", 3, "unknown")
    assert end_of_run(small.context(), claims, numbers) is None


def test_where_another_error_was_thrown_the_next_time_no_line_is_told(small: Small) -> None:
    raised = {"stage": "expression", "exception": "RuntimeError", "message": "no"}
    thrown = {"message": "another", "function": "check", "file": "/pytorch/aten/src/ATen/x.cpp", "line": 3}
    context = small.context(session(more=[("ops", "raised", raised), ("thrown", "thrown", thrown)]))
    ending = end_of_run(context, (), {})
    assert ending is not None
    assert ending.source.line is None
    assert ending.why == (reasons.RunRaisedOther(),)


# --- lines that throw ---

TEXT = """\
void f(int n) {
  TORCH_CHECK(
      n > 0,
      "n must be above 0");
  g(n);
  if (n == 7) throw std::runtime_error("seven");
  AT_ERROR("no");
  h(n);  // TORCH_CHECK(n) was here
}
""".splitlines()


@pytest.mark.parametrize(("line", "thrown"), [(2, 1), (3, 1), (4, 1), (5, 0), (6, 1), (7, 1), (8, 0), (0, 0), (99, 0)])
def test_a_line_throws_if_its_statement_does(line: int, thrown: int) -> None:
    assert throws(TEXT, line) is bool(thrown)


RAISES = """\
PyObject* f(PyObject* item) {
  if (!item) {
    PyErr_Format(PyExc_TypeError, "f() takes an item (got %zd of %s)", n, name);
    throw python_error();
  }
  if (PyErr_Occurred()) {
    PyErr_SetString(PyExc_ValueError, "another item is wanted here");
    return nullptr;
  }
  PyErr_SetString(PyExc_ValueError, "no item was given at all");  // f() takes an item
  std::stringstream words;
  words << "the item " << item << " fits no function here";
  throw std::runtime_error(words.str());
}
PyObject* g() {
  helper("words that a function compiled into it takes");
  throw std::runtime_error("and words that it has itself");
}
"""


@pytest.mark.parametrize(
    ("by", "message", "line"),
    [
        ("PyErr_Format", "f() takes an item (got 3 of int)", 13),
        ("PyErr_Format", "what a function that was compiled into it says", None),
        ("PyErr_SetString", "another item is wanted here", 17),
        ("PyErr_SetString", "no item was given at all", 20),
        ("PyErr_SetString", "f() takes an item (got 3 of int)", None),
        ("throw", "the item 3 fits no function here", 23),
        ("throw", "something else", None),
        ("throw", "words that a function compiled into it takes", None),
    ],
)
def test_the_line_that_raised_has_the_words_or_is_the_only_one(by: str, message: str, line: int | None) -> None:
    first, second = RAISES.splitlines()[:14], RAISES.splitlines()[14:]
    text = [""] * 10 + (second if "compiled into it takes" in message else first)
    definition = SourceRef("torch/csrc/Held.cpp", 11, "checkout", "version-skew", end_line=len(text))
    lookup = SimpleNamespace(lines=lambda ref: text[ref.line - 1 : ref.end_line])
    found = raised_by(cast(Any, lookup), definition, by, message)
    assert (found.line if found is not None else None) == line
    assert found is None or (found.path, found.precision) == (definition.path, definition.precision)


NAMED = """RuntimeError: n must be above 0, at ../torch/csrc/Held.cpp:3, then "/pytorch/torch/csrc/Held.cpp":5
PythonDispatcher: registered at /pytorch/torch/csrc/Held.cpp:6 [backend fallback]
and one of yours.cpp:7, and ../torch/csrc/distributed/c10d/Gone.cpp:8
"""


def test_a_line_of_cpp_that_a_message_names_is_looked_up_in_the_text(small: Small, tmp_path: Path) -> None:
    (tmp_path / "torch/csrc").mkdir(parents=True)
    (tmp_path / "torch/csrc/Held.cpp").write_text("\n".join(TEXT), encoding="utf-8")
    checkout = Checkout("held", "git", str(tmp_path), "a test", commit=small.checkout.commit)
    told = {}
    for word in ("matches", "version-skew"):
        source = small.source(tree=checkout_tree(checkout, cast(Any, word)), checkout=checkout)
        lines = read_message(small.lookup(None, source), "2.99", NAMED).lines
        told[word] = [(line.source.path, line.source.line, line.source.precision, line.text) for line in lines]
        assert lines[3].source.reason == RecordUnconfirmed(NoTextOf("2.99"))
    held = "torch/csrc/Held.cpp"
    assert told["matches"] == [
        (held, 3, "registered", TEXT[2].strip()),
        (held, 5, "unknown", TEXT[4].strip()),
        (None, 7, "unknown", ""),
        ("torch/csrc/distributed/c10d/Gone.cpp", 8, "unknown", ""),
    ]
    assert {(precision, text) for _path, _line, precision, text in told["version-skew"]} == {("unknown", "")}


# --- no kernel ---


def table(small: Small) -> Any:
    at = ("build/aten/src/ATen/RegisterSparseCPU_0.cpp", 12)
    rows = Rows(
        operators=[operator(SCHEMA), operator("aten::blender(Tensor self) -> Tensor")],
        registrations=[registration("aten::blender", "SparseCPU", at)],
        tables={
            "aten::blend.Pair": [entry("CPU", "Meta"), entry("AutogradCPU", reason="autograd kernel")],
            "aten::blender": [entry("SparseCPU", at=at)],
        },
    )
    return small.lookup(rows)


def test_a_missing_kernel_is_told_by_the_table(small: Small) -> None:
    missing = missing_kernel(table(small), "aten::blend.Pair", "SparseCPU", ("self",))
    assert missing.kernels == ("CPU", "Meta", "AutogradCPU")
    assert missing.own == ("CPU", "Meta")
    assert (missing.neighbour, missing.conversion) == ("aten::blender", "to_dense()")
    assert missing.neighbour_at is not None
    assert missing.neighbour_at.line == 12


def test_no_conversion_leads_to_a_backend_without_a_kernel(small: Small) -> None:
    assert missing_kernel(table(small), "aten::blender", "QuantizedCPU").conversion is None
    assert missing_kernel(table(small), "aten::blend.Pair", "QuantizedCPU").conversion == "dequantize()"


def test_a_message_inside_of_a_traceback_is_read(small: Small) -> None:
    text = "Traceback …\nError: Could not run 'aten::blend.Pair' with arguments from the 'SparseCPU' backend. It"
    message = read_message(table(small), "2.13.0", text)
    assert message.missing is not None
    assert (message.missing.op, message.missing.key, message.is_known) == ("aten::blend.Pair", "SparseCPU", True)
    assert not read_message(table(small), "2.13.0", text.replace("blend.Pair", "gone")).is_known
    assert read_message(table(small), "2.13.0", "hello").missing is None


@pytest.mark.words
def test_a_message_of_another_build_is_told_to_be(small: Small) -> None:
    text = "Could not run 'aten::blend.Pair' with arguments from the 'CPU' backend."
    lines = [line.text for line in error_lines(read_message(table(small), "2.13.0", text))]
    assert len(lines) == 1
    assert lines[0].endswith("for CPU: the message is from another torch, or from another build")


@pytest.mark.words
def test_a_count_that_goes_back_is_no_writes(small: Small) -> None:
    lines = [
        line.text
        for line in error_lines(read_message(table(small), "2.13.0", MODIFIED.replace("version 1", "version 9")))
    ]
    assert not any("in place" in line and "-" in line for line in lines)
    assert any("is the message complete?" in line for line in lines)


# --- what was raised elsewhere ---

TRACED = """Failed to trace builtin operator
  Explanation: It cannot be: got ValueError('too large')
  Hint: Do without it.
  Hint: Please report an issue to PyTorch.

 For more details about this, see elsewhere

from user code:
   File "/somewhere/train.py", line 4, in f
    print("hello")
  File "/somewhere/other.py", line 7, in g

Set SOME_VARIABLE=1
"""


def test_what_dynamo_traced_has_the_lines_of_your_code() -> None:
    told = handed_on(TRACED)
    assert told is not None
    assert (told[0].exception, told[0].where) == ("", "torch.compile's tracing")
    assert [(left.file, left.line, left.function) for left in told[1]] == [
        ("/somewhere/train.py", 4, "f"),
        ("/somewhere/other.py", 7, "g"),
    ]
    assert first_words(told[0].message) == "Failed to trace builtin operator: ValueError('too large')"
    assert hints(TRACED) == ("Do without it.",)


@pytest.mark.parametrize("text", ["", "from user code:", "Caught in no place", 'File "x", line 3\n', "got"])
def test_other_words_hand_nothing_on(text: str) -> None:
    assert handed_on(text) is None


@pytest.mark.parametrize("piece", ["Exception raised from ", "by an inplace operation: ["])
def test_text_of_any_length_is_read_in_one_go(small: Small, piece: str) -> None:
    """A megabyte of what a pattern begins with, in one line: to try each piece on to its end would take minutes."""
    with ends(20.0):
        read_message(small.lookup, "2.13.0", f"{piece * (1_000_000 // len(piece))}\nend")


def test_a_long_message_is_read_in_one_go() -> None:
    """A missing kernel's message lists every key: 16,000 characters. This one would take hours, tried from each."""
    with ends(20.0):
        assert handed_on("Could not run.\n" + "CPU: registered at /there.cpp:1 [kernel]\n" * 20_000) is None


# --- a saved tensor that was written to ---

MODIFIED = (
    "one of the variables needed for gradient computation has been modified by an inplace operation: "
    "[torch.FloatTensor [3, 3]], which is output 0 of ExpBackward0, is at version 2; expected version 1 instead. Hint"
)


def writing(number: int, source: str, before: int, after: int, memory: int = 1, *, grad: bool = True) -> UserCall:
    written = {"tensor": "torch.FloatTensor [3]", "memory": memory, "before": before, "after": after}
    given = {"name": "self", "memory": memory, "requires_grad": grad}
    return user_call(number, {**call(number, source=source, written=[written]), "arguments": [given]})


def test_the_message_tells_tensor_and_versions(small: Small) -> None:
    told = modified_tensor(small.lookup(), MODIFIED)
    assert told == ModifiedTensor("torch.FloatTensor [3, 3]", "ExpBackward0", 0, 2, 1)
    leaf = modified_tensor(small.lookup(), MODIFIED.replace(", which is output 0 of ExpBackward0,", ""))
    assert leaf == ModifiedTensor("torch.FloatTensor [3, 3]", None, None, 2, 1)
    assert modified_tensor(small.lookup(), "no") is None


@pytest.mark.parametrize(
    ("calls", "writes", "certain"),
    [
        ([writing(1, "y.mul_(2)", 1, 2)], ("y.mul_(2)",), True),
        ([writing(1, "y.neg_()", 0, 1), writing(2, "y.mul_(2)", 1, 2)], ("y.mul_(2)",), True),  # saved between them
        ([writing(1, "f(y.mul_(2))", 1, 2), writing(2, "y.mul_(2)", 1, 2)], ("f(y.mul_(2))", "y.mul_(2)"), True),
        ([writing(1, "y.data.mul_(2)", 1, 2), writing(2, "y.mul_(2)", 1, 2)], ("y.data.mul_(2)", "y.mul_(2)"), False),
        ([writing(1, "f(y)", 0, 2), writing(2, "y.mul_(2)", 1, 2)], ("y.mul_(2)",), True),  # the inner call of two
        ([writing(1, "y.mul_(2)", 1, 2), writing(2, "z.mul_(2)", 1, 2, 5)], ("y.mul_(2)", "z.mul_(2)"), False),
        ([writing(1, "y.mul_(2)", 1, 2), writing(2, "z.mul_(2)", 1, 2, 5, grad=False)], ("y.mul_(2)",), True),
        ([writing(1, "y.mul_(2)", 2, 3)], (), False),  # after the error's version
        ([], (), False),
    ],
)  # fmt: skip
def test_the_calls_that_wrote_are_those_whose_counts_lead_there(
    calls: list[UserCall], writes: tuple[str, ...], certain: bool
) -> None:
    told = with_writes(ModifiedTensor("torch.FloatTensor [3, 3]", "ExpBackward0", 0, 2, 1), calls)
    assert (told.writes, told.certain) == (writes, certain)


def test_an_op_of_the_profiler_is_no_claim_of_cpp() -> None:
    assert innermost((claim("python", "f", event=dict(op("aten::blend").data)),), stack(STACK[2]), ()) is None


def test_without_the_stack_what_is_certain_of_the_last_call_ends_at_its_first_key(small: Small) -> None:
    """--once: no run was asked for it, and any kernel of the call may have thrown."""
    chain = step(
        "AutogradCPU", "autograd", step("CPU", "wrapper", claim("impl", "at::native::blend", status="derived"))
    )
    seen = session(more=[("ops", "raised", {"stage": "expression", "exception": "RuntimeError", "message": "no"})])
    seen = replace(seen, options=replace(seen.options, once=True))
    (left,) = cut(small.context(seen), (an_op(chain),))
    assert [held.hop.name for held in walk((left,)) if held.hop.kind in ("kernel", "impl")] == ["autograd"]


@pytest.mark.parametrize(
    "piece",
    [
        "Caught a in ",
        "\n",
        'x\n  File "a.py", line 1\n',
        "The following operation failed in the TorchScript interpreter.\nTraceback of TorchScript (",
        " from user code:\n\n",
    ],
)
def test_a_text_that_is_made_to_cost_is_read_in_a_moment(piece: str) -> None:
    """A megabyte of what a pattern begins with: tried on to its end from each, it would take minutes."""
    with ends(20.0):
        handed_on(piece * (1_000_000 // len(piece)))


def test_what_torchscript_and_dynamo_say_is_read_whole() -> None:
    compiled = 'Words:\n  File "a.py", line 3\n  x <--- HERE\nmore <--- HERE'
    told = handed_on(compiled)
    assert told is not None
    assert told[0].message == "Words"
    interpreted = (
        "The following operation failed in the TorchScript interpreter.\n"
        "Traceback of TorchScript (most recent call last):\n"
        '  File "a.py", line 3, in f\nRuntimeError: shape: no'
    )
    told = handed_on(interpreted)
    assert told is not None
    assert (told[0].message, [frame.line for frame in told[1]]) == ("shape: no", [3])
    traced = handed_on("Words\n\n\n\nfrom user code:\n" + '  File "b.py", line 4, in g\n\nSet x')
    assert traced is not None
    assert (traced[0].message, len(traced[1])) == ("Words", 1)


def test_an_example_of_a_kernel_is_of_the_same_namespace_or_torchs_own() -> None:
    registered = ["aten::send", "aten::sum", "c10d::send", "mine::other"]
    assert _as_example("mine::send", registered) == ["mine::other"]
    assert _as_example("yours::send", registered) == ["aten::send", "aten::sum"], "not what another library is for"
    assert _as_example("yours::send", ["c10d::send"]) == ["c10d::send"]
