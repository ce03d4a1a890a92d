"""The API's names are loaded when they are used; what is no text is refused; docs/api.md says what docstrings say."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ptexplore

ROOT = Path(__file__).parents[3]


def test_importing_loads_nothing() -> None:
    code = "import sys; before = set(sys.modules); import ptexplore; print(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert loaded - sys.stdlib_module_names == {"ptexplore"}


def test_a_name_that_is_none() -> None:
    assert set(ptexplore.__all__) <= set(dir(ptexplore))
    with pytest.raises(AttributeError, match="nothing"):
        _ = ptexplore.nothing  # type: ignore[attr-defined]


def public() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in ptexplore.__all__:
        thing = getattr(ptexplore, name)
        found[name] = thing
        if inspect.isclass(thing) and not issubclass(thing, Exception):
            found |= {f"{name}.{member}": value for member, value in vars(thing).items() if member[:1] != "_"}
    return found


@pytest.mark.parametrize("name", sorted(public()))
def test_every_public_name_has_a_docstring_with_an_example(name: str) -> None:
    assert re.search(r"^>>> import .*ptexplore", inspect.getdoc(public()[name]) or "", re.MULTILINE)


@pytest.mark.parametrize("wrong", [lambda: 1, len, print])
def test_a_callable_is_refused_with_the_reason(wrong: Any) -> None:
    for ask in (ptexplore.op, ptexplore.find, ptexplore.show, ptexplore.refs, ptexplore.callers):
        with pytest.raises(ptexplore.PtexploreError) as caught:
            ask(wrong)
        assert "callable" in caught.value.message
        assert "cannot be sent there with its variables" in caught.value.why
    with pytest.raises(ptexplore.PtexploreError, match="variable a"):
        ptexplore.trace("a + b", variables={"a": wrong})


@pytest.mark.parametrize("wrong", [1, b"a + b", ["a"]])
def test_what_is_no_text_is_refused(wrong: Any) -> None:
    with pytest.raises(ptexplore.PtexploreError, match="not a text"):
        ptexplore.trace(wrong)


def test_a_trace_is_of_one_thing(tmp_path: Path) -> None:
    both = {"expression": "a", "script": tmp_path / "x.py"}
    for arguments in ({}, both, {"script": "x.py", "module": "x"}):
        with pytest.raises(ptexplore.PtexploreError, match="an expression, a script or a module"):
            ptexplore.trace(**arguments)  # type: ignore[arg-type]


def test_the_document_is_what_the_docstrings_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    from lib.api_docs import document

    assert (ROOT / "docs/api.md").read_text(encoding="utf-8") == document(), "run scripts/api-docs"
