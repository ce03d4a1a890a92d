"""`ptexplore mcp`, asked by the protocol's own client: what each tool says, its bounds, and what it does not run."""

from __future__ import annotations

import asyncio
import json
import random
import socket
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import CallToolResult

from ptexplore.surfaces.isolated import without_network
from ptexplore.surfaces.pages import ROOM
from tests.harness import TARGET, THOROUGH, Cli

pytestmark = pytest.mark.e2e

READING = {"operator", "find", "show", "references", "explain_error", "tour", "doctor"}
RUNNING = {"trace", "compile", "tensor_or_graph"}
Asking = Callable[[ClientSession], Awaitable[Any]]


def served(cli: Cli, ask: Asking, *options: str) -> Any:
    """What `ask` returns, with a server of its own."""
    target = ("--python", TARGET) if TARGET else ()
    words = ["-m", "ptexplore", "mcp", *options, *target]
    server = StdioServerParameters(command=cli.python, args=words, env=cli.environment(), cwd=cli.cwd)

    async def talk() -> Any:
        async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            return await ask(session)

    with ThreadPoolExecutor(1) as thread:  # the browser's tests leave a running loop in their thread
        return thread.submit(lambda: asyncio.run(talk())).result()


def answers(cli: Cli, *calls: tuple[str, dict[str, Any]], options: tuple[str, ...] = ()) -> list[CallToolResult]:
    """The results of some calls, one after the other."""

    async def ask(session: ClientSession) -> list[CallToolResult]:
        return [await session.call_tool(name, arguments) for name, arguments in calls]

    results: list[CallToolResult] = served(cli, ask, *options)
    return results


def text(result: CallToolResult) -> str:
    (content,) = result.content
    assert content.type == "text"
    return content.text


def test_ten_tools_say_what_they_do(cli: Cli) -> None:
    async def ask(session: ClientSession) -> Any:
        return await session.list_tools()

    tools = served(cli, ask).tools
    assert {tool.name for tool in tools} == READING | RUNNING
    assert {tool.name for tool in tools if tool.annotations.read_only_hint} == READING
    for tool in tools:
        assert tool.description
        assert "cursor" in tool.input_schema["properties"]


def test_reading(cli: Cli) -> None:
    operator, found, source, uses, error, tours, health, wrong = answers(
        cli,
        ("operator", {"name": "add.Tensor", "structured": True}),
        ("find", {"query": "add_stub", "limit": 3}),
        ("show", {"target": "torch.nn.functional.relu"}),
        ("references", {"symbol": "torch.nn.functional.relu", "limit": 2}),
        ("explain_error", {"text": "RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)"}),
        ("tour", {}),
        ("doctor", {}),
        ("operator", {"name": "no_such_operator_here"}),
    )
    assert "build/aten/src/ATen/RegisterCPU" in text(operator)
    assert operator.structured_content is not None
    assert operator.structured_content["name"] == "aten::add.Tensor"
    assert found.structured_content is None
    assert "add_stub" in text(found)
    for answer in (operator, found, source, uses, error, tours, health):
        first, *_, last = text(answer).split("\n")
        assert first.startswith("[quoted data ")
        assert last.startswith(("[end of quoted data ", "["))
    assert "def relu" in text(source)
    assert "relu" in text(uses)
    assert "3" in text(error)
    assert "dispatcher" in text(tours)
    assert "torch" in text(health)
    assert wrong.is_error
    assert [part.split(":")[0] for part in text(wrong).partition(": ")[2].split("\n")] == ["error", "why", "try"]


def test_a_long_answer_goes_on_at_its_cursor(cli: Cli) -> None:
    async def ask(session: ClientSession) -> list[str]:
        parts = [text(await session.call_tool("show", {"target": "torch/nn/functional.py:1-400"}))]
        while "cursor=" in parts[-1].rsplit("\n", 1)[-1]:
            cursor = parts[-1].rsplit("cursor='", 1)[1].partition("'")[0]
            parts.append(text(await session.call_tool("show", {"cursor": cursor})))
        parts.append(text(await session.call_tool("show", {"cursor": "never"})))
        return parts

    *parts, lost = served(cli, ask)
    assert len(parts) > 2
    assert all(len(part) <= ROOM + 200 for part in parts)
    lines = [line for part in parts for line in part.split("\n")]
    numbers = [int(line.split()[0]) for line in lines if line.strip()[:1].isdigit()]
    assert numbers == sorted(numbers)
    assert {*range(1, 401)} <= {*numbers}
    assert "this cursor is not known" in lost


def test_nothing_runs_without_permission(cli: Cli) -> None:
    written = cli.cwd / "written"
    code = f"open({str(written)!r}, 'w').close()"
    results = answers(
        cli,
        ("trace", {"expression": "torch.add(a, b)", "setup": [code]}),
        ("compile", {"expression": code}),
        ("tensor_or_graph", {"picture": "graph", "expression": code}),
        ("show", {"target": code}),
        ("find", {"query": code}),
        ("explain_error", {"text": f'  File "train.py", line 3, in f\n    {code}\nRuntimeError: {code}'}),
    )
    assert [result.is_error for result in results[:3]] == [True] * 3
    assert "without --allow-run" in text(results[0])
    assert not written.exists()


def test_code_runs_in_a_folder_of_its_own(cli: Cli) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        connect = f"import socket; reached = not socket.socket().connect_ex({listening.getsockname()!r})"
        setup = ["import os; here = os.getcwd(); open('made here', 'w').close()", connect]
        given = {"variables": {"a": "torch.ones(2)"}, "setup": setup}
        where, reached, minus, tensor, graph, wrong = answers(
            cli,
            ("trace", {"expression": "a.add(int(here))", **given}),
            ("trace", {"expression": "a.add(int(str(reached)))", **given}),
            ("trace", {"expression": "-torch.ones(3)"}),
            ("tensor_or_graph", {"picture": "tensor", "expression": "torch.arange(6).view(2, 3).t()"}),
            ("tensor_or_graph", {"picture": "graph", "expression": "(a * a).sum()"}),
            ("trace", {"expression": "torch.add(", "view": "tree"}),
            options=("--allow-run",),
        )
    assert "ptexplore-run-" in text(where)
    assert str(cli.cwd) not in text(where)
    assert not (cli.cwd / "made here").exists()
    assert ("'False'" if without_network() else "'True'") in text(reached)
    assert "aten::neg" in text(minus)
    assert "(1, 3)" in text(tensor)
    assert "MulBackward0" in text(graph)
    assert wrong.is_error


def test_a_cancelled_run_ends(cli: Cli, tmp_path: Path) -> None:
    mark = tmp_path / "runs"
    code = f"import os, time; open({str(mark)!r}, 'w').write(str(os.getpid())); time.sleep(600)"

    async def ask(session: ClientSession) -> int:
        with anyio.move_on_after(120) as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(session.call_tool, "trace", {"expression": "torch.ones(1)", "setup": [code]})
                while not (mark.exists() and mark.read_text()):
                    await anyio.sleep(0.1)
                group.cancel_scope.cancel()
        assert not scope.cancelled_caught
        number = int(mark.read_text())
        until = time.monotonic() + 60
        while Path(f"/proc/{number}").exists() and time.monotonic() < until:
            await anyio.sleep(0.1)
        assert "torch" in text(await session.call_tool("doctor", {}))  # the server goes on
        return number

    number = served(cli, ask, "--allow-run", "--timeout", "500")
    assert not Path(f"/proc/{number}").exists()


def test_hostile_arguments(cli: Cli) -> None:
    rng = random.Random(0)
    odd = [
        "",
        "-",
        "--",
        "--python=/bin/false",
        "\0",
        "\x1b[2J",
        "a" * 20_000,
        "../../../etc/passwd",
        "%s{0}",
        "*",
        "[",
    ]
    odd += ["é\u202e", "add'; DROP TABLE symbol; --", "0", "aten::", "."]
    values: list[Any] = [*odd, None, -1, 10**30, 1.5, True, [], {}, ["x"] * 50, {"a": {}}]
    fields = {
        "operator": ("name", "key", "lacking", "full", "structured", "cursor"),
        "find": ("query", "kind", "text", "limit", "structured", "cursor"),
        "show": ("target", "kind", "structured", "cursor"),
        "references": ("symbol", "callers", "depth", "limit", "structured", "cursor"),
        "explain_error": ("text", "structured", "cursor"),
        "tour": ("name", "structured", "cursor"),
        "trace": ("expression", "script", "variables", "setup", "view", "opened", "cursor"),
    }
    calls = []
    for _ in range(1000 if THOROUGH else 60):
        tool = rng.choice(list(fields))
        chosen = rng.sample(fields[tool], rng.randint(1, 3))
        calls.append((tool, {field: rng.choice(values) for field in chosen} | {rng.choice(["x", "self"]): 1}))
    results = answers(cli, *calls, ("operator", {"name": "mm"}))
    assert "aten::mm" in text(results[-1])
    for call, result in zip(calls, results, strict=False):
        shown = text(result)
        assert "\x1b" not in shown, call
        assert "Traceback" not in shown, call
        assert len(shown) <= ROOM + 300 or result.is_error, call
        assert len(json.dumps(result.structured_content)) <= 50_000
