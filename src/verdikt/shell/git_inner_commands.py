"""Commands that git runs: aliases, pagers, editors, filters, `rebase --exec`, `bisect run`."""

import re
from collections.abc import Sequence
from functools import cache

from verdikt.knowledge import find_record, find_role
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import UNKNOWN, Word
from verdikt.shell.command_call import CommandCall
from verdikt.shell.option_parser import parse_options
from verdikt.shell.redirection import read_contents
from verdikt.shell.scope import Scope

# Settings that git hands to a shell: writing one is a way to run a command later, outside of what an agent typed.
_COMMAND_SETTING = compile_lazily(
    r"core\.(?:pager|editor|sshcommand|fsmonitor|askpass|gitproxy|alternaterefscommand)|pager\.\w+|diff\.external"
    r"|sequence\.editor|(?:diff|merge)tool\..+\.(?:cmd|path)|filter\..+\.(?:clean|smudge|process)"
    r"|diff\..+\.(?:textconv|command)|merge\..+\.driver|gpg\.(?:.+\.)?program"
    r"|remote\..+\.(?:uploadpack|receivepack|vcs)|credential\.(?:.+\.)?helper|sendemail\.\w*cmd|browser\..+\.cmd"
    r"|interactive\.difffilter|uploadpack\.packobjectshook|trailer\..+\.(?:cmd|command)|man\..+\.cmd|instaweb\.\w+",
    re.IGNORECASE,
)
_INERT_SETTING_VALUES = find_role("concatenator").union(
    ["", *"true false 0 1 yes no store cache osxkeychain manager libsecret wincred".split()]
)
_NESTING_SUBCOMMANDS = frozenset(("config", "bisect", "submodule", "filter-repo"))
"""Subcommands that have commands or code among their operands, or in options of any name."""
_MIN_ABBREVIATION = len("--e")
"""git accepts the beginning of a long option, if only one has it: of `push`, `--e` is `--exec`."""


@cache
def _load_exec_options() -> dict[str, tuple[str, ...]]:
    """Return each subcommand that git's record lists → its options whose value is a command."""
    commands = (find_record("git") or {}).get("commands", {})
    return {
        name: tuple(option for row in entry.get("exec", ()) for option in row["options"].split())
        for name, entry in commands.items()
    }


def _runs_nothing(subcommand: str, words: Sequence[Word]) -> bool:
    """Return whether a subcommand of git's own runs nothing that these words name."""
    options = _load_exec_options().get(subcommand)
    if options is None or subcommand in _NESTING_SUBCOMMANDS:
        return False
    return not options or not _names_command(options, words)


def _names_command(names: Sequence[str], words: Sequence[Word]) -> bool:
    """Return whether one of the words is an option whose value is a command, or an address that is one."""
    return any(
        word.text.startswith("ext::") or (word.text[:1] == "-" and _match_option(names, word.text) is not None)
        for word in words
    )


def _match_option(names: Sequence[str], text: str) -> str | None:
    """Return the value in the same word as one of the options, empty if it is the next word; None for other words.

    Besides `-x cmd` and `--exec=cmd` that is `-xcmd`, `-yx cmd` and `--exe cmd`.
    """
    if text[:2] == "--":
        option, _, value = text.partition("=")
        is_meant = len(option) >= _MIN_ABBREVIATION and any(name.startswith(option) for name in names)
        return value if is_meant else None
    for name in names:
        if name[1] != "-" and (place := text.find(name[1], 1)) > 0:
            return text[place + 1 :].removeprefix("=")
    return None


def is_inert_git_command(words: list[Word]) -> bool:
    """Return whether a git command runs nothing that its words name, provided that git has no aliases."""
    verb = words[1].text if len(words) > 1 else ""
    if verb[:1] in ("-", ""):
        return False
    if verb in _NESTING_SUBCOMMANDS:
        if verb == "config":
            return sum(word.text[:1] != "-" or word.text[:1] == "!" for word in words[2:]) < 2
        return verb == "bisect" and not (len(words) > 2 and words[2].text == "run")
    if verb in _load_exec_options():
        # Where the work tree begins is predicted, for `cd $(git rev-parse --show-toplevel)`.
        asks_toplevel = verb == "rev-parse" and len(words) == 3 and words[2].text == "--show-toplevel"
        return not asks_toplevel and _runs_nothing(verb, words[2:])
    return not _names_command((), words[2:])


def trace_git(call: CommandCall) -> str | None:
    """Walk the commands that a git command runs."""
    if [word.text for word in call.words[1:]] == ["rev-parse", "--show-toplevel"]:
        return _predict_toplevel(call)
    verb = call.words[1].text if len(call.words) > 1 else ""
    if _runs_nothing(verb, call.words[2:]) and call.scope.find_alias(f"git {verb}") is None:
        return None
    options, at = parse_options(call.words, 1, call.valued_options)
    for option, value in options:
        if option == "-c" and value is not None:
            key, _, setting = value.text.partition("=")
            if key.lower().startswith("alias."):
                # `git -c alias.x='!rm y' x`: the alias holds for this very command.
                call.scope.set_alias(f"git {key[6:]}", setting)
            else:
                _trace_setting(call, key, setting)
    subcommand_words = call.words[at:]
    if subcommand_words:
        _trace_subcommand(
            call,
            subcommand_words[0].text,
            subcommand_words,
            call.create_directory_scope(next((value for option, value in options if option == "-C"), None)),
        )
    return None


# `cd $(git rev-parse --show-toplevel)` is common at the start of a script; unknown, it would make all paths unknown.
def _predict_toplevel(call: CommandCall) -> str | None:
    """Return the directory of the working tree, when it is the current one."""
    directory = call.scope.cwd if call.scope.cwd is not None else call.walker.start_directory
    is_toplevel = directory and read_contents(call.walker, Word(".git/HEAD"), call.scope) is not None
    return f"{directory}\n" if is_toplevel else None


def _trace_subcommand(call: CommandCall, subcommand: str, words: list[Word], scope: Scope) -> None:
    """Walk the commands that a git subcommand runs."""
    if (alias := call.scope.find_alias(f"git {subcommand}")) is not None and "git alias" not in call.frame.via:
        _trace_alias(call, alias, words[1:], scope)
    elif subcommand == "config":
        _trace_config(call, words[1:])
    elif subcommand == "bisect" and len(words) > 2 and words[1].text == "run":
        call.walk_command(words[2:], label="git bisect", repeated=True, scope=scope)
    elif subcommand == "submodule" and any(word.text == "foreach" for word in words):
        index = next(index for index, word in enumerate(words) if word.text == "foreach") + 1
        text = " ".join(word.text for word in words[index:] if word.text not in ("--recursive", "--quiet"))
        call.walk_shell_text(text, label="git submodule", repeated=True, scope=scope)
    elif subcommand == "filter-repo":
        _trace_callbacks(call, words)
    _trace_subcommand_options(call, subcommand, words, scope)
    for word in words[1:]:
        # The `ext` transport runs its address as a command: `git clone 'ext::sh -c …'`.
        if word.text.startswith("ext::"):
            text = word.text[5:].replace("% ", "\\ ").replace("%S", UNKNOWN)
            call.walk_shell_text(text, label="git ext::", inherit_stdin=False)


def is_command_setting(key: str) -> bool:
    """Return whether git hands the value of a setting to a shell."""
    return _COMMAND_SETTING.fullmatch(key) is not None


def _trace_setting(call: CommandCall, key: str, value: str) -> None:
    """Walk a configuration value that git runs."""
    lowered = key.lower()
    if lowered.startswith("alias."):
        call.scope.set_alias(f"git {key[6:]}", value)
        if value.startswith("!"):
            call.walk_shell_text(value[1:], label="git alias", inherit_stdin=False)
    elif (
        _COMMAND_SETTING.fullmatch(lowered)
        and value.lower() not in _INERT_SETTING_VALUES
        and not re.fullmatch(r"cache\b.*", value)
    ):
        call.walk_shell_text(value.removeprefix("!"), label=f"git {key}", inherit_stdin=False)


def _trace_config(call: CommandCall, arguments: list[Word]) -> None:
    words = [word for word in arguments if not word.text.startswith("-") or word.text.startswith("!")]
    if words and words[0].text in ("set", "get", "unset", "list", "edit"):
        words = words[1:] if words[0].text == "set" else []
    if len(words) >= 2:
        # Nothing runs now, but the next git command will run it: it is judged as a command that may run.
        frame = call.frame
        call.frame = frame.as_conditional()
        _trace_setting(call, words[-2].text, words[-1].text)
        call.frame = frame


def _trace_alias(call: CommandCall, alias: str, arguments: list[Word], scope: Scope) -> None:
    if alias.startswith("!"):
        call.walk_shell_text(f"{alias[1:]} {' '.join(word.text for word in arguments)}", label="git alias", scope=scope)
    else:
        call.walk_command(
            [Word("git", "git"), *(Word(part, part) for part in alias.split()), *arguments],
            label="git alias",
            scope=scope,
        )


def _trace_callbacks(call: CommandCall, words: list[Word]) -> None:
    """Record the Python code of `git filter-repo --blob-callback 'code'`."""
    for index, word in enumerate(words):
        option, equals, value = word.text.partition("=")
        if option.startswith("--") and option.endswith("-callback"):
            following = words[index + 1].text if index + 1 < len(words) else ""
            call.record_code("python", value if equals else following)


def _trace_subcommand_options(call: CommandCall, subcommand: str, words: list[Word], scope: Scope) -> None:
    """Walk the values of the options that are commands."""
    names = _load_exec_options().get(subcommand, ())
    for index in range(1, len(words) if names else 0):
        text = words[index].text
        value = _match_option(names, text) if text[:1] == "-" else None
        if value == "" and index + 1 < len(words):
            value = words[index + 1].text
        if value:
            call.walk_shell_text(
                value,
                label=f"git {subcommand}",
                repeated=subcommand in ("rebase", "filter-branch"),
                scope=scope,
                inherit_stdin=False,
            )
