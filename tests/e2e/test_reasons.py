"""What a trace says where it knows no line, or several: each sentence against the text and the binary."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ptexplore.model.places import Runtime
from tests.harness import THOROUGH, Cli, InProcess, torch_version

pytestmark = pytest.mark.e2e
SPARSE = "(a.to_sparse_csr() @ b) * a.add_(1)"  # MKL's sparse functions, views, versions, storages
MATCHED = torch_version().startswith("2.6.0")


@pytest.fixture(scope="module")
def hops(sourced_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What ran, with the 2.6.0 source beside the torch under test: its own, or that of another version."""
    return Cli(sourced_cache, tmp_path_factory.mktemp("reasons"))("trace", SPARSE, "--json").hops


def codes(source: dict[str, Any]) -> set[str]:
    """The codes of why a place is no better known."""
    found, pending = set(), [source["reason"]]
    while pending:
        reason = pending.pop()
        if reason is not None:
            found.add(reason["code"])
            pending += [*reason.get("reasons", ()), reason.get("because")]
    return found


def named(hops: list[dict[str, Any]], beginning: str) -> list[dict[str, Any]]:
    """The sources of the frames whose symbol begins so."""
    symbols = [(hop["native"]["symbol"], hop["source"]) for hop in hops if hop["native"]]
    return [source for symbol, source in symbols if symbol.startswith(beginning)]


def body(text: list[str], line: int) -> str:
    """A class's text, from a line to the brace that closes what opens there."""
    depth, kept = 0, []
    for row in text[line - 1 :]:
        code = row.partition("//")[0]
        kept.append(code)
        depth += code.count("{") - code.count("}")
        if depth == 0 and "{" in "".join(kept):
            break
    return "\n".join(kept)


def test_what_the_compiler_made_is_not_missing(
    hops: list[dict[str, Any]], sourced: Cli, source_tree: Path, runtime: Runtime
) -> None:
    """No class that is named writes such a member, and no library exports it as it does what a .cpp file defines."""
    made = [hop for hop in hops if "implicit-member" in codes(hop["source"])]
    assert {"c10::VariableVersion::VersionCounter::~VersionCounter"} <= {hop["name"] for hop in made}
    libraries = [Path(runtime.torch_dir, "lib", name) for name in sorted({hop["native"]["library"] for hop in made})]
    nm = ["nm", "--defined-only", *libraries]  # half a million symbols: seconds
    symbols = subprocess.run(nm, capture_output=True, text=True, check=True).stdout if THOROUGH else ""
    bindings = {mangled: kind for _, kind, mangled in (row.split(" ", 2) for row in symbols.splitlines() if " " in row)}
    for hop in made:
        source, last = hop["source"], hop["name"].rsplit("::", 1)[-1]
        path = source["path"]  # of the wheel's own headers where their text is indexed
        whole = sourced.text_of(path) if source["tree"] == "runtime" else (source_tree / path).read_text()
        text = body(whole.splitlines(), source["line"])
        assert re.search(rf"\b(?:class|struct)\b[^;{{]*\b{re.escape(last.lstrip('~'))}\b", text)
        assert not re.search(rf"(?<!\w){re.escape(last)}\(", text)
        assert source["precision"] == "unknown"
        assert MATCHED or source["tree"] == "runtime" or "other-version" in codes(source)
        assert not bindings or bindings[hop["native"]["mangled"]] in ("W", "V", "t"), hop["name"]
    missing = [hop["name"] for hop in hops if "no-definition" in codes(hop["source"])]
    assert not [name for name in missing if "~VersionCounter" in name or "~ViewInfo" in name]


def test_a_pointer_is_neither_a_reference_nor_a_class(hops: list[dict[str, Any]], source_tree: Path) -> None:
    """`intrusive_ptr(StorageImpl*)`: the text has one constructor that takes a pointer alone."""
    sources = named(hops, "c10::intrusive_ptr<c10::StorageImpl, c10::detail::intrusive_target_default_null_type"
                    "<c10::StorageImpl> >::intrusive_ptr(c10::StorageImpl*)")  # fmt: skip
    text = (source_tree / "c10/util/intrusive_ptr.h").read_text().splitlines()
    line = next(n for n, row in enumerate(text, 1) if "intrusive_ptr(TTarget* target)" in row and "weak" not in row)
    assert {(source["path"], source["line"]) for source in sources} <= {("c10/util/intrusive_ptr.h", line)}
    assert sources or not MATCHED


def test_parameters_that_a_macro_writes_hide_nothing(hops: list[dict[str, Any]], source_tree: Path) -> None:
    """`void create_csr<float>(MKL_SPARSE_CREATE_CSR_ARGTYPES(float))`: the specialization says which it is."""
    sources = named(hops, "void at::mkl::sparse::create_csr<float>(")
    assert sources
    for source in sources:
        text = (source_tree / source["path"]).read_text().splitlines()
        assert "create_csr<float>(" in text[source["line"] - 1]
        assert source["precision"] == ("located" if MATCHED else "version-skew")


def test_every_line_of_another_version_names_it(hops: list[dict[str, Any]]) -> None:
    """Lambdas' too; and what is not known names the version it was looked for in."""
    skewed = [hop["source"] for hop in hops if hop["source"]["precision"] == "version-skew"]
    assert bool(skewed) is not MATCHED
    told = [source["reason"]["text"] for source in skewed]
    assert all("2.6.0" in text and torch_version() in text for text in told)
    lambdas = [hop["source"] for hop in hops if codes(hop["source"]) & {"lambda-inside", "lambda-unread"}]
    assert lambdas
    for source in lambdas:
        if source["tree"] != "runtime" and not MATCHED and source["path"]:
            assert torch_version() in source["reason"]["text"]


def test_candidates_are_said_to_fit_as_far_as_they_do(hops: list[dict[str, Any]]) -> None:
    """Where types decide, each candidate's text has them; where their number alone does, the code says so."""
    how = {"defined-alike", "defined-with-as-many", "defined-with-other-types", "several-lambdas"}
    how |= {"several-lambdas-outside", "defined-in-generated", "shared-code"}
    for hop in hops:
        if hop["source"]["precision"] == "ambiguous" and hop["native"]:
            assert codes(hop["source"]) & how, hop["source"]["reason"]


def test_the_wheel_is_said_to_hold_no_text_only_where_the_checkout_was_asked(
    sourced_command: InProcess, sourced_cache: Path
) -> None:
    """pybind11 binds what compiles a recorded graph to a lambda: no index has a function of that name."""
    made = sourced_command("trace", "torch.jit.trace(torch.sin, (a,), check_trace=False)", "--no-native", "--json")
    reasons = [hop["source"]["reason"] for hop in made.hops if "not-in-wheel" in codes(hop["source"])]
    [checkout] = (sourced_cache / "checkouts").glob("[!.]*")
    assert reasons
    assert all(reason["trees"][0].startswith(checkout.name) for reason in reasons)
