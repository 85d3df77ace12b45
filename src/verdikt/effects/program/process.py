"""Processes: one is ordinary, every one is not."""

from collections.abc import Iterator

from verdikt.effects.arguments import word_set
from verdikt.effects.execution_context import find_preceding
from verdikt.effects.invocation import Invocation
from verdikt.effects.program.system import is_protection
from verdikt.model.effect import Effect, Target
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import Command

_VITAL = word_set(
    "init systemd launchd sshd dbus dbus-daemon dbus-broker systemd-logind networkmanager networking lsass.exe "
    "csrss.exe winlogon.exe wininit.exe services.exe smss.exe svchost.exe explorer.exe kernel_task windowserver "
    "loginwindow xorg gnome-shell kwin"
)


def classify_kill(call: Invocation) -> Iterator[Effect]:
    """`kill`: process 1 and -1 are not processes like others."""
    texts = [word.text for word in call.command.argv[1:]]
    if texts[:1] in (["-l"], ["-L"], ["--list"], ["--table"]) or "-0" in texts[:1] or texts[:2] == ["-s", "0"]:
        yield call.make_effect("proc.read")
        return
    rest = texts[1:] if texts[:1] and texts[0].startswith("-") and texts[0] not in ("--",) else texts
    if texts[:1] in (["-s"], ["-n"], ["--signal"]):
        rest = texts[2:]
    rest = [text for text in rest if text != "--"]
    targets = tuple(Target(text, "pid") for text in rest)
    hard = bool({"-9", "-KILL", "-SIGKILL", "KILL", "SIGKILL", "9"} & set(texts[:2]))
    gentle = texts[:1] in (["-HUP"], ["-1"], ["-SIGHUP"], ["-CONT"], ["-USR1"], ["-USR2"]) and rest != ["-1"]
    if "-1" in rest or (texts == ["-9", "-1"]):
        yield call.make_effect("sys.crash", (Target("every process", "pid"),))
    elif "1" in rest:
        yield call.make_effect(
            "proc.kill.all" if gentle or not hard else "sys.crash",
            (Target("the first process", "pid"),),
        )
    else:
        earlier = find_preceding(call.command, call.commands)
        names = {w.text for c in earlier if c.name in ("pgrep", "pidof") for w in c.argv}
        if any("verdikt" in name for name in names) or any(_names_ours(c) for c in (call.command, *earlier)):
            yield call.make_effect("proc.kill", (Target("verdikt", "pid"),))
        else:
            generic = bool(names & (_GENERIC | {"sshd"})) and bool({"-9", "-KILL", "-SIGKILL"} & set(texts))
            yield call.make_effect("proc.kill.all" if generic else "proc.kill", targets)


def _names_ours(command: Command) -> bool:
    """Whether a command reads the file in which our warm process keeps its number, or names its socket."""
    texts = (word.text for word in (*command.argv, *(redirect.target for redirect in command.redirects)))
    return any(text.endswith(_OURS) for text in texts)


_OURS = ("run/daemon.lock", "run/daemon.sock")

_GENERIC = word_set(
    "node python python3 java ruby php bash sh zsh code electron chrome firefox docker go npm deno bun perl tmux "
    "screen ssh cursor"
)
"""Names that belong to programs of every sort, the agent's own among them."""


_SIGNAL = compile_lazily(r"^-(?:SIG)?[A-Z]{3,}$")

_OUR_PROCESSES = (
    "verdikt-hook 20 closed python3 -I -m verdikt.hosts.hook claude PreToolUse",
    "python3 -I -m verdikt.daemon",
    "/bin/sh share/verdikt/hooks/guard.sh 20 closed",
)
_OTHERS = ("python3 -m http.server", "/bin/sh build.sh", "python manage.py runserver 20 site-packages share")


def _meets_ours(pattern: str) -> bool:
    """Whether a pattern for processes meets ours, and none that every machine has."""
    import re2  # heavy and rarely needed; in linear time, because the pattern is not ours

    try:
        found = re2.compile(pattern)
    except re2.error:
        return "verdikt" in pattern
    return any(map(found.search, _OUR_PROCESSES)) and not any(map(found.search, _OTHERS))


def classify_pkill(call: Invocation) -> Iterator[Effect]:
    args = call.args
    operands = args.operands
    # `-STOP` and the like are read as letters, and the last of them takes the name of the process for its value.
    signals = [word.text for word in call.command.argv[1:] if _SIGNAL.match(word.text)]
    if signals and not operands:
        operands = [word for word in call.command.argv[1:] if not word.text.startswith("-")]
    names = [word.text for word in operands]
    targets = tuple(Target(word.display_text, "pid") for word in operands)
    whole = call.name != "killall" or args.has_flag("-r --regexp")
    if any(is_protection(part) for name in names for part in name.split()):
        yield call.make_effect("sys.security", targets, note="ends what guards or records")
    elif _names_ours(call.command) or (whole and any(_meets_ours(name) for name in names)):
        yield call.make_effect("proc.kill", (Target("verdikt", "pid"),))
    elif any(name.lower() in _VITAL for name in names):
        yield call.make_effect("sys.crash", targets)
    elif args.has_flag("-l --list -V --version -0"):
        yield call.make_effect("proc.read")
    elif (
        any(name in (".", ".*", "", "^", "*", "[a-z]*", "a", "e") for name in names)
        or (not names and args.has_flag("-u --user --euid -U --uid -t -s -g"))
        or (call.name == "killall" and args.has_flag("-u --user") and not names)
    ):
        yield call.make_effect("proc.kill.all", targets or (Target("everything of a user", "pid"),))
    elif any(name in _GENERIC for name in names):
        yield call.make_effect("proc.kill.all", targets)
    elif call.name == "killall5":
        yield call.make_effect("sys.crash", (Target("every process", "pid"),))
    else:
        yield call.make_effect("proc.kill", targets)


def classify_fuser(call: Invocation) -> Iterator[Effect]:
    if not call.args.has_flag("-k --kill"):
        yield call.make_effect("proc.read")
    elif _names_ours(call.command):
        yield call.make_effect("proc.kill", (Target("verdikt", "pid"),))
    else:
        whole = call.args.has_flag("-m --mount -c")
        yield call.make_effect(
            "proc.kill.all" if whole else "proc.kill",
            tuple(Target(word.display_text, "other") for word in call.args.operands),
        )


def classify_ps(call: Invocation) -> Iterator[Effect]:
    """Classify a list of processes; with the letter `e` and no dash, it shows their environment."""
    first = call.command.argv[1].text if len(call.command.argv) > 1 else ""
    shown = first[:1] not in ("-", "") and first.isalpha() and "e" in first
    yield call.make_effect("env.read.all" if shown else "proc.read")
