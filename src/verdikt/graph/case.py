"""Cases as data: an action, the world around it, and the verdict that a policy must give."""

import posixpath
from collections.abc import Iterator, Mapping
from typing import Any

from verdikt.graph.rule import VERDICTS
from verdikt.model.action import Action, ActionKind
from verdikt.model.document import Document, plain
from verdikt.model.facts import GitFact, PathFact
from verdikt.model.node import Node
from verdikt.model.posture import Posture
from verdikt.model.shape import Field, Shape, choice, flag, read_fields, text
from verdikt.model.tool import kind_of
from verdikt.model.value import Value, field

HOME, PROJECT = "/home/dev", "/home/dev/project"
STATES = ("tracked", "modified", "untracked", "ignored", "absent", "dir")


class CaseWorld(Value):
    """The world of a case: the same on every machine, empty but for the files that the case names."""

    cwd: str = PROJECT
    files: Mapping[str, str] = field(default_factory=dict)  # absolute path → state

    def place(self) -> Mapping[str, Any]:
        """A project in somebody's home."""
        guarded = [f"{PROJECT}/governance.yaml", f"{HOME}/.config/verdikt", f"{HOME}/.local/share/verdikt"]
        place = {"now": 1_700_000_000.0, "cwd": self.cwd, "home": HOME, "project_root": PROJECT, "user": "dev"}
        return {**place, "temp": ["/tmp", "/var/tmp"], "guarded": guarded}

    def path(self, path: str, *, git: bool = True) -> PathFact:
        """As the case says; absent when it does not say."""
        state = self.files.get(path, "absent")
        if path in (PROJECT, HOME, self.cwd) or state == "dir":
            return PathFact(real=path, kind="dir")
        if state == "absent":
            return PathFact(real=path)
        return PathFact(real=path, kind="file", git=state)

    def text(self, path: str) -> str | None:
        """No case has texts."""
        return None

    def stamp(self, path: str) -> str:
        """Nothing was ever read here."""
        return ""

    def changed(self, path: str) -> float:
        """Nothing was ever written here."""
        return 0.0

    def git(self, directory: str) -> GitFact:
        """One repository, with an upstream."""
        return GitFact(
            root=PROJECT, branch="main", upstream="origin/main", remotes={"origin": "git@example.com:dev/project.git"}
        )


class Case(Value, kw_only=True):
    """One action and what is expected of the policy; None where the case does not say."""

    name: str
    where: str
    action: Action
    verdict: str
    guard: str | None = None
    reason: str | None = None
    fix: str | None = None
    approved: bool | None = None
    posture: Posture | None = None
    world: CaseWorld = field(default_factory=CaseWorld)


def _input(node: Node) -> Any:
    return plain(node.value)


def _files(node: Node) -> dict[str, str]:
    found = {path: state.choice(STATES) for path, state in node.mapping().items()}
    return {path: state for path, state in found.items() if state is not None}


FIELDS: dict[str, Field] = {
    "name": Field(text(), "what must hold, in plain words", required=True),
    "run": Field(text(), "a shell command"),
    "tool": Field(text(), "a tool's name"),
    "input": Field(Shape(_input, {"type": "object"}, "mapping"), "that tool's input"),
    "kind": Field(choice(tuple(ActionKind)), "the kind of action, when the tool's name does not tell"),
    "verdict": Field(choice(tuple(VERDICTS)), "what the policy must say", required=True),
    "guard": Field(text(), "who must have said it"),
    "reason": Field(text(), "a part of the reason"),
    "fix": Field(text(), "a part of the fix"),
    "approved": Field(flag(), "whether the host need not ask a person either"),
    "posture": Field(choice(tuple(Posture)), "the posture in force; the policy's own when not given"),
    "cwd": Field(text(), "where it happens, below /home/dev/project when relative"),
    "files": Field(
        Shape(_files, {"type": "object"}, "mapping of path to state"), "files that exist: " + ", ".join(STATES)
    ),
    "session": Field(text(), "cases with the same session share its state, in order"),
    "host": Field(text(), "the host it comes from"),
    "agent": Field(text(), "the agent's name"),
    "task_type": Field(text(), "the type of a submitted task"),
}
"""Every key of a case."""


def read_cases(document: Document) -> list[Case]:
    """The cases of a file; whatever is wrong with them is recorded in `document.faults`."""
    top = Node.top(document)
    return list(_cases(top.items(what="a list of cases")))


def _cases(items: list[Node]) -> Iterator[Case]:
    for number, node in enumerate(items):
        before = len(node.document.faults)
        values = read_fields(node, FIELDS)
        if isinstance(node.value, Mapping) and ("run" in node.value) == ("tool" in node.value):
            node.fault(
                "expected either `run` (a command) or `tool` with `input`, found "
                + ("both" if "run" in values else "neither")
            )
        if len(node.document.faults) > before:
            continue
        cwd = posixpath.normpath(posixpath.join(PROJECT, values.get("cwd", "")))
        files = {
            posixpath.normpath(posixpath.join(cwd, path.replace("~", HOME, 1) if path.startswith("~") else path)): state
            for path, state in values.get("files", {}).items()
        }
        posture = values.get("posture")
        yield Case(
            name=values["name"],
            where=node.where,
            action=_action(values, cwd, f"case {number}"),
            verdict=values["verdict"],
            guard=values.get("guard"),
            reason=values.get("reason"),
            fix=values.get("fix"),
            approved=values.get("approved"),
            posture=Posture(posture) if posture else None,
            world=CaseWorld(cwd, files),
        )


def _action(values: dict[str, Any], cwd: str, session: str) -> Action:
    tool = values.get("tool", "Bash")
    kind = ActionKind(values["kind"]) if "kind" in values else ActionKind.BASH if "run" in values else kind_of(tool)
    return Action(
        kind=kind,
        tool=tool,
        payload={"command": values["run"]} if "run" in values else values.get("input", {}),
        session_id=values.get("session", session),
        cwd=cwd,
        host=values.get("host", ""),
        agent=values.get("agent", ""),
        task_type=values.get("task_type", ""),
    )
