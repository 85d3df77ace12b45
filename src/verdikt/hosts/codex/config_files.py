"""Codex's TOML files: no terminal sessions, the approval of hooks, and the requirements of a managed machine."""

import json
import os
from collections.abc import Mapping
from typing import Any

from verdikt.errors import WiringError
from verdikt.hosts.codex import HOST, hook_approval
from verdikt.hosts.host import PROJECT_SCOPES
from verdikt.hosts.wiring import json_settings, toml_editor
from verdikt.hosts.wiring.file_change import FileChange, read_file
from verdikt.hosts.wiring.installation import Installation
from verdikt.observe.git_repository import find_work_tree

# The two lines that mark our part of a file that other people write too.
_BLOCK_BEGIN = "# verdikt: hooks for everybody on this machine; `verdikt uninstall --all` takes them out"
_BLOCK_END = "# verdikt: end"

_NO_TERMINAL = "no terminal sessions: input to them fires no hook"


def get_config_file(installation: Installation) -> str:
    """Return the path of the person's own `config.toml`."""
    return installation.resolve_host_file(HOST, f"{HOST.config_directory}/config.toml")


def plan_config_changes(
    installation: Installation, hooks_change: FileChange, scope: str, *, trust: bool
) -> list[FileChange]:
    """Return the changes that the hooks need: no terminal sessions, and with `trust` the person's approval."""
    own = get_config_file(installation)
    local = own if scope == "user" else os.path.join(installation.project, ".codex", "config.toml")
    before = read_file(local)
    # Input that is typed into a terminal session fires no hook, so there must be no such sessions.
    after = toml_editor.set_key(before, ("features",), "unified_exec_tty", False, local)
    changes = {local: FileChange(path=local, before=before, after=after, host=HOST.name, description=_NO_TERMINAL)}
    if trust:
        before = read_file(own)
        base = changes[own].after if own in changes else before
        hashes = hook_approval.compute_hashes(
            json_settings.parse(hooks_change.after, hooks_change.path), hooks_change.path
        )
        after = hook_approval.approve_hooks(base, hashes, own)
        description = f"approval of {len(hashes)} hooks" + (", no terminal sessions" if own in changes else "")
        if scope in PROJECT_SCOPES and not find_trust_level(toml_editor.parse(after, own), installation.project):
            # Without it Codex reads neither the hooks nor the settings of the project.
            after = toml_editor.set_key(after, ("projects", installation.project), "trust_level", "trusted", own)
            description += ", trust in this project"
        project = installation.project if scope in PROJECT_SCOPES else ""
        changes[own] = FileChange(
            path=own, before=before, after=after, host=HOST.name, description=description, project=project
        )
    return list(changes.values())


def find_trust_level(tables: Mapping[str, Any], project: str) -> str:
    """Return the trust level of a project, or of the repository around it; empty when these settings name neither."""
    projects = tables.get("projects")
    for directory in (project, find_work_tree(project)):
        table = projects.get(directory) if isinstance(projects, dict) and directory else None
        level = table.get("trust_level") if isinstance(table, dict) else None
        if level:
            return str(level)
    return ""


def add_requirements(data: bytes | None, entries: Mapping[str, Mapping[str, Any]], directory: str, where: str) -> bytes:
    """Return `requirements.toml` with our hooks, which run without approval and which no session can switch off."""
    requirements = remove_requirements(data or b"")
    hooks = toml_editor.parse(requirements, where).get("hooks", {})
    if not isinstance(hooks, dict) or not all(isinstance(hooks.get(event, []), list) for event in entries):
        raise WiringError(
            f"{where}: expected `[[hooks.…]]` lists, found something else; fix the file and run this again"
        )
    # Pinned, because `--disable hooks` and a terminal session would otherwise bypass the hooks.
    for feature, value in (("hooks", True), ("unified_exec_tty", False)):
        requirements = toml_editor.set_key(requirements, ("features",), feature, value, where)
    if "managed_dir" not in hooks:
        requirements = toml_editor.set_key(requirements, ("hooks",), "managed_dir", directory, where)
    text = requirements.decode().rstrip("\n")
    result = f"{text}\n\n{_render_hooks(entries)}".encode()
    toml_editor.parse(result, where)
    return result


def remove_requirements(data: bytes) -> bytes:
    """Return the file without the hooks that `add_requirements` put there."""
    text = data.decode(errors="surrogateescape")
    start, end = text.find(_BLOCK_BEGIN), text.find(_BLOCK_END)
    if start < 0 or end < start:
        return data
    remaining = text[:start].rstrip("\n") + "\n" + text[end + len(_BLOCK_END) :].lstrip("\n")
    return remaining.encode(errors="surrogateescape")


def _render_hooks(entries: Mapping[str, Mapping[str, Any]]) -> str:
    lines = [_BLOCK_BEGIN]
    for event, entry in entries.items():
        lines += [f"[[hooks.{event}]]", f"matcher = {_quote_toml(entry['matcher'])}", ""]
        for handler in entry["hooks"]:
            lines += [f"[[hooks.{event}.hooks]]", *(f"{key} = {_quote_toml(handler[key])}" for key in handler), ""]
    return "\n".join([*lines, _BLOCK_END, ""])


def _quote_toml(value: object) -> str:
    # JSON would escape characters beyond the basic plane as pairs of surrogates, which TOML refuses.
    return json.dumps(value, ensure_ascii=False)
