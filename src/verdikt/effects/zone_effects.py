"""What an effect comes to by where it falls: a secret read, a guard touched, something that runs again later."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from verdikt.effects.commit_check import has_commit_check, is_commit_check
from verdikt.effects.effect_catalog import find_entry
from verdikt.effects.zone import abbreviate_home, is_git_hook
from verdikt.model.effect import Certainty, Effect, Zone

if TYPE_CHECKING:
    from verdikt.model.effect import Target
    from verdikt.model.facts import Facts

_WRITE_PREFIXES = (
    "fs.write", "fs.append", "fs.overwrite", "fs.truncate", "fs.delete", "fs.shred", "fs.move", "fs.link", "fs.chmod", "fs.chown",
)  # fmt: skip
_LOSS_PREFIXES = ("fs.delete", "fs.shred", "fs.truncate")
_TREE_PREFIXES = ("fs.delete", "fs.move", "fs.chmod.tree", "fs.chown.tree")
"""What happens to a directory together with everything in it."""


def derive_effect(
    what: str, origin: Effect, targets: tuple[Target, ...], *, possible: bool = False, note: str = ""
) -> Effect:
    """Another effect of the same command."""
    entry = find_entry(what)
    return Effect(
        cls=entry.cls,
        what=what,
        targets=targets,
        certainty=Certainty.POSSIBLE if possible else origin.certainty,
        recoverable=entry.recoverable,
        by=origin.by,
        note=note or origin.note,
    )


def derive_zone_effects(effects: Sequence[Effect], facts: Facts, secret_copies: set[str] | None = None) -> list[Effect]:
    """What follows from effects on paths. `copies` are files into which a secret was put."""
    found: list[Effect] = []
    for effect in effects:
        what = effect.what
        if what in ("fs.read", "disk.read"):
            for target in effect.targets:
                if target.zone is Zone.SECRET:
                    found.append(
                        derive_effect("cred.read", effect, tuple(t for t in effect.targets if t.zone is Zone.SECRET))
                    )
                    break
                if secret_copies and target.path in secret_copies:
                    found.append(derive_effect("cred.read", effect, effect.targets, note="a copy of a secret"))
                    break
        elif effect.targets and what.startswith(_WRITE_PREFIXES):
            found += _derive_write_effects(effect, facts)
    return found


def derive_hidden_reads(effects: Sequence[Effect], project_root: str) -> list[Effect]:
    """Secrets outside the project that program text reads: no program of the project needs that."""
    found = []
    for effect in effects:
        if effect.what == "fs.read" and (
            secrets := tuple(t for t in effect.targets if is_foreign_secret(t, project_root))
        ):
            found.append(derive_effect("cred.read.hidden", effect, secrets))
    return found


def is_foreign_secret(target: Target, project_root: str) -> bool:
    """Whether a target is a secret of the person rather than of the project."""
    return target.zone is Zone.SECRET and not (project_root and target.path.startswith(project_root + "/"))


def _derive_write_effects(effect: Effect, facts: Facts) -> list[Effect]:
    what = effect.what
    guards, hooks, later, secrets = _group_targets(effect, facts)
    found = []
    if guards:
        found.append(derive_effect("guard.tamper", effect, guards))
    if hooks and not what.startswith("fs.delete"):
        found.append(derive_effect("persist.hook", effect, hooks))
    elif hooks:
        found.append(derive_effect("git.hook.skip", effect, hooks, note="removes a git hook"))
    if later and not what.startswith(_LOSS_PREFIXES):
        found.append(derive_effect("persist.write", effect, later))
    if secrets and not what.startswith(_LOSS_PREFIXES):
        found.append(derive_effect("cred.write", effect, secrets))
    return found


def _group_targets(effect: Effect, facts: Facts) -> tuple[tuple[Target, ...], ...]:
    """The targets that are guards, git hooks, run later, secrets."""
    guards: list[Target] = []
    hooks: list[Target] = []
    later: list[Target] = []
    secrets: list[Target] = []
    whole = effect.what.startswith(_TREE_PREFIXES)
    for target in effect.targets:
        zone = target.zone
        if is_commit_check(target.path, facts):
            guards.append(target)
        elif zone is Zone.GUARD:
            (hooks if is_git_hook(abbreviate_home(target.path, facts.home)) else guards).append(target)
        elif whole and _holds_guard(target, facts):
            guards.append(target)
        elif zone is Zone.PERSIST:
            own = target.path.endswith("/.git/config") and has_commit_check(
                target.path.removesuffix("/.git/config"), facts
            )
            (guards if own else later).append(target)
        elif zone is Zone.SECRET:
            known = abbreviate_home(target.path, facts.home).startswith(("~/.", "/etc"))
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
    return any(place.startswith(below) and facts.path(place, git=False).exists for place in facts.guarded_paths)
