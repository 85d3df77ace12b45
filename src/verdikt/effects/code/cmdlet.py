"""Classify cmdlets: the dangerous ones by a function each, every other by its verb and its noun."""

from collections.abc import Callable, Iterator

from verdikt.effects.arguments import word_set
from verdikt.effects.code.windows_paths import REGISTRY_PATH, classify_deletes, classify_reads
from verdikt.effects.code.windows_shell_parser import CmdletArguments, WindowsCommand, parse_arguments
from verdikt.effects.invocation import Invocation
from verdikt.effects.word_kinds import is_protection
from verdikt.model.effect import Effect, Target

# The built-in aliases of cmdlets that matter; in Windows PowerShell `curl` and `wget` are aliases too.
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

_READ_VERBS = word_set(
    "get show test measure select find where foreach sort format out write read convertto convertfrom compare group "
    "import export resolve join split ping trace debug confirm search tee limit watch enter push pop"
)

_END_VERBS = word_set(
    "remove clear uninstall reset stop disable revoke dismount initialize format unregister suspend disconnect block"
)

_HARMLESS_NOUNS = word_set(
    "variable alias module job pssession event psbreakpoint typedata psdrive host custom screen transcript table "
    "list wide object string csv html xml json property error"
)

# Prefixes of nouns in the modules of clouds and directories: Remove-AzVM, Remove-S3Bucket, Remove-ADUser.
_CLOUD_PREFIXES = (
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
    """Return whether a name, or what it is an alias for, is a verb and a noun, as the names of cmdlets are."""
    verb, dash, _ = ALIASES.get(name, name).partition("-")
    return bool(dash) and verb in _VERBS


def classify_cmdlet(command: WindowsCommand, call: Invocation) -> Iterator[Effect]:
    """Yield the effects of a cmdlet; none with `-WhatIf`."""
    name = ALIASES.get(command.name, command.name)
    arguments = parse_arguments(command)
    if "-whatif" in arguments.flags and arguments.flags["-whatif"] != "$false":
        return
    verb, _, noun = name.partition("-")
    if name in _CLASSIFIERS:
        yield from _CLASSIFIERS[name](arguments, call)
    else:
        yield from _classify_by_verb(verb, noun, arguments.operands or list(arguments.flags.values()), call)


_VERBS = (
    _READ_VERBS
    | _END_VERBS
    | word_set(
        "new set add invoke start restart register enable install update rename copy move send publish save mount "
        "unblock grant restore wait open close expand compress use request repair optimize switch lock unlock sync "
        "merge exit edit submit deny protect unprotect convert"
    )
)


def _classify_remove_item(arguments: CmdletArguments, call: Invocation) -> Iterator[Effect]:
    # PowerShell accepts a flag cut off anywhere: -r, -rec.
    tree = any("-recurse".startswith(flag) and len(flag) > 1 for flag in arguments.flags)
    yield from classify_deletes(arguments.paths, "fs.delete.tree" if tree else "fs.delete", call)


def _classify_clear_content(arguments: CmdletArguments, call: Invocation) -> Iterator[Effect]:
    yield from classify_deletes(arguments.paths, "fs.truncate", call)


def _classify_remove_property(arguments: CmdletArguments, call: Invocation) -> Iterator[Effect]:
    yield call.make_effect("reg.delete", _to_targets(arguments.paths))


def _classify_set_property(arguments: CmdletArguments, call: Invocation) -> Iterator[Effect]:
    # Programs below the registry keys Run and RunOnce start at every login.
    later = any("\\run" in path.lower() for path in arguments.paths)
    registry = any(map(REGISTRY_PATH.match, arguments.paths))
    yield call.make_effect(
        "persist.write" if later else "sys.setting" if registry else "fs.write", _to_targets(arguments.paths)
    )


def _classify_web_request(arguments: CmdletArguments, call: Invocation) -> Iterator[Effect]:
    sends = bool(arguments.flags.keys() & {"-infile", "-body", "-form"})
    sends = sends or arguments.get_value("-method", "-me").lower() in ("post", "put", "patch")
    hosts = tuple(Target(text, "host") for text in [arguments.get_value("-uri"), *arguments.operands] if text)
    yield call.make_effect("net.send" if sends else "net.fetch", hosts[:1])


def _classify_stop_process(arguments: CmdletArguments, call: Invocation) -> Iterator[Effect]:
    names = [text for text in [*arguments.operands, arguments.get_value("-name"), arguments.get_value("-id")] if text]
    # A name may match many processes; an id is one.
    everything = any(text in ("*", ".") for text in names) or bool(arguments.get_value("-name", "-processname"))
    yield call.make_effect("proc.kill.all" if everything else "proc.kill", tuple(Target(text, "pid") for text in names))


def _classify_get_content(arguments: CmdletArguments, call: Invocation) -> Iterator[Effect]:
    yield from classify_reads([path for path in arguments.paths if not REGISTRY_PATH.match(path)], call)


def _classify_get_children(arguments: CmdletArguments, call: Invocation) -> Iterator[Effect]:
    """Yield `env.read.all` for `Get-ChildItem Env:`; anything else only lists names."""
    whole = any(path.lower().rstrip("\\/*") == "env:" for path in arguments.paths)
    yield call.make_effect("env.read.all" if whole else "sys.read")


def _classify_set_content(arguments: CmdletArguments, call: Invocation) -> Iterator[Effect]:
    # `Set-Content x -Value ""` empties the file.
    if arguments.flags.get("-value") == "" and "-value" in arguments.flags:
        yield from classify_deletes(arguments.paths, "fs.truncate", call)
        return
    later = any(path.lower().startswith("$profile") or "\\startup\\" in path.lower() for path in arguments.paths)
    yield call.make_effect("persist.write" if later else "code.run", _to_targets(arguments.paths))


def _classify_execution_policy(arguments: CmdletArguments, call: Invocation) -> Iterator[Effect]:
    policy = arguments.get_value("-executionpolicy") or " ".join(arguments.operands)
    yield call.make_effect("sys.setting", (Target(policy or "the execution policy", "other"),))


def _classify_virus_scanner(arguments: CmdletArguments, call: Invocation) -> Iterator[Effect]:
    # An exclusion switches the scanner off for whatever it covers.
    off = any("disable" in flag or "exclusion" in flag for flag in arguments.flags)
    yield call.make_effect("sys.security" if off else "sys.setting", (Target("the virus scanner", "other"),))


def _classify_firewall(arguments: CmdletArguments, call: Invocation) -> Iterator[Effect]:
    off = "false" in arguments.get_value("-enabled").lower() or any(
        text.lower() == "false" for text in arguments.operands
    )
    yield call.make_effect("sys.security" if off else "sys.firewall", (Target("the firewall", "other"),))


def _classify_start_process(arguments: CmdletArguments, call: Invocation) -> Iterator[Effect]:
    elevated = arguments.get_value("-verb").lower() == "runas" or any(
        text.lower() == "runas" for text in arguments.operands
    )
    yield call.make_effect("priv.escalate" if elevated else "code.run", _to_targets(arguments.operands[:1]))


def _classify_invoke_command(arguments: CmdletArguments, call: Invocation) -> Iterator[Effect]:
    name = arguments.get_value("-computername", "-cn")
    yield call.make_effect("infra.run" if name else "code.run", (Target(name, "host"),) if name else ())


def _classify_recycle_bin(_arguments: CmdletArguments, call: Invocation) -> Iterator[Effect]:
    yield call.make_effect("backup.delete", (Target("the recycle bin", "other"),))


def _classify_stop_service(arguments: CmdletArguments, call: Invocation) -> Iterator[Effect]:
    names = [text for text in [*arguments.operands, arguments.get_value("-name")] if text]
    units = tuple(Target(text, "unit") for text in names)
    yield call.make_effect("sys.security" if any(map(is_protection, names)) else "sys.service.stop", units)


_CLASSIFIERS: dict[str, Callable[[CmdletArguments, Invocation], Iterator[Effect]]] = {
    "remove-item": _classify_remove_item,
    "clear-content": _classify_clear_content,
    "remove-itemproperty": _classify_remove_property,
    "set-itemproperty": _classify_set_property,
    "new-itemproperty": _classify_set_property,
    "invoke-webrequest": _classify_web_request,
    "stop-process": _classify_stop_process,
    "get-content": _classify_get_content,
    "get-childitem": _classify_get_children,
    "get-item": _classify_get_children,
    "set-content": _classify_set_content,
    "add-content": _classify_set_content,
    "set-executionpolicy": _classify_execution_policy,
    "set-mppreference": _classify_virus_scanner,
    "add-mppreference": _classify_virus_scanner,
    "set-netfirewallprofile": _classify_firewall,
    "start-process": _classify_start_process,
    "invoke-command": _classify_invoke_command,
    "clear-recyclebin": _classify_recycle_bin,
    "stop-service": _classify_stop_service,
    "set-service": _classify_stop_service,
    "remove-service": _classify_stop_service,
    "suspend-service": _classify_stop_service,
}


def _classify_by_verb(verb: str, noun: str, names: list[str], call: Invocation) -> Iterator[Effect]:
    """Yield the effect of a cmdlet without a function of its own, by its verb and its noun."""
    targets = _to_targets(names[:2])
    for nouns, ending, changing in _NOUN_EFFECTS:
        if noun in word_set(nouns):
            if verb in _END_VERBS:
                yield call.make_effect(ending, targets)
            elif verb not in _READ_VERBS:
                yield call.make_effect(changing, targets)
            else:
                yield call.make_effect("sys.read")
            return
    if verb in _READ_VERBS or noun in _HARMLESS_NOUNS:
        yield call.make_effect("sys.read")
    elif noun.startswith(_CLOUD_PREFIXES) and len(noun) > 3:
        yield call.make_effect(
            "cloud.delete" if verb in ("remove", "clear", "reset", "uninstall") else "cloud.write", targets
        )
    elif verb in _END_VERBS:
        yield call.make_effect("sys.setting", targets)
    else:
        yield call.make_effect("code.run", targets, note=f"{verb}-{noun}")


_NOUN_EFFECTS: tuple[tuple[str, str, str], ...] = (
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


def _to_targets(texts: list[str]) -> tuple[Target, ...]:
    return tuple(Target(text, "other") for text in texts if text)
