"""PowerShell and cmd text: each command by its cmdlet (a verb and a noun) or its program; what is neither is run unseen."""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from verdikt.effects.argument import words
from verdikt.effects.call import Call
from verdikt.effects.name import named
from verdikt.model.effect import Certainty, Effect, Target, Zone
from verdikt.model.regex import regex
from verdikt.model.value import replace
from verdikt.shell.command import UNKNOWN, Word

_LONGEST = 100_000
_DEEPEST = 6
_SHELL = regex(r"(?i)\b(?:cmd|powershell|pwsh)\b")

_ALIASES = {
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
_FETCH = regex(
    r"(?i)\b(?:iwr|irm|invoke-webrequest|invoke-restmethod|curl|wget|start-bitstransfer)\b|\.download(?:string|data|file)\b|net\.webclient"
)
_RUN = regex(r"(?i)\b(?:iex|invoke-expression)\b|scriptblock\]::create")
_DECODE = regex(r"(?i)frombase64string|gzipstream|deflatestream|-bxor")
_SOCKET = regex(r"(?i)net\.sockets\.tcpclient|\bpowercat\b|invoke-powershelltcp")

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
_VALUES = words(
    "-path -literalpath -filter -include -exclude -erroraction -ea -credential -name -id -uri -outfile -method -body -infile -number -driveletter -logname -computername -value -itemtype -destination -argumentlist -filepath -taskname -action -trigger -scope -executionpolicy -username -password"
)

_SYSTEM = regex(
    r"(?i)^(?:[a-z]:[\\/]*(?:\*|windows|program|users(?:[\\/][\w.]+)?[\\/]*\*?$|$)|\$env:(?:systemroot|windir|programfiles|systemdrive|userprofile|homepath|homedrive)"
    r"|%(?:systemroot|windir|systemdrive|userprofile|programfiles|homepath)%|~[\\/]*\*?$|\$home[\\/]*\*?$|/$)"
)
_ABSOLUTE = regex(r"(?i)^(?:[a-z]:[\\/]|\\\\|\$env:|%|~|/|\$home)")
_REGISTRY = regex(r"(?i)^(?:hk(?:lm|cu|cr|u|cc):|registry::|hkey_)")


_DELETED = regex(r"(?i)\[(?:system\.)?io\.(file|directory)\]::delete\(\s*['\"]([^'\"]+)")


class _Spoken(NamedTuple):
    """A command: its name in lower case, and its words with whether each was quoted."""

    name: str
    words: tuple[tuple[str, bool], ...]


def read_windows(text: str, call: Call, language: str) -> Iterator[Effect]:
    """What PowerShell or cmd text would do; a command that nobody here knows is run unseen."""
    text = text[:_LONGEST]
    for statement in _statements(text):
        bare = _unquoted(statement)
        if _SOCKET.search(statement):
            yield call.effect("net.shell", note="a shell over a bare connection")
        if _RUN.search(bare):
            yield from _evaluated(statement, call)
            continue
        yield from _methods(statement, call)
        before: _Spoken | None = None
        for spoken in _commands(statement):
            if language == "powershell":
                yield from _cmdlet(_fed(spoken, before), call)
                before = spoken
            else:
                yield from _builtin(spoken, call)


def _methods(statement: str, call: Call) -> Iterator[Effect]:
    """.NET and WMI, which need no cmdlet."""
    for found in _DELETED.finditer(statement):
        yield from deletes(
            [found.group(2)], "fs.delete.tree" if found.group(1).lower() == "directory" else "fs.delete", call
        )
    if "shadowcopy" in statement.lower() and re.search(r"(?i)\.\s*delete\s*\(", statement):
        yield call.effect("backup.delete", (Target("shadow copies", "other"),))


def _fed(spoken: _Spoken, before: _Spoken | None) -> _Spoken:
    """What comes through the pipe stands in for the operands that a cmdlet was not given."""
    name = _ALIASES.get(spoken.name, spoken.name)
    if before is None or name not in ("remove-item", "stop-process") or _given(spoken).operands:
        return spoken
    if before.name in ("get-childitem", "gci", "ls", "dir", "get-item", "gi") and name == "remove-item":
        given = _given(before)
        fed = given.paths or ["."]
        deep = [("-recurse", False)] if any(f in ("-recurse", "-r", "-rec", "-s") for f in given.flags) else []
        if not given.paths and given.value("-filter", "-include"):
            fed = [given.value("-filter", "-include")]
        return _Spoken(spoken.name, (*spoken.words, *deep, *((path, True) for path in fed)))
    if before.name in ("get-process", "gps", "ps") and name == "stop-process" and not before.words:
        return _Spoken(spoken.name, (*spoken.words, ("*", True)))
    return (
        _Spoken(spoken.name, (*spoken.words, ("$_", False)))
        if name == "remove-item" and "-path" not in _given(spoken).flags
        else spoken
    )


def _evaluated(statement: str, call: Call) -> Iterator[Effect]:
    """`iex`: where does the text come from?"""
    if _FETCH.search(statement):
        yield call.effect("code.remote", note="runs what it downloads")
    elif _DECODE.search(statement):
        yield call.effect("code.hidden", note="runs what a decoder makes of its input")
    else:
        yield call.effect("code.unknown", possible=True, note="evaluates text that is made at run time")


def _statements(text: str) -> list[str]:
    return [part for part in _split(text, ";\n") if part.strip()]


def _commands(statement: str) -> Iterator[_Spoken]:
    for part in _split(statement, "|&(){}"):
        tokens = _words(part)
        while (
            tokens
            and (
                tokens[0][0] in (".", "=", "return", "if", "else", "try", "finally", "@")
                or tokens[0][0].startswith(("$", "[", ")"))
            )
            and not tokens[0][1]
        ):
            tokens = tokens[2:] if len(tokens) > 1 and tokens[1][0] in ("=", "+=") else tokens[1:]
        if tokens and tokens[0][0] and not tokens[0][0].startswith("-"):
            yield _Spoken(tokens[0][0].lower().removesuffix(".exe").rsplit("\\", 1)[-1], tuple(tokens[1:]))


def _split(text: str, marks: str) -> list[str]:
    """The text between these marks, where they are not quoted."""
    parts, start, quote = [], 0, ""
    for index, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in marks:
            parts.append(text[start:index])
            start = index + 1
    parts.append(text[start:])
    return parts


def _words(text: str) -> list[tuple[str, bool]]:
    return [
        (found[1] or found[2] or found[0].strip("'\""), found[0][:1] in "'\"")
        for found in re.finditer(r"\"([^\"]*)\"|'([^']*)'|[^\s,]+", text)
    ]


def _unquoted(text: str) -> str:
    return re.sub(r"\"[^\"]*\"|'[^']*'", " ", text)


def _given(spoken: _Spoken) -> "_Given":
    operands: list[str] = []
    flags: dict[str, str] = {}
    wants = ""
    for text, quoted in spoken.words:
        if wants:
            flags[wants] = text
            wants = ""
        elif text.startswith("-") and not quoted and len(text) > 1:
            name, colon, value = text.lower().partition(":")
            flags[name] = value
            if not colon and name in _VALUES:
                wants = name
        else:
            operands.append(text)
    return _Given(operands, flags)


class _Given(NamedTuple):
    """The arguments of a cmdlet: operands, then flags in lower case with their values."""

    operands: list[str]
    flags: dict[str, str]

    def value(self, *names: str) -> str:
        return next((self.flags[name] for name in names if self.flags.get(name)), "")

    @property
    def paths(self) -> list[str]:
        return self.operands + [self.flags[flag] for flag in ("-path", "-literalpath") if flag in self.flags]


def _cmdlet(spoken: _Spoken, call: Call) -> Iterator[Effect]:
    name = _ALIASES.get(spoken.name, spoken.name)
    given = _given(spoken)
    if "-whatif" in given.flags and given.flags["-whatif"] != "$false":
        return
    verb, dash, noun = name.partition("-")
    if not dash or verb not in _VERBS:
        yield from _program(spoken, call)
    elif name in _SPECIAL:
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


def _remove_item(given: _Given, call: Call) -> Iterator[Effect]:
    tree = any("-recurse".startswith(flag) and len(flag) > 1 for flag in given.flags)
    yield from deletes(given.paths, "fs.delete.tree" if tree else "fs.delete", call)


def _clear_content(given: _Given, call: Call) -> Iterator[Effect]:
    yield from deletes(given.paths, "fs.truncate", call)


def _remove_property(given: _Given, call: Call) -> Iterator[Effect]:
    yield call.effect("reg.delete", _targets(given.paths))


def _set_property(given: _Given, call: Call) -> Iterator[Effect]:
    later = any("\\run" in path.lower() for path in given.paths)
    registry = any(map(_REGISTRY.match, given.paths))
    yield call.effect("persist.write" if later else "sys.setting" if registry else "fs.write", _targets(given.paths))


def _request(given: _Given, call: Call) -> Iterator[Effect]:
    sends = bool(given.flags.keys() & {"-infile", "-body", "-form"})
    sends = sends or given.value("-method", "-me").lower() in ("post", "put", "patch")
    hosts = tuple(Target(text, "host") for text in [given.value("-uri"), *given.operands] if text)
    yield call.effect("net.send" if sends else "net.fetch", hosts[:1])


def _stop_process(given: _Given, call: Call) -> Iterator[Effect]:
    names = [text for text in [*given.operands, given.value("-name"), given.value("-id")] if text]
    everything = any(text in ("*", ".") for text in names) or bool(given.value("-name", "-processname"))
    yield call.effect("proc.kill.all" if everything else "proc.kill", tuple(Target(text, "pid") for text in names))


def _get_content(given: _Given, call: Call) -> Iterator[Effect]:
    yield from reads([path for path in given.paths if not _REGISTRY.match(path)], call)


def _children(given: _Given, call: Call) -> Iterator[Effect]:
    """`Get-ChildItem Env:` shows the environment; anything else is a look at names."""
    whole = any(path.lower().rstrip("\\/*") == "env:" for path in given.paths)
    yield call.effect("env.read.all" if whole else "sys.read")


def _set_content(given: _Given, call: Call) -> Iterator[Effect]:
    if given.flags.get("-value") == "" and "-value" in given.flags:
        yield from deletes(given.paths, "fs.truncate", call)
        return
    later = any(path.lower().startswith("$profile") or "\\startup\\" in path.lower() for path in given.paths)
    yield call.effect("persist.write" if later else "code.run", _targets(given.paths))


def _execution_policy(given: _Given, call: Call) -> Iterator[Effect]:
    policy = given.value("-executionpolicy") or " ".join(given.operands)
    yield call.effect("sys.setting", (Target(policy or "the execution policy", "other"),))


def _scanner(given: _Given, call: Call) -> Iterator[Effect]:
    off = any("disable" in flag or "exclusion" in flag for flag in given.flags)
    yield call.effect("sys.security" if off else "sys.setting", (Target("the virus scanner", "other"),))


def _firewall(given: _Given, call: Call) -> Iterator[Effect]:
    off = "false" in given.value("-enabled").lower() or any(text.lower() == "false" for text in given.operands)
    yield call.effect("sys.security" if off else "sys.firewall", (Target("the firewall", "other"),))


def _start_process(given: _Given, call: Call) -> Iterator[Effect]:
    raised = given.value("-verb").lower() == "runas" or any(text.lower() == "runas" for text in given.operands)
    yield call.effect("priv.escalate" if raised else "code.run", _targets(given.operands[:1]))


def _elsewhere(given: _Given, call: Call) -> Iterator[Effect]:
    name = given.value("-computername", "-cn")
    yield call.effect("infra.run" if name else "code.run", (Target(name, "host"),) if name else ())


def _recycle_bin(_given: _Given, call: Call) -> Iterator[Effect]:
    yield call.effect("backup.delete", (Target("the recycle bin", "other"),))


def _stop_service(given: _Given, call: Call) -> Iterator[Effect]:
    from verdikt.effects.program.system import is_protection

    names = [text for text in [*given.operands, given.value("-name")] if text]
    units = tuple(Target(text, "unit") for text in names)
    yield call.effect("sys.security" if any(map(is_protection, names)) else "sys.service.stop", units)


_SPECIAL: dict[str, Callable[[_Given, Call], Iterator[Effect]]] = {
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


def _builtin(spoken: _Spoken, call: Call) -> Iterator[Effect]:
    """cmd: what it knows by itself; the rest are programs."""
    texts = [text for text, _ in spoken.words]
    switches = {text.lower() for text in texts if text.startswith("/")}
    names = [text for text in texts if not text.startswith("/")]
    if spoken.name in ("del", "erase"):
        yield from deletes(names, "fs.delete.tree" if "/s" in switches else "fs.delete", call)
    elif spoken.name in ("rd", "rmdir"):
        yield from deletes(
            names, "fs.delete.tree" if "/s" in switches else "fs.delete", call, empty="/s" not in switches
        )
    elif spoken.name in ("powershell", "pwsh"):
        yield from _inner(spoken, call)
    elif spoken.name == "type":
        yield from reads(names, call)
    elif spoken.name in _QUIET:
        yield call.effect("sys.read")
    else:
        yield from _program(spoken, call)


_QUIET = words(
    "echo dir cd chdir set rem ver vol title cls pause if for goto exit setlocal endlocal pushd popd prompt color date time assoc ftype call where tree more find findstr mkdir md copy move ren rename xcopy"
)


def _inner(spoken: _Spoken, call: Call) -> Iterator[Effect]:
    """One shell called by the other: `cmd /c …`, `powershell -c …`."""
    texts = [text for text, _ in spoken.words]
    starts = [i for i, text in enumerate(texts) if text.lower() in ("/c", "/k", "-c", "-command", "/command")]
    rest = texts[starts[0] + 1 :] if starts else [text for text in texts if not text.startswith(("-", "/"))]
    line = " ".join(f'"{text}"' if " " in text and len(rest) > 1 else text for text in rest)
    if len(_SHELL.findall(line)) > _DEEPEST:
        yield call.effect("code.unknown", possible=True, note="shells within shells")
    elif line:
        yield from read_windows(line, call, "cmd" if spoken.name == "cmd" else "powershell")


def _program(spoken: _Spoken, call: Call) -> Iterator[Effect]:
    """A program of the machine, by the same table as in any other shell."""
    from verdikt.effects.program import lookup

    if spoken.name in ("cmd", "powershell", "pwsh") and spoken.words:
        yield from _inner(spoken, call)
        return
    program = lookup(spoken.name)
    if program is None:
        yield call.effect("code.run", (Target(spoken.name, "other"),))
        return
    argv = (Word(spoken.name), *(Word(text) for text, _ in spoken.words))
    inner = Call(replace(call.command, argv=argv), call.resolver, call.commands, call.shell_of, name=spoken.name)
    yield from inner.run(program)


def _targets(texts: list[str]) -> tuple[Target, ...]:
    return tuple(Target(text, "other") for text in texts if text)


def reads(paths: list[str], call: Call) -> list[Effect]:
    """A reading of Windows paths; on whichever drive they lie, homes and what is secret there are called the same."""
    return call.on("fs.read", [Word(_DRIVE.sub("", path).replace("\\", "/")) for path in paths])


_DRIVE = regex(r"^[A-Za-z]:(?=[\\/])")


def deletes(paths: list[str], what: str, call: Call, *, empty: bool = False) -> Iterator[Effect]:
    """A deletion of Windows paths, which nobody here can look at: they are judged by how they begin."""
    for path in paths[:8]:
        if path.lower() in ("silentlycontinue", "stop", "ignore"):
            continue
        if _REGISTRY.match(path):
            yield call.effect("reg.delete", (Target(path, "other"),))
            continue
        zone = Zone.SYSTEM if _SYSTEM.match(path) else Zone.OUTSIDE if _ABSOLUTE.match(path) else Zone.PROJECT
        if zone is Zone.PROJECT and path[:1] not in "$%" and UNKNOWN not in path and not empty:
            slashed = path.replace("\\", "/")
            yield from call.on(what, [Word(slashed, slashed, "*" in slashed or "?" in slashed)])
            continue
        built = zone is Zone.PROJECT and re.split(r"[\\/]", path.lstrip(".\\/"))[0] in _BUILT
        temporary = re.match(r"(?i)^(?:\$env:temp|%temp%|%tmp%|\$env:tmp|c:\\temp\\|/tmp/)", path) is not None
        unsure = (path.startswith("$") or UNKNOWN in path) and zone is not Zone.SYSTEM
        yield Effect(
            cls=named(what).cls,
            what=what,
            targets=(
                Target(path, "path", path, Zone.TEMP if temporary else zone, "ignored" if built or empty else ""),
            ),
            certainty=Certainty.POSSIBLE if unsure else Certainty.CERTAIN,
            recoverable=built or empty or temporary,
            by=call.by,
        )


_BUILT = words(
    "node_modules dist build target bin obj out .next coverage __pycache__ .pytest_cache .venv venv packages .vs testresults"
)
