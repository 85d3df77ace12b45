"""The commands that git runs: aliases, pagers, editors, filters, `rebase --exec`, `bisect run`."""

import re

from verdikt.model.regex import regex
from verdikt.shell.command import UNKNOWN, Word
from verdikt.shell.invocation import Invocation
from verdikt.shell.option import options
from verdikt.shell.redirect import contents
from verdikt.shell.scope import Scope

_GLOBAL = "c C --git-dir --work-tree --namespace --super-prefix --config-env --exec-path --attr-source"
_RUNS = regex(
    r"core\.(?:pager|editor|sshcommand|fsmonitor|askpass|gitproxy|alternaterefscommand)|pager\.\w+|diff\.external|sequence\.editor"
    r"|(?:diff|merge)tool\..+\.(?:cmd|path)|filter\..+\.(?:clean|smudge|process)|diff\..+\.(?:textconv|command)|merge\..+\.driver"
    r"|gpg\.(?:.+\.)?program|remote\..+\.(?:uploadpack|receivepack|vcs)|credential\.(?:.+\.)?helper|sendemail\.\w*cmd|browser\..+\.cmd"
    r"|interactive\.difffilter|uploadpack\.packobjectshook|trailer\..+\.(?:cmd|command)|man\..+\.cmd|instaweb\.\w+",
    re.IGNORECASE,
)
_NOT_COMMANDS = frozenset(
    (
        "",
        "true",
        "false",
        "0",
        "1",
        "yes",
        "no",
        "store",
        "cache",
        "osxkeychain",
        "manager",
        "libsecret",
        "wincred",
        "cat",
    )
)
_OPTIONS = {
    "rebase": "-x --exec",
    "difftool": "-x --extcmd",
    "grep": "-O --open-files-in-pager",
    "archive": "--exec",
    "fetch": "--upload-pack",
    "pull": "--upload-pack",
    "clone": "-u --upload-pack",
    "ls-remote": "--upload-pack --exec",
    "fetch-pack": "--exec --upload-pack",
    "push": "--receive-pack --exec",
    "send-email": "--to-cmd --cc-cmd --header-cmd --sendmail-cmd",
    "filter-branch": "--env-filter --tree-filter --index-filter --parent-filter --msg-filter --commit-filter --tag-name-filter --setup",
}
"""Subcommands with options whose value is a command."""


_QUIET = frozenset(
    (
        "status",
        "log",
        "diff",
        "add",
        "commit",
        "show",
        "branch",
        "checkout",
        "switch",
        "restore",
        "stash",
        "reset",
        "merge",
    )
) | {
    "rev-parse",
    "tag",
    "blame",
    "remote",
    "rm",
    "mv",
    "init",
    "clean",
    "describe",
    "cherry-pick",
    "revert",
    "worktree",
    "reflog",
}
"""Subcommands that run nothing that their words name."""
_LOUD = {verb: (*options.split(), "ext::") for verb, options in _OPTIONS.items()}
"""How the words begin that make a quiet subcommand run something."""


def is_quiet(verb: str, words: list[Word]) -> bool:
    """Whether a subcommand with these words runs nothing that they name."""
    return verb in _QUIET or (verb in _LOUD and not any(word.text.startswith(_LOUD[verb]) for word in words))


def runs_nothing(words: list[Word]) -> bool:
    """Whether a git command runs nothing that its words name, where git has no aliases."""
    verb = words[1].text if len(words) > 1 else ""
    if verb in _QUIET:
        return not (verb == "rev-parse" and len(words) == 3 and words[2].text == "--show-toplevel")
    if verb[:1] in ("-", "") or verb in ("submodule", "filter-repo"):
        return False
    if verb == "config":
        return sum(word.text[:1] != "-" or word.text[:1] == "!" for word in words[2:]) < 2
    if verb == "bisect" and len(words) > 2 and words[2].text == "run":
        return False
    begins = _LOUD.get(verb, ("ext::",))
    return not any(word.text.startswith(begins) for word in words)


def git(call: Invocation) -> str | None:
    """Goes inside a git command."""
    if [word.text for word in call.words[1:]] == ["rev-parse", "--show-toplevel"]:
        return _toplevel(call)
    if len(call.words) > 1 and is_quiet(call.words[1].text, call.words):
        return None
    given, at = options(call.words, 1, _GLOBAL)
    for option, value in given:
        if option == "-c" and value is not None:
            key, _, setting = value.text.partition("=")
            if key.lower().startswith("alias."):
                call.scope.rename(f"git {key[6:]}", setting)
            else:
                _setting(call, key, setting)
    rest = call.words[at:]
    if rest:
        _verb(call, rest[0].text, rest, call.within(next((value for option, value in given if option == "-C"), None)))
    return None


def _toplevel(call: Invocation) -> str | None:
    """The working tree's own directory, where that is the one we are in."""
    place = call.scope.cwd if call.scope.cwd is not None else call.walker.start
    here = place and contents(call.walker, Word(".git/HEAD"), call.scope) is not None
    return f"{place}\n" if here else None


def _verb(call: Invocation, verb: str, rest: list[Word], scope: Scope) -> None:
    """Goes inside a subcommand."""
    if (alias := call.scope.alias(f"git {verb}")) is not None and "git alias" not in call.frame.via:
        _alias(call, alias, rest[1:], scope)
    elif verb == "config":
        _config(call, rest[1:])
    elif verb == "bisect" and len(rest) > 2 and rest[1].text == "run":
        call.run(rest[2:], label="git bisect", repeated=True, scope=scope)
    elif verb == "submodule" and any(word.text == "foreach" for word in rest):
        place = next(place for place, word in enumerate(rest) if word.text == "foreach") + 1
        text = " ".join(word.text for word in rest[place:] if word.text not in ("--recursive", "--quiet"))
        call.shell(text, label="git submodule", repeated=True, scope=scope)
    elif verb == "filter-repo":
        _callbacks(call, rest)
    _verb_options(call, verb, rest, scope)
    for word in rest[1:]:
        if word.text.startswith("ext::"):
            text = word.text[5:].replace("% ", "\\ ").replace("%S", UNKNOWN)
            call.shell(text, label="git ext::", stdin=False)


def _setting(call: Invocation, key: str, value: str) -> None:
    """A configuration value that git runs."""
    lowered = key.lower()
    if lowered.startswith("alias."):
        call.scope.rename(f"git {key[6:]}", value)
        if value.startswith("!"):
            call.shell(value[1:], label="git alias", stdin=False)
    elif _RUNS.fullmatch(lowered) and value.lower() not in _NOT_COMMANDS and not re.fullmatch(r"cache\b.*", value):
        call.shell(value.removeprefix("!"), label=f"git {key}", stdin=False)


def _config(call: Invocation, rest: list[Word]) -> None:
    words = [word for word in rest if not word.text.startswith("-") or word.text.startswith("!")]
    if words and words[0].text in ("set", "get", "unset", "list", "edit"):
        words = words[1:] if words[0].text == "set" else []
    if len(words) >= 2:
        frame = call.frame
        call.frame = frame.conditionally()
        _setting(call, words[-2].text, words[-1].text)
        call.frame = frame


def _alias(call: Invocation, alias: str, arguments: list[Word], scope: Scope) -> None:
    if alias.startswith("!"):
        call.shell(f"{alias[1:]} {' '.join(word.text for word in arguments)}", label="git alias", scope=scope)
    else:
        call.run(
            [Word("git", "git"), *(Word(part, part) for part in alias.split()), *arguments],
            label="git alias",
            scope=scope,
        )


def _callbacks(call: Invocation, rest: list[Word]) -> None:
    """`git filter-repo --blob-callback 'code'`: Python."""
    for place, word in enumerate(rest):
        option, equals, value = word.text.partition("=")
        if option.startswith("--") and option.endswith("-callback"):
            following = rest[place + 1].text if place + 1 < len(rest) else ""
            call.code("python", value if equals else following)


def _verb_options(call: Invocation, verb: str, rest: list[Word], scope: Scope) -> None:
    """Options of a subcommand whose value is a command."""
    names = _OPTIONS.get(verb, "").split()
    for place in range(1, len(rest) if names else 0):
        text = rest[place].text
        for name in names:
            value = None
            if text == name and place + 1 < len(rest):
                value = rest[place + 1].text
            elif text.startswith(name + "="):
                value = text[len(name) + 1 :]
            elif name == "-O" and text.startswith("-O") and len(text) > 2:
                value = text[2:]
            if value:
                call.shell(
                    value, label=f"git {verb}", repeated=verb in ("rebase", "filter-branch"), scope=scope, stdin=False
                )
