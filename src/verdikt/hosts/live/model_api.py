"""A turn of the scripted model in three interfaces: Anthropic Messages, OpenAI Responses, Gemini."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

_id_counter = count(1)


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool that the model calls. Some tools of Codex lie in a namespace."""

    name: str
    input: Mapping[str, Any]
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class ModelTurn:
    """One turn of the model: a text, and the tools that it calls at once."""

    text: str
    tools: tuple[ToolUse, ...] = ()


def _next_id(prefix: str) -> str:
    return f"{prefix}_{next(_id_counter):08d}"


def _encode_events(events: Iterable[tuple[str, Mapping[str, Any]]]) -> bytes:
    """Return server-sent events; one without a name consists of its data only."""
    lines = (
        f"event: {name}\ndata: {json.dumps(data)}\n\n" if name else f"data: {json.dumps(data)}\n\n"
        for name, data in events
    )
    return "".join(lines).encode()


def stream_anthropic(turn: ModelTurn, request: Mapping[str, Any]) -> bytes:
    """Return the turn as a streamed message."""
    model = str(request.get("model", "scripted"))
    return _encode_events((str(data["type"]), data) for data in _iter_message_events(turn, model))


def _iter_message_events(turn: ModelTurn, model: str) -> Iterator[dict[str, Any]]:
    usage = {"input_tokens": 10, "output_tokens": 1}
    head = {"id": _next_id("msg"), "type": "message", "role": "assistant", "model": model, "content": []}
    yield {"type": "message_start", "message": head | {"stop_reason": None, "stop_sequence": None, "usage": usage}}
    for index, part in enumerate((turn.text, *turn.tools)):
        if isinstance(part, ToolUse):
            block: dict[str, Any] = {"type": "tool_use", "id": _next_id("toolu"), "name": part.name, "input": {}}
            delta: dict[str, Any] = {"type": "input_json_delta", "partial_json": json.dumps(part.input)}
        else:
            block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": part}
        yield {"type": "content_block_start", "index": index, "content_block": block}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    stop = {"stop_reason": "tool_use" if turn.tools else "end_turn", "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 5}}
    yield {"type": "message_stop"}


def stream_openai_responses(turn: ModelTurn, request: Mapping[str, Any]) -> bytes:
    """Return the turn as a streamed response."""
    items = [_build_text_item(turn.text), *map(_build_tool_item, turn.tools)]
    usage = {
        "input_tokens": 10,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 15,
    }
    response = {
        "id": _next_id("resp"),
        "object": "response",
        "model": request.get("model"),
        "created_at": 0,
        "output": items,
    }
    events: list[tuple[str, dict[str, Any]]] = [
        ("response.created", {"response": response | {"status": "in_progress", "output": []}})
    ]
    for index, item in enumerate(items):
        started = item | {"status": "in_progress"}
        events.append(("response.output_item.added", {"output_index": index, "item": started}))
        events.append(("response.output_item.done", {"output_index": index, "item": item}))
    events.append(("response.completed", {"response": response | {"status": "completed", "usage": usage}}))
    return _encode_events(
        (name, {"type": name, "sequence_number": number, **data}) for number, (name, data) in enumerate(events)
    )


def _build_text_item(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "role": "assistant", "id": _next_id("msg"), "status": "completed", "content": content}


def _build_tool_item(tool: ToolUse) -> dict[str, Any]:
    item = {"id": _next_id("item"), "call_id": _next_id("call"), "status": "completed", "name": tool.name}
    if tool.namespace:
        item["namespace"] = tool.namespace
    return item | {"type": "function_call", "arguments": json.dumps(tool.input)}


def stream_gemini(turn: ModelTurn, request: Mapping[str, Any]) -> bytes:
    """Return the turn as one streamed chunk."""
    parts: list[dict[str, Any]] = [{"text": turn.text}]
    parts += [
        # The real model signs its calls.
        {"functionCall": {"name": tool.name, "args": tool.input}, "thoughtSignature": "c2NyaXB0"}
        for tool in turn.tools
    ]
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
    return _encode_events([("", {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"})])
