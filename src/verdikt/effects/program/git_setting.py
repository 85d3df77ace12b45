"""What git is told to be: settings, for good or for one command, and hooks that are left out."""

from collections.abc import Iterator

from verdikt.effects.arguments import word_set
from verdikt.effects.execution_context import find_working_directory
from verdikt.effects.invocation import Invocation
from verdikt.effects.zone_effects import has_commit_check
from verdikt.model.effect import Effect, Target, Zone
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import Word

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


def surroundings(call: Invocation) -> Iterator[Effect]:
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
            yield skip_hooks(call, f"{name} leaves hooks out")
        elif name == "SKIP" and "verdikt" in value.text:
            yield skip_hooks(call, "leaves the commit check out")


def skip_hooks(call: Invocation, note: str) -> Effect:
    """Return the effect of skipping hooks once: verdikt's own, or others."""
    return call.make_effect(
        "git.hook.skip.check" if has_commit_check(find_working_directory(call), call.facts) else "git.hook.skip",
        note=note,
    )


def setting(call: Invocation, text: str) -> Iterator[Effect]:
    """`-c key=value` for this one command."""
    key, _, value = text.partition("=")
    yield from _configure(call, key.lower(), Word(value), passing=True)


_GIVES_UP = {
    ("safe.directory", "*"),
    ("commit.gpgsign", "false"),
    ("tag.gpgsign", "false"),
    ("fetch.fsckobjects", "false"),
}


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
