"""Many tool calls at once: JSON lines in, one JSON line out for each, in order, nothing recorded."""

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
from verdikt.model.effect import Effect
from verdikt.model.facts import Facts
from verdikt.model.posture import Posture
from verdikt.model.redaction import redact_action
from verdikt.model.session_state import SessionState
from verdikt.model.tool_kind import classify_tool
from verdikt.model.verdict import Decision, decision_from_error
from verdikt.observe.guarded_paths import list_guarded_paths
from verdikt.observe.world import RealWorld, find_project_root

_HOME_DIRECTORY = re.compile(r"^(/home/[^/]+|/Users/[^/]+|/root)(?=/|$)")


class BatchLineError(ValueError):
    """A line that is no tool call; the message says what was expected."""


def answer_lines(lines: Iterable[bytes], policy: Policy, *, posture: Posture, home: str) -> Iterator[str]:
    """One line of JSON for each line of input that is not empty. A line that cannot be read gets a line with `error`."""
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield json.dumps(answer_line(line, number, policy, posture=posture, home=home), ensure_ascii=False)


def answer_line(line: bytes, number: int, policy: Policy, *, posture: Posture, home: str) -> dict[str, Any]:
    """The answer to one line."""
    found: Any = None
    try:
        found = parse_json(line)
        action = _parse_action(found)
    except CanonicalError as error:
        return {"id": None, "line": number, "error": f"expected a JSON object with `tool` and `input`: {error}"}
    except BatchLineError as error:
        name = found.get("id") if isinstance(found, Mapping) else None
        return {"id": name, "line": number, "error": str(error)}
    decision = observe_and_decide(action, policy, posture, home=infer_home(action.cwd, home))
    verdict = decision.verdict
    return {
        "id": found.get("id"),
        "verdict": verdict.kind.word,
        "guard": verdict.guard,
        "reason": verdict.reason,
        "fix": verdict.fix,
        "effects": [effect_to_dict(effect) for effect in decision.effects],
    }


def observe_and_decide(action: Action, policy: Policy, posture: Posture, *, home: str) -> Decision:
    """The decision on an action by the same core as a hook's, over the world as it is. A failure is a block."""
    try:
        action, secrets = redact_action(action)
        root = find_project_root(action.cwd, home) if os.path.isdir(action.cwd) else action.cwd
        guarded = list_guarded_paths(root, {**os.environ, "HOME": home} if home else os.environ)
        facts = Facts(RealWorld(action.cwd, home=home, guarded=guarded), secrets=secrets)
        return decide(action, facts, SessionState(), posture, policy)
    except Exception as error:
        return decision_from_error(error)


def infer_home(cwd: str, home: str) -> str:
    """Whose home a history was made in: the one around its directories, else that of whoever asks."""
    if home and (cwd == home or cwd.startswith(home + "/")):
        return home
    found = _HOME_DIRECTORY.match(cwd)
    return found.group(1) if found else home


def effect_to_dict(effect: Effect) -> dict[str, Any]:
    """An effect as plain data, without what is empty."""
    targets = [
        {key: value for key, value in (("text", t.text), ("kind", t.kind), ("path", t.path), ("zone", t.zone.value), ("state", t.state)) if value}
        for t in effect.targets
    ]  # fmt: skip
    data = {
        "class": effect.cls.value,
        "what": effect.what,
        "targets": targets,
        "certainty": effect.certainty.value,
        "recoverable": effect.recoverable,
        "by": effect.by,
        "note": effect.note,
    }
    return {key: value for key, value in data.items() if value not in ("", [])}


def _parse_action(document: Any) -> Action:
    if not isinstance(document, Mapping):
        raise BatchLineError("expected a JSON object with `tool` and `input`, found something else")
    tool, given, cwd = document.get("tool"), document.get("input", {}), document.get("cwd", "")
    if not isinstance(tool, str) or not tool:
        raise BatchLineError("expected `tool` to be a name")
    if not isinstance(given, Mapping):
        raise BatchLineError("expected `input` to be an object")
    if not isinstance(cwd, str) or "\0" in cwd:
        raise BatchLineError("expected `cwd` to be a directory")
    return Action(kind=classify_tool(tool), tool=tool, payload=given, cwd=cwd)
