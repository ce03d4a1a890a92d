"""`ptexplore lsp`: a server for editors (Language Server Protocol, over standard input and output).

One thread answers all questions in turn. The server reads; it runs an expression only after the user agreed in a dialog
of the editor that showed all of it (`editor_traces.py`).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from ptexplore import __version__
from ptexplore.errors import PtexploreError
from ptexplore.safe_text import clean_lines
from ptexplore.surfaces.editor_markup import fenced, markdown_lines, message_text
from ptexplore.surfaces.editor_places import AskedPlace, Located
from ptexplore.surfaces.editor_text import Encoding, column, editor_lines
from ptexplore.view.words.editor import editor_remark

if TYPE_CHECKING:
    from ptexplore.surfaces.editor import CallItem, EditorAnswers, HoverText, OutlineEntry, SymbolHit
    from ptexplore.workspace.consent import NotYours

OPEN_STOP, TRACE = "ptexplore.openStop", "ptexplore.trace"
PYTHON = ".py"
_NAME = "ptexplore"
_PARTS = 3  # of an error
_FILE_WIDTH = 100
Answered = TypeVar("Answered")

_SYMBOL_KINDS = {
    "function": lsp.SymbolKind.Function, "class": lsp.SymbolKind.Class, "struct": lsp.SymbolKind.Struct,
    "union": lsp.SymbolKind.Struct, "enum": lsp.SymbolKind.Enum, "enumerator": lsp.SymbolKind.EnumMember,
    "typedef": lsp.SymbolKind.TypeParameter, "macro": lsp.SymbolKind.Constant, "namespace": lsp.SymbolKind.Namespace,
    "member": lsp.SymbolKind.Field, "variable": lsp.SymbolKind.Variable, "concept": lsp.SymbolKind.Interface,
    "operator": lsp.SymbolKind.Operator, "file": lsp.SymbolKind.File, "yaml-function": lsp.SymbolKind.Operator,
    "yaml-derivative": lsp.SymbolKind.Operator, "library": lsp.SymbolKind.Module,
}  # fmt: skip
_OF_A_ROW = lsp.SymbolKind.Event  # a registration


class EditorServer(LanguageServer):
    """The server: requests of the editor to questions, answers to records of the protocol."""

    def __init__(self, python: str | None) -> None:
        # Whole texts: pygls counts lines otherwise than the protocol does when it applies a change (form feeds).
        super().__init__(_NAME, __version__, text_document_sync_kind=lsp.TextDocumentSyncKind.Full)
        self._python = python
        self._texts: dict[str, tuple[str, str]] = {}  # by real path: the URI of an open file, and its text
        self._thread = ThreadPoolExecutor(1, "ptexplore-reads")
        self._running = asyncio.Lock()  # a second run at the same time would disturb the times of the first
        self._answers: EditorAnswers | None = None
        self._shown = ExitStack()  # the folder of files that the editor is asked to show
        self._folder: Path | None = None
        self._encoding: Encoding = "utf-16"
        self._loop: asyncio.AbstractEventLoop | None = None
        self._register()

    def _register(self) -> None:
        handlers: dict[str, tuple[Callable[..., Any], Any]] = {
            lsp.INITIALIZED: (self._initialized, None),
            lsp.TEXT_DOCUMENT_DID_OPEN: (self._did_open, None),
            lsp.TEXT_DOCUMENT_DID_CHANGE: (self._did_change, None),
            lsp.TEXT_DOCUMENT_DID_CLOSE: (self._did_close, None),
            lsp.TEXT_DOCUMENT_DEFINITION: (self._definition, None),
            lsp.TEXT_DOCUMENT_DECLARATION: (self._declaration, None),
            lsp.TEXT_DOCUMENT_IMPLEMENTATION: (self._implementation, None),
            lsp.TEXT_DOCUMENT_REFERENCES: (self._references, None),
            lsp.TEXT_DOCUMENT_HOVER: (self._hover, None),
            lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: (self._document_symbols, None),
            lsp.WORKSPACE_SYMBOL: (self._workspace_symbols, None),
            lsp.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY: (self._prepare_calls, None),
            lsp.CALL_HIERARCHY_INCOMING_CALLS: (self._incoming, None),
            lsp.CALL_HIERARCHY_OUTGOING_CALLS: (self._outgoing, None),
            lsp.TEXT_DOCUMENT_CODE_LENS: (self._lenses, lsp.CodeLensOptions(resolve_provider=False)),
            lsp.TEXT_DOCUMENT_CODE_ACTION: (self._actions, None),
            lsp.SHUTDOWN: (self._shut_down, None),
        }  # fmt: skip
        for name, (handler, options) in handlers.items():
            self.feature(name, options)(partial(handler))
        self.command(OPEN_STOP)(partial(self._open_stop))
        self.command(TRACE)(partial(self._trace))

    # --- the session ---

    async def _initialized(self, params: lsp.InitializedParams) -> None:
        del params
        self._loop = asyncio.get_running_loop()
        chosen = self.server_capabilities.position_encoding
        self._encoding = cast("Encoding", str(getattr(chosen, "value", chosen or self._encoding)))
        await self._ask(lambda answers: answers.prepare())

    def _did_open(self, params: lsp.DidOpenTextDocumentParams) -> None:
        document = params.text_document
        file = _file(document.uri)
        if file is not None:
            self._texts[file] = document.uri, document.text
            self._thread.submit(self._asked, lambda answers: answers.open_file(file))

    def _did_change(self, params: lsp.DidChangeTextDocumentParams) -> None:
        file = _file(params.text_document.uri)
        whole = [change for change in params.content_changes if not hasattr(change, "range")]
        if file in self._texts and whole:
            self._texts[file] = params.text_document.uri, whole[-1].text

    def _did_close(self, params: lsp.DidCloseTextDocumentParams) -> None:
        self._texts.pop(_file(params.text_document.uri) or "", None)

    def _shut_down(self, params: Any = None) -> None:
        del params
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._shown.close()

    # --- questions ---

    async def _ask(self, question: Callable[[EditorAnswers], Answered]) -> Answered | None:
        """Returns the answer to a question. None if ptexplore has an error, which goes to the editor's log."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._asked, question)
        except PtexploreError as error:
            self._log(_three_parts(error), lsp.MessageType.Warning)
            return None

    async def _list(self, question: Callable[[EditorAnswers], list[Answered]]) -> list[Answered]:
        return await self._ask(question) or []

    def _asked(self, question: Callable[[EditorAnswers], Answered]) -> Answered:
        if self._answers is None:
            from ptexplore.surfaces.editor import EditorAnswers  # the session begins before this is read
            from ptexplore.surfaces.editor_files import EditorFiles

            files = EditorFiles(self._python, self._buffer, self._notice)
            self._answers = EditorAnswers(files, self._remark)
        self._answers.files.encoding = self._encoding
        self._answers.names.refresh()
        return question(self._answers)

    def _buffer(self, file: str) -> str | None:
        known = self._texts.get(file)
        return known[1] if known is not None else None

    def _notice(self, text: str) -> None:
        """Shows a reason for missing answers, once; called from the reading thread."""
        self._soon(lambda: self._message(text, lsp.MessageType.Info))

    def _remark(self, text: str) -> None:
        self._soon(lambda: self._log(text, lsp.MessageType.Info))

    def _soon(self, send: Callable[[], object]) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(send)

    def _message(self, text: str, kind: lsp.MessageType) -> None:
        self.window_show_message(lsp.ShowMessageParams(type=kind, message=f"ptexplore: {message_text(text)}"))

    def _log(self, text: str, kind: lsp.MessageType) -> None:
        self.window_log_message(lsp.LogMessageParams(type=kind, message=clean_lines(text)))

    # --- places ---

    async def _definition(self, params: lsp.DefinitionParams) -> list[lsp.Location]:
        asked = _place(params)
        return self._locations(await self._list(lambda answers: answers.definitions(asked))) if asked else []

    async def _declaration(self, params: lsp.DeclarationParams) -> list[lsp.Location]:
        asked = _place(params)
        return self._locations(await self._list(lambda answers: answers.declarations(asked))) if asked else []

    async def _implementation(self, params: lsp.ImplementationParams) -> list[lsp.Location]:
        asked = _place(params)
        return self._locations(await self._list(lambda answers: answers.implementations(asked))) if asked else []

    async def _references(self, params: lsp.ReferenceParams) -> list[lsp.Location]:
        asked, whole = _place(params), params.context.include_declaration
        if asked is None:
            return []
        return self._locations(await self._list(lambda answers: answers.references(asked, declaration=whole)))

    def _locations(self, places: Iterable[Located]) -> list[lsp.Location]:
        return [self._location(place) for place in places]

    def _location(self, place: Located) -> lsp.Location:
        return lsp.Location(self._uri(place.file), _name(place))

    def _uri(self, file: str) -> str:
        """Returns the URI of a file: the editor's own if the file is open."""
        known = self._texts.get(file)
        return known[0] if known is not None else from_fs_path(file) or Path(file).as_uri()

    async def _hover(self, params: lsp.HoverParams) -> lsp.Hover | None:
        asked = _place(params)
        text = await self._ask(lambda answers: answers.hover(asked)) if asked is not None else None
        if text is None:
            return None
        capabilities = self.client_capabilities.text_document
        formats = capabilities.hover.content_format if capabilities is not None and capabilities.hover else None
        if lsp.MarkupKind.Markdown in (formats or ()):
            return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, _markdown(text)))
        plain = "\n".join(filter(None, (text.code, *text.lines, text.comment)))
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.PlainText, clean_lines(plain)))

    # --- symbols ---

    async def _document_symbols(self, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        file = _file(params.text_document.uri)
        entries = await self._list(lambda answers: answers.outline(file)) if file is not None else []
        return [_symbol(entry) for entry in entries]

    async def _workspace_symbols(self, params: lsp.WorkspaceSymbolParams) -> list[lsp.SymbolInformation]:
        hits: list[SymbolHit] = await self._list(lambda answers: answers.search(params.query))
        return [
            lsp.SymbolInformation(
                location=self._location(hit.place), name=hit.name, kind=_kind(hit.kind), container_name=hit.container
            )
            for hit in hits
        ]

    # --- calls ---

    async def _prepare_calls(self, params: lsp.CallHierarchyPrepareParams) -> list[lsp.CallHierarchyItem]:
        asked = _place(params)
        items = await self._list(lambda answers: answers.functions(asked)) if asked is not None else []
        return [self._call_item(item) for item in items]

    async def _incoming(self, params: lsp.CallHierarchyIncomingCallsParams) -> list[lsp.CallHierarchyIncomingCall]:
        item = _call_of(params.item)
        calls = await self._list(lambda answers: answers.callers(item))
        return [
            lsp.CallHierarchyIncomingCall(self._call_item(call), [_name(call.call)])
            for call in calls
            if call.call is not None
        ]

    async def _outgoing(self, params: lsp.CallHierarchyOutgoingCallsParams) -> list[lsp.CallHierarchyOutgoingCall]:
        item = _call_of(params.item)
        calls = await self._list(lambda answers: answers.callees(item))
        return [
            lsp.CallHierarchyOutgoingCall(self._call_item(call), [_name(call.call)])
            for call in calls
            if call.call is not None
        ]

    def _call_item(self, item: CallItem) -> lsp.CallHierarchyItem:
        return lsp.CallHierarchyItem(
            name=f"{item.name}{' ?' * item.is_choice}", kind=_kind(item.kind), uri=self._uri(item.place.file),
            range=_whole(item.place), selection_range=_name(item.place),
            detail=f"{item.detail}; {editor_remark('other function')}" if item.is_choice else item.detail,
            data={"tree": item.tree, "path": item.path, "line": item.line, "name": item.name, "kind": item.kind},
        )  # fmt: skip

    # --- stops of tours ---

    async def _lenses(self, params: lsp.CodeLensParams) -> list[lsp.CodeLens]:
        file = _file(params.text_document.uri)
        stops = await self._list(lambda answers: answers.stops(file)) if file is not None else []
        return [
            lsp.CodeLens(
                _name(stop.place), lsp.Command(title=clean_lines(stop.title), command=OPEN_STOP, arguments=[stop.stop])
            )
            for stop in stops
        ]

    async def _open_stop(self, stop: str) -> str | None:
        """Shows a stop of a tour. Returns its text."""

        def text(answers: EditorAnswers) -> str:
            from ptexplore.surfaces.editor_stops import stop_text

            return stop_text(answers.files.workspace, stop, _FILE_WIDTH)

        shown = await self._ask(text)
        if shown is not None:
            await self._show(f"{stop.replace('#', '-')}.txt", shown)
        return shown

    # --- traces ---

    async def _actions(self, params: lsp.CodeActionParams) -> list[lsp.Command]:
        """Returns the command that traces the selected expression. An editor that asks only for fixes gets nothing."""
        from ptexplore.surfaces.editor_traces import expression_at

        file = _file(params.text_document.uri)
        text = self._buffer(file) if file is not None else None
        if file is None or text is None or not file.endswith(PYTHON) or params.context.only:
            return []
        lines = editor_lines(text)
        first, last = (self._characters(lines, at) for at in (params.range.start, params.range.end))
        expression = expression_at("\n".join(lines), first, last)
        if expression is None:
            return []
        head = expression.split("\n")[0][:_FEW]
        title = f"ptexplore: trace {clean_lines(head)}{'…' * (head != expression)}"
        return [lsp.Command(title=title, command=TRACE, arguments=[params.text_document.uri, expression])]

    def _characters(self, lines: Sequence[str], at: lsp.Position) -> tuple[int, int]:
        return at.line, column(lines[at.line], at.character, self._encoding) if at.line < len(lines) else 0

    async def _trace(self, uri: str, expression: str) -> str | None:
        """Traces an expression after the user agreed. Returns the text of the trace, or None if nothing ran."""
        from ptexplore.surfaces.editor_traces import to_trace, traced

        try:
            asked = to_trace(expression, _file(uri) or uri)
            if not asked.is_allowed and not await self._agrees(asked):
                self._message(editor_remark("not run"), lsp.MessageType.Info)
                return None
            async with self._running:
                workspace = await self._ask(lambda answers: answers.files.workspace.apart())
                text = await asyncio.to_thread(traced, workspace, asked) if workspace is not None else None
        except PtexploreError as error:
            self._message(_three_parts(error), lsp.MessageType.Error)
            return None
        if text is not None:
            await self._show("trace.txt", text)
        return text

    async def _agrees(self, asked: NotYours) -> bool:
        """Asks the user in a dialog of the editor. A yes is kept with the hash of the code."""
        from ptexplore.surfaces.editor_traces import DO_NOT_RUN, RUN, question

        actions = [lsp.MessageActionItem(RUN), lsp.MessageActionItem(DO_NOT_RUN)]
        params = lsp.ShowMessageRequestParams(type=lsp.MessageType.Warning, message=question(asked), actions=actions)
        answer = await self.window_show_message_request_async(params)
        if answer is None or answer.title != RUN:
            return False
        asked.allow()
        return True

    async def _show(self, name: str, text: str) -> None:
        """Shows a text as a file, if the editor can open one for us; else its first lines as a message."""
        window = self.client_capabilities.window
        if window is None or window.show_document is None or not window.show_document.support:
            head = text.strip("\n").split("\n")
            more = f"\n… and {len(head) - _HEAD} more lines" if len(head) > _HEAD else ""
            self.window_show_message(
                lsp.ShowMessageParams(lsp.MessageType.Info, message_text("\n".join(head[:_HEAD])) + more)
            )
            return
        if self._folder is None:
            from ptexplore.temporary import temporary_folder

            self._folder = self._shown.enter_context(temporary_folder("editor"))
        file = self._folder / "".join(letter if letter.isalnum() or letter in "-." else "_" for letter in name)
        file.write_text(text, encoding="utf-8")
        await self.window_show_document_async(lsp.ShowDocumentParams(uri=file.as_uri(), take_focus=True))


_FEW = 60  # letters of an expression in a title
_HEAD = 40  # lines of a text that are shown as a message


def make_server(python: str | None) -> EditorServer:
    """Returns the server for the torch of a Python (None: this one)."""
    return EditorServer(python)


def _file(uri: str) -> str | None:
    """Returns the real path of a URI's file. None for other URIs: an untitled file, a file of a git revision."""
    if not uri.startswith("file:"):
        return None
    path = to_fs_path(uri)
    return os.path.realpath(path) if path and "\0" not in path else None


def _place(params: lsp.TextDocumentPositionParams | Any) -> AskedPlace | None:
    file = _file(params.text_document.uri)
    return AskedPlace(file, params.position.line, params.position.character) if file is not None else None


def _name(place: Located) -> lsp.Range:
    return lsp.Range(lsp.Position(place.line, place.begin), lsp.Position(place.line, place.end))


def _whole(place: Located) -> lsp.Range:
    """Returns the lines of a whole thing. It contains the name, as the protocol asks."""
    if place.last > place.line:
        return lsp.Range(lsp.Position(place.first, 0), lsp.Position(place.last + 1, 0))
    return lsp.Range(lsp.Position(place.first, 0), lsp.Position(place.line, place.end))


def _kind(kind: str) -> lsp.SymbolKind:
    return _SYMBOL_KINDS.get(kind, _OF_A_ROW)


def _symbol(entry: OutlineEntry) -> lsp.DocumentSymbol:
    return lsp.DocumentSymbol(
        name=clean_lines(entry.name), kind=_kind(entry.kind), range=_whole(entry.place),
        selection_range=_name(entry.place), detail=clean_lines(entry.detail),
        children=[_symbol(inner) for inner in entry.inside],
    )  # fmt: skip


def _call_of(item: lsp.CallHierarchyItem) -> CallItem:
    """Returns the function of an item that this server sent. Raises JsonRpcInvalidParams for another item."""
    from ptexplore.surfaces.editor import CallItem

    data = item.data if isinstance(item.data, dict) else vars(item.data) if hasattr(item.data, "__dict__") else {}
    try:
        return CallItem(
            str(data["name"]), str(data["kind"]), "", Located("", 0, 0, 0, 0, 0), str(data["tree"]), str(data["path"]),
            int(data["line"]),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError) as error:
        raise JsonRpcInvalidParams("this item is not from ptexplore") from error


def _three_parts(error: PtexploreError) -> str:
    parts = (("error", error.message), ("why", error.why), ("try", error.hint))
    return "\n".join(f"{label}: {part}" for label, part in parts[:_PARTS] if part)


def _markdown(text: HoverText) -> str:
    """Returns a hover as Markdown. Text of source stands in fences."""
    parts = [fenced(text.code, text.language)] if text.code else []
    parts.append(markdown_lines(text.lines))
    if text.comment:
        parts.append(fenced(text.comment, "text"))
    return "\n\n".join(filter(None, parts))
