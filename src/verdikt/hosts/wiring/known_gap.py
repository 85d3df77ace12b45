"""What each host lets happen past the hook, and how to close it."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from verdikt import hosts
from verdikt.errors import WiringError
from verdikt.hosts.claude.http_hooks import HTTP_HOOK_HOST
from verdikt.hosts.codex import config_files
from verdikt.hosts.git import git_hooks
from verdikt.hosts.wiring import json_settings, settings_schema, toml_editor
from verdikt.hosts.wiring.file_change import read_file
from verdikt.hosts.wiring.installation import Installation
from verdikt.hosts.wiring.settings_layout import SCOPES, SETTINGS_LAYOUTS
from verdikt.observe.git_index import GitIndex
from verdikt.observe.git_repository import find_work_tree


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownGap:
    """Something that a host lets happen past the hook, and how to close it. `open` when it was found to be open here."""

    what: str
    fix: str
    open: bool = False


def find_known_gaps(host: str, installation: Installation, scope: str) -> Iterator[KnownGap]:
    """Those of a host that is wired in that scope."""
    if host in SETTINGS_LAYOUTS:
        yield from _find_schema_gaps(host, installation.get_settings_file(SETTINGS_LAYOUTS[host], scope))
    yield from _GAP_FINDERS[host](installation, scope)
    alone = _SETTINGS_LOOKUP.get(host)
    if (
        scope == "project"
        and alone
        and (alone == "itself" or not find_work_tree(installation.project))
        and not _has_hook(installation, host, "user", "managed")
    ):
        yield KnownGap(
            what=f"a session that starts in a folder below {installation.project} reads none of these settings",
            fix=f"start sessions in the project itself, or wire your own settings, which count everywhere: `verdikt init --host {host} --scope user`",
        )


_SETTINGS_LOOKUP = {"claude": "itself", "gemini": "itself", "codex": "repository", "copilot": "repository"}
"""Host → where it finds a project's settings: where the session starts and nowhere else, or in the whole repository if there is one."""


def _has_hook(installation: Installation, host: str, *scopes: str) -> bool:
    """Whether the host's settings of one of these scopes name the hook."""
    files = (installation.get_settings_file(SETTINGS_LAYOUTS[host], scope) for scope in scopes)
    return any(True for file in files for _ in json_settings.find_hook_commands(_load_or_empty(file)))


def describe_duplicate_hook(host: str, other_file: str) -> KnownGap:
    """A host that calls two hooks for one thing."""
    return KnownGap(
        what=f"{other_file} names the hook as well, and both are called: every call is decided, counted and logged twice",
        fix=f"keep one of them: `verdikt uninstall --host {host}` in the project takes out the project's",
    )


def find_http_gaps(http_hooks: Mapping[str, Mapping[str, Any]], commands: Mapping[str, str]) -> Iterator[KnownGap]:
    """Http hooks: a client takes a closed port for silence, and may call a command as well."""
    closed = hosts.load_adapter(HTTP_HOOK_HOST).EVENTS
    for event, handler in http_hooks.items():
        if event in closed and closed[event].fails_closed and handler.get("onFailure") != "block":
            yield KnownGap(
                what=f"the http hook for {event} lets the tool run when nobody listens at {handler.get('url')}",
                fix='set `"onFailure": "block"` on it (Claude Code 2.1.295 or newer), or use the commands of `verdikt init`',
                open=True,
            )
    if both := sorted(set(http_hooks) & set(commands)):
        yield KnownGap(
            what=f"a command and an http hook are both called ({', '.join(both)}): every call is decided, counted and logged twice",
            fix="take one of them out",
        )


def describe_unreadable_file(error_message: str) -> KnownGap:
    """A settings file that speaks of the hook and cannot be read."""
    return KnownGap(what=error_message, fix="until then the client may read no hooks from it", open=True)


def _find_claude_gaps(installation: Installation, scope: str) -> Iterator[KnownGap]:
    place = SETTINGS_LAYOUTS["claude"]
    local = os.path.join(installation.project, ".claude", "settings.local.json")
    for file in (local, *(installation.get_settings_file(place, scope) for scope in SCOPES)):
        if _read_setting(file, "disableAllHooks") is True:
            yield KnownGap(what=f"`disableAllHooks` is set in {file}", fix="remove it", open=True)
    yield from _find_schema_gaps("claude", local)
    if installation.env.get("CLAUDE_CODE_SIMPLE"):
        yield KnownGap(what="`CLAUDE_CODE_SIMPLE` switches hooks off", fix="unset it", open=True)
    if not _has_hook(installation, "claude", "managed"):
        yield KnownGap(
            what="`--bare`, `--setting-sources` and `--settings` start a session without these hooks",
            fix="wire the managed settings instead: `sudo verdikt init --host claude --scope managed`",
        )
    yield KnownGap(
        what="`@file` mentions and `!` commands in prompts and slash commands fire no PreToolUse",
        fix="keep secrets out of the project; see docs/hosts/claude.md",
    )


def _find_schema_gaps(host: str, file: str) -> Iterator[KnownGap]:
    if not file.endswith(".toml") and (place := settings_schema.find_schema_error(host, _load_or_empty(file))):
        yield KnownGap(
            what=f"`{place}` in {file} is nothing that the client understands, so it drops hooks of that file in silence",
            fix="mend it",
            open=True,
        )


def _find_codex_gaps(installation: Installation, scope: str) -> Iterator[KnownGap]:
    features: dict[str, Any] = {}
    trust = ""
    own = os.path.join(config_files.get_codex_home(installation.env), "config.toml")
    for file in (
        own,
        os.path.join(installation.project, ".codex", "config.toml"),
        installation.get_settings_file(SETTINGS_LAYOUTS["codex"], "managed"),
    ):
        try:
            tables = toml_editor.parse(read_file(file), file)
        except WiringError as error:
            yield KnownGap(what=str(error), fix="mend it", open=True)
            continue
        found = tables.get("features")
        features |= found if isinstance(found, dict) else {}
        trust = trust or config_files.find_trust_level(tables, installation.project)
    if features.get("unified_exec_tty") is not False:
        yield KnownGap(
            what="what is typed into a terminal session (`write_stdin`) fires no hook",
            fix="set `unified_exec_tty = false` under `[features]`: `verdikt init --host codex` does",
            open=True,
        )
    if features.get("hooks") is False:
        yield KnownGap(what="`features.hooks` is false", fix="remove it", open=True)
    if scope == "project" and trust != "trusted":
        yield KnownGap(
            what=_UNTRUSTED_PROJECT, fix=_TRUST_ADVICE.format(file=own, project=installation.project), open=True
        )
    if not _has_hook(installation, "codex", "managed"):
        yield KnownGap(
            what="`codex --disable hooks` starts a session without these hooks",
            fix="wire the managed settings instead: `sudo verdikt init --host codex --scope managed`",
        )
    yield KnownGap(
        what="hosted web search fires no hook", fix='switch it off: `web_search = "disabled"` in config.toml'
    )


_UNTRUSTED_PROJECT = "Codex does not trust this project, so it reads neither its hooks nor its settings"

_TRUST_ADVICE = (
    "say that you trust it: start `codex` here and answer so, or run `verdikt init --host codex --trust-codex` "
    "(if {file} says `untrusted` of `{project}`, take that out first); "
    "or wire your own settings, which need no trust in a project: `verdikt init --host codex --scope user --trust-codex`"
)


def _find_gemini_gaps(installation: Installation, scope: str) -> Iterator[KnownGap]:
    place = SETTINGS_LAYOUTS["gemini"]
    for file in (installation.get_settings_file(place, scope) for scope in SCOPES):
        config = _read_setting(file, "hooksConfig")
        disabled = config.get("disabled") if isinstance(config, dict) else None
        ours = isinstance(disabled, list) and "verdikt" in disabled
        if isinstance(config, dict) and (config.get("enabled") is False or ours):
            yield KnownGap(what=f"hooks are switched off in {file}", fix="remove `hooksConfig`", open=True)
    if _has_git_hooks(installation):
        yield KnownGap(
            what="Gemini CLI runs git without any hooks, so its commits and pushes are not checked",
            fix="add the rule `gemini_commits` of docs/hosts/gemini.md to the policy",
        )
    yield KnownGap(
        what="`@file` mentions fire no BeforeTool; a sub-agent's calls look like its parent's",
        fix="see docs/hosts/gemini.md",
    )


def _has_git_hooks(installation: Installation) -> bool:
    if not find_work_tree(installation.project):
        return False
    return any(
        hook.is_installed
        for hook in git_hooks.read_hook_states(GitIndex(installation.project, installation.env).find_hooks_directory())
    )


def _find_copilot_gaps(installation: Installation, scope: str) -> Iterator[KnownGap]:
    if scope == "project":
        yield KnownGap(
            what="in a folder that Copilot does not trust, these hooks are not loaded, and `--allow-all-tools` still runs tools",
            fix="wire the user's hooks instead, which are loaded everywhere: `verdikt init --host copilot --scope user`",
        )


def _find_cursor_gaps(installation: Installation, scope: str) -> Iterator[KnownGap]:
    yield KnownGap(what="completions by Tab fire other events than the agent", fix="see docs/hosts/cursor.md")


def _find_opencode_gaps(installation: Installation, scope: str) -> Iterator[KnownGap]:
    yield KnownGap(
        what="a plugin that cannot be loaded is skipped in silence",
        fix="run `verdikt doctor` after every update of OpenCode",
    )
    yield KnownGap(
        what="`opencode run` ends at the first stop; `--pure` starts a session without the plugin",
        fix="see docs/hosts/opencode.md",
    )


_GAP_FINDERS = {
    "claude": _find_claude_gaps,
    "codex": _find_codex_gaps,
    "gemini": _find_gemini_gaps,
    "copilot": _find_copilot_gaps,
    "cursor": _find_cursor_gaps,
    "opencode": _find_opencode_gaps,
}


def _load_or_empty(file: str) -> dict[str, Any]:
    parse = toml_editor.parse if file.endswith(".toml") else json_settings.parse
    try:
        return parse(read_file(file), file) if file else {}
    except WiringError:
        return {}


def _read_setting(file: str, key: str) -> object:
    return _load_or_empty(file).get(key)
