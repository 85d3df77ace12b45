"""What Codex needs beside its `hooks.json`: no terminal sessions, a person's approval, and the requirements that bind everybody."""

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from verdikt.errors import WiringError
from verdikt.hosts.codex import hook_approval
from verdikt.hosts.wiring import json_settings, toml_editor
from verdikt.hosts.wiring.file_change import FileChange, read_file
from verdikt.observe.git_repository import find_work_tree

if TYPE_CHECKING:
    from verdikt.hosts.wiring.installation import Installation

_BLOCK_BEGIN = "# verdikt: hooks for everybody on this machine; `verdikt uninstall --all` takes them out"
_BLOCK_END = "# verdikt: end"

_NO_TERMINAL = "no terminal sessions: input to them fires no hook"


def get_codex_home(env: Mapping[str, str]) -> str:
    """Where Codex keeps its own settings."""
    return env.get("CODEX_HOME") or os.path.join(env.get("HOME") or os.path.expanduser("~"), ".codex")


def plan_config_changes(
    installation: "Installation", hooks_change: FileChange, scope: str, *, trust: bool
) -> list[FileChange]:
    """The files that the hooks of a project or a user need: no terminal sessions, and the approval if the person gave it."""
    own = os.path.join(get_codex_home(installation.env), "config.toml")
    local = own if scope == "user" else os.path.join(installation.project, ".codex", "config.toml")
    before = read_file(local)
    # What is typed into a terminal session fires no hook, so there must be none.
    after = toml_editor.set_key(before, ("features",), "unified_exec_tty", False, local)
    changes = {local: FileChange(path=local, before=before, after=after, host="codex", description=_NO_TERMINAL)}
    if trust:
        before = read_file(own)
        base = changes[own].after if own in changes else before
        hashes = hook_approval.compute_hashes(
            json_settings.parse(hooks_change.after, hooks_change.path), hooks_change.path
        )
        after = hook_approval.approve_hooks(base, hashes, own)
        what = f"approval of {len(hashes)} hooks" + (", no terminal sessions" if own in changes else "")
        if scope == "project" and not find_trust_level(toml_editor.parse(after, own), installation.project):
            # Without it Codex reads neither the hooks nor the settings of the project.
            after = toml_editor.set_key(after, ("projects", installation.project), "trust_level", "trusted", own)
            what += ", trust in this project"
        project = installation.project if scope == "project" else ""
        changes[own] = FileChange(path=own, before=before, after=after, host="codex", description=what, project=project)
    return list(changes.values())


def find_trust_level(tables: Mapping[str, Any], project: str) -> str:
    """What Codex's own settings say of a project, or of the repository that it lies in; empty when they say nothing."""
    projects = tables.get("projects")
    for directory in (project, find_work_tree(project)):
        known = projects.get(directory) if isinstance(projects, dict) and directory else None
        level = known.get("trust_level") if isinstance(known, dict) else None
        if level:
            return str(level)
    return ""


def add_requirements(data: bytes | None, entries: Mapping[str, Mapping[str, Any]], directory: str, where: str) -> bytes:
    """`requirements.toml` with hooks that run without approval and that nobody can switch off, beside what is there."""
    bare = remove_requirements(data or b"")
    tables = toml_editor.parse(bare, where)
    present = tables.get("hooks", {})
    if not isinstance(present, dict) or not all(isinstance(present.get(event, []), list) for event in entries):
        raise WiringError(
            f"{where}: expected `[[hooks.…]]` lists, found something else; mend the file and run this again"
        )
    pinned = {"hooks": True, "unified_exec_tty": False}
    for feature, value in pinned.items():
        bare = toml_editor.set_key(bare, ("features",), feature, value, where)
    if "managed_dir" not in present:
        bare = toml_editor.set_key(bare, ("hooks",), "managed_dir", directory, where)
    text = bare.decode().rstrip("\n")
    added = f"{text}\n\n{_render_hooks(entries)}".encode()
    toml_editor.parse(added, where)
    return added


def remove_requirements(data: bytes) -> bytes:
    """The file without the hooks that `requirements` put there."""
    text = data.decode(errors="surrogateescape")
    start, end = text.find(_BLOCK_BEGIN), text.find(_BLOCK_END)
    if start < 0 or end < start:
        return data
    left = text[:start].rstrip("\n") + "\n" + text[end + len(_BLOCK_END) :].lstrip("\n")
    return left.encode(errors="surrogateescape")


def _render_hooks(entries: Mapping[str, Mapping[str, Any]]) -> str:
    lines = [_BLOCK_BEGIN]
    for event, entry in entries.items():
        lines += [f"[[hooks.{event}]]", f"matcher = {_quote_toml(entry['matcher'])}", ""]
        for handler in entry["hooks"]:
            lines += [f"[[hooks.{event}.hooks]]", *(f"{key} = {_quote_toml(handler[key])}" for key in handler), ""]
    return "\n".join([*lines, _BLOCK_END, ""])


def _quote_toml(value: object) -> str:
    # Where it escapes characters by number, JSON does so in pairs that TOML refuses.
    return json.dumps(value, ensure_ascii=False)
