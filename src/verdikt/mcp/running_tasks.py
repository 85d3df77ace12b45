"""Calls that a server goes on with as tasks: what comes of one arrives with a later request of the client."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING

from verdikt.mcp.request_review import SHOWN_FIELDS

if TYPE_CHECKING:
    from verdikt.mcp.message import Message
    from verdikt.mcp.reaction import PendingRequest

MAX_TASKS = 1000
"""Tasks whose end is waited for; the end of an older one is not recorded any more."""

TASK_METHODS = frozenset({"tasks/get", "tasks/result", "tasks/cancel"})
"""Requests whose result can be the end of a task."""

_END_WORDS = frozenset({"failed", "cancelled"})


class RunningTasks:
    """The calls of one server that run as tasks, by the server's id of the task."""

    def __init__(self) -> None:
        self._calls: OrderedDict[str, PendingRequest] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, response: Message, pending: PendingRequest) -> bool:
        """Note the call if its response only says that it runs as a task; return whether it does."""
        result = response.result if isinstance(response.result, Mapping) else {}
        # Under `task` until 2025-11-25, and as the result itself from 2026-07-28 on.
        task = result.get("task") if "task" in result else result if result.get("resultType") == "task" else None
        task_id = task.get("taskId") if isinstance(task, Mapping) else None
        # What it shows already must be in the log, even if it names a task beside it.
        if not isinstance(task_id, str) or any(field in result for field in SHOWN_FIELDS):
            return False
        with self._lock:
            self._calls[task_id] = pending
            if len(self._calls) > MAX_TASKS:
                self._calls.popitem(last=False)
        return True

    def take_ended(self, request: Message, response: Message) -> tuple[PendingRequest, Message] | None:
        """Return the call that a response ends, once, and the response as one to the call; None for any other."""
        task_id = request.params.get("taskId")
        end = _find_end(request, response)
        if end is None or not isinstance(task_id, str):
            return None
        with self._lock:
            pending = self._calls.pop(task_id, None)
        return None if pending is None else (pending, end)


def _find_end(request: Message, response: Message) -> Message | None:
    """Return what came of a task, as the response to its call; None while it runs."""
    if request.method == "tasks/result":
        return response
    result = response.result if isinstance(response.result, Mapping) else {}
    if isinstance(result.get("result"), Mapping):
        return response.replace_result(result["result"])
    if result.get("status") in _END_WORDS:
        text = str(result.get("statusMessage") or f"the task is {result['status']}")
        return response.replace_result({"content": [{"type": "text", "text": text}], "isError": True})
    return None
