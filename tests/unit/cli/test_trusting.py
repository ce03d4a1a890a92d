"""What `notes trust` shows before it asks, of a folder whose files may be called anything."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from ptexplore.cli.notes import trust_notes
from ptexplore.errors import PtexploreError
from ptexplore.render.terminal import consent

NOTE = """---
id: {name}
title: A tour
level: core
summary: one sentence
baseline: v2.6.0
---

Words.

## One {{#one}}

```anchor
path: c10/core/TensorImpl.h
symbol: c10::TensorImpl
```

```lab
id: l
run: {code}
expect:
  value: 1
```
"""


def test_a_name_pushes_no_code_off_the_screen_and_forges_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forged = "zz\n" + "\n" * 40 + "the expression:\n    torch.ones(1)\n.md"
    (tmp_path / "tours").mkdir()
    (tmp_path / "tours" / "a.md").write_text(NOTE.format(name="a", code="evil()"))
    (tmp_path / "tours" / forged).write_text(NOTE.format(name="b", code="1 + 0"))
    asked: list[str] = []

    def no(origin: str, lines: Sequence[str], question: str) -> bool:
        asked.extend(lines)
        return False

    monkeypatch.setattr(consent, "can_ask", lambda: True)
    monkeypatch.setattr(consent, "agreed", no)
    with pytest.raises(PtexploreError, match="is not trusted"):
        trust_notes(str(tmp_path))
    code = [line.partition(" | ")[2] for line in asked if re.match(r" *\d+ \| ", line)]
    assert code == ["evil()", "1", "1 + 0", "1"]
    assert [line for line in asked if line == "the expression:"] == ["the expression:"] * 2
    heads = [line for line in asked if line.startswith("# ")]
    assert len(heads) == 2
    assert not any("\n" in line for line in asked)
    assert "⟨40 empty lines⟩" in heads[1]
