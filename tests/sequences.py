"""Sequences of an agent's calls as data: what is written now and what runs later, decided one after the other.

A case has a `name` and `steps`. A step is one of
  write: {PATH: TEXT}              the Write tool
  edit: {PATH: [OLD, NEW]}         the Edit tool
  run: COMMAND                     the shell; `makes: {PATH: TEXT}` and `gone: [PATH]` say what it did to the disk
  call: {tool: …, input: …}        any other tool
  session: NAME                    from here on another session of the same project
  prompt: TEXT                     what the person says
and may state a `verdict`, a `guard` and words of the `reason`. A family crosses its `loads` with its `texts`. A case
is judged by `standard`, or by its own `profile` or `policy`.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any

from tests.case_files import CASE_FILES, load_yaml
from tests.fakes import FakeWorld
from tests.git_world import GitWorld
from tests.unit.effects.test_cases import ROOT, load_policy, make_world
from verdikt.decide import decide
from verdikt.effects.armed_files import PROJECT_ARMED_KEY
from verdikt.effects.untrusted_sources import note_sources
from verdikt.govern import collect_memory_changes
from verdikt.model.action import Action
from verdikt.model.facts import NAMED_WORDS_KEY, Facts
from verdikt.model.named_words import fold_named_words
from verdikt.model.posture import Posture
from verdikt.model.redaction import redact_action
from verdikt.model.session_state import SessionState, StoredMemory, fold_changes, split_shared_key
from verdikt.model.tool_kind import classify_tool
from verdikt.model.verdict import Decision
from verdikt.model.world import PathFact
from verdikt.policy import parse_policy


class Rehearsal:
    """A session without a log: a world that the steps change, and the memory as its projection would hold it."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.world: FakeWorld = make_world(case)
        # It has a file with changes in it, as git says of its directory.
        self.world.paths[f"{ROOT}/src"] = PathFact(real=f"{ROOT}/src", kind="dir", git="modified")
        self._policy = (
            parse_policy(case["policy"]) if "policy" in case else load_policy(case.get("profile", "standard"))
        )
        self._posture = Posture(case.get("posture", "interactive"))
        self._memory: dict[str, Any] = {"kept": {}, "marks": ""}
        self._project: dict[str, Any] = {"kept": {}, "marks": ""}
        self._seq = 0
        self._git = GitWorld(self.world)

    def play(self, step: dict[str, Any]) -> Decision | None:
        """Decide one step, remember it, and change the world as it would have."""
        if "session" in step:
            self._memory = {"kept": {}, "marks": ""}
            return None
        if "prompt" in step:
            words = fold_named_words(str(self._memory["kept"].get(NAMED_WORDS_KEY, "")), step["prompt"])
            self._memory = fold_changes(self._memory, {NAMED_WORDS_KEY: words})
            return None
        action = to_action(step)
        action, secrets = redact_action(action)
        memory = StoredMemory(lambda: self._memory, lambda scope: StoredMemory(lambda: self._project))
        facts = Facts(self.world, secrets=secrets, memory=memory)
        decision = decide(action, facts, SessionState(), self._posture, self._policy)
        self._seq += 1
        memory_changes = collect_memory_changes(action, decision, facts, self._seq, now=0.0)
        if self._policy.section("flow"):
            memory_changes |= note_sources(action, decision.effects, facts, self._seq)
        if PROJECT_ARMED_KEY in memory_changes:
            changes = {split_shared_key(PROJECT_ARMED_KEY)[1]: memory_changes.pop(PROJECT_ARMED_KEY)}
            self._project = fold_changes(self._project, changes)
        self._memory = fold_changes(self._memory, memory_changes)
        self._change_world(step)
        return decision

    def _change_world(self, step: dict[str, Any]) -> None:
        made = {**step.get("write", {}), **step.get("makes", {})}
        payload = step.get("call", {}).get("input", {})
        if isinstance(path := payload.get("path"), str) and isinstance(text := payload.get("content"), str):
            made[path] = text
        for path, (old, new) in step.get("edit", {}).items():
            made[path] = self.world.texts[to_absolute(path)].replace(old, new)
        for path, text in made.items():
            place = to_absolute(path)
            self.world.texts[place] = text
            self.world.paths[place] = PathFact(real=place, kind="file", git=step.get("git", "untracked"))
        for path in step.get("gone", ()):
            self.world.texts.pop(to_absolute(path), None)
            self.world.paths.pop(to_absolute(path), None)
        if made or "gone" in step:
            self._git.note_files()
        if "git" in step.get("run", ""):
            self._git.note_command(step["run"])


def to_absolute(path: str) -> str:
    """Return a path of the project, or one that is absolute already."""
    return path if path.startswith("/") else f"{ROOT}/{path}"


def to_action(step: dict[str, Any]) -> Action:
    """Return the call that a step stands for."""
    if "write" in step:
        [(path, text)] = step["write"].items()
        tool, payload = "Write", {"file_path": to_absolute(path), "content": text}
    elif "edit" in step:
        [(path, (old, new))] = step["edit"].items()
        tool, payload = "Edit", {"file_path": to_absolute(path), "old_string": old, "new_string": new}
    elif "call" in step:
        tool, payload = step["call"]["tool"], step["call"]["input"]
    else:
        tool, payload = "Bash", {"command": step["run"]}
    return Action(kind=classify_tool(tool), tool=tool, payload=payload, cwd=step.get("cwd", ROOT))


def load_sequences() -> Iterator[dict[str, Any]]:
    """Yield every case, with families expanded."""
    for file in sorted(CASE_FILES.glob("sequences_*.yaml")):
        for case in load_yaml(file):
            yield from _expand_family(case) if "loads" in case else [case]


def _expand_family(family: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a case for each text and each command that may load it."""
    expected = {key: family[key] for key in ("verdict", "guard", "reason") if key in family}
    for (number, text), command in product(enumerate(family["texts"], 1), family["loads"]):
        write = {"write": {family["file"]: text}, "verdict": "pass"}
        yield {
            "name": f"{family['name']} {number}: {command}",
            "steps": [*family.get("before", ()), write, {"run": command, **expected}],
        }
