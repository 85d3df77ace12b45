"""What `verdikt init` changes and what `verdikt uninstall` changes back, as plans that can be shown before they are carried out."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

from verdikt import adapters
from verdikt.adapters.wiring import codex, settings, shape, wrapper
from verdikt.adapters.wiring.change import FileChange, WiringRecord, read, refuse_unwritable
from verdikt.adapters.wiring.place import PLACES, Place
from verdikt.adapters.wiring.registration import GUARD_SECONDS, NAMES, Registration
from verdikt.errors import WiringError
from verdikt.model.value import Value

HOSTS = (*PLACES, "opencode", "git")

_POLICY = """\
# What agents may do in this project. `verdikt policy show` prints the whole of it, `verdikt check` tries a command on it.
# A profile is a set of rules to begin with: relaxed, standard or strict.
profile: {profile}

# Rules of your own come here, and can only make the profile stricter. For example:
#
# rules:
#   - name: no_publish
#     effect: pkg.publish        # whatever the command line looks like: `verdikt explain COMMAND` names the effects
#     verdict: block
#     reason: "publishing is for people"
#     fix: "ask for a release"
"""

_PROBE = """
import sys
sys.path.append(sys.argv[1])
from verdikt.adapters.start import spare
spare()
import verdikt.adapters.entry, re2, tree_sitter_bash, yaml
"""
"""As the hook starts, and then what it may need of others."""

_OPENCODE = {"project": ".opencode/plugin/verdikt.js", "user": "opencode/plugin/verdikt.js"}


class Installation(Value, kw_only=True):
    """Where things are: the project, the data directory, the environment, and the socket that hooks ask, if one is given."""

    project: str
    data: str
    env: Mapping[str, str]
    socket: str = ""
    system: str = "/etc"
    """Below which the settings for everybody on the machine lie."""

    def wrappers(self, scope: str = "project") -> dict[str, bytes]:
        """Where the wrappers are put, and what they are; the first is the one that is registered."""
        # Those for everybody lie where whoever is governed may run them and not change them.
        directory = (
            os.path.join(self.system, "verdikt", "hooks") if scope == "managed" else os.path.join(self.data, "hooks")
        )
        return {os.path.join(directory, name): data for name, data in wrapper.shipped().items()}

    def registration(self, scope: str = "project") -> Registration:
        """How hosts will call the hook: this interpreter, isolated from the project and the environment."""
        guard = next(iter(self.wrappers(scope)))
        for path in (guard, sys.executable):
            # Hosts run it from wherever the agent has gone, and read it from a text file.
            if not os.path.isabs(path) or _is_no_text(path):
                raise WiringError(
                    f"expected an absolute path in UTF-8 for hosts to call, found `{os.fsencode(path)!r}`; "
                    "set VERDIKT_HOME to one, or install verdikt elsewhere"
                )
        return Registration(guard=guard, python=(sys.executable, *_isolation()), socket=self.socket)

    def file(self, place: Place, scope: str) -> str:
        """A host's settings file of that scope; empty where it has none."""
        return place.file(scope, self.project, self.env, self.system)

    def record(self) -> WiringRecord:
        """What was changed so far."""
        return WiringRecord(Path(self.data))


def _is_no_text(path: str) -> bool:
    return any("\udc80" <= character <= "\udcff" for character in path)


def scopes(host: str) -> tuple[str, ...]:
    """The scopes in which a host can be wired."""
    if host == "git":
        return ("project",)
    return tuple(PLACES[host].files if host in PLACES else _OPENCODE)


def found(here: Installation) -> list[str]:
    """The hosts that are installed or used in the project."""
    path = here.env.get("PATH", "")
    hosts = [
        place.host
        for place in PLACES.values()
        if shutil.which(place.program, path=path) or os.path.exists(os.path.join(here.project, place.mark))
    ]
    if shutil.which("opencode", path=path) or os.path.isdir(os.path.join(here.project, ".opencode")):
        hosts.append("opencode")
    return hosts


def plan(here: Installation, hosts: Iterable[str], *, profile: str, scope: str, trust: bool) -> list[FileChange]:
    """Every file that wiring these hosts changes, in the order in which it is safe to change them."""
    changes = [*_wrappers(here, scope), *_policy(here, profile, scope)]
    for host in hosts:
        if host == "opencode":
            changes.append(plugin(here, scope))
        elif host != "git":
            changes += _settings(here, host, scope)
            if host == "codex" and scope != "managed":
                changes += codex.features(here, changes[-1], scope, trust=trust)
    return [change for change in changes if change.needed]


def _wrappers(here: Installation, scope: str) -> list[FileChange]:
    what = "the wrapper that clients call"
    return [
        FileChange(
            path=path, before=read(path), after=data, host="", what=what if first == 0 else "the same, as a script"
        )
        for first, (path, data) in enumerate(here.wrappers(scope).items())
    ]


def _policy(here: Installation, profile: str, scope: str) -> list[FileChange]:
    """A policy where there is none; one that is there is kept."""
    if scope == "managed":
        path = os.path.join(here.system, "verdikt", "governance.yaml")
    elif scope == "user":
        config = here.env.get("XDG_CONFIG_HOME") or os.path.join(
            here.env.get("HOME") or os.path.expanduser("~"), ".config"
        )
        path = os.path.join(config, "verdikt", "governance.yaml")
    else:
        path = os.path.join(here.project, "governance.yaml")
    if os.path.lexists(path):
        return []
    text = _POLICY.format(profile=profile).encode()
    return [FileChange(path=path, before=None, after=text, host="", what=f"the policy, with the profile `{profile}`")]


def _settings(here: Installation, host: str, scope: str) -> list[FileChange]:
    client = PLACES[host]
    path = here.file(client, scope)
    if not path:
        raise WiringError(f"`{host}` has no {scope} settings that name hooks; see docs/hosts/{host}.md")
    before = read(path)
    entries = client.entries(here.registration(scope))
    what = f"hooks for {len(entries)} events"
    if path.endswith(".toml"):
        directory = os.path.dirname(here.registration(scope).guard)
        after: bytes | None = codex.requirements(before, entries, directory, path)
        return [FileChange(path=path, before=before, after=after, host=host, what=what)]
    present = settings.parse(before, path)
    wired = settings.wire(present, entries, path, client.extra)
    if place := shape.flaw(host, present):
        raise WiringError(
            f"{path}: `{place}` is nothing that the client understands, so it drops hooks of this file in silence; "
            "mend it and run this again"
        )
    after = before if wired == present else settings.render(wired)
    return [FileChange(path=path, before=before, after=after, host=host, what=what)]


def plugin(here: Installation, scope: str) -> FileChange:
    """OpenCode's plugin, as it is and as it shall be."""
    if scope not in _OPENCODE:
        raise WiringError(f"`opencode` has no {scope} plugins; see docs/hosts/opencode.md")
    config = here.env.get("XDG_CONFIG_HOME") or os.path.join(here.env.get("HOME") or os.path.expanduser("~"), ".config")
    path = os.path.join(config if scope == "user" else here.project, _OPENCODE[scope])
    text = Path(adapters.__file__).with_name("opencode_plugin.js").read_text()
    registration = here.registration(scope)
    guard = [*registration.wrapper, str(GUARD_SECONDS)]
    text = text.replace('["verdikt-guard"]', json.dumps(guard))
    text = text.replace('["verdikt-hook"]', json.dumps(registration.hook("opencode", "")[:-1]))
    return FileChange(path=path, before=read(path), after=text.encode(), host="opencode", what="the plugin")


def carry_out(here: Installation, changes: Iterable[FileChange]) -> None:
    """Makes the changes of a plan."""
    planned = list(changes)
    here.record().apply(planned)
    for path in (change.path for change in planned if os.path.basename(change.path) in NAMES):
        os.chmod(path, 0o755)


def undo(here: Installation, *, hosts: Iterable[str] = (), everything: bool = False) -> list[FileChange]:
    """What brings the files of this project (or every file on record) back to what they were."""
    record = here.record()
    wanted = set(hosts)
    changes = []
    for path, known in record.files.items():
        wraps = os.path.basename(path) in NAMES
        inside = path.startswith(os.path.join(here.project, "")) or known.get("projects") == [here.project]
        mine = everything or inside or wraps
        if not mine or (wanted and known["host"] not in wanted):
            continue
        if wraps and not everything and _others_need_guard(here, record, wanted):
            continue
        changes.append(_back(record, path, known["host"]))
    return changes


def _others_need_guard(here: Installation, record: WiringRecord, wanted: set[str]) -> bool:
    inside = os.path.join(here.project, "")
    return any(
        known["host"]
        and (
            not (path.startswith(inside) or known.get("projects") == [here.project])
            or (wanted and known["host"] not in wanted)
        )
        for path, known in record.files.items()
    )


def _back(record: WiringRecord, path: str, host: str) -> FileChange:
    now, original = read(path), record.original(path)
    if record.untouched(path):
        what = "there was none before" if original is None else "as it was before"
        return FileChange(path=path, before=now, after=original, host=host, what=what)
    if now is None and original is None:
        return FileChange(path=path, before=now, after=now, host=host, what="gone already")
    if now is None or not host:
        return FileChange(path=path, before=now, after=now, host=host, what="changed since, so left as it is")
    if path.endswith(".toml"):
        left = codex.without(now)
        kept = "changed since, so left as it is: look for verdikt in it"
        what = kept if left == now else "without our hooks; the rest was changed since and is kept"
        return FileChange(path=path, before=now, after=left, host=host, what=what)
    rest = settings.unwire(settings.parse(now, path), path)
    same = original is not None and rest == settings.parse(original, path)
    after = original if same else (None if original is None and rest in ({}, {"version": 1}) else settings.render(rest))
    return FileChange(
        path=path, before=now, after=after, host=host, what="without our hooks; the rest was changed since and is kept"
    )


def take_back(here: Installation, changes: Iterable[FileChange]) -> None:
    """Carries out what `undo` planned."""
    record = here.record()
    planned = list(changes)
    refuse_unwritable(change.path for change in planned if change.needed)
    for change in planned:
        record.forget(change.path, change.after)


@lru_cache(maxsize=1)
def _isolation() -> list[str]:
    """The strictest flags under which this interpreter still finds verdikt."""
    for flags in (["-I"], ["-E", "-P"]):
        probe = [sys.executable, *flags, "-S", "-c", _PROBE, str(Path(adapters.__file__).parents[2])]
        if subprocess.run(probe, cwd="/", capture_output=True, check=False).returncode == 0:
            return flags
    raise WiringError(f"`{sys.executable}` cannot import verdikt by itself; install verdikt for this interpreter")
