"""The machine's own packages: what is installed for everybody, what is removed, where packages come from."""

from collections.abc import Iterator

from verdikt.effects.arguments import word_set
from verdikt.effects.invocation import Invocation
from verdikt.effects.program.package_registry import classify_install
from verdikt.model.effect import Effect, Target

_ESSENTIAL = word_set(
    "libc6 glibc libc-bin bash dash coreutils dpkg apt rpm dnf yum pacman systemd systemd-sysv init sysvinit "
    "util-linux sudo openssh-server openssh-client login passwd base-files base-passwd linux-image-generic "
    "linux-generic kernel linux grub grub-common grub-efi-amd64 grub-pc initramfs-tools python3-minimal "
    "network-manager busybox musl filesystem"
)
_PACKAGE = "package"


def classify_system(call: Invocation) -> Iterator[Effect]:
    """Classify the removal of system packages; some of them are essential to the machine."""
    packages = call.args.operands
    targets = tuple(Target(word.display_text, _PACKAGE) for word in packages)
    vital = tuple(target for target in targets if target.text.split(":")[0].rstrip("*") in _ESSENTIAL)
    if vital:
        yield call.make_effect("sys.crash", vital, note="nothing runs, or no login works, without it")
    else:
        yield call.make_effect("pkg.system.remove", targets)


def classify_add(call: Invocation) -> Iterator[Effect]:
    yield from classify_install(call, call.args.operands, "pkg.system")


def classify_remove(call: Invocation) -> Iterator[Effect]:
    """`dpkg -r`, `rpm -e`."""
    if call.args.has_flag("-r --remove -P --purge" if call.name == "dpkg" else "-e --erase"):
        yield from classify_system(call)


def classify_apt(call: Invocation) -> Iterator[Effect]:
    """`apt -o …Pre-Invoke::=command`: a setting that is a command."""
    for word in call.args.get_values("-o --option"):
        key, _, value = word.text.partition("=")
        if "invoke" in key.lower() or key.lower().endswith(("::methods", "dpkg::options")):
            yield call.make_effect(
                "code.unknown", (Target(word.display_text, "other"),), note="a setting that runs a program"
            )
            yield from call.classify_shell(value)


def classify_pacman(call: Invocation) -> Iterator[Effect]:
    letters = "".join(flag[1:] for flag, _ in call.args.flags if not flag.startswith("--"))
    if "R" in letters or call.args.has_flag("--remove"):
        yield from classify_system(call)
    elif ("S" in letters or call.args.has_flag("--sync")) and not set(letters) & set("silgp"):
        yield call.make_effect("pkg.system", tuple(Target(word.display_text, _PACKAGE) for word in call.args.operands))
    elif "U" in letters or call.args.has_flag("--upgrade"):
        yield call.make_effect("pkg.foreign", tuple(Target(word.display_text, _PACKAGE) for word in call.args.operands))
    else:
        yield call.make_effect("pkg.read")


def classify_brew(call: Invocation) -> Iterator[Effect]:
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
