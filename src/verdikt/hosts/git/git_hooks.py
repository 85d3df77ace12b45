"""Installing, removing and inspecting the hooks of a git repository. A hook that is already there runs before ours."""

import os
import shlex
from dataclasses import dataclass
from pathlib import Path

from verdikt.errors import WiringError
from verdikt.model.git_hook import GIT_HOOKS, HOOK_MARKER, is_verdikt_hook
from verdikt.observe.atomic_file import write_atomically

BACKUP_SUFFIX = ".before-verdikt"
"""The suffix of a hook that was there before ours."""

_SCRIPT_TEMPLATE = """\
#!/bin/sh
{mark}
{home}before="$0{kept}"
{body}
"""

_COMMIT_BODY = """\
if [ -x "$before" ]; then
    "$before" "$@" || exit $?
fi
exec {check} --hook {hook} "$@"
"""

# git tells this hook on stdin what is pushed, and both hooks must read it.
_PUSH_BODY = """\
input=$(cat)
if [ -x "$before" ]; then
    printf '%s\\n' "$input" | "$before" "$@" || exit $?
fi
printf '%s\\n' "$input" | {check} --hook {hook} "$@"
"""


@dataclass(frozen=True, slots=True)
class GitHookState:
    """One hook: whether it is ours, and whether another one runs before it or in its place."""

    name: str
    path: str
    is_installed: bool
    has_other: bool


def render_script(hook: str, python: tuple[str, ...], data_directory: str = "") -> bytes:
    """Return the text of a hook, which uses this data directory whatever the variables of an agent's session say."""
    home = f"VERDIKT_HOME={shlex.quote(data_directory)}\nexport VERDIKT_HOME\n" if data_directory else ""
    check = " ".join(map(shlex.quote, (*python, "-m", "verdikt", "git", "check")))
    body = (_PUSH_BODY if hook == "pre-push" else _COMMIT_BODY).format(check=check, hook=hook)
    return _SCRIPT_TEMPLATE.format(mark=HOOK_MARKER, home=home, kept=BACKUP_SUFFIX, body=body.rstrip("\n")).encode()


def read_hook_states(directory: str) -> list[GitHookState]:
    """Return the state of each hook in a hooks directory."""
    states = []
    for name in GIT_HOOKS:
        path = os.path.join(directory, name)
        is_installed = _is_own_hook(path)
        other_path = path + BACKUP_SUFFIX if is_installed else path
        states.append(GitHookState(name, path, is_installed, os.path.lexists(other_path)))
    return states


def install_hooks(directory: str, python: tuple[str, ...], data_directory: str = "") -> list[str]:
    """Install our hooks, moving aside those that are there. Return the paths that changed."""
    changed_paths = []
    try:
        os.makedirs(directory, exist_ok=True)
        for name in GIT_HOOKS:
            path = os.path.join(directory, name)
            script = render_script(name, python, data_directory)
            if not _is_own_hook(path) and os.path.lexists(path):
                # Renaming over it would lose a hook that was set aside earlier.
                if os.path.lexists(path + BACKUP_SUFFIX):
                    raise WiringError(f"`{path}{BACKUP_SUFFIX}` is there already; move it away and run this again")
                os.rename(path, path + BACKUP_SUFFIX)
            if not os.path.lexists(path) or Path(path).read_bytes() != script:
                _write_script(path, script)
                changed_paths.append(path)
    except OSError as error:
        raise WiringError(f"cannot write the hooks in `{directory}`: {error.strerror}") from error
    return changed_paths


def uninstall_hooks(directory: str) -> list[str]:
    """Remove our hooks and restore those that were there. Return the paths that changed."""
    changed_paths = []
    try:
        for state in read_hook_states(directory):
            if state.is_installed:
                if state.has_other:
                    os.replace(state.path + BACKUP_SUFFIX, state.path)
                else:
                    os.unlink(state.path)
                changed_paths.append(state.path)
    except OSError as error:
        raise WiringError(f"cannot change the hooks in `{directory}`: {error.strerror}") from error
    return changed_paths


def _is_own_hook(path: str) -> bool:
    try:
        return is_verdikt_hook(Path(path).read_text(errors="replace"))
    except OSError:
        return False


def _write_script(path: str, data: bytes) -> None:
    # git may run the hook at any moment, so it is replaced in one step.
    write_atomically(path, data, mode=0o755)
