"""A recorder leaves nothing behind: hooks, thread-local sets, modules and registrations are as they were."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
PROBE = Path(__file__).resolve().parents[2] / "ptexplore" / "probe"


@pytest.fixture(autouse=True)
def nothing_leaks():
    before = (sys.getprofile(), sys.gettrace(), local_sets(), len(torch._C._dispatch_get_all_op_names()))
    yield
    assert (sys.getprofile(), sys.gettrace(), local_sets(), len(torch._C._dispatch_get_all_op_names())) == before


def local_sets() -> tuple[str, str]:
    return repr(torch._C._dispatch_tls_local_include_set()), repr(torch._C._dispatch_tls_local_exclude_set())


def module(name: str):
    return importlib.import_module(f"ptexplore.probe.{name}")


def test_frames_restore_the_hook_they_found() -> None:
    def mine(*_: object) -> None:
        return None

    sys.setprofile(mine)
    try:
        with module("frames").recording() as recorder:
            assert sys.getprofile() is not mine
            torch.add(torch.ones(2), 1)
        assert sys.getprofile() is mine
    finally:
        sys.setprofile(None)
    assert any(d.get("method") == "add" for d in recorder.marked.values())


def test_frames_restore_after_an_exception() -> None:
    found = []
    with pytest.raises(RuntimeError), module("frames").recording() as recorder:
        found.append(recorder)
        torch.mm(torch.ones(2, 2), torch.ones(3, 3))
    assert not found[0]._open
    assert not found[0].lost


def test_recording_imports_no_profiler_package() -> None:
    profile = module("torch_api").profiler()
    before = set(sys.modules)
    with profile:
        torch.add(torch.ones(2), 1)
    new = {name for name in set(sys.modules) - before if name.startswith("torch.profiler")}
    assert not new


def test_a_pass_leaves_nothing(tmp_path: Path) -> None:
    request = {
        "expression": "F.layer_norm(a, (3,)) @ b", "script": None, "variables": [], "setup": [], "contexts": [],
        "grad": True, "backward": True, "once": True, "seed": 0,
    }  # fmt: skip
    answer = module("passes").run("once", request, {})
    assert answer["result"]["description"].startswith("Tensor[3, 3]")
    assert {o["recorder"] for o in answer["observations"]} == {"ops", "frames", "dispatch"}


def test_recorders_import_nothing_of_ours() -> None:
    for file in PROBE.glob("*.py"):
        text = file.read_text(encoding="utf-8")
        assert "import ptexplore" not in text
        assert "from ptexplore" not in text


def test_a_profiler_that_never_began_is_ended_without_a_word(capfd: pytest.CaptureFixture[str]) -> None:
    """As where no memory is left: torch's log would warn of it, on the program's own standard error."""
    api = module("torch_api")
    with api.profiler():
        pass  # what the very first one says
    capfd.readouterr()
    torch.autograd._disable_profiler()
    warning = capfd.readouterr().err
    if "disableProfiler" not in warning:
        pytest.skip("this torch does not warn")
    with api.quiet_profiler():
        torch.autograd._disable_profiler()
    assert capfd.readouterr().err == ""
    torch.autograd._disable_profiler()
    assert "disableProfiler" in capfd.readouterr().err, "its level is as before"
