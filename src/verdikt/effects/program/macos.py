"""macOS: disks, launch services, protections, settings."""

from collections.abc import Callable, Iterator

from verdikt.effects.call import Call
from verdikt.effects.program.table import Does, Program, programs
from verdikt.model.effect import Effect, Target

_READ = Does("sys.read")
_SET = Does("sys.setting", "*", "other", bare=True)
_SECURITY = Does("sys.security", "*", "other", bare=True)
_GONE = Does("disk.format", "*", "other", bare=True)
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


def _diskutil(call: Call) -> Iterator[Effect]:
    words = [word.text.lower() for word in call.args.operands]
    name = words[0] if words else ""
    target = tuple(Target(word.shown, "other") for word in call.args.operands[-1:])
    joined = " ".join(words[:2])
    if name in ("list", "info", "listfilesystems", "activity", "verifyvolume", "verifydisk", ""):
        yield call.effect("disk.look")
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
        yield call.effect("disk.format", target)
    elif joined in ("apfs list", "cs list", "corestorage list", "appleraid list", "apfs listsnapshots"):
        yield call.effect("disk.look")
    else:
        yield call.effect("sys.mount", target)


def _defaults(call: Call) -> Iterator[Effect]:
    words = [word.text for word in call.args.operands]
    verb = words[0] if words else ""
    target = (Target(" ".join(words[1:3]), "other"),)
    if verb == "write" and any(part in text for text in words[1:3] for part in _HARDENING):
        yield call.effect("sys.security", target)
    elif (
        verb == "write"
        and any(text.lower().endswith(("loginwindow", "loginhook")) for text in words[1:3])
        and any("hook" in text.lower() for text in words)
    ):
        yield call.effect("persist.write", target)
    elif verb in ("delete", "delete-all") and len(words) < 3:
        yield call.effect("sys.setting", target)
    else:
        yield call.effect("sys.read")


def _launchctl(call: Call) -> Iterator[Effect]:
    words = [word.text for word in call.args.operands]
    verb = words[0] if words else ""
    target = tuple(Target(word.shown, "unit") for word in call.args.operands[1:])
    if verb in ("load", "bootstrap", "enable", "submit"):
        yield call.effect("persist.unit", target, possible=verb != "submit")
    elif verb in ("unload", "bootout", "disable", "remove", "stop", "kill"):
        from verdikt.effects.program.system import is_protection

        guarding = any(is_protection(part) for text in words[1:] for part in text.replace("/", ".").split("."))
        yield call.effect("sys.security" if guarding else "sys.service.stop", target)
    elif verb in ("reboot",):
        yield call.effect("sys.power")
    elif verb in ("kickstart", "start", "setenv", "unsetenv", "config", "asuser"):
        yield call.effect("sys.setting", target)
    else:
        yield call.effect("sys.read")


def _dscl(call: Call) -> Iterator[Effect]:
    words = [word.text for word in call.args.operands] + [flag for flag, _ in call.args.flags]
    flags = {flag.lstrip("-") for flag, _ in call.args.flags} | set(words)
    target = tuple(Target(word.shown, "other") for word in call.args.operands[1:])
    if flags & {"delete"}:
        yield call.effect("sys.user.delete", target)
    elif flags & {"append", "merge"} and any("admin" in word for word in words):
        yield call.effect("priv.grant", target)
    elif flags & {"create", "append", "merge", "change", "passwd"}:
        yield call.effect("sys.user", target)
    else:
        yield call.effect("sys.read")


def _nvram(call: Call) -> Iterator[Effect]:
    if any("=" in word.text for word in call.args.operands):
        yield call.effect("sys.boot", tuple(Target(word.shown, "other") for word in call.args.operands))


def _switch(what: str) -> Callable[[Call], Iterator[Effect]]:
    """Programs whose flags say `-get…` or `-set…`."""

    def judge(call: Call) -> Iterator[Effect]:
        changes = any(
            flag.startswith(("-set", "-add", "-remove", "-create", "-delete", "-switch")) for flag, _ in call.args.flags
        )
        yield call.effect(what if changes else "sys.read")

    return judge


PROGRAMS: dict[str, Program] = {
    "diskutil": Program(call=_diskutil),
    "asr": Program(
        Does("disk.format", "--target -t", "other", when="--erase restore", bare=True),
        values="--source -s --target -t",
        single=False,
    ),
    "hdiutil": Program(
        _READ,
        subs={"attach": _READ, "create": Does("fs.write", "0"), "erase": _GONE, "eraseVolume": _GONE, "burn": _GONE},
    ),
    "defaults": Program(call=_defaults, values="-currentHost -host", single=True),
    "launchctl": Program(call=_launchctl, values="-F"),
    "tmutil": Program(
        _READ,
        subs={
            "delete": Does("backup.delete", "*", "resource", bare=True),
            "disable": _SECURITY,
            "deletelocalsnapshots": Does("backup.delete", "*", "resource", recoverable=True),
            "removedestination": Does("backup.delete", "*", "resource"),
            "setdestination": _SET,
            "enable": _SET,
            "startbackup": Does("backup.write"),
            "restore": Does("fs.overwrite", "-1"),
            "addexclusion": _SET,
        },
    ),
    "csrutil": Program(
        _READ, subs={"disable": _SECURITY, "enable": _SET, "clear": _SECURITY, "authenticated-root disable": _SECURITY}
    ),
    "spctl": Program(
        _READ,
        Does("sys.security", when="--master-disable --global-disable --disable"),
        Does("sys.setting", when="--add --remove --enable --reset-default"),
    ),
    "fdesetup": Program(_READ, subs={"disable": _SECURITY, "enable": _SET, "removerecovery": _SECURITY}),
    "dscl": Program(call=_dscl, single=True, values="-u -P"),
    **programs(
        "dseditgroup sysadminctl dsenableroot pwpolicy",
        Program(
            Does("sys.user.delete", when="-deleteUser"),
            Does("priv.grant", when="-addUser+-admin admin", bare=True),
            Does("sys.user", bare=True, when="-a -d -addUser -resetPasswordFor -edit -o -n"),
            single=True,
        ),
    ),
    "nvram": Program(
        Does("sys.boot", "*", "other", when="-c -d", bare=True),
        Does("sys.read", when="-p"),
        call=_nvram,
    ),
    "pmset": Program(Does("sys.setting", when="-a -b -c sleepnow schedule repeat", bare=True), _READ),
    "softwareupdate": Program(
        Does("pkg.system", when="-i --install -ia --reset-ignored --fetch-full-installer"), _READ
    ),
    "scutil": Program(Does("sys.setting", when="--set"), _READ),
    "networksetup": Program(call=_switch("sys.network"), single=True),
    "systemsetup": Program(call=_switch("sys.setting"), single=True),
    "bless": Program(Does("sys.boot", bare=True), dry="--info --getBoot"),
    "kextload": Program(Does("sys.kernel", "*", "other")),
    "kextunload": Program(Does("sys.kernel", "*", "other")),
    **programs("tccutil profiles", Program(_READ, subs={"reset": _SET, "remove": _SET, "install": _SET, "-R": _SET})),
    "xattr": Program(Does("sys.quarantine", "1:", "path", when="-d -c -cr -rc -rd -dr"), _READ),
    "installer": Program(Does("pkg.foreign", "-pkg", "package"), values="-pkg -target", single=True),
    "pkgutil": Program(Does("pkg.system.remove", "--forget", "package"), _READ, values="--forget"),
    **programs(
        "sw_vers system_profiler mdfind mdls ioreg vm_stat pbpaste pbcopy open say caffeinate screencapture codesign lipo dyld_info sips textutil plutil afplay xcode-select",
        Program(_READ),
    ),
    "xcrun": Program(
        Does("code.build"),
        subs={
            "simctl erase": Does("vm.delete", "*", "resource", recoverable=True),
            "simctl delete": Does("vm.delete", "*", "resource", recoverable=True),
            "notarytool submit": Does("net.send"),
            "altool": Does("net.send"),
            "simctl list": _READ,
        },
    ),
    "mdutil": Program(_SET, dry="-s"),
    "PlistBuddy": Program(Does("fs.write", "0", when="-c")),
}
