"""What `verdikt init` changes and what `verdikt uninstall` changes back, as plans that can be shown before they are carried out."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from verdikt import hosts
from verdikt.errors import WiringError
from verdikt.hosts.codex import config_files
from verdikt.hosts.wiring import json_settings, settings_schema, wrapper
from verdikt.hosts.wiring.file_change import FileChange, WiringRecord, read_file, refuse_unwritable
from verdikt.hosts.wiring.registration import WRAPPER_NAMES, WRAPPER_TIMEOUT_SECONDS, Registration
from verdikt.hosts.wiring.settings_layout import SETTINGS_LAYOUTS, SettingsLayout

WIRABLE_HOSTS = (*SETTINGS_LAYOUTS, "opencode", "git")

_POLICY_TEMPLATE = """\
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

_IMPORT_PROBE = "import verdikt.hosts.hook, re2, tree_sitter_bash, yaml"
"""As the hook starts, and then what it may need of others."""

_OPENCODE_PLUGIN_PATHS = {"project": ".opencode/plugin/verdikt.js", "user": "opencode/plugin/verdikt.js"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """Where things are: the project, the data directory, the environment, and the socket that hooks ask, if one is given."""

    project: str
    data_directory: str
    env: Mapping[str, str]
    socket_path: str = ""
    system_directory: str = "/etc"
    """Below which the settings for everybody on the machine lie."""

    def get_wrapper_files(self, scope: str = "project") -> dict[str, bytes]:
        """Where the wrappers are put, and what they are; the first is the one that is registered."""
        # Those for everybody lie where whoever is governed may run them and not change them.
        directory = (
            os.path.join(self.system_directory, "verdikt", "hooks")
            if scope == "managed"
            else os.path.join(self.data_directory, "hooks")
        )
        return {os.path.join(directory, name): data for name, data in wrapper.load_wrappers().items()}

    def create_registration(self, scope: str = "project") -> Registration:
        """How hosts will call the hook: this interpreter, isolated from the project and the environment."""
        guard = next(iter(self.get_wrapper_files(scope)))
        for path in (guard, sys.executable):
            # Hosts run it from wherever the agent has gone, and read it from a text file.
            if not os.path.isabs(path) or _has_undecodable_bytes(path):
                raise WiringError(
                    f"expected an absolute path in UTF-8 for hosts to call, found `{os.fsencode(path)!r}`; "
                    "set VERDIKT_HOME to one, or install verdikt elsewhere"
                )
        return Registration(
            wrapper_path=guard, python=(sys.executable, *_find_isolation_flags()), socket_path=self.socket_path
        )

    def get_settings_file(self, layout: SettingsLayout, scope: str) -> str:
        """A host's settings file of that scope; empty where it has none."""
        return layout.get_path(scope, self.project, self.env, self.system_directory)

    def load_record(self) -> WiringRecord:
        """What was changed so far."""
        return WiringRecord(Path(self.data_directory))


def _has_undecodable_bytes(path: str) -> bool:
    return any("\udc80" <= character <= "\udcff" for character in path)


def list_scopes(host: str) -> tuple[str, ...]:
    """The scopes in which a host can be wired."""
    if host == "git":
        return ("project",)
    return tuple(SETTINGS_LAYOUTS[host].paths_by_scope if host in SETTINGS_LAYOUTS else _OPENCODE_PLUGIN_PATHS)


def detect_hosts(installation: Installation) -> list[str]:
    """The hosts that are installed or used in the project."""
    path = installation.env.get("PATH", "")
    hosts = [
        place.host
        for place in SETTINGS_LAYOUTS.values()
        if shutil.which(place.program, path=path)
        or os.path.exists(os.path.join(installation.project, place.project_marker))
    ]
    if shutil.which("opencode", path=path) or os.path.isdir(os.path.join(installation.project, ".opencode")):
        hosts.append("opencode")
    return hosts


def plan_wiring(
    installation: Installation, host_names: Iterable[str], *, profile: str, scope: str, trust: bool
) -> list[FileChange]:
    """Every file that wiring these hosts changes, in the order in which it is safe to change them."""
    changes = [*_plan_wrappers(installation, scope), *_plan_policy(installation, profile, scope)]
    for host in host_names:
        if host == "opencode":
            changes.append(plan_opencode_plugin(installation, scope))
        elif host != "git":
            changes += _plan_settings(installation, host, scope)
            if host == "codex" and scope != "managed":
                changes += config_files.plan_config_changes(installation, changes[-1], scope, trust=trust)
    return [change for change in changes if change.is_needed]


def _plan_wrappers(installation: Installation, scope: str) -> list[FileChange]:
    what = "the wrapper that clients call"
    return [
        FileChange(
            path=path,
            before=read_file(path),
            after=data,
            host="",
            description=what if first == 0 else "the same, as a script",
        )
        for first, (path, data) in enumerate(installation.get_wrapper_files(scope).items())
    ]


def _plan_policy(installation: Installation, profile: str, scope: str) -> list[FileChange]:
    """A policy where there is none; one that is there is kept."""
    if scope == "managed":
        path = os.path.join(installation.system_directory, "verdikt", "governance.yaml")
    elif scope == "user":
        config = installation.env.get("XDG_CONFIG_HOME") or os.path.join(
            installation.env.get("HOME") or os.path.expanduser("~"), ".config"
        )
        path = os.path.join(config, "verdikt", "governance.yaml")
    else:
        path = os.path.join(installation.project, "governance.yaml")
    if os.path.lexists(path):
        return []
    text = _POLICY_TEMPLATE.format(profile=profile).encode()
    return [
        FileChange(path=path, before=None, after=text, host="", description=f"the policy, with the profile `{profile}`")
    ]


def _plan_settings(installation: Installation, host: str, scope: str) -> list[FileChange]:
    client = SETTINGS_LAYOUTS[host]
    path = installation.get_settings_file(client, scope)
    if not path:
        raise WiringError(f"`{host}` has no {scope} settings that name hooks; see docs/hosts/{host}.md")
    before = read_file(path)
    entries = client.build_entries(installation.create_registration(scope))
    what = f"hooks for {len(entries)} events"
    if path.endswith(".toml"):
        directory = os.path.dirname(installation.create_registration(scope).wrapper_path)
        after: bytes | None = config_files.add_requirements(before, entries, directory, path)
        return [FileChange(path=path, before=before, after=after, host=host, description=what)]
    present = json_settings.parse(before, path)
    wired = json_settings.add_hooks(present, entries, path, client.extra_settings)
    if place := settings_schema.find_schema_error(host, present):
        raise WiringError(
            f"{path}: `{place}` is nothing that the client understands, so it drops hooks of this file in silence; "
            "mend it and run this again"
        )
    after = before if wired == present else json_settings.render(wired)
    return [FileChange(path=path, before=before, after=after, host=host, description=what)]


def plan_opencode_plugin(installation: Installation, scope: str) -> FileChange:
    """OpenCode's plugin, as it is and as it shall be."""
    if scope not in _OPENCODE_PLUGIN_PATHS:
        raise WiringError(f"`opencode` has no {scope} plugins; see docs/hosts/opencode.md")
    config = installation.env.get("XDG_CONFIG_HOME") or os.path.join(
        installation.env.get("HOME") or os.path.expanduser("~"), ".config"
    )
    path = os.path.join(config if scope == "user" else installation.project, _OPENCODE_PLUGIN_PATHS[scope])
    text = (Path(hosts.__file__).parent / "opencode" / "plugin.js").read_text()
    registration = installation.create_registration(scope)
    guard = [*registration.wrapper_argv, str(WRAPPER_TIMEOUT_SECONDS)]
    text = text.replace('["verdikt-guard"]', json.dumps(guard))
    text = text.replace('["verdikt-hook"]', json.dumps(registration.build_hook_argv("opencode", "")[:-1]))
    return FileChange(path=path, before=read_file(path), after=text.encode(), host="opencode", description="the plugin")


def apply_plan(installation: Installation, changes: Iterable[FileChange]) -> None:
    """Makes the changes of a plan."""
    planned = list(changes)
    installation.load_record().apply_changes(planned)
    for path in (change.path for change in planned if os.path.basename(change.path) in WRAPPER_NAMES):
        os.chmod(path, 0o755)


def plan_unwiring(
    installation: Installation, *, host_names: Iterable[str] = (), everything: bool = False
) -> list[FileChange]:
    """What brings the files of this project (or every file on record) back to what they were."""
    record = installation.load_record()
    wanted = set(host_names)
    changes = []
    for path, known in record.files.items():
        wraps = os.path.basename(path) in WRAPPER_NAMES
        inside = path.startswith(os.path.join(installation.project, "")) or known.get("projects") == [
            installation.project
        ]
        mine = everything or inside or wraps
        if not mine or (wanted and known["host"] not in wanted):
            continue
        if wraps and not everything and _is_wrapper_needed(installation, record, wanted):
            continue
        changes.append(_plan_restore(record, path, known["host"]))
    return changes


def _is_wrapper_needed(installation: Installation, record: WiringRecord, selected_hosts: set[str]) -> bool:
    inside = os.path.join(installation.project, "")
    return any(
        known["host"]
        and (
            not (path.startswith(inside) or known.get("projects") == [installation.project])
            or (selected_hosts and known["host"] not in selected_hosts)
        )
        for path, known in record.files.items()
    )


def _plan_restore(record: WiringRecord, path: str, host: str) -> FileChange:
    now, original = read_file(path), record.read_original(path)
    if record.is_untouched(path):
        what = "there was none before" if original is None else "as it was before"
        return FileChange(path=path, before=now, after=original, host=host, description=what)
    if now is None and original is None:
        return FileChange(path=path, before=now, after=now, host=host, description="gone already")
    if now is None or not host:
        return FileChange(path=path, before=now, after=now, host=host, description="changed since, so left as it is")
    if path.endswith(".toml"):
        left = config_files.remove_requirements(now)
        kept = "changed since, so left as it is: look for verdikt in it"
        what = kept if left == now else "without our hooks; the rest was changed since and is kept"
        return FileChange(path=path, before=now, after=left, host=host, description=what)
    rest = json_settings.remove_hooks(json_settings.parse(now, path), path)
    same = original is not None and rest == json_settings.parse(original, path)
    after = (
        original
        if same
        else (None if original is None and rest in ({}, {"version": 1}) else json_settings.render(rest))
    )
    return FileChange(
        path=path,
        before=now,
        after=after,
        host=host,
        description="without our hooks; the rest was changed since and is kept",
    )


def apply_unwiring(installation: Installation, changes: Iterable[FileChange]) -> None:
    """Carries out what `undo` planned."""
    record = installation.load_record()
    planned = list(changes)
    refuse_unwritable(change.path for change in planned if change.is_needed)
    for change in planned:
        record.restore_file(change.path, change.after)


@lru_cache(maxsize=1)
def _find_isolation_flags() -> list[str]:
    """The strictest flags under which this interpreter still finds verdikt."""
    for flags in (["-I"], ["-E", "-P"]):
        probe = [sys.executable, *flags, "-c", _IMPORT_PROBE]
        if subprocess.run(probe, cwd="/", capture_output=True, check=False).returncode == 0:
            return flags
    raise WiringError(f"`{sys.executable}` cannot import verdikt by itself; install verdikt for this interpreter")
