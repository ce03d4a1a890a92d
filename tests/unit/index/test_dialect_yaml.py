"""native_functions.yaml and derivatives.yaml read by line say what a YAML parser says, with the lines of every part."""

from __future__ import annotations

from pathlib import Path

import yaml

from ptexplore.index.dialect.yaml import yaml_rows

FOLDER = Path(__file__).parents[2] / "data" / "minitorch" / "dialect"


def test_operators_and_their_kernels() -> None:
    path = "aten/src/ATen/native/native_functions.yaml"
    rows, refs = yaml_rows(path, (FOLDER / "native_functions.yaml").read_text())
    assert [(one.line, one.end_line, one.kind, one.name, one.context, one.target) for one in rows] == [
        (3, 8, "yaml-function", "aten::blend.out", None, None),
        (7, 7, "yaml-dispatch", "aten::blend.out", "CPU", "blend_out"),
        (7, 7, "yaml-dispatch", "aten::blend.out", "CUDA", "blend_out"),
        (8, 8, "yaml-dispatch", "aten::blend.out", "MPS", "blend_out_mps"),
        (10, 12, "yaml-function", "aten::blend", None, None),
        (14, 16, "yaml-function", "aten::mirror.dims", None, None),
        (20, 20, "yaml-function", "mini::spin.out", None, None),
    ]
    assert {one.path for one in rows} == {path}
    assert [(one.line, one.name) for one in refs] == [
        (7, "blend_out"),
        (8, "blend_out_mps"),
        (14, "mirror"),  # no kernels of its own: the C++ function of its name
        (20, "spin_out"),
    ]


def test_schemas_are_those_a_parser_reads() -> None:
    text = (FOLDER / "native_functions.yaml").read_text()
    parsed = [" ".join(one["func"].split()) for one in yaml.safe_load(text) if "func" in one]
    rows, _ = yaml_rows("native_functions.yaml", text)
    assert [one.text for one in rows if one.kind == "yaml-function"] == parsed


def test_derivatives_and_the_functions_they_call() -> None:
    rows, refs = yaml_rows("tools/autograd/derivatives.yaml", (FOLDER / "derivatives.yaml").read_text())
    assert [(one.line, one.end_line, one.kind, one.name) for one in rows] == [
        (1, 4, "yaml-derivative", "aten::blend"),
        (6, 13, "yaml-derivative", "aten::mirror.dims"),
    ]
    assert [(one.line, one.name, one.text) for one in refs] == [
        (2, "spread", "spread"),
        (2, "scale", "at::scale"),
        (10, "unmirror", "unmirror"),
        (11, "turn_back", "turn_back"),
    ]


def test_other_yaml_has_no_rows() -> None:
    assert yaml_rows("tools/autograd/deprecated.yaml", "- name: add(Tensor self) -> Tensor\n  aten: add(self)\n") == (
        [],
        [],
    )


def test_broken_yaml_gives_what_can_be_read() -> None:
    text = "- func: \n- func: (\n  dispatch:\n    CPU: [x\n    : y\n"
    text += "- func: good(Tensor x) -> Tensor\n  dispatch:\n    CPU: f\n\t"
    rows, _ = yaml_rows("native_functions.yaml", text)
    assert [(one.line, one.name, one.target) for one in rows] == [(6, "aten::good", None), (8, "aten::good", "f")]
    assert yaml_rows("derivatives.yaml", "\x00- name: a(\n" * 10_000 + "- name:") == ([], [])
