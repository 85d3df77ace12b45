"""Containers: what runs and how much of the machine it sees, what is removed, what is published."""

from collections.abc import Iterator
from itertools import pairwise

from verdikt.effects.arguments import word_set
from verdikt.effects.invocation import Invocation
from verdikt.model.effect import Effect, Target, Zone
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import Word

_CAPABILITIES = word_set(
    "ALL SYS_ADMIN SYS_PTRACE SYS_MODULE SYS_RAWIO SYS_BOOT DAC_READ_SEARCH DAC_OVERRIDE NET_ADMIN BPF SYS_TIME"
)
_SOCKETS = ("/var/run/docker.sock", "/run/docker.sock", "/run/podman", "/run/containerd", "/var/run/crio", "/run/user/")


def classify_run(call: Invocation) -> Iterator[Effect]:
    """`docker run`: a container, and whether it can reach out of itself."""
    yield from _reach(call)
    yield call.make_effect(
        "container.run", tuple(Target(word.display_text, "resource") for word in call.args.operands[:1])
    )


def _reach(call: Invocation) -> Iterator[Effect]:
    args = call.args
    for word in args.get_values("-v --volume"):
        yield from _classify_mount(call, word.text.split(":")[0], word, read_only=word.text.endswith((":ro", ",ro")))
    for word in args.get_values("--mount"):
        parts = dict(part.partition("=")[::2] for part in word.text.split(","))
        source = parts.get("source") or parts.get("src") or ""
        if parts.get("type", "bind") == "bind":
            yield from _classify_mount(call, source, word, read_only="readonly" in parts or "ro" in parts)
    every = _on(call, "--privileged")
    pid = args.get_value("--pid")
    host_processes = pid is not None and pid.text == "host"
    if every or host_processes:
        yield call.make_effect(
            "container.escape",
            (Target("--privileged" if every else "--pid=host", "other"),),
            recoverable=False,
            note="holds every right of the machine" if every else "sees and holds every process",
        )
    capabilities = [
        word for word in args.get_values("--cap-add") if word.text.upper().removeprefix("CAP_") in _CAPABILITIES
    ]
    if capabilities:
        yield call.make_effect(
            "container.escape",
            tuple(Target(word.display_text, "other") for word in capabilities),
            recoverable=False,
            note="a right that is nearly every right",
        )
    if any("unconfined" in word.text or "disable" in word.text for word in args.get_values("--security-opt")):
        yield call.make_effect(
            "container.escape",
            (Target("--security-opt", "other"),),
            recoverable=True,
            note="without the limits of a container",
        )
    disks = [
        word
        for word in args.get_values("--device")
        if word.text.startswith(("/dev/sd", "/dev/nvme", "/dev/vd", "/dev/mem", "/dev/disk", "/dev/mapper", "/dev/xvd"))
    ]
    if disks:
        yield call.make_effect(
            "container.escape",
            tuple(Target(word.display_text, "other") for word in disks),
            recoverable=False,
            note="a disk of the machine",
        )
    if any(word.text == "host" for word in args.get_values("--network --net --ipc --uts --userns")):
        yield call.make_effect(
            "container.host", (Target("host", "other"),), note="shares the machine's network or memory"
        )


def _on(call: Invocation, flag: str) -> bool:
    value = call.args.get_value(flag)
    return call.args.has_flag(flag) and (value is None or value.text != "false")


def _classify_mount(call: Invocation, source: str, word: Word, *, read_only: bool) -> Iterator[Effect]:
    """Classify a directory of the machine inside the container."""
    if not source.startswith(("/", "~", ".", "$")) or "\ufffc" in source:
        return
    target = call.resolve_path(Word(source, word.raw))
    if target.path == "/" or target.path in (
        "/etc",
        "/root",
        "/boot",
        "/usr",
        "/home",
        "/var",
        "/dev",
        "/proc",
        "/sys",
        call.facts.home,
    ):
        whole = target.path == "/" and not read_only
        yield call.make_effect(
            "container.escape",
            (target,),
            recoverable=not whole,
            note=f"`{source}` of the machine lies inside the container",
        )
    elif target.path.startswith(_SOCKETS) and target.path.endswith((".sock", "podman", "containerd")):
        yield call.make_effect(
            "container.escape", (target,), recoverable=True, note="access to the socket is access to the machine"
        )
    elif target.zone in (Zone.SECRET, Zone.GUARD):
        yield call.make_effect(
            "cred.read" if target.zone is Zone.SECRET else "guard.tamper", (target,), note="lies inside the container"
        )
    elif target.zone is Zone.PERSIST and not read_only:
        yield call.make_effect("persist.write", (target,), possible=True, note="lies inside the container")


_FOR_TESTS = compile_lazily(r"(?:^|[-_./=])(?:tests?|ci|e2e|integration)(?:[-_./)\"' ]|$)")
"""Names of what exists for tests, and is made again each time."""


def classify_remove(call: Invocation) -> Iterator[Effect]:
    """Containers: a stopped one is little loss; by force it may be running, and what it wrote goes with it."""
    args = call.args
    targets = tuple(Target(word.display_text, "resource") for word in args.operands)
    picked = [word.raw for word in args.operands if not word.is_known and "filter" in word.raw]
    if picked and len(picked) == len(args.operands) and not args.has_flag("-a --all -v --volumes"):
        tests = all(map(_FOR_TESTS.search, picked))
        yield call.make_effect("container.remove" if tests else "container.remove.force", targets)
    elif args.has_flag("-f --force") and (
        args.has_flag("-a --all") or any(not word.is_known for word in args.operands)
    ):
        yield call.make_effect("container.remove.force", targets, recoverable=False, note="whichever there are")
    elif args.has_flag("-f --force -v --volumes") and not _is_started_here(call):
        yield call.make_effect("container.remove.force", targets)
    elif args.has_flag("-a --all") or any(not word.is_known for word in args.operands):
        yield call.make_effect("container.prune.containers", targets)
    else:
        yield call.make_effect("container.remove", targets)


def _is_started_here(call: Invocation) -> bool:
    """Whether the same text starts every container that a command names."""
    started = {
        following.text
        for command in call.commands
        if command.name == call.name
        for word, following in pairwise(command.argv)
        if word.text == "--name"
    } | {
        word.text.removeprefix("--name=")
        for command in call.commands
        for word in command.argv
        if word.text[:7] == "--name="
    }
    return bool(call.args.operands) and all(word.text in started for word in call.args.operands)


def classify_copy(call: Invocation) -> Iterator[Effect]:
    """`cp HERE CONTAINER:PATH`, or back."""
    operands = call.args.operands
    yield from call.make_effects("fs.read", [word for word in operands[:1] if ":" not in word.text])
    yield from call.make_effects(
        "fs.overwrite", [word for word in operands[1:2] if ":" not in word.text and word.text != "-"]
    )
    yield call.make_effect("container.read")


def classify_images(call: Invocation) -> Iterator[Effect]:
    many = call.args.has_flag("-a --all --prune -f --force") or any(not word.is_known for word in call.args.operands)
    yield call.make_effect(
        "container.image.remove" if many else "container.remove",
        tuple(Target(word.display_text, "resource") for word in call.args.operands),
    )


def classify_kill(call: Invocation) -> Iterator[Effect]:
    many = any(not word.is_known for word in call.args.operands) or call.args.has_flag("-a --all")
    yield call.make_effect(
        "container.remove.force" if many else "container.stop",
        tuple(Target(word.display_text, "resource") for word in call.args.operands),
    )


def classify_stop(call: Invocation) -> Iterator[Effect]:
    """One container is ordinary, and so are those of a name; whichever there are is not."""
    many = any(not word.is_known for word in call.args.operands) or call.args.has_flag("-a --all")
    many = many and not _are_picked(call)
    targets = tuple(Target(word.display_text, "resource") for word in call.args.operands)
    yield call.make_effect("container.stop.all" if many else "container.stop", targets)


def _are_picked(call: Invocation) -> bool:
    """Whether the containers come from a listing of those with a certain name, label or image."""
    listings = [c for c in call.commands if c.name == call.name and any(w.text in ("ps", "ls") for w in c.argv[1:3])]
    return bool(listings) and all(
        any(word.text.startswith(("--filter", "-f", "name=", "label=", "ancestor=")) for word in command.argv)
        for command in listings
    )


def classify_build(call: Invocation) -> Iterator[Effect]:
    output = call.args.get_value("-o --output")
    if call.args.has_flag("--push") or (output is not None and "type=registry" in output.text):
        yield call.make_effect(
            "container.push", tuple(Target(word.display_text, "resource") for word in call.args.get_values("-t --tag"))
        )
    yield call.make_effect("container.build")


def classify_compose_run(call: Invocation) -> Iterator[Effect]:
    if _on(call, "--privileged"):
        yield call.make_effect("container.escape", recoverable=True)
    yield call.make_effect("container.run")


def classify_volumes(call: Invocation) -> Iterator[Effect]:
    """Volumes: whichever they are, their data goes with them."""
    yield call.make_effect(
        "container.volume.remove", tuple(Target(word.display_text, "resource") for word in call.args.operands)
    )


def classify_down(call: Invocation) -> Iterator[Effect]:
    """Volumes that go with their containers; those of a test project are made again each time."""
    if call.args.has_flag("-v --volumes"):
        argv = call.command.argv
        named = [
            following.text
            for word, following in pairwise(argv)
            if word.text in ("-f", "--file", "-p", "--project-name")
        ]
        tests = bool(named) and all(map(_FOR_TESTS.search, named))
        yield call.make_effect("container.stop" if tests else "container.down.volumes")
