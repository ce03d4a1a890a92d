"""The example beside an error of view: it raises the same error, and its drawing is that of torch's own strides."""

from __future__ import annotations

import pytest
import torch

from ptexplore.model.trace import Cause
from ptexplore.view.trace.ending import OF_STRIDES, cause_lines


def test_the_example_is_true() -> None:
    lines = [line.text for line in cause_lines(Cause(code=OF_STRIDES))]
    assert any("t = torch.ones(2, 3).t()" in line and "t.view(6)" in line for line in lines)
    t = torch.arange(6).view(2, 3).t()
    index_at = {int(t[i, j]): f"{i},{j}" for i in range(3) for j in range(2)}
    assert any(line.split()[-7:] == ["t", *(index_at[cell] for cell in range(6))] for line in lines)
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        t.view(6)
