"""The machine's own packages: what is installed for everybody, what is removed, where packages come from."""

from collections.abc import Iterator

from verdikt.effects.invocation import Invocation
from verdikt.effects.program.package_registry import ADD, classify_install
from verdikt.effects.program.table import EffectSpec, Program, alias_programs, word_set
from verdikt.model.effect import Effect, Target

_ESSENTIAL = word_set(
    "libc6 glibc libc-bin bash dash coreutils dpkg apt rpm dnf yum pacman systemd systemd-sysv init sysvinit "
    "util-linux sudo openssh-server openssh-client login passwd base-files base-passwd linux-image-generic "
    "linux-generic kernel linux grub grub-common grub-efi-amd64 grub-pc initramfs-tools python3-minimal "
    "network-manager busybox musl filesystem"
)
_PACKAGE = "package"


def _system(call: Invocation) -> Iterator[Effect]:
    """Classify the removal of system packages; some of them are essential to the machine."""
    packages = call.args.operands
    targets = tuple(Target(word.display_text, _PACKAGE) for word in packages)
    vital = tuple(target for target in targets if target.text.split(":")[0].rstrip("*") in _ESSENTIAL)
    if vital:
        yield call.make_effect("sys.crash", vital, note="nothing runs, or no login works, without it")
    else:
        yield call.make_effect("pkg.system.remove", targets)


def _classify_add(call: Invocation) -> Iterator[Effect]:
    yield from classify_install(call, call.args.operands, "pkg.system")


def _classify_remove(call: Invocation) -> Iterator[Effect]:
    """`dpkg -r`, `rpm -e`."""
    if call.args.has_flag("-r --remove -P --purge" if call.name == "dpkg" else "-e --erase"):
        yield from _system(call)


def _apt(call: Invocation) -> Iterator[Effect]:
    """`apt -o …Pre-Invoke::=command`: a setting that is a command."""
    for word in call.args.get_values("-o --option"):
        key, _, value = word.text.partition("=")
        if "invoke" in key.lower() or key.lower().endswith(("::methods", "dpkg::options")):
            yield call.make_effect(
                "code.unknown", (Target(word.display_text, "other"),), note="a setting that runs a program"
            )
            yield from call.classify_shell(value)


def _pacman(call: Invocation) -> Iterator[Effect]:
    letters = "".join(flag[1:] for flag, _ in call.args.flags if not flag.startswith("--"))
    if "R" in letters or call.args.has_flag("--remove"):
        yield from _system(call)
    elif ("S" in letters or call.args.has_flag("--sync")) and not set(letters) & set("silgp"):
        yield call.make_effect("pkg.system", tuple(Target(word.display_text, _PACKAGE) for word in call.args.operands))
    elif "U" in letters or call.args.has_flag("--upgrade"):
        yield call.make_effect("pkg.foreign", tuple(Target(word.display_text, _PACKAGE) for word in call.args.operands))
    else:
        yield call.make_effect("pkg.read")


def _brew(call: Invocation) -> Iterator[Effect]:
    operands = call.args.operands
    verb, rest = (operands[0].text, operands[1:]) if operands else ("", [])
    if verb in ("install", "reinstall", "upgrade", "update", "bundle", "link", "fetch", "tap-new"):
        yield from classify_install(call, rest)
    elif verb in ("uninstall", "remove", "rm", "autoremove"):
        yield call.make_effect("pkg.system.remove", tuple(Target(word.display_text, _PACKAGE) for word in rest))
    elif verb == "tap" and len(rest) > 1:
        yield call.make_effect("pkg.source", tuple(Target(word.display_text, "host") for word in rest[1:]))
    elif verb == "services" and rest and rest[0].text not in ("list", "info"):
        stop = rest[0].text in ("stop", "kill", "cleanup")
        units = tuple(Target(word.display_text, "unit") for word in rest[1:])
        yield call.make_effect("sys.service.stop" if stop else "proc.spawn", units)
    else:
        yield call.make_effect("pkg.read")


_PUBLISH = EffectSpec("pkg.publish", "*", _PACKAGE, without_target=True)
_READ = EffectSpec("pkg.read")
_BUILD = EffectSpec("code.build")
_REMOVE = EffectSpec("pkg.remove", "*", _PACKAGE, without_target=True)
_SYS_ADD = Program(classify=_classify_add)
_SYS_REMOVE = Program(classify=_system)


PROGRAMS: dict[str, Program] = {
    **alias_programs(
        "apt apt-get aptitude nala",
        Program(
            _READ,
            value_flags="-t --target-release -o --option -c --config-file -q",
            dry_run_flags="-s --simulate --just-print --dry-run --recon --no-act -d --download-only",
            classify=_apt,
            subcommands={
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
                "edit-sources": EffectSpec("pkg.source", without_target=True),
            },
        ),
    ),
    **alias_programs("apt-cache apt-file apt-config apt-mark dpkg-query debsums", Program(_READ)),
    **alias_programs(
        "add-apt-repository apt-add-repository apt-key",
        Program(EffectSpec("pkg.source", "*", "host", unless="list --list finger export")),
    ),
    "dpkg": Program(
        EffectSpec("pkg.foreign", "*", _PACKAGE, when="-i --install --unpack"),
        EffectSpec("pkg.system", when="--configure"),
        dry_run_flags="--dry-run --simulate --no-act",
        classify=_classify_remove,
    ),
    **alias_programs(
        "dnf yum microdnf zypper tdnf dnf5",
        Program(
            _READ,
            value_flags="--enablerepo --disablerepo -c --config --releasever -x --exclude --setopt --installroot",
            dry_run_flags="--assumeno --downloadonly --dry-run -D",
            subcommands={
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
                "config-manager": EffectSpec("pkg.source", without_target=True),
                "addrepo": EffectSpec("pkg.source", without_target=True),
                "ar": EffectSpec("pkg.source", without_target=True),
            },
        ),
    ),
    "rpm": Program(
        EffectSpec("pkg.foreign", "*", _PACKAGE, when="-i -U -F --install --upgrade", unless="-q --query"),
        dry_run_flags="--test",
        classify=_classify_remove,
    ),
    **alias_programs(
        "pacman yay paru",
        Program(
            value_flags="--root --dbpath --config --cachedir",
            dry_run_flags="-p --print -w --downloadonly",
            classify=_pacman,
        ),
    ),
    "apk": Program(
        _READ,
        value_flags="-X --repository -p --root -t --virtual",
        dry_run_flags="-s --simulate",
        subcommands={"add": _SYS_ADD, "upgrade": _SYS_ADD, "fix": _SYS_ADD, "del": _SYS_REMOVE},
    ),
    **alias_programs(
        "emerge xbps-install eopkg swupd opkg pkg pkg_add",
        Program(
            EffectSpec("pkg.system", "*", _PACKAGE, unless="-p --pretend -s --search info search list -n --dry-run"),
            dry_run_flags="-n -p --pretend --dry-run",
        ),
    ),
    **alias_programs("xbps-remove pkg_delete", Program(classify=_system)),
    "brew": Program(value_flags="--HEAD-url --cask-opts --appdir", dry_run_flags="-n --dry-run", classify=_brew),
    "port": Program(_READ, subcommands={"install": _SYS_ADD, "upgrade": _SYS_ADD, "uninstall": _SYS_REMOVE}),
    "snap": Program(
        _READ,
        subcommands={
            "install": _SYS_ADD,
            "refresh": _SYS_ADD,
            "revert": _SYS_ADD,
            "remove": _SYS_REMOVE,
            "disable": EffectSpec("sys.service.stop", "*", "unit"),
            "stop": EffectSpec("sys.service.stop", "*", "unit"),
            "restart": EffectSpec("sys.service", "*", "unit"),
        },
    ),
    "flatpak": Program(
        _READ,
        value_flags="--installation --arch",
        subcommands={
            "install": _SYS_ADD,
            "update": _SYS_ADD,
            "uninstall": _SYS_REMOVE,
            "remove": _SYS_REMOVE,
            "remote-add": EffectSpec("pkg.source", "1", "host"),
        },
    ),
    "nix-collect-garbage": Program(
        EffectSpec("pkg.system.remove", when="-d --delete-old --delete-older-than", note="every older generation"),
        dry_run_flags="--dry-run",
        value_flags="--delete-older-than",
    ),
    "nix-env": Program(
        EffectSpec("pkg.remove", when="-e --uninstall", note=""),
        EffectSpec("pkg.install", when="-i --install -u --upgrade"),
    ),
    "nix": Program(
        _BUILD,
        dry_run_flags="--dry-run",
        subcommands={
            "profile install": ADD,
            "profile remove": _REMOVE,
            "store gc": EffectSpec("pkg.remove"),
            "store delete": EffectSpec("pkg.system.remove"),
            "flake update": _READ,
        },
    ),
    "nix-shell": Program(EffectSpec("pkg.run"), value_flags="-p --packages --run --command -A -I"),
    "nix-channel": Program(EffectSpec("pkg.source", when="--add")),
    "nixos-rebuild": Program(
        _BUILD,
        subcommands={
            "switch": EffectSpec("pkg.system"),
            "boot": EffectSpec("pkg.system"),
            "test": EffectSpec("pkg.system"),
        },
    ),
    "winget": Program(
        _READ,
        value_flags="--id -e --source -v --name",
        subcommands={
            "install": _SYS_ADD,
            "upgrade": _SYS_ADD,
            "uninstall": _SYS_REMOVE,
            "remove": _SYS_REMOVE,
            "source add": EffectSpec("pkg.source", without_target=True),
        },
    ),
    **alias_programs(
        "choco chocolatey cinst cuninst",
        Program(
            _READ,
            value_flags="-s --source --version",
            dry_run_flags="--noop --what-if --whatif",
            subcommands={
                "install": _SYS_ADD,
                "upgrade": _SYS_ADD,
                "uninstall": _SYS_REMOVE,
                "push": _PUBLISH,
                "source add": EffectSpec("pkg.source", without_target=True),
            },
        ),
    ),
    "scoop": Program(
        _READ,
        subcommands={
            "install": ADD,
            "update": ADD,
            "uninstall": _REMOVE,
            "bucket add": EffectSpec("pkg.source", "1", "host"),
        },
    ),
}
