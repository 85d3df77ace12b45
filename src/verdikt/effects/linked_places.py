"""Links and mounts that lead elsewhere: what is deleted through one is what lies at its other end.

`rm link` takes the link away; `rm -rf link/`, `rm -rf link/*` and `find link/ -delete` go through it. The effects of an
action are gone through in order, with what the session remembers, so both may stand in one text or in two calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from verdikt.effects.dataflow import DELETE_EFFECTS
from verdikt.effects.target import TargetResolver, is_recoverable
from verdikt.effects.zone_effects import derive_zone_effects
from verdikt.model.effect import Effect, Effects, Target
from verdikt.model.lazy_regex import compile_lazily
from verdikt.model.path_set import is_within
from verdikt.model.session_state import value_key

if TYPE_CHECKING:
    from verdikt.model.facts import Facts

LINKS_KEY = value_key("trail", "links")
"""Path of a link, or of a mount with a slash at its end → what it leads to."""
_MAX_LINKS = 12
_ORIGIN = compile_lazily(r"^leads out of the project, to (.+)$")
_BIND = compile_lazily(r"\s(?:--r?bind\b|-B\b|-o\s*\S*\br?bind\b|--options[ =]\S*\br?bind\b)")
LINKING_EFFECTS = ("fs.link.out", "sys.mount")
_LOSSES = DELETE_EFFECTS | {"fs.truncate", "fs.overwrite", "fs.chmod.tree", "fs.chown.tree"}


def follow_links(effects: Effects, facts: Facts) -> Effects:
    """Return the effects, with what is lost through a link or a mount as a loss at its other end.

    Without a remembered link (`LINKS_KEY`) and without `LINKING_EFFECTS` they stay as they are.
    """
    if not any(effect.what in _LOSSES for effect in effects.items):
        return effects
    remembered = facts.recall(LINKS_KEY)
    links: dict[str, str] = dict(remembered) if isinstance(remembered, Mapping) else {}
    resolver = TargetResolver(facts)
    followed: list[Effect] = []
    for effect in effects.items:
        links |= _iter_links(effect, resolver)
        targets = tuple(_follow(target, links, resolver) for target in effect.targets) if links else effect.targets
        if effect.what not in _LOSSES or targets == effect.targets:
            followed.append(effect)
            continue
        is_lost = not all(map(is_recoverable, targets))
        moved = effect._replace(targets=targets, recoverable=not is_lost, note="by way of a link or a mount")
        followed += [moved, *derive_zone_effects([moved], facts)]
    return Effects(tuple(followed))


def note_links(effects: Effects, facts: Facts) -> dict[str, Any]:
    """Return what the memory keeps of the links and mounts that this action makes, and of those that it removes."""
    before = facts.recall(LINKS_KEY)
    links: dict[str, str] = dict(before) if isinstance(before, Mapping) else {}
    resolver = TargetResolver(facts)
    for effect in effects.items:
        if effect.what in DELETE_EFFECTS:
            for target in effect.targets:
                links.pop(target.path, None)
        links |= _iter_links(effect, resolver)
    links = dict(list(links.items())[-_MAX_LINKS:])
    return {LINKS_KEY: links or None} if links != (before or {}) else {}


def _iter_links(effect: Effect, resolver: TargetResolver) -> Iterator[tuple[str, str]]:
    """Yield each link or mount that an effect makes, with the path that it leads to."""
    origin = _ORIGIN.match(effect.note) if effect.what == "fs.link.out" else None
    if origin is not None:
        path = resolver.to_absolute(origin[1], None)
        yield from ((target.path.rstrip("/"), path) for target in effect.targets if target.path and path)
    elif effect.what == "sys.mount" and len(effect.targets) == 2 and _BIND.search(effect.by):
        source, place = (resolver.to_absolute(target.text, None) for target in effect.targets)
        if source and place:
            yield f"{place.rstrip('/')}/", source


def _follow(target: Target, links: Mapping[str, str], resolver: TargetResolver) -> Target:
    """Return what lies at the other end where the path of a target leads through a link, and else the target."""
    path = target.path
    for place, origin in links.items() if path else ():
        if place[-1:] == "/":
            is_through = is_within(f"{path.rstrip('/')}/", place)
            if not is_through and is_within(place, path.rstrip("/*") or "/"):
                return resolver.resolve_absolute(origin, with_state=True)  # a tree with the mount in it
        else:
            is_through = path.startswith(f"{place}/") or (path.rstrip("/") == place and target.text.endswith("/"))
        if is_through:
            rest = path[len(place.rstrip("/")) :].rstrip("/")
            return resolver.resolve_absolute(f"{origin.rstrip('/')}{rest}", with_state=True)
    return target
