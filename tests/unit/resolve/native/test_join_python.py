"""Python's functions among the frames: on one clock with operators and functions of C++, shown or folded."""

from __future__ import annotations

from typing import Any

from ptexplore.model import reasons
from ptexplore.model.trace import Finding
from ptexplore.resolve.claims import Claim
from ptexplore.resolve.native.join import join
from tests.unit.resolve.making import Rows, Small, claim, operator, session, shape
from tests.unit.resolve.native_calls import calls, part

TORCH = "/site-packages/torch"
LIBPYTHON = "@libpython3.11.so.1.0"
MUL = "at::_ops::mul_T::call(int)"


def python(name: str, line: int, *inside: Claim, file: str = "function.py") -> Claim:
    data = {"type": "frame", "file": f"{TORCH}/{file}", "line": line, "function": name}
    return claim("python", name, *inside, event=data, evidence=(40,))


def builtin(name: str, *inside: Claim) -> Claim:
    data = {"type": "builtin", "table": "torch", "method": name, "tls_include": 0, "tls_exclude": 0}
    return claim("binding", f"torch.{name}", *inside, event=data)


def mul() -> Claim:
    return claim("op", "aten::mul", event={"type": "op", "name": "aten::mul"})


def stepped(small: Small, text: str, *claims: Claim, **part: Any) -> tuple[str, list[Finding]]:
    """The tree after the join, and the findings. Torch is where `TORCH` says."""
    rows = Rows(operators=[operator("aten::mul.T(int x) -> Tensor", cpp_name="mul_T")])
    context = small.context(session(native=[calls(text, **part)], torch_dir=TORCH), rows, small.source())
    return shape(list(join(context, claims))), [finding for finding, _ in context.findings]


APPLY, FORWARD, OTHER = (f"${TORCH}/function.py:10 apply", f"${TORCH}/function.py:20 forward", "$/lib/abc.py:1 call")


def test_a_c_function_stands_between_the_python_functions_that_it_is_between(small: Small) -> None:
    """Function.apply calls THPFunction_apply, which calls forward, which multiplies by a slot that has no event."""
    text = f"""
{LIBPYTHON} Eval
 {APPLY}
  unwrap
  THPFunction_apply as apply
   unpack
   {LIBPYTHON} Eval
    {FORWARD}
     {LIBPYTHON} multiply
      THPVariable_mul
       {MUL}
   wrap
  after
"""
    tree, findings = stepped(small, text, python("apply", 10, builtin("apply", python("forward", 20, mul()))))
    assert tree == "apply(unwrap torch.apply(unpack forward(THPVariable_mul(aten::mul.T)) wrap) after)"
    assert findings == []


def test_what_a_folded_python_function_calls_hangs_under_the_shown_one_around_it(small: Small) -> None:
    text = f"""
{LIBPYTHON} Eval
 {APPLY}
  {OTHER}
   {LIBPYTHON} Eval
    storage
 {FORWARD}
  size
"""
    tree, _ = stepped(small, text, python("apply", 10), python("forward", 20))
    assert tree == "apply(storage) forward(size)"


def test_one_of_torchs_that_no_event_tells_of_is_shown_where_it_called_c(small: Small) -> None:
    text = f"{LIBPYTHON} Eval\n {APPLY}\n  {FORWARD}\n   size\n ${TORCH}/function.py:30 idle\n"
    assert stepped(small, text, python("apply", 10))[0] == "apply(forward(size))"


def test_of_two_calls_of_a_function_each_keeps_its_own(small: Small) -> None:
    text = f"{LIBPYTHON} Eval\n {APPLY}\n  {FORWARD}\n   a\n  {FORWARD}\n   b\n {FORWARD}\n  c\n"
    claims = [python("apply", 10, python("forward", 20), python("forward", 20)), python("forward", 20)]
    assert stepped(small, text, *claims)[0] == "apply(forward(a) forward(b)) forward(c)"


def test_a_call_that_only_the_other_pass_made_takes_no_frame_of_its_neighbours(small: Small) -> None:
    """The first run filled a cache: the function that did so is none of the stepped run's, which is the one shown."""
    text = f"{LIBPYTHON} Eval\n {APPLY}\n  a\n  {FORWARD}\n   b\n"
    tree, findings = stepped(small, text, python("apply", 10, python("fill", 50), python("forward", 20)))
    assert tree == "apply(a forward(b))"
    assert findings == []  # torch's own functions run for whoever looks at a tensor, too


def test_where_a_function_of_yours_ran_in_the_other_run_alone_it_is_named(small: Small) -> None:
    text = f"{LIBPYTHON} Eval\n {APPLY}\n  {FORWARD}\n   b\n"
    own = {"type": "frame", "file": "<--setup 1>", "line": 3, "function": "mine"}
    mine = claim("python", "mine", python("forward", 20), event=own)
    tree, findings = stepped(small, text, python("apply", 10, mine))
    assert tree == "apply(forward(b))"
    (finding,) = findings
    assert finding.kind == "other-run"
    assert isinstance(finding.told, reasons.RanBefore)
    assert finding.told.names == (reasons.NameAlone("mine()"),)


def test_where_a_function_ran_as_often_none_is_left_out(small: Small) -> None:
    """Which call is which may not be known: it ran, all the same."""
    text = f"{LIBPYTHON} Eval\n {FORWARD}\n  b\n {APPLY}\n  a\n"
    tree, findings = stepped(small, text, python("apply", 10), python("forward", 20))
    assert ("apply" in tree, "forward" in tree) == (True, True)
    assert findings == []


def test_where_pythons_calls_are_not_known_it_is_said(small: Small) -> None:
    text = f"{LIBPYTHON} Eval\n a\n"
    _, findings = stepped(small, text, unordered={"code": "other-builtins"}, ordered=False)
    assert [finding.kind for finding in findings] == ["cut"]
    assert findings[0].told == reasons.FramesUnordered(reasons.OtherBuiltins())


def test_the_interpreters_own_instructions_are_the_loops(small: Small) -> None:
    """A Python function has none: those outside its calls are the interpreter's, which runs it."""
    frames = part(1, calls(f"{LIBPYTHON} Eval\n {APPLY}\n  a\n")).frames
    assert [frame.instructions for frame in frames] == [30, 20, 10]
    assert frames[0].own == 20
