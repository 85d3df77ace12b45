"""git: its settings and hooks, aliases, and what a push publishes, overwrites and deletes."""

from collections.abc import Iterator

from verdikt.effects.arguments import Arguments, word_set
from verdikt.effects.execution_context import find_preceding, find_working_directory
from verdikt.effects.invocation import Invocation
from verdikt.effects.program_evaluator import evaluate_program
from verdikt.effects.program_record import find_program
from verdikt.effects.zone_effects import has_commit_check
from verdikt.model.effect import Effect, Target, Zone
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import Command, Word

_EXEC_KEYS = compile_lazily(
    r"^(?:core\.(?:hookspath|fsmonitor|sshcommand|gitproxy|askpass|pager|editor|alternaterefscommand|worktree)"
    r"|sequence\.editor|pager\..*|diff\.external|"
    r"diff\..*\.(?:command|textconv)|merge\..*\.driver|filter\..*\.(?:clean|smudge|process)"
    r"|credential\.(?:.*\.)?helper|gpg\.(?:.*\.)?program|"
    r"url\..*\.(?:push)?insteadof|include(?:if\..*)?\.path|init\.templatedir|protocol\..*allow|browser\..*\.cmd"
    r"|web\.browser|man\..*\.cmd|mergetool\..*\.cmd|"
    r"difftool\..*\.cmd|interactive\.difffilter|sendemail\..*cmd|uploadpack\.packobjectshook"
    r"|remote\..*\.(?:uploadpack|receivepack|proxy|vcs)|submodule\..*\.update|"
    r"receive\..*|http\.(?:.*\.)?(?:proxy|sslverify|cookiefile|extraheader)|trailer\..*\.(?:cmd|command)"
    r"|tar\..*\.command|instaweb\..*)$"
)
_HOOKS_PATH = "core.hookspath"
_PARAMETERS = compile_lazily(r"'([\w.-]+)'?='?([^']*)'")
_LEADS_TO_HOOKS = compile_lazily(r"^(?:core\.hookspath|include(?:if\..*)?\.path)$")
"""The settings by which git looks for its hooks elsewhere, by themselves or in another file."""
_PLAIN = word_set(
    "vim vi nvim nano emacs code subl less more cat bat delta diff-so-fancy meld kdiff3 vimdiff opendiff bcompare "
    "p4merge cache store osxkeychain manager manager-core libsecret wincred gpg gpg2 false true"
)
_SKIPS = {"HUSKY": ("0",), "HUSKY_SKIP_HOOKS": ("1", "true"), "LEFTHOOK": ("0", "false"), "SKIP": ()}
"""Variables by which tools that run hooks leave them out; pre-commit's names the hooks, and others may be left out."""
_GIVES_UP = {
    ("safe.directory", "*"),
    ("commit.gpgsign", "false"),
    ("tag.gpgsign", "false"),
    ("fetch.fsckobjects", "false"),
}
_IN_PLACE_EFFECTS = ("git.discard", "git.clean")
"""What happens to the files of one working tree, and to no other."""


def classify_globals(call: Invocation) -> Iterator[Effect]:
    """Classify variables and options before the command: settings, the directory, where git's programs lie."""
    if call.command.assignments:
        yield from _classify_variables(call)
    for flag, value in call.args.flags:
        if value is None:
            continue
        if flag == "-c":
            yield from _classify_setting(call, value.text)
        elif flag == "-C":
            call.command = _change_directory(call, value)
        elif flag == "--exec-path" and value.text:
            yield call.make_effect("git.config.exec", note=f"runs git's programs from {value.text}")


def adjust_circumstances(call: Invocation, effect: Effect) -> Effect:
    """Return the effect as it is in this repository: a throwaway copy loses nothing, and a hook may be our check."""
    if effect.what == "git.hook.skip":
        return _skip_hooks(call, effect.note)
    if effect.what.startswith(_IN_PLACE_EFFECTS) and _find_zone(call) is Zone.TEMP:
        return call.make_effect("git.write")
    return effect


def _find_zone(call: Invocation) -> Zone:
    """Return where the command runs, as far as that is told."""
    place = call.command.cwd
    return call.resolve_path(place if place is not None and not place.is_known else Word(".")).zone


def classify_alias(call: Invocation) -> Iterator[Effect]:
    """Classify a command that git does not have: an alias of the user's."""
    operands = call.args.operands
    if not operands:
        return
    if not operands[0].is_known:
        yield call.make_effect("git.write", possible=True)
        return
    name = operands[0].text
    aliases = call.facts.git(find_working_directory(call)).aliases or {}
    meaning = aliases.get(name, "")
    program = find_program("git")
    if meaning.startswith("!"):
        yield from call.classify_shell(meaning[1:])
    elif meaning and program is not None and meaning.split()[0] in (program.commands or {}):
        argv = call.command.argv
        start = next(index for index, word in enumerate(argv) if word is operands[0])
        words = (argv[0], *map(Word, meaning.split()), *argv[start + 1 :])
        yield from evaluate_program(program, call.make_inner_call(words))
    else:
        yield call.make_effect("unknown.program", note=f"git {name}")


def _change_directory(call: Invocation, directory: Word) -> Command:
    """Return the same command as if run in the directory that `-C` names."""
    if not directory.is_known:
        return call.command._replace(cwd=directory)
    path = call.resolver.to_absolute(directory.text, call.command.cwd)
    return call.command._replace(cwd=Word(path or directory.text))


def classify_clone_settings(call: Invocation) -> Iterator[Effect]:
    """Yield what the settings of a new clone make git run."""
    for word in call.args.get_values("-c --config"):
        yield from _classify_setting(call, word.text)


def classify_push(call: Invocation) -> Iterator[Effect]:
    """Yield what a push publishes, overwrites and deletes, and whether it goes to an unknown remote."""
    args = call.args
    if args.has_flag("-n --dry-run"):
        yield call.make_effect("git.read")
        return
    # Looked up for the record: an approval of this push holds for the repository as it is.
    repository = call.facts.git(call.resolver.to_absolute(".", call.command.cwd))
    if args.has_flag("--no-verify"):
        yield _skip_hooks(call, "skips the pre-push hook")
    remote, specs = args.operands[:1], args.operands[1:]
    if args.has_flag("--mirror"):
        yield call.make_effect("git.push.mirror", _to_hosts(remote))
        return
    if args.has_flag("--prune"):
        yield call.make_effect(
            "git.push.delete", _to_hosts(remote), possible=True, note="deletes branches that are not here"
        )
    yield from _classify_refspecs(call, args, specs, repository.branch)
    if remote and _is_just_added(call, remote[0].text):
        yield call.make_effect("net.send.file", _to_hosts(remote), note="pushes to an address that was added only now")
    if remote and ("://" in remote[0].text or "@" in remote[0].text or remote[0].text.startswith("ext::")):
        yield call.make_effect("net.send.file", _to_hosts(remote), note="pushes to an address that is no named remote")


def _is_just_added(call: Invocation, remote: str) -> bool:
    """Whether a remote was added shortly before; the first one of a new repository is nothing special."""
    if remote in ("origin", "upstream") or len(call.commands) < 2:
        return False
    return any(
        command.name == "git" and [word.text for word in command.argv[1:4]] == ["remote", "add", remote]
        for command in find_preceding(call.command, call.commands)
    )


def _classify_refspecs(call: Invocation, args: Arguments, specs: list[Word], branch: str) -> Iterator[Effect]:
    """Yield what a push does to each branch that it names, or to the current one."""
    leased = args.has_flag("--force-with-lease --force-if-includes")
    forced = args.has_flag("-f --force")  # which also takes away the lease
    plain = "git.push.lease" if leased else "git.push"
    for spec in specs:
        branches = _find_remote_branch(spec.text)
        text, target = spec.text, (Target("everything" if branches == "*" else branches, "ref"),)
        if args.has_flag("-d --delete") or (text.startswith((":", "+:")) and len(text) > 1):
            yield call.make_effect("git.push.delete", target, possible=not spec.is_known)
        elif forced or text.startswith("+"):
            yield call.make_effect("git.push.force", target, possible=not spec.is_known)
        else:
            yield call.make_effect(plain, target)
    if specs:
        return
    name = "the current branch"
    if forced:
        everything = args.has_flag("--all --tags --branches")
        name = "everything" if everything else branch or name
    yield call.make_effect("git.push.force" if forced else plain, (Target(name, "ref"),))


def _to_hosts(remote: list[Word]) -> tuple[Target, ...]:
    return tuple(Target(word.display_text, "host") for word in remote)


def _find_remote_branch(spec: str) -> str:
    """Return the branch at the remote that a refspec names."""
    name = spec.lstrip("+").rpartition(":")[2] or spec.lstrip("+:")
    if name.endswith("*"):
        return "everything"
    return name.removeprefix("refs/heads/").removeprefix("refs/tags/")


def _classify_variables(call: Invocation) -> Iterator[Effect]:
    """Yield what variables before the command tell git to do: `-c` by another name, or hooks left out."""
    given = {name: value for name, value in call.command.assignments if name.startswith("GIT_CONFIG") or name in _SKIPS}
    for name, value in given.items():
        if name.startswith("GIT_CONFIG_KEY_"):
            worth = given.get(name.replace("_KEY_", "_VALUE_"), Word(""))
            yield from _configure(call, value.text.lower(), worth, passing=True)
        elif name == "GIT_CONFIG_PARAMETERS":
            if _HOOKS_PATH in value.text.lower():
                yield call.make_effect("git.hook.skip.path", note="changes which hooks git runs")
            for key, setting in _PARAMETERS.findall(value.text):
                yield from _configure(call, key.lower(), Word(setting), passing=True)
        elif name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM") and value.text not in ("", "/dev/null"):
            if has_commit_check(find_working_directory(call), call.facts):
                yield call.make_effect(
                    "git.hook.skip.path", (call.resolve_path(value),), note="may change which hooks git runs"
                )
        elif name in _SKIPS and value.text in _SKIPS[name]:
            yield _skip_hooks(call, f"{name} leaves hooks out")
        elif name == "SKIP" and "verdikt" in value.text:
            yield _skip_hooks(call, "leaves the commit check out")


def _skip_hooks(call: Invocation, note: str) -> Effect:
    """Return the effect of skipping hooks once: verdikt's own, or others."""
    return call.make_effect(
        "git.hook.skip.check" if has_commit_check(find_working_directory(call), call.facts) else "git.hook.skip",
        note=note,
    )


def _classify_setting(call: Invocation, text: str) -> Iterator[Effect]:
    """`-c key=value` for this one command."""
    key, _, value = text.partition("=")
    yield from _configure(call, key.lower(), Word(value), passing=True)


def _configure(call: Invocation, key: str, value: Word, *, passing: bool) -> Iterator[Effect]:
    text = value.text
    if key.startswith("alias."):
        if text.startswith("!"):
            yield from call.classify_shell(text[1:])
            if not passing:
                yield call.make_effect("git.config.exec", (Target(key, "other"),), note="an alias that runs a program")
        elif not passing:
            yield call.make_effect("git.config", (Target(key, "other"),))
        return
    if not _EXEC_KEYS.match(key):
        if not passing and (key, text) in _GIVES_UP:
            yield call.make_effect("git.config.exec", (Target(f"{key}={text}", "other"),), note="gives a protection up")
        elif not passing:
            yield call.make_effect("git.config", (Target(key, "other"),))
        return
    if _LEADS_TO_HOOKS.match(key) and has_commit_check(find_working_directory(call), call.facts):
        yield call.make_effect("git.hook.skip.path", (Target(key, "other"),), note="changes which hooks git runs")
        return
    if key == _HOOKS_PATH:
        target = call.resolve_path(value) if text else Target(key)
        inside = target.zone is Zone.PROJECT and not passing
        yield call.make_effect(
            "git.config.exec" if inside else "persist.hook" if text not in ("", "/dev/null") else "git.hook.skip.path",
            (target,),
            note="changes which hooks git runs",
        )
        return
    yield from _configure_program(call, key, value, passing=passing)


def _configure_program(call: Invocation, key: str, value: Word, *, passing: bool) -> Iterator[Effect]:
    """Classify a setting that names a program which git runs."""
    text = value.text
    if key in ("core.fsmonitor", "init.templatedir") and "/" in text and not passing:
        target = call.resolve_path(value)
        if target.zone is not Zone.PROJECT:
            yield call.make_effect("persist.hook", (target,), note="git would run what lies there")
            return
    first = text.lstrip("!").split()[0].rsplit("/", 1)[-1] if text.strip("! ") else ""
    if key.startswith("credential") and first == "store" and not passing:
        yield call.make_effect(
            "git.config.exec", (Target(f"{key}=store", "other"),), note="keeps passwords in the clear"
        )
        return
    if key.startswith(
        (
            "core.pager",
            "core.editor",
            "core.fsmonitor",
            "sequence.editor",
            "credential",
            "pager.",
            "diff.",
            "merge",
            "gpg",
        )
    ) and (first in _PLAIN or first in ("true", "false", "")):
        if not passing:
            yield call.make_effect("git.config", (Target(key, "other"),))
        return
    if key.startswith(
        (
            "core.",
            "sequence.",
            "diff.",
            "filter.",
            "merge",
            "pager.",
            "credential",
            "gpg",
            "interactive",
            "mergetool",
            "difftool",
        )
    ):
        yield from call.classify_shell(text.removeprefix("!"))
    if (first == "ssh" and passing) or (key == "http.sslverify" and text != "false"):
        return
    yield call.make_effect("git.config.exec", (Target(f"{key}={value.display_text}", "other"),))


def classify_config(call: Invocation) -> Iterator[Effect]:
    """`git config`: what it changes for good."""
    args = call.args
    operands = list(args.operands)
    verb = operands[0].text if operands else ""
    if verb in ("set", "get", "list", "unset", "edit", "rename-section", "remove-section", "get-all"):
        operands = operands[1:]
    if verb in ("get", "list", "get-all") or args.has_flag(
        "--get --get-all --get-regexp --list -l --get-urlmatch --get-color --show-origin"
    ):
        yield call.make_effect("git.read")
        return
    if verb == "edit" or args.has_flag("-e --edit"):
        yield call.make_effect("git.config")
        return
    key = operands[0].text.lower() if operands else ""
    if verb == "unset" or args.has_flag("--unset --unset-all --remove-section --rename-section"):
        dropped = verb == "remove-section" or args.has_flag("--remove-section")
        what = (
            "git.config.exec"
            if key == _HOOKS_PATH or (dropped and args.has_flag("--global --system"))
            else "git.config"
        )
        if key in (_HOOKS_PATH, "core") and has_commit_check(find_working_directory(call), call.facts):
            what = "git.hook.skip.path"
        yield call.make_effect(what, (Target(key, "other"),))
        return
    if len(operands) < 2 and verb != "set":
        yield call.make_effect("git.read")
        return
    yield from _configure(call, key, operands[1] if len(operands) > 1 else Word(""), passing=False)
