"""Programs that an option, a line of input or an address can make run a command, though they are no wrappers."""

import re
from collections.abc import Iterator
from functools import lru_cache
from shlex import quote

from verdikt.knowledge import find_role, find_variable_kind
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import UNKNOWN, Word
from verdikt.shell.command_call import CommandCall
from verdikt.shell.option_parser import parse_permuted_options
from verdikt.shell.redirection import read_contents
from verdikt.shell.runner import ExecOption, Runner, find_runner

_EDITORS = find_role("vim_editor")
_LINE_OPTIONS = frozenset(
    ("-c", "--cmd", "-ex", "--ex", "-e", "--eval-command", "--execute", "--command", "-cmd", "-o", "--one-line")
)
_SOCAT = compile_lazily(r"(?:EXEC|SYSTEM|SHELL):(?:\"([^\"]*)\"|'([^']*)'|([^,]*))", re.IGNORECASE)
_SHELL_CALL = compile_lazily(
    r"""\b(?:system(?:list)?|shell-command(?:-to-string)?|shell_command|callCommand|os:cmd|shell|popen|execute)\W{1,3}
    (?P<quote>["'])(?P<text>(?:(?!(?P=quote))[^\\]|\\.)*)(?P=quote)""",
    re.VERBOSE | re.DOTALL,
)
_SHELL_CALL_PATTERNS: dict[str, re.Pattern[str]] = {
    "m4": compile_lazily(r"\be?syscmd\(\s*`(?P<text>[^']*)'"),
    "osascript": compile_lazily(r'do shell script\s+"(?P<text>(?:[^"\\]|\\.)*)"'),
    # What is sent to a spawned `ssh` or shell is typed there.
    **dict.fromkeys(
        ("expect", "tcl"),
        compile_lazily(
            r"\b(?:(?:spawn|exec|system)\s+(?:-\w+\s+)*|(?P<sent>send\s+(?:--\s+)?\"))"
            r"(?P<text>(?(sent)[^\"\\\n]+|[^\n;\]]+))"
        ),
    ),
    "scala": compile_lazily(r"""(?P<quote>["'])(?P<text>(?:(?!(?P=quote))[^\\\n]|\\.)*)(?P=quote)\.!{1,2}"""),
    "groovy": compile_lazily(r"""(?P<quote>["'])(?P<text>(?:(?!(?P=quote))[^\\\n]|\\.)*)(?P=quote)\.execute\("""),
    **dict.fromkeys(("elisp", "vim", "gnuplot", "octave", "erlang", "haskell", "scheme", "bpftrace"), _SHELL_CALL),
}
"""Patterns of the calls with which such a language runs a shell command."""
_MAX_PROGRAM_LENGTH = 100_000
_MAX_SETTINGS_LINES = 400
_REDIRECTED_COPY = compile_lazily(r"^\|\s*")

_PROMPTS = frozenset(("PS0", "PS1", "PS2", "PS4"))
"""Variables whose value the shell expands again, with the commands in it."""


def trace_exec_options(call: CommandCall) -> None:
    """Walk the commands that a program's options make it run."""
    words = call.words
    runner = find_runner(call.name)
    if runner is None:
        return
    if runner.option_variable:
        words = [*words, *_list_variable_words(call, runner.option_variable)]
    for row, text in iter_exec_values(runner, words):
        if row.in_file:
            _trace_settings_file(call, text, row.prefix)
        elif row.language:
            call.record_code(row.language, text)
            trace_shell_calls(call, row.language, text)
        else:
            call.walk_shell_text(text, inherit_stdin=False)


def iter_exec_values(runner: Runner, words: list[Word]) -> Iterator[tuple[ExecOption, str]]:
    """Yield the options whose value is a command, each with what it runs, or with the file that tells it."""
    for row in _select_exec_options(runner, words):
        names = row.options.split()
        for place in range(1, len(words)):
            value = _get_option_value(words, place, names)
            if value is None:
                continue
            prefix = "" if row.in_file else _find_prefix(value, row.prefix)
            if prefix is not None:
                yield row, value[len(prefix) :]


def _select_exec_options(runner: Runner, words: list[Word]) -> Iterator[ExecOption]:
    """Yield the options of the program, and those of each command whose words are there, wherever they stand."""
    yield from runner.exec_options
    if runner.command_exec_options:
        texts = {word.text for word in words[1:]}
        for command_words, rows in runner.command_exec_options:
            if command_words <= texts:
                yield from rows


def _trace_settings_file(call: CommandCall, path: str, prefixes: str) -> None:
    """Walk the commands in a file of settings: `ssh -F file`, of which `ProxyCommand` is run."""
    text = read_contents(call.walker, Word(path, path), call.scope)
    for line in (text or "").splitlines()[:_MAX_SETTINGS_LINES]:
        stripped = line.strip()
        if prefix := _find_prefix(stripped, prefixes):
            call.walk_shell_text(stripped[len(prefix) :].strip(), inherit_stdin=False)


def _list_variable_words(call: CommandCall, name: str) -> list[Word]:
    """Return the options that a program takes from a variable, set for it or before it."""
    own = [word.text for variable, word in call.assignments if variable == name]
    value = own[-1] if own else call.scope.get_variable(name)
    return [Word(text, text) for text in value.split()] if isinstance(value, str) else []


def _find_prefix(value: str, prefixes: str) -> str | None:
    """Return which of these prefixes, separated by `|`, a value has."""
    return next((prefix for prefix in prefixes.split("|") if value.lower().startswith(prefix)), None)


def has_no_exec_option(words: list[Word]) -> bool:
    """Whether no word looks like an option that makes the program run something."""
    prefixes = _list_option_prefixes(words[0].text)
    for word in words:  # noqa: SIM110  most commands of an agent come through here; a generator doubles the cost
        if word.text.startswith(prefixes):
            return False
    return True


@lru_cache(maxsize=512)
def _list_option_prefixes(name: str) -> tuple[str, ...]:
    runner = find_runner(name)
    if runner is None:
        return ()
    rows = [*runner.exec_options, *(row for _, rows in runner.command_exec_options for row in rows)]
    return tuple(option for row in rows for option in row.options.split())


def _get_option_value(words: list[Word], place: int, names: list[str]) -> str | None:
    """Return the value of one of these options at an index: joined by `=`, glued to a letter, or the next word."""
    text = words[place].text
    for name in names:
        if text == name:
            return words[place + 1].text if place + 1 < len(words) else None
        if len(name) > 2:
            if text.startswith(name + "="):
                return text[len(name) + 1 :]
        elif text.startswith(name) and not text.startswith("--") and len(text) > 3:
            return text[2:].removeprefix("=")
    return None


def trace_shell_lines(call: CommandCall) -> None:
    """Walk the lines that an editor, a pager or a client hands to a shell."""
    lines: list[str] = []
    words = call.words
    index = 1
    runner = find_runner(call.name)
    prefixes = runner.shell_lines if runner is not None else ()
    while index < len(words):
        text = words[index].text
        index += 1
        if text in _LINE_OPTIONS and index < len(words):
            lines.append(words[index].text)
            index += 1
        elif text.startswith(("+", "-c!", "-c:!", "-c\\")):
            lines.append(text.removeprefix("-c").removeprefix("+"))
        elif prefixes and text.lstrip().startswith(prefixes):
            lines.append(text)
    if call.frame.stdin is not None:
        lines += call.frame.stdin.splitlines()[:200]
    for line in lines:
        stripped = line.strip().removeprefix("+").removeprefix(":")
        prefix = next((prefix for prefix in prefixes if stripped.startswith(prefix)), None)
        if prefix is None:
            trace_shell_calls(call, "vim" if call.name in _EDITORS else call.name, stripped)
        elif stripped != prefix:
            call.walk_shell_text(stripped[len(prefix) :], inherit_stdin=False)


def has_no_shell_line(words: list[Word]) -> bool:
    """Whether no word holds a line for a shell, nor anything that looks like a call in a language of its own."""
    text = " ".join([word.text for word in words[1:]]) + " "
    for mark in _list_line_marks(words[0].text):  # noqa: SIM110  most commands of a database client end here
        if mark in text:
            return False
    return True


@lru_cache(maxsize=512)
def _list_line_marks(name: str) -> tuple[str, ...]:
    runner = find_runner(name)
    return (*"!(`'\"", *runner.shell_lines) if runner is not None else ()


def trace_mercurial(call: CommandCall) -> str | None:
    """Walk the command of `hg --config alias.x='!cmd' x`."""
    for word in call.words[1:]:
        setting = re.match(
            r"(?:--config=)?(?:alias\.[\w-]+|hooks\.[\w.-]+|ui\.(?:editor|ssh)|extdiff\.cmd\.[\w-]+)=!?(.+)",
            word.text,
            re.DOTALL,
        )
        if setting:
            call.walk_shell_text(setting[1], label="hg --config", inherit_stdin=False)
    return None


def trace_socat(call: CommandCall) -> str | None:
    """Walk the command of `socat TCP:host EXEC:cmd`."""
    for word in call.words[1:]:
        for address in _SOCAT.finditer(word.text):
            text = address[1] or address[2] or address[3] or ""
            if text:
                call.walk_shell_text(text, inherit_stdin=False)
    return None


def trace_queued_input(call: CommandCall) -> str | None:
    """Walk the input of `at` and `batch`, or the file that they are given, which they run later."""
    options, _ = parse_permuted_options(call.words, 1, call.valued_options)
    if any(option in ("-l", "-d", "-r", "-c") for option, _ in options):
        return None
    file = next((value for option, value in options if option == "-f" and value is not None), None)
    text = call.frame.stdin if file is None else read_contents(call.walker, file, call.scope)
    if text is not None:
        call.walk_shell_text(text, inherit_stdin=False)
    return None


_WINDOW_OPENERS = find_role("window_opener")
_TYPING_COMMANDS = frozenset(("send-keys", "send", "stuff"))
_WINDOW_COMMANDS = frozenset(
    "new-session new new-window neww split-window splitw respawn-pane respawnp respawn-window respawnw display-popup "
    "popup run-shell run pipe-pane pipep if-shell if".split()
)
_BRANCHING_COMMANDS = frozenset(("if-shell", "if"))
"""Commands that run a shell command, and then commands of the multiplexer itself."""
_NESTING_COMMANDS = frozenset("set-hook bind-key bind confirm-before confirm command-prompt display-menu menu".split())
"""Commands whose words hold another command of the multiplexer, for later."""
_REMOTE_WINDOW_COMMANDS = _WINDOW_OPENERS | {"exec"}
"""Commands that a running `screen` is told after `-X`."""
_COMMAND_SEPARATORS = frozenset((";", "\\;"))


def trace_multiplexer(call: CommandCall) -> None:
    """Walk what `tmux` and `screen` start in a new window, or type into one; `;` as a word begins another command."""
    words = [word.text for word in call.words]
    start = 0
    for place in [index for index, word in enumerate(words) if word in _COMMAND_SEPARATORS] + [len(words)]:
        for text in _list_window_texts(call.name, words[start:place]):
            call.walk_shell_text(text, inherit_stdin=False)
        start = place + 1


def _list_window_texts(name: str, words: list[str]) -> list[str]:
    """Return what one command of a multiplexer hands to a shell."""
    if name in _WINDOW_OPENERS and "-X" in words:
        command, *operands = words[words.index("-X") + 1 :] or [""]
        if command in _REMOTE_WINDOW_COMMANDS:
            return [_join_command_words(_skip_options(operands, "-t -T -h"))]
    nesting = next((place for place, word in enumerate(words) if word in _NESTING_COMMANDS), None)
    if nesting is not None:
        operands = _skip_options(words[nesting + 1 :], "-t -T -N -p -I")
        texts = [*(operand for operand in operands if " " in operand), " ".join(operands[1:]), " ".join(operands)]
        return [f"{name} {text}" for text in texts if text]
    place = next((place for place, word in enumerate(words) if word in _TYPING_COMMANDS | _WINDOW_COMMANDS), None)
    if place is None:
        if name not in _WINDOW_OPENERS or "-X" in words:
            return []
        texts = [_join_command_words(_skip_options(words[1:], "-S -t -h -T -c -p -Logfile -s -dmS -DmS -dRS -dS"))]
    elif words[place] in _TYPING_COMMANDS:
        typed = _skip_options(words[place + 1 :], "-t -N")
        texts = [" ".join("\n" if key in ("Enter", "C-m", "KPEnter") else key for key in typed)]
    else:
        popup_options = " -d -h -w" if words[place].endswith("popup") else ""
        operands = _skip_options(words[place + 1 :], f"-t -s -n -c -e -F -x -y -l -p{popup_options}")
        texts = [_join_command_words(operands)]
        if words[place] in _BRANCHING_COMMANDS:
            texts = [*operands[:1], *(f"{name} {command}" for command in operands[1:])]
    return [text for text in texts if text]


def _join_command_words(words: list[str]) -> str:
    """Return words as text for a shell: one word is text already, several are a command and its arguments."""
    return words[0] if len(words) == 1 else " ".join(quote(word) if UNKNOWN not in word else word for word in words)


def _skip_options(words: list[str], valued: str) -> list[str]:
    """Return the words after the options."""
    takes = valued.split()
    place = 0
    while place < len(words) and words[place].startswith("-"):
        place += 2 if words[place] in takes else 1
    return words[place:]


def trace_shell_calls(call: CommandCall, language: str, text: str) -> None:
    """Walk the commands that a program in a rarer language hands to a shell."""
    pattern = _SHELL_CALL_PATTERNS.get(language)
    for shell_call in pattern.finditer(text[:_MAX_PROGRAM_LENGTH]) if pattern else ():
        quoted = shell_call["text"]
        call.walk_shell_text(
            quoted.replace('\\"', '"').replace("\\\\", "\\") if '"' in shell_call[0] else quoted, inherit_stdin=False
        )


def trace_exported_variables(call: CommandCall) -> None:
    """Walk the variables of `export GIT_SSH_COMMAND='…'`, which later programs run."""
    for word in call.words[1:]:
        name, _, value = word.text.partition("=")
        if find_variable_kind(name) == "command" and value and value != UNKNOWN:
            call.walk_shell_text(_REDIRECTED_COPY.sub("", value), label=name, inherit_stdin=False)


def trace_command_variables(call: CommandCall) -> None:
    """Walk the variables that the command itself runs: `GIT_SSH_COMMAND='…' git fetch`."""
    for name, word in call.assignments:
        if find_variable_kind(name) == "command" and word.text and word.text != UNKNOWN:
            call.walk_shell_text(_REDIRECTED_COPY.sub("", word.text), label=name, inherit_stdin=False)
        # Bash expands the prompt before it prints it: `PS4='$(rm x)' bash -x script` runs `rm`.
        elif name in _PROMPTS and ("$(" in word.text or "`" in word.text):
            call.walk_shell_text(f': "{word.text}"', label=name, inherit_stdin=False)
