"""What Codex needs beside its `hooks.json`: no terminal sessions, a person's approval, and the requirements that bind everybody."""

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from verdikt.adapters.wiring import codex_trust, settings, toml
from verdikt.adapters.wiring.change import FileChange, read
from verdikt.errors import WiringError
from verdikt.observe.git import find_root

if TYPE_CHECKING:
    from verdikt.adapters.wiring.install import Installation

_BEGIN = "# verdikt: hooks for everybody on this machine; `verdikt uninstall --all` takes them out"
_END = "# verdikt: end"

_NO_TERMINAL = "no terminal sessions: input to them fires no hook"


def home(env: Mapping[str, str]) -> str:
    """Where Codex keeps its own settings."""
    return env.get("CODEX_HOME") or os.path.join(env.get("HOME") or os.path.expanduser("~"), ".codex")


def features(here: "Installation", hooks: FileChange, scope: str, *, trust: bool) -> list[FileChange]:
    """The files that the hooks of a project or a user need: no terminal sessions, and the approval if the person gave it."""
    own = os.path.join(home(here.env), "config.toml")
    local = own if scope == "user" else os.path.join(here.project, ".codex", "config.toml")
    before = read(local)
    # What is typed into a terminal session fires no hook, so there must be none.
    after = toml.put(before, ("features",), "unified_exec_tty", False, local)
    changes = {local: FileChange(path=local, before=before, after=after, host="codex", what=_NO_TERMINAL)}
    if trust:
        before = read(own)
        base = changes[own].after if own in changes else before
        hashes = codex_trust.trusted(settings.parse(hooks.after, hooks.path), hooks.path)
        after = codex_trust.approve(base, hashes, own)
        what = f"approval of {len(hashes)} hooks" + (", no terminal sessions" if own in changes else "")
        if scope == "project" and not trust_level(toml.parse(after, own), here.project):
            # Without it Codex reads neither the hooks nor the settings of the project.
            after = toml.put(after, ("projects", here.project), "trust_level", "trusted", own)
            what += ", trust in this project"
        project = here.project if scope == "project" else ""
        changes[own] = FileChange(path=own, before=before, after=after, host="codex", what=what, project=project)
    return list(changes.values())


def trust_level(tables: Mapping[str, Any], project: str) -> str:
    """What Codex's own settings say of a project, or of the repository that it lies in; empty when they say nothing."""
    projects = tables.get("projects")
    for directory in (project, find_root(project)):
        known = projects.get(directory) if isinstance(projects, dict) and directory else None
        level = known.get("trust_level") if isinstance(known, dict) else None
        if level:
            return str(level)
    return ""


def requirements(data: bytes | None, entries: Mapping[str, Mapping[str, Any]], directory: str, where: str) -> bytes:
    """`requirements.toml` with hooks that run without approval and that nobody can switch off, beside what is there."""
    bare = without(data or b"")
    tables = toml.parse(bare, where)
    present = tables.get("hooks", {})
    if not isinstance(present, dict) or not all(isinstance(present.get(event, []), list) for event in entries):
        raise WiringError(
            f"{where}: expected `[[hooks.…]]` lists, found something else; mend the file and run this again"
        )
    pinned = {"hooks": True, "unified_exec_tty": False}
    for feature, value in pinned.items():
        bare = toml.put(bare, ("features",), feature, value, where)
    if "managed_dir" not in present:
        bare = toml.put(bare, ("hooks",), "managed_dir", directory, where)
    text = bare.decode().rstrip("\n")
    added = f"{text}\n\n{_block(entries)}".encode()
    toml.parse(added, where)
    return added


def without(data: bytes) -> bytes:
    """The file without the hooks that `requirements` put there."""
    text = data.decode(errors="surrogateescape")
    start, end = text.find(_BEGIN), text.find(_END)
    if start < 0 or end < start:
        return data
    left = text[:start].rstrip("\n") + "\n" + text[end + len(_END) :].lstrip("\n")
    return left.encode(errors="surrogateescape")


def _block(entries: Mapping[str, Mapping[str, Any]]) -> str:
    lines = [_BEGIN]
    for event, entry in entries.items():
        lines += [f"[[hooks.{event}]]", f"matcher = {_text(entry['matcher'])}", ""]
        for handler in entry["hooks"]:
            lines += [f"[[hooks.{event}.hooks]]", *(f"{key} = {_text(handler[key])}" for key in handler), ""]
    return "\n".join([*lines, _END, ""])


def _text(value: object) -> str:
    # Where it escapes characters by number, JSON does so in pairs that TOML refuses.
    return json.dumps(value, ensure_ascii=False)
