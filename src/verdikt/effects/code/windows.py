"""PowerShell and cmd: the common destructive forms; the rest is left unknown."""

import re
from collections.abc import Iterator

from verdikt.effects.call import Call
from verdikt.effects.name import named
from verdikt.model.effect import Certainty, Effect, Target, Zone

_FORMS: tuple[tuple[str, str], ...] = (
    ("disk.format", r"(?:^|[\s;|&({])(?:format(?:\.com)?\s+[a-z]:|format-volume\b|clear-disk\b|initialize-disk\b)"),
    ("disk.partition", r"(?:^|[\s;|&({])(?:remove-partition|diskpart)\b"),
    (
        "sys.security",
        r"set-mppreference\s.*-disable|(?:netsh\s+advfirewall\s+set\s+\w+\s+state\s+off)|set-executionpolicy\s+(?:-\w+\s+)*(?:bypass|unrestricted)|set-netfirewallprofile\s.*-enabled\s+false|bcdedit\s|vssadmin\s+delete|wbadmin\s+delete|stop-service\s.*(?:windefend|mpssvc)|sc\s+(?:stop|delete|config)\s+windefend",
    ),
    ("sys.log", r"wevtutil\s+cl\b|clear-eventlog|remove-eventlog|clear-history"),
    ("sys.power", r"(?:^|[\s;|&({])(?:stop-computer|restart-computer|shutdown(?:\.exe)?\s+/[srhp])\b"),
    ("sys.user.delete", r"net\s+user\s+\S+\s+/delete|remove-localuser"),
    ("priv.grant", r"net\s+localgroup\s+administrators\s|add-localgroupmember"),
    ("sys.user", r"net\s+user\s+\S+\s+\S+\s+/add|new-localuser"),
    ("persist.cron", r"schtasks(?:\.exe)?\s+/create|register-scheduledtask|new-scheduledtask"),
    (
        "persist.write",
        r"\\currentversion\\run|new-service\b|sc(?:\.exe)?\s+create|set-itemproperty\s.*\\run\b|reg(?:\.exe)?\s+add\s.*\\run|\$profile\b.*(?:>|add-content|set-content)|add-content\s+\$profile",
    ),
    ("sys.setting", r"reg(?:\.exe)?\s+delete|remove-itemproperty\s|remove-item\s+(?:-path\s+)?['\"]?hk(?:lm|cu):"),
    (
        "code.remote",
        r"(?:iex|invoke-expression)\b.*(?:downloadstring|iwr|invoke-webrequest|irm|invoke-restmethod|net\.webclient|curl|wget)|(?:downloadstring|iwr|invoke-webrequest|irm|invoke-restmethod)\b.*\|\s*(?:iex|invoke-expression)|mshta\s+(?:http|javascript|vbscript)|regsvr32\s.*(?:/i:http|scrobj)|certutil\s.*-urlcache|bitsadmin\s.*/transfer|rundll32\s.*javascript",
    ),
    (
        "code.hidden",
        r"-e(?:nc(?:odedcommand)?|c)?\s+[a-z0-9+/=]{16,}|frombase64string.*(?:iex|invoke-expression)|(?:iex|invoke-expression).*frombase64string",
    ),
    ("net.shell", r"net\.sockets\.tcpclient|powercat|invoke-powershelltcp"),
    (
        "cred.read",
        r"mimikatz|sekurlsa|get-credential\b.*export|cmdkey\s+/list|reg(?:\.exe)?\s+save\s+hklm\\(?:sam|system|security)|ntdsutil|convertfrom-securestring|lsass",
    ),
    ("proc.kill.all", r"taskkill\s.*/im\s+\*|get-process\s*\|\s*stop-process"),
    ("proc.kill", r"(?:^|[\s;|&({])(?:taskkill|stop-process|kill)\b"),
    ("sys.service.stop", r"(?:^|[\s;|&({])(?:stop-service|net\s+stop|sc\s+stop)\b"),
    (
        "net.send",
        r"invoke-(?:webrequest|restmethod)\s.*-(?:method\s+['\"]?(?:post|put)|infile|body)|\b(?:iwr|irm)\s.*-(?:method\s+['\"]?(?:post|put)|infile|body)|uploadfile\(|uploadstring\(",
    ),
    ("net.fetch", r"(?:^|[\s;|&({])(?:invoke-webrequest|invoke-restmethod|iwr|irm|start-bitstransfer)\b"),
)
_COMPILED = tuple((what, re.compile(pattern, re.IGNORECASE | re.DOTALL)) for what, pattern in _FORMS)

_DELETE = re.compile(
    r"(?:^|[\s;|&({])(remove-item|ri|rm|rmdir|rd|del|erase|clear-content|clear-recyclebin)\b((?:\s+[^\s;|&)}]+)*)",
    re.IGNORECASE,
)
_TREE = re.compile(r"(?:^|\s)(?:-r(?:ec(?:urse)?)?\b|/s\b|-rf\b)", re.IGNORECASE)
_SYSTEM = re.compile(
    r"^['\"]?(?:[a-z]:[\\/]?(?:\*|windows|program|users(?:[\\/]\w+)?[\\/]?\*?$|$)|\$env:(?:systemroot|windir|programfiles|systemdrive|userprofile|homepath)|%(?:systemroot|windir|systemdrive|userprofile|programfiles)%|~|\$home|/)",
    re.IGNORECASE,
)
_ABSOLUTE = re.compile(r"^['\"]?(?:[a-z]:[\\/]|\\\\|\$env:|%|~|/|\$home)", re.IGNORECASE)


def read_windows(text: str, call: Call, language: str) -> Iterator[Effect]:
    """What PowerShell or cmd text would do, where its form is a known one."""
    known = False
    for found in _DELETE.finditer(text):
        known = True
        yield from _deletes(found, call)
    for what, pattern in _COMPILED:
        if pattern.search(text):
            known = True
            yield call.effect(what, note=language)
    if not known:
        yield call.effect("code.run", note=language)


def _deletes(found: "re.Match[str]", call: Call) -> Iterator[Effect]:
    arguments = found.group(2)
    tree = _TREE.search(arguments) is not None or found.group(1).lower() in ("rd", "rmdir")
    words = [
        w
        for w in arguments.split()
        if not w.startswith(("-", "/")) or (len(w) > 3 and w.startswith("/") and w[1:2].isalpha() and "/" in w[1:])
    ]
    words = [w for w in words if w.lower() not in ("silentlycontinue", "stop", "ignore")]
    what = "fs.delete.tree" if tree else "fs.delete"
    for word in words[:8]:
        zone = Zone.SYSTEM if _SYSTEM.match(word) else Zone.OUTSIDE if _ABSOLUTE.match(word) else Zone.PROJECT
        name = word.strip("'\"")
        build = zone is Zone.PROJECT and name.strip(".\\/").split("\\")[0].split("/")[0] in (
            "node_modules",
            "dist",
            "build",
            "target",
            "bin",
            "obj",
            "out",
            ".next",
            "coverage",
        )
        yield Effect(
            cls=named(what).cls,
            what=what,
            targets=(Target(name, "path", name, zone, "ignored" if build else ""),),
            certainty=Certainty.POSSIBLE if "$" in word and zone is not Zone.SYSTEM else Certainty.CERTAIN,
            recoverable=build,
            by=call.by,
        )


def decoded(text: str) -> str:
    """What `-EncodedCommand` holds; empty when it is nothing of the kind."""
    import base64
    import binascii

    try:
        return base64.b64decode(text, validate=True).decode("utf-16-le")
    except (binascii.Error, ValueError):
        return ""
