"""macOS: disks, launch services, protections, settings."""

from collections.abc import Callable, Iterator

from verdikt.effects.invocation import Invocation
from verdikt.effects.program.system import is_protection
from verdikt.effects.program.table import EffectSpec, Program, alias_programs
from verdikt.model.effect import Effect, Target

_READ = EffectSpec("sys.read")
_SET = EffectSpec("sys.setting", "*", "other", without_target=True)
_SECURITY = EffectSpec("sys.security", "*", "other", without_target=True)
_GONE = EffectSpec("disk.format", "*", "other", without_target=True)
_HARDENING = (
    "LSQuarantine",
    "com.apple.security",
    "GKAutoRearm",
    "DisableAPFSEncryption",
    "com.apple.alf",
    "globalstate",
    "SkipLibraryValidation",
    "com.apple.screensaver",
)


def _diskutil(call: Invocation) -> Iterator[Effect]:
    words = [word.text.lower() for word in call.args.operands]
    name = words[0] if words else ""
    target = tuple(Target(word.display_text, "other") for word in call.args.operands[-1:])
    joined = " ".join(words[:2])
    if name in ("list", "info", "listfilesystems", "activity", "verifyvolume", "verifydisk", ""):
        yield call.make_effect("disk.look")
    elif any(
        part in joined
        for part in (
            "erase",
            "zerodisk",
            "randomdisk",
            "reformat",
            "partitiondisk",
            "delete",
            "addpartition",
            "splitpartition",
            "mergepartitions",
            "secureerase",
            "resizevolume",
        )
    ):
        yield call.make_effect("disk.format", target)
    elif joined in ("apfs list", "cs list", "corestorage list", "appleraid list", "apfs listsnapshots"):
        yield call.make_effect("disk.look")
    else:
        yield call.make_effect("sys.mount", target)


def _defaults(call: Invocation) -> Iterator[Effect]:
    words = [word.text for word in call.args.operands]
    verb = words[0] if words else ""
    target = (Target(" ".join(words[1:3]), "other"),)
    if verb == "write" and any(part in text for text in words[1:3] for part in _HARDENING):
        yield call.make_effect("sys.security", target)
    elif (
        verb == "write"
        and any(text.lower().endswith(("loginwindow", "loginhook")) for text in words[1:3])
        and any("hook" in text.lower() for text in words)
    ):
        yield call.make_effect("persist.write", target)
    elif verb in ("delete", "delete-all") and len(words) < 3:
        yield call.make_effect("sys.setting", target)
    else:
        yield call.make_effect("sys.read")


def _launchctl(call: Invocation) -> Iterator[Effect]:
    words = [word.text for word in call.args.operands]
    verb = words[0] if words else ""
    target = tuple(Target(word.display_text, "unit") for word in call.args.operands[1:])
    if verb in ("load", "bootstrap", "enable", "submit"):
        yield call.make_effect("persist.unit", target, possible=verb != "submit")
    elif verb in ("unload", "bootout", "disable", "remove", "stop", "kill"):
        guarding = any(is_protection(part) for text in words[1:] for part in text.replace("/", ".").split("."))
        yield call.make_effect("sys.security" if guarding else "sys.service.stop", target)
    elif verb in ("reboot",):
        yield call.make_effect("sys.power")
    elif verb in ("kickstart", "start", "setenv", "unsetenv", "config", "asuser"):
        yield call.make_effect("sys.setting", target)
    else:
        yield call.make_effect("sys.read")


def _dscl(call: Invocation) -> Iterator[Effect]:
    words = [word.text for word in call.args.operands] + [flag for flag, _ in call.args.flags]
    flags = {flag.lstrip("-") for flag, _ in call.args.flags} | set(words)
    target = tuple(Target(word.display_text, "other") for word in call.args.operands[1:])
    if flags & {"delete"}:
        yield call.make_effect("sys.user.delete", target)
    elif flags & {"append", "merge"} and any("admin" in word for word in words):
        yield call.make_effect("priv.grant", target)
    elif flags & {"create", "append", "merge", "change", "passwd"}:
        yield call.make_effect("sys.user", target)
    else:
        yield call.make_effect("sys.read")


def _nvram(call: Invocation) -> Iterator[Effect]:
    if any("=" in word.text for word in call.args.operands):
        yield call.make_effect("sys.boot", tuple(Target(word.display_text, "other") for word in call.args.operands))


def _switch(what: str) -> Callable[[Invocation], Iterator[Effect]]:
    """Programs whose flags say `-get…` or `-set…`."""

    def judge(call: Invocation) -> Iterator[Effect]:
        changes = any(
            flag.startswith(("-set", "-add", "-remove", "-create", "-delete", "-switch")) for flag, _ in call.args.flags
        )
        yield call.make_effect(what if changes else "sys.read")

    return judge


PROGRAMS: dict[str, Program] = {
    "diskutil": Program(classify=_diskutil),
    "asr": Program(
        EffectSpec("disk.format", "--target -t", "other", when="--erase restore", without_target=True),
        value_flags="--source -s --target -t",
        single_dash=False,
    ),
    "hdiutil": Program(
        _READ,
        subcommands={
            "attach": _READ,
            "create": EffectSpec("fs.write", "0"),
            "erase": _GONE,
            "eraseVolume": _GONE,
            "burn": _GONE,
        },
    ),
    "defaults": Program(classify=_defaults, value_flags="-currentHost -host", single_dash=True),
    "launchctl": Program(classify=_launchctl, value_flags="-F"),
    "tmutil": Program(
        _READ,
        subcommands={
            "delete": EffectSpec("backup.delete", "*", "resource", without_target=True),
            "disable": _SECURITY,
            "deletelocalsnapshots": EffectSpec("backup.delete", "*", "resource", recoverable=True),
            "removedestination": EffectSpec("backup.delete", "*", "resource"),
            "setdestination": _SET,
            "enable": _SET,
            "startbackup": EffectSpec("backup.write"),
            "restore": EffectSpec("fs.overwrite", "-1"),
            "addexclusion": _SET,
        },
    ),
    "csrutil": Program(
        _READ,
        subcommands={"disable": _SECURITY, "enable": _SET, "clear": _SECURITY, "authenticated-root disable": _SECURITY},
    ),
    "spctl": Program(
        _READ,
        EffectSpec("sys.security", when="--master-disable --global-disable --disable"),
        EffectSpec("sys.setting", when="--add --remove --enable --reset-default"),
    ),
    "fdesetup": Program(_READ, subcommands={"disable": _SECURITY, "enable": _SET, "removerecovery": _SECURITY}),
    "dscl": Program(classify=_dscl, single_dash=True, value_flags="-u -P"),
    **alias_programs(
        "dseditgroup sysadminctl dsenableroot pwpolicy",
        Program(
            EffectSpec("sys.user.delete", when="-deleteUser"),
            EffectSpec("priv.grant", when="-addUser+-admin admin", without_target=True),
            EffectSpec("sys.user", without_target=True, when="-a -d -addUser -resetPasswordFor -edit -o -n"),
            single_dash=True,
        ),
    ),
    "nvram": Program(
        EffectSpec("sys.boot", "*", "other", when="-c -d", without_target=True),
        EffectSpec("sys.read", when="-p"),
        classify=_nvram,
    ),
    "pmset": Program(EffectSpec("sys.setting", when="-a -b -c sleepnow schedule repeat", without_target=True), _READ),
    "softwareupdate": Program(
        EffectSpec("pkg.system", when="-i --install -ia --reset-ignored --fetch-full-installer"), _READ
    ),
    "scutil": Program(EffectSpec("sys.setting", when="--set"), _READ),
    "networksetup": Program(classify=_switch("sys.network"), single_dash=True),
    "systemsetup": Program(classify=_switch("sys.setting"), single_dash=True),
    "bless": Program(EffectSpec("sys.boot", without_target=True), dry_run_flags="--info --getBoot"),
    "kextload": Program(EffectSpec("sys.kernel", "*", "other")),
    "kextunload": Program(EffectSpec("sys.kernel", "*", "other")),
    **alias_programs(
        "tccutil profiles", Program(_READ, subcommands={"reset": _SET, "remove": _SET, "install": _SET, "-R": _SET})
    ),
    "xattr": Program(EffectSpec("sys.quarantine", "1:", "path", when="-d -c -cr -rc -rd -dr"), _READ),
    "installer": Program(EffectSpec("pkg.foreign", "-pkg", "package"), value_flags="-pkg -target", single_dash=True),
    "pkgutil": Program(EffectSpec("pkg.system.remove", "--forget", "package"), _READ, value_flags="--forget"),
    **alias_programs(
        "sw_vers system_profiler mdfind mdls ioreg vm_stat pbpaste pbcopy open say caffeinate screencapture codesign "
        "lipo dyld_info sips textutil plutil afplay xcode-select",
        Program(_READ),
    ),
    "xcrun": Program(
        EffectSpec("code.build"),
        subcommands={
            "simctl erase": EffectSpec("vm.delete", "*", "resource", recoverable=True),
            "simctl delete": EffectSpec("vm.delete", "*", "resource", recoverable=True),
            "notarytool submit": EffectSpec("net.send"),
            "altool": EffectSpec("net.send"),
            "simctl list": _READ,
        },
    ),
    "mdutil": Program(_SET, dry_run_flags="-s"),
    "PlistBuddy": Program(EffectSpec("fs.write", "0", when="-c")),
}
