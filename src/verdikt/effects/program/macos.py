"""macOS: disks, launch services, protections, settings."""

from collections.abc import Iterator

from verdikt.effects.invocation import Invocation
from verdikt.effects.program.system import is_protection
from verdikt.model.effect import Effect, Target

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


def classify_diskutil(call: Invocation) -> Iterator[Effect]:
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


def classify_defaults(call: Invocation) -> Iterator[Effect]:
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


def classify_launchctl(call: Invocation) -> Iterator[Effect]:
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


def classify_dscl(call: Invocation) -> Iterator[Effect]:
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


def classify_nvram(call: Invocation) -> Iterator[Effect]:
    if any("=" in word.text for word in call.args.operands):
        yield call.make_effect("sys.boot", tuple(Target(word.display_text, "other") for word in call.args.operands))


def classify_switch(call: Invocation, *, what: str) -> Iterator[Effect]:
    """Programs whose flags say `-get…` or `-set…`."""
    changes = any(
        flag.startswith(("-set", "-add", "-remove", "-create", "-delete", "-switch")) for flag, _ in call.args.flags
    )
    yield call.make_effect(what if changes else "sys.read")
