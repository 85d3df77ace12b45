"""MCP servers that govern themselves: `GovernanceMiddleware` for FastMCP, `GovernanceExtension` for the `mcp` SDK.

    server = FastMCP("notes", middleware=[GovernanceMiddleware("notes")])
    server = MCPServer("notes", extensions=[GovernanceExtension("notes")])

Every `tools/call` is decided before the tool runs, and its outcome is recorded. A server has no person to ask, so an
ask is a block. A failure of ours is a block too: nothing is raised that an SDK could take for a pass.
"""

from __future__ import annotations

import os
from asyncio import to_thread
from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from verdikt.errors import McpError
from verdikt.mcp.call_governor import CallGovernor
from verdikt.model.action import Action, Outcome
from verdikt.model.verdict import VerdictKind

if TYPE_CHECKING:
    # The SDKs are no dependencies of ours: as far as types go, their base classes are empty.
    class _Middleware: ...

    class _Extension: ...
else:
    try:
        from fastmcp.server.middleware import Middleware as _Middleware
    except ImportError:
        _Middleware = object
    try:
        from mcp.server.extension import Extension as _Extension
    except ImportError:
        _Extension = object


class _SelfGovernance:
    """The decision on a call, and the record of its outcome, off the event loop."""

    def __init__(self, server: str, governor: CallGovernor | None) -> None:
        self._governor = governor or CallGovernor(server, cwd=os.getcwd(), env=os.environ)

    async def decide(self, tool: str, arguments: object) -> tuple[Action, str]:
        """Return the action of a call, and why it must not happen; an empty text when it may."""
        payload = arguments if isinstance(arguments, Mapping) else {}
        action = self._governor.build_action(tool, payload, hints={})
        # The log is written in between, so a thread of its own does it.
        decision = (await to_thread(self._governor.decide, action)).decision
        if decision.kind < VerdictKind.ASK:
            return action, ""
        refusal = decision if decision.is_blocked else decision.refuse_ask("inside a server")
        return action, refusal.full_text

    async def record(self, action: Action, result: Any) -> None:
        """Record what came of a call."""
        await to_thread(self._governor.record_outcome, action, _read_outcome(result))

    async def run(self, action: Action, call: Callable[[], Awaitable[Any]]) -> Any:
        """Run a call that was let through, and record its outcome, also when it fails."""
        try:
            result = await call()
        except Exception as error:
            await to_thread(self._governor.record_outcome, action, Outcome(success=False, error=str(error)[:4000]))
            raise
        await self.record(action, result)
        return result


class GovernanceMiddleware(_Middleware):
    """Middleware for `FastMCP(middleware=[…])`; list it last, so that it sees the arguments that run."""

    def __init__(self, server: str, governor: CallGovernor | None = None) -> None:
        if _Middleware is object:
            raise McpError("FastMCP can't be imported; install it with `pip install 'verdikt-runtime[fastmcp]'`")
        super().__init__()
        self._governance = _SelfGovernance(server, governor)

    async def on_call_tool(self, context: Any, call_next: Callable[[Any], Awaitable[Any]]) -> Any:
        """Decide on a call; refuse it as the SDK refuses calls, with the reason for the model."""
        action, refusal = await self._governance.decide(context.message.name, context.message.arguments)
        if refusal:
            raise import_module("fastmcp.exceptions").ToolError(refusal)
        return await self._governance.run(action, lambda: call_next(context))


class GovernanceExtension(_Extension):
    """Extension for `MCPServer(extensions=[…])` of the `mcp` SDK; list it last."""

    identifier = "io.github.verdikt/governance"

    def __init__(self, server: str, governor: CallGovernor | None = None) -> None:
        if _Extension is object:
            raise McpError("the `mcp` SDK can't be imported; install it with `pip install 'verdikt-runtime[mcp]'`")
        super().__init__()
        self._governance = _SelfGovernance(server, governor)

    async def intercept_tool_call(self, params: Any, ctx: Any, call_next: Callable[[Any], Awaitable[Any]]) -> Any:
        """Decide on a call; a refusal is a result with `isError`, which the model can read."""
        action, refusal = await self._governance.decide(params.name, params.arguments)
        if refusal:
            result_type = import_module("mcp.types").CallToolResult
            return result_type.model_validate({"content": [{"type": "text", "text": refusal}], "isError": True})
        return await self._governance.run(action, lambda: call_next(ctx))


def _read_outcome(result: Any) -> Outcome:
    """Return the outcome that a result of either SDK stands for."""
    dump = getattr(result, "model_dump", None)
    # By alias: the attributes of results have other names in other versions of the SDK.
    body = result if isinstance(result, Mapping) else dump(by_alias=True, mode="json") if callable(dump) else {}
    failed = body.get("isError") is True or getattr(result, "is_error", False) is True
    content = body.get("content") or getattr(result, "content", None)
    blocks = content if isinstance(content, list) else []
    texts = [_get_text(block) for block in blocks]
    text = "\n".join(filter(None, texts))
    return Outcome(success=not failed, output="" if failed else text, error=text if failed else "")


def _get_text(block: Any) -> str:
    text = block.get("text") if isinstance(block, Mapping) else getattr(block, "text", "")
    return text if isinstance(text, str) else ""
