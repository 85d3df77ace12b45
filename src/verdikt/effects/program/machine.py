"""Virtual machines and their disks."""

from collections.abc import Iterator

from verdikt.effects import verb
from verdikt.effects.call import Call
from verdikt.effects.program.table import Does, Program, programs
from verdikt.model.effect import Effect, Target

_READ = Does("vm.read")
_RUN = Does("vm.run", "*", "resource", bare=True)
_STOP = Does("vm.stop", "*", "resource", bare=True)
_GONE = Does("vm.delete", "*", "resource", bare=True)
_LIGHT = Does("vm.delete", "*", "resource", bare=True, recoverable=True)
_EXEC = Does("container.exec", "0", "resource")


def _by_verb(call: Call) -> Iterator[Effect]:
    path = [word.text for word in call.args.operands]
    index, kind = verb.find(path)
    target = tuple(Target(word.shown, "resource") for word in call.args.operands[index + 1 :])
    if kind == "delete":
        yield call.effect("vm.delete", target, recoverable=True if "snapshot" in " ".join(path[: index + 1]) else None)
    elif kind == "write":
        pieces = verb.tokens(path[index])
        yield call.effect(
            "vm.run"
            if {"start", "create", "launch", "resume", "run", "new", "clone", "up"} & set(pieces)
            else "vm.stop",
            target,
        )
    else:
        yield call.effect("vm.read")


def _multipass(call: Call) -> Iterator[Effect]:
    yield call.effect(
        "vm.delete",
        tuple(Target(word.shown, "resource") for word in call.args.operands),
        recoverable=not call.args.has("-p --purge"),
    )


def _unregister(call: Call) -> Iterator[Effect]:
    whole = call.args.has("--delete --delete-all")
    yield call.effect(
        "vm.delete", tuple(Target(word.shown, "resource") for word in call.args.operands), recoverable=not whole
    )


_LXC: dict[str, Program | Does | tuple[Does, ...]] = {
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
        values="-c --connect --pool --domain",
        subs={
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
                Does("vm.delete", "*", "resource", when="--remove-all-storage --wipe-storage --storage"),
                Does(
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
    **programs(
        "vboxmanage VBoxManage",
        Program(
            _READ,
            subs={
                "unregistervm": Program(call=_unregister),
                "controlvm": _STOP,
                "startvm": _RUN,
                "closemedium": _LIGHT,
                "snapshot": Does("vm.delete", "*", "resource", when="delete restore", recoverable=True),
                "modifyvm": _RUN,
                "createvm": _RUN,
                "discardstate": _LIGHT,
            },
        ),
    ),
    "qemu-img": Program(
        _READ,
        values="-f -O -o -F -b",
        subs={
            "create": Does("fs.overwrite", "0"),
            "convert": (Does("fs.read", "0"), Does("fs.overwrite", "1")),
            "resize": (Does("vm.delete", "0", "resource", when="--shrink", recoverable=True), Does("fs.write", "0")),
            "commit": Does("fs.write", "*"),
            "snapshot": Does("vm.delete", "*", "resource", when="-d -a", recoverable=True),
            "rebase": Does("fs.write", "*"),
        },
    ),
    "multipass": Program(
        _READ,
        subs={
            "delete": Program(call=_multipass),
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
    **programs("lxc incus", Program(_READ, values="--project", subs=_LXC)),
    "lxc-destroy": Program(_GONE),
    "lxc-stop": Program(_STOP),
    "lxd": Program(_READ, subs={"init": _RUN}),
    "limactl": Program(
        _READ,
        subs={
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
        _READ, subs={"delete": _LIGHT, "start": _RUN, "stop": Does("vm.run"), "prune": _LIGHT, "ssh": _EXEC}
    ),
    **programs("orb orbctl", Program(_READ, subs={"delete": _GONE, "reset": _GONE, "stop": _STOP, "start": _RUN})),
    **programs(
        "qm pct pvesh pvecm",
        Program(
            subs={
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
            call=_by_verb,
        ),
    ),
    **programs(
        "govc xe esxcli vim-cmd xl prlctl vmrun utmctl tart machinectl vctl",
        Program(values="-c --connect -u -h -vm -dc", single=False, subs={"shell": _EXEC}, call=_by_verb),
    ),
    **programs(
        "wsl wsl.exe",
        Program(
            _READ,
            Does("vm.delete", "--unregister", "resource"),
            Does("vm.stop", when="--shutdown -t --terminate"),
            values="--unregister -d --distribution -u --user -t --terminate --export --import",
        ),
    ),
    "adb": Program(
        _READ,
        values="-s -t -H -P",
        subs={
            "uninstall": Does("pkg.remove", "*", "package"),
            "install": Does("pkg.install", "*", "package"),
            "reboot": _STOP,
            "root": Does("priv.escalate"),
            "remount": _STOP,
            "push": _STOP,
            "sideload": _STOP,
            "shell pm uninstall": _LIGHT,
            "shell pm clear": _LIGHT,
            "backup": Does("cred.read"),
        },
    ),
    "fastboot": Program(
        _READ,
        subs={
            "flash": Does("disk.write", "*", "other"),
            "erase": Does("disk.format", "*", "other"),
            "format": Does("disk.format", "*", "other"),
            "oem": _STOP,
            "flashing": Does("disk.format", bare=True),
            "reboot": _STOP,
        },
    ),
}
