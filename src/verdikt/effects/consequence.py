"""What an effect comes to by where it falls: a secret read, a guard touched, something that runs again later."""

from __future__ import annotations

from verdikt.effects.commit_check import is_check, is_checked
from verdikt.effects.name import named
from verdikt.effects.zone import homely, is_hook
from verdikt.model.effect import Certainty, Effect, Zone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdikt.model.effect import Target
    from verdikt.model.facts import Facts

_WRITES = (
    "fs.write", "fs.append", "fs.overwrite", "fs.truncate", "fs.delete", "fs.shred", "fs.move", "fs.link", "fs.chmod", "fs.chown",
)  # fmt: skip
_LOSES = ("fs.delete", "fs.shred", "fs.truncate")
_WHOLE = ("fs.delete", "fs.move", "fs.chmod.tree", "fs.chown.tree")
"""What happens to a directory together with everything in it."""


def of(what: str, effect: Effect, targets: tuple[Target, ...], *, possible: bool = False, note: str = "") -> Effect:
    """Another effect of the same command."""
    entry = named(what)
    return Effect(
        cls=entry.cls,
        what=what,
        targets=targets,
        certainty=Certainty.POSSIBLE if possible else effect.certainty,
        recoverable=entry.recoverable,
        by=effect.by,
        note=note or effect.note,
    )


def consequences(effects: Sequence[Effect], facts: Facts, copies: set[str] | None = None) -> list[Effect]:
    """What follows from effects on paths. `copies` are files into which a secret was put."""
    found: list[Effect] = []
    for effect in effects:
        what = effect.what
        if what in ("fs.read", "disk.read"):
            for target in effect.targets:
                if target.zone is Zone.SECRET:
                    found.append(of("cred.read", effect, tuple(t for t in effect.targets if t.zone is Zone.SECRET)))
                    break
                if copies and target.path in copies:
                    found.append(of("cred.read", effect, effect.targets, note="a copy of a secret"))
                    break
        elif effect.targets and what.startswith(_WRITES):
            found += _of_write(effect, facts)
    return found


def hidden(effects: Sequence[Effect], root: str) -> list[Effect]:
    """Secrets outside the project that program text reads: no program of the project needs that."""
    found = []
    for effect in effects:
        if effect.what == "fs.read" and (secrets := tuple(t for t in effect.targets if is_foreign(t, root))):
            found.append(of("cred.read.hidden", effect, secrets))
    return found


def is_foreign(target: Target, root: str) -> bool:
    """Whether a target is a secret of the person rather than of the project."""
    return target.zone is Zone.SECRET and not (root and target.path.startswith(root + "/"))


def _of_write(effect: Effect, facts: Facts) -> list[Effect]:
    what = effect.what
    guards, hooks, later, secrets = _sorted(effect, facts)
    found = []
    if guards:
        found.append(of("guard.tamper", effect, guards))
    if hooks and not what.startswith("fs.delete"):
        found.append(of("persist.hook", effect, hooks))
    elif hooks:
        found.append(of("git.hook.skip", effect, hooks, note="removes a git hook"))
    if later and not what.startswith(_LOSES):
        found.append(of("persist.write", effect, later))
    if secrets and not what.startswith(_LOSES):
        found.append(of("cred.write", effect, secrets))
    return found


def _sorted(effect: Effect, facts: Facts) -> tuple[tuple[Target, ...], ...]:
    """The targets that are guards, git hooks, run later, secrets."""
    guards: list[Target] = []
    hooks: list[Target] = []
    later: list[Target] = []
    secrets: list[Target] = []
    whole = effect.what.startswith(_WHOLE)
    for target in effect.targets:
        zone = target.zone
        if is_check(target.path, facts):
            guards.append(target)
        elif zone is Zone.GUARD:
            (hooks if is_hook(homely(target.path, facts.home)) else guards).append(target)
        elif whole and _holds_guard(target, facts):
            guards.append(target)
        elif zone is Zone.PERSIST:
            own = target.path.endswith("/.git/config") and is_checked(target.path.removesuffix("/.git/config"), facts)
            (guards if own else later).append(target)
        elif zone is Zone.SECRET:
            known = homely(target.path, facts.home).startswith(("~/.", "/etc"))
            if known or target.state != "absent":
                secrets.append(target)
    return tuple(guards), tuple(hooks), tuple(later), tuple(secrets)


def _holds_guard(target: Target, facts: Facts) -> bool:
    """Whether something that watches over the agent lies below a directory.

    Not asked of the machine's own places and of a whole home: that they would be lost says more than what lies in them.
    """
    path = target.path
    if not path or target.zone is Zone.SYSTEM or path == facts.home:
        return False
    below = path.rstrip("/") + "/"
    return any(place.startswith(below) and facts.path(place, git=False).exists for place in facts.guarded)
