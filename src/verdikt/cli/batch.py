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
from verdikt.model.canonical import parse
from verdikt.model.decision import Decision, failed
from verdikt.model.effect import Effect
from verdikt.model.facts import Facts
from verdikt.model.posture import Posture
from verdikt.model.redaction import redact_action
from verdikt.model.session import SessionState
from verdikt.model.tool import kind_of
from verdikt.observe.guarded import guarded_paths
from verdikt.observe.world import RealWorld, project_root

_HOME = re.compile(r"^(/home/[^/]+|/Users/[^/]+|/root)(?=/|$)")


class BadLine(ValueError):
    """A line that is no tool call; the message says what was expected."""


def answers(lines: Iterable[bytes], policy: Policy, *, posture: Posture, home: str) -> Iterator[str]:
    """One line of JSON for each line of input that is not empty. A line that cannot be read gets a line with `error`."""
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield json.dumps(answer(line, number, policy, posture=posture, home=home), ensure_ascii=False)


def answer(line: bytes, number: int, policy: Policy, *, posture: Posture, home: str) -> dict[str, Any]:
    """The answer to one line."""
    found: Any = None
    try:
        found = parse(line)
        action = _action(found)
    except CanonicalError as error:
        return {"id": None, "line": number, "error": f"expected a JSON object with `tool` and `input`: {error}"}
    except BadLine as error:
        name = found.get("id") if isinstance(found, Mapping) else None
        return {"id": name, "line": number, "error": str(error)}
    decision = look_and_decide(action, policy, posture, home=home_of(action.cwd, home))
    verdict = decision.verdict
    return {
        "id": found.get("id"),
        "verdict": verdict.kind.word,
        "guard": verdict.guard,
        "reason": verdict.reason,
        "fix": verdict.fix,
        "effects": [plain(effect) for effect in decision.effects],
    }


def look_and_decide(action: Action, policy: Policy, posture: Posture, *, home: str) -> Decision:
    """The decision on an action by the same core as a hook's, over the world as it is. A failure is a block."""
    try:
        action, secrets = redact_action(action)
        root = project_root(action.cwd, home) if os.path.isdir(action.cwd) else action.cwd
        guarded = guarded_paths(root, {**os.environ, "HOME": home} if home else os.environ)
        facts = Facts(RealWorld(action.cwd, home=home, guarded=guarded), secrets=secrets)
        return decide(action, facts, SessionState(), posture, policy)
    except Exception as error:
        return failed(error)


def home_of(cwd: str, home: str) -> str:
    """Whose home a history was made in: the one around its directories, else that of whoever asks."""
    if home and (cwd == home or cwd.startswith(home + "/")):
        return home
    found = _HOME.match(cwd)
    return found.group(1) if found else home


def plain(effect: Effect) -> dict[str, Any]:
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


def _action(found: Any) -> Action:
    if not isinstance(found, Mapping):
        raise BadLine("expected a JSON object with `tool` and `input`, found something else")
    tool, given, cwd = found.get("tool"), found.get("input", {}), found.get("cwd", "")
    if not isinstance(tool, str) or not tool:
        raise BadLine("expected `tool` to be a name")
    if not isinstance(given, Mapping):
        raise BadLine("expected `input` to be an object")
    if not isinstance(cwd, str) or "\0" in cwd:
        raise BadLine("expected `cwd` to be a directory")
    return Action(kind=kind_of(tool), tool=tool, payload=given, cwd=cwd)
