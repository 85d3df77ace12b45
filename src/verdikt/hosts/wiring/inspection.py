"""What the settings of all hosts say about the hook, and the state of the wrappers and of recent crashes."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from verdikt import __version__
from verdikt.hosts.host import KnownGap
from verdikt.hosts.registry import HOSTS, WIRABLE_HOSTS, load_wiring
from verdikt.hosts.wiring import host_wiring
from verdikt.hosts.wiring.file_change import read_file
from verdikt.hosts.wiring.host_wiring import WiredFile
from verdikt.hosts.wiring.installation import Installation
from verdikt.hosts.wiring.registration import NATIVE_WRAPPER
from verdikt.observe.alerts import read_recent_lines
from verdikt.observe.crash_log import CRASH_FILE, POLICY_FAULT


def find_wired_files(installation: Installation) -> Iterator[WiredFile]:
    """Yield every file of every host and scope that names the hook, and those that mention it and cannot be read."""
    files = [file for name in WIRABLE_HOSTS for file in load_wiring(name).find_wired_files(installation)]
    for file in files:
        duplicates = [other for other in files if other is not file and _are_both_called(file, other)]
        if duplicates:
            gap = _describe_duplicate(file.host, duplicates[0].file)
            yield replace(file, known_gaps=(*file.known_gaps, gap))
        else:
            yield file


def _are_both_called(first: WiredFile, second: WiredFile) -> bool:
    """Whether the host calls the hooks of both files for one action."""
    if first.host != second.host or not (first.before_command and second.before_command):
        return False
    return first.before_command != second.before_command or not HOSTS[first.host].merges_equal_hooks


def _describe_duplicate(host: str, other_file: str) -> KnownGap:
    return KnownGap(
        what=f"{other_file} names the hook as well, and both are called: "
        "every call is decided, counted and logged twice",
        fix=f"keep one of them: `verdikt uninstall --host {host}` in the project takes out the project's",
    )


def find_unreadable_settings(installation: Installation) -> list[str]:
    """Return an error message for each settings file that cannot be read and does not even mention the hook."""
    return [
        fault
        for name in WIRABLE_HOSTS
        for fault in host_wiring.find_unreadable_settings(load_wiring(name), installation)
    ]


def count_crashes(installation: Installation, *, since: float) -> dict[str, int]:
    """Return hook → how often it failed since then; a policy that could not be loaded is no failure of a hook."""
    lines = read_recent_lines(Path(installation.data_directory) / CRASH_FILE, since)
    return dict(Counter(hook for line in lines if (hook := str(line.get("hook", ""))) != POLICY_FAULT))


def get_wrapper_state(installation: Installation, scopes: Iterable[str]) -> str:
    """Compare the wrappers with this version: `intact`, `changed`, `of another version` or `missing`."""
    expected = {
        path: data for scope in scopes or ("local",) for path, data in installation.get_wrapper_files(scope).items()
    }
    installed = {path: read_file(path) for path in expected}
    launcher = {installation.launcher_path} if "project" in scopes else set()
    if None in installed.values() or any(read_file(path) is None for path in launcher):
        return "missing"
    # The launcher names the interpreter that `init` ran with, which need not be the one that runs now.
    if installed == expected and all(host_wiring.is_on_record(installation, path) for path in launcher):
        return "intact"
    # The native client holds its own name and version as text.
    name_mark, version_mark = f"{NATIVE_WRAPPER} ".encode(), f"{NATIVE_WRAPPER} {__version__}\0".encode()
    clients = [data for path, data in installed.items() if data and os.path.basename(path) == NATIVE_WRAPPER]
    is_other_version = any(name_mark in data and version_mark not in data for data in clients)
    return "of another version" if is_other_version else "changed"
