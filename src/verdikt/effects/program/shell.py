"""Shells, their builtins, and the programs that run other programs. What they run is found by the shell analysis."""

from collections.abc import Iterator

from verdikt.effects.arguments import word_set
from verdikt.effects.code.windows_paths import classify_reads
from verdikt.effects.environment_variables import classify_assignment
from verdikt.effects.execution_context import find_preceding
from verdikt.effects.invocation import Invocation
from verdikt.effects.program_record import find_program
from verdikt.effects.word_kinds import SECRET_NAME
from verdikt.model.effect import Effect, EffectClass, Target
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import Word


def classify_shell(call: Invocation) -> Iterator[Effect]:
    """`sh script`: the script is run; what is in it is analysed where it can be read."""
    args = call.args
    if args.has_flag("-c --command"):
        return
    if args.operands and args.operands[0].text != "-" and not args.has_flag("-s"):
        yield from call.make_effects("code.run", args.operands[:1])
    elif call.command.stdin is None and call.has_piped_input():
        yield from call.classify_piped_code()
    elif call.command.stdin is not None and any(command.name in _DECODERS for command in call.iter_upstream()):
        yield call.make_effect("code.unknown", possible=True, note="the command hides what it runs behind an encoding")


_DECODERS = word_set("base64 base32 basenc xxd openssl uudecode")


def classify_source(call: Invocation) -> Iterator[Effect]:
    yield from call.make_effects("code.run", call.args.operands[:1])


_TRUSTED = word_set("sudo doas su ssh gpg passwd login git")
_SAME = word_set("sudo doas run0 command builtin env noglob nocorrect")
_JOINS = compile_lazily(r"[;&|]")
_ALARMING = ("code.remote", "code.hidden", "net.send", "net.shell", "cred.", "persist.", "guard.")


def classify_alias(call: Invocation) -> Iterator[Effect]:
    """Classify a new meaning for a command name: report what it would run where that destroys or sends."""
    for word in call.command.argv[1:]:
        name, equals, body = word.text.partition("=")
        first = body.split()[:1]
        if not equals or not first or not word.is_known or find_program(name) is None:
            continue
        own = first[0].lstrip("\\") == name or (first[0] in _SAME and name in body.split()[1:2])
        if own and not _JOINS.search(body):
            continue
        for effect in call.classify_shell(body if own else f'{body} "$argument"'):
            if effect.cls is EffectClass.DESTRUCTIVE or effect.what.startswith(_ALARMING):
                yield effect
        if name in _TRUSTED and first[0] not in _SAME and not own and find_program(first[0]) is None:
            yield call.make_effect("code.unknown", (Target(name, "other"),), note=f"something else answers to {name}")


def classify_history(call: Invocation) -> Iterator[Effect]:
    if call.args.has_flag("-c --clear clear"):
        yield call.make_effect(
            "sys.log", (Target("the shell's history", "other"),), note="removes what was typed before"
        )


def classify_type(call: Invocation) -> Iterator[Effect]:
    """Tells what a name stands for; in the shell of Windows, shows a file."""
    yield from classify_reads([word.raw for word in call.args.operands if word.raw[1:3] == ":\\"], call)


def classify_unset(call: Invocation) -> Iterator[Effect]:
    if any(word.text in ("HISTFILE", "HISTSIZE", "PROMPT_COMMAND") for word in call.args.operands):
        yield call.make_effect(
            "sys.log", (Target("the shell's history", "other"),), note="nothing more is recorded", possible=True
        )


_VARIABLE = compile_lazily(r"\$\{?([A-Za-z_]\w*)(?!\w*:?\+)")


def classify_echo(call: Invocation) -> Iterator[Effect]:
    """Classify a secret of the environment that is shown; one that goes into a pipe or a file is not."""
    argv = call.command.argv
    if call.command.pipe_to is not None or call.command.redirects or not any("$" in word.raw for word in argv):
        return

    # What a file of secrets gave the variable is known to us, and a secret all the same.
    loaded = len(call.commands) > 1 and any(map(call.loads_secret, find_preceding(call.command, call.commands)))
    names = [name for word in argv[1:] if loaded or not word.is_known for name in _VARIABLE.findall(word.raw)]
    secret = tuple(Target(f"${name}", "other") for name in names if name.isupper() and SECRET_NAME.search(name))
    if secret:
        yield call.make_effect("env.read.secret", secret)


def classify_set(call: Invocation) -> Iterator[Effect]:
    texts = [word.text for word in call.command.argv[1:]]
    if texts[:2] == ["+o", "history"]:
        yield call.make_effect(
            "sys.log", (Target("the shell's history", "other"),), note="nothing more is recorded", possible=True
        )


def classify_export(call: Invocation) -> Iterator[Effect]:
    for word in call.args.operands:
        name, equals, value = word.text.partition("=")
        if equals and name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
            yield call.make_effect("git.hook.skip", note="git leaves the person's settings aside, hooks among them")
        elif equals:
            yield from classify_assignment(call, name, Word(value, word.raw), persistent=True)
    if (
        not call.args.operands
        and call.name in ("export", "declare", "typeset")
        and not call.args.has_flag("-f -F -a -A")
    ):
        yield call.make_effect(_whole_environment(call))


_HOLDS = word_set("-p --pid --attach --attach-pid --attach-name")


def classify_attach(call: Invocation) -> Iterator[Effect]:
    """Classify a debugger that attaches to a running process; words after the program's name are the program's."""
    argv = call.command.argv[1:]
    index = 0
    while index < len(argv) and argv[index].text[:1] == "-" and argv[index].text not in ("--args", "--"):
        flag, equals, value = argv[index].text.partition("=")
        following = argv[index + 1].display_text if index + 1 < len(argv) else ""
        if flag in _HOLDS:
            yield call.make_effect("proc.trace", (Target(value if equals else following, "pid"),))
            return
        index += 2 if flag in _TAKE and not equals else 1
    if call.name == "gdb" and len(argv) == index + 2 and argv[index + 1].text.isdigit():
        yield call.make_effect("proc.trace", (Target(argv[index + 1].text, "pid"),))  # gdb PROGRAM PID


_TAKE = word_set("-e -o -s -E -u -P -O -S -a -b -I -x -ex -iex -c -d -cd --command --eval-command --core -l -n")


def classify_sudo(call: Invocation) -> Iterator[Effect]:
    if call.args.has_flag("-l --list -v --validate -k -K -V") and not call.args.operands:
        yield call.make_effect("sys.read")
        return
    if call.args.has_flag("-e --edit") or call.name == "sudoedit":
        yield from call.make_effects("fs.write", call.args.operands)
    yield call.make_effect(
        "priv.escalate", tuple(Target(word.display_text, "other") for word in call.args.operands[:1])
    )


def classify_printenv(call: Invocation) -> Iterator[Effect]:
    if call.args.operands:
        if any(SECRET_NAME.search(word.text) for word in call.args.operands):
            yield call.make_effect(
                "env.read.secret", tuple(Target(word.display_text, "other") for word in call.args.operands)
            )
        return
    yield call.make_effect(_whole_environment(call))


def _whole_environment(call: Invocation) -> str:
    """Shown as it is, or given to something that may keep only a part."""
    kept = any(r.op in (">", ">>", ">|") and r.target.text != "/dev/null" and r.fd == 1 for r in call.command.redirects)
    shown = call.command.pipe_to is None and (kept or not call.command.redirects) and call.command.feeds is None
    return "env.read.all" if shown else "env.read"


def classify_env(call: Invocation) -> Iterator[Effect]:
    if (text := call.args.get_value("-S --split-string")) is not None:
        yield from call.classify_shell(text.text)
        return
    if all("=" in word.text for word in call.args.operands) and not call.args.has_flag("-i --ignore-environment"):
        yield call.make_effect(_whole_environment(call))


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


def classify_agent(call: Invocation) -> Iterator[Effect]:
    texts = {word.text for word in call.command.argv}
    if texts & {
        "--dangerously-skip-permissions", "--dangerously-bypass-approvals-and-sandbox", "--yolo", "-y", "--full-auto", "--allow-all-tools", "--allow-all",
        "--trust-all-tools", "bypassPermissions", "--yes-always", "danger-full-access", "--auto-approve", "--skip-permissions", "--no-sandbox", "--permission-mode=bypassPermissions", "--approval-mode=yolo", "--sandbox=danger-full-access", "--force",
    }:  # fmt: skip
        yield call.make_effect("guard.bypass", (Target(call.name, "other"),), note="no permission is asked for")
        return
    if _without_hooks([word.text for word in call.command.argv]):
        yield call.make_effect("guard.bypass", (Target(call.name, "other"),), note="its hooks are switched off")
        return
    if any(name in _HOMES for name, _ in call.command.assignments):
        yield call.make_effect(
            "guard.bypass", (Target(call.name, "other"),), note="its settings are looked for elsewhere"
        )
        return
    verb = call.args.operands[0].text if call.args.operands else ""
    if (
        verb in ("mcp", "plugin", "config", "hooks", "install")
        and len(call.args.operands) > 1
        and call.args.operands[1].text
        in ("add", "add-json", "remove", "set", "install", "marketplace", "enable", "disable", "uninstall")
    ):
        yield call.make_effect(
            "guard.config",
            (Target(f"{call.name} {verb}", "other"),),
            note="changes what the agent is allowed or able to do",
        )
        return
    yield call.make_effect("agent.run", (Target(call.name, "other"),))


def classify_shell_hook(call: Invocation) -> Iterator[Effect]:
    """Classify a command that the shell runs at a key or at completion."""
    for word in call.args.get_values("-C -x"):
        yield from call.classify_shell(word.text.partition(":")[2].strip(' "') if call.name == "bind" else word.text)


def classify_editor(call: Invocation) -> Iterator[Effect]:
    """Classify an editor that installs an extension: one from a file may be anything."""
    for file in call.args.get_values("--install-extension"):
        if file.text.endswith(".vsix"):
            yield call.make_effect("pkg.foreign", (call.resolve_path(file),))
