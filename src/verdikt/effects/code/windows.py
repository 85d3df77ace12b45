"""PowerShell and cmd text: each command by its cmdlet (a verb and a noun) or its program; what is neither is run unseen."""

import re
from collections.abc import Iterator

from verdikt.effects.argument import words
from verdikt.effects.call import Call
from verdikt.effects.code.cmdlet import ALIASES, cmdlet, is_cmdlet
from verdikt.effects.code.drive import deletes, reads
from verdikt.effects.code.windows_line import Spoken, commands, given_to, statements, unquoted
from verdikt.model.effect import Effect, Target
from verdikt.model.regex import regex
from verdikt.model.value import replace
from verdikt.shell.command import Word

_LONGEST = 100_000
_DEEPEST = 6
_SHELL = regex(r"(?i)\b(?:cmd|powershell|pwsh)\b")

_FETCH = regex(
    r"(?i)\b(?:iwr|irm|invoke-webrequest|invoke-restmethod|curl|wget|start-bitstransfer)\b|\.download(?:string|data|file)\b|net\.webclient"
)
_RUN = regex(r"(?i)\b(?:iex|invoke-expression)\b|scriptblock\]::create")
_DECODE = regex(r"(?i)frombase64string|gzipstream|deflatestream|-bxor")
_SOCKET = regex(r"(?i)net\.sockets\.tcpclient|\bpowercat\b|invoke-powershelltcp")
_DELETED = regex(r"(?i)\[(?:system\.)?io\.(file|directory)\]::delete\(\s*['\"]([^'\"]+)")


def read_windows(text: str, call: Call, language: str) -> Iterator[Effect]:
    """What PowerShell or cmd text would do; a command that nobody here knows is run unseen."""
    if len(text) > _LONGEST:
        yield call.effect("code.unknown", possible=True, note="more than anybody reads")
    text = text[:_LONGEST]
    for statement in statements(text):
        bare = unquoted(statement)
        if _SOCKET.search(statement):
            yield call.effect("net.shell", note="a shell over a bare connection")
        if _RUN.search(bare):
            yield from _evaluated(statement, call)
            continue
        yield from _methods(statement, call)
        before: Spoken | None = None
        for spoken in commands(statement):
            if language == "powershell":
                whole = _fed(spoken, before)
                yield from cmdlet(whole, call) if is_cmdlet(whole.name) else _program(whole, call)
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


def _fed(spoken: Spoken, before: Spoken | None) -> Spoken:
    """What comes through the pipe stands in for the operands that a cmdlet was not given."""
    name = ALIASES.get(spoken.name, spoken.name)
    if before is None or name not in ("remove-item", "stop-process") or given_to(spoken).operands:
        return spoken
    if before.name in ("get-childitem", "gci", "ls", "dir", "get-item", "gi") and name == "remove-item":
        given = given_to(before)
        fed = given.paths or ["."]
        deep = [("-recurse", False)] if any(f in ("-recurse", "-r", "-rec", "-s") for f in given.flags) else []
        if not given.paths and given.value("-filter", "-include"):
            fed = [given.value("-filter", "-include")]
        return Spoken(spoken.name, (*spoken.words, *deep, *((path, True) for path in fed)))
    if before.name in ("get-process", "gps", "ps") and name == "stop-process" and not before.words:
        return Spoken(spoken.name, (*spoken.words, ("*", True)))
    return (
        Spoken(spoken.name, (*spoken.words, ("$_", False)))
        if name == "remove-item" and "-path" not in given_to(spoken).flags
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


def _builtin(spoken: Spoken, call: Call) -> Iterator[Effect]:
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


def _inner(spoken: Spoken, call: Call) -> Iterator[Effect]:
    """One shell called by the other: `cmd /c …`, `powershell -c …`."""
    texts = [text for text, _ in spoken.words]
    starts = [i for i, text in enumerate(texts) if text.lower() in ("/c", "/k", "-c", "-command", "/command")]
    rest = texts[starts[0] + 1 :] if starts else [text for text in texts if not text.startswith(("-", "/"))]
    line = " ".join(f'"{text}"' if " " in text and len(rest) > 1 else text for text in rest)
    if len(_SHELL.findall(line)) > _DEEPEST:
        yield call.effect("code.unknown", possible=True, note="shells within shells")
    elif line:
        yield from read_windows(line, call, "cmd" if spoken.name == "cmd" else "powershell")


def _program(spoken: Spoken, call: Call) -> Iterator[Effect]:
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
