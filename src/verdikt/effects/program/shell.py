"""Shells, their builtins, and the programs that run other programs. What they run is found by the shell analysis."""

from collections.abc import Iterator

from verdikt.effects.argument import words
from verdikt.effects.call import Call
from verdikt.effects.program.table import Does, Program, programs
from verdikt.effects.surroundings import before
from verdikt.effects.variable import assigned
from verdikt.model.effect import Effect, EffectClass, Target
from verdikt.model.regex import regex
from verdikt.shell.command import Word


def _shell(call: Call) -> Iterator[Effect]:
    """`sh script`: the script is run; what is in it is analysed where it can be read."""
    args = call.args
    if args.has("-c --command"):
        return
    if args.operands and args.operands[0].text != "-" and not args.has("-s"):
        yield from call.on("code.run", args.operands[:1])
    elif call.command.stdin is None and call.reads_pipe():
        yield from call.piped_code()
    elif call.command.stdin is not None and any(command.name in _DECODERS for command in call.upstream()):
        yield call.effect("code.unknown", possible=True, note="the command hides what it runs behind an encoding")


_DECODERS = words("base64 base32 basenc xxd openssl uudecode")


def _source(call: Call) -> Iterator[Effect]:
    yield from call.on("code.run", call.args.operands[:1])


_TRUSTED = words("sudo doas su ssh gpg passwd login git")
_SAME = words("sudo doas run0 command builtin env noglob nocorrect")
_JOINS = regex(r"[;&|]")
_ALARMING = ("code.remote", "code.hidden", "net.send", "net.shell", "cred.", "persist.", "guard.")


def _alias(call: Call) -> Iterator[Effect]:
    """A name that people type gets another meaning: what it would do is told, where it destroys or sends."""
    from verdikt.effects.program import lookup

    for word in call.command.argv[1:]:
        name, equals, body = word.text.partition("=")
        first = body.split()[:1]
        if not equals or not first or not word.known or lookup(name) is None:
            continue
        own = first[0].lstrip("\\") == name or (first[0] in _SAME and name in body.split()[1:2])
        if own and not _JOINS.search(body):
            continue
        for effect in call.shell(body if own else f'{body} "$argument"'):
            if effect.cls is EffectClass.DESTRUCTIVE or effect.what.startswith(_ALARMING):
                yield effect
        if name in _TRUSTED and first[0] not in _SAME and not own and lookup(first[0]) is None:
            yield call.effect("code.unknown", (Target(name, "other"),), note=f"something else answers to {name}")


def _history(call: Call) -> Iterator[Effect]:
    if call.args.has("-c --clear clear"):
        yield call.effect("sys.log", (Target("the shell's history", "other"),), note="removes what was typed before")


def _type(call: Call) -> Iterator[Effect]:
    """Tells what a name stands for; in the shell of Windows, shows a file."""
    from verdikt.effects.code.drive import reads

    yield from reads([word.raw for word in call.args.operands if word.raw[1:3] == ":\\"], call)


def _unset(call: Call) -> Iterator[Effect]:
    if any(word.text in ("HISTFILE", "HISTSIZE", "PROMPT_COMMAND") for word in call.args.operands):
        yield call.effect(
            "sys.log", (Target("the shell's history", "other"),), note="nothing more is recorded", possible=True
        )


_VARIABLE = regex(r"\$\{?([A-Za-z_]\w*)(?!\w*:?\+)")


def _echo(call: Call) -> Iterator[Effect]:
    """A secret from the environment, shown; one that goes into a pipe or a file is not."""
    argv = call.command.argv
    if call.command.pipe_to is not None or call.command.redirects or not any("$" in word.raw for word in argv):
        return
    from verdikt.effects.program.network import SECRET_NAME

    # What a file of secrets gave the variable is known to us, and a secret all the same.
    loaded = len(call.commands) > 1 and any(map(call.loads_secret, before(call.command, call.commands)))
    names = [name for word in argv[1:] if loaded or not word.known for name in _VARIABLE.findall(word.raw)]
    secret = tuple(Target(f"${name}", "other") for name in names if name.isupper() and SECRET_NAME.search(name))
    if secret:
        yield call.effect("env.read.secret", secret)


def _set(call: Call) -> Iterator[Effect]:
    texts = [word.text for word in call.command.argv[1:]]
    if texts[:2] == ["+o", "history"]:
        yield call.effect(
            "sys.log", (Target("the shell's history", "other"),), note="nothing more is recorded", possible=True
        )


def _export(call: Call) -> Iterator[Effect]:
    for word in call.args.operands:
        name, equals, value = word.text.partition("=")
        if equals and name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
            yield call.effect("git.hook.skip", note="git leaves the person's settings aside, hooks among them")
        elif equals:
            yield from assigned(call, name, Word(value, word.raw), lasting=True)
    if not call.args.operands and call.name in ("export", "declare", "typeset") and not call.args.has("-f -F -a -A"):
        yield call.effect(_whole_environment(call))


_HOLDS = words("-p --pid --attach --attach-pid --attach-name")


def _attached(call: Call) -> Iterator[Effect]:
    """A debugger that takes hold of what runs already; what stands after the program's name is the program's."""
    argv = call.command.argv[1:]
    index = 0
    while index < len(argv) and argv[index].text[:1] == "-" and argv[index].text not in ("--args", "--"):
        flag, equals, value = argv[index].text.partition("=")
        following = argv[index + 1].shown if index + 1 < len(argv) else ""
        if flag in _HOLDS:
            yield call.effect("proc.trace", (Target(value if equals else following, "pid"),))
            return
        index += 2 if flag in _TAKE and not equals else 1
    if call.name == "gdb" and len(argv) == index + 2 and argv[index + 1].text.isdigit():
        yield call.effect("proc.trace", (Target(argv[index + 1].text, "pid"),))  # gdb PROGRAM PID


_TAKE = words("-e -o -s -E -u -P -O -S -a -b -I -x -ex -iex -c -d -cd --command --eval-command --core -l -n")


def _sudo(call: Call) -> Iterator[Effect]:
    if call.args.has("-l --list -v --validate -k -K -V") and not call.args.operands:
        yield call.effect("sys.read")
        return
    if call.args.has("-e --edit") or call.name == "sudoedit":
        yield from call.on("fs.write", call.args.operands)
    yield call.effect("priv.escalate", tuple(Target(word.shown, "other") for word in call.args.operands[:1]))


def _printenv(call: Call) -> Iterator[Effect]:
    if call.args.operands:
        from verdikt.effects.program.network import SECRET_NAME

        if any(SECRET_NAME.search(word.text) for word in call.args.operands):
            yield call.effect("env.read.secret", tuple(Target(word.shown, "other") for word in call.args.operands))
        return
    yield call.effect(_whole_environment(call))


def _whole_environment(call: Call) -> str:
    """Shown as it is, or given to something that may keep only a part."""
    kept = any(r.op in (">", ">>", ">|") and r.target.text != "/dev/null" and r.fd == 1 for r in call.command.redirects)
    shown = call.command.pipe_to is None and (kept or not call.command.redirects) and call.command.feeds is None
    return "env.read.all" if shown else "env.read"


def _env(call: Call) -> Iterator[Effect]:
    if (text := call.args.value("-S --split-string")) is not None:
        yield from call.shell(text.text)
        return
    if all("=" in word.text for word in call.args.operands) and not call.args.has("-i --ignore-environment"):
        yield call.effect(_whole_environment(call))


def _without_hooks(words: list[str]) -> bool:
    """Whether an agent is started so that nothing asks us about it."""
    text = " ".join(words)
    return (
        bool(
            {
                "--bare",
                "--setting-sources",
                "--dangerously-bypass-hook-trust",
                "--ignore-user-config",
                "--pure",
                "--config-dir",
            }
            & set(words)
        )
        or any(mark in text for mark in ("--setting-sources=", "disableAllHooks", "features.hooks", "hooksConfig"))
        or any(pair in text for pair in ("--disable hooks", "--disable=hooks"))
    )


_HOMES = ("HOME", "XDG_CONFIG_HOME")


def _agent(call: Call) -> Iterator[Effect]:
    texts = {word.text for word in call.command.argv}
    if texts & {
        "--dangerously-skip-permissions", "--dangerously-bypass-approvals-and-sandbox", "--yolo", "-y", "--full-auto", "--allow-all-tools", "--allow-all",
        "--trust-all-tools", "bypassPermissions", "--yes-always", "danger-full-access", "--auto-approve", "--skip-permissions", "--no-sandbox", "--permission-mode=bypassPermissions", "--approval-mode=yolo", "--sandbox=danger-full-access", "--force",
    }:  # fmt: skip
        yield call.effect("guard.bypass", (Target(call.name, "other"),), note="no permission is asked for")
        return
    if _without_hooks([word.text for word in call.command.argv]):
        yield call.effect("guard.bypass", (Target(call.name, "other"),), note="its hooks are switched off")
        return
    if any(name in _HOMES for name, _ in call.command.assignments):
        yield call.effect("guard.bypass", (Target(call.name, "other"),), note="its settings are looked for elsewhere")
        return
    verb = call.args.operands[0].text if call.args.operands else ""
    if (
        verb in ("mcp", "plugin", "config", "hooks", "install")
        and len(call.args.operands) > 1
        and call.args.operands[1].text
        in ("add", "add-json", "remove", "set", "install", "marketplace", "enable", "disable", "uninstall")
    ):
        yield call.effect(
            "guard.config",
            (Target(f"{call.name} {verb}", "other"),),
            note="changes what the agent is allowed or able to do",
        )
        return
    yield call.effect("agent.run", (Target(call.name, "other"),))


def _hooked(call: Call) -> Iterator[Effect]:
    """A command that the shell runs at a key or a tabulator."""
    for word in call.args.all("-C -x"):
        yield from call.shell(word.text.partition(":")[2].strip(' "') if call.name == "bind" else word.text)


def _editor(call: Call) -> Iterator[Effect]:
    """An editor that installs an extension: one from a file may be anything."""
    for file in call.args.all("--install-extension"):
        if file.text.endswith(".vsix"):
            yield call.effect("pkg.foreign", (call.path(file),))


_NOTHING = Program()
_WRAPPER = Program()

PROGRAMS: dict[str, Program] = {
    **programs("sh bash zsh dash ksh mksh ash fish csh tcsh rbash elvish nu xonsh yash", Program(call=_shell, values="-o -O --rcfile --init-file +o +O")),
    **programs("source .", Program(call=_source)),
    **programs(
        "cd pushd popd dirs true false : test [ [[ read wait jobs fg bg hash which whence where command builtin let return shift getopts times exit logout shopt compgen "
        "compopt mapfile readarray caller break continue help ulimit suspend eval exec trap time unalias sleep usleep coproc select unsetopt setopt autoload zmodload rehash zstyle print pwd tty nproc getconf",
        _NOTHING,
    ),
    **programs("echo printf", Program(call=_echo)),
    "complete": Program(call=_hooked, values="-C -F -W -G -X -P -S -A -o"),
    "bind": Program(call=_hooked, values="-x -f -q -u -r -m"),
    "enable": Program(Does("code.unknown", "-f", note="loads code into the shell"), values="-f"),
    "alias": Program(call=_alias),
    "history": Program(call=_history),
    "ztcp": Program(Does("net.shell", "0", "host", note="a bare connection inside the shell")),
    "unset": Program(call=_unset),
    "set": Program(call=_set),
    "type": Program(call=_type),
    **programs("export declare typeset local readonly", Program(call=_export)),
    "disown": Program(Does("proc.spawn")),
    **programs(
        "nice ionice chrt taskset stdbuf unbuffer timeout gtimeout flock xargs parallel watch entr script expect rlwrap catchsegv numactl cgexec firejail bwrap "
        "perf valgrind busybox toybox hyperfine retry ts pv tsp chpst envdir dotenv direnv",
        _WRAPPER,
    ),
    **programs("strace ltrace gdb lldb", Program(call=_attached)),
    **programs("gcore ptrace reptyr injcode", Program(Does("proc.trace", "*", "pid"), values="-o")),
    **programs("nohup setsid daemonize daemon start-stop-daemon", Program(Does("proc.spawn"))),
    "umask": Program(Does("fs.chmod.open", "0", "other", when="0 00 000 0000", note="every file that is made from now on")),
    **programs("screen tmux zellij dtach abduco byobu", Program(Does("proc.kill.all", when="kill-server"), Does("proc.spawn", when="new new-session -d -dm -dmS"))),
    **programs("sudo doas run0 pkexec gosu su-exec dzdo please sudoedit", Program(call=_sudo, values="-u --user -g --group -p --prompt -C -D --chdir -h --host -r -t -T -U -R")),
    **programs("su runuser", Program(Does("priv.escalate", "0", "other", bare=True), values="-c --command -s --shell -g -G -w")),
    **programs("chroot nsenter unshare systemd-nspawn pivot_root capsh", Program(Does("priv.escalate", note="enters another root or namespace"))),
    "env": Program(call=_env, values="-u --unset -C --chdir -S --split-string"),
    "printenv": Program(call=_printenv),
    **programs("claude codex gemini aider cursor-agent opencode copilot amp qwen crush cline", Program(call=_agent, values="-p --print --model -m --permission-mode --allowedTools --disallowedTools --prompt -s --sandbox -a --ask-for-approval --approval-mode")),
    **programs("code codium cursor windsurf", Program(call=_editor, values="--install-extension --uninstall-extension -g --goto -d --diff", subs={"tunnel": Does("net.tunnel", note="opens this machine to a browser anywhere"), "serve-web": Does("net.listen")})),
}  # fmt: skip
