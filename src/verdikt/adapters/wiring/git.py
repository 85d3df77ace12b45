"""The hooks of a git repository: put in, taken out, looked at. A hook that is there goes on, before ours."""

import os
import shlex
from pathlib import Path

from verdikt.errors import WiringError
from verdikt.model.commit_hook import HOOKS, MARK, is_ours
from verdikt.model.value import Value

KEPT = ".before-verdikt"
"""The ending under which a hook that was there is kept."""

_SCRIPT = """\
#!/bin/sh
{mark}
before="$0{kept}"
{body}
"""

_COMMIT = """\
if [ -x "$before" ]; then
    "$before" "$@" || exit $?
fi
exec {check} --hook {hook} "$@"
"""

_PUSH = """\
input=$(cat)
if [ -x "$before" ]; then
    printf '%s\\n' "$input" | "$before" "$@" || exit $?
fi
printf '%s\\n' "$input" | {check} --hook {hook} "$@"
"""


class HookState(Value):
    """One hook: whether ours is there, and whether another one runs before it or in its place."""

    name: str
    path: str
    installed: bool
    other: bool


def script(hook: str, python: tuple[str, ...]) -> bytes:
    """The hook's text."""
    check = " ".join(map(shlex.quote, (*python, "-m", "verdikt", "git", "check")))
    body = (_PUSH if hook == "pre-push" else _COMMIT).format(check=check, hook=hook)
    return _SCRIPT.format(mark=MARK, kept=KEPT, body=body.rstrip("\n")).encode()


def status(directory: str) -> list[HookState]:
    """How the hooks stand in a hooks directory."""
    found = []
    for name in HOOKS:
        path = os.path.join(directory, name)
        ours = _ours(path)
        found.append(HookState(name, path, ours, os.path.lexists(path + KEPT if ours else path)))
    return found


def install(directory: str, python: tuple[str, ...]) -> list[str]:
    """Puts our hooks there, each before moving aside the one that is there; the paths that changed."""
    changed = []
    try:
        os.makedirs(directory, exist_ok=True)
        for name in HOOKS:
            path = os.path.join(directory, name)
            wanted = script(name, python)
            if not _ours(path) and os.path.lexists(path):
                if os.path.lexists(path + KEPT):
                    raise WiringError(f"`{path}{KEPT}` is there already; move it away and run this again")
                os.rename(path, path + KEPT)
            if not os.path.lexists(path) or Path(path).read_bytes() != wanted:
                _write(path, wanted)
                changed.append(path)
    except OSError as error:
        raise WiringError(f"cannot write the hooks in `{directory}`: {error.strerror}") from error
    return changed


def uninstall(directory: str) -> list[str]:
    """Takes our hooks out and puts back those that were there; the paths that changed."""
    changed = []
    try:
        for state in status(directory):
            if state.installed:
                if state.other:
                    os.replace(state.path + KEPT, state.path)
                else:
                    os.unlink(state.path)
                changed.append(state.path)
    except OSError as error:
        raise WiringError(f"cannot change the hooks in `{directory}`: {error.strerror}") from error
    return changed


def _ours(path: str) -> bool:
    try:
        return is_ours(Path(path).read_text(errors="replace"))
    except OSError:
        return False


def _write(path: str, data: bytes) -> None:
    temporary = f"{path}.{os.getpid()}.tmp"
    with open(temporary, "wb") as file:
        file.write(data)
    os.chmod(temporary, 0o755)
    os.replace(temporary, path)
