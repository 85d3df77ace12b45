"""The changes of `verdikt init` and `verdikt uninstall`, as plans that can be shown before they are applied."""

import os
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verdikt.errors import WiringError
from verdikt.hosts.host import PROJECT_SCOPES, Host
from verdikt.hosts.registry import HOSTS, WIRABLE_HOSTS, load_wiring
from verdikt.hosts.wiring.file_change import FileChange, WiringRecord, read_file, refuse_unwritable
from verdikt.hosts.wiring.git_exclusion import plan_exclusion
from verdikt.hosts.wiring.installation import Installation
from verdikt.hosts.wiring.mcp_servers import strip_relays
from verdikt.hosts.wiring.registration import WRAPPER_NAMES, is_hook_command
from verdikt.ledger.kept_files import KeptFiles
from verdikt.observe.project_checks import detect_project_checks

if TYPE_CHECKING:
    from verdikt.governance_parts import PathAccess

GIT = "git"
"""Not an agent, but wired like one: the hooks of a repository, which `verdikt.hosts.git` installs."""

_POLICY_TEMPLATE = """\
# What agents may do in this project. `verdikt policy show` prints all of it, `verdikt check` tries a command on it.
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

# What an agent says it did ("fixed", "all tests pass") needs proof. {why}
evidence:
  mode: {mode}
"""


def list_scopes(host: str) -> tuple[str, ...]:
    """Return the scopes in which a host can be wired."""
    return PROJECT_SCOPES if host == GIT else HOSTS[host].scopes


def detect_hosts(installation: Installation) -> list[str]:
    """Return the hosts that are installed, or that the project shows signs of."""
    path = installation.env.get("PATH", "")
    return [
        name
        for name in WIRABLE_HOSTS
        if shutil.which(HOSTS[name].program, path=path)
        or os.path.exists(os.path.join(installation.project, HOSTS[name].project_marker))
    ]


def plan_wiring(
    installation: Installation, host_names: Iterable[str], *, profile: str, scope: str, trust: bool
) -> list[FileChange]:
    """Return every file that wiring these hosts changes, in the order in which it is safe to change them."""
    # The wrapper comes first: settings that name a missing wrapper block every call.
    changes = [*plan_wrappers(installation, scope), *_plan_policy(installation, profile, scope)]
    left_files: list[FileChange] = []
    for host in host_names:
        if host != GIT:
            changes += load_wiring(host).plan_changes(installation, scope, trust=trust)
            left_files += _plan_leaving_other_scope(installation, HOSTS[host], scope)
    if scope == "local":
        changes += plan_exclusion(installation, changes)
    return [change for change in (*changes, *left_files) if change.is_needed]


def _plan_leaving_other_scope(installation: Installation, host: Host, scope: str) -> list[FileChange]:
    """Return what takes our hooks out of the project's other file, which would have every call decided twice."""
    if scope not in PROJECT_SCOPES:
        return []
    record = installation.load_record()
    file = installation.get_settings_file(host, scope)
    others = {installation.get_settings_file(host, other) for other in PROJECT_SCOPES} - {file, ""}
    return [_plan_restore(record, path, host.name) for path in sorted(others) if path in record.files]


def plan_wrappers(installation: Installation, scope: str) -> list[FileChange]:
    """Return the changes that write what clients call."""
    descriptions = ("the wrapper that clients call", "the same, as a script")
    changes = [
        FileChange(path=path, before=read_file(path), after=data, host="", description=description)
        for (path, data), description in zip(installation.get_wrapper_files(scope).items(), descriptions, strict=False)
    ]
    return changes if scope == "managed" else [*changes, plan_launcher(installation)]


def plan_launcher(installation: Installation) -> FileChange:
    """Return the change that writes what committed settings call."""
    path = installation.launcher_path
    launcher = installation.create_registration().build_launcher()
    description = "the launcher for settings that are committed"
    return FileChange(path=path, before=read_file(path), after=launcher, host="", description=description)


def _plan_policy(installation: Installation, profile: str, scope: str) -> list[FileChange]:
    """Return the change that creates a policy; none where there already is one."""
    directory = {
        "managed": os.path.join(installation.system_directory, "verdikt"),
        "user": os.path.join(installation.config_directory, "verdikt"),
    }.get(scope, installation.project)
    path = os.path.join(directory, "governance.yaml")
    # A policy that is there is the person's own, whatever it says. `lexists`, because a dangling link is theirs too.
    if os.path.lexists(path):
        return []
    mode, why = _propose_evidence_mode(installation, scope)
    text = _POLICY_TEMPLATE.format(profile=profile, mode=mode, why=why).encode()
    description = f"the policy, with the profile `{profile}`; claims without proof: {mode}"
    return [FileChange(path=path, before=None, after=text, host="", description=description)]


def _propose_evidence_mode(installation: Installation, scope: str) -> tuple[str, str]:
    """Return the mode of the evidence gate that suits a project, and a sentence that says why."""
    checks = (
        detect_project_checks(installation.project, installation.env.get("HOME", "")) if scope in PROJECT_SCOPES else {}
    )
    if not checks:
        return "shadow", "Here it is only recorded: `verdikt evidence report` shows what `enforce` would refuse."
    command = next(checks[kind] for kind in ("test", "build", "types", "lint") if kind in checks)
    return "enforce", f"This project has a check (`{command}`); `shadow` would only record."


def apply_plan(installation: Installation, changes: Iterable[FileChange]) -> None:
    """Make the changes of a plan."""
    planned = list(changes)
    installation.load_record().apply_changes(planned)
    for path in (change.path for change in planned if os.path.basename(change.path) in WRAPPER_NAMES):
        os.chmod(path, 0o755)
    keep_wired_files(installation.data_directory, installation.project, installation.home)


def keep_wired_files(data_directory: str, project: str, home: str) -> None:
    """Keep the wired files of a project and of the person as they are now, so that they can be put back.

    Called where a person wires a project, and at the start of a session.
    """
    kept_files = KeptFiles(data_directory)
    record = WiringRecord(Path(data_directory))
    for path, entry in record.files.items():
        is_wrapper = os.path.basename(path) in WRAPPER_NAMES
        if not record.has_hooks(path):
            continue
        if is_wrapper or (entry["host"] in HOSTS and not _is_foreign_file(path, HOSTS[entry["host"]], project, home)):
            switches = _list_off_switches(entry["host"], project, home)
            # A person who says "always allow" has the host write into this file while an action waits.
            kept_files.keep(path, project=project, is_shared=path in switches)
            for switch, word in switches.items():
                # A file that is wired must keep its hooks, which says more than that it may not gain a word.
                if switch not in record.files:
                    kept_files.keep(switch, project=project, off_switch=word)


def keep_found_files(
    data_directory: str, project: str, home: str, env: Mapping[str, str], access: "PathAccess"
) -> None:
    """Keep the settings that name the hook, where another user's data directory has no record of what was wired.

    They are read, and later put back, with the rights that `access` gives.
    """
    kept_files = KeptFiles(data_directory, access=access)
    for name, host in HOSTS.items():
        files = [file for scope, file in host.settings_files.items() if scope != "managed"]
        for path in (host.resolve_file(file, project=project, home=home, env=env) for file in files):
            with suppress(WiringError, OSError):
                with access(path):
                    is_wired = is_hook_command((read_file(path) or b"").decode(errors="replace"))
                if is_wired:
                    kept_files.keep(path, project=project)
                    for switch, word in _list_off_switches(name, project, home).items():
                        kept_files.keep(switch, project=project, off_switch=word)


def _list_off_switches(host: str, project: str, home: str) -> dict[str, str]:
    """Return the files that could switch a host's hooks off → the word that does it."""
    if host not in HOSTS:
        return {}
    switches = HOSTS[host].off_switches.items()
    return {HOSTS[host].resolve_file(file, project=project, home=home, env={}): word for file, word in switches}


def _is_foreign_file(path: str, host: Host, project: str, home: str) -> bool:
    """Whether a wired file belongs to another project, which a session in this one has no business with."""
    if path.startswith(os.path.join(project, "")):
        return False
    names = [file for file in host.all_guarded_files if not file.startswith(("~", "/"))]
    return any(path.endswith(f"/{name}") and path != os.path.join(home, name) for name in names)


def plan_unwiring(
    installation: Installation, *, host_names: Iterable[str] = (), everything: bool = False
) -> list[FileChange]:
    """Return what restores the files of this project, or every file on record."""
    record = installation.load_record()
    selected_hosts = set(host_names)
    changes = []
    for path, entry in record.files.items():
        is_wrapper = os.path.basename(path) in WRAPPER_NAMES
        is_selected = everything or is_wrapper or _belongs_to_project(installation, path, entry)
        if not is_selected or (selected_hosts and entry["host"] not in selected_hosts):
            continue
        # All projects share the wrapper, so it stays as long as another wired file names it.
        if is_wrapper and not everything and _is_wrapper_needed(installation, record, selected_hosts):
            continue
        changes.append(_plan_restore(record, path, entry["host"]))
    return changes


def has_files_of_every_project(installation: Installation) -> bool:
    """Return whether something is wired for every project, which stays when one project is unwired."""
    return any(entry["host"] and "" in entry.get("projects", ()) for entry in installation.load_record().files.values())


def _belongs_to_project(installation: Installation, path: str, entry: Mapping[str, Any]) -> bool:
    inside = path.startswith(os.path.join(installation.project, ""))
    return inside or entry.get("projects") == [installation.project]


def _is_wrapper_needed(installation: Installation, record: WiringRecord, selected_hosts: set[str]) -> bool:
    """Whether a file that stays wired names the wrapper."""
    return any(
        entry["host"]
        and (
            not _belongs_to_project(installation, path, entry)
            or (selected_hosts and entry["host"] not in selected_hosts)
        )
        for path, entry in record.files.items()
    )


def _plan_restore(record: WiringRecord, path: str, host: str) -> FileChange:
    current, original = read_file(path), record.read_original(path)
    if record.is_untouched(path):
        description = "there was none before" if original is None else "as it was before"
        return FileChange(path=path, before=current, after=original, host=host, description=description)
    after, description = current, "changed since, so left as it is"
    if current is None and original is None:
        description = "gone already"
    elif current is not None and host in HOSTS:
        if record.has_hooks(path):
            after, description = load_wiring(host).strip_hooks(current, original, path)
        stripped = strip_relays(after, path)
        if stripped != after:
            after, description = stripped, "without the relay in front of its servers"
    return FileChange(path=path, before=current, after=after, host=host, description=description)


def apply_unwiring(installation: Installation, changes: Iterable[FileChange]) -> None:
    """Make the changes that `plan_unwiring` returned."""
    record = installation.load_record()
    planned = list(changes)
    refuse_unwritable(change.path for change in planned if change.is_needed)
    kept_files = KeptFiles(installation.data_directory)
    for change in planned:
        # First, so that no running session puts the file back.
        for path in (change.path, *_list_off_switches(change.host, installation.project, installation.home)):
            kept_files.drop(path)
        record.restore_file(change.path, change.after)
