"""What the settings of each host say about the hook: wired, trusted, complete, and what lies open beside it."""

import os
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from verdikt import __version__, hosts
from verdikt.errors import WiringError
from verdikt.hosts.claude import http_hooks
from verdikt.hosts.codex import config_files, hook_approval
from verdikt.hosts.hook_event import HookEventKind
from verdikt.hosts.wiring import json_settings, toml_editor
from verdikt.hosts.wiring.file_change import read_file
from verdikt.hosts.wiring.installation import Installation, plan_opencode_plugin
from verdikt.hosts.wiring.known_gap import (
    KnownGap,
    describe_duplicate_hook,
    describe_unreadable_file,
    find_http_gaps,
    find_known_gaps,
)
from verdikt.hosts.wiring.registration import NATIVE_WRAPPER, WRAPPER_NAMES, is_hook_command
from verdikt.hosts.wiring.settings_layout import SCOPES, SETTINGS_LAYOUTS, SettingsLayout
from verdikt.model.lazy_regex import compile_lazily
from verdikt.observe.alerts import read_recent_lines
from verdikt.observe.crash_log import CRASH_FILE

_PYTHON_NAME = compile_lazily(r"python[0-9.]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class HookWiring:
    """One settings file that names the hook."""

    host: str
    scope: str
    file: str
    commands: Mapping[str, str]
    missing_events: tuple[str, ...]
    is_trusted: bool
    known_gaps: tuple[KnownGap, ...]
    is_foreign: bool = False
    """Whether a project's file names something else than this verdikt writes there: whoever wrote the project could have anything run."""

    @property
    def is_wrapped(self) -> bool:
        """Whether the host calls the wrapper."""
        return self.host == "opencode" or any(name in line for line in self.commands.values() for name in WRAPPER_NAMES)

    @property
    def before_command(self) -> str:
        """The command that decides before an action; empty when there is none."""
        return next(
            (self.commands[event] for event in self.commands if self._get_kind(event) is HookEventKind.BEFORE), ""
        )

    @property
    def before_event(self) -> str:
        """The event that it is registered for."""
        return next((event for event in self.commands if self._get_kind(event) is HookEventKind.BEFORE), "")

    def _get_kind(self, event_name: str) -> HookEventKind | None:
        return hosts.load_adapter(self.host).EVENTS.get(event_name)


def find_wirings(installation: Installation) -> Iterator[HookWiring]:
    """Every file of every host and scope that names the hook, and those that cannot be read and still speak of it."""
    every = [*_find_in_settings(installation), *_find_opencode_plugins(installation)]
    for found in every:
        others = [other for other in every if other is not found and _are_both_called(found, other)]
        yield (
            replace(found, known_gaps=(*found.known_gaps, describe_duplicate_hook(found.host, others[0].file)))
            if others
            else found
        )


def _find_in_settings(installation: Installation) -> Iterator[HookWiring]:
    for place, scope, file in _list_settings_files(installation):
        try:
            present, fault = _load_settings(file), ""
        except WiringError as error:
            present, fault = {}, str(error)
        named = any(json_settings.find_hook_commands(present)) or any(http_hooks.find_http_hooks(present))
        if named or (fault and _mentions_hook(file)):
            found = _build_wiring(installation, place, scope, file, present)
            ours = _is_written_here(installation, found, dict(json_settings.find_hook_commands(present)))
            yield replace(
                found,
                is_foreign=not ours,
                known_gaps=(*([describe_unreadable_file(fault)] if fault else []), *found.known_gaps),
            )


def _is_written_here(installation: Installation, wiring: HookWiring, commands: Mapping[str, str]) -> bool:
    """Whether the commands are those that `verdikt init` writes; what is not the project's is the person's own affair."""
    if wiring.scope != "project" or is_on_record(installation, wiring.file):
        return True
    kinds = hosts.load_adapter(wiring.host).EVENTS
    registration = installation.create_registration(wiring.scope)
    for event, line in commands.items():
        closed = event in kinds and kinds[event].fails_closed
        bare = shlex.join(registration.build_hook_argv(wiring.host, event))
        if not (
            _is_same_command(line, registration.build_command_line(wiring.host, event, fail_closed=closed))
            or _is_same_command(line, bare)
        ):
            return False
    return True


def is_on_record(installation: Installation, file: str) -> bool:
    """Whether the file is as `verdikt init` left it."""
    record = installation.load_record()
    return file in record.files and record.is_untouched(file)


def _is_same_command(first: str, second: str) -> bool:
    """The same line, but for another name of the same interpreter."""
    try:
        words = [shlex.split(line) for line in (first, second)]
    except ValueError:
        return False
    return first == second or [_normalize_interpreter(word) for word in words[0]] == [
        _normalize_interpreter(word) for word in words[1]
    ]


def _normalize_interpreter(word: str) -> str:
    directory, name = os.path.split(word)
    return os.path.join(directory, "python") if directory and _PYTHON_NAME.fullmatch(name) else word


def _are_both_called(first: HookWiring, second: HookWiring) -> bool:
    """Whether the host calls both. Claude Code and Gemini CLI call the same command once, however often they find it."""
    if first.host != second.host or not (first.before_command and second.before_command):
        return False
    return first.before_command != second.before_command or first.host not in ("claude", "gemini")


def find_unreadable_settings(installation: Installation) -> list[str]:
    """What is wrong with settings files of which nobody knows what they name, in words for a person."""
    faults = []
    for _, _, file in _list_settings_files(installation):
        try:
            _load_settings(file)
        except WiringError as error:
            if not _mentions_hook(file):
                faults.append(str(error))
    return faults


def _list_settings_files(installation: Installation) -> Iterator[tuple[SettingsLayout, str, str]]:
    for place in SETTINGS_LAYOUTS.values():
        for scope in SCOPES:
            if file := installation.get_settings_file(place, scope):
                yield place, scope, file


def _load_settings(file: str) -> dict[str, Any]:
    parse = toml_editor.parse if file.endswith(".toml") else json_settings.parse
    return parse(read_file(file), file)


def _mentions_hook(file: str) -> bool:
    try:
        return is_hook_command((read_file(file) or b"").decode(errors="replace"))
    except WiringError:
        return False


def _build_wiring(
    installation: Installation, layout: SettingsLayout, scope: str, file: str, file_settings: Mapping[str, Any]
) -> HookWiring:
    posts = dict(http_hooks.find_http_hooks(file_settings)) if layout.host == http_hooks.HTTP_HOOK_HOST else {}
    commands = {event: http_hooks.build_test_command(installation, handler) for event, handler in posts.items()} | dict(
        json_settings.find_hook_commands(file_settings)
    )
    return HookWiring(
        host=layout.host,
        scope=scope,
        file=file,
        commands=commands,
        missing_events=tuple(event for event in layout.events if event not in commands),
        is_trusted=layout.host != "codex" or scope == "managed" or _is_codex_trusted(installation, file_settings, file),
        known_gaps=(
            *find_http_gaps(posts, dict(json_settings.find_hook_commands(file_settings))),
            *find_known_gaps(layout.host, installation, scope),
        ),
    )


def _find_opencode_plugins(installation: Installation) -> Iterator[HookWiring]:
    config = installation.env.get("XDG_CONFIG_HOME") or os.path.join(installation.env.get("HOME", ""), ".config")
    for scope, root in (
        ("project", os.path.join(installation.project, ".opencode")),
        ("user", os.path.join(config, "opencode")),
    ):
        file = os.path.join(root, "plugin", "verdikt.js")
        data = read_file(file) or b""
        text = data.decode(errors="replace")
        if not text:
            continue
        foreign = (
            scope == "project"
            and not is_on_record(installation, file)
            and data != plan_opencode_plugin(installation, scope).after
        )
        script = str(Path(hosts.__file__).parent / "opencode" / "canary.mjs")
        commands = {"tool.execute.before": shlex.join(["node", script, file])} if is_hook_command(text) else {}
        yield HookWiring(
            host="opencode",
            scope=scope,
            file=file,
            commands=commands,
            missing_events=() if commands else ("tool.execute.before",),
            is_trusted=True,
            known_gaps=tuple(find_known_gaps("opencode", installation, scope)),
            is_foreign=foreign,
        )


def _is_codex_trusted(installation: Installation, file_settings: Mapping[str, Any], file: str) -> bool:
    config = os.path.join(config_files.get_codex_home(installation.env), "config.toml")
    hashes = hook_approval.compute_hashes(file_settings, file)
    return hook_approval.is_approved(read_file(config), hashes, config)


def count_crashes(installation: Installation, *, since: float) -> dict[str, int]:
    """Hook → how often it failed since then."""
    lines = read_recent_lines(Path(installation.data_directory) / CRASH_FILE, since)
    return dict(Counter(str(line.get("hook", "")) for line in lines))


def get_wrapper_state(installation: Installation, scopes: Iterable[str]) -> str:
    """Whether the installed wrappers are those that this version ships: `intact`, `changed`, `of another version` or `missing`."""
    expected = {
        path: data for scope in scopes or ("project",) for path, data in installation.get_wrapper_files(scope).items()
    }
    found = {path: read_file(path) for path in expected}
    if None in found.values():
        return "missing"
    if found == expected:
        return "intact"
    program, version = f"{NATIVE_WRAPPER} ".encode(), f"{NATIVE_WRAPPER} {__version__}\0".encode()
    older = [
        data for path, data in found.items() if os.path.basename(path) == NATIVE_WRAPPER and program in (data or b"")
    ]
    return "of another version" if any(version not in (data or b"") for data in older) else "changed"
