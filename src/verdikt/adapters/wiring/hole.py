"""What each host lets happen past the hook, and how to close it."""

import os
from collections.abc import Iterator, Mapping
from typing import Any

from verdikt import adapters
from verdikt.adapters.wiring import codex, git, settings, shape, toml
from verdikt.adapters.wiring.change import read
from verdikt.adapters.wiring.install import Installation
from verdikt.adapters.wiring.place import PLACES, SCOPES
from verdikt.adapters.wiring.web import HOST
from verdikt.errors import WiringError
from verdikt.model.value import Value
from verdikt.observe.git import find_root
from verdikt.observe.index import GitIndex


class Hole(Value, kw_only=True):
    """Something that a host lets happen past the hook, and how to close it. `open` when it was found to be open here."""

    what: str
    fix: str
    open: bool = False


def holes(host: str, here: Installation, scope: str) -> Iterator[Hole]:
    """Those of a host that is wired in that scope."""
    if host in PLACES:
        yield from _misshapen(host, here.file(PLACES[host], scope))
    yield from _HOLES[host](here, scope)
    alone = _STARTED_IN.get(host)
    if (
        scope == "project"
        and alone
        and (alone == "itself" or not find_root(here.project))
        and not _names(here, host, "user", "managed")
    ):
        yield Hole(
            what=f"a session that starts in a folder below {here.project} reads none of these settings",
            fix=f"start sessions in the project itself, or wire your own settings, which count everywhere: `verdikt init --host {host} --scope user`",
        )


_STARTED_IN = {"claude": "itself", "gemini": "itself", "codex": "repository", "copilot": "repository"}
"""Host → where it finds a project's settings: where the session starts and nowhere else, or in the whole repository if there is one."""


def _names(here: Installation, host: str, *scopes: str) -> bool:
    """Whether the host's settings of one of these scopes name the hook."""
    files = (here.file(PLACES[host], scope) for scope in scopes)
    return any(True for file in files for _ in settings.commands(_quiet(file)))


def twice(host: str, other: str) -> Hole:
    """A host that calls two hooks for one thing."""
    return Hole(
        what=f"{other} names the hook as well, and both are called: every call is decided, counted and logged twice",
        fix=f"keep one of them: `verdikt uninstall --host {host}` in the project takes out the project's",
    )


def by_http(posts: Mapping[str, Mapping[str, Any]], commands: Mapping[str, str]) -> Iterator[Hole]:
    """Http hooks: a client takes a closed port for silence, and may call a command as well."""
    closed = adapters.host(HOST).EVENTS
    for event, handler in posts.items():
        if event in closed and closed[event].closed and handler.get("onFailure") != "block":
            yield Hole(
                what=f"the http hook for {event} lets the tool run when nobody listens at {handler.get('url')}",
                fix='set `"onFailure": "block"` on it (Claude Code 2.1.295 or newer), or use the commands of `verdikt init`',
                open=True,
            )
    if both := sorted(set(posts) & set(commands)):
        yield Hole(
            what=f"a command and an http hook are both called ({', '.join(both)}): every call is decided, counted and logged twice",
            fix="take one of them out",
        )


def unread(fault: str) -> Hole:
    """A settings file that speaks of the hook and cannot be read."""
    return Hole(what=fault, fix="until then the client may read no hooks from it", open=True)


def _claude_holes(here: Installation, scope: str) -> Iterator[Hole]:
    place = PLACES["claude"]
    local = os.path.join(here.project, ".claude", "settings.local.json")
    for file in (local, *(here.file(place, scope) for scope in SCOPES)):
        if _setting(file, "disableAllHooks") is True:
            yield Hole(what=f"`disableAllHooks` is set in {file}", fix="remove it", open=True)
    yield from _misshapen("claude", local)
    if here.env.get("CLAUDE_CODE_SIMPLE"):
        yield Hole(what="`CLAUDE_CODE_SIMPLE` switches hooks off", fix="unset it", open=True)
    if not _names(here, "claude", "managed"):
        yield Hole(
            what="`--bare`, `--setting-sources` and `--settings` start a session without these hooks",
            fix="wire the managed settings instead: `sudo verdikt init --host claude --scope managed`",
        )
    yield Hole(
        what="`@file` mentions and `!` commands in prompts and slash commands fire no PreToolUse",
        fix="keep secrets out of the project; see docs/hosts/claude.md",
    )


def _misshapen(host: str, file: str) -> Iterator[Hole]:
    if not file.endswith(".toml") and (place := shape.flaw(host, _quiet(file))):
        yield Hole(
            what=f"`{place}` in {file} is nothing that the client understands, so it drops hooks of that file in silence",
            fix="mend it",
            open=True,
        )


def _codex_holes(here: Installation, scope: str) -> Iterator[Hole]:
    features: dict[str, Any] = {}
    trust = ""
    own = os.path.join(codex.home(here.env), "config.toml")
    for file in (own, os.path.join(here.project, ".codex", "config.toml"), here.file(PLACES["codex"], "managed")):
        try:
            tables = toml.parse(read(file), file)
        except WiringError as error:
            yield Hole(what=str(error), fix="mend it", open=True)
            continue
        found = tables.get("features")
        features |= found if isinstance(found, dict) else {}
        trust = trust or codex.trust_level(tables, here.project)
    if features.get("unified_exec_tty") is not False:
        yield Hole(
            what="what is typed into a terminal session (`write_stdin`) fires no hook",
            fix="set `unified_exec_tty = false` under `[features]`: `verdikt init --host codex` does",
            open=True,
        )
    if features.get("hooks") is False:
        yield Hole(what="`features.hooks` is false", fix="remove it", open=True)
    if scope == "project" and trust != "trusted":
        yield Hole(what=_UNTRUSTED, fix=_TRUST.format(file=own, project=here.project), open=True)
    if not _names(here, "codex", "managed"):
        yield Hole(
            what="`codex --disable hooks` starts a session without these hooks",
            fix="wire the managed settings instead: `sudo verdikt init --host codex --scope managed`",
        )
    yield Hole(what="hosted web search fires no hook", fix='switch it off: `web_search = "disabled"` in config.toml')


_UNTRUSTED = "Codex does not trust this project, so it reads neither its hooks nor its settings"

_TRUST = (
    "say that you trust it: start `codex` here and answer so, or run `verdikt init --host codex --trust-codex` "
    "(if {file} says `untrusted` of `{project}`, take that out first); "
    "or wire your own settings, which need no trust in a project: `verdikt init --host codex --scope user --trust-codex`"
)


def _gemini_holes(here: Installation, scope: str) -> Iterator[Hole]:
    place = PLACES["gemini"]
    for file in (here.file(place, scope) for scope in SCOPES):
        config = _setting(file, "hooksConfig")
        disabled = config.get("disabled") if isinstance(config, dict) else None
        ours = isinstance(disabled, list) and "verdikt" in disabled
        if isinstance(config, dict) and (config.get("enabled") is False or ours):
            yield Hole(what=f"hooks are switched off in {file}", fix="remove `hooksConfig`", open=True)
    if _checks_commits(here):
        yield Hole(
            what="Gemini CLI runs git without any hooks, so its commits and pushes are not checked",
            fix="add the rule `gemini_commits` of docs/hosts/gemini.md to the policy",
        )
    yield Hole(
        what="`@file` mentions fire no BeforeTool; a sub-agent's calls look like its parent's",
        fix="see docs/hosts/gemini.md",
    )


def _checks_commits(here: Installation) -> bool:
    if not find_root(here.project):
        return False
    return any(hook.installed for hook in git.status(GitIndex(here.project, here.env).hooks_directory()))


def _copilot_holes(here: Installation, scope: str) -> Iterator[Hole]:
    if scope == "project":
        yield Hole(
            what="in a folder that Copilot does not trust, these hooks are not loaded, and `--allow-all-tools` still runs tools",
            fix="wire the user's hooks instead, which are loaded everywhere: `verdikt init --host copilot --scope user`",
        )


def _cursor_holes(here: Installation, scope: str) -> Iterator[Hole]:
    yield Hole(what="completions by Tab fire other events than the agent", fix="see docs/hosts/cursor.md")


def _opencode_holes(here: Installation, scope: str) -> Iterator[Hole]:
    yield Hole(
        what="a plugin that cannot be loaded is skipped in silence",
        fix="run `verdikt doctor` after every update of OpenCode",
    )
    yield Hole(
        what="`opencode run` ends at the first stop; `--pure` starts a session without the plugin",
        fix="see docs/hosts/opencode.md",
    )


_HOLES = {
    "claude": _claude_holes,
    "codex": _codex_holes,
    "gemini": _gemini_holes,
    "copilot": _copilot_holes,
    "cursor": _cursor_holes,
    "opencode": _opencode_holes,
}


def _quiet(file: str) -> dict[str, Any]:
    parse = toml.parse if file.endswith(".toml") else settings.parse
    try:
        return parse(read(file), file) if file else {}
    except WiringError:
        return {}


def _setting(file: str, key: str) -> object:
    return _quiet(file).get(key)
