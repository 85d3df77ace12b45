"""Containers: what runs and how much of the machine it sees, what is removed, what is published."""

from collections.abc import Iterator
from itertools import pairwise

from verdikt.effects.argument import words
from verdikt.effects.call import Call
from verdikt.effects.program.table import Does, Program, programs
from verdikt.model.effect import Effect, Target, Zone
from verdikt.model.regex import regex
from verdikt.shell.command import Word

_CAPABILITIES = words(
    "ALL SYS_ADMIN SYS_PTRACE SYS_MODULE SYS_RAWIO SYS_BOOT DAC_READ_SEARCH DAC_OVERRIDE NET_ADMIN BPF SYS_TIME"
)
_SOCKETS = ("/var/run/docker.sock", "/run/docker.sock", "/run/podman", "/run/containerd", "/var/run/crio", "/run/user/")
_RUN_VALUES = (
    "-v --volume --mount -e --env --env-file -p --publish --name -w --workdir -u --user --network --net --cap-add --cap-drop --security-opt --pid --ipc --uts --userns "
    "--device --entrypoint -h --hostname -l --label -m --memory --cpus --restart --platform --add-host --log-driver --log-opt --tmpfs --ulimit --shm-size --gpus --pull --runtime "
    "--cidfile --dns --expose --health-cmd --link --ip --network-alias --stop-signal --sysctl --volumes-from --group-add --cgroupns"
)


def _run(call: Call) -> Iterator[Effect]:
    """`docker run`: a container, and whether it can reach out of itself."""
    yield from _reach(call)
    yield call.effect("container.run", tuple(Target(word.shown, "resource") for word in call.args.operands[:1]))


def _reach(call: Call) -> Iterator[Effect]:
    args = call.args
    for word in args.all("-v --volume"):
        yield from _mounted(call, word.text.split(":")[0], word, read_only=word.text.endswith((":ro", ",ro")))
    for word in args.all("--mount"):
        parts = dict(part.partition("=")[::2] for part in word.text.split(","))
        source = parts.get("source") or parts.get("src") or ""
        if parts.get("type", "bind") == "bind":
            yield from _mounted(call, source, word, read_only="readonly" in parts or "ro" in parts)
    every = _on(call, "--privileged")
    pid = args.value("--pid")
    host_processes = pid is not None and pid.text == "host"
    if every or host_processes:
        yield call.effect(
            "container.escape",
            (Target("--privileged" if every else "--pid=host", "other"),),
            recoverable=False,
            note="holds every right of the machine" if every else "sees and holds every process",
        )
    capabilities = [word for word in args.all("--cap-add") if word.text.upper().removeprefix("CAP_") in _CAPABILITIES]
    if capabilities:
        yield call.effect(
            "container.escape",
            tuple(Target(word.shown, "other") for word in capabilities),
            recoverable=False,
            note="a right that is nearly every right",
        )
    if any("unconfined" in word.text or "disable" in word.text for word in args.all("--security-opt")):
        yield call.effect(
            "container.escape",
            (Target("--security-opt", "other"),),
            recoverable=True,
            note="without the limits of a container",
        )
    disks = [
        word
        for word in args.all("--device")
        if word.text.startswith(("/dev/sd", "/dev/nvme", "/dev/vd", "/dev/mem", "/dev/disk", "/dev/mapper", "/dev/xvd"))
    ]
    if disks:
        yield call.effect(
            "container.escape",
            tuple(Target(word.shown, "other") for word in disks),
            recoverable=False,
            note="a disk of the machine",
        )
    if any(word.text == "host" for word in args.all("--network --net --ipc --uts --userns")):
        yield call.effect("container.host", (Target("host", "other"),), note="shares the machine's network or memory")


def _on(call: Call, flag: str) -> bool:
    value = call.args.value(flag)
    return call.args.has(flag) and (value is None or value.text != "false")


def _mounted(call: Call, source: str, word: Word, *, read_only: bool) -> Iterator[Effect]:
    """A directory of the machine inside the container."""
    if not source.startswith(("/", "~", ".", "$")) or "\ufffc" in source:
        return
    target = call.path(Word(source, word.raw))
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
        yield call.effect(
            "container.escape",
            (target,),
            recoverable=not whole,
            note=f"`{source}` of the machine lies inside the container",
        )
    elif target.path.startswith(_SOCKETS) and target.path.endswith((".sock", "podman", "containerd")):
        yield call.effect(
            "container.escape", (target,), recoverable=True, note="whoever holds the socket holds the machine"
        )
    elif target.zone in (Zone.SECRET, Zone.GUARD):
        yield call.effect(
            "cred.read" if target.zone is Zone.SECRET else "guard.tamper", (target,), note="lies inside the container"
        )
    elif target.zone is Zone.PERSIST and not read_only:
        yield call.effect("persist.write", (target,), possible=True, note="lies inside the container")


_FOR_TESTS = regex(r"(?:^|[-_./=])(?:tests?|ci|e2e|integration)(?:[-_./)\"' ]|$)")
"""Names of what is there for tests, and made anew each time."""


def _remove(call: Call) -> Iterator[Effect]:
    """Containers: a stopped one is little loss; by force it may be running, and what it wrote goes with it."""
    args = call.args
    targets = tuple(Target(word.shown, "resource") for word in args.operands)
    picked = [word.raw for word in args.operands if not word.known and "filter" in word.raw]
    if picked and len(picked) == len(args.operands) and not args.has("-a --all -v --volumes"):
        tests = all(map(_FOR_TESTS.search, picked))
        yield call.effect("container.remove" if tests else "container.remove.force", targets)
    elif args.has("-f --force") and (args.has("-a --all") or any(not word.known for word in args.operands)):
        yield call.effect("container.remove.force", targets, recoverable=False, note="whichever there are")
    elif args.has("-f --force -v --volumes") and not _started_here(call):
        yield call.effect("container.remove.force", targets)
    elif args.has("-a --all") or any(not word.known for word in args.operands):
        yield call.effect("container.prune.containers", targets)
    else:
        yield call.effect("container.remove", targets)


def _started_here(call: Call) -> bool:
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


def _copied(call: Call) -> Iterator[Effect]:
    """`cp HERE CONTAINER:PATH`, or back."""
    operands = call.args.operands
    yield from call.on("fs.read", [word for word in operands[:1] if ":" not in word.text])
    yield from call.on("fs.overwrite", [word for word in operands[1:2] if ":" not in word.text and word.text != "-"])
    yield call.effect("container.read")


def _images(call: Call) -> Iterator[Effect]:
    many = call.args.has("-a --all --prune -f --force") or any(not word.known for word in call.args.operands)
    yield call.effect(
        "container.image.remove" if many else "container.remove",
        tuple(Target(word.shown, "resource") for word in call.args.operands),
    )


def _kill(call: Call) -> Iterator[Effect]:
    many = any(not word.known for word in call.args.operands) or call.args.has("-a --all")
    yield call.effect(
        "container.remove.force" if many else "container.stop",
        tuple(Target(word.shown, "resource") for word in call.args.operands),
    )


def _stop(call: Call) -> Iterator[Effect]:
    """One container is ordinary, and so are those of a name; whichever there are is not."""
    many = any(not word.known for word in call.args.operands) or call.args.has("-a --all")
    many = many and not _are_picked(call)
    targets = tuple(Target(word.shown, "resource") for word in call.args.operands)
    yield call.effect("container.stop.all" if many else "container.stop", targets)


def _are_picked(call: Call) -> bool:
    """Whether the containers come from a listing of those with a certain name, label or image."""
    listings = [c for c in call.commands if c.name == call.name and any(w.text in ("ps", "ls") for w in c.argv[1:3])]
    return bool(listings) and all(
        any(word.text.startswith(("--filter", "-f", "name=", "label=", "ancestor=")) for word in command.argv)
        for command in listings
    )


def _build(call: Call) -> Iterator[Effect]:
    output = call.args.value("-o --output")
    if call.args.has("--push") or (output is not None and "type=registry" in output.text):
        yield call.effect("container.push", tuple(Target(word.shown, "resource") for word in call.args.all("-t --tag")))
    yield call.effect("container.build")


def _compose_run(call: Call) -> Iterator[Effect]:
    if _on(call, "--privileged"):
        yield call.effect("container.escape", recoverable=True)
    yield call.effect("container.run")


def _volumes(call: Call) -> Iterator[Effect]:
    """Volumes: whichever they are, their data goes with them."""
    yield call.effect("container.volume.remove", tuple(Target(word.shown, "resource") for word in call.args.operands))


_READ = Does("container.read")
_RM = Program(call=_remove, own=True)
_RMI = Program(call=_images, own=True)
_VOLUME = Program(call=_volumes, own=True, values="--filter")
_PRUNE = Does("container.prune")
_STOP = Program(call=_stop, own=True, values="-t --time -s --signal")
_KILL = Program(call=_kill, own=True, values="-s --signal")
_PUSH = Does("container.push", "*", "resource", bare=True)
_RUN = Program(call=_run, own=True, values=_RUN_VALUES)
_BUILD = Program(
    call=_build,
    own=True,
    values="-t --tag -f --file --build-arg --target --platform -o --output --cache-from --cache-to --secret --ssh --progress --network --label --builder",
)
_EXEC = Program(
    Does("container.escape", when="--privileged", recoverable=True),
    Does("container.exec", "0", "resource"),
    own=True,
    values="-u --user -w --workdir -e --env --env-file",
)
_IMAGE_PRUNE = (Does("container.image.remove", when="-a --all"), Does("container.remove", note="images without a name"))


def _down(call: Call) -> Iterator[Effect]:
    """Volumes that go with their containers; those of a project that is there for tests are made anew each time."""
    if call.args.has("-v --volumes"):
        argv = call.command.argv
        named = [
            following.text
            for word, following in pairwise(argv)
            if word.text in ("-f", "--file", "-p", "--project-name")
        ]
        tests = bool(named) and all(map(_FOR_TESTS.search, named))
        yield call.effect("container.stop" if tests else "container.down.volumes")


_COMPOSE = Program(
    _READ,
    own=True,
    values="-f --file -p --project-name --profile --env-file --project-directory --ansi --parallel --progress -H --host",
    dry="--dry-run",
    subs={
        "down": Program(
            Does("container.stop"),
            call=_down,
            own=True,
            values="-t --timeout --rmi",
            dry="--dry-run",
        ),
        "rm": Program(
            Does("container.down.volumes", when="-v --volumes"), Does("container.remove"), own=True, dry="--dry-run"
        ),
        "push": _PUSH,
        "run": Program(
            call=_compose_run,
            own=True,
            values="-e --env -u --user -w --workdir -v --volume --name --entrypoint -p --publish",
        ),
        "exec": _EXEC,
        "up": Does("container.run"),
        "build": _BUILD,
        "stop": _STOP,
        "kill": _STOP,
        "restart": Does("container.run"),
    },
)

_SUBS: dict[str, Program | Does | tuple[Does, ...]] = {
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
    "buildx rm": Does("container.remove"),
    "rm": _RM,
    "container rm": _RM,
    "container remove": _RM,
    "cp": Program(call=_copied, own=True),
    "container cp": Program(call=_copied, own=True),
    "rmi": _RMI,
    "image rm": _RMI,
    "image remove": _RMI,
    "stop": _STOP,
    "container stop": _STOP,
    "kill": _KILL,
    "container kill": _KILL,
    "container prune": Does("container.prune.containers"),
    "image prune": _IMAGE_PRUNE,
    "builder prune": Does("container.remove", note="the build cache"),
    "buildx prune": Does("container.remove", note="the build cache"),
    "network prune": Does("container.prune.containers"),
    "network rm": Does("container.remove", "*", "resource"),
    "system prune": Program(
        Does("container.prune", when="-a+-f -a+--force --all+-f --all+--force", recoverable=False),
        Does("container.prune"),
        Does("container.volume.remove", when="--volumes"),
        own=True,
        values="--filter",
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
    "login": Does("cred.write", "0", "host", bare=True, note="stores a credential for the registry"),
    "logout": _READ,
    "plugin install": Does("pkg.foreign", "*", "package"),
    "swarm leave": (
        Does("k8s.drain.force", when="-f --force", note="the machine leaves its cluster"),
        Does("k8s.drain"),
    ),
    "swarm init": Does("net.listen"),
    "swarm join": Does("k8s.write"),
    "swarm join-token": Does("cred.read"),
    "stack rm": Does("k8s.delete", "*", "resource", recoverable=True),
    "stack deploy": Does("k8s.write", "*", "resource", bare=True),
    "service rm": Does("k8s.delete", "*", "resource", recoverable=True),
    "service scale": Does("k8s.write", "*", "resource"),
    "service update": Does("k8s.write", "*", "resource"),
    "service create": Does("k8s.write", "*", "resource"),
    "service rollback": Does("k8s.write", "*", "resource"),
    "node rm": Does("k8s.drain", "*", "resource"),
    "node update": Does("k8s.drain", "*", "resource"),
    "secret rm": Does("cred.delete", "*", "other", recoverable=True),
    "config rm": Does("k8s.delete", "*", "resource", recoverable=True),
    "context use": Does("k8s.context", "*", "host"),
    "context rm": Does("k8s.context", "*", "host"),
    "machine rm": Does("container.remove.force", "*", "resource", bare=True),
    "machine reset": _VOLUME,
    "pod rm": _RM,
    "secret create": Does("cred.write"),
    "compose": _COMPOSE,
}
_DOCKER = Program(
    _READ,
    values="-H --host --context --config -c -l --log-level --tlscacert --tlscert --tlskey --root --runroot --namespace -n --connection --url",
    subs=_SUBS,
)

PROGRAMS: dict[str, Program] = {
    **programs("docker podman nerdctl finch", _DOCKER),
    **programs("docker-compose podman-compose", _COMPOSE),
    "buildah": Program(
        _READ,
        values="-t --tag -f --file",
        subs={
            "push": _PUSH,
            "rm": _RM,
            "rmi": _RMI,
            "prune": _PRUNE,
            "bud": _BUILD,
            "build": _BUILD,
            "run": _RUN,
            "login": Does("cred.write"),
            "commit": Does("container.build"),
        },
    ),
    "skopeo": Program(
        _READ,
        values="--src-creds --dest-creds --creds --authfile",
        subs={
            "copy": Does("container.push", "-1", "resource", unless="dir: oci: docker-archive:"),
            "delete": Does("cloud.delete", "*", "resource", recoverable=True),
            "sync": Does("container.push", "-1", "resource"),
            "login": Does("cred.write"),
        },
    ),
    "crane": Program(
        _READ,
        subs={
            "push": _PUSH,
            "copy": _PUSH,
            "cp": _PUSH,
            "delete": Does("cloud.delete", "*", "resource"),
            "tag": _PUSH,
            "append": _PUSH,
            "mutate": _PUSH,
            "auth": Does("cred.write"),
        },
    ),
    "oras": Program(
        _READ,
        subs={
            "push": _PUSH,
            "copy": _PUSH,
            "manifest delete": Does("cloud.delete", "*", "resource"),
            "login": Does("cred.write"),
        },
    ),
    "ko": Program(_READ, subs={"build": _PUSH, "publish": _PUSH, "apply": Does("k8s.write")}),
    "crictl": Program(
        _READ,
        values="-r --runtime-endpoint -i --image-endpoint -c --config -t --timeout",
        subs={
            "rm": Does("container.remove.force", "*", "resource", bare=True),
            "rmp": Does("container.remove.force", "*", "resource", bare=True),
            "rmi": Does("container.image.remove", "*", "resource", bare=True),
            "stop": _STOP,
            "exec": _EXEC,
        },
    ),
    "ctr": Program(
        _READ,
        values="-n --namespace -a --address",
        subs={
            "images rm": Does("container.image.remove", "*", "resource"),
            "image rm": Does("container.image.remove", "*", "resource"),
            "i rm": Does("container.image.remove", "*", "resource"),
            "containers rm": Does("container.remove.force", "*", "resource"),
            "c rm": Does("container.remove.force", "*", "resource"),
            "tasks kill": Does("container.remove.force", "*", "resource"),
            "images push": _PUSH,
        },
    ),
    "dive": Program(_READ),
    "devcontainer": Program(Does("container.run")),
}
