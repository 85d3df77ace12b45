"""Test cases as data: an action, its world, and the verdict that a policy must give."""

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from verdikt.graph.rule import VERDICT_KINDS
from verdikt.model.action import Action, ActionKind
from verdikt.model.path_set import PathSet
from verdikt.model.posture import Posture
from verdikt.model.schema_type import Field, SchemaType, bool_type, choice_type, read_fields, text_type
from verdikt.model.tool_kind import classify_tool
from verdikt.model.world import GitFact, PathFact
from verdikt.model.yaml_document import YamlDocument, to_plain
from verdikt.model.yaml_node import YamlNode

HOME, PROJECT = "/home/dev", "/home/dev/project"
FILE_STATES = ("tracked", "modified", "untracked", "ignored", "absent", "dir")


@dataclass(frozen=True, slots=True)
class CaseWorld:
    """The world of a case: the same on every machine, empty but for the files that the case names."""

    cwd: str = PROJECT
    files: Mapping[str, str] = field(default_factory=dict)  # absolute path → state

    def place(self) -> Mapping[str, Any]:
        """Return a project in a home directory."""
        # Constants, the time included, so that a case gives the same receipt everywhere.
        guarded = [f"{PROJECT}/governance.yaml", f"{HOME}/.config/verdikt", f"{HOME}/.local/share/verdikt"]
        place = {"now": 1_700_000_000.0, "cwd": self.cwd, "home": HOME, "project_root": PROJECT, "user": "dev"}
        return {**place, "temp": ["/tmp", "/var/tmp"], "guarded": guarded}

    def path(self, path: str, *, git: bool = True) -> PathFact:
        """Return the state that the case gives; absent by default."""
        state = self.files.get(path, "absent")
        if path in (PROJECT, HOME, self.cwd) or state == "dir":
            return PathFact(real=path, kind="dir")
        if state == "absent":
            return PathFact(real=path)
        return PathFact(real=path, kind="file", git=state)

    def text(self, path: str) -> str | None:
        """Return None: files of a case have no content."""
        return None

    def content_stamp(self, path: str) -> str:
        """Return an empty stamp: files of a case have no content."""
        return ""

    def modification_time(self, path: str) -> float:
        """Return 0: files of a case have no times."""
        return 0.0

    def guarded_in(self, path_set: PathSet) -> tuple[str, ...] | None:
        """Return None: files of a case have no content that could be looked up."""
        return None

    def git(self, directory: str) -> GitFact:
        """Return one repository, with an upstream."""
        return GitFact(
            root=PROJECT, branch="main", upstream="origin/main", remotes={"origin": "git@example.com:dev/project.git"}
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyCase:
    """One action and the expected result; None where the case expects nothing in particular."""

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


def _read_input(node: YamlNode) -> Any:
    return to_plain(node.value)


def _read_files(node: YamlNode) -> dict[str, str]:
    states = {path: state.read_choice(FILE_STATES) for path, state in node.read_mapping().items()}
    return {path: state for path, state in states.items() if state is not None}


CASE_FIELDS: dict[str, Field] = {
    "name": Field(text_type(), "what must hold, in plain words", required=True),
    "run": Field(text_type(), "a shell command"),
    "tool": Field(text_type(), "a tool's name"),
    "input": Field(SchemaType(_read_input, {"type": "object"}, "mapping"), "that tool's input"),
    "kind": Field(choice_type(tuple(ActionKind)), "the kind of action, when the tool's name does not tell"),
    "verdict": Field(choice_type(tuple(VERDICT_KINDS)), "what the policy must say", required=True),
    "guard": Field(text_type(), "the guard that must have decided"),
    "reason": Field(text_type(), "a part of the reason"),
    "fix": Field(text_type(), "a part of the fix"),
    "approved": Field(bool_type(), "whether the host need not ask a person either"),
    "posture": Field(choice_type(tuple(Posture)), "the posture in force; the policy's own when not given"),
    "cwd": Field(text_type(), "where it happens, below /home/dev/project when relative"),
    "files": Field(
        SchemaType(_read_files, {"type": "object"}, "mapping of path to state"),
        "files that exist: " + ", ".join(FILE_STATES),
    ),
    "session": Field(text_type(), "cases with the same session share its state, in order"),
    "host": Field(text_type(), "the host it comes from"),
    "agent": Field(text_type(), "the agent's name"),
    "task_type": Field(text_type(), "the type of a submitted task"),
}
"""Every key of a case."""


def read_cases(document: YamlDocument) -> list[PolicyCase]:
    """Return the cases of a file; problems are recorded in `document.errors`."""
    top = YamlNode.from_document(document)
    return list(_parse_cases(top.read_items(what="a list of cases")))


def _parse_cases(items: list[YamlNode]) -> Iterator[PolicyCase]:
    for number, node in enumerate(items):
        before = len(node.document.errors)
        values = read_fields(node, CASE_FIELDS)
        # A case with neither would test an action without content, which every policy passes.
        if isinstance(node.value, Mapping) and ("run" in node.value) == ("tool" in node.value):
            node.add_error(
                "expected either `run` (a command) or `tool` with `input`, found "
                + ("both" if "run" in values else "neither")
            )
        if len(node.document.errors) > before:
            continue
        cwd = posixpath.normpath(posixpath.join(PROJECT, values.get("cwd", "")))
        files = {
            posixpath.normpath(posixpath.join(cwd, path.replace("~", HOME, 1) if path.startswith("~") else path)): state
            for path, state in values.get("files", {}).items()
        }
        posture = values.get("posture")
        yield PolicyCase(
            name=values["name"],
            where=node.location,
            action=_build_action(values, cwd, f"case {number}"),
            verdict=values["verdict"],
            guard=values.get("guard"),
            reason=values.get("reason"),
            fix=values.get("fix"),
            approved=values.get("approved"),
            posture=Posture(posture) if posture else None,
            world=CaseWorld(cwd, files),
        )


def _build_action(values: dict[str, Any], cwd: str, session: str) -> Action:
    tool = values.get("tool", "Bash")
    kind = (
        ActionKind(values["kind"]) if "kind" in values else ActionKind.BASH if "run" in values else classify_tool(tool)
    )
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
