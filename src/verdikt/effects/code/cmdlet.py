"""Cmdlets: the ones that matter by themselves, every other by its verb and its noun."""

from collections.abc import Callable, Iterator

from verdikt.effects.argument import words
from verdikt.effects.call import Call
from verdikt.effects.code.drive import REGISTRY, deletes, reads
from verdikt.effects.code.windows_line import Given, Spoken, given_to
from verdikt.model.effect import Effect, Target

ALIASES = {
    **dict.fromkeys(("rm", "ri", "del", "erase", "rd", "rmdir"), "remove-item"),
    **dict.fromkeys(("iwr", "irm", "curl", "wget", "invoke-restmethod"), "invoke-webrequest"),
    **dict.fromkeys(("kill", "spps"), "stop-process"),
    **dict.fromkeys(("gc", "cat", "type"), "get-content"),
    **dict.fromkeys(("rp", "clear-itemproperty"), "remove-itemproperty"),
    "iex": "invoke-expression",
    "icm": "invoke-command",
    "saps": "start-process",
    "spsv": "stop-service",
    "clc": "clear-content",
    "clhy": "clear-history",
    "sc": "set-content",
    "ac": "add-content",
    "start": "start-process",
    "gci": "get-childitem",
    "dir": "get-childitem",
    "gi": "get-item",
}

_READING = words(
    "get show test measure select find where foreach sort format out write read convertto convertfrom compare group import export resolve join split "
    "ping trace debug confirm search tee limit watch enter push pop"
)

_ENDING = words(
    "remove clear uninstall reset stop disable revoke dismount initialize format unregister suspend disconnect block"
)

_HARMLESS_NOUNS = words(
    "variable alias module job pssession event psbreakpoint typedata psdrive host custom screen transcript table list wide object string csv html xml json property error"
)

_CLOUD = (
    "az",
    "ad",
    "mg",
    "ec2",
    "s3",
    "rds",
    "iam",
    "aws",
    "gc",
    "azure",
    "spo",
    "exo",
    "cosmos",
    "eks",
    "ecs",
    "lm",
    "cfn",
    "ddb",
)


def is_cmdlet(name: str) -> bool:
    """Whether a name is made of a verb and a noun, as those of cmdlets are; an alias counts for what it stands for."""
    verb, dash, _ = ALIASES.get(name, name).partition("-")
    return bool(dash) and verb in _VERBS


def cmdlet(spoken: Spoken, call: Call) -> Iterator[Effect]:
    """What a cmdlet does, unless it is asked only to say so."""
    name = ALIASES.get(spoken.name, spoken.name)
    given = given_to(spoken)
    if "-whatif" in given.flags and given.flags["-whatif"] != "$false":
        return
    verb, _, noun = name.partition("-")
    if name in _SPECIAL:
        yield from _SPECIAL[name](given, call)
    else:
        yield from _verb_noun(verb, noun, given.operands or list(given.flags.values()), call)


_VERBS = (
    _READING
    | _ENDING
    | words(
        "new set add invoke start restart register enable install update rename copy move send publish save mount unblock grant restore wait open close "
        "expand compress use request repair optimize switch lock unlock sync merge exit edit submit deny protect unprotect convert"
    )
)


def _remove_item(given: Given, call: Call) -> Iterator[Effect]:
    tree = any("-recurse".startswith(flag) and len(flag) > 1 for flag in given.flags)
    yield from deletes(given.paths, "fs.delete.tree" if tree else "fs.delete", call)


def _clear_content(given: Given, call: Call) -> Iterator[Effect]:
    yield from deletes(given.paths, "fs.truncate", call)


def _remove_property(given: Given, call: Call) -> Iterator[Effect]:
    yield call.effect("reg.delete", _targets(given.paths))


def _set_property(given: Given, call: Call) -> Iterator[Effect]:
    later = any("\\run" in path.lower() for path in given.paths)
    registry = any(map(REGISTRY.match, given.paths))
    yield call.effect("persist.write" if later else "sys.setting" if registry else "fs.write", _targets(given.paths))


def _request(given: Given, call: Call) -> Iterator[Effect]:
    sends = bool(given.flags.keys() & {"-infile", "-body", "-form"})
    sends = sends or given.value("-method", "-me").lower() in ("post", "put", "patch")
    hosts = tuple(Target(text, "host") for text in [given.value("-uri"), *given.operands] if text)
    yield call.effect("net.send" if sends else "net.fetch", hosts[:1])


def _stop_process(given: Given, call: Call) -> Iterator[Effect]:
    names = [text for text in [*given.operands, given.value("-name"), given.value("-id")] if text]
    everything = any(text in ("*", ".") for text in names) or bool(given.value("-name", "-processname"))
    yield call.effect("proc.kill.all" if everything else "proc.kill", tuple(Target(text, "pid") for text in names))


def _get_content(given: Given, call: Call) -> Iterator[Effect]:
    yield from reads([path for path in given.paths if not REGISTRY.match(path)], call)


def _children(given: Given, call: Call) -> Iterator[Effect]:
    """`Get-ChildItem Env:` shows the environment; anything else is a look at names."""
    whole = any(path.lower().rstrip("\\/*") == "env:" for path in given.paths)
    yield call.effect("env.read.all" if whole else "sys.read")


def _set_content(given: Given, call: Call) -> Iterator[Effect]:
    if given.flags.get("-value") == "" and "-value" in given.flags:
        yield from deletes(given.paths, "fs.truncate", call)
        return
    later = any(path.lower().startswith("$profile") or "\\startup\\" in path.lower() for path in given.paths)
    yield call.effect("persist.write" if later else "code.run", _targets(given.paths))


def _execution_policy(given: Given, call: Call) -> Iterator[Effect]:
    policy = given.value("-executionpolicy") or " ".join(given.operands)
    yield call.effect("sys.setting", (Target(policy or "the execution policy", "other"),))


def _scanner(given: Given, call: Call) -> Iterator[Effect]:
    off = any("disable" in flag or "exclusion" in flag for flag in given.flags)
    yield call.effect("sys.security" if off else "sys.setting", (Target("the virus scanner", "other"),))


def _firewall(given: Given, call: Call) -> Iterator[Effect]:
    off = "false" in given.value("-enabled").lower() or any(text.lower() == "false" for text in given.operands)
    yield call.effect("sys.security" if off else "sys.firewall", (Target("the firewall", "other"),))


def _start_process(given: Given, call: Call) -> Iterator[Effect]:
    raised = given.value("-verb").lower() == "runas" or any(text.lower() == "runas" for text in given.operands)
    yield call.effect("priv.escalate" if raised else "code.run", _targets(given.operands[:1]))


def _elsewhere(given: Given, call: Call) -> Iterator[Effect]:
    name = given.value("-computername", "-cn")
    yield call.effect("infra.run" if name else "code.run", (Target(name, "host"),) if name else ())


def _recycle_bin(_given: Given, call: Call) -> Iterator[Effect]:
    yield call.effect("backup.delete", (Target("the recycle bin", "other"),))


def _stop_service(given: Given, call: Call) -> Iterator[Effect]:
    from verdikt.effects.program.system import is_protection

    names = [text for text in [*given.operands, given.value("-name")] if text]
    units = tuple(Target(text, "unit") for text in names)
    yield call.effect("sys.security" if any(map(is_protection, names)) else "sys.service.stop", units)


_SPECIAL: dict[str, Callable[[Given, Call], Iterator[Effect]]] = {
    "remove-item": _remove_item,
    "clear-content": _clear_content,
    "remove-itemproperty": _remove_property,
    "set-itemproperty": _set_property,
    "new-itemproperty": _set_property,
    "invoke-webrequest": _request,
    "stop-process": _stop_process,
    "get-content": _get_content,
    "get-childitem": _children,
    "get-item": _children,
    "set-content": _set_content,
    "add-content": _set_content,
    "set-executionpolicy": _execution_policy,
    "set-mppreference": _scanner,
    "add-mppreference": _scanner,
    "set-netfirewallprofile": _firewall,
    "start-process": _start_process,
    "invoke-command": _elsewhere,
    "clear-recyclebin": _recycle_bin,
    "stop-service": _stop_service,
    "set-service": _stop_service,
    "remove-service": _stop_service,
    "suspend-service": _stop_service,
}


def _verb_noun(verb: str, noun: str, names: list[str], call: Call) -> Iterator[Effect]:
    """A cmdlet by its verb and its noun, so that one nobody listed is understood too."""
    targets = _targets(names[:2])
    for nouns, ending, changing in _NOUNS:
        if noun in words(nouns):
            if verb in _ENDING:
                yield call.effect(ending, targets)
            elif verb not in _READING:
                yield call.effect(changing, targets)
            else:
                yield call.effect("sys.read")
            return
    if verb in _READING or noun in _HARMLESS_NOUNS:
        yield call.effect("sys.read")
    elif noun.startswith(_CLOUD) and len(noun) > 3:
        yield call.effect(
            "cloud.delete" if verb in ("remove", "clear", "reset", "uninstall") else "cloud.write", targets
        )
    elif verb in _ENDING:
        yield call.effect("sys.setting", targets)
    else:
        yield call.effect("code.run", targets, note=f"{verb}-{noun}")


_NOUNS: tuple[tuple[str, str, str], ...] = (
    # nouns, the effect of ending it, the effect of changing it
    ("disk volume partition physicaldisk storagepool virtualdisk physicaldiskindication", "disk.format", "disk.repair"),
    ("computer", "sys.power", "sys.power"),
    ("localuser aduser", "sys.user.delete", "sys.user"),
    ("localgroupmember adgroupmember adprincipalgroupmembership", "sys.user", "priv.grant"),
    ("eventlog winevent winevents", "log.wipe", "sys.setting"),
    ("scheduledtask scheduledjob", "sys.setting", "persist.cron"),
    ("service", "sys.service.stop", "persist.unit"),
    ("history", "sys.log", "sys.log"),
    (
        "bitlocker computerrestore mpprotection netfirewallrule netfirewallprofile windowsdefender localaccount uac",
        "sys.security",
        "sys.firewall",
    ),
    ("vm vmsnapshot vmcheckpoint vmharddiskdrive", "vm.delete", "vm.run"),
    ("shadowcopy wbbackupset wbcatalog wbsystemstatebackup", "backup.delete", "backup.write"),
    ("package appxpackage windowsfeature windowspackage windowscapability", "pkg.system.remove", "pkg.system"),
    ("netadapter netipaddress netroute dnsclientserveraddress", "sys.network", "sys.network"),
    ("certificate", "cred.delete", "cred.write"),
    ("mailmessage", "message.send", "message.send"),
    ("dnsserverzone dhcpserverv4scope", "cloud.delete", "cloud.write"),
)


def _targets(texts: list[str]) -> tuple[Target, ...]:
    return tuple(Target(text, "other") for text in texts if text)
