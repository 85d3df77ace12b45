"""Windows programs, as called from any shell; their switches begin with a slash."""

from collections.abc import Iterator
from itertools import pairwise

from verdikt.effects.arguments import word_set
from verdikt.effects.code.windows_paths import classify_deletes
from verdikt.effects.invocation import Invocation
from verdikt.effects.program.system import is_protection
from verdikt.model.effect import Effect, Target
from verdikt.shell.command import Word

_VITAL = word_set("lsass.exe csrss.exe winlogon.exe wininit.exe services.exe smss.exe svchost.exe")


def _texts(call: Invocation) -> list[str]:
    return [word.text.lower() for word in call.command.argv[1:]]


def _target(call: Invocation, kind: str = "other") -> tuple[Target, ...]:
    return tuple(Target(word.display_text, kind) for word in call.command.argv[1:] if not word.text.startswith("/"))[:2]


def classify_reg(call: Invocation) -> Iterator[Effect]:
    texts = _texts(call)
    verb, key = [*texts, "", ""][:2]
    if len(call.command.argv) > 2 and "\\" in (raw := call.command.argv[2].raw):
        key = raw.strip("'\"").lower()  # the shell has eaten backslashes that were not quoted
    key = key.replace("/", "\\")
    if verb == "delete":
        yield call.make_effect("reg.delete", _target(call))
    elif verb in ("add", "import", "restore", "copy", "load"):
        if (
            key.rstrip("\\").endswith(("\\run", "\\runonce", "\\winlogon", "\\image file execution options"))
            or "\\run\\" in key
            or "\\services\\" in key
        ):
            yield call.make_effect("persist.write", _target(call))
        elif "defender" in key or "\\policies\\system" in key or "enablelua" in " ".join(texts):
            yield call.make_effect("sys.security", _target(call))
        else:
            yield call.make_effect("sys.setting", _target(call))
    elif verb in ("save", "export") and any(hive in key for hive in ("\\sam", "\\security", "\\system")):
        yield call.make_effect("cred.read", _target(call), note="the accounts' passwords")
    else:
        yield call.make_effect("sys.read")


def classify_net(call: Invocation) -> Iterator[Effect]:
    texts = _texts(call)
    verb = texts[0] if texts else ""
    names = [text for text in texts[1:] if not text.startswith("/")]
    if verb == "user":
        if "/delete" in texts:
            yield call.make_effect("sys.user.delete", _target(call))
        elif "/add" in texts or len(names) > 1 or any(text.startswith("/active") for text in texts):
            yield call.make_effect("sys.user", _target(call))
        else:
            yield call.make_effect("sys.read")
    elif verb in ("localgroup", "group"):
        if "/add" in texts and len(names) > 1:
            yield call.make_effect("priv.grant" if "admin" in names[0] else "sys.user", _target(call))
        else:
            yield call.make_effect("sys.user" if "/delete" in texts else "sys.read", _target(call))
    elif verb == "stop":
        yield call.make_effect(
            "sys.security" if any(map(is_protection, names)) else "sys.service.stop", _target(call, "unit")
        )
    elif verb == "start" and names:
        yield call.make_effect("sys.service", _target(call, "unit"))
    elif verb in ("share", "use") and names:
        yield call.make_effect("sys.network", _target(call))
    elif verb == "accounts" and any("/" in text for text in texts):
        yield call.make_effect("sys.user")
    else:
        yield call.make_effect("sys.read")


def classify_sc(call: Invocation) -> Iterator[Effect]:
    texts = _texts(call)
    verb = texts[0] if texts else ""
    guarding = any(map(is_protection, texts[1:2]))
    if verb in ("delete", "stop", "config", "failure", "sdset", "pause") and guarding:
        yield call.make_effect("sys.security", _target(call, "unit"))
    elif verb == "create":
        yield call.make_effect("persist.unit", _target(call, "unit"))
    elif verb in ("delete", "stop", "pause"):
        yield call.make_effect("sys.service.stop", _target(call, "unit"))
    elif verb in ("config", "start", "failure", "sdset"):
        yield call.make_effect("sys.setting", _target(call, "unit"))
    else:
        yield call.make_effect("sys.read")


def classify_schtasks(call: Invocation) -> Iterator[Effect]:
    texts = _texts(call)
    if "/create" in texts or "/change" in texts:
        yield call.make_effect("persist.cron", _target(call))
    elif "/delete" in texts or "/end" in texts:
        yield call.make_effect("sys.setting", _target(call))
    else:
        yield call.make_effect("sys.read" if "/run" not in texts else "proc.spawn")


def classify_taskkill(call: Invocation) -> Iterator[Effect]:
    texts = _texts(call)
    names = [text for text in texts if not text.startswith("/")]
    if any(name in _VITAL for name in names):
        yield call.make_effect("sys.crash", _target(call, "pid"))
    elif any(map(is_protection, names)):
        yield call.make_effect("sys.security", _target(call, "pid"))
    elif "/im" in texts or "-im" in texts or any("*" in name for name in names) or any("username" in t for t in texts):
        yield call.make_effect("proc.kill.all", _target(call, "pid"))
    else:
        yield call.make_effect("proc.kill", _target(call, "pid"))


def classify_format(call: Invocation) -> Iterator[Effect]:
    drives = [
        word
        for word in call.command.argv[1:]
        if len(word.text) >= 2 and word.text[1:2] == ":" and word.text[0].isalpha()
    ]
    for word in drives[:1]:
        yield call.make_effect("disk.format", (Target(word.display_text, "other"),))


def classify_netsh(call: Invocation) -> Iterator[Effect]:
    text = " ".join(_texts(call))
    if "firewall" in text and (
        "state off" in text or "opmode disable" in text or "opmode mode=disable" in text or text.endswith("reset")
    ):
        yield call.make_effect("sys.security", (Target("the firewall", "other"),))
    elif "wlan show profile" in text and "key=clear" in text:
        yield call.make_effect("cred.read")
    elif " set " in f" {text} " or " add " in f" {text} " or " delete " in f" {text} " or "reset" in text:
        yield call.make_effect("sys.network")
    else:
        yield call.make_effect("sys.read")


def classify_delete(call: Invocation) -> Iterator[Effect]:
    """`del`, `rd`: only these by their Windows switches; a path keeps its backslashes."""
    texts = _texts(call)
    tree = "/s" in texts
    names = [word for word in call.command.argv[1:] if not word.text.startswith("/") or len(word.text) > 2]

    yield from classify_deletes([_as_written(word) for word in names], "fs.delete.tree" if tree else "fs.delete", call)


def _as_written(word: Word) -> str:
    """Return a word with the backslashes that the shell has eaten because they were not quoted."""
    return word.raw.strip("'\"") if "\\" in word.raw else word.text


def classify_robocopy(call: Invocation) -> Iterator[Effect]:
    """Classify a mirror, which deletes at its end what is not at its beginning."""
    texts = [_as_written(word) for word in call.command.argv[1:]]
    names = [text for text in texts if not text.startswith("/")]
    if {"/mir", "/purge"} & {text.lower() for text in texts}:
        yield from classify_deletes(names[1:2], "fs.delete.tree", call)
    else:
        yield call.make_effect("proc.exec")


def classify_words(call: Invocation, *, what: str, needles: str, otherwise: str = "sys.read") -> Iterator[Effect]:
    """One effect when any of these words is among the arguments."""
    texts = _texts(call)
    hit = any(needle in text for needle in needles.split() for text in texts)
    yield call.make_effect(what if hit else otherwise, _target(call) if hit else ())


def classify_bcdedit(call: Invocation) -> Iterator[Effect]:
    texts = _texts(call)
    changes = any(
        text.startswith(
            ("/set", "/delete", "/deletevalue", "/import", "/create", "/default", "/bootsequence", "/timeout")
        )
        for text in texts
    )
    weak = changes and any(
        word in texts
        for word in ("recoveryenabled", "bootstatuspolicy", "nx", "testsigning", "nointegritychecks", "safeboot")
    )
    yield call.make_effect(
        "sys.security" if weak else "sys.boot" if changes else "sys.read", _target(call) if changes else ()
    )


def classify_diskpart(call: Invocation) -> Iterator[Effect]:
    scripted = "/s" in _texts(call) or call.command.stdin is not None or call.command.pipe_from is not None
    yield call.make_effect("disk.partition", (Target("disks", "other"),), possible=not scripted)


def classify_powershell(call: Invocation) -> Iterator[Effect]:
    """Yield the effect of a hidden window and of piped text; other text that it runs is classified elsewhere."""
    texts = _texts(call)
    # Without a program among its words, or with `-` in its place, it runs what it reads.
    reads_program = texts[-1:] == ["-"] or all(text[:1] in ("-", "/") for text in texts)
    if reads_program and call.command.stdin is None and call.has_piped_input():
        yield from call.classify_piped_code()
    if any(
        text[:1] in "-/" and ("encodedcommand".startswith(text[1:]) or text[1:] == "ec")
        for text in texts
        if len(text) > 1
    ):
        yield call.make_effect("code.hidden", note="an encoded command")
    if any(a.startswith(("-w", "/w")) and b == "hidden" for a, b in pairwise(texts)):
        yield call.make_effect("code.hidden", note="in a hidden window")
