"""What is no file and only this session or this machine depends on: a local cluster, volumes, worktrees, registries.

The effects of an action are gone through in order, with what the session remembers: `docker volume create x` and a
later deletion of what is in `x` may stand in one text or in two calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from verdikt.effects.effect_catalog import find_entry
from verdikt.effects.host import is_local_address
from verdikt.effects.installation_names import is_for_trials
from verdikt.knowledge import find_role_words, join_role
from verdikt.model.effect import Effect, Effects, Target, Zone
from verdikt.model.lazy_regex import compile_lazily
from verdikt.model.session_state import value_key

if TYPE_CHECKING:
    from verdikt.model.action import Action
    from verdikt.model.facts import Facts

RESOURCES_KEY = value_key("trail", "resources")
"""What the session made or chose: kind → names."""
_MAX_NAMES = 12
_RELEVANT_PREFIXES = ("k8s.", "container.", "git.worktree", "git.branch.delete")
_CONTEXT_CHANGERS = join_role("context_changer")
_USE_CONTEXT = compile_lazily(rf"^\S+ (?:-\S+ )*config (?:use-context|use) \S+$|^(?:{_CONTEXT_CHANGERS}) \S+$")
_CLUSTER_STARTS = (f"{name} {verb}" for name, verbs in find_role_words("cluster_start").items() for verb in verbs)
_START_CLUSTER = compile_lazily(rf"^(?:{'|'.join(sorted(_CLUSTER_STARTS))})\b")
_OTHER_CLUSTER = compile_lazily(r"(?i)--(?:context|kubeconfig|server|cluster|token|kube-context)\b|\s-s\s")
_CHANGES_KUBECONFIG = compile_lazily(
    rf"(?i)kubeconfig|get-credentials|\.kube/|{join_role('context_changer', 'namespace_changer')}|config set-context"
)
_CREATE_VOLUME = compile_lazily(
    r"^\S+ (?:--?[\w-]+[ =]\S+ )?volume create\b(?!.*(?:device=|bind|--driver[ =](?!local\b)|-d (?!local\b)))"
)
_ADD_WORKTREE = compile_lazily(rf"^(?:{join_role('work_tree_changer')}) (?:-\S+ \S+ )?worktree add\b")
_MAX_ENGINE_WORDS = 4
_SETTINGS_FILE = compile_lazily(r"--kubeconfig[ =](\S+)")
_NEW_BRANCH = compile_lazily(r"\s-b\s+(\S+)")
# A container without a volume keeps nothing of before, and its data go with it.
_PUBLISHED_PORT = compile_lazily(r"\s(?:-p|--publish)[ =]?(?:127\.0\.0\.1:|localhost:)?(\d+):(\d+)\b")
_HAS_VOLUME = compile_lazily(r"\s(?:-v|--volume|--mount|--volumes-from|-H|--host|--context)\b")
_NAMED_PORT = compile_lazily(r"(?:\s(?:-p|-P|--port)[ =]?|@?\b(?:localhost|127\.0\.0\.1):)(\d+)\b")
_NAMED_HOST = compile_lazily(r"(?:\s(?:-h|--host)[ =]?|//(?:[^/@\s]*@)?)([^\s:/]+)")
_LOCAL_CHANGES = ("k8s.write", "k8s.delete", "k8s.exec", "k8s.shell", "k8s.drain")
_LOSSES = ("fs.delete", "fs.delete.tree", "fs.truncate", "fs.overwrite")
# Work that a worktree may come to hold; a build, an installation and a test run leave only what they make again.
_WORK_PREFIXES = (
    "fs.write",
    "fs.overwrite",
    "fs.append",
    "fs.move",
    "fs.link",
    "git.write",
    "git.amend",
    "git.history",
)

_OWN_WRITES = ("fs.write", "fs.append")
_OUTER_ZONES = (Zone.HOME, Zone.OUTSIDE)
_CONTENT_PREFIXES = ("fs.write", "fs.overwrite", "fs.append", "fs.move", "fs.link")


def settle_local_resources(effects: Effects, facts: Facts, action: Action) -> Effects:
    """Return the effects, with those on what only the session uses as what they are."""
    if not _is_concerned(effects, facts):
        return effects
    resources = _LocalResources(facts, action)
    return Effects(tuple(resources.settle(effect) for effect in effects.items))


def note_local_resources(effects: Effects, facts: Facts, action: Action) -> dict[str, Any]:
    """Return what the memory keeps of the resources that an action makes or chooses."""
    if not _is_concerned(effects, facts):
        return {}
    resources = _LocalResources(facts, action)
    for effect in effects.items:
        resources.settle(effect)
    rows = {kind: names[-_MAX_NAMES:] for kind, names in resources.names.items() if names}
    return {RESOURCES_KEY: rows or None} if rows != (facts.recall(RESOURCES_KEY) or {}) else {}


def _is_concerned(effects: Effects, facts: Facts) -> bool:
    for effect in effects.items:
        if effect.what.startswith(_RELEVANT_PREFIXES) or (effect.what == "git.write" and " worktree add" in effect.by):
            return True
    # What is written into a worktree of the session, or deleted from a volume, names no such effect.
    return facts.recall(RESOURCES_KEY) is not None


class _LocalResources:
    """The remembered resources while the effects of one action are gone through."""

    def __init__(self, facts: Facts, action: Action) -> None:
        self._facts = facts
        remembered = facts.recall(RESOURCES_KEY)
        rows = remembered if isinstance(remembered, Mapping) else {}
        self.names: dict[str, list[str]] = {kind: list(names) for kind, names in rows.items()}
        self._text = action.command if action.command else ""

    def settle(self, effect: Effect) -> Effect:
        """Take in what an effect makes or chooses, and return it as it is in the light of what was before."""
        what = effect.what
        if what.startswith("k8s.") or "kube" in effect.by or "get-credentials" in effect.by:
            return self._settle_cluster(effect)
        if what == "container.run" and not _HAS_VOLUME.search(effect.by):
            published = _PUBLISHED_PORT.findall(effect.by)
            self._add("ports", *(port for port, _ in published))
            # A variable may send a client elsewhere, but hardly to a port that is not the usual one.
            self._add("unusual ports", *(port for port, inner in published if port != inner))
        elif what.startswith("db.") and self._means_own_server(effect.by):
            return _replace_what(effect, "db.write")
        if what == "container.push" and effect.targets and all(_is_local_image(target) for target in effect.targets):
            return _replace_what(effect, "container.build")
        # Creating a volume that exists does nothing, so what is called so has to be for a trial as well.
        if what == "container.read" and _CREATE_VOLUME.match(effect.by) and is_for_trials(effect.by):
            self._add("volumes", _prefix_engine(effect, effect.by.split()[-1]))
        elif what == "container.volume.remove" or what in _LOSSES:
            return self._settle_volumes(effect)
        elif what == "git.write" and _ADD_WORKTREE.match(effect.by):
            self._add_worktree(effect)
            return effect
        elif self._removes_own_worktree(effect):
            return _replace_what(effect, "git.write")
        if what == "git.write" and " worktree remove " in f"{effect.by} ":
            return effect
        if what.startswith(_WORK_PREFIXES) and self.names.get("worktrees"):
            self._drop_used_worktrees(effect)
        if what.startswith(_CONTENT_PREFIXES) and self.names.get("kubeconfigs"):
            written = {target.path for target in effect.targets} | {target.text for target in effect.targets}
            self.names["kubeconfigs"] = [path for path in self.names["kubeconfigs"] if path not in written]
        return self._settle_writes(effect) if what in _OWN_WRITES else effect

    def _add_worktree(self, effect: Effect) -> None:
        """Remember a new worktree, the branch that is made with it, and its place where nothing was before."""
        for target in effect.targets:
            self._add("worktrees", target.path)
            if target.path and self._facts.path(target.path, git=False).kind == "absent":
                self._add("work places", target.path)
        self._add("branches", *_NEW_BRANCH.findall(effect.by))

    def _settle_writes(self, effect: Effect) -> Effect:
        """Return a write into a worktree that the session made as one into the project, which it is a part of."""
        places = tuple(f"{place}/" for place in self.names.get("work places", ()))
        if not places or not all(t.zone in _OUTER_ZONES and t.path.startswith(places) for t in effect.targets):
            return effect
        return effect._replace(targets=tuple(target._replace(zone=Zone.PROJECT) for target in effect.targets))

    def _removes_own_worktree(self, effect: Effect) -> bool:
        """Return whether a worktree of the session goes that holds no work, or the branch that was made with it."""
        if effect.what == "git.worktree.remove":
            return self._has_all("worktrees", [target.path for target in effect.targets])
        return effect.what == "git.branch.delete" and self._has_all("branches", [t.text for t in effect.targets])

    def _means_own_server(self, command: str) -> bool:
        """Return whether a client talks to a server in a container that the session started."""
        hosts = _NAMED_HOST.findall(command)
        ports = _NAMED_PORT.findall(command)
        is_here = all(is_local_address(name) for name in hosts) and "HOST" not in self._text
        return is_here and self._has_all("ports" if hosts else "unusual ports", ports)

    def _settle_cluster(self, effect: Effect) -> Effect:
        if (named := _SETTINGS_FILE.search(effect.by)) is not None:
            rest = effect.by.replace(named[0], "")
            if _START_CLUSTER.match(effect.by):
                self._add("kubeconfigs", named[1])
                return effect
            is_own = named[1] in self.names.get("kubeconfigs", ()) and named[0] in self._text
            if is_own and not _OTHER_CLUSTER.search(rest):
                return _replace_what(effect, "k8s.local") if effect.what.startswith(_LOCAL_CHANGES) else effect
        if _START_CLUSTER.match(effect.by) or (effect.what == "k8s.read" and _USE_CONTEXT.match(effect.by)):
            # The record of the program says which contexts are of this machine: those of others are `k8s.context`.
            self.names["context"] = ["local"]
        elif _CHANGES_KUBECONFIG.search(effect.by) or effect.what == "k8s.context":
            self.names.pop("context", None)
            if "kubeconfigs" in self.names and effect.what != "k8s.read":
                self.names.pop("kubeconfigs")
        elif effect.what.startswith(_LOCAL_CHANGES) and self.names.get("context") and self._is_plain(effect):
            is_whole = effect.what.startswith(("k8s.delete.all", "k8s.delete.data"))
            return effect._replace(recoverable=True) if is_whole else _replace_what(effect, "k8s.local")
        return effect

    def _is_plain(self, effect: Effect) -> bool:
        """Return whether a command means the chosen cluster: it stands in the text itself, and nothing says another."""
        is_written = " ".join(effect.by.split()[:3]) in self._text
        return is_written and "KUBECONFIG" not in self._text and not _OTHER_CLUSTER.search(effect.by)

    def _settle_volumes(self, effect: Effect) -> Effect:
        volumes = self.names.get("volumes", ())
        names = [target.text.split("/")[0] for target in effect.targets if not target.path]
        if effect.what == "container.volume.remove":
            names = [_prefix_engine(effect, word) for name in names for word in name.split()]
        if not volumes or not names or len(names) < len(effect.targets) or any(name not in volumes for name in names):
            return effect
        if effect.what == "container.volume.remove":
            return _replace_what(effect, "container.remove")
        targets = tuple(target._replace(zone=Zone.TEMP, state="own") for target in effect.targets)
        return effect._replace(targets=targets, recoverable=True)

    def _drop_used_worktrees(self, effect: Effect) -> None:
        """Forget worktrees that now hold work: files written there, or a git command in a text that names one."""
        if effect.what.startswith("git."):
            self.names["branches"] = []
        paths = [target.path for target in effect.targets if target.path]
        self.names["worktrees"] = [
            place
            for place in self.names["worktrees"]
            if not any(path == place or path.startswith(place + "/") for path in paths)
            and (effect.what.startswith("fs.") or place[place.rfind("/") + 1 :] not in self._text)
        ]

    def _add(self, kind: str, *names: str) -> None:
        known = self.names.setdefault(kind, [])
        known += [name for name in names if name and name not in known]

    def _has_all(self, kind: str, names: list[str]) -> bool:
        known = self.names.get(kind, ())
        return bool(names) and all(name in known for name in names)


def _prefix_engine(effect: Effect, name: str) -> str:
    """Return the name of a volume, after the engine where the command says which: `--context dind a`."""
    words = effect.by.partition(" volume ")[0].split()
    return " ".join([*words[1:], name]) if 1 < len(words) < _MAX_ENGINE_WORDS else name


def _replace_what(effect: Effect, what: str) -> Effect:
    entry = find_entry(what)
    return effect._replace(what=what, cls=entry.cls, recoverable=entry.recoverable)


def _is_local_image(target: Target) -> bool:
    """Return whether an image is named after a registry on this machine: `localhost:5000/app`."""
    registry, slash, _ = target.text.removeprefix("docker://").partition("/")
    return bool(slash) and is_local_address(registry)
