"""What the settings of each host say about the hook: wired, trusted, complete, and what lies open beside it."""

import os
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from verdikt import __version__, adapters
from verdikt.adapters.moment import MomentKind
from verdikt.adapters.wiring import codex, codex_trust, git, settings, toml
from verdikt.adapters.wiring.change import read
from verdikt.adapters.wiring.install import Installation
from verdikt.adapters.wiring.place import PLACES, SCOPES, Place
from verdikt.adapters.wiring.registration import NATIVE, is_ours
from verdikt.errors import WiringError
from verdikt.model.value import Value, replace
from verdikt.observe.breach import recent_lines
from verdikt.observe.crash import FILE
from verdikt.observe.git import find_root
from verdikt.observe.index import GitIndex


class Hole(Value, kw_only=True):
    """Something that a host lets happen past the hook, and how to close it. `open` when it was found to be open here."""

    what: str
    fix: str
    open: bool = False


class Wired(Value, kw_only=True):
    """One settings file that names the hook."""

    host: str
    scope: str
    file: str
    commands: Mapping[str, str]
    missing: tuple[str, ...]
    trusted: bool
    holes: tuple[Hole, ...]

    @property
    def before(self) -> str:
        """The command that decides before an action; empty when there is none."""
        return next((self.commands[event] for event in self.commands if self._kind(event) is MomentKind.BEFORE), "")

    @property
    def before_event(self) -> str:
        """The event that it is registered for."""
        return next((event for event in self.commands if self._kind(event) is MomentKind.BEFORE), "")

    def _kind(self, event: str) -> MomentKind | None:
        return adapters.host(self.host).EVENTS.get(event)


def wired(here: Installation) -> Iterator[Wired]:
    """Every file of every host and scope that names the hook, and those that cannot be read and still speak of it."""
    for place, scope, file in _files(here):
        try:
            present, fault = _settings(file), ""
        except WiringError as error:
            present, fault = {}, str(error)
        if any(settings.commands(present)) or (fault and _speaks_of_us(file)):
            found = _wired(here, place, scope, file, present)
            yield replace(found, holes=(_unread(fault), *found.holes)) if fault else found
    yield from _opencode(here)


def unreadable(here: Installation) -> list[str]:
    """What is wrong with settings files of which nobody knows what they name, in words for a person."""
    faults = []
    for _, _, file in _files(here):
        try:
            _settings(file)
        except WiringError as error:
            if not _speaks_of_us(file):
                faults.append(str(error))
    return faults


def _files(here: Installation) -> Iterator[tuple[Place, str, str]]:
    for place in PLACES.values():
        for scope in SCOPES:
            if file := here.file(place, scope):
                yield place, scope, file


def _settings(file: str) -> dict[str, Any]:
    parse = toml.parse if file.endswith(".toml") else settings.parse
    return parse(read(file), file)


def _speaks_of_us(file: str) -> bool:
    try:
        return is_ours((read(file) or b"").decode(errors="replace"))
    except WiringError:
        return False


def _unread(fault: str) -> Hole:
    return Hole(what=fault, fix="until then the client may read no hooks from it", open=True)


def _wired(here: Installation, place: Place, scope: str, file: str, present: Mapping[str, Any]) -> Wired:
    commands = dict(settings.commands(present))
    return Wired(
        host=place.host,
        scope=scope,
        file=file,
        commands=commands,
        missing=tuple(event for event in place.events if event not in commands),
        trusted=place.host != "codex" or scope == "managed" or _codex_trusted(here, present, file),
        holes=tuple(_HOLES[place.host](here, scope)),
    )


def _opencode(here: Installation) -> Iterator[Wired]:
    config = here.env.get("XDG_CONFIG_HOME") or os.path.join(here.env.get("HOME", ""), ".config")
    for scope, root in (
        ("project", os.path.join(here.project, ".opencode")),
        ("user", os.path.join(config, "opencode")),
    ):
        file = os.path.join(root, "plugin", "verdikt.js")
        text = (read(file) or b"").decode(errors="replace")
        if not text:
            continue
        script = str(Path(adapters.__file__).with_name("opencode_canary.mjs"))
        commands = {"tool.execute.before": shlex.join(["node", script, file])} if is_ours(text) else {}
        yield Wired(
            host="opencode",
            scope=scope,
            file=file,
            commands=commands,
            missing=() if commands else ("tool.execute.before",),
            trusted=True,
            holes=(
                Hole(
                    what="a plugin that cannot be loaded is skipped in silence",
                    fix="run `verdikt doctor` after every update of OpenCode",
                ),
                Hole(
                    what="`opencode run` ends at the first stop; `--pure` starts a session without the plugin",
                    fix="see docs/hosts/opencode.md",
                ),
            ),
        )


def _codex_trusted(here: Installation, present: Mapping[str, Any], file: str) -> bool:
    config = os.path.join(codex.home(here.env), "config.toml")
    hashes = codex_trust.trusted(present, file)
    return codex_trust.approved(read(config), hashes, config)


def _claude_holes(here: Installation, scope: str) -> Iterator[Hole]:
    place = PLACES["claude"]
    local = os.path.join(here.project, ".claude", "settings.local.json")
    for file in (local, *(here.file(place, scope) for scope in SCOPES)):
        if _setting(file, "disableAllHooks") is True:
            yield Hole(what=f"`disableAllHooks` is set in {file}", fix="remove it", open=True)
        if event := settings.malformed(_quiet(file)):
            yield Hole(
                what=f"a malformed hook under `{event}` in {file} drops all hooks of that file",
                fix="mend it",
                open=True,
            )
    if here.env.get("CLAUDE_CODE_SIMPLE"):
        yield Hole(what="`CLAUDE_CODE_SIMPLE` switches hooks off", fix="unset it", open=True)
    if scope != "managed":
        yield Hole(
            what="`--bare`, `--setting-sources` and `--settings` start a session without these hooks",
            fix="wire the managed settings as well: `sudo verdikt init --host claude --scope managed`",
        )
    yield Hole(
        what="`@file` mentions and `!` commands in prompts and slash commands fire no PreToolUse",
        fix="keep secrets out of the project; see docs/hosts/claude.md",
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
        features |= tables.get("features", {})
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
    if scope != "managed":
        yield Hole(
            what="`codex --disable hooks` starts a session without these hooks",
            fix="wire the managed settings as well: `sudo verdikt init --host codex --scope managed`",
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
        if isinstance(config, dict) and (config.get("enabled") is False or "verdikt" in config.get("disabled", [])):
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
            fix="wire the user's hooks as well: `verdikt init --host copilot --scope user`",
        )


def _cursor_holes(here: Installation, scope: str) -> Iterator[Hole]:
    yield Hole(what="completions by Tab fire other events than the agent", fix="see docs/hosts/cursor.md")


_HOLES = {
    "claude": _claude_holes,
    "codex": _codex_holes,
    "gemini": _gemini_holes,
    "copilot": _copilot_holes,
    "cursor": _cursor_holes,
}


def _quiet(file: str) -> dict[str, Any]:
    try:
        return settings.parse(read(file), file) if file else {}
    except WiringError:
        return {}


def _setting(file: str, key: str) -> object:
    return _quiet(file).get(key)


def crashes(here: Installation, *, since: float) -> dict[str, int]:
    """Hook → how often it failed since then."""
    lines = recent_lines(Path(here.data) / FILE, since)
    return dict(Counter(str(line.get("hook", "")) for line in lines))


def wrapper_state(here: Installation, scopes: Iterable[str]) -> str:
    """Whether the installed wrappers are those that this version ships: `intact`, `changed`, `of another version` or `missing`."""
    expected = {path: data for scope in scopes or ("project",) for path, data in here.wrappers(scope).items()}
    found = {path: read(path) for path in expected}
    if None in found.values():
        return "missing"
    if found == expected:
        return "intact"
    program, version = f"{NATIVE} ".encode(), f"{NATIVE} {__version__}\0".encode()
    older = [data for path, data in found.items() if os.path.basename(path) == NATIVE and program in (data or b"")]
    return "of another version" if any(version not in (data or b"") for data in older) else "changed"
