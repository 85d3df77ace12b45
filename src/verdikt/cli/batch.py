"""Many tool calls at once: JSON lines in, one JSON line out for each, in order, nothing recorded."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from verdikt.effects.classifier import classify
from verdikt.errors import CanonicalError
from verdikt.graph.context import GovernanceContext
from verdikt.graph.policy import Policy
from verdikt.model.action import Action
from verdikt.model.canonical import parse
from verdikt.model.effect import Effect, Effects
from verdikt.model.facts import Facts, World
from verdikt.model.tool import kind_of
from verdikt.model.verdict import Verdict
from verdikt.observe.world import RealWorld

_HOME = re.compile(r"^(/home/[^/]+|/Users/[^/]+|/root)(?=/|$)")


class BadLine(ValueError):
    """A line that is no tool call; the message says what was expected."""


def answers(lines: Iterable[bytes], policy: Policy, *, home: str) -> Iterator[str]:
    """One line of JSON for each line of input that is not empty. A line that cannot be read gets a line with `error`."""
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield json.dumps(answer(line, number, policy, home=home), ensure_ascii=False)


def answer(line: bytes, number: int, policy: Policy, *, home: str) -> dict[str, Any]:
    """The answer to one line."""
    found: Any = None
    try:
        found = parse(line)
        action = _action(found)
    except (CanonicalError, BadLine) as error:
        name = found.get("id") if isinstance(found, Mapping) else None
        return {"id": name, "line": number, "error": str(error)}
    effects, verdict = judge(action, policy, lambda: RealWorld(action.cwd, home=home_of(action.cwd, home)))
    return {
        "id": found.get("id"),
        "verdict": verdict.kind.word,
        "guard": verdict.guard,
        "reason": verdict.reason,
        "fix": verdict.fix,
        "effects": [plain(effect) for effect in effects],
    }


def judge(action: Action, policy: Policy, world: Callable[[], World]) -> tuple[Effects, Verdict]:
    """What the action would do, and what the policy says of it. A failure is a block."""
    try:
        facts = Facts(world())
        effects = classify(action, facts)
        context = GovernanceContext(action=action, effects=effects, facts=facts)
        return effects, policy.root.evaluate(action, context)
    except Exception as error:
        reason = f"the action could not be judged: {type(error).__name__}: {error}"
        return Effects(), Verdict.block(
            guard="crash", reason=reason, fix="report this; until then it is blocked", error=True
        )


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
