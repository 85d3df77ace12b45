"""Derive effects from where another effect falls: a secret read, a guard file changed, a file that runs again later.

The git hooks of verdikt itself count as guard files: what keeps git from running them switches verdikt off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from verdikt.effects.effect_catalog import find_entry
from verdikt.effects.plain_settings import PLAIN_SETTINGS
from verdikt.effects.target import abbreviate_home, is_agent_extension, is_foreign_home, is_git_hook, is_secret
from verdikt.model.effect import Certainty, Effect, Zone
from verdikt.model.git_hook import GIT_HOOKS, is_verdikt_hook
from verdikt.model.lazy_regex import compile_lazily
from verdikt.model.path_set import PathSet, PathSetKind, is_any_file

if TYPE_CHECKING:
    from verdikt.model.effect import Target
    from verdikt.model.facts import Facts
    from verdikt.shell.command import Command

_WRITE_PREFIXES = (
    "fs.write",
    "fs.append",
    "fs.overwrite",
    "fs.truncate",
    "fs.delete",
    "fs.shred",
    "fs.move",
    "fs.link",
    "fs.install",
    "fs.chmod",
    "fs.chown",
)
_READ_EFFECTS = ("fs.read", "disk.read")
DERIVING_PREFIXES = (*_READ_EFFECTS, *_WRITE_PREFIXES)
"""How the names of effects begin from which others may follow, by where they fall."""
_CONTENT_PREFIXES = ("fs.write", "fs.append", "fs.overwrite", "fs.link", "fs.install")
"""Effects that put something where there was nothing, or something else."""
_PYTHON_STARTUP = (".pth", "/sitecustomize.py", "/usercustomize.py")
_HOOK_ENDINGS = (*GIT_HOOKS, "hooks", "_", ".husky")
"""How the paths end that `is_commit_check` looks at, besides patterns."""
_TELLING_ENDINGS = (*_HOOK_ENDINGS, "/mcp.json")
_PLAIN_CHANGES = frozenset(("fs.write", "fs.append", "fs.chmod"))
_EXTENSION_ZONES = (Zone.PROJECT, Zone.HOME, Zone.SECRET)
_LOSS_PREFIXES = ("fs.delete", "fs.shred", "fs.truncate")
_TREE_PREFIXES = ("fs.delete", "fs.move", "fs.chmod.tree", "fs.chown.tree")
"""Effects on a directory that reach everything below it."""
_SPLICED_WORD = compile_lazily(r"""[\w.](?:''|""|\\(?=[\w.]))[\w.]|[\w.]'[\w.]+'|[\w.]"[\w.]+"[\w.]""")
_HOOKS_PATH = compile_lazily(r"(?im)^\s*hookspath\s*=\s*\"?([^\"\n#;]+)")


def derive_effect(
    what: str, origin: Effect, targets: Sequence[Target], *, possible: bool = False, note: str = ""
) -> Effect:
    """Return another effect of the command that had `origin`."""
    entry = find_entry(what)
    return Effect(
        cls=entry.cls,
        what=what,
        targets=tuple(targets),
        certainty=Certainty.POSSIBLE if possible else origin.certainty,
        recoverable=entry.recoverable,
        by=origin.by,
        note=note or origin.note,
    )


def derive_zone_effects(effects: Sequence[Effect], facts: Facts, secret_copies: set[str] | None = None) -> list[Effect]:
    """Return what follows from effects on paths; `secret_copies` are files into which a secret was put."""
    derived: list[Effect] = []
    for effect in effects:
        what = effect.what
        if what in _READ_EFFECTS:
            for target in effect.targets:
                # An ordinary file of the project is a secret only if this session made it a copy of one.
                if (target.zone is not Zone.PROJECT or facts.secret_copies) and holds_secret(target, facts):
                    secrets = tuple(t for t in effect.targets if holds_secret(t, facts))
                    derived.append(derive_effect("cred.read", effect, secrets))
                    break
                if target.zone is Zone.SYSTEM and is_foreign_home(target.path, (facts.home, facts.project_root)):
                    note = "the keys of others are in their homes"
                    derived.append(derive_effect("cred.read", effect, (target,), possible=True, note=note))
                    break
                if secret_copies and target.path in secret_copies:
                    is_upload = any(other.what == "cloud.write" and other.by == effect.by for other in effects)
                    what = "cred.send" if is_upload else "cred.read"
                    derived.append(derive_effect(what, effect, effect.targets, note="a copy of a secret"))
                    break
        elif effect.targets and what.startswith(_WRITE_PREFIXES):
            derived += _derive_write_effects(effect, facts)
    return derived


def is_plain_access(effect: Effect) -> bool:
    """Return whether an effect reads or changes ordinary files of the project, so that nothing follows from it.

    It may still be a secret that was copied there before.
    """
    what = effect.what
    if what == "fs.read":
        for target in effect.targets:  # noqa: SIM110  most commands of an agent come through here
            if target.zone is not Zone.PROJECT:
                return False
        return True
    if what not in _PLAIN_CHANGES:
        return False
    for target in effect.targets:
        path = target.path
        if target.zone is not Zone.PROJECT or path.endswith(_TELLING_ENDINGS) or "/." in path:
            return False
        if "*" in path or "?" in path or "[" in path:
            return False
    return True


def holds_secret(target: Target, facts: Facts) -> bool:
    """Return whether a target is a secret, or a copy of one that this session made.

    A secret may be among the files that guard an agent: `~/.codex/auth.json`.
    """
    return (
        target.zone is Zone.SECRET
        or (target.zone is Zone.GUARD and is_secret(abbreviate_home(target.path, facts.home)))
        or target.path in facts.secret_copies
    )


def derive_hidden_reads(effects: Sequence[Effect], project_root: str) -> list[Effect]:
    """Return `cred.read.hidden` for secrets outside the project that program text reads.

    No program of the project needs those, and a command line would have shown the read.
    """
    derived = []
    for effect in effects:
        if effect.what == "fs.read" and (
            secrets := tuple(t for t in effect.targets if is_foreign_secret(t, project_root))
        ):
            derived.append(derive_effect("cred.read.hidden", effect, secrets))
    return derived


def derive_spliced_reads(effects: Sequence[Effect], command: Command, project_root: str) -> list[Effect]:
    """Return `cred.read.hidden` for secrets outside the project whose name is spliced together."""
    # To a shell `~/.s''sh` is `~/.ssh`: the quotes can only serve to be overlooked. `C:\` is a drive, no splice.
    if not any(
        _SPLICED_WORD.search(word.raw) for word in command.argv if word.raw != word.text and word.raw[1:3] != ":\\"
    ):
        return []
    return [
        derive_effect("cred.read.hidden", effect, effect.targets, note="its name is taken apart")
        for effect in effects
        if effect.what == "cred.read" and any(is_foreign_secret(target, project_root) for target in effect.targets)
    ]


def is_foreign_secret(target: Target, project_root: str) -> bool:
    """Return whether a target is a secret of the person rather than of the project."""
    return target.zone is Zone.SECRET and not (project_root and target.path.startswith(project_root + "/"))


def _derive_write_effects(effect: Effect, facts: Facts) -> list[Effect]:
    what = effect.what
    guards, hooks, startup_files, secrets = _group_targets(effect, facts)
    derived = []
    if guards:
        derived.append(derive_effect("guard.tamper", effect, guards))
    if hooks and not what.startswith("fs.delete"):
        derived.append(derive_effect("persist.hook", effect, hooks))
    elif hooks:
        derived.append(derive_effect("git.hook.skip", effect, hooks, note="removes a git hook"))
    if what.startswith(_CONTENT_PREFIXES):
        # An agent takes commands, skills, other agents or servers from these.
        targets = [t for t in effect.targets if t.zone in _EXTENSION_ZONES and is_agent_extension(t.path, facts.home)]
        if targets:
            derived.append(derive_effect("guard.config", effect, targets, note="says what an agent runs, or starts"))
    if startup_files and not what.startswith(_LOSS_PREFIXES):
        # What only the programs of one project load is looked at by the person, as no login and no boot runs it.
        is_own = all(_is_project_startup(target.path, facts.project_root) for target in startup_files)
        derived.append(derive_effect("persist.write", effect, startup_files, possible=is_own))
    if secrets and not what.startswith(_LOSS_PREFIXES):
        derived.append(derive_effect("cred.write", effect, secrets))
    return derived


def _is_project_startup(path: str, project_root: str) -> bool:
    """Return whether only Python programs that run in the project load a file by themselves."""
    return bool(project_root) and path.startswith(f"{project_root}/") and path.endswith(_PYTHON_STARTUP)


def _group_targets(effect: Effect, facts: Facts) -> tuple[list[Target], list[Target], list[Target], list[Target]]:
    """Return the targets that are guard files, git hooks, start-up files and secrets."""
    guards: list[Target] = []
    hooks: list[Target] = []
    startup_files: list[Target] = []
    secrets: list[Target] = []
    reaches_below = effect.what.startswith(_TREE_PREFIXES)
    for target in effect.targets:
        path, zone = target.path, target.zone
        has_wildcard = "*" in path or "?" in path or "[" in path
        if (has_wildcard or path.endswith(_HOOK_ENDINGS)) and is_commit_check(path, facts):
            guards.append(target)
        elif zone is Zone.GUARD:
            (hooks if is_git_hook(abbreviate_home(path, facts.home)) else guards).append(target)
        elif (has_wildcard or reaches_below) and _holds_guard(target, facts, below=reaches_below):
            guards.append(target)
        elif zone is Zone.PERSIST:
            # `.git/config` can point `core.hooksPath` elsewhere; where verdikt checks commits, that switches it off.
            is_guard = path.endswith("/.git/config") and has_commit_check(path.removesuffix("/.git/config"), facts)
            (guards if is_guard else startup_files).append(target)
        elif zone is Zone.SECRET:
            # A new `.env` in the project, or one of the session's own, changes no credential; a path in a home or
            # `/etc` counts even if it is absent.
            well_known = abbreviate_home(path, facts.home).startswith(("~/.", "/etc"))
            is_new = target.state == "absent" or facts.is_created_in_session(path)
            if well_known or not (is_new or _keeps_secrets(effect, path, facts.project_root)):
                secrets.append(target)
    return guards, hooks, startup_files, secrets


def _keeps_secrets(effect: Effect, path: str, project_root: str) -> bool:
    """Return whether a file of the project's variables only gets more of them, or others that hold no secret."""
    is_variable_file = bool(project_root) and path.startswith(f"{project_root}/") and "/.env" in path
    return is_variable_file and (effect.what == "fs.append" or effect.note == PLAIN_SETTINGS)


def _holds_guard(target: Target, facts: Facts, *, below: bool) -> bool:
    """Return whether a pattern matches an existing guard file or, with `below`, a directory holds one.

    Not asked of the machine's own directories and of a whole home: losing those says more than losing a file in them.
    """
    path = target.path
    if not path or target.zone is Zone.SYSTEM or path == facts.home:
        return False
    if "*" in path or "?" in path or "[" in path:
        # What a change of unknown files does to the guard files is put back.
        if is_any_file(path):
            return False
        path_set = PathSet(PathSetKind.GLOB, path, below=below)
    elif below and facts.has_guarded_below(path):
        path_set = PathSet(PathSetKind.TREE, path)
    else:
        return False
    return any(facts.path(place, git=False).exists for place in facts.find_guarded(path_set))


def is_commit_check(path: str, facts: Facts) -> bool:
    """Return whether the path is a git hook of verdikt, or a directory of hooks that holds one."""
    name = path[path.rfind("/") + 1 :]
    if name in GIT_HOOKS:
        return is_verdikt_hook(facts.text(path))
    if "*" in name or "?" in name or "[" in name:
        directory = path.removesuffix(f"/{name}").removesuffix("/**")
        return any(fnmatchcase(hook, name) and is_commit_check(f"{directory}/{hook}", facts) for hook in GIT_HOOKS)
    # Husky keeps the hooks that git runs in `.husky/_`.
    if name == ".husky":
        return is_commit_check(f"{path}/_", facts)
    return (name == "_" or name.endswith("hooks")) and any(
        is_verdikt_hook(facts.text(f"{path}/{hook}")) for hook in GIT_HOOKS
    )


def has_commit_check(directory: str, facts: Facts) -> bool:
    """Return whether the repository around a directory runs verdikt's hooks."""
    root = facts.git(directory).root or facts.project_root
    return any(
        is_verdikt_hook(facts.text(f"{place}/{hook}"))
        for place in _find_hook_directories(root, facts)
        for hook in GIT_HOOKS
    )


def _find_hook_directories(root: str, facts: Facts) -> Iterator[str]:
    """Yield where git looks for hooks, and where it would look without `core.hooksPath`."""
    git = f"{root}/.git"
    # In a work tree `.git` is a file that names the main repository, whose hooks apply.
    link = facts.text(git)
    if link and link.startswith("gitdir:"):
        git = link.removeprefix("gitdir:").strip().partition("/worktrees/")[0]
    yield f"{git}/hooks"
    for settings in (f"{git}/config", f"{facts.home}/.gitconfig"):
        for value in _HOOKS_PATH.findall(facts.text(settings) or ""):
            path = str(value).strip().rstrip("/")
            yield path.replace("~", facts.home, 1) if path.startswith(("~", "/")) else f"{root}/{path}"
