"""How a host is wired. The defaults are for hosts whose hooks are entries in a JSON settings file, which most are."""

import os
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from verdikt.errors import WiringError
from verdikt.hosts.hook_event import HookEventKind
from verdikt.hosts.host import PROJECT_SCOPES, SCOPES, Host, KnownGap, SettingsLookup
from verdikt.hosts.registry import HOSTS
from verdikt.hosts.wiring import json_settings
from verdikt.hosts.wiring.file_change import FileChange, read_file
from verdikt.hosts.wiring.installation import Installation
from verdikt.hosts.wiring.portable_registration import PortableRegistration
from verdikt.hosts.wiring.registration import WRAPPER_NAMES, HookCommandBuilder, is_hook_command, relies_on_host
from verdikt.hosts.wiring.settings_schema import SettingsSchema, find_schema_error
from verdikt.model.lazy_regex import compile_lazily
from verdikt.observe.git_repository import find_work_tree

WITHOUT_OUR_HOOKS = "without our hooks; the rest was changed since and is kept"

_PYTHON_NAME = compile_lazily(r"python[0-9.]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class WiredFile:
    """One settings file that names the hook."""

    host: str
    scope: str
    file: str
    commands: Mapping[str, str]
    """Event → the command that the doctor runs to try the hook."""
    missing_events: tuple[str, ...]
    is_trusted: bool
    known_gaps: tuple[KnownGap, ...]
    is_wrapped: bool
    """Whether the host calls the wrapper."""
    is_foreign: bool = False
    """Whether a project's file names something else than this verdikt writes: its author could have anything run."""

    @property
    def before_event(self) -> str:
        """The event that is decided before an action; empty when it is not wired."""
        events = HOSTS[self.host].events
        return next((event for event in self.commands if events.get(event) is HookEventKind.BEFORE), "")

    @property
    def before_command(self) -> str:
        """The command for that event."""
        return self.commands.get(self.before_event, "")


class HostWiring:
    """The wiring of one host. A host overrides what differs, and `build_entry` in any case."""

    schema = SettingsSchema()
    """What makes the host drop the hooks of a file."""

    def __init__(self, host: Host) -> None:
        self.host = host

    # Writing.

    def build_entry(self, command: str, *, fail_closed: bool) -> dict[str, Any]:
        """Return a hook as the host's settings name it."""
        raise NotImplementedError

    def build_entries(
        self, registration: HookCommandBuilder, *, host_blocks_on_failure: bool = False
    ) -> dict[str, dict[str, Any]]:
        """Return event → entry for every event that is wired."""
        entries = {}
        for event in self.host.wired_events:
            fail_closed = self.host.events[event].fails_closed
            line = registration.build_command_line(
                self.host.name,
                event,
                fail_closed=fail_closed,
                host_blocks_on_failure=host_blocks_on_failure and event in self.host.blocks_on_failure,
            )
            entries[event] = self.build_entry(line, fail_closed=fail_closed)
        return entries

    def split_arguments(self, entry: dict[str, Any]) -> dict[str, Any]:
        """Return an entry with its command as a list of words, for a client that then starts no shell."""
        return entry

    def plan_changes(self, installation: Installation, scope: str, *, trust: bool) -> list[FileChange]:
        """Return the changes that wire the host. `trust` says that the person approves hooks that need an approval."""
        file = self.require_settings_file(installation, scope)
        before = read_file(file)
        entries = self.build_entries(
            installation.create_command_builder(scope),
            host_blocks_on_failure=installation.client_blocks_on_failure(self.host),
        )
        if installation.client_takes_arguments(self.host):
            entries = {event: self.split_arguments(entry) for event, entry in entries.items()}
        present = json_settings.parse(before, file)
        # The hooks of others stay; ours replace those of an earlier version.
        wired = json_settings.add_hooks(present, entries, file, self.host.extra_settings)
        if place := find_schema_error(self.schema, self.host.events, present):
            raise WiringError(
                f"{file}: `{place}` is nothing that the client understands, so it drops hooks of this file in silence; "
                "fix it and run this again"
            )
        after = before if wired == present else json_settings.render(wired)
        return [self.build_change(file, before, after, f"hooks for {len(entries)} events")]

    def require_settings_file(self, installation: Installation, scope: str) -> str:
        """Return the settings file of a scope. Raises `WiringError` if the host has none."""
        if scope not in self.host.scopes:
            name = self.host.name
            raise WiringError(
                f"`{name}` has no {scope} settings that name hooks; see `verdikt docs {self.host.docs_page}`"
            )
        return installation.get_settings_file(self.host, scope)

    def build_change(self, file: str, before: bytes | None, after: bytes | None, description: str) -> FileChange:
        """Return a change that is recorded as one for this host."""
        return FileChange(path=file, before=before, after=after, host=self.host.name, description=description)

    def strip_hooks(self, data: bytes, original: bytes | None, file: str) -> tuple[bytes | None, str]:
        """Return a file that was changed since it was wired without our hooks, and a description of that."""
        remaining = json_settings.remove_hooks(json_settings.parse(data, file), file)
        if original is not None and remaining == json_settings.parse(original, file):
            return original, WITHOUT_OUR_HOOKS
        # A file that only we wrote to is removed, and not left behind empty.
        if original is None and remaining in ({}, dict(self.host.extra_settings)):
            return None, WITHOUT_OUR_HOOKS
        return json_settings.render(remaining), WITHOUT_OUR_HOOKS

    # Inspecting.

    def parse_settings(self, data: bytes | None, file: str) -> dict[str, Any]:
        """Return the content of a settings file. Raises `WiringError` if it cannot be read."""
        return json_settings.parse(data, file)

    def find_wired_files(self, installation: Installation) -> Iterator[WiredFile]:
        """Yield every settings file that names the hook, and those that mention it and cannot be read."""
        for scope, file in installation.list_settings_files(self.host):
            try:
                settings, fault = self.parse_settings(read_file(file), file), ""
            except WiringError as error:
                settings, fault = {}, str(error)
            # A file that we cannot parse may still wire the hook: some clients accept comments in JSON.
            if self.find_commands(installation, settings) or (fault and _mentions_hook(file)):
                yield self._inspect_file(installation, scope, settings, fault)

    def find_commands(self, installation: Installation, settings: Mapping[str, Any]) -> dict[str, str]:
        """Return event → the command with which the doctor tries the hook of that event."""
        return dict(json_settings.find_hook_commands(settings))

    def _inspect_file(
        self, installation: Installation, scope: str, settings: Mapping[str, Any], fault: str
    ) -> WiredFile:
        file = installation.get_settings_file(self.host, scope)
        commands = self.find_commands(installation, settings)
        registered = dict(json_settings.find_hook_commands(settings))
        unreadable = KnownGap(what=fault, fix="until then the client may read no hooks from it", open=True)
        gaps = [
            *([unreadable] if fault else []),
            *self.find_file_gaps(installation, settings),
            *find_known_gaps(self, installation, scope),
        ]
        return WiredFile(
            host=self.host.name,
            scope=scope,
            file=file,
            commands=commands,
            missing_events=tuple(event for event in self.host.wired_events if event not in commands),
            is_trusted=self.is_trusted(installation, scope, settings, file),
            known_gaps=tuple(gaps),
            is_wrapped=any(name in line for line in commands.values() for name in WRAPPER_NAMES),
            # Only the file of a project can be written by a stranger; the others are the person's own.
            is_foreign=scope in PROJECT_SCOPES
            and not is_on_record(installation, file)
            and not self._is_written_by_init(installation, scope, registered),
        )

    def _is_written_by_init(self, installation: Installation, scope: str, commands: Mapping[str, str]) -> bool:
        """Whether the commands are those that `verdikt init` writes, in any of their forms."""
        registration = installation.create_registration(scope)
        for event, line in commands.items():
            fail_closed = event in self.host.events and self.host.events[event].fails_closed
            # People also wire the bare hook by hand, without the wrapper.
            expected = [
                shlex.join(registration.build_hook_argv(self.host.name, event)),
                *(
                    builder.build_command_line(
                        self.host.name, event, fail_closed=fail_closed, host_blocks_on_failure=by_host
                    )
                    for builder in (PortableRegistration(), registration)
                    for by_host in (False, True)
                ),
            ]
            if not any(_is_same_command(line, other) for other in expected):
                return False
        return True

    def is_trusted(self, installation: Installation, scope: str, settings: Mapping[str, Any], file: str) -> bool:
        """Whether the host runs the hooks of this file without a further approval."""
        return True

    def find_file_gaps(self, installation: Installation, settings: Mapping[str, Any]) -> Iterator[KnownGap]:
        """Yield what the content of one settings file leaves open."""
        lines = dict(json_settings.find_hook_commands(settings)).values()
        if any(map(relies_on_host, lines)) and not installation.client_blocks_on_failure(self.host):
            since = self.host.blocks_on_failure_since
            yield KnownGap(
                what=f"the installed {self.host.title} runs the tool when the hook is missing: "
                f"it is older than {since}, or its version is unknown",
                fix=f"run `verdikt init --host {self.host.name}`, which wires a line that blocks by itself",
                open=True,
            )

    def find_gaps(self, installation: Installation, scope: str) -> Iterator[KnownGap]:
        """Yield what the host's settings and the environment leave open."""
        return iter(())


def find_known_gaps(wiring: HostWiring, installation: Installation, scope: str) -> Iterator[KnownGap]:
    """Yield everything that is known to pass the hook of a host that is wired in that scope."""
    host = wiring.host
    yield from find_schema_gaps(wiring, installation.get_settings_file(host, scope))
    yield from wiring.find_gaps(installation, scope)
    yield from host.known_gaps
    # Settings of the user and of the machine are read wherever a session starts.
    reads_elsewhere = host.settings_lookup is SettingsLookup.UNKNOWN or (
        host.settings_lookup is SettingsLookup.REPOSITORY and find_work_tree(installation.project)
    )
    if scope in PROJECT_SCOPES and not reads_elsewhere and not has_hook(wiring, installation, "user", "managed"):
        yield KnownGap(
            what=f"a session that starts in a folder below {installation.project} reads none of these settings",
            fix="start sessions in the project itself, or wire your own settings, which count everywhere: "
            f"`verdikt init --host {host.name} --scope user`",
        )


def find_schema_gaps(wiring: HostWiring, file: str) -> Iterator[KnownGap]:
    """Yield the place in a settings file, if there is one, that makes the client drop its hooks."""
    if place := find_schema_error(wiring.schema, wiring.host.events, load_settings(wiring, file)):
        yield KnownGap(
            what=f"`{place}` in {file} is nothing that the client understands, "
            "so it drops hooks of that file in silence",
            fix="fix it",
            open=True,
        )


def has_hook(wiring: HostWiring, installation: Installation, *scopes: str) -> bool:
    """Whether the host's settings of one of these scopes name the hook."""
    files = (installation.get_settings_file(wiring.host, scope) for scope in scopes)
    return any(True for file in files for _ in json_settings.find_hook_commands(load_settings(wiring, file)))


def load_settings(wiring: HostWiring, file: str) -> dict[str, Any]:
    """Return the content of a settings file; nothing when there is no such file or it cannot be read."""
    try:
        return wiring.parse_settings(read_file(file), file) if file else {}
    except WiringError:
        return {}


def find_unreadable_settings(wiring: HostWiring, installation: Installation) -> Iterator[str]:
    """Yield an error message for each settings file that cannot be read and does not even mention the hook."""
    for scope in SCOPES:
        file = installation.get_settings_file(wiring.host, scope)
        try:
            wiring.parse_settings(read_file(file) if file else None, file)
        except WiringError as error:
            if not _mentions_hook(file):
                yield str(error)


def is_on_record(installation: Installation, file: str) -> bool:
    """Whether the file is as `verdikt init` left it."""
    record = installation.load_record()
    return file in record.files and record.is_untouched(file)


def _mentions_hook(file: str) -> bool:
    try:
        return is_hook_command((read_file(file) or b"").decode(errors="replace"))
    except WiringError:
        return False


def _is_same_command(first: str, second: str) -> bool:
    """Whether two lines are the same, apart from another name of the same interpreter."""
    if first == second:
        return True
    try:
        words = [shlex.split(line) for line in (first, second)]
    except ValueError:
        return False
    return [_normalize_interpreter(word) for word in words[0]] == [_normalize_interpreter(word) for word in words[1]]


def _normalize_interpreter(word: str) -> str:
    directory, name = os.path.split(word)
    return os.path.join(directory, "python") if directory and _PYTHON_NAME.fullmatch(name) else word
