"""Every form a line of the dispatcher's own text has had from 2.6 to 2.13."""

from __future__ import annotations

import pytest

from ptexplore.catalogue.dump import Unparsed, origin, parse_dump, parse_table


@pytest.mark.parametrize(
    ("line", "key", "alias", "inactive", "fallthrough", "file", "number", "signature"),
    [
        (
            "CPU: registered at /pytorch/build/x.cpp:12 :: (Tensor _0) -> Tensor _0 [ boxed unboxed ]",
            *("CPU", False, False, False, "/pytorch/build/x.cpp", 12, "(Tensor _0) -> Tensor _0"),
        ),
        (
            "Meta (inactive): registered at /p/m.cpp:3 :: (none) [ boxed ]",
            *("Meta", False, True, False, "/p/m.cpp", 3, None),
        ),
        (
            "Autograd[alias]: registered at /p/v.cpp:9 :: () -> () [ boxed ]",
            *("Autograd", True, False, False, "/p/v.cpp", 9, "() -> ()"),
        ),
        (
            "Autograd[alias] (inactive): registered at /p/v.cpp:9 :: (none) [ boxed ]",
            *("Autograd", True, True, False, "/p/v.cpp", 9, None),
        ),
        (
            "Named: registered at /p/n.cpp:11 :: (none) [ fallthrough boxed ]",
            *("Named", False, False, True, "/p/n.cpp", 11, None),
        ),
        (
            "Named: fallthrough registered at /p/n.cpp:11 :: (none) [ boxed ]",
            *("Named", False, False, True, "/p/n.cpp", 11, None),
        ),
        ("debug: registered by RegisterOperators", None, False, False, False, None, None, None),
        ("debug: registered at /p/s.cpp:6", None, False, False, False, "/p/s.cpp", 6, None),
        (
            "CompositeImplicitAutograd[alias]: registered by RegisterOperators :: (str[][] _0) -> str _0 [ boxed ]",
            *("CompositeImplicitAutograd", True, False, False, None, None, "(str[][] _0) -> str _0"),
        ),
        (
            "Meta: registered at /dev/null:241 :: (none) [ boxed ]",
            *("Meta", False, False, False, "/dev/null", 241, None),
        ),
        (
            "CPU: registered at /a folder/with: colon/x.py:7 :: (none) [ boxed ]",
            *("CPU", False, False, False, "/a folder/with: colon/x.py", 7, None),
        ),
    ],
)
def test_a_record(
    line: str,
    key: str | None,
    alias: bool,
    inactive: bool,
    fallthrough: bool,
    file: str | None,
    number: int | None,
    signature: str | None,
) -> None:
    (record,) = parse_dump("ns::op", f"name: ns::op\nschema: ns::op() -> ()\n{line}\nalias analysis kind: PURE\n")
    assert (record.key, record.alias, record.inactive, record.fallthrough) == (key, alias, inactive, fallthrough)
    assert (record.file, record.line, record.signature) == (file, number, signature)


def test_an_unknown_form_is_not_passed_over() -> None:
    with pytest.raises(Unparsed, match="ns::op"):
        parse_dump("ns::op", "no colon here")
    with pytest.raises(Unparsed, match="ns::op"):
        parse_table("ns::op", "CPU: registered at /p/x.cpp:1", str)


def test_table_keys_with_one_entry_are_one_even_when_apart() -> None:
    text = (
        "CPU: registered at /p/a.cpp:1 [kernel]\n"
        "CUDA: registered at /p/b.cpp:2 [default backend kernel]\n"
        "XLA: registered at /p/a.cpp:1 [kernel]\n"
        "Named: fallthrough registered at /p/n.cpp:3 [backend fallback]\n"
        "Undefined: registered by RegisterOperators [math kernel]\n"
    )
    entries = parse_table("ns::op", text, lambda file: file.removeprefix("/p/"))
    assert [entry.keys for entry in entries] == [("CPU", "XLA"), ("CUDA",), ("Named",), ("Undefined",)]
    assert [(entry.path, entry.line) for entry in entries][-2:] == [("n.cpp", 3), (None, None)]
    assert entries[2].fallthrough


@pytest.mark.parametrize(
    ("file", "path", "expected"),
    [
        (None, None, "nofile"),
        ("/dev/null", None, "python"),
        ("/site/torch/x.py", "torch/x.py", "python"),
        ("<string>", None, "python"),
        ("/p/build/aten/x.cpp", "build/aten/x.cpp", "generated"),
        ("/p/torch/csrc/autograd/generated/V.cpp", "torch/csrc/autograd/generated/V.cpp", "generated"),
        ("/p/torch/csrc/autograd/VariableTypeManual.cpp", "torch/csrc/autograd/VariableTypeManual.cpp", "handwritten"),
        ("/users/me/extension.cpp", None, "handwritten"),
    ],
)
def test_origin(file: str | None, path: str | None, expected: str) -> None:
    assert origin(file, path) == expected
