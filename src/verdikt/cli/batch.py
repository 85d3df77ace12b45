"""Decide many tool calls: JSON lines in, one JSON line out for each, in order, nothing recorded."""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from verdikt.decide import decide
from verdikt.errors import CanonicalError
from verdikt.graph.policy import Policy
from verdikt.model.action import Action
from verdikt.model.canonical_json import parse_json
from verdikt.model.effect import Effect, Target
from verdikt.model.facts import Facts
from verdikt.model.grant import Grant
from verdikt.model.pause import Pause
from verdikt.model.posture import Posture
from verdikt.model.redaction import redact_action
from verdikt.model.session_state import SessionState
from verdikt.model.tool_kind import classify_tool
from verdikt.model.verdict import Decision, decision_from_error
from verdikt.observe.guarded_paths import list_guarded_paths
from verdikt.observe.world import RealWorld, find_project_root

# Home directories of Linux and macOS; other users' homes in a recorded history must count as homes too.
_HOME_DIRECTORY = re.compile(r"^(/home/[^/]+|/Users/[^/]+|/root)(?=/|$)")


class BatchLineError(ValueError):
    """A line that is not a tool call; the message says what was expected."""


def answer_lines(lines: Iterable[bytes], policy: Policy, *, posture: Posture, home: str) -> Iterator[str]:
    """Yield one line of JSON for each line of input that is not empty; an unreadable one gets an `error`."""
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield json.dumps(answer_line(line, number, policy, posture=posture, home=home), ensure_ascii=False)


def answer_line(line: bytes, number: int, policy: Policy, *, posture: Posture, home: str) -> dict[str, Any]:
    """Return the answer to one line."""
    document: Any = None
    try:
        document = parse_json(line)
        action = _parse_action(document)
    except CanonicalError as error:
        return {"id": None, "line": number, "error": f"expected a JSON object with `tool` and `input`: {error}"}
    except BatchLineError as error:
        call_id = document.get("id") if isinstance(document, Mapping) else None
        return {"id": call_id, "line": number, "error": str(error)}
    decision = observe_and_decide(action, policy, posture, home=infer_home(action.cwd, home))
    verdict = decision.verdict
    return {
        "id": document.get("id"),
        "verdict": verdict.kind.word,
        "guard": verdict.guard,
        "reason": verdict.reason,
        "fix": verdict.fix,
        "effects": [effect_to_dict(effect) for effect in decision.effects],
    }


def observe_and_decide(
    action: Action,
    policy: Policy,
    posture: Posture,
    *,
    home: str,
    grants: tuple[Grant, ...] = (),
    pause: Pause | None = None,
    memory: Mapping[str, Any] | None = None,
) -> Decision:
    """Decide an action with the same core as a hook, over the world as it is; a failure is a block.

    `memory` is what the session and its project remember.
    """
    try:
        # The secrets are redacted before anything else reads the action, as in a hook.
        action, secrets = redact_action(action)
        # A history may come from another machine, where its directories exist and here they do not.
        root = find_project_root(action.cwd, home) if os.path.isdir(action.cwd) else action.cwd
        guarded = list_guarded_paths(root, {**os.environ, "HOME": home} if home else os.environ)
        facts = Facts(RealWorld(action.cwd, home=home, guarded=guarded), secrets=secrets, memory=memory)
        return decide(action, facts, SessionState(), posture, policy, grants=grants, pause=pause)
    # Broad on purpose: an error of any kind in the flow must become a block, here as in a hook.
    except Exception as error:
        return decision_from_error(error)


def infer_home(cwd: str, home: str) -> str:
    """Return the home directory that encloses `cwd`, also of another user or machine; else `home`."""
    if home and (cwd == home or cwd.startswith(home + "/")):
        return home
    # Without it, `~/Documents` of a history recorded elsewhere would be an ordinary directory.
    match = _HOME_DIRECTORY.match(cwd)
    return match.group(1) if match else home


def effect_to_dict(effect: Effect) -> dict[str, Any]:
    """Return an effect as plain data, without its empty fields."""
    targets = [_target_to_dict(target) for target in effect.targets]
    data = {
        "class": effect.cls.value,
        "what": effect.what,
        "targets": targets,
        "certainty": effect.certainty.value,
        "recoverable": effect.recoverable,
        "by": effect.by,
        "note": effect.note,
    }
    # Not by truth: `recoverable: false` is what a reader looks for.
    return {key: value for key, value in data.items() if value not in ("", [])}


def _target_to_dict(target: Target) -> dict[str, str]:
    fields = {
        "text": target.text,
        "kind": target.kind,
        "path": target.path,
        "zone": target.zone.value,
        "state": target.state,
    }
    return {key: value for key, value in fields.items() if value}


def _parse_action(document: Any) -> Action:
    if not isinstance(document, Mapping):
        raise BatchLineError("expected a JSON object with `tool` and `input`, found something else")
    tool, payload, cwd = document.get("tool"), document.get("input", {}), document.get("cwd", "")
    if not isinstance(tool, str) or not tool:
        raise BatchLineError("expected `tool` to be a name")
    if not isinstance(payload, Mapping):
        raise BatchLineError("expected `input` to be an object")
    if not isinstance(cwd, str) or "\0" in cwd:
        raise BatchLineError("expected `cwd` to be a directory")
    return Action(kind=classify_tool(tool), tool=tool, payload=payload, cwd=cwd)
