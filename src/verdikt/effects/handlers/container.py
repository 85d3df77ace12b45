"""Containers: which parts of the machine lie inside one, and whether those that are removed are anybody's but ours."""

from collections.abc import Iterator
from itertools import pairwise

from verdikt.effects.arguments import word_set
from verdikt.effects.container_listing import (
    FOR_TESTS,
    are_named_for_tests,
    are_picked,
    is_picking,
    is_started_here,
    list_listings,
    lists_stopped,
)
from verdikt.effects.execution_context import names_other_engine
from verdikt.effects.installation_names import is_live_name
from verdikt.effects.invocation import Invocation
from verdikt.model.effect import Effect, Target, Zone
from verdikt.shell.command import UNKNOWN, Word

_SOCKETS = ("/var/run/docker.sock", "/run/docker.sock", "/run/podman", "/run/containerd", "/var/run/crio", "/run/user/")
_MACHINE_DIRECTORIES = word_set("/ /etc /root /boot /usr /home /var /dev /proc /sys")


def classify_mounts(call: Invocation) -> Iterator[Effect]:
    """Classify the directories of the machine that a new container sees."""
    for word in call.args.get_values("-v --volume"):
        yield from _classify_mount(call, word.text.split(":")[0], word, read_only=word.text.endswith((":ro", ",ro")))
    for word in call.args.get_values("--mount"):
        parts = dict(part.partition("=")[::2] for part in word.text.split(","))
        source = parts.get("source") or parts.get("src") or ""
        if parts.get("type", "bind") == "bind":
            yield from _classify_mount(call, source, word, read_only="readonly" in parts or "ro" in parts)


def _classify_mount(call: Invocation, source: str, word: Word, *, read_only: bool) -> Iterator[Effect]:
    if not source.startswith(("/", "~", ".", "$")) or UNKNOWN in source:
        return
    target = call.resolve_path(Word(source, word.raw))
    if target.path in _MACHINE_DIRECTORIES or target.path == call.facts.home:
        note = f"`{source}` of the machine lies inside the container"
        yield call.make_effect("container.escape", (target,), recoverable=target.path != "/" or read_only, note=note)
    elif target.path.startswith(_SOCKETS) and target.path.endswith((".sock", "podman", "containerd")):
        note = "access to the socket is access to the machine"
        yield call.make_effect("container.escape", (target,), recoverable=True, note=note)
    elif target.zone in (Zone.SECRET, Zone.GUARD):
        what = "cred.read" if target.zone is Zone.SECRET else "guard.tamper"
        yield call.make_effect(what, (target,), note="lies inside the container")
    elif target.zone is Zone.PERSIST and not read_only:
        yield call.make_effect("persist.write", (target,), possible=True, note="lies inside the container")


def classify_remove(call: Invocation) -> Iterator[Effect]:
    """Classify a removal: a stopped container is little loss; by force it may be running, with what it wrote."""
    args = call.args
    targets = _list_targets(call)
    unknown = [word for word in args.operands if not word.is_known]
    listings = list_listings(call, unknown) if len(unknown) == len(args.operands) else []
    is_plain = not args.has_flag("-a --all -v --volumes")
    if listings and is_plain and all(map(is_picking, listings)):
        are_for_tests = all(FOR_TESTS.search(text) and not is_live_name(text) for text in listings)
        are_stopped = all(map(lists_stopped, listings)) and not args.has_flag("-f --force")
        is_small = are_for_tests or are_stopped
        yield call.make_effect("container.remove" if is_small else "container.remove.force", targets)
    elif listings and is_plain and all(map(lists_stopped, listings)):
        yield call.make_effect("container.prune.containers", targets)
    elif args.has_flag("-f --force") and (args.has_flag("-a --all") or unknown):
        yield call.make_effect("container.remove.force", targets, recoverable=False, note="whichever there are")
    elif args.has_flag("-f --force -v --volumes") and not (is_started_here(call) or are_named_for_tests(args.operands)):
        yield call.make_effect("container.remove.force", targets)
    elif args.has_flag("-a --all") or unknown:
        yield call.make_effect("container.prune.containers", targets)
    else:
        yield call.make_effect("container.remove", targets)


def _list_targets(call: Invocation) -> tuple[Target, ...]:
    return tuple(Target(word.display_text, "resource") for word in call.args.operands)


def classify_stop(call: Invocation) -> Iterator[Effect]:
    """Classify a stop: one container is ordinary, and so are those of a name; whichever there are is not."""
    many = call.args.has_flag("-a --all") or any(not word.is_known for word in call.args.operands)
    what = "container.stop.all" if many and not are_picked(call) else "container.stop"
    yield call.make_effect(what, _list_targets(call))


def classify_down(call: Invocation) -> Iterator[Effect]:
    """Classify volumes that go with their containers; those of a test project are made again each time."""
    if not call.args.has_flag("-v --volumes"):
        return
    options = ("-f", "--file", "-p", "--project-name")
    names = [following.text for word, following in pairwise(call.command.argv) if word.text in options]
    is_for_tests = bool(names) and all(map(FOR_TESTS.search, names))
    if not is_for_tests and names_other_engine(call.command, [word.text for word in call.command.argv]):
        yield call.make_effect("container.volume.remove", note="on another machine")
        return
    yield call.make_effect("container.stop" if is_for_tests else "container.down.volumes")
