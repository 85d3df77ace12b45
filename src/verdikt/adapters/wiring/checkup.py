"""What the settings of each host say about the hook: wired, trusted, complete, and what lies open beside it."""

import os
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from verdikt import __version__, adapters
from verdikt.adapters.moment import MomentKind
from verdikt.adapters.wiring import codex, codex_trust, settings, toml, web
from verdikt.adapters.wiring.change import read
from verdikt.adapters.wiring.hole import Hole, by_http, holes, twice, unread
from verdikt.adapters.wiring.install import Installation, plugin
from verdikt.adapters.wiring.place import PLACES, SCOPES, Place
from verdikt.adapters.wiring.registration import NAMES, NATIVE, is_ours
from verdikt.errors import WiringError
from verdikt.model.regex import regex
from verdikt.model.value import Value, replace
from verdikt.observe.breach import recent_lines
from verdikt.observe.crash import FILE

_PYTHON = regex(r"python[0-9.]*")


class Wired(Value, kw_only=True):
    """One settings file that names the hook."""

    host: str
    scope: str
    file: str
    commands: Mapping[str, str]
    missing: tuple[str, ...]
    trusted: bool
    holes: tuple[Hole, ...]
    foreign: bool = False
    """Whether a project's file names something else than this verdikt writes there: whoever wrote the project could have anything run."""

    @property
    def wrapped(self) -> bool:
        """Whether the host calls the wrapper."""
        return self.host == "opencode" or any(name in line for line in self.commands.values() for name in NAMES)

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
    every = [*_in_settings(here), *_opencode(here)]
    for found in every:
        others = [other for other in every if other is not found and _both_are_called(found, other)]
        yield replace(found, holes=(*found.holes, twice(found.host, others[0].file))) if others else found


def _in_settings(here: Installation) -> Iterator[Wired]:
    for place, scope, file in _files(here):
        try:
            present, fault = _settings(file), ""
        except WiringError as error:
            present, fault = {}, str(error)
        named = any(settings.commands(present)) or any(web.posts(present))
        if named or (fault and _speaks_of_us(file)):
            found = _wired(here, place, scope, file, present)
            ours = _is_written_here(here, found, dict(settings.commands(present)))
            yield replace(found, foreign=not ours, holes=(*([unread(fault)] if fault else []), *found.holes))


def _is_written_here(here: Installation, found: Wired, commands: Mapping[str, str]) -> bool:
    """Whether the commands are those that `verdikt init` writes; what is not the project's is the person's own affair."""
    if found.scope != "project" or is_on_record(here, found.file):
        return True
    kinds = adapters.host(found.host).EVENTS
    registration = here.registration(found.scope)
    for event, line in commands.items():
        closed = event in kinds and kinds[event].closed
        bare = shlex.join(registration.hook(found.host, event))
        if not (_alike(line, registration.command(found.host, event, closed=closed)) or _alike(line, bare)):
            return False
    return True


def is_on_record(here: Installation, file: str) -> bool:
    """Whether the file is as `verdikt init` left it."""
    record = here.record()
    return file in record.files and record.untouched(file)


def _alike(one: str, other: str) -> bool:
    """The same line, but for another name of the same interpreter."""
    try:
        words = [shlex.split(line) for line in (one, other)]
    except ValueError:
        return False
    return one == other or [_plain(word) for word in words[0]] == [_plain(word) for word in words[1]]


def _plain(word: str) -> str:
    directory, name = os.path.split(word)
    return os.path.join(directory, "python") if directory and _PYTHON.fullmatch(name) else word


def _both_are_called(one: Wired, other: Wired) -> bool:
    """Whether the host calls both. Claude Code and Gemini CLI call the same command once, however often they find it."""
    if one.host != other.host or not (one.before and other.before):
        return False
    return one.before != other.before or one.host not in ("claude", "gemini")


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


def _wired(here: Installation, place: Place, scope: str, file: str, present: Mapping[str, Any]) -> Wired:
    posts = dict(web.posts(present)) if place.host == web.HOST else {}
    commands = {event: web.command(here, handler) for event, handler in posts.items()} | dict(
        settings.commands(present)
    )
    return Wired(
        host=place.host,
        scope=scope,
        file=file,
        commands=commands,
        missing=tuple(event for event in place.events if event not in commands),
        trusted=place.host != "codex" or scope == "managed" or _codex_trusted(here, present, file),
        holes=(*by_http(posts, dict(settings.commands(present))), *holes(place.host, here, scope)),
    )


def _opencode(here: Installation) -> Iterator[Wired]:
    config = here.env.get("XDG_CONFIG_HOME") or os.path.join(here.env.get("HOME", ""), ".config")
    for scope, root in (
        ("project", os.path.join(here.project, ".opencode")),
        ("user", os.path.join(config, "opencode")),
    ):
        file = os.path.join(root, "plugin", "verdikt.js")
        data = read(file) or b""
        text = data.decode(errors="replace")
        if not text:
            continue
        foreign = scope == "project" and not is_on_record(here, file) and data != plugin(here, scope).after
        script = str(Path(adapters.__file__).with_name("opencode_canary.mjs"))
        commands = {"tool.execute.before": shlex.join(["node", script, file])} if is_ours(text) else {}
        yield Wired(
            host="opencode",
            scope=scope,
            file=file,
            commands=commands,
            missing=() if commands else ("tool.execute.before",),
            trusted=True,
            holes=tuple(holes("opencode", here, scope)),
            foreign=foreign,
        )


def _codex_trusted(here: Installation, present: Mapping[str, Any], file: str) -> bool:
    config = os.path.join(codex.home(here.env), "config.toml")
    hashes = codex_trust.trusted(present, file)
    return codex_trust.approved(read(config), hashes, config)


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
