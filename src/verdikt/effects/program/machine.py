"""Virtual machines and their disks."""

from collections.abc import Iterator

from verdikt.effects import command_verbs
from verdikt.effects.invocation import Invocation
from verdikt.effects.program.table import EffectSpec, Program, alias_programs
from verdikt.model.effect import Effect, Target

_READ = EffectSpec("vm.read")
_RUN = EffectSpec("vm.run", "*", "resource", without_target=True)
_STOP = EffectSpec("vm.stop", "*", "resource", without_target=True)
_GONE = EffectSpec("vm.delete", "*", "resource", without_target=True)
_LIGHT = EffectSpec("vm.delete", "*", "resource", without_target=True, recoverable=True)
_EXEC = EffectSpec("container.exec", "0", "resource")


def _by_verb(call: Invocation) -> Iterator[Effect]:
    path = [word.text for word in call.args.operands]
    index, kind = command_verbs.find_verb(path)
    target = tuple(Target(word.display_text, "resource") for word in call.args.operands[index + 1 :])
    if kind == "delete":
        yield call.make_effect(
            "vm.delete", target, recoverable=True if "snapshot" in " ".join(path[: index + 1]) else None
        )
    elif kind == "write":
        pieces = command_verbs.split_tokens(path[index])
        yield call.make_effect(
            "vm.run"
            if {"start", "create", "launch", "resume", "run", "new", "clone", "up"} & set(pieces)
            else "vm.stop",
            target,
        )
    else:
        yield call.make_effect("vm.read")


def _multipass(call: Invocation) -> Iterator[Effect]:
    yield call.make_effect(
        "vm.delete",
        tuple(Target(word.display_text, "resource") for word in call.args.operands),
        recoverable=not call.args.has_flag("-p --purge"),
    )


def _unregister(call: Invocation) -> Iterator[Effect]:
    whole = call.args.has_flag("--delete --delete-all")
    yield call.make_effect(
        "vm.delete", tuple(Target(word.display_text, "resource") for word in call.args.operands), recoverable=not whole
    )


_LXC: dict[str, Program | EffectSpec | tuple[EffectSpec, ...]] = {
    "delete": _GONE,
    "rm": _GONE,
    "stop": _STOP,
    "restart": _STOP,
    "exec": _EXEC,
    "shell": _EXEC,
    "launch": _RUN,
    "start": _RUN,
    "storage delete": _GONE,
    "storage volume delete": _GONE,
    "storage volume rm": _GONE,
    "image delete": _LIGHT,
    "snapshot": _RUN,
    "restore": _STOP,
    "file push": _STOP,
    "config set": _STOP,
    "network delete": _LIGHT,
    "profile delete": _LIGHT,
    "project delete": _GONE,
}

PROGRAMS: dict[str, Program] = {
    "virsh": Program(
        _READ,
        value_flags="-c --connect --pool --domain",
        subcommands={
            "destroy": _STOP,
            "shutdown": _STOP,
            "reboot": _STOP,
            "reset": _STOP,
            "suspend": _STOP,
            "managedsave": _STOP,
            "start": _RUN,
            "create": _RUN,
            "define": _RUN,
            "resume": _RUN,
            "undefine": (
                EffectSpec("vm.delete", "*", "resource", when="--remove-all-storage --wipe-storage --storage"),
                EffectSpec(
                    "vm.delete",
                    "*",
                    "resource",
                    unless="--remove-all-storage --wipe-storage --storage",
                    recoverable=True,
                ),
            ),
            "vol-delete": _GONE,
            "vol-wipe": _GONE,
            "pool-delete": _GONE,
            "pool-destroy": _STOP,
            "snapshot-delete": _LIGHT,
            "snapshot-revert": _LIGHT,
            "net-destroy": _STOP,
            "net-undefine": _LIGHT,
            "detach-disk": _STOP,
        },
    ),
    **alias_programs(
        "vboxmanage VBoxManage",
        Program(
            _READ,
            subcommands={
                "unregistervm": Program(classify=_unregister),
                "controlvm": _STOP,
                "startvm": _RUN,
                "closemedium": _LIGHT,
                "snapshot": EffectSpec("vm.delete", "*", "resource", when="delete restore", recoverable=True),
                "modifyvm": _RUN,
                "createvm": _RUN,
                "discardstate": _LIGHT,
            },
        ),
    ),
    "qemu-img": Program(
        _READ,
        value_flags="-f -O -o -F -b",
        subcommands={
            "create": EffectSpec("fs.overwrite", "0"),
            "convert": (EffectSpec("fs.read", "0"), EffectSpec("fs.overwrite", "1")),
            "resize": (
                EffectSpec("vm.delete", "0", "resource", when="--shrink", recoverable=True),
                EffectSpec("fs.write", "0"),
            ),
            "commit": EffectSpec("fs.write", "*"),
            "snapshot": EffectSpec("vm.delete", "*", "resource", when="-d -a", recoverable=True),
            "rebase": EffectSpec("fs.write", "*"),
        },
    ),
    "multipass": Program(
        _READ,
        subcommands={
            "delete": Program(classify=_multipass),
            "purge": _GONE,
            "stop": _STOP,
            "launch": _RUN,
            "start": _RUN,
            "exec": _EXEC,
            "shell": _EXEC,
            "restart": _STOP,
            "suspend": _STOP,
            "set": _STOP,
        },
    ),
    **alias_programs("lxc incus", Program(_READ, value_flags="--project", subcommands=_LXC)),
    "lxc-destroy": Program(_GONE),
    "lxc-stop": Program(_STOP),
    "lxd": Program(_READ, subcommands={"init": _RUN}),
    "limactl": Program(
        _READ,
        subcommands={
            "delete": _GONE,
            "rm": _GONE,
            "stop": _STOP,
            "start": _RUN,
            "shell": _EXEC,
            "factory-reset": _GONE,
            "prune": _LIGHT,
        },
    ),
    "colima": Program(
        _READ,
        subcommands={"delete": _LIGHT, "start": _RUN, "stop": EffectSpec("vm.run"), "prune": _LIGHT, "ssh": _EXEC},
    ),
    **alias_programs(
        "orb orbctl", Program(_READ, subcommands={"delete": _GONE, "reset": _GONE, "stop": _STOP, "start": _RUN})
    ),
    **alias_programs(
        "qm pct pvesh pvecm",
        Program(
            subcommands={
                "destroy": _GONE,
                "stop": _STOP,
                "shutdown": _STOP,
                "start": _RUN,
                "rollback": _LIGHT,
                "exec": _EXEC,
                "enter": _EXEC,
                "delete": _GONE,
                "set": _STOP,
            },
            classify=_by_verb,
        ),
    ),
    **alias_programs(
        "govc xe esxcli vim-cmd xl prlctl vmrun utmctl tart machinectl vctl",
        Program(
            value_flags="-c --connect -u -h -vm -dc", single_dash=False, subcommands={"shell": _EXEC}, classify=_by_verb
        ),
    ),
    **alias_programs(
        "wsl wsl.exe",
        Program(
            _READ,
            EffectSpec("vm.delete", "--unregister", "resource"),
            EffectSpec("vm.stop", when="--shutdown -t --terminate"),
            value_flags="--unregister -d --distribution -u --user -t --terminate --export --import",
        ),
    ),
    "adb": Program(
        _READ,
        value_flags="-s -t -H -P",
        subcommands={
            "uninstall": EffectSpec("pkg.remove", "*", "package"),
            "install": EffectSpec("pkg.install", "*", "package"),
            "reboot": _STOP,
            "root": EffectSpec("priv.escalate"),
            "remount": _STOP,
            "push": _STOP,
            "sideload": _STOP,
            "shell pm uninstall": _LIGHT,
            "shell pm clear": _LIGHT,
            "backup": EffectSpec("cred.read"),
        },
    ),
    "fastboot": Program(
        _READ,
        subcommands={
            "flash": EffectSpec("disk.write", "*", "other"),
            "erase": EffectSpec("disk.format", "*", "other"),
            "format": EffectSpec("disk.format", "*", "other"),
            "oem": _STOP,
            "flashing": EffectSpec("disk.format", without_target=True),
            "reboot": _STOP,
        },
    ),
}
