"""`ptexplore lsp`, asked by a real client (pytest-lsp), and by Neovim where it is installed."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests import small_source
from tests.harness import TARGET, Cli, torch_folder

pytest.importorskip("pytest_lsp", reason="needs pytest-lsp: pip install -e '.[test]'")

from lsprotocol import types as lsp
from pytest_lsp import client_capabilities, make_test_lsp_client

pytestmark = pytest.mark.e2e

Asking = Callable[[Any], Awaitable[Any]]  # what a client sends back is of many types
KERNEL, BLEND = "aten/src/ATen/native/cpu/BlendKernel.cpp", "aten/src/ATen/native/Blend.cpp"
YAML = "aten/src/ATen/native/native_functions.yaml"
FILES = small_source.FILES | {
    BLEND: small_source.FILES[BLEND].replace(
        "int BlendIterator::numel() const { return 3; }",
        "int BlendIterator::numel() const { return 3; }\n"
        'Tensor blend(const Tensor& self) { log("ü😀"); return lone(self); }\n'
        "Tensor lone(const Tensor& self) { return self; }",
    ),
    "c10/macros/Marks.h": f"""{small_source.FILES["c10/macros/Marks.h"]}
#define DECLARE_DISPATCH(fn, name) extern fn name;
#define DEFINE_DISPATCH(name) struct name name
#define TORCH_IMPL_FUNC(name) void structured_##name::impl
""",
}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """The command with a small source and its index; the installed torch has no index."""
    folder = tmp_path_factory.mktemp("lsp")
    small_source.write(folder / "source", FILES)
    cli = Cli(folder / "cache", folder / "source")
    assert cli("fetch", "--from", str(folder / "source")).code == 0
    indexed = cli("index", "--checkout", "source")
    assert indexed.code == 0, indexed
    return cli


def served(cli: Cli, ask: Asking, encodings: list[str] | None = None, config: Path | None = None) -> Any:
    """Returns what `ask` returns, with a server of its own for an editor with these encodings."""

    async def talk() -> Any:
        client: Any = make_test_lsp_client()
        target = ("--python", TARGET) if TARGET else ()
        environment = cli.environment() | ({"PTEXPLORE_CONFIG": str(config)} if config is not None else {})
        await client.start_io(cli.python, "-m", "ptexplore", "lsp", *target, env=environment, cwd=cli.cwd)
        capabilities = client_capabilities("neovim@v0.11.0")
        assert capabilities.general is not None
        capabilities.general.position_encodings = encodings
        parameters = lsp.InitializeParams(process_id=os.getpid(), root_uri=None, capabilities=capabilities)
        result = await client.initialize_session(parameters)
        expected = encodings[0] if encodings else "utf-16"
        assert result.capabilities.position_encoding == expected
        try:
            return await asyncio.wait_for(ask(client), 120)
        finally:
            await client.shutdown_session()
            await client.stop()

    with ThreadPoolExecutor(1) as thread:  # the browser's tests leave a running loop in their thread
        return thread.submit(lambda: asyncio.run(talk())).result()


def opened(client: Any, file: Path, text: str | None = None) -> lsp.TextDocumentIdentifier:
    content = file.read_text(encoding="utf-8") if text is None else text
    item = lsp.TextDocumentItem(file.as_uri(), "cpp", 1, content)
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
    return lsp.TextDocumentIdentifier(file.as_uri())


def at(text: str, needle: str, encoding: str = "utf-16-le", unit: int = 2) -> lsp.Position:
    """The place of the first `needle` in a text."""
    before, _, _ = text.partition(needle)
    line = before.count("\n")
    return lsp.Position(line, len(before.rpartition("\n")[2].encode(encoding)) // unit)


async def definition(client: Any, document: lsp.TextDocumentIdentifier, place: lsp.Position) -> list[str]:
    places = await client.text_document_definition_async(lsp.DefinitionParams(document, place))
    return [spelled(each) for each in places or ()]


def spelled(place: Any) -> str:
    """FILE:LINE:FIRST-END as the client names them; the line from 1."""
    name = place.uri.rpartition("/")[2]
    return f"{name}:{place.range.start.line + 1}:{place.range.start.character}-{place.range.end.character}"


def test_questions_about_a_checkout(small: Cli) -> None:
    root = small.cwd

    async def ask(client: Any) -> None:
        text = FILES[BLEND]
        blend = opened(client, root / BLEND)
        assert await definition(client, blend, at(text, "blend_stub(self")) == ["Blend.cpp:3:16-26"]
        assert await definition(client, blend, at(text, "numel();\n}")) == []  # of a tensor, whose class is not here
        yaml = opened(client, root / YAML)
        assert await definition(client, yaml, at(FILES[YAML], "blend\n")) == ["Blend.cpp:5:7-12"]
        place = lsp.TextDocumentPositionParams(blend, at(text, "DEFINE_DISPATCH(blend_stub)"))
        place.position.character += len("DEFINE_DISPATCH(")
        kernels = await client.text_document_implementation_async(lsp.ImplementationParams(blend, place.position))
        assert [spelled(each) for each in kernels or ()] == ["BlendKernel.cpp:4:5-17"]
        uses = await client.text_document_references_async(
            lsp.ReferenceParams(lsp.ReferenceContext(include_declaration=True), blend, place.position)
        )
        lines = {spelled(each).rpartition(":")[0] for each in uses or ()}
        assert lines == {"Blend.h:7", "Blend.cpp:3", "Blend.cpp:9", "BlendKernel.cpp:7"}
        hover = await client.text_document_hover_async(lsp.HoverParams(blend, at(text, "blend_stub(self")))
        assert hover is not None
        assert "at::native::blend_stub" in hover.contents.value
        assert "Blend.cpp:3" in hover.contents.value
        symbols = await client.text_document_document_symbol_async(lsp.DocumentSymbolParams(blend))
        (outer, library) = symbols or ()
        assert (outer.name, library.name) == ("native", "aten")
        assert {"blend_stub", "numel", "impl", "blend", "operator=="} <= {each.name for each in outer.children}
        found = await client.workspace_symbol_async(lsp.WorkspaceSymbolParams("blend_kernel"))
        assert found is not None
        assert (found[0].name, found[0].container_name) == ("blend_kernel", "at::native")

    served(small, ask)


def test_calls(small: Cli) -> None:
    async def ask(client: Any) -> None:
        text = FILES[BLEND]
        document = opened(client, small.cwd / BLEND)
        parameters = lsp.CallHierarchyPrepareParams(document, at(text, "lone(const"))
        (lone,) = await client.text_document_prepare_call_hierarchy_async(parameters) or ()
        assert lone.name == "at::native::lone"
        (caller,) = await client.call_hierarchy_incoming_calls_async(lsp.CallHierarchyIncomingCallsParams(lone)) or ()
        assert caller.from_.name == "at::native::blend"
        assert caller.from_ranges[0].start == at(text, "lone(self)")
        called = await client.call_hierarchy_outgoing_calls_async(lsp.CallHierarchyOutgoingCallsParams(caller.from_))
        assert [each.to.name for each in called or ()] == ["at::native::lone"]

    served(small, ask)


def test_columns_behind_other_letters(small: Cli) -> None:
    async def ask(client: Any) -> None:
        text = FILES[BLEND]
        document = opened(client, small.cwd / BLEND)
        place = at(text, "lone(self)", "utf-8", 1)
        for character in (place.character, place.character + 4):
            answer = await definition(client, document, lsp.Position(place.line, character))
            assert answer == ["Blend.cpp:6:7-11"]
        assert await definition(client, document, lsp.Position(place.line, place.character - 1)) == []

    served(small, ask, ["utf-8", "utf-16"])


def test_an_edited_text_has_no_wrong_places(small: Cli) -> None:
    root = small.cwd

    async def ask(client: Any) -> None:
        disk = FILES[BLEND]
        edited = disk.replace("DEFINE", "// one\n// two\nDEFINE")
        document = opened(client, root / BLEND, disk)
        versioned = lsp.VersionedTextDocumentIdentifier(2, document.uri)
        twice = edited.replace("return lone(self);", "return  lone(self);")
        for text in (twice, edited):
            change = lsp.TextDocumentContentChangeWholeDocument(text)
            client.text_document_did_change(lsp.DidChangeTextDocumentParams(versioned, [change]))
            is_changed = text is twice
            answer = await definition(client, document, at(text, "lone(self)"))
            assert answer == ([] if is_changed else ["Blend.cpp:8:7-11"])
        assert await definition(client, document, at(edited, "blend_stub(self")) == ["Blend.cpp:5:16-26"]
        kernel = opened(client, root / KERNEL)
        assert await definition(client, kernel, at(FILES[KERNEL], "blend_stub,")) == ["Blend.cpp:5:16-26"]
        client.text_document_did_close(lsp.DidCloseTextDocumentParams(document))
        assert await definition(client, kernel, at(FILES[KERNEL], "blend_stub,")) == ["Blend.cpp:3:16-26"]

    served(small, ask)


def test_elsewhere_there_is_no_answer(small: Cli, tmp_path: Path) -> None:
    other = tmp_path / "Blend.cpp"
    other.write_text(FILES[BLEND], encoding="utf-8")

    async def ask(client: Any) -> None:
        for document in (opened(client, other), lsp.TextDocumentIdentifier("untitled:Blend.cpp")):
            place = at(FILES[BLEND], "blend_stub(self")
            assert await definition(client, document, place) == []
            assert await client.text_document_hover_async(lsp.HoverParams(document, place)) is None
            assert not await client.text_document_document_symbol_async(lsp.DocumentSymbolParams(document))
            assert not await client.text_document_code_lens_async(lsp.CodeLensParams(document))
        item = lsp.CallHierarchyItem(
            name="x", kind=lsp.SymbolKind.Function, uri=other.as_uri(), range=NOWHERE, selection_range=NOWHERE,
            data={"tree": "no tree", "path": "../../etc/passwd", "line": 1, "name": "x", "kind": "function"},
        )  # fmt: skip
        assert not await client.call_hierarchy_incoming_calls_async(lsp.CallHierarchyIncomingCallsParams(item))

    served(small, ask)


NOWHERE = lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0))


def test_a_file_that_changed_after_it_was_indexed(small: Cli, tmp_path: Path) -> None:
    root = tmp_path / "copy"
    shutil.copytree(small.cwd, root)
    cli = Cli(tmp_path / "cache", root)
    assert cli("fetch", "--from", str(root)).code == 0
    assert cli("index", "--checkout", "copy").code == 0
    file = root / BLEND
    text = f"// a line\n{FILES[BLEND]}"

    async def ask(client: Any) -> None:
        document = opened(client, file)
        assert await definition(client, document, at(FILES[BLEND], "blend_stub(self")) == ["Blend.cpp:3:16-26"]
        file.write_text(text, encoding="utf-8")
        client.text_document_did_close(lsp.DidCloseTextDocumentParams(document))
        document = opened(client, file)
        assert await definition(client, document, at(text, "blend_stub(self")) == []
        assert any("ptexplore index" in message.message for message in client.messages)
        assert cli("index", "--checkout", "copy").code == 0
        assert await definition(client, document, at(text, "blend_stub(self")) == ["Blend.cpp:4:16-26"]

    served(cli, ask)


def test_from_your_python_to_the_kernels_and_the_tour(cli: Cli, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    text = 'import torch\n\ns = "ü😀"; y = torch.add(a, b); z = a.add(b)\n'
    script.write_text(text, encoding="utf-8")
    assert cli("show", "aten::add.Tensor").code == 0  # the installed torch has an index now, for this and other tests
    functions = torch_folder().parent / "torchgen/packaged/ATen/native/native_functions.yaml"

    async def ask(client: Any) -> None:
        document = opened(client, script)
        place = at(text, "add(a")
        places = await client.text_document_definition_async(lsp.DefinitionParams(document, place))
        lines = functions.read_text(encoding="utf-8").split("\n")
        entries = [lines[each.range.start.line].split("(")[0] for each in places or ()]
        assert entries == ["- func: add.Tensor", "- func: add.out"]
        kernels = await client.text_document_implementation_async(lsp.ImplementationParams(document, place))
        names = {Path(each.uri).name: each.range.start.line for each in kernels or ()}
        (file,) = (name for name in names if name.startswith("RegisterCPU"))  # several files from torch 2.7 on
        cpu = cli.text_of(f"build/aten/src/ATen/{file}").split("\n")
        assert "wrapper_CPU_add_Tensor(" in cpu[names[file]]
        assert await definition(client, document, at(text, "add(b")) == [], "an object of unknown class"
        lenses = await client.text_document_code_lens_async(
            lsp.CodeLensParams(lsp.TextDocumentIdentifier(functions.as_uri()))
        )
        assert lenses
        command = lenses[0].command
        assert command is not None
        shown = await client.workspace_execute_command_async(
            lsp.ExecuteCommandParams(command.command, command.arguments)
        )
        assert "native_functions.yaml" in shown

    served(cli, ask)


def test_nothing_is_traced_before_you_agreed(cli: Cli, tmp_path: Path) -> None:
    script, mark = tmp_path / "theirs.py", tmp_path / "ran"
    text = f"import torch\nx = torch.add(torch.ones(2), len(str(open({str(mark)!r}, 'w').write('ran'))))\n"
    script.write_text(text, encoding="utf-8")
    asked: list[str] = []
    answers = [None, lsp.MessageActionItem("Do not run it"), lsp.MessageActionItem("Run it")]

    async def ask(client: Any) -> None:
        @client.feature(lsp.WINDOW_SHOW_MESSAGE_REQUEST)
        def answer(parameters: lsp.ShowMessageRequestParams) -> lsp.MessageActionItem | None:
            asked.append(parameters.message)
            return answers[len(asked) - 1]

        document = opened(client, script)
        place = at(text, "add(torch")
        range_ = lsp.Range(place, place)
        actions = await client.text_document_code_action_async(
            lsp.CodeActionParams(document, range_, lsp.CodeActionContext([]))
        )
        (action,) = actions or ()
        assert not mark.exists()
        assert isinstance(action, lsp.Command)
        execute = lsp.ExecuteCommandParams(action.command, action.arguments)
        for _refused in range(2):
            assert await client.workspace_execute_command_async(execute) is None
            assert not mark.exists()
        trace = await client.workspace_execute_command_async(execute)
        assert mark.exists()
        assert "aten::add" in trace
        assert all(str(mark) in question and question.isascii() for question in asked)
        kept = json.loads((tmp_path / "config" / "trusted.json").read_text(encoding="utf-8"))
        assert kept["trusted"]
        assert str(script) in str(kept["trusted"]), "a yes to this very code is kept"

    served(cli, ask, config=tmp_path / "config")


NEOVIM = """
local root, file, line, column, command = ROOT, FILE, LINE, COLUMN, COMMAND
local client = vim.lsp.start_client({cmd = command, root_dir = root})
vim.cmd('edit ' .. file)
local buffer = vim.api.nvim_get_current_buf()
vim.lsp.buf_attach_client(buffer, client)
vim.wait(20000, function() return vim.lsp.get_client_by_id(client) and vim.lsp.get_client_by_id(client).initialized end)
local at = {textDocument = {uri = vim.uri_from_bufnr(buffer)}, position = {line = line, character = column}}
local answers = {}
for _, method in ipairs({'textDocument/definition', 'textDocument/hover', 'textDocument/codeAction'}) do
  if method == 'textDocument/codeAction' then
    local range = {start = at.position, ['end'] = at.position}
    at = {textDocument = at.textDocument, range = range, context = {diagnostics = {}}}
  end
  local reply = vim.lsp.buf_request_sync(buffer, method, at, 60000) or {}
  for _, each in pairs(reply) do answers[method] = each.result end
end
io.stdout:write(vim.fn.json_encode(answers))
vim.cmd('qall!')
"""


def test_neovim(small: Cli, tmp_path: Path) -> None:
    neovim = shutil.which("nvim")
    if neovim is None:
        pytest.skip("needs neovim: apt-get install neovim")
    place = at(FILES[BLEND], "blend_stub(self")
    values = {
        "ROOT": str(small.cwd), "FILE": str(small.cwd / BLEND), "LINE": place.line, "COLUMN": place.character,
    }  # fmt: skip
    script = NEOVIM.replace(
        "COMMAND", "{" + ", ".join(map(json.dumps, [sys.executable, "-m", "ptexplore", "lsp"])) + "}"
    )
    for name, value in values.items():
        script = script.replace(name, json.dumps(value))
    (tmp_path / "ask.lua").write_text(script, encoding="utf-8")
    environment = small.environment() | {"XDG_STATE_HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run(
        [neovim, "--headless", "-u", "NONE", "-i", "NONE", "-c", f"luafile {tmp_path / 'ask.lua'}"],
        env=environment, cwd=small.cwd, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    answers = json.loads(done.stdout)
    (target,) = answers["textDocument/definition"]
    assert target["range"]["start"] == {"line": 2, "character": 16}
    assert "at::native::blend_stub" in answers["textDocument/hover"]["contents"]["value"]
    assert answers["textDocument/codeAction"] in ([], None)
