"""Containers: what runs and how much of the machine it sees, what is removed, what is published."""

from collections.abc import Iterator
from itertools import pairwise

from verdikt.effects.invocation import Invocation
from verdikt.effects.program.table import EffectSpec, Program, alias_programs, word_set
from verdikt.model.effect import Effect, Target, Zone
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import Word

_CAPABILITIES = word_set(
    "ALL SYS_ADMIN SYS_PTRACE SYS_MODULE SYS_RAWIO SYS_BOOT DAC_READ_SEARCH DAC_OVERRIDE NET_ADMIN BPF SYS_TIME"
)
_SOCKETS = ("/var/run/docker.sock", "/run/docker.sock", "/run/podman", "/run/containerd", "/var/run/crio", "/run/user/")
_RUN_VALUES = (
    "-v --volume --mount -e --env --env-file -p --publish --name -w --workdir -u --user --network --net --cap-add "
    "--cap-drop --security-opt --pid --ipc --uts --userns --device --entrypoint -h --hostname -l --label -m --memory "
    "--cpus --restart --platform --add-host --log-driver --log-opt --tmpfs --ulimit --shm-size --gpus --pull "
    "--runtime --cidfile --dns --expose --health-cmd --link --ip --network-alias --stop-signal --sysctl "
    "--volumes-from --group-add --cgroupns"
)


def _run(call: Invocation) -> Iterator[Effect]:
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


def _remove(call: Invocation) -> Iterator[Effect]:
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


def _classify_copy(call: Invocation) -> Iterator[Effect]:
    """`cp HERE CONTAINER:PATH`, or back."""
    operands = call.args.operands
    yield from call.make_effects("fs.read", [word for word in operands[:1] if ":" not in word.text])
    yield from call.make_effects(
        "fs.overwrite", [word for word in operands[1:2] if ":" not in word.text and word.text != "-"]
    )
    yield call.make_effect("container.read")


def _images(call: Invocation) -> Iterator[Effect]:
    many = call.args.has_flag("-a --all --prune -f --force") or any(not word.is_known for word in call.args.operands)
    yield call.make_effect(
        "container.image.remove" if many else "container.remove",
        tuple(Target(word.display_text, "resource") for word in call.args.operands),
    )


def _kill(call: Invocation) -> Iterator[Effect]:
    many = any(not word.is_known for word in call.args.operands) or call.args.has_flag("-a --all")
    yield call.make_effect(
        "container.remove.force" if many else "container.stop",
        tuple(Target(word.display_text, "resource") for word in call.args.operands),
    )


def _stop(call: Invocation) -> Iterator[Effect]:
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


def _build(call: Invocation) -> Iterator[Effect]:
    output = call.args.get_value("-o --output")
    if call.args.has_flag("--push") or (output is not None and "type=registry" in output.text):
        yield call.make_effect(
            "container.push", tuple(Target(word.display_text, "resource") for word in call.args.get_values("-t --tag"))
        )
    yield call.make_effect("container.build")


def _compose_run(call: Invocation) -> Iterator[Effect]:
    if _on(call, "--privileged"):
        yield call.make_effect("container.escape", recoverable=True)
    yield call.make_effect("container.run")


def _volumes(call: Invocation) -> Iterator[Effect]:
    """Volumes: whichever they are, their data goes with them."""
    yield call.make_effect(
        "container.volume.remove", tuple(Target(word.display_text, "resource") for word in call.args.operands)
    )


_READ = EffectSpec("container.read")
_RM = Program(classify=_remove, own_flags=True)
_RMI = Program(classify=_images, own_flags=True)
_VOLUME = Program(classify=_volumes, own_flags=True, value_flags="--filter")
_PRUNE = EffectSpec("container.prune")
_STOP = Program(classify=_stop, own_flags=True, value_flags="-t --time -s --signal")
_KILL = Program(classify=_kill, own_flags=True, value_flags="-s --signal")
_PUSH = EffectSpec("container.push", "*", "resource", without_target=True)
_RUN = Program(classify=_run, own_flags=True, value_flags=_RUN_VALUES)
_BUILD = Program(
    classify=_build,
    own_flags=True,
    value_flags="-t --tag -f --file --build-arg --target --platform -o --output --cache-from --cache-to --secret --ssh --progress --network --label --builder",
)
_EXEC = Program(
    EffectSpec("container.escape", when="--privileged", recoverable=True),
    EffectSpec("container.exec", "0", "resource"),
    own_flags=True,
    value_flags="-u --user -w --workdir -e --env --env-file",
)
_IMAGE_PRUNE = (
    EffectSpec("container.image.remove", when="-a --all"),
    EffectSpec("container.remove", note="images without a name"),
)


def _down(call: Invocation) -> Iterator[Effect]:
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


_COMPOSE = Program(
    _READ,
    own_flags=True,
    value_flags="-f --file -p --project-name --profile --env-file --project-directory --ansi --parallel --progress -H --host",
    dry_run_flags="--dry-run",
    subcommands={
        "down": Program(
            EffectSpec("container.stop"),
            classify=_down,
            own_flags=True,
            value_flags="-t --timeout --rmi",
            dry_run_flags="--dry-run",
        ),
        "rm": Program(
            EffectSpec("container.down.volumes", when="-v --volumes"),
            EffectSpec("container.remove"),
            own_flags=True,
            dry_run_flags="--dry-run",
        ),
        "push": _PUSH,
        "run": Program(
            classify=_compose_run,
            own_flags=True,
            value_flags="-e --env -u --user -w --workdir -v --volume --name --entrypoint -p --publish",
        ),
        "exec": _EXEC,
        "up": EffectSpec("container.run"),
        "build": _BUILD,
        "stop": _STOP,
        "kill": _STOP,
        "restart": EffectSpec("container.run"),
    },
)

_SUBS: dict[str, Program | EffectSpec | tuple[EffectSpec, ...]] = {
    "run": _RUN,
    "container run": _RUN,
    "create": _RUN,
    "container create": _RUN,
    "exec": _EXEC,
    "container exec": _EXEC,
    "build": _BUILD,
    "image build": _BUILD,
    "buildx build": _BUILD,
    "buildx bake": _BUILD,
    "builder build": _BUILD,
    "buildx rm": EffectSpec("container.remove"),
    "rm": _RM,
    "container rm": _RM,
    "container remove": _RM,
    "cp": Program(classify=_classify_copy, own_flags=True),
    "container cp": Program(classify=_classify_copy, own_flags=True),
    "rmi": _RMI,
    "image rm": _RMI,
    "image remove": _RMI,
    "stop": _STOP,
    "container stop": _STOP,
    "kill": _KILL,
    "container kill": _KILL,
    "container prune": EffectSpec("container.prune.containers"),
    "image prune": _IMAGE_PRUNE,
    "builder prune": EffectSpec("container.remove", note="the build cache"),
    "buildx prune": EffectSpec("container.remove", note="the build cache"),
    "network prune": EffectSpec("container.prune.containers"),
    "network rm": EffectSpec("container.remove", "*", "resource"),
    "system prune": Program(
        EffectSpec("container.prune", when="-a+-f -a+--force --all+-f --all+--force", recoverable=False),
        EffectSpec("container.prune"),
        EffectSpec("container.volume.remove", when="--volumes"),
        own_flags=True,
        value_flags="--filter",
    ),
    "system reset": _VOLUME,
    "volume rm": _VOLUME,
    "volume remove": _VOLUME,
    "volume prune": _VOLUME,
    "push": _PUSH,
    "image push": _PUSH,
    "manifest push": _PUSH,
    "plugin push": _PUSH,
    "trust sign": _PUSH,
    "login": EffectSpec("cred.write", "0", "host", without_target=True, note="stores a credential for the registry"),
    "logout": _READ,
    "plugin install": EffectSpec("pkg.foreign", "*", "package"),
    "swarm leave": (
        EffectSpec("k8s.drain.force", when="-f --force", note="the machine leaves its cluster"),
        EffectSpec("k8s.drain"),
    ),
    "swarm init": EffectSpec("net.listen"),
    "swarm join": EffectSpec("k8s.write"),
    "swarm join-token": EffectSpec("cred.read"),
    "stack rm": EffectSpec("k8s.delete", "*", "resource", recoverable=True),
    "stack deploy": EffectSpec("k8s.write", "*", "resource", without_target=True),
    "service rm": EffectSpec("k8s.delete", "*", "resource", recoverable=True),
    "service scale": EffectSpec("k8s.write", "*", "resource"),
    "service update": EffectSpec("k8s.write", "*", "resource"),
    "service create": EffectSpec("k8s.write", "*", "resource"),
    "service rollback": EffectSpec("k8s.write", "*", "resource"),
    "node rm": EffectSpec("k8s.drain", "*", "resource"),
    "node update": EffectSpec("k8s.drain", "*", "resource"),
    "secret rm": EffectSpec("cred.delete", "*", "other", recoverable=True),
    "config rm": EffectSpec("k8s.delete", "*", "resource", recoverable=True),
    "context use": EffectSpec("k8s.context", "*", "host"),
    "context rm": EffectSpec("k8s.context", "*", "host"),
    "machine rm": EffectSpec("container.remove.force", "*", "resource", without_target=True),
    "machine reset": _VOLUME,
    "pod rm": _RM,
    "secret create": EffectSpec("cred.write"),
    "compose": _COMPOSE,
}
_DOCKER = Program(
    _READ,
    value_flags="-H --host --context --config -c -l --log-level --tlscacert --tlscert --tlskey --root --runroot --namespace -n --connection --url",
    subcommands=_SUBS,
)

PROGRAMS: dict[str, Program] = {
    **alias_programs("docker podman nerdctl finch", _DOCKER),
    **alias_programs("docker-compose podman-compose", _COMPOSE),
    "buildah": Program(
        _READ,
        value_flags="-t --tag -f --file",
        subcommands={
            "push": _PUSH,
            "rm": _RM,
            "rmi": _RMI,
            "prune": _PRUNE,
            "bud": _BUILD,
            "build": _BUILD,
            "run": _RUN,
            "login": EffectSpec("cred.write"),
            "commit": EffectSpec("container.build"),
        },
    ),
    "skopeo": Program(
        _READ,
        value_flags="--src-creds --dest-creds --creds --authfile",
        subcommands={
            "copy": EffectSpec("container.push", "-1", "resource", unless="dir: oci: docker-archive:"),
            "delete": EffectSpec("cloud.delete", "*", "resource", recoverable=True),
            "sync": EffectSpec("container.push", "-1", "resource"),
            "login": EffectSpec("cred.write"),
        },
    ),
    "crane": Program(
        _READ,
        subcommands={
            "push": _PUSH,
            "copy": _PUSH,
            "cp": _PUSH,
            "delete": EffectSpec("cloud.delete", "*", "resource"),
            "tag": _PUSH,
            "append": _PUSH,
            "mutate": _PUSH,
            "auth": EffectSpec("cred.write"),
        },
    ),
    "oras": Program(
        _READ,
        subcommands={
            "push": _PUSH,
            "copy": _PUSH,
            "manifest delete": EffectSpec("cloud.delete", "*", "resource"),
            "login": EffectSpec("cred.write"),
        },
    ),
    "ko": Program(_READ, subcommands={"build": _PUSH, "publish": _PUSH, "apply": EffectSpec("k8s.write")}),
    "crictl": Program(
        _READ,
        value_flags="-r --runtime-endpoint -i --image-endpoint -c --config -t --timeout",
        subcommands={
            "rm": EffectSpec("container.remove.force", "*", "resource", without_target=True),
            "rmp": EffectSpec("container.remove.force", "*", "resource", without_target=True),
            "rmi": EffectSpec("container.image.remove", "*", "resource", without_target=True),
            "stop": _STOP,
            "exec": _EXEC,
        },
    ),
    "ctr": Program(
        _READ,
        value_flags="-n --namespace -a --address",
        subcommands={
            "images rm": EffectSpec("container.image.remove", "*", "resource"),
            "image rm": EffectSpec("container.image.remove", "*", "resource"),
            "i rm": EffectSpec("container.image.remove", "*", "resource"),
            "containers rm": EffectSpec("container.remove.force", "*", "resource"),
            "c rm": EffectSpec("container.remove.force", "*", "resource"),
            "tasks kill": EffectSpec("container.remove.force", "*", "resource"),
            "images push": _PUSH,
        },
    ),
    "dive": Program(_READ),
    "devcontainer": Program(EffectSpec("container.run")),
}
