"""Texts of the compiler's log are read as far as their constant words are there; what is missing stays unknown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ptexplore
from ptexplore.model.compiler_log import CodeLine, DynamicChange
from ptexplore.resolve.compiler.file_names import of_program
from ptexplore.resolve.compiler.texts import is_constant, read_break, read_guards, read_reason, read_recompile

NEW_BREAK = """\
Graph break in user code at /a/train.py:12
Graph Break Reason: A kind
  Explanation: First part of it
    and its second line.
  Hint: Do this.
  Hint: Or that.

  Developer debug context: call f

 For more details about this graph break, please visit: https://example.org/gb/gb0170.html

User code traceback:
  File "/a/train.py", line 20, in main
    net(x)
  File "/a/train.py", line 12, in forward
    if y.sum() > 0:

Traceback (most recent call last):
  File "/t/torch/_dynamo/symbolic_convert.py", line 700, in inner
    value = self.pop()
  File "/t/torch/_dynamo/exc.py", line 99, in unimplemented
    raise Unsupported(msg)
"""
OLD_BREAK = """\
Graph break in user code at /a/train.py:12
Reason: Unsupported: builtin: print
User code traceback:
  File "/a/train.py", line 12, in forward
    print("a")
"""


def test_a_break_is_read() -> None:
    told = read_break(NEW_BREAK)
    assert told is not None
    assert told.at == ("/a/train.py", 12)
    assert told.reason.kind == "A kind"
    assert told.reason.explanation == "First part of it and its second line."
    assert told.reason.hints == ("Do this.", "Or that.")
    assert (told.reason.number, told.reason.context) == ("GB0170", "call f")
    assert told.stack[-1] == CodeLine("/a/train.py", 12, "forward", "if y.sum() > 0:")
    assert told.gave_up is not None
    assert (told.gave_up.line, told.gave_up.function) == (700, "inner")


def test_a_break_of_an_older_version_has_no_hints() -> None:
    told = read_break(OLD_BREAK)
    assert told is not None
    assert told.at == ("/a/train.py", 12)
    assert told.reason.kind == "Unsupported: builtin: print"
    assert (told.reason.explanation, told.reason.hints, told.reason.number) == ("", (), "")
    assert told.gave_up is None


def test_the_frames_of_our_probe_are_not_of_the_program() -> None:
    own = str(Path(ptexplore.__file__).parent / "probe" / "passes.py")
    frames = (CodeLine(own, 3, "run"), CodeLine("<frozen runpy>", 88, "_run_code"), CodeLine("/a/train.py", 20, "main"))
    assert of_program(frames) == frames[2:]
    assert of_program(frames[2:]) == frames[2:]


def test_a_guard_that_torch_made_names_the_line_of_torch() -> None:
    text = "+- LAMBDA_GUARD: 3*L['x'].size()[0] <= 4096  # (_inductor/codegen/cpp.py:2273 in need_use_acc_helper)"
    [guard] = read_guards(text)
    assert guard.at == CodeLine("_inductor/codegen/cpp.py", 2273, "need_use_acc_helper")


def test_another_text_is_no_break() -> None:
    assert read_break("something else\n") is None
    assert read_reason("").kind == ""


GUARDS = """
TREE_GUARD_MANAGER:
+- RootGuardManager
| +- GLOBAL_STATE: ___check_global_state()
| +- GuardManager: source=L['x'], type=<class 'torch.Tensor'>
| | +- TENSOR_MATCH: check_tensor(L['x'])            # y = x * 2  # /a/train.py:14 in helper
| | +- NO_TENSOR_ALIASING
| +- LAMBDA_GUARD: 2 <= L['x'].size()[0]  # y = x * 2  # /a/t.py:4 in f (user code shown is first use of this value)
"""


def test_guards_are_read_with_their_lines() -> None:
    guards = list(read_guards(GUARDS))
    assert [guard.kind for guard in guards] == ["GLOBAL_STATE", "TENSOR_MATCH", "NO_TENSOR_ALIASING", "LAMBDA_GUARD"]
    assert guards[0].at is None
    assert guards[1].at == CodeLine("/a/train.py", 14, "helper", "y = x * 2")
    assert guards[3].at == CodeLine("/a/t.py", 4, "f", "y = x * 2")
    assert guards[3].is_first_use
    assert not guards[1].is_first_use


@pytest.mark.parametrize(
    "guard, checks, subject, old, new",
    [
        ("tensor 'y' size mismatch at index 1. expected 2, actual 4", "size", "y", "2", "4"),
        ("tensor 'y' stride mismatch at index 0. expected 2, actual 4", "stride", "y", "2", "4"),
        ("tensor 'y' rank mismatch. expected 1, actual 2", "rank", "y", "1", "2"),
        ("tensor 'y' dtype mismatch. expected Float, actual Double", "dtype", "y", "Float", "Double"),
        ("tensor 'y' requires_grad mismatch. expected requires_grad=0", "requires_grad", "y", "False", "True"),
        ("GLOBAL_STATE changed: grad_mode ", "state", "grad_mode", "", ""),
        ("n == 1", "value", "n", "1", "2"),
        ("len(items) == 1", "length", "len(items)", "1", ""),
        ("___check_type_id(n, 1), type=<class 'int'>", "class", "n", "int", "int"),
        ("n == 1 or n == 2", "other", "", "", ""),
        ("not items", "falsy", "items", "", ""),
        ("2 <= x.size()[0]", "bounds", "x", "", ""),
        ("n <= 2", "bounds", "n", "", "2"),
    ],
)
def test_a_failed_guard_says_what_differed(guard: str, checks: str, subject: str, old: str, new: str) -> None:
    text = json.dumps([f"2/0: {guard:<60}  # return a + n  # /a/train.py:14 in helper"])
    (check,) = read_recompile(text, {"n": "2"})
    assert (check.version, check.checks, check.subject, check.old, check.new) == ("2/0", checks, subject, old, new)
    assert check.at == CodeLine("/a/train.py", 14, "helper", "return a + n")


def test_one_reason_is_no_list() -> None:
    (check,) = read_recompile("0/0: n == 1", {})
    assert (check.version, check.text, check.new, check.at) == ("0/0", "n == 1", "", None)


def test_the_stack_of_the_user_says_the_line_where_the_guard_does_not() -> None:
    stack = 'User stack trace:\n  File "/a/t.py", line 3, in f\n    return x'
    (check,) = read_recompile(f"0/0: tensor 'x' rank mismatch. expected 1, actual 2\n{stack}", {})
    assert check.at == CodeLine("/a/t.py", 3, "f", "return x")


def test_bounds_of_a_size_have_the_line_of_the_bound_that_failed() -> None:
    first = "if x.shape[0] > 1:  # /a/train.py:5 in f (user code shown is first use of this value--the guard is not)"
    second = "if x.shape[0] > 8:  # /a/train.py:7 in g (t.py:1 in h)"
    text = json.dumps([f"0/0: 2 <= x.size()[0] <= 8  # {first} and {second}"])
    (above,) = read_recompile(text, {"x.size()[0]": "9"})
    assert (above.checks, above.subject, above.index, above.least, above.most, above.new) == (
        "bounds", "x", 0, "2", "8", "9",
    )  # fmt: skip
    assert above.at == CodeLine("/a/train.py", 7, "g", "if x.shape[0] > 8:")
    assert not above.is_first_use
    (below,) = read_recompile(text, {"x.size()[0]": "1"})
    assert below.at == CodeLine("/a/train.py", 5, "f", "if x.shape[0] > 1:")
    assert below.is_first_use


def test_a_break_inside_of_an_operator_names_the_operator() -> None:
    text = NEW_BREAK.replace("A kind\n", "A kind\n  Higher Order Operator: torch.utils.checkpoint.checkpoint\n")
    told = read_break(text)
    assert told is not None
    assert (told.reason.kind, told.reason.operator) == ("A kind", "torch.utils.checkpoint.checkpoint")
    assert told.reason.explanation == "First part of it and its second line."


def test_the_list_in_an_error_is_its_explanation_and_its_stack_is_no_reason() -> None:
    stack = 'User stack:\n  File "/a/train.py", line 8, in f\n    if x.size(0) == 5:\n       ^^^^^^'
    reason = read_reason(f"Constraints violated (L['x'].size()[0])!\n  - You marked it.\n  - And this.\n\n{stack}\n")
    assert reason.kind == "Constraints violated (L['x'].size()[0])!"
    assert reason.explanation == "You marked it. And this."
    assert reason.situation == ""


def test_a_request_to_file_an_issue_is_no_remedy() -> None:
    assert read_reason("A kind\n  Hint: Please file an issue to PyTorch.\n  Hint: Do this.").hints == ("Do this.",)


@pytest.mark.parametrize(
    "written, hint",
    [
        (
            "torch keeps integers of modules, so make it a tensor.",
            "torch keeps integers of modules, so make it a tensor.",
        ),
        ("type int", ""),
        ('guard on "scale".value, type int', ""),
        ('guard on "scale", make it a tensor', "make it a tensor"),
    ],
)
def test_a_hint_of_a_guard_is_what_to_do(written: str, hint: str) -> None:
    text = json.dumps([f"0/0: self.n == 1  # return x * self.n  # /a/train.py:14 in forward (HINT: {written})"])
    (check,) = read_recompile(text, {})
    assert check.hint == hint
    assert check.at == CodeLine("/a/train.py", 14, "forward", "return x * self.n")


def test_a_value_that_is_still_compared_is_no_dynamic_value() -> None:
    guards = list(
        read_guards(
            "| +- EQUALS_MATCH: self.n == 2  # return x * self.n  # /a/t.py:9 in forward\n"
            "| +- TENSOR_MATCH: check_tensor(L['x'], Tensor, size=[5, 3], stride=[3, 1])  # a  # t.py:9 in f\n"
            "| +- TENSOR_MATCH: check_tensor(L['y'], Tensor, size=[None, 3], stride=[3, 1])  # a  # t.py:9 in f\n"
        )
    )
    constant = {
        name: is_constant(DynamicChange("0/1", name, reason, "1", "2"), guards)
        for name, reason in [
            ("L['self'].n", "scalar change"), ("L['m']", "scalar change"), ("L['x']", "size change"),
            ("L['y']", "size change"), ("L['z']", "size change"),
        ]
    }  # fmt: skip
    assert constant == {"L['self'].n": True, "L['m']": False, "L['x']": True, "L['y']": False, "L['z']": False}
