"""The machine's own packages: what is installed for everybody, what is removed, where packages come from."""

from collections.abc import Iterator

from verdikt.effects.argument import words
from verdikt.effects.call import Call
from verdikt.effects.program.registry import ADD, install
from verdikt.effects.program.table import Does, Program, programs
from verdikt.model.effect import Effect, Target

_ESSENTIAL = words(
    "libc6 glibc libc-bin bash dash coreutils dpkg apt rpm dnf yum pacman systemd systemd-sysv init sysvinit util-linux sudo openssh-server openssh-client login passwd "
    "base-files base-passwd linux-image-generic linux-generic kernel linux grub grub-common grub-efi-amd64 grub-pc initramfs-tools python3-minimal network-manager busybox musl filesystem"
)
_PACKAGE = "package"


def _system(call: Call) -> Iterator[Effect]:
    """Removal of the machine's packages; some of them hold the machine together."""
    packages = call.args.operands
    targets = tuple(Target(word.shown, _PACKAGE) for word in packages)
    vital = tuple(target for target in targets if target.text.split(":")[0].rstrip("*") in _ESSENTIAL)
    if vital:
        yield call.effect("sys.crash", vital, note="nothing runs, or nobody gets in, without it")
    else:
        yield call.effect("pkg.system.remove", targets)


def _added(call: Call) -> Iterator[Effect]:
    yield from install(call, call.args.operands, "pkg.system")


def _removed(call: Call) -> Iterator[Effect]:
    """`dpkg -r`, `rpm -e`."""
    if call.args.has("-r --remove -P --purge" if call.name == "dpkg" else "-e --erase"):
        yield from _system(call)


def _apt(call: Call) -> Iterator[Effect]:
    """`apt -o …Pre-Invoke::=command`: a setting that is a command."""
    for word in call.args.all("-o --option"):
        key, _, value = word.text.partition("=")
        if "invoke" in key.lower() or key.lower().endswith(("::methods", "dpkg::options")):
            yield call.effect("code.unknown", (Target(word.shown, "other"),), note="a setting that runs a program")
            yield from call.shell(value)


def _pacman(call: Call) -> Iterator[Effect]:
    letters = "".join(flag[1:] for flag, _ in call.args.flags if not flag.startswith("--"))
    if "R" in letters or call.args.has("--remove"):
        yield from _system(call)
    elif ("S" in letters or call.args.has("--sync")) and not set(letters) & set("silgp"):
        yield call.effect("pkg.system", tuple(Target(word.shown, _PACKAGE) for word in call.args.operands))
    elif "U" in letters or call.args.has("--upgrade"):
        yield call.effect("pkg.foreign", tuple(Target(word.shown, _PACKAGE) for word in call.args.operands))
    else:
        yield call.effect("pkg.read")


def _brew(call: Call) -> Iterator[Effect]:
    operands = call.args.operands
    verb, rest = (operands[0].text, operands[1:]) if operands else ("", [])
    if verb in ("install", "reinstall", "upgrade", "update", "bundle", "link", "fetch", "tap-new"):
        yield from install(call, rest)
    elif verb in ("uninstall", "remove", "rm", "autoremove"):
        yield call.effect("pkg.system.remove", tuple(Target(word.shown, _PACKAGE) for word in rest))
    elif verb == "tap" and len(rest) > 1:
        yield call.effect("pkg.source", tuple(Target(word.shown, "host") for word in rest[1:]))
    elif verb == "services" and rest and rest[0].text not in ("list", "info"):
        stop = rest[0].text in ("stop", "kill", "cleanup")
        units = tuple(Target(word.shown, "unit") for word in rest[1:])
        yield call.effect("sys.service.stop" if stop else "proc.spawn", units)
    else:
        yield call.effect("pkg.read")


_PUBLISH = Does("pkg.publish", "*", _PACKAGE, bare=True)
_READ = Does("pkg.read")
_BUILD = Does("code.build")
_REMOVE = Does("pkg.remove", "*", _PACKAGE, bare=True)
_SYS_ADD = Program(call=_added)
_SYS_REMOVE = Program(call=_system)


PROGRAMS: dict[str, Program] = {
    **programs(
        "apt apt-get aptitude nala",
        Program(
            _READ,
            values="-t --target-release -o --option -c --config-file -q",
            dry="-s --simulate --just-print --dry-run --recon --no-act -d --download-only",
            call=_apt,
            subs={
                "install": _SYS_ADD,
                "reinstall": _SYS_ADD,
                "upgrade": _SYS_ADD,
                "dist-upgrade": _SYS_ADD,
                "full-upgrade": _SYS_ADD,
                "build-dep": _SYS_ADD,
                "safe-upgrade": _SYS_ADD,
                "remove": _SYS_REMOVE,
                "purge": _SYS_REMOVE,
                "autoremove": _SYS_REMOVE,
                "autopurge": _SYS_REMOVE,
                "edit-sources": Does("pkg.source", bare=True),
            },
        ),
    ),
    **programs("apt-cache apt-file apt-config apt-mark dpkg-query debsums", Program(_READ)),
    **programs(
        "add-apt-repository apt-add-repository apt-key",
        Program(Does("pkg.source", "*", "host", unless="list --list finger export")),
    ),
    "dpkg": Program(
        Does("pkg.foreign", "*", _PACKAGE, when="-i --install --unpack"),
        Does("pkg.system", when="--configure"),
        dry="--dry-run --simulate --no-act",
        call=_removed,
    ),
    **programs(
        "dnf yum microdnf zypper tdnf dnf5",
        Program(
            _READ,
            values="--enablerepo --disablerepo -c --config --releasever -x --exclude --setopt --installroot",
            dry="--assumeno --downloadonly --dry-run -D",
            subs={
                "install": _SYS_ADD,
                "in": _SYS_ADD,
                "groupinstall": _SYS_ADD,
                "localinstall": _SYS_ADD,
                "update": _SYS_ADD,
                "up": _SYS_ADD,
                "upgrade": _SYS_ADD,
                "distro-sync": _SYS_ADD,
                "dup": _SYS_ADD,
                "dist-upgrade": _SYS_ADD,
                "reinstall": _SYS_ADD,
                "remove": _SYS_REMOVE,
                "rm": _SYS_REMOVE,
                "erase": _SYS_REMOVE,
                "autoremove": _SYS_REMOVE,
                "module remove": _SYS_REMOVE,
                "history undo": _SYS_REMOVE,
                "history rollback": _SYS_REMOVE,
                "config-manager": Does("pkg.source", bare=True),
                "addrepo": Does("pkg.source", bare=True),
                "ar": Does("pkg.source", bare=True),
            },
        ),
    ),
    "rpm": Program(
        Does("pkg.foreign", "*", _PACKAGE, when="-i -U -F --install --upgrade", unless="-q --query"),
        dry="--test",
        call=_removed,
    ),
    **programs(
        "pacman yay paru",
        Program(values="--root --dbpath --config --cachedir", dry="-p --print -w --downloadonly", call=_pacman),
    ),
    "apk": Program(
        _READ,
        values="-X --repository -p --root -t --virtual",
        dry="-s --simulate",
        subs={"add": _SYS_ADD, "upgrade": _SYS_ADD, "fix": _SYS_ADD, "del": _SYS_REMOVE},
    ),
    **programs(
        "emerge xbps-install eopkg swupd opkg pkg pkg_add",
        Program(
            Does("pkg.system", "*", _PACKAGE, unless="-p --pretend -s --search info search list -n --dry-run"),
            dry="-n -p --pretend --dry-run",
        ),
    ),
    **programs("xbps-remove pkg_delete", Program(call=_system)),
    "brew": Program(values="--HEAD-url --cask-opts --appdir", dry="-n --dry-run", call=_brew),
    "port": Program(_READ, subs={"install": _SYS_ADD, "upgrade": _SYS_ADD, "uninstall": _SYS_REMOVE}),
    "snap": Program(
        _READ,
        subs={
            "install": _SYS_ADD,
            "refresh": _SYS_ADD,
            "revert": _SYS_ADD,
            "remove": _SYS_REMOVE,
            "disable": Does("sys.service.stop", "*", "unit"),
            "stop": Does("sys.service.stop", "*", "unit"),
            "restart": Does("sys.service", "*", "unit"),
        },
    ),
    "flatpak": Program(
        _READ,
        values="--installation --arch",
        subs={
            "install": _SYS_ADD,
            "update": _SYS_ADD,
            "uninstall": _SYS_REMOVE,
            "remove": _SYS_REMOVE,
            "remote-add": Does("pkg.source", "1", "host"),
        },
    ),
    "nix-collect-garbage": Program(
        Does("pkg.system.remove", when="-d --delete-old --delete-older-than", note="every older generation"),
        dry="--dry-run",
        values="--delete-older-than",
    ),
    "nix-env": Program(
        Does("pkg.remove", when="-e --uninstall", note=""), Does("pkg.install", when="-i --install -u --upgrade")
    ),
    "nix": Program(
        _BUILD,
        dry="--dry-run",
        subs={
            "profile install": ADD,
            "profile remove": _REMOVE,
            "store gc": Does("pkg.remove"),
            "store delete": Does("pkg.system.remove"),
            "flake update": _READ,
        },
    ),
    "nix-shell": Program(Does("pkg.run"), values="-p --packages --run --command -A -I"),
    "nix-channel": Program(Does("pkg.source", when="--add")),
    "nixos-rebuild": Program(
        _BUILD, subs={"switch": Does("pkg.system"), "boot": Does("pkg.system"), "test": Does("pkg.system")}
    ),
    "winget": Program(
        _READ,
        values="--id -e --source -v --name",
        subs={
            "install": _SYS_ADD,
            "upgrade": _SYS_ADD,
            "uninstall": _SYS_REMOVE,
            "remove": _SYS_REMOVE,
            "source add": Does("pkg.source", bare=True),
        },
    ),
    **programs(
        "choco chocolatey cinst cuninst",
        Program(
            _READ,
            values="-s --source --version",
            dry="--noop --what-if --whatif",
            subs={
                "install": _SYS_ADD,
                "upgrade": _SYS_ADD,
                "uninstall": _SYS_REMOVE,
                "push": _PUBLISH,
                "source add": Does("pkg.source", bare=True),
            },
        ),
    ),
    "scoop": Program(
        _READ,
        subs={"install": ADD, "update": ADD, "uninstall": _REMOVE, "bucket add": Does("pkg.source", "1", "host")},
    ),
}
